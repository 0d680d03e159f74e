"""The data under a metric: what is fixed during a fit (`Problem`) and what changes with the feature weights
(`Geometry`)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hmrf_fast.kernels import pool
from hmrf_fast.kernels.mahalanobis import MAHALANOBIS
from hmrf_fast.kernels.metrics import METRICS, NONE, Metric
from hmrf_fast.kernels.moments import feature_extent, row_moments, row_norms
from hmrf_fast.kernels.pairs import pair_distances
from hmrf_fast.kernels.rng import row_digests
from hmrf_fast.kernels.sums import feature_chunks
from hmrf_fast.kernels.types import Corpus, Links, Moments, PairTerms, PenaltyGraph, RowTerms
from hmrf_fast.label_priors import NO_PRIORS, LabelPriors

PAIR_CHUNK = 4096
NO_MERGERS = np.zeros(0, np.int32)


class Problem(NamedTuple):
    """Everything that stays the same during a fit."""

    corpus: Corpus
    metric: Metric
    graph: PenaltyGraph
    n_clusters: int
    sample_weight: np.ndarray  # (n,) float64
    unit: np.ndarray  # (n,) float64, normalises each row
    mean: np.ndarray  # (n,) float64 plain row means, or length 0
    signed: bool  # whether any value is negative
    potts: bool  # constant penalties in place of distances
    keys: np.ndarray | None  # (n,) uint64, see ``content_keys``; None until somebody needs them
    row_bounds: np.ndarray
    feature_bounds: np.ndarray
    n_threads: int
    memo: dict[str, Any]  # what follows from the fields above and only some fits need, kept once it is known
    priors: LabelPriors = NO_PRIORS
    merged: np.ndarray = NO_MERGERS  # (K,) int32: the cluster that each one was merged into; length 0 if none was

    @property
    def n_rows(self) -> int:
        return self.sample_weight.size

    @property
    def live(self) -> np.ndarray:
        """Ids of the clusters that were not merged into others."""
        every = np.arange(self.n_clusters)
        return every[self.merged == every] if self.merged.size else every

    @property
    def order(self) -> np.ndarray:
        """(n,) the rows in an order that follows from their content, not from their place: draws along it give the same
        starts for permuted rows, and for repeated rows as for weighted ones."""
        return np.argsort(content_keys(self), kind="stable")

    def over_rows(self, task, cost_per_entry: float = 1.0) -> list:
        """Run ``task(first, last)`` over the fixed row chunks."""
        work = (self.corpus.indices.size + self.n_rows) * cost_per_entry
        return pool.run_chunks(task, self.row_bounds, self.n_threads, work)

    def over_features(self, task, cost_per_entry: float = 4.0) -> list:
        """Run ``task(first, last)`` over one span of features per thread: each sum belongs to one span, so any grid
        gives the same bits, and a pass over few non-zeros takes all features at once."""
        work = self.corpus.indices.size * cost_per_entry
        bounds = self.feature_bounds if work >= pool.SERIAL_WORK else self.feature_bounds[[0, -1]]
        return pool.run_chunks(task, bounds, self.n_threads, work)


class Geometry(NamedTuple):
    """Everything that follows from the feature weights, and nothing else."""

    weights: np.ndarray  # (d,) float64
    rows: RowTerms
    pairs: PairTerms
    factor: np.ndarray  # (n,) float64: what a row's values are multiplied by in centroid sums
    base: float  # summed sample_weight * rows.base
    phi_max: float
    phi_max_gradient: np.ndarray  # (d,) or length 0
    phi: np.ndarray  # (m,) float64, the scaling function of every listed pair
    pair_cost: np.ndarray  # (m,) float64, the price of every listed pair when it is violated
    links: Links  # the graph's edges with these prices


def metric_named(name: str) -> Metric:
    """The metric of rows as they are, or of lifted ones."""
    return MAHALANOBIS if name == MAHALANOBIS.name else METRICS[name]


def build_problem(corpus, metric, sample_weight, graph, n_clusters, *, potts=False, n_threads=1, keys=None) -> Problem:
    """Norms and chunk grids of a corpus under the metric named ``metric``; cost nnz.

    ``keys`` (n,) are given where the rows are another view of rows whose content was hashed before.
    """
    metric = metric_named(metric) if isinstance(metric, str) else metric
    n_rows = corpus.indptr.size - 1
    row_bounds = pool.row_chunks(corpus.indptr)
    norms = np.empty((4, n_rows))
    work = corpus.indices.size * 2.0
    pool.run_chunks(lambda first, last: row_norms(corpus, first, last, *norms), row_bounds, n_threads, work)
    return Problem(
        corpus=corpus,
        metric=metric,
        graph=graph,
        n_clusters=n_clusters,
        sample_weight=sample_weight,
        unit=metric.unit(*norms, corpus.n_features),
        mean=norms[0] * norms[3] / corpus.n_features if metric.centred else NONE,
        signed=bool(corpus.values.size and corpus.values.min() < 0),
        potts=potts,
        keys=keys,
        row_bounds=row_bounds,
        feature_bounds=feature_chunks(corpus.indices, corpus.n_features, n_threads),
        n_threads=n_threads,
        memo={},
    )


def content_keys(problem: Problem) -> np.ndarray:
    """(n,) uint64 hashes of the rows' content; cost nnz unless known."""
    if problem.keys is not None:
        return problem.keys
    corpus, keys = problem.corpus, np.empty(problem.n_rows, np.uint64)

    def task(first: int, last: int) -> None:
        part = rows_between(corpus, first, last)
        bits = part.values.astype(np.float64, copy=False).view(np.uint64)
        row_digests(part.indptr, part.indices, bits, 0, last - first, keys[first:last])

    problem.over_rows(task, 2.0)
    return keys


