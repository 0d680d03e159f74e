"""The data under a metric: what is fixed during a fit (`Problem`) and what changes with the feature weights
(`Geometry`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from hmrf_fast.kernels import pool
from hmrf_fast.kernels.mahalanobis import LIFTED
from hmrf_fast.kernels.metrics import METRICS, NONE, Metric
from hmrf_fast.kernels.moments import feature_extent, row_moments, row_norms
from hmrf_fast.kernels.sums import feature_chunks, feature_load
from hmrf_fast.kernels.types import Corpus, Links, Moments, PairTerms, PenaltyGraph, RowTerms
from hmrf_fast.label_priors import NO_PRIORS, LabelPriors
from hmrf_fast.listed_pairs import pair_phi
from hmrf_fast.rows.block import Block, Few, rows_between
from hmrf_fast.rows.interface import Rows
from hmrf_fast.rows.keys import row_keys
from hmrf_fast.rows.memory import MemoryRows

NO_MERGERS = np.zeros(0, np.int32)
NOBODY = (None,)


class Problem(NamedTuple):
    """Everything that stays the same during a fit."""

    rows: Rows
    metric: Metric
    graph: PenaltyGraph
    n_clusters: int
    sample_weight: np.ndarray  # (n,) float64
    unit: np.ndarray  # (n,) float64, normalises each row
    mean: np.ndarray  # (n,) float64 plain row means, or length 0
    signed: bool  # whether any value is negative
    potts: bool  # constant penalties in place of distances
    keys: np.ndarray | None  # (n,) uint64, see ``content_keys``; None until somebody needs them
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

    @property
    def n_features(self) -> int:
        return self.rows.n_features

    @property
    def row_bounds(self) -> np.ndarray:
        """Row chunks, a function of the row pointers alone."""
        if "row_bounds" not in self.memo:
            self.memo["row_bounds"] = pool.row_chunks(self.rows.indptr)
        return self.memo["row_bounds"]

    @property
    def n_entries(self) -> int:
        return self.rows.nnz

    @property
    def corpus(self) -> Corpus:
        """All rows as one corpus, for what works in memory only."""
        assert isinstance(self.rows, MemoryRows)
        return self.rows.corpus

    def map(self, task, inputs=(), outputs=(), shared=(), **grid) -> Iterator[Any]:
        """A pass over the rows, see ``Rows.map``; yields what the task returns for each block."""
        return self.rows.map(task, inputs, outputs, shared, n_threads=self.n_threads, **grid)

    def fill(self, task, inputs=(), outputs=(), shared=(), **grid) -> None:
        """A pass over the rows that leaves everything it finds in its outputs."""
        for _ in self.map(task, inputs, outputs, shared, **grid):
            pass

    def add(self, task, inputs, shared, total: np.ndarray, **grid) -> None:
        """A sum over the rows, see ``Rows.add``."""
        self.rows.add(task, inputs, shared, total, n_threads=self.n_threads, **grid)

    @property
    def touched(self) -> Few:
        """The rows that listed or implicit constraints touch, in memory."""
        if self.memo.get("touched", NOBODY)[0] is not self.graph.rows:
            order = np.argsort(self.graph.rows)
            few = self.rows.take(self.graph.rows[order])
            few = few._replace(numbers=few.numbers[np.argsort(order)], order=order)
            self.memo["touched"] = self.graph.rows, few
        return self.memo["touched"][1]


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
    return LIFTED[name] if name in LIFTED else METRICS[name]


def build_problem(rows, metric, sample_weight, graph, n_clusters, *, potts=False, n_threads=1, keys=None) -> Problem:
    """Norms and chunk grids of rows (or of a corpus) under the metric named ``metric``; cost nnz.

    ``keys`` (n,) are given where the rows are another view of rows whose content was hashed before.
    """
    rows = MemoryRows(rows) if isinstance(rows, Corpus) else rows
    metric = metric_named(metric) if isinstance(metric, str) else metric
    norms = np.empty((4, rows.shape[0]))
    lowest, load = np.inf, np.zeros(rows.n_features, np.int64)
    for low, found in rows.map(_find_norms, outputs=tuple(norms), shared=(n_threads > 1,), n_threads=n_threads):
        lowest = min(lowest, low)
        load += found
    unit = metric.unit(*norms, rows.n_features)
    return Problem(
        rows=rows,
        metric=metric,
        graph=graph,
        n_clusters=n_clusters,
        sample_weight=sample_weight,
        unit=unit,
        mean=norms[0] * norms[3] / rows.n_features if metric.centred else NONE,
        signed=lowest < 0,
        potts=potts,
        keys=keys,
        feature_bounds=feature_chunks(load, n_threads) if n_threads > 1 else np.array([0, rows.n_features]),
        n_threads=n_threads,
        memo={"peak": (norms[0] * (sample_weight * unit)).max(initial=0.0)},
    )


def _find_norms(block: Block, _, largest, square, absolute, total, counted: bool) -> tuple[float, Any]:
    """Norms of the block's rows; returns the lowest value and, if asked for, the number of non-zeros per feature."""
    corpus = block.corpus
    block.over_rows(lambda first, last: row_norms(corpus, first, last, largest, square, absolute, total), 2.0)
    lowest = float(corpus.values.min()) if corpus.values.size else np.inf
    return lowest, feature_load(corpus.indices, corpus.n_features) if counted else 0


