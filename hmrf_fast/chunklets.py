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
from hmrf_fast.geometry import Problem, content_keys
from hmrf_fast.low_rank import best_labels
from hmrf_fast.neighborhood_seeds import matrix_of
from hmrf_fast.penalties import first_of_component
from hmrf_fast.seeds import Seeds, no_seeds

# What is believed before any must-link: a variance within classes, as a share of the whole variance, that weighs as
# much as this many free deviations times the square root of the number of features.
PRIOR_VARIANCE, PRIOR_COUNT = 0.1, 5.0


class Lesson(NamedTuple):
    """What must-links teach; nothing where there are too few."""

    labels: list[np.ndarray]  # of shape (n,)
    turn: np.ndarray  # (d, d): rows minus their mean, times this, deviate within classes with unit covariance
    thorough: bool = False  # as many free deviations as features: labels learned without it only mislead


def learn_from_must_links(problem: Problem, seeds: Seeds, options: Options, n_init: int, seed: int) -> Lesson:
    """The matrix, and the best labels of ``n_init`` runs under it, seeded by neighbourhoods and not. Cost n d^2, and
    the runs."""
    component = np.unique(first_of_component(problem.graph, problem.n_rows), return_inverse=True)[1]
    weight = problem.sample_weight / problem.sample_weight.mean()
    size = np.bincount(component)[component]
    taught = (size > 1) & (weight > 0)
    free = np.sum(1.0 - 1.0 / size[taught])
    if free < np.sqrt(problem.n_features):
        return Lesson([], np.eye(problem.n_features))
    rows, scale = _standards(problem, weight)
    turn = scale[:, None] * whitening(rows[taught] * scale, component[taught], weight[taught])
    short, rng, keys = turned(rows, turn), np.random.default_rng(seed), content_keys(problem)
    chosen = [seeds] if seeds.share.shape[0] == 0 else [seeds, no_seeds(problem.n_rows)]
    labels = [
        best_labels(problem, short, "sqeuclidean", each, options, n_init, rng, keys, number)
        for number, each in enumerate(chosen)
    ]
    return Lesson(labels, turn, bool(free >= problem.n_features))


def turned(rows: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """(n, r) rows (n, d) times a matrix (d, r), to the same bits whichever rows stand beside a row, which BLAS does not
    promise."""
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
    mean = weight @ rows / weight.sum()
    rows -= mean
    spread = np.sqrt(weight @ rows**2 / weight.sum())
    scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-12 * np.abs(mean))
    return rows, scale
