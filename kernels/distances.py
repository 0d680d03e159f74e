"""Rows against centroids: nearest centroid, blocks of distances.

Every metric of this package writes a distance in one affine form (see ``metrics.py``):

    D(row, h) = base[row] + offset[h] + scale[row] * (sum over non-zeros of value * table[feature, h] + shift[row] *
    cross[h])

so the kernels below know no metric at all. ``shift`` has length 0 for metrics without rank-one terms.
"""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels._jit import inlined, kernel, lean_kernel
from hmrf_fast.kernels.keys import two_lowest, vector_buffer, write_keys
from hmrf_fast.kernels.prefetch import prefetch_line, prefetch_row
from hmrf_fast.kernels.rows import padded_width, row_dots

TILE_BYTES = 256  # of a feature's values in one tile, at most
FLAT_BYTES = 512  # above which a flat table no longer stays near the processor while a row is read


def table_shape(n_clusters: int, n_features: int, dtype: np.dtype) -> tuple[int, int, int]:
    """(tiles, features, width): one tile of all clusters, or tiles of up to 64 clusters (32 in float64) when there are
    many."""
    item = np.dtype(dtype).itemsize
    tiles = 1 if n_clusters * item <= FLAT_BYTES else -(-n_clusters * item // TILE_BYTES)
    return tiles, n_features, padded_width(-(-n_clusters // tiles), dtype)


@inlined
def row_distances(sums, count, begin, base, scale, shift, offset, cross, out):
    """out[h] = D(row, begin + h) for h < count, from the row's products with a tile of the table; see above."""
    if scale == 0.0:
        sums[:] = 0.0  # of a row that says nothing: infinities must not meet the zero
    for h in range(count):
        out[h] = base + offset[begin + h] + scale * (sums[h] + shift * cross[begin + h])


@inlined
def lean_over(sums, shift, cross, begin):
    """The rank-one terms of metrics that have them, added to the products."""
    for h in range(sums.size):
        sums[h] += shift * cross[begin + h]


@kernel
def assign_rows(corpus, terms, table, offset, cross, rows, first, last, labels, nearest):
    """Nearest centroid of rows[first:last]; ties go to the lowest label.

    Centroids are compared by keys: distances less the row's base, which all share, in the table's precision.
    IN corpus: Corpus; terms: RowTerms; table (tiles, d, width); offset (lanes,) of the table's dtype, infinite in
    lanes without a cluster, of whole vectors; cross the same or length 0; rows (r,) int64.
    OUT labels (n,) int32, nearest (n,) float64: the lowest key. Cost: nnz of the rows * K, and no array of rows by
    clusters. Tiles run outside rows, so each tile is read once per chunk.
    """
    indptr, indices, values, scale = corpus.indptr, corpus.indices, corpus.values, terms.scale
    real, width, centred = table.dtype.type, table.shape[2], cross.size > 0
    sums, keys = vector_buffer(width, table, 0.0), vector_buffer(width, table, np.inf)
    for tile in range(table.shape[0]):
        begin, part = tile * width, table[tile]
        for position in range(first, last):
            row = rows[position]
            if position + 1 < last and rows[position + 1] != row + 1:
                prefetch_row(corpus, rows, position + 1)
            row_dots(indices, values, indptr[row], indptr[row + 1], part, sums)
            if centred:
                lean_over(sums, real(terms.shift[row]), cross, begin)
            if scale[row] == 0.0:
                sums[:] = 0.0  # of a row that says nothing: infinities must not meet the zero
            write_keys(sums, offset, begin, real(scale[row]), keys)
            low, _, place = two_lowest(keys)
            if tile == 0 or low < nearest[row]:
                nearest[row] = low
                labels[row] = begin + place


@lean_kernel
def distance_block(corpus, terms, table, offset, cross, rows, places, first, last, sums, block):
    """Distances of rows to all centroids: those at the given places[first:last] of block.

    IN rows (r,) int64: in the order in which they lie in memory; places (r,) int64: of each in block; other arguments
    as in ``assign_rows``. OUT block (r, K) float64; sums (width,) of the table's dtype: scratch. Cost: nnz of the rows
    * K.
    """
    width = table.shape[2]
    for tile in range(table.shape[0]):
        begin = tile * width
        count = min(width, offset.size - begin)
        part = table[tile]
        for position in range(first, last):
            row, place = rows[position], places[position]
            prefetch_row(corpus, rows, position + 1)
            prefetch_line(block, place, begin, begin + count)
            row_dots(corpus.indices, corpus.values, corpus.indptr[row], corpus.indptr[row + 1], part, sums)
            shift = terms.shift[row] if terms.shift.size > 0 else 0.0
            out = block[place, begin : begin + count]
            row_distances(sums, count, begin, terms.base[row], terms.scale[row], shift, offset, cross, out)
