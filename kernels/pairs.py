"""Distances between the two rows of a pair, and what they add to the gradient of the feature weights.

For every metric the scaling function is phi(i, j) = centre_i + centre_j - degree * factor_i factor_j (overlap +
lean_i counter_j + counter_i lean_j), where the overlap runs over the features both rows have: a x y for the bilinear
metrics, a (x ln(x/(x+y)) + y ln(y/(x+y))) of the normalised rows for I-divergence. One merge of two sorted rows is
all a pair costs.
"""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels._jit import inlined, kernel, lean_kernel
from hmrf_fast.kernels.prefetch import prefetch_row


@inlined
def next_shared(indices, left, left_end, others, right, right_end):
    """The next places, from ``left`` and ``right`` on, at which two sorted rows have the same feature; one of them is
    the end of its row if there is none."""
    while left < left_end and right < right_end:
        a, b = indices[left], others[right]
        if a == b:
            break
        left += a < b
        right += b < a
    return left, right


@lean_kernel
def pair_distances(one, other, weights, entropic, first_rows, second_rows, first, last, phi):
    """phi[first:last] OUT for pairs of a row of ``one`` and a row of ``other``; cost: non-zeros of both rows per pair.

    IN one, other: PairSide, mostly the same; first_rows, second_rows (m,): numbers of rows in them; weights (d,)
    float64; entropic: I-divergence's overlap.
    """
    mine, its = one.terms, other.terms
    for pair in range(first, last):
        prefetch_row(one.corpus, first_rows, pair + 1)
        prefetch_row(other.corpus, second_rows, pair + 1)
        i, j = first_rows[pair], second_rows[pair]
        left, left_end = one.corpus.indptr[i], one.corpus.indptr[i + 1]
        right, right_end = other.corpus.indptr[j], other.corpus.indptr[j + 1]
        overlap = 0.0
        left, right = next_shared(one.corpus.indices, left, left_end, other.corpus.indices, right, right_end)
        while left < left_end and right < right_end:
            x, y = np.float64(one.corpus.values[left]), np.float64(other.corpus.values[right])
            part = overlap_part(x, y, one.unit[i], other.unit[j], entropic)
            overlap += weights[one.corpus.indices[left]] * part
            left, right = next_shared(
                one.corpus.indices, left + 1, left_end, other.corpus.indices, right + 1, right_end
            )
        if mine.lean.size > 0:
            overlap += mine.lean[i] * its.counter[j] + mine.counter[i] * its.lean[j]
        phi[pair] = mine.centre[i] + its.centre[j] - mine.degree * mine.factor[i] * its.factor[j] * overlap


@kernel
def overlap_part(x, y, unit_x, unit_y, entropic):
    """What one shared feature of weight 1 adds to the overlap of two rows."""
    if not entropic:
        return x * y
    x *= unit_x
    y *= unit_y
    if x == 0.0 or y == 0.0:  # rows too small to have a mass
        return 0.0
    return x * np.log(x / (x + y)) + y * np.log(y / (x + y))


@kernel
def add_pair_products(corpus, unit, entropic, first_rows, second_rows, strength, gradient):
    """gradient (d,) INOUT += strength[pair] * overlap, feature by feature without the weights; cost: non-zeros of both
    rows per pair with a strength."""
    for pair in range(strength.size):
        if strength[pair] == 0.0:
            continue
        i, j = first_rows[pair], second_rows[pair]
        left, left_end = corpus.indptr[i], corpus.indptr[i + 1]
        right, right_end = corpus.indptr[j], corpus.indptr[j + 1]
        left, right = next_shared(corpus.indices, left, left_end, corpus.indices, right, right_end)
        while left < left_end and right < right_end:
            x, y = np.float64(corpus.values[left]), np.float64(corpus.values[right])
            gradient[corpus.indices[left]] += strength[pair] * overlap_part(x, y, unit[i], unit[j], entropic)
            left, right = next_shared(corpus.indices, left + 1, left_end, corpus.indices, right + 1, right_end)


@lean_kernel
def add_leanings(corpus, lean, first_rows, second_rows, strength, gradient):
    """gradient (d,) INOUT += strength[pair] * (x lean_j + y lean_i) on each row's own features, which metrics of
    centred rows have besides the overlap; their constant part lean_i lean_j is the caller's."""
    for pair in range(strength.size):
        if strength[pair] != 0.0:
            i, j = first_rows[pair], second_rows[pair]
            for entry in range(corpus.indptr[i], corpus.indptr[i + 1]):
                gradient[corpus.indices[entry]] += strength[pair] * corpus.values[entry] * lean[j]
            for entry in range(corpus.indptr[j], corpus.indptr[j + 1]):
                gradient[corpus.indices[entry]] += strength[pair] * corpus.values[entry] * lean[i]
