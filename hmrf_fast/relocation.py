"""Empty clusters: filled from the rows that cost most."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hmrf_fast.geometry import Geometry, Problem
from hmrf_fast.kernels.types import PenaltyGraph


def refill(problem: Problem, geometry: Geometry, labels: np.ndarray, nearest: np.ndarray):
    """Give every emptied cluster the costliest row, or must-link component, that can be spared.

    Rows without direction, rows of weight 0 and the last rows of a cluster are never moved; a cluster for which
    nothing is left stays empty. With the moved rows' own centroid J falls, since they all came from one cluster.

    Returns
    -------
    labels : ndarray of shape (n,), int32
        A new array if anything moved.
    filled : ndarray of int
        The clusters that were filled.
    """
    present = problem.sample_weight > 0  # a cluster of rows without weight has no centroid either
    counts = np.bincount(labels[present], minlength=problem.n_clusters)
    empty = np.flatnonzero(counts == 0)
    if empty.size == 0:
        return labels, empty
    labels, rows, filled = labels.copy(), _costliest(problem, geometry, nearest), []
    for cluster in empty:
        holds_weightless = bool(np.any(labels == cluster))
        group = _next_group(problem.graph, rows, labels, counts, free_only=holds_weightless)
        if group is None:
            break
        size = np.count_nonzero(present[group])
        counts[labels[group[0]]] -= size
        labels[group] = cluster
        counts[cluster] = size
        filled.append(cluster)
    return labels, np.array(filled, dtype=np.int64)


def _costliest(problem: Problem, geometry: Geometry, nearest: np.ndarray) -> Iterator[int]:
    """Rows by falling cost, without those whose cost is rounding; ties to the lowest row."""
    cost = np.where(geometry.factor > 0, nearest, 0.0)
    cost = np.where(np.isfinite(cost), cost, np.finfo(float).max)
    order = np.argsort(-cost, kind="stable")
    noise = 1e-12 * abs(geometry.base) / problem.n_rows
    return iter(order[cost[order] > noise].tolist())


def _next_group(
    graph: PenaltyGraph, rows: Iterator[int], labels: np.ndarray, counts: np.ndarray, free_only: bool
) -> np.ndarray | None:
    """The next rows that share one label and leave others behind in it.

    ``free_only``: the cluster still holds rows of weight 0, which a constrained row might not be allowed to join.
    """
    constrained = np.zeros(labels.size, bool)
    constrained[graph.rows] = free_only
    for row in rows:
        if constrained[row]:
            continue
        group = _group(graph, row)
        if np.all(labels[group] == labels[row]) and counts[labels[row]] > group.size:
            return group
    return None


def _group(graph: PenaltyGraph, row: int) -> np.ndarray:
    """The rows that must move with ``row``: its must-link component, its node, or itself alone."""
    position = int(np.searchsorted(graph.rows, row))
    if position == graph.rows.size or graph.rows[position] != row:
        return np.array([row])
    nodes = graph.node_of_row[position : position + 1]
    place = np.flatnonzero(graph.unit_nodes == nodes[0])
    if place.size:
        unit = int(np.searchsorted(graph.unit_ptr, place[0], side="right")) - 1
        nodes = graph.unit_nodes[graph.unit_ptr[unit] : graph.unit_ptr[unit + 1]]
    spans = [graph.node_rows[graph.node_ptr[node] : graph.node_ptr[node + 1]] for node in nodes]
    return graph.rows[np.concatenate(spans)]
