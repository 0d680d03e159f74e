"""Centroid sums that are the same bits for any number of threads, any order and any history.

Sums are kept as 64-bit integers: value * factor * 2**s, rounded toward zero, with s chosen per feature so that no sum
can overflow. Integer addition is associative, so rows may be added in any order and moved between clusters without
drift. Where the row factors span too wide a range for one scale, the same kernel runs on float64 sums (full passes in
row order only).
"""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels._jit import kernel

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
def move_rows(corpus, factor, scale, rows, before, after, first_feature, last_feature, sums):
    """Move rows between clusters: sums[:, before] lose them, sums[:, after] gain them (label -1 = nowhere).

    IN factor (n,), scale (d,) float64, rows (r,) int64, before, after (n,) int32; only features in
    [first_feature, last_feature) are touched, so that threads can share one table. INOUT sums (d, K) int64 or float64.
    Holds: indices sorted within rows. Cost: nnz of the rows.
    """
    for row in rows:
        old = before[row]
        new = after[row]
        end = corpus.indptr[row + 1]
        entry = _first_at_least(corpus.indices, corpus.indptr[row], end, first_feature)
        while entry < end and corpus.indices[entry] < last_feature:
            feature = corpus.indices[entry]
            part = sums.dtype.type(np.float64(corpus.values[entry]) * factor[row] * scale[feature])
            if old >= 0:
                sums[feature, old] -= part
            if new >= 0:
                sums[feature, new] += part
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


def feature_chunks(indices: np.ndarray, n_features: int, count: int) -> np.ndarray:
    """Bounds of ``count`` spans of features with about equal numbers of non-zeros."""
    if count == 1:
        return np.array([0, n_features])
    load = np.cumsum(np.bincount(indices, minlength=n_features))
    inner = np.searchsorted(load, np.linspace(0, load[-1] if n_features else 0, count + 1)[1:-1])
    return np.unique(np.concatenate([[0], inner, [n_features]])).astype(np.int64)
