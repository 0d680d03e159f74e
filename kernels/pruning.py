"""Nearest centroids, given how far centroids moved: the same bits as a search among all of them, for less work.

A row remembers, for every group of neighbouring columns of the table, a lower bound of its keys (``keys.py``) to the
group's centroids other than its own. When centroids move, every key of a group falls by no more than the offsets do
plus |scale| times the product of the row with the *rises* of the group: per feature, the most that any entry of the
group rose. That is one more column in place of a whole group. It is loose by little, since what makes a centroid move
is mostly what other rows are about; the length of the move, which bounds are made of elsewhere (Elkan, ICML 2003;
Hamerly, SDM 2010; Yinyang k-means, ICML 2015), is an order of magnitude more. Groups whose bound stays above the key of
the row's own centroid need no look.
"""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels._jit import inlined, kernel, lean_kernel, summing_kernel
from hmrf_fast.kernels.distances import lean_over, lower_bound
from hmrf_fast.kernels.keys import two_lowest, vector_buffer, write_keys
from hmrf_fast.kernels.prefetch import prefetch_cells
from hmrf_fast.kernels.rows import row_dots, some_dots


@summing_kernel
def _square(values, first, last):
    total = 0.0
    for entry in range(first, last):
        total += np.float64(values[entry]) * np.float64(values[entry])
    return total


@inlined
def _slack(corpus, terms, drift, row):
    """How far apart two keys of a row may be and yet change order by rounding alone."""
    square = _square(corpus.values, corpus.indptr[row], corpus.indptr[row + 1])
    if terms.shift.size > 0:
        square += terms.shift[row] ** 2
    largest = abs(terms.scale[row]) * np.sqrt(square) * drift.length + drift.highest
    return drift.precision * (corpus.indptr[row + 1] - corpus.indptr[row] + 16) * largest


@lean_kernel
def _loosen(corpus, terms, drift, rows, bounds, sums, columns, sizes):
    """Lower the bounds of the rows by what the moves of centroids may take off their keys.

    Scratch: sums (width of ``rises``,), and for rows of both signs columns, sizes (the longest row,)."""
    width, centred = drift.rises.shape[2], drift.cross.size > 0
    for tile in range(drift.rises.shape[0]):
        begin, part = tile * width, drift.rises[tile]
        for k in range(rows.size):
            row = rows[k]
            start, end = corpus.indptr[row], corpus.indptr[row + 1]
            if drift.signed:
                for entry in range(start, end):
                    columns[entry - start] = corpus.indices[entry]
                    sizes[entry - start] = abs(corpus.values[entry])
                row_dots(columns, sizes, 0, end - start, part, sums)
            else:
                row_dots(corpus.indices, corpus.values, start, end, part, sums)
            size = abs(terms.scale[row]) * (1.0 + drift.precision * (end - start + 16))
            lean = abs(terms.shift[row]) if centred else 0.0
            for g in range(begin, min(begin + width, bounds.shape[1])):
                rise = np.float64(sums[g - begin]) + (lean * drift.cross[g] if centred else 0.0)
                bounds[row, g] = lower_bound(np.float64(bounds[row, g]) - drift.fall[g] - size * rise)


@lean_kernel
def _write_some_keys(corpus, terms, part, column, lane, row, offset, cross, sums, keys):
    """keys OUT: those of as many columns as there is room for, from ``column`` of a tile on, which is the ``lane``-th
    of the table."""
    some_dots(corpus.indices, corpus.values, corpus.indptr[row], corpus.indptr[row + 1], part, column, sums.size, sums)
    if cross.size > 0:
        lean_over(sums, part.dtype.type(terms.shift[row]), cross, lane)
    if terms.scale[row] == 0.0:
        sums[:] = 0.0
    write_keys(sums, offset, lane, part.dtype.type(terms.scale[row]), keys)