def rows_between(corpus: Corpus, first: int, last: int) -> Corpus:
    """The rows [first, last) as a corpus of their own; columns and values are not copied."""
    span = slice(corpus.indptr[first], corpus.indptr[last])
    indptr = corpus.indptr[first : last + 1] - corpus.indptr[first]
    return Corpus(indptr, corpus.indices[span], corpus.values[span], corpus.n_features)


def measure(problem: Problem, weights: np.ndarray) -> Geometry:
    """All distances' parts that belong to rows and pairs, under the feature weights (d,); cost nnz plus pairs."""
    metric, corpus = problem.metric, problem.corpus
    square, total, entropy = (np.empty(problem.n_rows) for _ in range(3))
    problem.over_rows(
        lambda first, last: row_moments(
            corpus, problem.unit, weights, metric.entropic, first, last, square, total, entropy
        ),
        8.0 if metric.entropic else 2.0,
    )
    moments = Moments(square, total, entropy, problem.mean)
    rows = metric.row_terms(moments, problem.unit, weights)
    pairs = metric.pair_terms(moments, problem.unit, weights)
    if problem.potts:
        pairs = PairTerms(np.full(problem.n_rows, 0.5), np.ones(problem.n_rows), NONE, NONE, 0.0)
    phi_max, phi_max_gradient = _largest_phi(problem, moments, weights)
    phi = _listed_phi(problem, pairs, weights)
    graph = problem.graph
    pair_cost = graph.pair_weight * np.where(graph.pair_kind > 0, phi, np.maximum(phi_max - phi, 0.0))
    edge_price = (-graph.pair_kind * pair_cost)[graph.edge_pair]
    return Geometry(
        weights=weights,
        rows=rows,
        pairs=pairs,
        factor=problem.sample_weight * rows.scale / metric.pull,
        base=float(np.sum(problem.sample_weight * rows.base)),
        phi_max=phi_max,
        phi_max_gradient=phi_max_gradient,
        phi=phi,
        pair_cost=pair_cost,
        links=Links(graph.edge_ptr, graph.edge_node, edge_price, graph.hard_ptr, graph.hard_node),
    )


def _listed_phi(problem: Problem, pairs: PairTerms, weights: np.ndarray) -> np.ndarray:
    graph = problem.graph
    if problem.potts:
        return np.ones(graph.pair_kind.size)
    phi = np.empty(graph.pair_kind.size)
    first_rows, second_rows = graph.rows[graph.pair_first], graph.rows[graph.pair_second]
    bounds = pool.even_chunks(phi.size, -(-phi.size // PAIR_CHUNK))
    mean_entries = problem.corpus.indices.size / max(problem.n_rows, 1)
    pool.run_chunks(
        lambda first, last: pair_distances(
            problem.corpus,
            pairs,
            problem.unit,
            weights,
            problem.metric.entropic,
            first_rows,
            second_rows,
            first,
            last,
            phi,
        ),
        bounds,
        problem.n_threads,
        phi.size * mean_entries * 4.0,
    )
    return phi


def _largest_phi(problem: Problem, moments: Moments, weights: np.ndarray) -> tuple[float, np.ndarray]:
    """phi_max of the cannot-link penalty and its gradient by feature weight (algorithm of the metric's table)."""
    if problem.potts:
        return 2.0, NONE
    if problem.metric.directional:
        return (2.0 if problem.metric.centred or problem.signed else 1.0), NONE
    if problem.graph.rows.size == 0:
        return 0.0, NONE
    if problem.metric.entropic:
        return _two_largest(problem, moments)
    sides = box_sides(problem.corpus, problem.n_rows) ** 2
    return float(np.sum(sides * weights)), sides


def _two_largest(problem: Problem, moments: Moments) -> tuple[float, np.ndarray]:
    """ln 2 times the summed masses of the two heaviest rows bounds the I-divergence to the mean of any pair."""
    # At equal weights all rows weigh 1 up to rounding: the lowest rows are taken, not the ones rounding favours.
    tied = np.round(moments.total / max(moments.total.max(initial=0.0), 1e-300), 12)
    top = np.argsort(-tied, kind="stable")[:2]
    gradient = np.zeros(problem.corpus.n_features)
    for row in top:
        span = slice(problem.corpus.indptr[row], problem.corpus.indptr[row + 1])
        gradient[problem.corpus.indices[span]] += np.log(2.0) * problem.unit[row] * problem.corpus.values[span]
    return float(np.log(2.0) * moments.total[top].sum()), gradient


def box_sides(corpus: Corpus, n_rows: int) -> np.ndarray:
    """(d,) extent of every feature over all rows, unstored zeros included."""
    low, high = np.full(corpus.n_features, np.inf), np.full(corpus.n_features, -np.inf)
    count = np.zeros(corpus.n_features, np.int64)
    feature_extent(corpus, low, high, count)
    sparse = count < n_rows
    low[sparse], high[sparse] = np.minimum(low[sparse], 0.0), np.maximum(high[sparse], 0.0)
    return high - low
