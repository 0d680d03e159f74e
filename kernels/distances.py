"""Rows against centroids: nearest centroid, blocks of distances, distance to the own centroid.

Every metric of this package writes a distance in one affine form (see ``metrics.py``):

    D(row, h) = base[row] + offset[h] + scale[row] * (sum over non-zeros of value * table[feature, h] + shift[row] *
    cross[h])

so the kernels below know no metric at all. ``shift`` has length 0 for metrics without rank-one terms.
"""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels._jit import kernel
from hmrf_fast.kernels.rows import padded_width, row_dots

TILE_WIDTH = 64
FLAT_LIMIT = 128  # above this many clusters a flat table no longer stays near the processor while a row is read


def table_shape(n_clusters: int, n_features: int, dtype: np.dtype) -> tuple[int, int, int]:
    """(tiles, features, width): one tile of all clusters, or tiles of 64 clusters when there are many."""
    if n_clusters <= FLAT_LIMIT:
        return 1, n_features, padded_width(n_clusters, dtype)
    return -(-n_clusters // TILE_WIDTH), n_features, TILE_WIDTH


def fill_table(table: np.ndarray, weighted: np.ndarray) -> None:
    """Lay out weighted centroids (K, d) as table (tiles, d, width) OUT; cost K d."""
    width = table.shape[2]
    for tile in range(table.shape[0]):
        part = weighted[tile * width : (tile + 1) * width]
        table[tile, :, : part.shape[0]] = part.T


@kernel
def assign_rows(corpus, terms, table, offset, cross, first, last, labels, nearest):
    """Nearest centroid of rows [first, last); ties go to the lowest label.

    IN corpus: Corpus; terms: RowTerms; table (tiles, d, width); offset, cross (K,) float64.
    OUT labels (n,) int32, nearest (n,) float64: the distance found.
    Cost: nnz * K, and no array of rows by clusters. Tiles run outside rows, so each tile is read once per chunk.
    """
    width = table.shape[2]
    sums = np.empty(width, table.dtype)
    for tile in range(table.shape[0]):
        begin = tile * width
        count = min(width, offset.size - begin)
        for row in range(first, last):
            row_dots(corpus.indices, corpus.values, corpus.indptr[row], corpus.indptr[row + 1], table[tile], sums)
            best = nearest[row] if tile > 0 else np.inf
            label = labels[row] if tile > 0 else 0
            scale = terms.scale[row]
            shift = terms.shift[row] if terms.shift.size > 0 else 0.0
            base = terms.base[row]
            for h in range(count):
                distance = base + offset[begin + h]
                if scale != 0.0:
                    distance += scale * (sums[h] + shift * cross[begin + h])
                if distance < best:
                    best = distance
                    label = begin + h
            nearest[row] = best
            labels[row] = label


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
        for position in range(first, last):
            row = rows[position]
            row_dots(corpus.indices, corpus.values, corpus.indptr[row], corpus.indptr[row + 1], table[tile], sums)
            scale = terms.scale[row]
            shift = terms.shift[row] if terms.shift.size > 0 else 0.0
            for h in range(count):
                distance = terms.base[row] + offset[begin + h]
                if scale != 0.0:
                    distance += scale * (sums[h] + shift * cross[begin + h])
                block[position, begin + h] = distance


@kernel
def own_distances(corpus, terms, weighted, offset, cross, labels, first, last, own):
    """Distance of rows [first, last) to the centroid of their own label, in double precision.

    IN weighted (K, d) float64: the table's content, cluster-major. OUT own (n,) float64. Cost: nnz.
    """
    for row in range(first, last):
        label = labels[row]
        total = 0.0
        for entry in range(corpus.indptr[row], corpus.indptr[row + 1]):
            total += corpus.values[entry] * weighted[label, corpus.indices[entry]]
        distance = terms.base[row] + offset[label]
        if terms.scale[row] != 0.0:
            shift = terms.shift[row] if terms.shift.size > 0 else 0.0
            distance += terms.scale[row] * (total + shift * cross[label])
        own[row] = distance
