"""The E-step: nearest centroids for free rows, block moves and sweeps for the rows that constraints touch."""

from __future__ import annotations

import numpy as np

from hmrf_fast.errors import InfeasibleError
from hmrf_fast.feasibility import cheapest_names, place
from hmrf_fast.geometry import Geometry, Problem
from hmrf_fast.kernels import pool
from hmrf_fast.kernels.closure import move_blocks, sweep_blocks
from hmrf_fast.kernels.closure_energy import block_partners
from hmrf_fast.kernels.distances import distance_block
from hmrf_fast.kernels.exchange import exchanges
from hmrf_fast.kernels.icm import ALONE, UNIT, block_moves, violation_cost, weigh_nodes
from hmrf_fast.kernels.sweeps import cheapest_pairs, sweeps
from hmrf_fast.kernels.types import ClusterTerms, Corpus, PairTerms, PenaltyGraph, RowTerms
from hmrf_fast.label_priors import FORBIDDEN
from hmrf_fast.pruning import Search, empty_table, fill_table, find_nearest, lane_terms
from hmrf_fast.rows.block import Block, Few

MAX_SWEEPS = 1000
MAX_ROUNDS = 50
BLOCK_WORK = 1e7  # multiply-adds that are handed out together
LONGEST_CHAIN = 200  # of nodes whose labels are exchanged together
HUGE = 1e200
NOBODY = np.zeros(0, np.int32)


def build_table(problem: Problem, clusters: ClusterTerms) -> np.ndarray:
    """The term-major table that distance kernels read."""
    every, table = np.arange(problem.n_clusters), empty_table(problem, problem.n_clusters)
    fill_table(problem, clusters, every, table)
    return table


def nearest_centroids(problem: Problem, geometry: Geometry, clusters: ClusterTerms, table: np.ndarray):
    """labels (n,) int32 and distances (n,) float64 of the nearest centroid of every row; cost nnz * K."""
    labels, nearest = np.empty(problem.n_rows, np.int32), np.empty(problem.n_rows)
    lanes = lane_terms(clusters, table, problem.metric.centred)
    problem.fill(find_nearest, (geometry.rows,), (labels, nearest), (table, *lanes))
    nearest += geometry.rows.base
    return labels, nearest


def all_distances(problem: Problem, geometry: Geometry, clusters: ClusterTerms, table: np.ndarray) -> np.ndarray:
    """(n, K) distances of all rows to all centroids; cost nnz * K."""
    result = np.empty((problem.n_rows, problem.n_clusters))
    problem.fill(_find_distances, (geometry.rows,), (result,), (table, clusters.offset, clusters.cross))
    return result


def _find_distances(block: Block, _, terms: RowTerms, result: np.ndarray, table, offset, cross) -> None:
    every = np.arange(block.n_rows)
    _fill_distances(
        block.corpus, terms, table, offset, cross, every, every, result, block.n_threads, block.n_entries + block.n_rows
    )


def free_search(problem: Problem, *, prune: bool) -> Search:
    """A search for the rows that neither a constraint nor a prior touches: of all others, all distances are needed."""
    free = np.ones(problem.n_rows, bool)
    free[problem.graph.rows] = False
    free[problem.priors.rows] = False
    return Search(problem, np.flatnonzero(free), prune=prune)


def distances_of(problem: Problem, geometry: Geometry, clusters: ClusterTerms, table, few: Few) -> np.ndarray:
    """(r, K) distances of few rows to all centroids."""
    block = np.empty((few.numbers.size, problem.n_clusters))
    entries = few.numbers.size * (problem.n_entries / max(problem.n_rows, 1) + 1)
    terms, offset, cross = few.of(geometry.rows), clusters.offset, clusters.cross
    order = np.argsort(few.numbers) if few.order is None else few.order
    rows = few.numbers[order]
    _fill_distances(few.corpus, terms, table, offset, cross, rows, order, block, problem.n_threads, entries)
    return block


