"""The M-step's first half: centroid sums kept exactly in step with the labels, and centroids from them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hmrf_fast.geometry import Geometry, Problem
from hmrf_fast.kernels import pool
from hmrf_fast.kernels.sums import feature_peaks, fixed_point_fits, fixed_point_scale, move_rows
from hmrf_fast.kernels.types import Sums

REBUILD_SHARE = 0.3  # above this share of moved rows a fresh pass is cheaper than taking rows out and putting them in


class SumTable(NamedTuple):
    """Centroid sums of a labelling under one geometry."""

    table: np.ndarray  # (d, K) int64 fixed point, or float64
    scale: np.ndarray  # (d,) float64, powers of two
    labels: np.ndarray  # (n,) int32, the labelling summed


def sum_rows(problem: Problem, geometry: Geometry, labels: np.ndarray) -> SumTable:
    """Sums of all rows; cost nnz. Fixed point where the row factors allow it, float64 in row order otherwise."""
    exact = fixed_point_fits(geometry.factor)
    n_features = problem.corpus.n_features
    if exact:
        # A maximum does not depend on the order, so every chunk may keep its own peaks.
        spans = pool.even_chunks(problem.n_rows, problem.n_threads)
        peaks = np.zeros((spans.size - 1, n_features))
        pool.run_chunks(
            lambda first, last: feature_peaks(
                problem.corpus, geometry.factor, first, last, peaks[np.searchsorted(spans, first)]
            ),
            spans,
            problem.n_threads,
            problem.corpus.indices.size * 2.0,
        )
        scale = fixed_point_scale(peaks.max(0), problem.n_rows)
    else:
        scale = np.ones(n_features)
    sums = SumTable(np.zeros((n_features, problem.n_clusters), np.int64 if exact else np.float64), scale, labels.copy())
    _move(problem, geometry, sums, np.arange(problem.n_rows), np.full(problem.n_rows, -1, np.int32), labels)
    return sums


def update_sums(problem: Problem, geometry: Geometry, sums: SumTable, labels: np.ndarray) -> SumTable:
    """Bring the sums to new labels under the same geometry; cost: non-zeros of the rows that moved."""
    moved = np.flatnonzero(sums.labels != labels)
    if sums.table.dtype != np.int64 or moved.size > REBUILD_SHARE * problem.n_rows:
        return sum_rows(problem, geometry, labels)
    _move(problem, geometry, sums, moved, sums.labels, labels)
    sums.labels[moved] = labels[moved]
    return sums


def _move(problem, geometry, sums, rows, before, after) -> None:
    problem.over_features(
        lambda first, last: move_rows(
            problem.corpus, geometry.factor, sums.scale, rows, before, after, first, last, sums.table
        ),
        4.0 * rows.size / max(problem.n_rows, 1),
    )


def statistics(problem: Problem, geometry: Geometry, sums: SumTable) -> Sums:
    """The sums as numbers: linear (K, d), lean (K,), mass (K,)."""
    n_clusters = problem.n_clusters
    mass = np.bincount(sums.labels, problem.sample_weight, n_clusters)
    leans = geometry.factor * geometry.rows.shift if geometry.rows.shift.size else np.zeros(problem.n_rows)
    lean = np.bincount(sums.labels, leans, n_clusters)
    return Sums(np.ascontiguousarray((sums.table / sums.scale[:, None]).T), lean, mass)
