"""A labelling that honours every hard cannot-link, or a proof that there is none."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from hmrf_fast.errors import InfeasibleError
from hmrf_fast.kernels.placement import place_by_saturation, place_exactly, repair
from hmrf_fast.kernels.types import PenaltyGraph

REPAIR_STEPS = 20_000
EXACT_STEPS = 2_000_000
MINIMAL_TRIALS = 1000


def place(graph: PenaltyGraph, costs: np.ndarray, labels: np.ndarray, seed: np.uint64) -> None:
    """Label all nodes with hard cannot-links; labels (u,) int32 INOUT, -1 where free.

    Raises
    ------
    InfeasibleError
        If a set of rows cannot be told apart with the given number of clusters; the message names such rows.
    """
    n_clusters = costs.shape[1]
    if place_by_saturation(costs, graph, labels) == 0:
        return
    touched = np.flatnonzero(np.diff(graph.hard_ptr) > 0)
    if repair(costs, graph, labels, seed, min(REPAIR_STEPS, 100 * touched.size)) == 0:
        return
    for nodes in _conflicting_components(graph, labels):
        core, peeled = _core(graph, nodes, n_clusters)
        labels[peeled] = -1
        verdict = place_exactly(graph, n_clusters, core, labels, EXACT_STEPS)
        if verdict == 0:
            raise _infeasible(graph, core, n_clusters)
        if verdict < 0:
            raise InfeasibleError(
                f"no assignment of {core.size} mutually constrained rows (row {_row(graph, core[0])} is one) "
                f"to {n_clusters} clusters was found within {EXACT_STEPS} steps; one may exist. "
                "Use more clusters or finite cannot-link weights."
            )
        every = np.arange(n_clusters)
        labels[core] = cheapest_names(costs[core], labels[core], every, every)[labels[core]]
        _label_last(graph, costs, labels, peeled)


def cheapest_names(costs: np.ndarray, labels: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """(c,) which of the labels ``after`` (c,) should stand for each of the labels ``before`` (c,): a placement that
    cares for differences of labels alone is as good under any names. IN costs (u, K), labels (u,)."""
    of_label = np.full(costs.shape[1], -1)
    of_label[before] = np.arange(before.size)
    counts = (labels >= 0) & (of_label[labels] >= 0)
    total = np.zeros((before.size, after.size))
    np.add.at(total, of_label[labels[counts]], costs[counts][:, after])
    return after[linear_sum_assignment(total)[1]]


def _row(graph: PenaltyGraph, node: int) -> int:
    return int(graph.rows[graph.node_rows[graph.node_ptr[node]]])


def _conflicting_components(graph: PenaltyGraph, labels: np.ndarray) -> list[np.ndarray]:
    """Connected sets of hard cannot-links that hold a conflict, each most linked node first."""
    n_nodes = labels.size
    owner = np.repeat(np.arange(n_nodes), np.diff(graph.hard_ptr))
    links = csr_matrix((np.ones(owner.size, np.int8), (owner, graph.hard_node)), shape=(n_nodes, n_nodes))
    component = connected_components(links, directed=False)[1]
    degree = np.diff(graph.hard_ptr)
    conflicting = np.unique(component[owner[labels[owner] == labels[graph.hard_node]]])
    sets = [np.flatnonzero(component == which) for which in conflicting]
    return [nodes[np.argsort(-degree[nodes], kind="stable")] for nodes in sets]


def _infeasible(graph: PenaltyGraph, nodes: np.ndarray, n_clusters: int) -> InfeasibleError:
    """Name a set that proves infeasibility: a clique if a greedy search finds one, else a set no node of which can be
    spared."""
    partners = {
        int(node): set(graph.hard_node[graph.hard_ptr[node] : graph.hard_ptr[node + 1]].tolist()) for node in nodes
    }
    for start in partners:
        clique = [start]
        for node in sorted(partners[start] & partners.keys(), key=lambda other: -len(partners[other])):
            if all(node in partners[member] for member in clique):
                clique.append(node)
        if len(clique) > n_clusters:
            rows = sorted(_row(graph, node) for node in clique[: n_clusters + 1])
            told = f"rows {rows} are mutually hard cannot-linked: {len(rows)} rows, but n_clusters={n_clusters}"
            return InfeasibleError(told, rows)
    rows = sorted(_row(graph, node) for node in _minimal(graph, nodes, n_clusters))
    return InfeasibleError(f"the hard cannot-links among rows {rows} cannot be kept with n_clusters={n_clusters}", rows)


def _core(graph: PenaltyGraph, nodes: np.ndarray, n_clusters: int) -> tuple[np.ndarray, list[int]]:
    """Leave out, again and again, nodes with fewer than ``n_clusters`` partners: they can always be labelled last.

    Returns what is left, and the others in the order in which they were left out."""
    degree = np.zeros(graph.node_ptr.size - 1, np.int64)
    degree[nodes] = np.diff(graph.hard_ptr)[nodes]  # the nodes are whole components
    peeled = [int(node) for node in nodes if degree[node] < n_clusters]
    gone = set(peeled)
    for node in peeled:  # grows on the way
        for other in graph.hard_node[graph.hard_ptr[node] : graph.hard_ptr[node + 1]].tolist():
            degree[other] -= 1
            if degree[other] < n_clusters and other not in gone:
                gone.add(other)
                peeled.append(other)
    return np.array([node for node in nodes if int(node) not in gone], dtype=nodes.dtype), peeled


def _label_last(graph: PenaltyGraph, costs: np.ndarray, labels: np.ndarray, peeled: list[int]) -> None:
    """Give nodes, last peeled first, the cheapest label that none of their labelled partners has."""
    for node in reversed(peeled):
        taken = labels[graph.hard_node[graph.hard_ptr[node] : graph.hard_ptr[node + 1]]]
        free = costs[node].copy()
        free[taken[taken >= 0]] = np.inf
        labels[node] = np.argmin(free)


def _minimal(graph: PenaltyGraph, nodes: np.ndarray, n_clusters: int) -> np.ndarray:
    """Leave out spans of nodes, ever shorter ones, while the rest stays provably infeasible; of the shortest, nodes."""
    labels = np.full(graph.node_ptr.size - 1, -1, np.int32)
    budget, span = MINIMAL_TRIALS, max(nodes.size // 2, 1)
    while budget > 0:
        place_in, removed = 0, False
        while place_in < nodes.size and budget > 0:
            rest = np.delete(nodes, slice(place_in, place_in + span))
            labels[:] = -1
            budget -= 1
            if rest.size > n_clusters and place_exactly(graph, n_clusters, rest, labels, EXACT_STEPS // 100) == 0:
                nodes, removed = rest, True
            else:
                place_in += span
        if span == 1 and not removed:
            break
        span = max(span // 2, 1)
    return nodes
