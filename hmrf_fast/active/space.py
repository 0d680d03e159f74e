"""Distances of one metric between rows, and between a row and neighbourhoods, without any row-by-row table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from hmrf_fast.geometry import Problem, build_problem, measure
from hmrf_fast.inputs import as_corpus
from hmrf_fast.kernels.pairs import pair_distances
from hmrf_fast.kernels.types import Corpus
from hmrf_fast.neighborhood_seeds import distances_to, gather, matrix_of
from hmrf_fast.penalties import empty_graph
from hmrf_fast.seeds import hard_seeds

_NONE = np.zeros(0, np.int64)


class Space:
    """The rows of a data set under a metric.

    Distances are those of the scaling function phi: the distance itself for cosine and squared Euclidean, symmetric
    and finite for all metrics.

    Parameters
    ----------
    matrix : csr_matrix of shape (n, d)
        Checked rows.
    metric : str
    n_threads : int

    Attributes
    ----------
    problem : Problem
        The rows as the engine sees them.
    memo : dict
        What strategies computed from the rows alone; a session that takes an answer back is run again on this space.
    """

    def __init__(self, matrix: sp.csr_matrix, metric: str, n_threads: int) -> None:
        self.problem = _problem(matrix, metric, n_threads)
        self._pairs = measure(self.problem, np.ones(matrix.shape[1])).pairs
        self._by_feature = matrix.tocsc()
        self.memo: dict[str, np.ndarray] = {}

    @property
    def n_rows(self) -> int:
        return self.problem.n_rows

    def to_row(self, row: int) -> np.ndarray:
        """(n,) float64 distances of all rows to one row; cost: the non-zeros of the row's features, and n."""
        n, metric = self.n_rows, self.problem.metric
        shared = self._shared_with(row)
        weights, rows, same, phi = np.ones(shared.n_features), np.arange(n), np.full(n, row), np.empty(n)
        self.problem.over_rows(
            lambda first, last: pair_distances(
                shared, self._pairs, self.problem.unit, weights, metric.entropic, rows, same, first, last, phi
            )
        )
        phi[row] = 0.0
        return np.maximum(phi, 0.0)

    def to_neighborhoods(self, row: int, neighborhoods: Sequence[Sequence[int]]) -> np.ndarray:
        """(L,) float64 distances of a row to the centroids of L sets of rows; cost: the non-zeros of these rows."""
        rows = matrix_of(self.problem)
        metric = self.problem.metric
        members = np.concatenate([np.asarray(part, dtype=np.int64) for part in neighborhoods])
        of = np.repeat(np.arange(len(neighborhoods)), [len(part) for part in neighborhoods]).astype(np.int32)
        centers = matrix_of(gather(_problem(rows[members], metric), hard_seeds(of, _NONE, _NONE)).problem)
        joined = _problem(sp.vstack([rows[[row]], centers], format="csr"), metric)
        weights = np.ones(rows.shape[1])
        return distances_to(joined, measure(joined, weights).pairs, weights, 0)[1:]

    def _shared_with(self, row: int) -> Corpus:
        """A small corpus in which all rows overlap with one row as they do in the whole one.

        A pair's distance needs the features that both have and, from elsewhere, terms of either row. Where the overlap
        is an inner product, it enters as the only feature, of which the row itself has 1; else the row's features stay.
        """
        corpus = self.problem.corpus
        span = slice(corpus.indptr[row], corpus.indptr[row + 1])
        postings = self._by_feature[:, corpus.indices[span]]
        if self.problem.metric.entropic:
            return as_corpus(postings.tocsr())
        products = postings @ corpus.values[span].astype(np.float64)
        products[row] = 1.0
        return Corpus(np.arange(self.n_rows + 1), np.zeros(self.n_rows, np.int32), products, 1)


def _problem(matrix: sp.csr_matrix, metric, n_threads: int = 1) -> Problem:
    return build_problem(as_corpus(matrix), metric, np.ones(matrix.shape[0]), empty_graph(), 1, n_threads=n_threads)