def _fill_distances(
    corpus, terms: RowTerms, table, offset, cross, rows, places, block, n_threads: int, entries: float
) -> None:
    """block (r, K) OUT: distances of the given rows (r,) of a corpus, in the order in which they lie in memory, at the
    given places (r,)."""
    work = entries * block.shape[1]
    pool.run_chunks(
        lambda first, last: distance_block(
            corpus, terms, table, offset, cross, rows, places, first, last, np.empty(table.shape[2], table.dtype), block
        ),
        pool.even_chunks(rows.size, int(work // BLOCK_WORK) + 1),
        n_threads,
        work,
    )


def assign(
    problem: Problem, geometry: Geometry, clusters: ClusterTerms, previous, seed: np.uint64, method: str, search=None
):
    """One E-step.

    Parameters
    ----------
    previous : ndarray of shape (n,), int32, or None
        Labels of the last iteration; constrained rows start from them, so that J cannot rise.
    method : {"block_icm", "icm"}
    search : Search, optional
        The one of earlier E-steps, see ``free_search``.

    Returns
    -------
    labels : ndarray of shape (n,), int32
    nearest : ndarray of shape (n,), float64
        Distance of every row to the centroid of its label.
    """
    search = free_search(problem, prune=False) if search is None else search
    labels, nearest = search.find(geometry, clusters)
    graph, priors, table = problem.graph, problem.priors, search.table
    if problem.merged.size:
        labels = problem.merged[labels]  # merged clusters have one centroid, but whose number wins a tie is not said
    if priors.rows.size:
        block = distances_of(problem, geometry, clusters, table, problem.rows.take(priors.rows))
        labels[priors.rows] = np.argmin(row_costs(problem, block, priors.rows) + priors.cost, axis=1)
        nearest[priors.rows] = block[np.arange(priors.rows.size), labels[priors.rows]]
    if graph.rows.size:
        block = distances_of(problem, geometry, clusters, table, problem.touched)
        costs = node_costs(problem, block)
        nodes = start_labels(problem, costs, previous, seed)
        settle(problem, geometry, costs, nodes, seed, method)
        labels[graph.rows] = nodes[graph.node_of_row]
        nearest[graph.rows] = block[np.arange(graph.rows.size), labels[graph.rows]]
    return labels, nearest


def row_costs(problem: Problem, block: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(r, K) weighted distances of the given rows; infinite ones (I-divergence without smoothing) become merely huge,
    since infinity stands for what hard cannot-links forbid. Clusters that were merged into others take no row."""
    return _without_merged(problem, np.minimum(block, HUGE) * problem.sample_weight[rows][:, None])


def _without_merged(problem: Problem, costs: np.ndarray) -> np.ndarray:
    if problem.merged.size:
        costs[:, problem.merged != np.arange(problem.merged.size)] = FORBIDDEN
    return costs


def node_costs(problem: Problem, block: np.ndarray) -> np.ndarray:
    """(u, K) summed costs per node: weighted distances and label priors."""
    graph, priors = problem.graph, problem.priors
    if _nodes_are_rows(problem) and (problem.metric.directional or block.max() <= HUGE):
        return block
    costs = np.empty((graph.node_ptr.size - 1, problem.n_clusters))
    weigh_nodes(block, problem.sample_weight, graph.rows, graph.node_ptr, graph.node_rows, HUGE, costs)
    if priors.rows.size:
        _, own, theirs = np.intersect1d(graph.rows, priors.rows, assume_unique=True, return_indices=True)
        np.add.at(costs, graph.node_of_row[own], priors.cost[theirs])
    return _without_merged(problem, costs)


def _nodes_are_rows(problem: Problem) -> bool:
    """Whether a node costs what its only row does."""
    graph, weight = problem.graph, problem.sample_weight
    return (
        graph.node_ptr.size - 1 == graph.rows.size
        and not problem.priors.rows.size
        and not problem.merged.size
        and bool((weight[graph.rows] == 1.0).all())
        and np.array_equal(graph.node_rows, np.arange(graph.rows.size))
    )


def start_labels(problem: Problem, costs: np.ndarray, previous, seed: np.uint64) -> np.ndarray:
    """Node labels to start from: the previous ones, or a feasible placement of hard cannot-links and nothing else."""
    graph = problem.graph
    fixed, kept = _fixed_nodes(problem)
    if previous is not None:
        nodes = previous[graph.rows[graph.node_rows[graph.node_ptr[:-1]]]].astype(np.int32)
        nodes[fixed] = kept
        if _feasible(graph, nodes):
            return nodes
    nodes = np.full(costs.shape[0], -1, np.int32)
    if graph.hard_node.size:
        place(graph, np.ascontiguousarray(costs[:, problem.live]), nodes, seed)
        nodes = np.where(nodes >= 0, problem.live[nodes], nodes).astype(np.int32)
        nodes = _renamed(nodes, fixed, kept, costs, problem.live)
    return nodes


def _fixed_nodes(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Nodes that hold a row of fixed label, and those labels."""
    priors, graph = problem.priors, problem.graph
    if not priors.fixed_rows.size:
        return NOBODY, NOBODY
    _, own, theirs = np.intersect1d(graph.rows, priors.fixed_rows, assume_unique=True, return_indices=True)
    return graph.node_of_row[own], priors.fixed[priors.fixed >= 0][theirs]


def _renamed(nodes: np.ndarray, fixed: np.ndarray, kept: np.ndarray, costs, live: np.ndarray) -> np.ndarray:
    """Placement cares for differences of labels, not for names: exchange names so that fixed nodes have their own.

    The rows of one class are one node, and the nodes of two classes are linked, so there always is such an exchange.
    """
    if np.array_equal(nodes[fixed], kept):
        return nodes
    placed = nodes[fixed] >= 0  # the others have no hard cannot-link: they simply get their names
    name = np.full(live[-1] + 1, -1, np.int32)
    name[nodes[fixed[placed]]] = kept[placed]
    rest, names = np.setdiff1d(live, nodes[fixed[placed]]), np.setdiff1d(live, kept[placed])
    name[rest] = cheapest_names(costs, nodes, rest, names)
    nodes = np.where(nodes >= 0, name[nodes], nodes).astype(np.int32)
    nodes[fixed] = kept
    return nodes


def _feasible(graph, nodes: np.ndarray) -> bool:
    if not graph.hard_node.size:
        return True
    owner = np.repeat(np.arange(nodes.size), np.diff(graph.hard_ptr))
    return not np.any(nodes[owner] == nodes[graph.hard_node])


def settle(problem: Problem, geometry: Geometry, costs: np.ndarray, nodes: np.ndarray, seed, method: str) -> None:
    """Move nodes (INOUT labels (u,)) until no single node and, for block_icm, no must-link component wants to move.

    Plain sweeps come first, so block moves only ever improve on what they reach.
    """
    graph, links = problem.graph, geometry.links
    movable = (graph.node_block < 0).astype(np.uint8)  # the nodes of implicit blocks are moved by their own kernels
    near, stirred = np.empty((nodes.size, 2), np.int32), np.full(nodes.size, ALONE | UNIT)
    cheapest_pairs(costs, near)
    scratch = scratch_tables(problem)
    corpus, pairs, local = local_blocks(problem, geometry) if scratch else (None, None, graph)
    shared = (corpus, pairs, geometry.weights, geometry.phi_max, costs, local, links, nodes)
    for round_number in range(MAX_ROUNDS):
        round_seed = seed + np.uint64(MAX_ROUNDS * round_number)
        for sweep in range(MAX_ROUNDS):
            sweeps(costs, near, links, nodes, movable, stirred, round_seed + np.uint64(sweep), MAX_SWEEPS)
            if not scratch or sweep_blocks(*shared, round_seed + np.uint64(sweep), *scratch) == 0:
                break
            stirred[:] = ALONE | UNIT
        if method == "icm":
            break
        moves = block_moves(costs, links, graph.unit_ptr, graph.unit_nodes, nodes, movable, stirred, round_seed)
        others = move_blocks(*shared, *scratch) if scratch else 0
        if graph.hard_node.size:
            soft = links._replace(hard_ptr=np.zeros_like(graph.hard_ptr), hard_node=graph.hard_node[:0])
            others += exchanges(costs, links, soft, nodes, movable, round_seed, LONGEST_CHAIN)
        if moves + others == 0:
            break
        if others:
            stirred[:] = ALONE | UNIT
    if np.any(nodes < 0):
        raise InfeasibleError("a constrained row found no label that its hard cannot-links allow")


def local_blocks(problem: Problem, geometry: Geometry) -> tuple[Corpus, PairTerms, PenaltyGraph]:
    """Rows, their pair terms and the graph of implicit blocks as their kernels need them: row numbers are those of the
    corpus."""
    few = problem.touched
    return few.corpus, few.of(geometry.pairs), problem.graph._replace(rows=few.numbers)


def scratch_tables(problem: Problem) -> tuple[np.ndarray, ...]:
    """Two zero tables (d, K) for the sums of implicit blocks, if there are any."""
    if problem.graph.block_ptr.size <= 1:
        return ()
    return tuple(np.zeros((problem.n_features, problem.n_clusters)) for _ in range(2))


def violations(problem: Problem, geometry: Geometry, labels: np.ndarray):
    """Summed price of violated constraints, with the per-row sums of implicit ones that gradients need.

    Returns (cost, count (r,), phi_sum (r,), cannot_weight): see ``kernels.closure.block_partners``.
    """
    graph = problem.graph
    if graph.rows.size == 0:
        return 0.0, None, None, 0.0
    row_labels = labels[graph.rows]
    cost = violation_cost(graph.pair_kind, graph.pair_first, graph.pair_second, geometry.pair_cost, row_labels)
    scratch = scratch_tables(problem)
    if not scratch:
        return cost, None, None, 0.0
    nodes = row_labels[graph.node_rows[graph.node_ptr[:-1]]]
    count, phi_sum, cannot = np.empty(graph.rows.size), np.empty(graph.rows.size), np.zeros(1)
    corpus, pairs, local = local_blocks(problem, geometry)
    cost += block_partners(
        corpus, pairs, geometry.weights, geometry.phi_max, local, nodes, *scratch, count, phi_sum, cannot
    )
    return cost, count, phi_sum, float(cannot[0])
