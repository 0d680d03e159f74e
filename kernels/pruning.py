"""Nearest centroids when few centroids moved: the same bits as a search among all of them, for less work.

No bounds from geometry are needed. A row remembers the distance to its own centroid and a lower bound of all others;
the distance to a centroid that did not move is what it was. So it is enough to look at the moved ones, and at all only
where the own centroid is no longer nearer than the bound. (Triangle inequalities do not pay on sparse text, where all
angles are wide.)
"""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels._jit import kernel
from hmrf_fast.kernels.distances import assign_rows, lean_over
from hmrf_fast.kernels.keys import two_lowest, vector_buffer, write_keys
from hmrf_fast.kernels.rows import row_dots


@kernel
def reassign_rows(
    corpus, terms, table, compact, moved, lane, offset, cross, rows, first, last, labels, nearest, second
):
    """Nearest centroids of rows[first:last], after a search in which these rows were assigned.

    IN table (tiles, d, width) of all clusters and compact (tiles, d, width) of the moved ones, moved (k,) int64
    ascending, lane (K,) int64: a cluster's column in ``compact`` or -1; others as in ``assign_rows``.
    INOUT labels, nearest, second (n,): own label, its key, a lower bound of the keys of all others. A row is settled by
    the moved centroids unless its own one is not below that bound. Cost: nnz * k, plus nnz * K of the unsettled.
    """
    indptr, indices, values, scale = corpus.indptr, corpus.indices, corpus.values, terms.scale
    real, width, centred, size = table.dtype.type, compact.shape[2], cross.size > 0, last - first
    own = np.empty(size)
    winner = np.full(size, -1, np.int32)  # the nearest moved centroid that is not the row's own, its key
    best = np.full(size, np.inf)
    third = np.full(size, np.inf)  # and the nearest of the rest of them
    moved_offset = np.full(compact.shape[0] * width, real(np.inf))
    moved_offset[: moved.size] = offset[moved]
    moved_cross = np.zeros(moved_offset.size if centred else 0, compact.dtype)
    if centred:
        moved_cross[: moved.size] = cross[moved]
    sums, keys = vector_buffer(width, compact, 0.0), vector_buffer(width, compact, np.inf)
    for tile in range(compact.shape[0]):
        begin, part = tile * width, compact[tile]
        for k in range(size):
            row = rows[first + k]
            row_dots(indices, values, indptr[row], indptr[row + 1], part, sums)
            if centred:
                lean_over(sums, real(terms.shift[row]), moved_cross, begin)
            if scale[row] == 0.0:
                sums[:] = 0.0
            write_keys(sums, moved_offset, begin, real(scale[row]), keys)
            mine = lane[labels[row]] - begin
            if 0 <= mine < width:
                own[k] = keys[mine]
                keys[mine] = np.inf
            elif lane[labels[row]] < 0:
                own[k] = nearest[row]
            low, other, place = two_lowest(keys)
            if low < best[k]:
                third[k] = min(best[k], other)
                best[k] = low
                winner[k] = moved[begin + place]
            else:
                third[k] = min(third[k], low)
    unsettled = np.empty(size, np.int64)
    count = 0
    for k in range(size):
        row = rows[first + k]
        if not own[k] < second[row]:
            unsettled[count] = row
            count += 1
        elif best[k] < own[k] or (best[k] == own[k] and winner[k] < labels[row]):
            nearest[row] = best[k]
            second[row] = min(second[row], own[k], third[k])
            labels[row] = winner[k]
        else:
            nearest[row] = own[k]
            second[row] = min(second[row], best[k])
    assign_rows(corpus, terms, table, offset, cross, unsettled, 0, count, labels, nearest, second)
