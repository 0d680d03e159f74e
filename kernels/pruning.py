"""Nearest centroids, of which most are left out of the search: the same bits as a search among all, for less work.

Columns of the table that are in one vector form a group. Of each group a column more holds, per feature, the largest
of its entries: its product with a row of no negative values is no smaller than that of any centroid of the group, so
their keys (``keys.py``) are no lower than the key that it gives. This holds to the last bit, since sums of products in
one and the same order keep their order when they are rounded. Groups whose bound stays above the key of a centroid that
is known to be near, mostly the row's own, need no look. Where that has not moved since the last search, only groups in
which others have need their bounds. Nothing is remembered from search to search but labels and their keys: bounds
follow from the centroids and the row alone, unlike those that follow from how far centroids moved (Elkan, ICML 2003;
Hamerly, SDM 2010; Yinyang k-means, ICML 2015), which are much looser where rows have many features.
"""

from __future__ import annotations

import numpy as np
from numba import float32
from numba.extending import overload

from hmrf_fast.kernels._jit import inlined, kernel, lean_kernel
from hmrf_fast.kernels.distances import lean_over
from hmrf_fast.kernels.keys import two_lowest, vector_buffer, write_keys
from hmrf_fast.kernels.row_blocks import MAX_VECTORS
from hmrf_fast.kernels.rows import lanes_of, picked_dots, row_dots


def _upper_half(value):
    bits = np.float32(value).view(np.uint32)
    return (bits >> np.uint32(16)) + np.uint32(value > 0.0 and (bits & np.uint32(0xFFFF)) != 0)


def _single(value):
    rounded = np.float32(value)
    return np.nextafter(rounded, np.float32(np.inf)) if rounded < value else rounded


def round_up(value):
    """A number of half the size that is not below the value: float32 for float64, and for float32 its upper half."""
    return _upper_half(value) if isinstance(value, np.float32) else _single(value)


@overload(round_up, inline="always")
def _compiled_round_up(value):
    return _upper_half if value == float32 else _single


