"""The M-step's first half: centroid sums kept exactly in step with the labels, and centroids from them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hmrf_fast.geometry import Geometry, Problem
from hmrf_fast.kernels import pool
from hmrf_fast.kernels.sums import feature_peaks, fixed_point_fits, fixed_point_scale, move_rows, sum_clusters
from hmrf_fast.kernels.types import ClusterTerms, Corpus, Sums, Visits
from hmrf_fast.rows.block import Block

REBUILD_SHARE = 0.3  # above this share of moved rows a fresh pass is cheaper than taking rows out and putting them in
SUM_TASKS = 64
CLUSTER_GROUP = 8  # clusters swept together: what one sweep reads, the next finds in the processor's cache
SWEPT_AT_ONCE = 1 << 15  # numbers that are no work at all


class SumTable(NamedTuple):
    """Centroid sums of a labelling under one geometry."""

    table: np.ndarray  # (K, d) int64 fixed point, or float64
    scale: np.ndarray  # float64 powers of two: (d,), or (1,) for metrics of rows that are normalised
    labels: np.ndarray  # (n,) int32, the labelling summed
    inverse: np.ndarray  # (d,) float64, 1 / scale


def sum_rows(problem: Problem, geometry: Geometry, labels: np.ndarray, outdated: SumTable | None = None) -> SumTable:
    """Sums of all rows, one cluster after the other; cost nnz plus K d.

    Fixed point where the row factors allow it, float64 in row order otherwise. The table of ``outdated`` sums is
    written over, if there are any.
    """
    exact = fixed_point_fits(geometry.factor)
    n_clusters, n_features = problem.n_clusters, problem.n_features
    scale = _scale(problem, geometry) if exact else np.ones(1)
    table = np.empty((n_clusters, n_features)) if outdated is None else outdated.table
    table = table.view(np.int64 if exact else np.float64)
    problem.add(_add_clusters, (geometry.factor, labels), (scale,), table)
    return SumTable(table, scale, labels.copy(), np.full(n_features, 1.0 / scale))


def _add_clusters(block: Block, _, factor, labels, scale: np.ndarray, table: np.ndarray, fresh: bool) -> None:
    order, ends = by_label(labels, len(table))
    visits, factor = visits_in(order, block.corpus), factor[order]
    work = block.n_entries * 4.0
    pool.run_chunks(
        lambda first, last: sum_clusters(block.corpus, visits, factor, scale, ends, first, last, fresh, table),
        pool.even_chunks(len(table), SUM_TASKS, work),
        block.n_threads,
        work,
    )


def by_label(labels: np.ndarray, n_clusters: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n,) int64 sorted by label, in row order within a label, and where each label begins (K + 1,)."""
    short = labels.astype(np.uint16) if n_clusters <= 1 << 16 else labels  # sorted in linear time
    ends = np.zeros(n_clusters + 1, np.int64)
    np.cumsum(np.bincount(labels, minlength=n_clusters), out=ends[1:])
    return np.argsort(short, kind="stable"), ends


def visits_in(order: np.ndarray, corpus: Corpus) -> Visits:
    """Where the rows (n,) that are visited in that order begin and end."""
    return Visits(corpus.indptr[order], corpus.indptr[order + 1])


def _scale(problem: Problem, geometry: Geometry) -> np.ndarray:
    """(d,) or (1,) fixed-point scales: from the largest entries under unit weights, found once per problem, and how
    much larger the current weights can make any.

    The features of normalised rows share one scale, which saves looking it up for every non-zero."""
    plain = problem.sample_weight * problem.unit
    growth = np.divide(geometry.factor, plain, out=np.zeros_like(plain), where=plain > 0).max(initial=0.0)
    common = problem.metric.directional or problem.metric.entropic
    peaks = np.array([problem.memo["peak"]]) if common else _peaks(problem, plain)
    return fixed_point_scale(peaks * growth, problem.n_rows)


def _peaks(problem: Problem, plain: np.ndarray) -> np.ndarray:
    """(d,) the largest size of each feature's entries under unit weights."""
    if "peaks" not in problem.memo:
        highest = np.zeros(problem.n_features)
        for found in problem.map(_find_peaks, (plain,)):
            np.maximum(highest, found, out=highest)
        problem.memo["peaks"] = highest
    return problem.memo["peaks"]


