"""The one interface behind which rows live: in memory, on disk, or on the machines of a cluster.

Rows that no constraint touches are independent of each other given the centroids, so every pass over X is a function of
one block, with the arrays by row cut to it. The results are the same for any cut: what is by row does not depend on the
others, sums are integers, and what must be added up in floating point is added along grids that follow from the row
pointers alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from hmrf_fast.kernels import pool
from hmrf_fast.kernels.types import Corpus
from hmrf_fast.rows.block import Block, Few, cut


class Rows(ABC):
    """The rows of X (n, d): canonical CSR, see ``Corpus``.

    Attributes
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Row pointers of all of X; they alone are always in memory.
    n_features : int
    dtype : numpy.dtype
        Of the values.
    lowest : float
        The lowest stored value; known of rows that live elsewhere.
    """

    indptr: np.ndarray
    n_features: int
    dtype: np.dtype
    lowest: float
    ndim = 2

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and features."""
        return self.indptr.size - 1, self.n_features

    @property
    def nnz(self) -> int:
        """Number of stored values."""
        return int(self.indptr[-1])

    @abstractmethod
    def spans(self, bounds: np.ndarray | None = None, wanted: np.ndarray | None = None) -> Iterator[Block]:
        """Blocks of rows in order, between the given bounds (b,) or in the grid that suits the place where they are;
        only those that hold one of the ``wanted`` rows (r,) ascending, if given. May be called again and again."""

    @abstractmethod
    def take(self, ids: np.ndarray) -> Few:
        """Random access to few rows (r,) int64 ascending, fetched once and kept as long as ``ids`` is."""

    def map(
        self, task: Callable, inputs: tuple = (), outputs: tuple = (), shared: tuple = (), *, n_threads: int = 1,
        wanted: np.ndarray | None = None, bounds: np.ndarray | None = None, stays: bool = False,
    ) -> Iterator[Any]:  # fmt: skip
        """Call ``task(block, numbers, *inputs, *outputs, *shared)`` for every block; yields the results in
        order.

        Parameters
        ----------
        task : function
            Of a module, so that it can be sent to where the rows are.
        inputs, outputs : tuples of arrays by row (or of tuples of them)
            A task sees the parts that belong to its rows; it may change those of the outputs. Inputs in floating point
            are not to be changed as long as they live: workers of a cluster keep what they were sent.
        shared : tuple
            What all blocks need, whole.
        wanted : ndarray of shape (r,), int64, ascending, optional
            The rows that are looked at: the task gets those of its block as ``numbers``, counted from the block's first
            row, and blocks without any are left out. ``numbers`` is None if it is not given.
        bounds : ndarray of shape (b,), optional
            A grid that the caller wants.
        stays : bool
            Whether the outputs are changed by such passes alone, and will be given again.
        """
        for block in self.spans(bounds, wanted):
            numbers, parts = self._cut(block, wanted, (*inputs, *outputs))
            yield task(block.on(n_threads), numbers, *parts, *shared)

    def add(
        self, task: Callable, inputs: tuple, shared: tuple, total: np.ndarray, *, n_threads: int = 1,
        wanted: np.ndarray | None = None, fresh: bool = True,
    ) -> None:  # fmt: skip
        """Sum over all blocks: ``task(block, numbers, *inputs, *shared, total, fresh)`` adds the part of its rows to
        ``total``, or replaces its content where ``fresh``; other parameters as of `map`."""
        for block in self.spans(None, wanted):
            numbers, parts = self._cut(block, wanted, inputs)
            task(block.on(n_threads), numbers, *parts, *shared, total, fresh)
            fresh = False

    def _cut(self, block: Block, wanted: np.ndarray | None, inputs: tuple) -> tuple[np.ndarray | None, tuple]:
        """The wanted rows of a block, and the parts of arrays by row that belong to it."""
        last = block.first + block.n_rows
        if block.first == 0 and last == self.indptr.size - 1:
            return wanted, inputs
        return numbers_in(wanted, block.first, last), tuple(cut(values, block.first, last) for values in inputs)


def numbers_in(wanted: np.ndarray | None, first: int, last: int) -> np.ndarray | None:
    """Which of the wanted rows (r,) lie in [first, last), counted from ``first``."""
    if wanted is None:
        return None
    low, high = np.searchsorted(wanted, (first, last))
    return wanted[low:high] - first if first else wanted[low:high]


def make_block(corpus: Corpus, first: int) -> Block:
    """A block of rows that begin at ``first``; one thread until told otherwise."""
    return Block(corpus, first, pool.row_chunks(corpus.indptr), 1)
