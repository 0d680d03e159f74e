"""Rows in memory: one block, nothing copied."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from hmrf_fast.kernels.types import Corpus
from hmrf_fast.rows.block import Block, Few, rows_between
from hmrf_fast.rows.interface import Rows, make_block


class MemoryRows(Rows):
    """The rows of a corpus.

    Parameters
    ----------
    corpus : Corpus
    """

    def __init__(self, corpus: Corpus):
        self.corpus, self.indptr = corpus, corpus.indptr
        self.n_features, self.dtype = corpus.n_features, corpus.values.dtype
        self._block = make_block(corpus, 0)

    def spans(self, bounds: np.ndarray | None = None, wanted: np.ndarray | None = None) -> Iterator[Block]:
        """See `Rows.spans`; without bounds all rows are one block."""
        if bounds is None or bounds.size <= 2:
            yield self._block
            return
        for first, last in pairwise(bounds.tolist()):
            yield make_block(rows_between(self.corpus, first, last), first)

    def take(self, ids: np.ndarray) -> Few:
        """See `Rows.take`."""
        return Few(self.corpus, ids, ids, True)
