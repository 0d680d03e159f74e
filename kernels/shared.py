"""What the two rows of each pair share, listed once: while feature weights are learned, distances of pairs and their
gradient follow from the lists, and the rows are not merged again.
"""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels._jit import lean_kernel
from hmrf_fast.kernels.pairs import next_shared, overlap_part
from hmrf_fast.kernels.prefetch import prefetch_row


@lean_kernel
def list_shared(corpus, unit, entropic, first_rows, second_rows, first, last, count, features, parts):
    """What the rows of each of the pairs [first, last) share: count (m,) OUT, numbers of features; features and parts
    OUT, of the first pair from 0 on. Returns how many there are in all. Cost: non-zeros of both rows of each."""
    place = 0
    for pair in range(first, last):
        prefetch_row(corpus, first_rows, pair + 1)
        prefetch_row(corpus, second_rows, pair + 1)
        i, j, before = first_rows[pair], second_rows[pair], place
        left, left_end = corpus.indptr[i], corpus.indptr[i + 1]
        right, right_end = corpus.indptr[j], corpus.indptr[j + 1]
        left, right = next_shared(corpus.indices, left, left_end, corpus.indices, right, right_end)
        while left < left_end and right < right_end:
            x, y = np.float64(corpus.values[left]), np.float64(corpus.values[right])
            features[place] = corpus.indices[left]
            parts[place] = overlap_part(x, y, unit[i], unit[j], entropic)
            place += 1
            left, right = next_shared(corpus.indices, left + 1, left_end, corpus.indices, right + 1, right_end)
        count[pair] = place - before
    return place


@lean_kernel
def shared_distances(shared, terms, weights, first_rows, second_rows, first, last, phi):
    """phi[first:last] OUT, as ``pair_distances`` gives it but for the order of sums; cost: what is shared."""
    for pair in range(first, last):
        i, j = first_rows[pair], second_rows[pair]
        overlap = 0.0
        for place in range(shared.ptr[pair], shared.ptr[pair + 1]):
            overlap += weights[shared.features[place]] * shared.parts[place]
        if terms.lean.size > 0:
            overlap += terms.lean[i] * terms.counter[j] + terms.counter[i] * terms.lean[j]
        phi[pair] = terms.centre[i] + terms.centre[j] - terms.degree * terms.factor[i] * terms.factor[j] * overlap


@lean_kernel
def add_shared(shared, strength, gradient):
    """gradient (d,) INOUT += strength[pair] * part, as ``add_pair_products`` does; cost: what is shared."""
    for pair in range(strength.size):
        if strength[pair] != 0.0:
            for place in range(shared.ptr[pair], shared.ptr[pair + 1]):
                gradient[shared.features[place]] += strength[pair] * shared.parts[place]
