"""Nearest centroids when few centroids moved: the same bits as a search among all of them, for less work.

No bounds from geometry are needed. A row remembers the distance to its own centroid and a lower bound of all others;
the distance to a centroid that did not move is what it was. So it is enough to look at the moved ones, and at all only
where the own centroid is no longer nearer than the bound. (Triangle inequalities do not pay on sparse text, where all
angles are wide.)
"""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels._jit import kernel
from hmrf_fast.kernels.distances import assign_rows, first_equal, lowest, row_distances
from hmrf_fast.kernels.rows import row_dots


@kernel
def reassign_rows(
    corpus, terms, table, compact, moved, lane, offset, cross, rows, first, last, labels, nearest, second
):
    """Nearest centroids of rows[first:last], after a search in which these rows were assigned.

    IN table (tiles, d, width) of all clusters and compact (tiles, d, width) of the moved ones, moved (k,) int64
    ascending, lane (K,) int64: a cluster's column in ``compact`` or -1; others as in ``assign_rows``.
    INOUT labels, nearest, second (n,): own label, its distance, a lower bound of the distances to all others. A row
    is settled by the moved centroids unless its own one is not below that bound. Cost: nnz * k, plus nnz * K of the
    unsettled.
    """
    size = last - first
    own = np.empty(size)
    winner = np.full(size, -1, np.int32)  # the nearest moved centroid that is not the row's own, its distance
    best = np.full(size, np.inf)
    third = np.full(size, np.inf)  # and the nearest of the rest of them
    moved_offset = offset[moved]
    moved_cross = cross[moved]
    width = compact.shape[2]
    sums = np.empty(width, compact.dtype)
    distances = np.empty(width + 4)
    for tile in range(compact.shape[0]):
        begin = tile * width
        count = min(width, moved.size - begin)
        part = compact[tile]
        distances[max(count, 0) :] = np.inf
        for k in range(size):
            row = rows[first + k]
            row_dots(corpus.indices, corpus.values, corpus.indptr[row], corpus.indptr[row + 1], part, sums)
            shift = terms.shift[row] if terms.shift.size > 0 else 0.0
            base, scale = terms.base[row], terms.scale[row]
            row_distances(sums, count, begin, base, scale, shift, moved_offset, moved_cross, distances)
            mine = lane[labels[row]] - begin
            if 0 <= mine < count:
                own[k] = distances[mine]
                distances[mine] = np.inf
            elif lane[labels[row]] < 0:
                own[k] = nearest[row]
            low = lowest(distances, count)
            place = first_equal(distances, count, low)
            distances[place] = max(low, best[k])
            third[k] = min(third[k], lowest(distances, count))
            if low < best[k]:
                best[k] = low
                winner[k] = moved[begin + place]
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
