"""Empty clusters: filled from the rows that cost most."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hmrf_fast.geometry import Geometry, Problem, content_keys
from hmrf_fast.kernels.types import PenaltyGraph


def refill(problem: Problem, geometry: Geometry, labels: np.ndarray, nearest: np.ndarray):
    """Give every emptied cluster the costliest row, or must-link component, that can be spared.

    Rows without direction, of weight 0 or of fixed label and the last rows of a cluster are never moved; a cluster
    for which nothing is left stays empty. With the moved rows' own centroid J falls, since they all came from one
    cluster.

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
    if problem.merged.size:
        empty = empty[problem.merged[empty] == empty]  # what was merged stays merged
    if empty.size == 0:
        return labels, empty
    labels, rows, filled = labels.copy(), _costliest(problem, geometry, nearest), []
    groups = _Groups(problem.graph, problem.n_rows, problem.priors.fixed_rows)
    for cluster in empty:
        holds_weightless = bool(np.any(labels == cluster))
        group = _next_group(groups, rows, labels, counts, free_only=holds_weightless)
        if group is None:
            break
        size = np.count_nonzero(present[group])
        counts[labels[group[0]]] -= size
        labels[group] = cluster
        counts[cluster] = size
        filled.append(cluster)
    return labels, np.array(filled, dtype=np.int64)


def _costliest(problem: Problem, geometry: Geometry, nearest: np.ndarray) -> Iterator[int]:
    """Rows by falling cost, without those whose cost is rounding; ties by content, then to the lowest row."""
    cost = np.where(geometry.factor > 0, nearest, 0.0)
    cost = np.where(np.isfinite(cost), cost, np.finfo(float).max)
    dear = np.flatnonzero(cost > 1e-12 * abs(geometry.base) / problem.n_rows)
    return iter(dear[np.lexsort((content_keys(problem)[dear], -cost[dear]))].tolist())


def _next_group(
    groups: _Groups, rows: Iterator[int], labels: np.ndarray, counts: np.ndarray, free_only: bool
) -> np.ndarray | None:
    """The next rows that share one label and leave others behind in it.

    ``free_only``: the cluster still holds rows of weight 0, which a constrained row might not be allowed to join.
    """
    for row in rows:
        if groups.refused[row] or (free_only and groups.position[row] >= 0):
            continue
        group = groups.of(row)
        together = np.all(labels[group] == labels[row]) and not np.any(groups.fixed[group])
        if together and counts[labels[row]] > group.size:
            return group
        groups.refused[group] = True  # once for the whole group, however many rows it has
    return None


class _Groups:
    """Which rows must move together; set up once per refill in time linear in the rows."""

    def __init__(self, graph: PenaltyGraph, n_rows: int, fixed_rows: np.ndarray):
        self.graph = graph
        self.position = np.full(n_rows, -1)
        self.position[graph.rows] = np.arange(graph.rows.size)
        self.unit_of = np.full(graph.node_ptr.size - 1, -1)
        self.unit_of[graph.unit_nodes] = np.repeat(np.arange(graph.unit_ptr.size - 1), np.diff(graph.unit_ptr))
        self.refused = np.zeros(n_rows, bool)
        self.fixed = np.zeros(n_rows, bool)
        self.fixed[fixed_rows] = True

    def of(self, row: int) -> np.ndarray:
        """The must-link component of ``row``, its node, or itself alone."""
        graph, position = self.graph, self.position[row]
        if position < 0:
            return np.array([row])
        nodes = graph.node_of_row[position : position + 1]
        unit = self.unit_of[nodes[0]]
        if unit >= 0:
            nodes = graph.unit_nodes[graph.unit_ptr[unit] : graph.unit_ptr[unit + 1]]
        spans = [graph.node_rows[graph.node_ptr[node] : graph.node_ptr[node + 1]] for node in nodes]
        return graph.rows[np.concatenate(spans)]