def content_keys(problem: Problem) -> np.ndarray:
    """(n,) uint64 hashes of the rows' content; cost nnz unless known."""
    if problem.keys is not None:
        return problem.keys
    if "keys" not in problem.memo:
        problem.memo["keys"] = row_keys(problem.rows, problem.n_threads)
    return problem.memo["keys"]


def measure(problem: Problem, weights: np.ndarray) -> Geometry:
    """All distances' parts that belong to rows and pairs, under the feature weights (d,); cost nnz plus pairs."""
    metric, found = problem.metric, moments(problem, weights)
    rows = metric.row_terms(found, problem.unit, weights)
    pairs = metric.pair_terms(found, problem.unit, weights)
    if problem.potts:
        pairs = PairTerms(np.full(problem.n_rows, 0.5), np.ones(problem.n_rows), NONE, NONE, 0.0)
    phi_max, phi_max_gradient = _largest_phi(problem, found, weights)
    phi = pair_phi(problem, pairs, weights)
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


def moments(problem: Problem, weights: np.ndarray) -> Moments:
    """Weighted moments of the rows, see ``row_moments``; cost nnz."""
    square, total, entropy = found = tuple(np.empty(problem.n_rows) for _ in range(3))
    problem.fill(_find_moments, (problem.unit,), found, (weights, problem.metric.entropic))
    return Moments(square, total, entropy, problem.mean)


def _find_moments(block: Block, _, unit, square, total, entropy, weights: np.ndarray, entropic: bool) -> None:
    block.over_rows(
        lambda first, last: row_moments(block.corpus, unit, weights, entropic, first, last, square, total, entropy),
        8.0 if entropic else 2.0,
    )


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
    sides = box_sides(problem) ** 2
    return float(np.sum(sides * weights)), sides


def _two_largest(problem: Problem, moments: Moments) -> tuple[float, np.ndarray]:
    """ln 2 times the summed masses of the two heaviest rows bounds the I-divergence to the mean of any pair."""
    # At equal weights all rows weigh 1 up to rounding: the first by content are taken, not those rounding favours.
    tied = np.round(moments.total / max(moments.total.max(initial=0.0), 1e-300), 12)
    heaviest = np.flatnonzero(tied >= np.partition(tied, -min(2, tied.size))[-2:].min())
    top = heaviest[np.lexsort((content_keys(problem)[heaviest], -tied[heaviest]))[:2]]
    gradient = np.zeros(problem.n_features)
    for row in top:
        columns, values = one_row(problem, row)
        gradient[columns] += np.log(2.0) * problem.unit[row] * values
    return float(np.log(2.0) * moments.total[top].sum()), gradient


def one_row(problem: Problem, row: int) -> tuple[np.ndarray, np.ndarray]:
    """Features and values of a row."""
    few = problem.rows.take(np.array([row]))
    part = rows_between(few.corpus, few.numbers[0], few.numbers[0] + 1)
    return part.indices, part.values


def box_sides(problem: Problem) -> np.ndarray:
    """(d,) extent of every feature over all rows, unstored zeros included; found once per problem."""
    if "sides" not in problem.memo:
        low, high = np.full(problem.n_features, np.inf), np.full(problem.n_features, -np.inf)
        count = np.zeros(problem.n_features, np.int64)
        for lowest, highest, found in problem.map(_find_extent):
            low, high, count = np.minimum(low, lowest), np.maximum(high, highest), count + found
        sparse = count < problem.n_rows
        low[sparse], high[sparse] = np.minimum(low[sparse], 0.0), np.maximum(high[sparse], 0.0)
        problem.memo["sides"] = high - low
    return problem.memo["sides"]


def _find_extent(block: Block, _) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n_features = block.corpus.n_features
    low, high, count = np.full(n_features, np.inf), np.full(n_features, -np.inf), np.zeros(n_features, np.int64)
    feature_extent(block.corpus, low, high, count)
    return low, high, count
