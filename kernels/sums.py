"""Centroid sums that are the same bits for any number of threads, any order and any history.

Sums are kept as 64-bit integers: value * factor * 2**s, rounded toward zero, with s chosen per feature so that no sum
can overflow. Integer addition is associative, so rows may be added in any order and moved between clusters without
drift. Where the row factors span too wide a range for one scale, the sums are float64, and always summed anew, each
cluster in row order.
"""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels._jit import kernel
from hmrf_fast.kernels.prefetch import prefetch_row, prefetch_visit

COUNTED_AT_ONCE = 1 << 17
HEADROOM = 62  # bits below the sign that a sum may use
WIDEST_RANGE = (
    2.0**16
)  # between the largest and the smallest row factor for fixed point to keep 1e-12 relative precision


@kernel
def feature_peaks(corpus, factor, first, last, peaks):
    """peaks (d,) INOUT: the largest |value * factor[row]| per feature over rows [first, last)."""
    for row in range(first, last):
        for entry in range(corpus.indptr[row], corpus.indptr[row + 1]):
            size = abs(corpus.values[entry] * factor[row])
            if size > peaks[corpus.indices[entry]]:
                peaks[corpus.indices[entry]] = size


def fixed_point_scale(peaks: np.ndarray, n_rows: int) -> np.ndarray:
    """Power of two per feature such that the sum of n_rows values of that size stays below 2**62."""
    _, exponent = np.frexp(peaks * max(n_rows, 1))
    return np.where(peaks > 0, np.ldexp(1.0, np.minimum(HEADROOM - exponent, 1000)), 1.0)


def fixed_point_fits(factor: np.ndarray) -> bool:
    """Whether one scale serves all rows: the positive factors lie within a range of 2**16 of each other."""
    positive = factor[factor > 0]
    return positive.size == 0 or positive.max() <= WIDEST_RANGE * positive.min()


@kernel
def sum_clusters(corpus, visits, factor, scale, ends, first, last, fresh, sums):
    """Sums of the clusters [first, last): sums[h] INOUT += sum of factor * scale * x over the cluster's rows, from 0
    where ``fresh``.

    IN visits: Visits of the rows sorted by label, factor (n,) float64 in that order; scale (d,) or (1,) float64; ends
    (K + 1,): where each label begins.
    INOUT sums (K, d) int64 or float64. Cost: nnz of the rows plus d per cluster; one cluster's sums stay in the cache.
    """
    for h in range(first, last):
        total = sums[h]
        if fresh:
            total[:] = 0
        for position in range(ends[h], ends[h + 1]):
            prefetch_visit(corpus, visits, position)
            common = factor[position] * (scale[0] if scale.size == 1 else 1.0)
            for entry in range(visits.begin[position], visits.end[position]):
                feature = np.uint32(corpus.indices[entry])
                part = np.float64(corpus.values[entry]) * common * (1.0 if scale.size == 1 else scale[feature])
                total[feature] += sums.dtype.type(part)


@kernel
def move_rows(corpus, factor, scale, rows, before, after, first_feature, last_feature, sums):
    """Move rows between clusters: sums[before] lose them, sums[after] gain them.

    IN factor (n,), scale (d,) or (1,) float64, rows (r,) int64, before, after (n,) int32; only features in
    [first_feature, last_feature) are touched, so that threads can share one table. INOUT sums (K, d) int64.
    Holds: indices sorted within rows. Cost: nnz of the rows.
    """
    for position in range(rows.size):
        row = rows[position]
        prefetch_row(corpus, rows, position + 1)
        loser = sums[before[row]]
        winner = sums[after[row]]
        common = factor[row] * (scale[0] if scale.size == 1 else 1.0)  # powers of two: the product is exact
        end = corpus.indptr[row + 1]
        entry = _first_at_least(corpus.indices, corpus.indptr[row], end, first_feature)
        while entry < end and corpus.indices[entry] < last_feature:
            feature = np.uint32(corpus.indices[entry])
            part = np.int64(np.float64(corpus.values[entry]) * common * (1.0 if scale.size == 1 else scale[feature]))
            loser[feature] -= part
            winner[feature] += part
            entry += 1


@kernel
def _first_at_least(indices, low, high, feature):
    if feature == 0:
        return low
    while low < high:
        middle = (low + high) >> 1
        if indices[middle] < feature:
            low = middle + 1
        else:
            high = middle
    return low


def feature_load(indices: np.ndarray, n_features: int) -> np.ndarray:
    """(d,) int64 numbers of non-zeros."""
    load = np.zeros(n_features, np.int64)
    step = max(COUNTED_AT_ONCE, n_features)  # counting makes wider copies
    for first in range(0, indices.size, step):
        load += np.bincount(indices[first : first + step], minlength=n_features)
    return load


def feature_chunks(load: np.ndarray, count: int) -> np.ndarray:
    """Bounds of ``count`` spans of features with about equal numbers of non-zeros, given those of each (d,)."""
    n_features = load.size
    load = np.cumsum(load)
    inner = np.searchsorted(load, np.linspace(0, load[-1] if n_features else 0, count + 1)[1:-1])
    return np.unique(np.concatenate([[0], inner, [n_features]])).astype(np.int64)