@inlined
def _look(corpus, terms, part, column, group, row, offset, cross, labels, nearest, bounds, sums, keys):
    """The keys of one row and one group: they give its bound, and a new label where one of them is lower than the key
    of the row's label, which is not looked at again."""
    span = sums.size
    lane, label = group * span, np.int64(labels[row])
    _write_some_keys(corpus, terms, part, column, lane, row, offset, cross, sums, keys)
    if lane <= label < lane + span:
        keys[label - lane] = np.inf
    low, other, place = two_lowest(keys)
    own = nearest[row]
    if low < own or (low == own and lane + place < label):
        bounds[row, group] = lower_bound(other)
        bounds[row, label // span] = min(bounds[row, label // span], lower_bound(own))
        labels[row] = lane + place
        nearest[row] = low
    else:
        bounds[row, group] = lower_bound(low)


@inlined
def _next_failing(bounds, row, group, highest):
    """The first group from the given one on whose bound is not above ``highest``."""
    while group < bounds.shape[1] and highest < bounds[row, group]:
        group += 1
    return group


@lean_kernel
def _find_own_key(corpus, terms, table, offset, cross, row, label, nearest, sums, keys):
    """nearest[row] OUT: the key of its centroid, which moved."""
    lanes, width = sums.size, table.shape[2]
    lane = label // lanes * lanes
    part, column = table[lane // width], lane % width
    _write_some_keys(corpus, terms, part, column, lane, row, offset, cross, sums, keys)
    nearest[row] = keys[label - lane]


@lean_kernel
def _look_where_needed(
    corpus, terms, table, offset, cross, drift, rows, labels, nearest, bounds, sums, keys, few_sums, few_keys
):
    """Bring labels and nearest of the rows (r,) up to date, given bounds; returns the number of groups looked at. What
    comes next is asked for before it is needed, since it may be anywhere."""
    span, width, looks = sums.size, table.shape[2], 0
    for k in range(rows.size):
        row, label = rows[k], np.int64(labels[rows[k]])
        if k + 1 < rows.size:
            later = np.int64(labels[rows[k + 1]])
            prefetch_cells(corpus, rows[k + 1], table[later // width], later % width)
        if drift.moved[label]:
            _find_own_key(corpus, terms, table, offset, cross, row, label, nearest, few_sums, few_keys)
        slack = _slack(corpus, terms, drift, row)
        group = _next_failing(bounds, row, 0, nearest[row] + slack)
        while group < bounds.shape[1]:
            following = _next_failing(bounds, row, group + 1, nearest[row] + slack)
            if following < bounds.shape[1]:
                prefetch_cells(corpus, row, table[following * span // width], following * span % width)
            part, column = table[group * span // width], group * span % width
            _look(corpus, terms, part, column, group, row, offset, cross, labels, nearest, bounds, sums, keys)
            looks += 1
            group = _next_failing(bounds, row, following, nearest[row] + slack)
    return looks


@kernel
def reassign_rows(corpus, terms, table, offset, cross, drift, rows, first, last, labels, nearest, bounds):
    """Nearest centroids of rows[first:last], after a search in which these rows were assigned.

    IN table (tiles, d, width), drift: Drift since that search; others as in ``assign_rows``.
    INOUT labels, nearest (n,): own label and its key, bounds (n, groups) float32: lower bounds of the keys of all
    others. Returns the number of groups looked at, summed over the rows; cost: a row's non-zeros for each of their
    columns, for each group, and for a vector with the own centroid.
    """
    rows = rows[first:last]
    span = table.shape[0] * table.shape[2] // bounds.shape[1]
    longest = np.max(np.diff(corpus.indptr)) if drift.signed else 0
    columns, sizes = np.empty(longest, corpus.indices.dtype), np.empty(longest, corpus.values.dtype)
    scratch = vector_buffer(drift.rises.shape[2], table, 0.0)
    _loosen(corpus, terms, drift, rows, bounds, scratch, columns, sizes)
    sums, keys = vector_buffer(span, table, 0.0), vector_buffer(span, table, np.inf)
    few_sums, few_keys = vector_buffer(1, table, 0.0), vector_buffer(1, table, np.inf)
    return _look_where_needed(
        corpus, terms, table, offset, cross, drift, rows, labels, nearest, bounds, sums, keys, few_sums, few_keys
    )
