"""Rows against centroids: nearest centroid, blocks of distances.

Every metric of this package writes a distance in one affine form (see ``metrics.py``):

    D(row, h) = base[row] + offset[h] + scale[row] * (sum over non-zeros of value * table[feature, h] + shift[row] *
    cross[h])

so the kernels below know no metric at all. ``shift`` has length 0 for metrics without rank-one terms.
"""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels._jit import inlined, kernel
from hmrf_fast.kernels.rows import padded_width, row_dots

TILE_WIDTH = 64
FLAT_LIMIT = 128  # above this many clusters a flat table no longer stays near the processor while a row is read


def table_shape(n_clusters: int, n_features: int, dtype: np.dtype) -> tuple[int, int, int]:
    """(tiles, features, width): one tile of all clusters, or tiles of 64 clusters when there are many."""
    if n_clusters <= FLAT_LIMIT:
        return 1, n_features, padded_width(n_clusters, dtype)
    return -(-n_clusters // TILE_WIDTH), n_features, TILE_WIDTH


@inlined
def row_distances(sums, count, begin, base, scale, shift, offset, cross, out):
    """out[h] = D(row, begin + h) for h < count, from the row's products with a tile of the table; see above."""
    if scale == 0.0:
        sums[:] = 0.0  # of a row that says nothing: infinities must not meet the zero
    for h in range(count):
        out[h] = base + offset[begin + h] + scale * (sums[h] + shift * cross[begin + h])


@inlined
def lowest(values, count):
    """The smallest of the first ``count`` values, in four independent chains; three infinite ones must follow them."""
    a, b, c, d = values[0], values[1], values[2], values[3]
    for h in range(4, count, 4):
        a = values[h] if values[h] < a else a
        b = values[h + 1] if values[h + 1] < b else b
        c = values[h + 2] if values[h + 2] < c else c
        d = values[h + 3] if values[h + 3] < d else d
    a = b if b < a else a
    c = d if d < c else c
    return c if c < a else a


@inlined
def first_equal(values, count, value):
    """The first of ``count`` positions that holds ``value``; 0 if none does."""
    for h in range(count):
        if values[h] == value:
            return h
    return 0


@kernel
def assign_rows(corpus, terms, table, offset, cross, rows, first, last, labels, nearest, second):
    """Nearest centroid of rows[first:last]; ties go to the lowest label.

    IN corpus: Corpus; terms: RowTerms; table (tiles, d, width); offset, cross (K,) float64; rows (r,) int64.
    OUT labels (n,) int32, nearest (n,) float64: the distance found, second (n,) float64 or length 0: the distance to
    the nearest of all other centroids. Cost: nnz of the rows * K, and no array of rows by clusters. Tiles run outside
    rows, so each tile is read once per chunk.
    """
    width = table.shape[2]
    sums = np.empty(width, table.dtype)
    distances = np.empty(width + 4)
    for tile in range(table.shape[0]):
        begin = tile * width
        count = min(width, offset.size - begin)
        part = table[tile]
        distances[count:] = np.inf
        for position in range(first, last):
            row = rows[position]
            row_dots(corpus.indices, corpus.values, corpus.indptr[row], corpus.indptr[row + 1], part, sums)
            shift = terms.shift[row] if terms.shift.size > 0 else 0.0
            row_distances(sums, count, begin, terms.base[row], terms.scale[row], shift, offset, cross, distances)
            low = lowest(distances, count)
            place = first_equal(distances, count, low)
            before = nearest[row] if tile > 0 else np.inf
            if tile == 0 or low < before:
                nearest[row] = low
                labels[row] = begin + place
            if second.size > 0:
                distances[place] = max(low, before)
                other = lowest(distances, count)
                second[row] = other if tile == 0 else min(second[row], other)


@kernel
def distance_block(corpus, terms, table, offset, cross, rows, first, last, block):
    """Distances of rows[first:last] to all centroids.

    IN rows (r,) int64; other arguments as in ``assign_rows``. OUT block (r, K) float64. Cost: nnz of the rows * K.
    """
    width = table.shape[2]
    sums = np.empty(width, table.dtype)
    for tile in range(table.shape[0]):
        begin = tile * width
        count = min(width, offset.size - begin)
        part = table[tile]
        for position in range(first, last):
            row = rows[position]
            row_dots(corpus.indices, corpus.values, corpus.indptr[row], corpus.indptr[row + 1], part, sums)
            shift = terms.shift[row] if terms.shift.size > 0 else 0.0
            out = block[position, begin : begin + count]
            row_distances(sums, count, begin, terms.base[row], terms.scale[row], shift, offset, cross, out)
