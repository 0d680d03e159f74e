"""Must-links of every origin as edges, and the components they form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

if TYPE_CHECKING:
    from hmrf_fast.constraints import Constraints
    from hmrf_fast.groups import Grouping
    from hmrf_fast.neighborhoods import Resolved

Strength = Literal["given", "positive", "hard"]


def has_strength(weight: np.ndarray | float, strength: Strength) -> np.ndarray:
    """Whether a weight counts: any given one, one above zero, or an infinite one."""
    if strength == "hard":
        return np.isinf(weight)
    return np.greater(weight, 0) if strength == "positive" else np.greater_equal(weight, 0)


def must_link_sets(given: Constraints | Resolved, strength: Strength) -> list[tuple[str, Grouping]]:
    """The sets of rows that must link as a whole: ``("group", groups)`` and ``("class", labels)`` where they count."""
    if not has_strength(given.must_link_group_weight, strength):
        return []
    sets = (("group", given.must_link_groups), ("class", given.labels))
    return [(noun, grouping) for noun, grouping in sets if grouping is not None]


def must_link_edges(given: Constraints | Resolved, strength: Strength) -> tuple[np.ndarray, np.ndarray]:
    """The ends of all must-links; each group or class enters as a path through its rows, so the cost is linear."""
    pairs = given.must_link[has_strength(given.must_link_weight, strength)]
    first, second = [pairs[:, 0]], [pairs[:, 1]]
    for _, grouping in must_link_sets(given, strength):
        order = np.argsort(grouping.codes, kind="stable")
        codes = grouping.codes[order]
        joined = (codes[1:] == codes[:-1]) & (codes[1:] >= 0)
        first.append(order[:-1][joined])
        second.append(order[1:][joined])
    return np.concatenate(first), np.concatenate(second)


def components(n_rows: int, first: np.ndarray, second: np.ndarray, extra: np.ndarray | None = None) -> np.ndarray:
    """Connected components of a graph over rows.

    Parameters
    ----------
    n_rows : int
    first, second : ndarray of shape (e,), int64
        Edges.
    extra : ndarray of shape (n_rows,), bool, optional
        Rows that form a component even without an edge.

    Returns
    -------
    ndarray of shape (n_rows,), int32
        Component numbers in the order of their smallest rows, -1 for rows in none.
    """
    touched = np.zeros(n_rows, dtype=bool) if extra is None else extra.copy()
    touched[first] = True
    touched[second] = True
    rows = np.flatnonzero(touched)
    component = np.full(n_rows, -1, dtype=np.int32)
    if rows.size == 0:
        return component
    position = np.cumsum(touched) - 1
    graph = sp.coo_array((np.ones(first.size, dtype=np.int8), (position[first], position[second])), (rows.size,) * 2)
    _, found = connected_components(graph, directed=False)
    component[rows] = smallest_first(found)[found]
    return component


def smallest_first(codes: np.ndarray, n_sets: int = 0) -> np.ndarray:
    """(s,) int32 new numbers of sets, in the order in which they first occur in ``codes`` (n,), where -1 says nothing;
    sets that do not occur come last."""
    n_sets = max(n_sets, int(codes.max(initial=-1)) + 1)
    first = np.full(n_sets, codes.size)
    known = np.flatnonzero(codes >= 0)[::-1]
    first[codes[known]] = known
    rank = np.empty(n_sets, dtype=np.int32)
    rank[np.argsort(first, kind="stable")] = np.arange(n_sets, dtype=np.int32)
    return rank
