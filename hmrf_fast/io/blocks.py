"""Readers of matrices: one per format, for what fits into memory and for what does not.

A reader is a generator of blocks of rows that returns what else the file says of them. Asked to read ``piecewise`` it
yields a few megabytes at a time, else everything as one block, so that nothing is put together afterwards. What cannot
be cut by rows (columns one after the other) is one block either way, and refused if it does not fit into memory.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from hmrf_fast.kernels import pool

__all__ = ["ENTRIES", "ROWS", "Blocks", "Reader", "row_spans"]

ENTRIES = 1 << 20  # of a matrix that are in memory at a time
ROWS = 1000  # of a table

Reader = Generator[Any, None, dict[str, Any]]


class Blocks:
    """A reader at work.

    Attributes
    ----------
    rest : dict
        Fields of a `DataSet` besides the matrix; there once all blocks were read.
    """

    rest: dict[str, Any]

    def __init__(self, reader: Reader):
        self._reader = reader

    def __iter__(self) -> Iterator[Any]:
        self.rest = yield from self._reader


def row_spans(indptr: np.ndarray, piecewise: bool) -> list[tuple[int, int]]:
    """Where to cut CSR rows; ValueError if the row pointers (n + 1,) do not rise from 0."""
    indptr, n_rows = indptr.astype(np.int64), indptr.size - 1
    if n_rows < 0 or indptr[0] != 0 or np.any(np.diff(indptr) < 0):
        raise ValueError("its row pointers do not rise from 0")
    bounds = pool.even_pieces(indptr, ENTRIES).tolist() if piecewise and n_rows else [0, n_rows]
    return list(pairwise(bounds))