def _find_peaks(block: Block, _, plain: np.ndarray) -> np.ndarray:
    """A maximum does not depend on the order, so every chunk may keep its own peaks."""
    work = block.n_entries * 2.0
    spans = pool.even_chunks(block.n_rows, block.n_threads, work)
    peaks = np.zeros((spans.size - 1, block.corpus.n_features))
    pool.run_chunks(
        lambda first, last: feature_peaks(block.corpus, plain, first, last, peaks[np.searchsorted(spans, first)]),
        spans,
        block.n_threads,
        work,
    )
    return peaks.max(0)


def update_sums(
    problem: Problem, geometry: Geometry, sums: SumTable, labels: np.ndarray
) -> tuple[SumTable, np.ndarray]:
    """Bring the sums to new labels under the same geometry; cost: non-zeros of the rows that moved.

    Returns the sums, and which clusters (K,) bool lost or gained a row.
    """
    moved = (sums.labels != labels).nonzero()[0]
    touched = np.zeros(problem.n_clusters, bool)
    touched[sums.labels[moved]] = touched[labels[moved]] = True
    if sums.table.dtype != np.int64 or moved.size > REBUILD_SHARE * problem.n_rows:
        return sum_rows(problem, geometry, labels, sums), touched
    if moved.size:
        by_row = geometry.factor, sums.labels, labels
        problem.add(_move, by_row, (sums.scale, problem.feature_bounds), sums.table, wanted=moved, fresh=False)
    sums.labels[moved] = labels[moved]
    return sums, touched


def _move(block: Block, numbers, factor, before, after, scale, bounds: np.ndarray, table, _) -> None:
    """Each sum belongs to one span of features, so any grid gives the same bits, and a pass over few non-zeros takes
    all features at once."""
    work = 16.0 * numbers.size * (block.n_entries / block.n_rows)
    bounds = bounds if block.n_threads > 1 and work >= pool.SERIAL_WORK else bounds[[0, -1]]
    pool.run_chunks(
        lambda first, last: move_rows(block.corpus, factor, scale, numbers, before, after, first, last, table),
        bounds,
        block.n_threads,
        work,
    )


def statistics(problem: Problem, geometry: Geometry, sums: SumTable) -> Sums:
    """The sums with what else centroids need; cost n plus d, the table is shared."""
    n_clusters = problem.n_clusters
    mass = np.bincount(sums.labels, problem.sample_weight, n_clusters)
    if not geometry.rows.shift.size:
        return Sums(sums.table, np.zeros(n_clusters), mass, sums.inverse)
    lean = np.bincount(sums.labels, geometry.factor * geometry.rows.shift, n_clusters)
    return Sums(sums.table, lean, mass, sums.inverse)


def center_clusters(
    problem: Problem, sums: Sums, square: np.ndarray, alpha: float, which: np.ndarray, centers, terms: ClusterTerms
) -> np.ndarray:
    """Move the given clusters' centroids (K, d) INOUT to where their sums say, and ``terms`` INOUT with them.

    A cluster without mass keeps its place, but what smoothing adds to distances is the same for all. Returns the
    products (k,) of the given clusters; ``square`` (K,) as ``table_products`` gives it. Cost: d per given cluster.
    """
    metric, product = problem.metric, np.zeros(problem.n_clusters)
    held = which[sums.mass[which] > 0]

    def task(first: int, last: int) -> None:
        group = held[first:last]
        product[group] = metric.settle(sums, square[group], alpha, group, centers, terms)

    run_groups(problem, held.size, task)
    if metric.smoothed and held.size < which.size:
        metric.write_terms(centers, alpha, np.setdiff1d(which, held), terms)
    if not problem.merged.size:
        return product[which]
    centers[:] = centers[problem.merged]
    every = np.arange(problem.n_clusters)
    metric.write_terms(centers, alpha, every, terms)
    return table_products(problem, sums, terms, which)[0]


def table_products(
    problem: Problem, sums: Sums, terms: ClusterTerms, which: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(k,) each: ``Metric.products`` of the given clusters."""
    product, square = np.zeros((2, which.size))

    def task(first: int, last: int) -> None:
        product[first:last], square[first:last] = problem.metric.products(sums, terms, which[first:last])

    run_groups(problem, which.size, task)
    return product, square


def run_groups(problem: Problem, count: int, task) -> None:
    """Run ``task(first, last)`` over groups of ``count`` clusters; what it does must not depend on the grouping."""
    n_features = problem.n_features
    if n_features * count <= SWEPT_AT_ONCE:
        if count:
            task(0, count)
    else:
        groups = -(-count // CLUSTER_GROUP)
        pool.run_chunks(task, pool.even_chunks(count, groups), problem.n_threads, 8.0 * count * n_features)
