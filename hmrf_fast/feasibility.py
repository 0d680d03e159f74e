"""A labelling that honours every hard cannot-link, or a proof that there is none."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from hmrf_fast.errors import InfeasibleError
from hmrf_fast.kernels.placement import place_by_saturation, place_exactly, repair
from hmrf_fast.kernels.types import PenaltyGraph

REPAIR_STEPS = 20_000
EXACT_STEPS = 2_000_000


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
    if repair(graph, n_clusters, labels, seed, min(REPAIR_STEPS, 100 * touched.size)) == 0:
        return
    for nodes in _conflicting_components(graph, labels):
        verdict = place_exactly(graph, n_clusters, nodes, labels, EXACT_STEPS)
        if verdict == 0:
            raise InfeasibleError(_proof(graph, nodes, n_clusters))
        if verdict < 0:
            raise InfeasibleError(
                f"no assignment of {nodes.size} mutually constrained rows (row {_row(graph, nodes[0])} is one) "
                f"to {n_clusters} clusters was found within {EXACT_STEPS} steps; one may exist. "
                "Use more clusters or finite cannot-link weights."
            )


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


def _proof(graph: PenaltyGraph, nodes: np.ndarray, n_clusters: int) -> str:
    """Name a set that proves infeasibility: a clique if a greedy search finds one, else a set no node of which can be
    spared."""
    partners = {
        int(node): set(graph.hard_node[graph.hard_ptr[node] : graph.hard_ptr[node + 1]].tolist()) for node in nodes
    }
    for start in partners:
        clique = [start]
        for node in sorted(partners[start], key=lambda other: -len(partners[other])):
            if all(node in partners[member] for member in clique):
                clique.append(node)
        if len(clique) > n_clusters:
            rows = sorted(_row(graph, node) for node in clique[: n_clusters + 1])
            return f"rows {rows} are mutually hard cannot-linked: {len(rows)} rows, but n_clusters={n_clusters}"
    needed = _minimal(graph, nodes, n_clusters)
    rows = sorted(_row(graph, node) for node in needed)
    return f"the hard cannot-links among rows {rows} cannot be kept with n_clusters={n_clusters}"


def _minimal(graph: PenaltyGraph, nodes: np.ndarray, n_clusters: int, limit: int = 200) -> np.ndarray:
    """Leave out nodes one by one while the rest stays infeasible (at most ``limit`` trials)."""
    labels = np.full(graph.node_ptr.size - 1, -1, np.int32)
    kept = nodes
    for node in nodes[::-1][:limit]:
        rest = kept[kept != node]
        labels[:] = -1
        if place_exactly(graph, n_clusters, rest, labels, EXACT_STEPS // 100) == 0:
            kept = rest
    return kept
