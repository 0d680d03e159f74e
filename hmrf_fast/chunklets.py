"""Labels under the one matrix that must-links teach: relevant component analysis.

Rows of one must-link component (a chunklet) differ only in what does not matter, so the inverse of their pooled
covariance is a metric that no label has been guessed for (Bar-Hillel, Hertz, Shental and Weinshall, JMLR 2005, eq. 1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular
from threadpoolctl import threadpool_limits

from hmrf_fast.em import Options
from hmrf_fast.geometry import Problem
from hmrf_fast.low_rank import best_labels
from hmrf_fast.neighborhood_seeds import matrix_of
from hmrf_fast.penalties import first_of_component
from hmrf_fast.seeds import Seeds, no_seeds

# What is believed before any must-link: a variance within classes, as a share of the whole variance, that weighs as
# much as this many free deviations times the square root of the number of features.
PRIOR_VARIANCE, PRIOR_COUNT = 0.1, 5.0

# A matrix is used if, by rows left out of it, it tells rows of one component from any rows better than features of one
# scale do: what the area under the curve gains must reach the first number, and times the square root of the number of
# left-out rows the second. With less gain or fewer rows it is as likely to mislead (optdigits .84 to .75 NMI).
LEAST_GAIN, LEAST_EVIDENCE = 0.03, 0.15
FOLDS = 5


class Lesson(NamedTuple):
    """What must-links teach. Where they do not agree among themselves on what does not matter, only one scale for all
    features is learned, from the rows."""

    taught: bool
    labels: list[np.ndarray]  # of shape (n,)
    turn: np.ndarray | None  # (d, d): rows minus their mean, times this, deviate within classes with unit covariance


NOTHING_TAUGHT = Lesson(False, [], None)


def learn_from_must_links(
    problem: Problem, seeds: Seeds, options: Options, n_init: int, seed: int, full: bool
) -> Lesson:
    """The matrix where it may be ``full``, and the best labels of ``n_init`` runs under it, seeded by neighbourhoods
    and not; else the labels of such runs on features of one scale. Cost n d^2, and the runs."""
    component = np.unique(first_of_component(problem.graph, problem.n_rows), return_inverse=True)[1]
    weight = problem.sample_weight / problem.sample_weight.mean()
    taught = (np.bincount(component)[component] > 1) & (weight > 0)
    rows, scale = _standards(problem, weight)
    standard = rows * scale
    keys, sure = scale_free_keys(standard), False
    if (
        full and problem.n_rows >= problem.n_clusters * problem.n_features
    ):  # the matrices of smaller clusters hang on the ridge
        gain, count = held_out_gain(standard, component, weight, taught, np.argsort(keys, kind="stable"))
        sure = gain >= LEAST_GAIN and gain * np.sqrt(count) >= LEAST_EVIDENCE
    turn = scale
    if sure:
        turn = scale[:, None] * whitening(standard[taught], component[taught], weight[taught])
    short, rng = turned(rows, turn), np.random.default_rng(seed)
    chosen = [seeds] if seeds.share.shape[0] == 0 else [seeds, no_seeds(problem.n_rows)]
    labels = [
        best_labels(problem, short, "sqeuclidean", each, options, n_init, rng, keys, number)
        for number, each in enumerate(chosen)
    ]
    return Lesson(sure, labels, turn if sure else None)


def held_out_gain(
    rows: np.ndarray, component: np.ndarray, weight: np.ndarray, taught: np.ndarray, order: np.ndarray
) -> tuple[float, int]:
    """How much better left-out rows are told from any by a learned matrix, see ``LEAST_GAIN``, and how many there were;
    ``order`` (n,) is one of the rows that their numbers do not change."""
    if np.count_nonzero(taught) < FOLDS:
        return 0.0, 0
    place = np.argsort(order)
    first = np.full(component.max() + 1, order.size)
    np.minimum.at(first, component, place)
    chosen = np.flatnonzero(taught)
    chosen = chosen[np.lexsort((place[chosen], first[component[chosen]]))]
    partner = order[(place + order.size // 2) % order.size]  # of every row: any other
    gain = np.zeros((FOLDS, 2))
    for fold in range(FOLDS):
        left = np.arange(chosen.size) % FOLDS == fold
        learned, tried = chosen[~left], chosen[left]
        turn = whitening(rows[learned], component[learned], weight[learned])
        tried = tried[np.isin(component[tried], component[learned])]
        white = turned(rows, turn)
        areas = [_area(each, component, learned, tried, partner) for each in (white, rows)]
        gain[fold] = (areas[0] - areas[1]) * tried.size, tried.size
    total, count = gain.sum(axis=0)
    return float(total / max(count, 1.0)), int(count)


def scale_free_keys(rows: np.ndarray) -> np.ndarray:
    """(n,) uint64 that stand for the content of standardised rows, as hashes do, whatever scale they had before."""
    place = np.unique(np.round(rows, 6), axis=0, return_inverse=True)[1].ravel()
    return np.random.default_rng(0).permutation(place.max() + 1).astype(np.uint64)[place]


def _area(
    rows: np.ndarray, component: np.ndarray, learned: np.ndarray, tried: np.ndarray, partner: np.ndarray
) -> float:
    """Share of pairs of any rows that lie farther apart than rows ``tried`` from the others of their component."""
    if tried.size == 0:
        return 0.0
    size = np.maximum(np.bincount(component[learned], minlength=component.max() + 1), 1)[:, None]
    member = sp.csr_matrix((np.ones(learned.size), (component[learned], learned)), shape=(size.size, len(rows)))
    square = np.einsum("ij,ij->i", rows, rows)
    mean, spread = (member @ rows) / size, (member @ square) / size[:, 0]
    own = component[tried]
    near = square[tried] + spread[own] - 2.0 * np.einsum("ij,ij->i", rows[tried], mean[own])
    apart = np.sort(np.einsum("ij,ij->i", rows - rows[partner], rows - rows[partner]))
    return 1.0 - float(np.mean(np.searchsorted(apart, near))) / apart.size


def turned(rows: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """(n, r) rows (n, d) times a matrix (d, r), or a diagonal one (d,), to the same bits whichever rows stand beside a
    row, which BLAS does not promise."""
    if turn.ndim == 1:
        return rows * turn
    result = np.zeros((len(rows), turn.shape[1]))
    for column, direction in zip(rows.T, turn, strict=True):
        result += column[:, None] * direction
    return result


def whitening(rows: np.ndarray, component: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """(d, d) W: rows (m, d) of must-link components times W deviate from their component with unit covariance."""
    size, n_features = np.bincount(component), rows.shape[1]
    own = deviations(rows, component, weight)
    free = np.sum(weight * (1.0 - 1.0 / size[component]))
    prior = PRIOR_COUNT * np.sqrt(n_features)
    with threadpool_limits(1, "blas"):  # the last bits of a BLAS product depend on its number of threads
        scatter = own.T @ (own * weight[:, None]) + prior * PRIOR_VARIANCE * np.eye(n_features)
        lower = np.linalg.cholesky(scatter / (free + prior))
    return solve_triangular(lower, np.eye(n_features), lower=True).T


def deviations(rows: np.ndarray, group: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """(n, d) rows minus the weighted mean of their group."""
    member = sp.csr_matrix((weight, (group, np.arange(group.size))))
    mass = np.maximum(np.bincount(group, weight), np.finfo(float).tiny)
    return rows - ((member @ rows) / mass[:, None])[group]


def _standards(problem: Problem, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, d) minus their mean, and the factors (d,) that bring features to variance 1; 0 for constant ones."""
    rows = matrix_of(problem).toarray().astype(np.float64)
    with threadpool_limits(1, "blas"):
        mean = weight @ rows / weight.sum()
        rows -= mean
        spread = np.sqrt(weight @ rows**2 / weight.sum())
    scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-12 * np.abs(mean))
    return rows, scale
