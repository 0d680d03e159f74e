"""A stretch of consecutive rows in memory, and the few rows that constraints touch: all that kernels ever see of X."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hmrf_fast.kernels import pool
from hmrf_fast.kernels.types import Corpus


class Block(NamedTuple):
    """Consecutive rows, numbered from 0, and what a pass over them may use."""

    corpus: Corpus
    first: int  # the number of its first row in X
    bounds: np.ndarray  # row chunks, a function of the block's rows alone
    n_threads: int

    @property
    def n_rows(self) -> int:
        return self.corpus.indptr.size - 1

    @property
    def n_entries(self) -> int:
        return self.corpus.indices.size

    def on(self, n_threads: int) -> Block:
        """The same block, to be worked on by that many threads."""
        return self if n_threads == self.n_threads else self._replace(n_threads=n_threads)

    def over_rows(self, task: Callable[[int, int], object], cost_per_entry: float = 1.0) -> list:
        """Run ``task(first, last)`` over the row chunks."""
        work = (self.n_entries + self.n_rows) * cost_per_entry
        return pool.run_chunks(task, self.bounds, self.n_threads, work)


class Few(NamedTuple):
    """Some rows of X in memory, for random access."""

    corpus: Corpus
    numbers: np.ndarray  # (r,) int64: their numbers in the corpus
    ids: np.ndarray  # (r,) int64: their numbers in X
    whole: bool  # whether the corpus is X itself, where both numbers are the same
    order: np.ndarray | None = None  # (r,) int64: the rows' places here, in the order in which they lie in memory

    def of(self, values: Any) -> Any:
        """Arrays by row of X (or a tuple of them) as arrays by row of the corpus."""
        if self.whole:
            return values
        if isinstance(values, tuple):
            return type(values)(*map(self.of, values))
        return values[self.ids] if isinstance(values, np.ndarray) and values.size else values


def cut(values: Any, first: int, last: int) -> Any:
    """The part of an array by row, or of a tuple of them, that belongs to the rows [first, last); not copied. What a
    metric does not use has length 0 and keeps it."""
    if isinstance(values, tuple):
        return type(values)(*(cut(one, first, last) for one in values))
    return values[first:last] if isinstance(values, np.ndarray) else values


def rows_between(corpus: Corpus, first: int, last: int) -> Corpus:
    """The rows [first, last) as a corpus of their own; columns and values are not copied."""
    span = slice(corpus.indptr[first], corpus.indptr[last])
    indptr = corpus.indptr[first : last + 1] - corpus.indptr[first]
    return Corpus(indptr, corpus.indices[span], corpus.values[span], corpus.n_features)


def some_rows(corpus: Corpus, numbers: np.ndarray) -> Corpus:
    """The rows with the given numbers (r,) as a corpus of their own, copied; cost their non-zeros."""
    sizes = corpus.indptr[numbers + 1] - corpus.indptr[numbers]
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    entries = np.arange(indptr[-1]) + np.repeat(corpus.indptr[numbers] - indptr[:-1], sizes)
    return Corpus(indptr, corpus.indices[entries], corpus.values[entries], corpus.n_features)
