"""What a fit in the background found, under numbers that stay, and what it changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_matrix

FLOWS = 3


class Flow(NamedTuple):
    """Rows that went from one cluster to another."""

    source: int
    target: int
    n_rows: int


def numbered(labels: np.ndarray, neighborhoods: Sequence[np.ndarray], n_clusters: int) -> np.ndarray:
    """Clusters under numbers that follow from the answers, so that a session that is resumed shows the same.

    Cluster k is the one with most rows of neighbourhood k; those without a neighbourhood come after, largest first.

    Parameters
    ----------
    labels : ndarray of shape (n,), int
    neighborhoods : sequence of ndarray of int
    n_clusters : int

    Returns
    -------
    ndarray of shape (n,), int64
    """
    held = np.zeros((len(neighborhoods), n_clusters))
    for position, rows in enumerate(neighborhoods):
        held[position] = np.bincount(labels[rows], minlength=n_clusters)
    positions, clusters = linear_sum_assignment(-held)
    order = clusters[np.argsort(positions)]
    sizes = np.bincount(labels, minlength=n_clusters)
    rest = np.setdiff1d(np.arange(n_clusters), order)
    order = np.concatenate([order, rest[np.argsort(-sizes[rest], kind="stable")]])
    rank = np.empty(n_clusters, np.int64)
    rank[order] = np.arange(n_clusters)
    return rank[labels]


def changes(before: np.ndarray, after: np.ndarray) -> tuple[int, tuple[Flow, ...]]:
    """How many rows moved between two clusterings, whatever their numbers, and the largest flows in the numbers of the
    later one."""
    n_before, n_after = int(before.max()) + 1, int(after.max()) + 1
    table = coo_matrix((np.ones(before.size), (before, after)), shape=(n_before, n_after)).toarray()
    old, new = linear_sum_assignment(-table)
    stayed = table[old, new].sum()
    table[old, new] = 0
    name = dict(zip(old.tolist(), new.tolist(), strict=True))
    largest = np.argsort(-table, axis=None, kind="stable")[:FLOWS]
    pairs = zip(*np.unravel_index(largest, table.shape), strict=True)
    flows = (Flow(name.get(int(a), -1), int(b), int(table[a, b])) for a, b in pairs if table[a, b] > 0)
    return int(before.size - stayed), tuple(flows)
