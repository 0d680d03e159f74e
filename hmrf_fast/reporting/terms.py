"""The terms that make a cluster: by weight, and by lift."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

TERMS = 12
LEAST_SHARE = 0.1  # of a cluster's rows that must hold a term before its lift counts: rare terms have any lift


class Term(NamedTuple):
    """One feature of one cluster."""

    feature: int
    name: str
    salience: float  # learned weight times what the feature contributes to the centroid
    lift: float  # how much more of it the cluster has than all rows
    share: float  # of the cluster's rows that hold it


class ClusterTerms(NamedTuple):
    """The leading terms of one cluster, best first."""

    by_weight: tuple[Term, ...]
    by_lift: tuple[Term, ...]


def membership(labels: np.ndarray, n_clusters: int) -> sp.csr_matrix:
    """(K, n) ones where a row is in a cluster: a product with it sums rows by cluster, in row order."""
    n_rows = labels.size
    return sp.csr_matrix((np.ones(n_rows), (labels, np.arange(n_rows))), shape=(n_clusters, n_rows))


def top_terms(
    rows: sp.csr_matrix,
    member: sp.csr_matrix,
    weights: np.ndarray,
    centred: bool,
    name: Callable[[int], str],
    count: int = TERMS,
) -> tuple[ClusterTerms, ...]:
    """Leading terms of every cluster.

    Parameters
    ----------
    rows : csr_matrix of shape (n, d)
        The rows as the metric sees them: of length 1, or of sum 1.
    member : csr_matrix of shape (K, n)
    weights : ndarray of shape (d,)
        Learned feature weights.
    centred : bool
        False: a term's salience is weight times its mean in the cluster, its lift the ratio of its means in the
        cluster and in all rows. True, for values without a natural zero: salience is weight times the difference of
        these means, lift the difference in standard deviations.
    name : callable
        From the number of a feature to its name.
    count : int, default=12

    Returns
    -------
    tuple of ClusterTerms, one per cluster
        Cost: non-zeros, plus the features if `centred`.
    """
    sizes = np.asarray(member.sum(axis=1)).ravel()
    sums = sp.csr_matrix(member @ rows)
    held = sp.csr_matrix(member @ rows.astype(bool).astype(np.float64))
    for table in (sums, held):
        table.sort_indices()
    mean, spread = moments(rows) if centred else (column_means(rows), None)
    told = []
    for cluster, size in enumerate(sizes):
        if size == 0:
            told.append(ClusterTerms((), ()))
            continue
        if spread is None:
            features, means = _stored(sums, cluster)
            salience, lift = weights[features] * means / size, means / size / mean[features]
        else:
            features = varying(spread)
            difference = _filled(sums, cluster)[features] / size - mean[features]
            salience, lift = weights[features] * difference, difference / spread[features]
        share = _filled(held, cluster)[features] / size
        least = max(min(LEAST_SHARE, 0.5 * share.max(initial=0.0)), min(2.0 / size, 1.0))
        common = np.full(features.size, True) if centred else share >= least
        by_weight = _order(np.abs(salience), np.abs(lift), count)
        by_lift = np.flatnonzero(common)
        by_lift = by_lift[_order(np.abs(lift[by_lift]), np.abs(salience[by_lift]), count)]

        led, lifted = (
            tuple(
                Term(int(features[k]), name(int(features[k])), float(salience[k]), float(lift[k]), float(share[k]))
                for k in order
            )
            for order in (by_weight, by_lift)
        )
        told.append(ClusterTerms(led, lifted))
    return tuple(told)


def column_means(rows: sp.csr_matrix) -> np.ndarray:
    """(d,) mean of every feature."""
    return np.asarray(rows.sum(axis=0)).ravel() / max(rows.shape[0], 1)


def moments(rows: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """(d,) mean and standard deviation of every feature."""
    mean = column_means(rows)
    return mean, np.sqrt(np.maximum(column_means(rows.multiply(rows)) - mean**2, 0.0))


def varying(spread: np.ndarray) -> np.ndarray:
    """Features that are not the same in all rows, by their standard deviations."""
    return np.flatnonzero(spread > 1e-12 * max(spread.max(initial=0.0), 1e-300))


def _stored(table: sp.csr_matrix, row: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns and values of the positive entries of one row."""
    span = slice(table.indptr[row], table.indptr[row + 1])
    positive = table.data[span] > 0
    return table.indices[span][positive], table.data[span][positive]


def _filled(table: sp.csr_matrix, row: int) -> np.ndarray:
    dense = np.zeros(table.shape[1])
    span = slice(table.indptr[row], table.indptr[row + 1])
    dense[table.indices[span]] = table.data[span]
    return dense


def _order(first: np.ndarray, second: np.ndarray, count: int) -> np.ndarray:
    """Places of the largest values; between those that are equal up to rounding the second key decides."""
    places, spare = np.arange(first.size), first.size - 4 * count
    if spare > 0:  # sort only what can be among the first
        places = np.flatnonzero(first >= np.partition(first, spare)[spare] * (1 - 1e-9))
    rounded = np.round(first[places] / max(first.max(initial=0.0), 1e-300), 9)
    return places[np.lexsort((places, -second[places], -rounded))[:count]]
