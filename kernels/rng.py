"""Counter-based random numbers: a draw depends on (seed, counter) alone, never on threads or on earlier draws.

The mixer is SplitMix64 (Steele, Lea and Flood 2014).
"""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels._jit import kernel

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


@kernel
def mix(seed, counter):
    """64 random bits for (seed, counter), both uint64."""
    word = seed + (counter + np.uint64(1)) * _STEP
    word = (word ^ (word >> _S30)) * _FIRST
    word = (word ^ (word >> _S27)) * _SECOND
    return word ^ (word >> _S31)


@kernel
def below(seed, counter, bound):
    """A uniform integer in [0, bound) for bound < 2**31, by multiply and shift; the bias is below 2**-32 * bound."""
    return np.int64(((mix(seed, counter) >> _S32) * np.uint64(bound)) >> _S32)


@kernel
def shuffle(order, seed):
    """Fisher-Yates permutation of order (n,) INOUT; cost O(n)."""
    for last in range(order.size - 1, 0, -1):
        other = below(seed, np.uint64(last), last + 1)
        kept = order[last]
        order[last] = order[other]
        order[other] = kept


@kernel
def random_order(order, seed):
    """order (n,) int64 OUT: a permutation of 0 to n - 1."""
    for place in range(order.size):
        order[place] = place
    shuffle(order, seed)


@kernel
def row_digests(indptr, indices, bits, first, last, digests):
    """digests (n,) uint64 OUT: a hash of each row's content alone, so that rows can be put in an order that does not
    depend on where they stand. IN bits (nnz,) uint64: the values' bit patterns as doubles. Cost: nnz."""
    for row in range(first, last):
        word = np.uint64(indptr[row + 1] - indptr[row])
        for entry in range(indptr[row], indptr[row + 1]):
            word = mix(word ^ bits[entry], np.uint64(indices[entry]))
        digests[row] = word
