"""Neighbourhoods of must-linked rows as first centroids, chosen by weighted farthest-first where there are too many.

Distances between candidate centroids are those of the scaling function phi: it is the distance itself for cosine and
squared Euclidean, and stays finite for I-divergence where one row lacks the other's features.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from hmrf_fast.geometry import Problem, build_problem, measure
from hmrf_fast.inputs import as_corpus
from hmrf_fast.kernels.pairs import pair_distances
from hmrf_fast.kernels.types import Sums
from hmrf_fast.penalties import empty_graph


class Neighborhoods(NamedTuple):
    """Must-link neighbourhoods as rows of their own: the summed rows of each, whose centroid they are up to scale."""

    problem: Problem
    sizes: np.ndarray  # (L,) float64
    first: np.ndarray  # neighbourhoods that must seed the first clusters, in order (the classes of partial labels)


def matrix_of(problem: Problem) -> sp.csr_matrix:
    """The corpus as a scipy matrix; nothing is copied."""
    corpus = problem.corpus
    return sp.csr_matrix(
        (corpus.values, corpus.indices, corpus.indptr), shape=(problem.n_rows, corpus.n_features), copy=False
    )


def gather(problem: Problem, member: np.ndarray, first: np.ndarray) -> Neighborhoods:
    """Sum the rows of each neighbourhood; ``member`` (n,) int32 numbers them, -1 = in none. Cost nnz.

    Mean for I-divergence and squared Euclidean, sum of unit rows for the directional metrics.
    """
    count = int(member.max()) + 1 if member.size else 0
    rows = np.flatnonzero((member >= 0) & (problem.sample_weight > 0))
    strength = problem.unit[rows] * problem.sample_weight[rows]
    indicator = sp.csr_matrix((strength, (member[rows], rows)), shape=(count, problem.n_rows))
    sizes = np.bincount(member[rows], problem.sample_weight[rows], count)
    if not problem.metric.directional:
        indicator = sp.diags_array(1.0 / np.maximum(sizes, 1e-300)) @ indicator
    summed = sp.csr_matrix(indicator @ matrix_of(problem).astype(np.float64, copy=False))
    summed.sort_indices()
    summed.eliminate_zeros()
    part = build_problem(
        as_corpus(summed),
        problem.metric,
        np.ones(count),
        empty_graph(),
        problem.n_clusters,
        n_threads=problem.n_threads,
    )
    return Neighborhoods(part, sizes, first)


def distances_to(problem: Problem, pairs, weights: np.ndarray, row: int) -> np.ndarray:
    """(n,) phi between one row and all rows; cost nnz."""
    phi = np.empty(problem.n_rows)
    rows, same = np.arange(problem.n_rows), np.full(problem.n_rows, row)
    problem.over_rows(
        lambda first, last: pair_distances(
            problem.corpus, pairs, problem.unit, weights, problem.metric.entropic, rows, same, first, last, phi
        ),
        4.0,
    )
    return np.maximum(phi, 0.0)


def farthest_first(neighborhoods: Neighborhoods, n_wanted: int, to_global: np.ndarray) -> np.ndarray:
    """Weighted farthest-first over neighbourhood centroids (KDD 2004, section 3.3, with square-root weights).

    Begins with the largest (or with those that must come first); next is the one whose smallest sqrt(n_p n_q) D to
    the chosen is largest; for directional metrics whose largest similarity / sqrt(n_p n_q) is smallest, where the
    similarity is the inner product of the means of the unit rows. A mean of few rows is long, so small neighbourhoods
    are not mistaken for distant ones. Ties go to the one farthest from the global centroid (``to_global``), then to
    the first. Cost: non-zeros of the centroids per choice.
    """
    problem, sizes = neighborhoods.problem, neighborhoods.sizes
    weights = np.ones(problem.corpus.n_features)
    pairs = measure(problem, weights).pairs
    length = np.divide(1.0, problem.unit * sizes, out=np.zeros_like(sizes), where=problem.unit > 0)
    chosen = neighborhoods.first.tolist() or [_first_best(sizes, to_global, np.zeros(sizes.size, bool))]
    score = np.full(sizes.size, np.inf)
    for step in range(n_wanted):
        if step >= len(chosen):
            chosen.append(_first_best(score, to_global, np.isin(np.arange(sizes.size), chosen)))
        latest = chosen[step]
        distance = distances_to(problem, pairs, weights, latest)
        scale = np.sqrt(sizes * sizes[latest])
        similarity = (1.0 - distance) * length * length[latest]
        score = np.minimum(score, -similarity / scale if problem.metric.directional else distance * scale)
    return np.array(chosen[:n_wanted])


def _first_best(score: np.ndarray, tie: np.ndarray, barred: np.ndarray) -> int:
    score = np.where(barred, -np.inf, score)
    best = np.flatnonzero(score >= score.max() - 1e-12 * abs(score.max()))
    return int(best[tie[best] >= tie[best].max() * (1.0 - 1e-12)][0])


def distances_to_center(problem: Problem, center: np.ndarray) -> np.ndarray:
    """(n,) phi between a dense centroid and all rows: the centroid joins the corpus as one more row."""
    both = sp.vstack([sp.csr_matrix(center[None, :]), matrix_of(problem)], format="csr")
    joined = build_problem(as_corpus(both), problem.metric, np.ones(both.shape[0]), empty_graph(), 1)
    weights = np.ones(problem.corpus.n_features)
    return distances_to(joined, measure(joined, weights).pairs, weights, 0)[1:]


def row_center(problem: Problem, row: int) -> np.ndarray:
    """A row as a centroid (d,)."""
    corpus = problem.corpus
    span = slice(corpus.indptr[row], corpus.indptr[row + 1])
    linear = np.zeros((1, corpus.n_features))
    linear[0, corpus.indices[span]] = corpus.values[span] * problem.unit[row]
    lean = -problem.mean[row] * problem.unit[row] if problem.metric.centred else 0.0
    return problem.metric.centers(Sums(linear, np.array([lean]), np.ones(1)), np.ones(corpus.n_features), 0.0)[0]


def global_center(problem: Problem) -> np.ndarray:
    """(d,) centroid of all rows."""
    everything = gather(problem, np.zeros(problem.n_rows, np.int32), np.zeros(0, np.int64))
    return row_center(everything.problem, 0)


def neighborhood_centers(problem: Problem, member: np.ndarray, first: np.ndarray) -> np.ndarray:
    """(c, d) centroids of at most K neighbourhoods; ``member`` and ``first`` as in ``gather``. Cost nnz + K
    non-zeros."""
    if not (member.size and member.max() >= 0):
        return np.zeros((0, problem.corpus.n_features))
    neighborhoods = gather(problem, member, first)
    count = min(neighborhoods.sizes.size, problem.n_clusters)
    to_global = distances_to_center(neighborhoods.problem, global_center(problem))
    chosen = farthest_first(neighborhoods, count, to_global)
    return np.array([row_center(neighborhoods.problem, int(which)) for which in chosen])
