"""Centroids from sums, and what distances need to know of centroids: sweeps over one cluster's features at a time.

The metrics (``metrics.py``) turn the per-cluster scalars found here into factors; nothing below knows a metric. Sweeps
over few clusters at a time find them still in the processor's cache. Clusters are given by number, so that only those
that changed need be visited.
"""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels._jit import inlined, kernel, summing_kernel

FEATURE_BLOCK = 512  # features laid out together: long stretches to read, and a piece of table that stays in the cache


@summing_kernel
def products(linear, inverse, lean, content, weights, clusters, product, square):
    """OUT product[k] = sum of a * linear / scale * content, square[k] = sum of a * (linear / scale + lean)^2 of the
    k-th given cluster; content must be finite.

    IN linear (K, d) int64 or float64, inverse (d,) = 1 / scale or length 0 for 1, lean (K,), content (K, d), weights
    (d,) float64, clusters (k,) int64. Cost: d per cluster, here and below.
    """
    for k in range(clusters.size):
        row = linear[clusters[k]]
        other = content[clusters[k]]
        shift = lean[clusters[k]]
        both = 0.0
        squares = 0.0
        for m in range(row.size):
            value = row[m] * (inverse[m] if inverse.size > 0 else 1.0)
            raw = value + shift
            both += weights[m] * value * other[m]
            squares += weights[m] * raw * raw
        product[k] = both
        square[k] = squares


@kernel
def write_centers(linear, inverse, lean, gain, even, clusters, centers):
    """centers[h] OUT = gain * (linear / scale + lean) + even, for the given clusters; gain (k,), others as above."""
    for k in range(clusters.size):
        h = clusters[k]
        row = linear[h]
        out = centers[h]
        for m in range(row.size):
            out[m] = gain[k] * (row[m] * (inverse[m] if inverse.size > 0 else 1.0) + lean[h]) + even


@summing_kernel
def center_moments(centers, weights, clusters, square, total):
    """OUT square[k] = sum a c^2, total[k] = sum a c of the given clusters' centroids."""
    for k in range(clusters.size):
        row = centers[clusters[k]]
        squares = 0.0
        plain = 0.0
        for m in range(row.size):
            part = weights[m] * row[m]
            squares += part * row[m]
            plain += part
        square[k] = squares
        total[k] = plain


@kernel
def center_logs(centers, weights, clusters, content, total):
    """content[h] OUT = ln c and total[k] OUT = sum a ln c of the given clusters' centroids; 0 ln 0 = 0.

    Most features of a smoothed centroid have no mass and hence one common value: its logarithm is computed once.
    """
    for k in range(clusters.size):
        row = centers[clusters[k]]
        out = content[clusters[k]]
        seen = 1.0
        log = 0.0
        plain = 0.0
        for m in range(row.size):
            if row[m] != seen:
                seen = row[m]
                log = np.log(seen) if seen > 0.0 else -np.inf
            out[m] = log
            if weights[m] > 0.0:
                plain += weights[m] * log
        total[k] = plain


@kernel
def guarded_products(linear, inverse, content, weights, clusters, product):
    """The products alone where content may be infinite: a feature without mass or without weight adds nothing."""
    for k in range(clusters.size):
        row = linear[clusters[k]]
        other = content[clusters[k]]
        total = 0.0
        for m in range(row.size):
            if row[m] != 0 and weights[m] > 0.0:
                total += row[m] * (inverse[m] if inverse.size > 0 else 1.0) * weights[m] * other[m]
        product[k] = total


@kernel
def add_slopes(linear, inverse, lean, centers, quadratic, slope, first_feature, last_feature, out):
    """out[m] INOUT += sum over clusters of c * (quadratic[h] * c - slope * raw), for a span of features.

    IN quadratic (K,) float64, slope a number; ``raw`` are the sums as in ``raw_squares``. Cost: K d.
    """
    for h in range(centers.shape[0]):
        row = linear[h]
        center = centers[h]
        for m in range(first_feature, last_feature):
            raw = row[m] * (inverse[m] if inverse.size > 0 else 1.0) + lean[h]
            out[m] += center[m] * (quadratic[h] * center[m] - slope * raw)


@kernel
def add_entropic_slopes(linear, inverse, centers, logs, mass, alpha, first_feature, last_feature, out):
    """out[m] INOUT += sum over clusters of mass * (c + alpha * D(1/d, c)) - linear / scale * (1 + ln c), D feature by
    feature, for a span of features; IN logs (K, d) = ln c, mass (K,) float64. Cost: K d."""
    even = 1.0 / out.size
    for h in range(centers.shape[0]):
        for m in range(first_feature, last_feature):
            c = centers[h, m]
            part = mass[h] * c
            if alpha > 0.0:
                part += alpha * mass[h] * (even * (np.log(even) - logs[h, m]) - even + c)
            if linear[h, m] != 0:
                part -= linear[h, m] * (inverse[m] if inverse.size > 0 else 1.0) * (1.0 + logs[h, m])
            out[m] += part


@inlined
def _weighed(weight, value, share):
    """Features without weight count nothing, whatever their value."""
    return weight * (value * share) if weight > 0.0 else 0.0


@kernel
def fill_columns(content, inverse, weights, clusters, first_feature, last_feature, table):
    """Write a * content * inverse of the given clusters into their columns of the table, for a span of features.

    IN content (K, d), inverse (K,), weights (d,), clusters (k,) int64 ascending. INOUT table (tiles, d, width). Four
    clusters side by side are written at once.
    """
    width = table.shape[2]
    for begin in range(first_feature, last_feature, FEATURE_BLOCK):
        end = min(begin + FEATURE_BLOCK, last_feature)
        k = 0
        while k < clusters.size:
            p = clusters[k]
            part, lane, share_p = table[p // width], p % width, inverse[p]
            if k + 4 <= clusters.size and lane + 4 <= width and clusters[k + 3] == p + 3:
                share_q, share_r, share_s = inverse[p + 1], inverse[p + 2], inverse[p + 3]
                for m in range(begin, end):
                    part[m, lane] = _weighed(weights[m], content[p, m], share_p)
                    part[m, lane + 1] = _weighed(weights[m], content[p + 1, m], share_q)
                    part[m, lane + 2] = _weighed(weights[m], content[p + 2, m], share_r)
                    part[m, lane + 3] = _weighed(weights[m], content[p + 3, m], share_s)
                k += 4
            else:
                for m in range(begin, end):
                    part[m, lane] = _weighed(weights[m], content[p, m], share_p)
                k += 1
