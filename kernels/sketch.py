"""Products of the rows with narrow tables, and of those with the rows again: all that a truncated SVD asks of them.

The second kind of product sums over rows. Its parts are rounded to 64-bit integers, as centroid sums are, so that rows
may be cut into blocks, and columns among threads, in any way.
"""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels._jit import kernel

PART_BITS, SUM_BITS = 50, 61  # that the size of a part, and of a sum of sizes, may use
# Added to a number of less than 2**51 it leaves the nearest integer in the last bits, where vector instructions that
# turn floating point into integers are missing.
ROUNDER = 1.5 * 2.0**52
ROUNDER_BITS = np.float64(ROUNDER).view(np.int64)


def product_scale(energy: np.ndarray, length: float) -> float:
    """The power of two that parts are multiplied with, given squared lengths times weights of the rows (n,) and the
    length of the longest column of the table."""
    part, whole = np.frexp(np.array([energy.max(initial=0.0), energy.sum()]) * length)[1].tolist()
    return float(np.ldexp(1.0, min(PART_BITS - part, SUM_BITS - whole, 1000)))


@kernel
def row_products(corpus, unit, root, table, first, last, products):
    """OUT products (n, r): rows of A, which are unit * x, or its square roots where ``root``, times the table (d, r).

    Cost: r per non-zero.
    """
    width = table.shape[1]
    for row in range(first, last):
        below = products[row]
        below[:] = 0.0
        for entry in range(corpus.indptr[row], corpus.indptr[row + 1]):
            value = corpus.values[entry] * unit[row]
            value = np.sqrt(value) if root else value
            line = table[np.uint32(corpus.indices[entry])]
            for column in range(width):
                below[column] += value * line[column]


@kernel
def add_square_product(corpus, unit, factor, root, table, first, last, total):
    """INOUT total (d, r) int64 += A' F A table in the columns [first, last), with A as of ``row_products`` and F the
    diagonal of factor (n,).

    Cost: 2 r per non-zero.
    """
    width = last - first
    below, rounded = np.empty(width), np.empty(width)
    bits = rounded.view(np.int64)
    for row in range(unit.size):
        begin, end = corpus.indptr[row], corpus.indptr[row + 1]
        below[:] = 0.0
        for entry in range(begin, end):
            value = corpus.values[entry] * unit[row]
            value = np.sqrt(value) if root else value
            line = table[np.uint32(corpus.indices[entry]), first:last]
            for column in range(width):
                below[column] += value * line[column]
        for column in range(width):
            below[column] *= factor[row]
        for entry in range(begin, end):
            value = corpus.values[entry] * unit[row]
            value = np.sqrt(value) if root else value
            for column in range(width):
                rounded[column] = value * below[column] + ROUNDER
            sums = total[np.uint32(corpus.indices[entry]), first:last]
            for column in range(width):
                sums[column] += bits[column] - ROUNDER_BITS
