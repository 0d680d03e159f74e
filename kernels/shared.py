"""What the two rows of each pair share, listed once: while feature weights are learned, distances of pairs and their
gradient follow from the lists, and the rows are not merged again.
"""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels._jit import lean_kernel
from hmrf_fast.kernels.pairs import overlap_part
from hmrf_fast.kernels.prefetch import prefetch_row


@lean_kernel
def count_shared(corpus, first_rows, second_rows, first, last, count):
    """count[first:last] OUT: numbers of features that both rows of a pair have; cost: non-zeros of both rows."""
    for pair in range(first, last):
        prefetch_row(corpus, first_rows, pair + 1)
        prefetch_row(corpus, second_rows, pair + 1)
        left, left_end = corpus.indptr[first_rows[pair]], corpus.indptr[first_rows[pair] + 1]
        right, right_end = corpus.indptr[second_rows[pair]], corpus.indptr[second_rows[pair] + 1]
        found = 0
        while left < left_end and right < right_end:
            a, b = corpus.indices[left], corpus.indices[right]
            found += a == b
            left += a <= b
            right += b <= a
        count[pair] = found


@lean_kernel
def list_shared(corpus, unit, entropic, first_rows, second_rows, first, last, shared):
    """features and parts of the Shared OUT, for its pairs [first, last); cost: non-zeros of both rows of each."""
    for pair in range(first, last):
        prefetch_row(corpus, first_rows, pair + 1)
        prefetch_row(corpus, second_rows, pair + 1)
        i, j = first_rows[pair], second_rows[pair]
        left, left_end = corpus.indptr[i], corpus.indptr[i + 1]
        right, right_end = corpus.indptr[j], corpus.indptr[j + 1]
        place = shared.ptr[pair]
        while left < left_end and right < right_end:
            a, b = corpus.indices[left], corpus.indices[right]
            if a == b:
                x, y = np.float64(corpus.values[left]), np.float64(corpus.values[right])
                shared.features[place] = a
                shared.parts[place] = overlap_part(x, y, unit[i], unit[j], entropic)
                place += 1
            left += a <= b
            right += b <= a


@lean_kernel
def shared_distances(shared, terms, weights, first_rows, second_rows, first, last, phi):
    """phi[first:last] OUT, the same bits as ``pair_distances`` gives; cost: what is shared."""
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
