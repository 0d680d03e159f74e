"""Distances of one metric between rows, and between a row and neighbourhoods, without any row-by-row table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from hmrf_fast.geometry import Problem, build_problem, measure
from hmrf_fast.inputs import as_corpus
from hmrf_fast.kernels import pool
from hmrf_fast.kernels.pairs import pair_distances
from hmrf_fast.kernels.types import Corpus, PairSide
from hmrf_fast.neighborhood_seeds import distances_to, gather, matrix_of
from hmrf_fast.penalties import empty_graph
from hmrf_fast.seeds import hard_seeds

_NONE = np.zeros(0, np.int64)
_BLOCK = 1 << 15  # numbers that stay in the processor's cache


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
        What strategies computed before the first answer; a session that takes an answer back is run again on this
        space.
    """

    def __init__(self, matrix: sp.csr_matrix, metric: str, n_threads: int) -> None:
        self.problem = problem_of(matrix, metric, n_threads)
        self._pairs = measure(self.problem, np.ones(matrix.shape[1])).pairs
        self._by_feature = matrix.tocsc()
        self.memo: dict[str, Any] = {}

    @property
    def n_rows(self) -> int:
        return self.problem.n_rows

    def to_row(self, row: int) -> np.ndarray:
        """(n,) float64 distances of all rows to one row; cost: the non-zeros of the row's features, and n."""
        n = self.n_rows
        shared = self._shared_with(row)
        weights, rows, same, phi = np.ones(1), np.arange(n), np.full(n, row), np.empty(n)
        side = PairSide(shared, self._pairs, self.problem.unit)
        pool.run_chunks(
            lambda first, last: pair_distances(side, side, weights, False, rows, same, first, last, phi),
            self.problem.row_bounds,
            self.problem.n_threads,
            self.problem.n_entries + n,
        )
        phi[row] = 0.0
        return np.maximum(phi, 0.0)

    def to_neighborhoods(self, row: int, neighborhoods: Sequence[Sequence[int]]) -> np.ndarray:
        """(L,) float64 distances of a row to the centroids of L sets of rows; cost: the non-zeros of these rows."""
        rows = matrix_of(self.problem)
        metric = self.problem.metric
        members = np.concatenate([np.asarray(part, dtype=np.int64) for part in neighborhoods])
        of = np.repeat(np.arange(len(neighborhoods)), [len(part) for part in neighborhoods]).astype(np.int32)
        centers = matrix_of(gather(problem_of(rows[members], metric), hard_seeds(of, _NONE, _NONE)).problem)
        joined = problem_of(sp.vstack([rows[[row]], centers], format="csr"), metric)
        weights = np.ones(rows.shape[1])
        return distances_to(joined, measure(joined, weights).pairs, weights, 0)[1:]

    def _shared_with(self, row: int) -> Corpus:
        """A small corpus in which all rows overlap with one row as they do in the whole one.

        A pair's distance needs the overlap of both, a number, and, from elsewhere, terms of either row. The overlap
        enters as the value of the only feature, of which the row itself has 1.
        """
        corpus = self.problem.corpus
        span = slice(corpus.indptr[row], corpus.indptr[row + 1])
        postings, values = self._by_feature[:, corpus.indices[span]], corpus.values[span].astype(np.float64)
        if self.problem.metric.entropic:
            overlap = _entropic_overlap(postings, self.problem.unit, values * self.problem.unit[row])
        else:
            overlap = postings @ values
        overlap[row] = 1.0
        return Corpus(np.arange(self.n_rows + 1), np.zeros(self.n_rows, np.int32), overlap, 1)


def _entropic_overlap(postings: sp.csc_matrix, unit: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(n,) sums of x ln(x / (x + y)) + y ln(y / (x + y)) over the features y > 0 of one row, feature by feature as
    ``kernels.pairs`` sums them."""
    terms = np.zeros(postings.nnz)
    other = np.repeat(values, np.diff(postings.indptr))
    for first in range(0, terms.size, _BLOCK):
        block = slice(first, first + _BLOCK)
        x, y = postings.data[block] * unit[postings.indices[block]], other[block]
        there = (x > 0) & (y > 0)
        x, y = x[there], y[there]
        both = x + y
        terms[block][there] = x * np.log(x / both) + y * np.log(y / both)
    return np.bincount(postings.indices, weights=terms, minlength=unit.size)


def problem_of(matrix: sp.csr_matrix, metric: str, n_threads: int = 1) -> Problem:
    """Checked rows (n, d) under a metric (or its name), without clusters and constraints."""
    return build_problem(as_corpus(matrix), metric, np.ones(matrix.shape[0]), empty_graph(), 1, n_threads=n_threads)
