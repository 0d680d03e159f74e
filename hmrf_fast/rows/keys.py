"""Hashes of what rows hold, wherever they live."""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels.rng import row_digests
from hmrf_fast.rows.block import Block, rows_between, some_rows
from hmrf_fast.rows.interface import Rows, numbers_in


def row_keys(rows: Rows, n_threads: int = 1, wanted: np.ndarray | None = None) -> np.ndarray:
    """(n,) uint64 hashes of the rows' content, of the ``wanted`` (r,) ascending ones at least, if given; cost their
    non-zeros, up to twice."""
    keys = np.zeros(rows.shape[0], np.uint64)
    for _ in rows.map(_find_keys, outputs=(keys,), n_threads=n_threads, wanted=wanted):
        pass
    return keys


def _find_keys(block: Block, numbers: np.ndarray | None, keys: np.ndarray) -> None:
    def task(first: int, last: int) -> None:
        places: slice | np.ndarray
        part, places = rows_between(block.corpus, first, last), slice(first, last)
        here = numbers_in(numbers, first, last)
        if here is not None and 2 * here.size < last - first:  # else copying takes longer than hashing all
            part, places = some_rows(part, here), first + here
        found = np.empty(part.indptr.size - 1, np.uint64)
        bits = part.values.astype(np.float64, copy=False).view(np.uint64)
        row_digests(part.indptr, part.indices, bits, 0, found.size, found)
        keys[places] = found

    block.over_rows(task, 2.0)