@kernel
def fill_tops(table, n_clusters, groups, first_feature, last_feature, tops):
    """tops (tiles, d, width) OUT: the largest entries of the given groups (g,) int64 of columns of the table, for a
    span of features. Cost: that many features times the groups' clusters."""
    width, step = table.shape[2], lanes_of(table)
    for group in groups:
        tile, begin = group * step // width, group * step % width
        end = min(begin + step, n_clusters - tile * width)
        part, top, column = table[tile], tops[group // tops.shape[2]], group % tops.shape[2]
        for m in range(first_feature, last_feature):
            largest = part[m, begin]
            for lane in range(begin + 1, end):
                largest = max(largest, part[m, lane])
            top[m, column] = round_up(largest)


@kernel
def pick_tops(tops, tiles, columns, first_feature, last_feature, picked):
    """picked (tiles, d, width) OUT: columns of ``tops``, each named by its tile and place in it (g,) int64, for a span
    of features."""
    width = picked.shape[2]
    for m in range(first_feature, last_feature):
        for begin in range(0, tiles.size, width):
            target = picked[begin // width, m]
            for k in range(begin, min(begin + width, tiles.size)):
                target[k - begin] = tops[tiles[k], m, columns[k]]


@inlined
def _write_bounds(corpus, terms, tops, row, sums, bounds):
    """bounds (lanes of ``tops``,) OUT: what no key of the row and of a centroid of each group is below."""
    width, real = tops.table.shape[2], sums.dtype.type
    for tile in range(tops.table.shape[0]):
        begin = tile * width
        row_dots(corpus.indices, corpus.values, corpus.indptr[row], corpus.indptr[row + 1], tops.table[tile], sums)
        if terms.shift.size > 0:
            shift = real(terms.shift[row])
            lean_over(sums, shift, tops.highest if shift > 0.0 else tops.lowest, begin)
        if terms.scale[row] == 0.0:
            sums[:] = 0.0
        write_keys(sums, tops.offset, begin, real(terms.scale[row]), bounds[begin : begin + width])


@inlined
def _list_near(bounds, limit, n_groups, near, count):
    """near[count:] OUT: the groups whose bounds are no higher than ``limit``; returns how many ``near`` then holds."""
    lanes = lanes_of(bounds)
    for begin in range(0, bounds.size, lanes):
        some = False
        for group in range(begin, begin + lanes):  # in vector instructions; most vectors hold none
            some |= not bounds[group] > limit  # what is no number says nothing
        if some:
            for group in range(begin, min(begin + lanes, n_groups)):
                if bounds[group] != np.inf and not bounds[group] > limit:
                    near[count] = group
                    count += 1
    return count


@inlined
def _first_group(label, step, bounds, n_groups):
    """The group to begin with: the label's, or the one of the lowest bound where there is no label."""
    return label // step if label >= 0 else min(two_lowest(bounds)[2], n_groups - 1)


@inlined
def _look(corpus, terms, table, offset, cross, tops, row, near, places, sums, leans, offsets, keys):
    """The lowest of the keys of the row and the centroids of a few groups near (g,), and its lane in the table.
    Scratch: places (g,) int64; sums, leans, offsets, keys (lanes of g vectors,)."""
    step, real = lanes_of(table), table.dtype.type
    for k in range(near.size):
        places[k] = tops.places[near[k]]
        lane_of = tops.groups[near[k]] * step
        for lane in range(step):
            offsets[k * step + lane] = offset[lane_of + lane]
        if cross.size > 0:
            for lane in range(step):
                leans[k * step + lane] = cross[lane_of + lane]
    start, end = corpus.indptr[row], corpus.indptr[row + 1]
    picked_dots(corpus.indices, corpus.values, start, end, table, places, near.size, sums)
    if cross.size > 0:
        lean_over(sums, real(terms.shift[row]), leans, 0)
    if terms.scale[row] == 0.0:
        sums[:] = 0.0
    write_keys(sums, offsets, 0, real(terms.scale[row]), keys)
    low, _, place = two_lowest(keys)
    return low, tops.groups[near[place // step]] * step + place % step


@lean_kernel
def _look_where_needed(corpus, terms, table, offset, cross, tops, known, rows, labels, nearest, bounds, near, scratch):
    """See ``assign_pruned``; scratch: bounds (lanes of ``tops``,), near (groups + 1 + MAX_VECTORS,) int64, and
    ``scratch`` (5, lanes) of the table's dtype."""
    step, looks, n_groups = lanes_of(table), 0, tops.groups.size
    places = near[n_groups + 1 :]
    for position in range(rows.size):
        row = rows[position]
        _write_bounds(corpus, terms, tops, row, scratch[0, : tops.table.shape[2]], bounds)
        limit, low, best, count = nearest[row], np.inf, np.int64(0), 0
        if known:
            low, best = limit, np.int64(labels[row])
        else:
            near[0], count = _first_group(labels[row], step, bounds, n_groups), 1
            bounds[near[0]] = np.inf  # as of all groups from the moment on when they are looked at
        count = _list_near(bounds, limit, n_groups, near, count)
        while count > 0:
            some = near[: min(count, MAX_VECTORS)]
            size, k = some.size * step, 0
            while k + 1 < some.size and some[k + 1] < some[k]:  # among equal keys the first wins
                some[k], some[k + 1] = some[k + 1], some[k]
                k += 1
            key, lane = _look(
                corpus, terms, table, offset, cross, tops, row, some, places,
                scratch[1, :size], scratch[2, :size], scratch[3, :size], scratch[4, :size],
            )  # fmt: skip
            if key < low or (key == low and lane < best):
                low, best = np.float64(key), lane
            looks += some.size
            if some.size == count and low <= limit:
                break
            for k in range(some.size):
                bounds[some[k]] = np.inf
            limit = low
            count = _list_near(bounds, limit, n_groups, near, 0)
        labels[row], nearest[row] = best, low
    return looks


@kernel
def assign_pruned(corpus, terms, table, offset, cross, tops, known, rows, first, last, labels, nearest):
    """Nearest centroids of rows[first:last], given labels that are mostly right; ties go to the lowest label.

    IN tops: Tops of the table; known: bool; others as in ``assign_rows``, but no value is negative and no scale
    positive.
    INOUT labels, nearest (n,): any label, -1 for none, and a guess of its key; then the nearest centroid's and its key.
    Where they are ``known``, ``nearest`` is the key of the label's centroid, and none that is outside the groups of
    ``tops`` is nearer. Returns the number of groups that were looked at, summed over the rows; cost: a row's non-zeros
    for each of their columns and those of ``tops``.
    """
    bounds = vector_buffer(tops.offset.size, table, np.inf)
    scratch = np.zeros((5, max(tops.table.shape[2], MAX_VECTORS * lanes_of(table))), table.dtype)
    near = np.zeros(tops.groups.size + 1 + MAX_VECTORS, np.int64)
    return _look_where_needed(
        corpus, terms, table, offset, cross, tops, known, rows[first:last], labels, nearest, bounds, near, scratch
    )
