"""How many clusters: the number at which clusterings of parts of the data agree with one another, and with constraints
that they were not told.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable
from itertools import combinations, count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from hmrf_fast import inputs
from hmrf_fast.assembly import FATES, warn_of_empty_rows
from hmrf_fast.constraints import Constraints
from hmrf_fast.errors import (
    ContradictionWarning,
    ConvergenceWarning,
    EmptyClusterWarning,
    EmptyRowsWarning,
    InputError,
)
from hmrf_fast.geometry import build_problem
from hmrf_fast.hmrf_kmeans import HMRFKMeans
from hmrf_fast.kernels.metrics import METRICS
from hmrf_fast.penalties import empty_graph
from hmrf_fast.sources import as_rows

__all__ = ["Selection", "select_n_clusters"]

ROW_SHARE = 0.8  # of the rows in every resample (Ben-Hur, Elisseeff and Guyon 2002)
PAIR_SHARE = 2 / 3  # of the pairs that a fit is told
PAIRS_LIKE_STABILITY = 50.0  # so many pairs weigh as much as the stability does
STABLE = 0.02  # below the best, without pairs: coarse structure is stable too, so the finest that is counts


def __dir__() -> list[str]:
    return list(__all__)


class Selection(NamedTuple):
    """What `select_n_clusters` found; the arrays have one entry per candidate.

    Attributes
    ----------
    n_clusters : int
        The chosen number.
    candidates : ndarray of int64
        Ascending.
    score : ndarray of float64
        Higher is better.
    stability : ndarray of float64
        Mean adjusted Rand index between resamples.
    agreement : ndarray of float64
        With held-out pairs: share of must-links + share of cannot-links kept - 1; NaN without any.
    """

    n_clusters: int
    candidates: np.ndarray
    score: np.ndarray
    stability: np.ndarray
    agreement: np.ndarray


def select_n_clusters(
    X: Any,
    candidates: ArrayLike,
    *,
    must_link: ArrayLike | None = None,
    cannot_link: ArrayLike | None = None,
    constraints: Constraints | None = None,
    estimator: Any = None,
    n_resamples: int = 6,
    random_state: Any = None,
    callback: Callable[[int, int], Any] | None = None,
) -> Selection:
    """Choose the number of clusters by stability and by constraints that the fits were not told.

    For each candidate, `n_resamples` random parts of 80 % of the rows are clustered, each under two thirds of the
    pairs; the other rows join their nearest centroid. *Stability* is the mean adjusted Rand index between the resamples
    (Ben-Hur, Elisseeff and Guyon 2002, with an index that is corrected for chance, and with the prediction of
    Tibshirani and Walther 2005 for the rows left out). *Agreement* is the share of the held-out must-links that are
    kept plus that of the cannot-links minus 1, which is 0 for one cluster and for very many. The score is their mean,
    weighted by 50 for stability and by the number of pairs for agreement; the highest wins. Without pairs of both kinds
    the score is the stability, and the most clusters win whose score is within 0.02 of the highest: few clusters, each
    of several classes, can be as stable as the classes (Tibshirani and Walther take the most above a threshold).

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n, d)
        Rows to cluster.
    candidates : array-like of int
        Numbers of clusters to compare, each at least 2 and no fewer than the classes of partial labels.
    must_link, cannot_link : array-like of shape (m, 2), optional
        Pairs of row numbers.
    constraints : Constraints, optional
        Instead of the two above. Groups and partial labels are told to every fit and never held out.
    estimator : estimator with the parameter ``n_clusters``, optional
        What to fit, with its ``constraints``; a copy is. None: ``HMRFKMeans()``, whose metric is cosine.
    n_resamples : int, default=6
        Fits per candidate, at least 2.
    random_state : int, RandomState, Generator or None, default=None
        Source of the resamples, which are the same for every candidate, and of the fits' seeds.
    callback : callable, optional
        Called after every fit with its number of clusters and the number of fits so far, of
        ``len(candidates) * n_resamples``. An exception from it ends the search.

    Returns
    -------
    Selection

    Raises
    ------
    InputError
        If a candidate is no number from 2 to 80 % of the rows, or below the number of classes of partial labels; or if
        parameters do not fit together.
    ConstraintError
        If the constraints do not fit X.

    Warns
    -----
    EmptyRowsWarning
        Some rows of X say nothing.

    References
    ----------
    A. Ben-Hur, A. Elisseeff, I. Guyon, A Stability Based Method for Discovering Structure in Clustered Data, PSB 2002.
    R. Tibshirani, G. Walther, Cluster Validation by Prediction Strength, JCGS 14(3), 2005.

    Examples
    --------
    >>> from hmrf_fast import HMRFKMeans, datasets
    >>> from hmrf_fast.selection import select_n_clusters
    >>> X, y = datasets.load_iris(return_X_y=True)
    >>> chosen = select_n_clusters(X, range(2, 5), estimator=HMRFKMeans(metric="sqeuclidean"), random_state=0)
    >>> chosen.candidates.tolist()
    [2, 3, 4]
    """
    if constraints is not None and not (must_link is None and cannot_link is None):
        raise InputError("give either constraints or pairs, not both")
    inputs.check_number("n_resamples", n_resamples, numbers.Integral, 2)
    estimator = HMRFKMeans() if estimator is None else estimator
    known = constraints or Constraints(must_link, cannot_link)
    X = inputs.check_matrix(clone(estimator), X, reset=True, dtype=None, copy=True)
    known.check_rows(X.shape[0])
    numbers_of_clusters = _checked(candidates, int(ROW_SHARE * X.shape[0]), known.classes.size)
    _warn_of_rows(X, estimator)
    resamples = _resamples(X.shape[0], known, n_resamples, np.random.default_rng(inputs.draw_seed(random_state)))
    fits = count(1)

    def fitted(n_clusters: int) -> None:
        if callback is not None:
            callback(n_clusters, next(fits))

    measured = [_measure(X, int(k), known, estimator, resamples, fitted) for k in numbers_of_clusters]
    stability, agreement = np.array(measured).T
    n_pairs = len(known.must_link) + len(known.cannot_link)
    weight = n_pairs / (n_pairs + PAIRS_LIKE_STABILITY)
    if np.isnan(agreement).any():
        score, chosen = stability, np.flatnonzero(stability >= stability.max() - STABLE)[-1]
    else:
        score = (1.0 - weight) * stability + weight * agreement
        chosen = np.argmax(score)
    return Selection(int(numbers_of_clusters[chosen]), numbers_of_clusters, score, stability, agreement)


class _Resample(NamedTuple):
    """One part of the data."""

    rows: np.ndarray  # (r,) int64, ascending
    must_link: np.ndarray  # (m,) bool: told
    cannot_link: np.ndarray  # (c,) bool
    seed: int


def _checked(candidates: ArrayLike, most: int, n_classes: int) -> np.ndarray:
    values = np.unique(np.asarray(candidates))
    if values.ndim != 1 or values.size == 0 or not np.issubdtype(values.dtype, np.integer):
        raise InputError(f"candidates must be whole numbers, got {candidates!r}")
    if values[0] < 2 or values[-1] > most:
        wrong = values[0] if values[0] < 2 else values[-1]
        raise InputError(f"candidates must lie within 2 and {most} (80 % of the rows), got {wrong}")
    if values[0] < n_classes:
        raise InputError(
            f"candidates must be no fewer than the {n_classes} classes of partial_labels, got {values[0]}: begin at "
            f"{n_classes}, or give pairs in place of labels"
        )
    return values.astype(np.int64)


def _warn_of_rows(X: Any, estimator: Any) -> None:
    """Of rows that say nothing once, by their numbers in X, which those in a resample are not."""
    metric = METRICS.get(getattr(estimator, "metric", "cosine"))
    if metric is not None:
        problem = build_problem(as_rows(X), metric, np.ones(X.shape[0]), empty_graph(), 1)
        warn_of_empty_rows(problem, FATES[metric.entropic], stacklevel=4)


def _resamples(n_rows: int, known: Constraints, count: int, rng: np.random.Generator) -> list[_Resample]:
    def told(n_pairs: int) -> np.ndarray:
        chosen = np.zeros(n_pairs, bool)
        chosen[rng.permutation(n_pairs)[: round(PAIR_SHARE * n_pairs)]] = True
        return chosen

    return [
        _Resample(
            np.sort(rng.permutation(n_rows)[: int(ROW_SHARE * n_rows)]),
            told(len(known.must_link)),
            told(len(known.cannot_link)),
            int(rng.integers(2**31)),
        )
        for _ in range(count)
    ]


def _measure(
    X: Any,
    n_clusters: int,
    known: Constraints,
    estimator: Any,
    resamples: list[_Resample],
    fitted: Callable[[int], None],
) -> tuple[float, float]:
    """Stability of one number of clusters, and agreement with held-out pairs (NaN if one kind is absent)."""
    labelings, kept = [], np.zeros(4)  # must-links kept, held out, and the same of cannot-links
    for resample in resamples:
        labels = _labels(X, n_clusters, known, estimator, resample)
        fitted(n_clusters)
        must, cannot = known.must_link[~resample.must_link], known.cannot_link[~resample.cannot_link]
        together = np.count_nonzero(labels[must[:, 0]] == labels[must[:, 1]])
        apart = np.count_nonzero(labels[cannot[:, 0]] != labels[cannot[:, 1]])
        kept += np.array([together, len(must), apart, len(cannot)], dtype=np.float64)
        labelings.append(labels)
    stability = float(np.mean([adjusted_rand_score(one, other) for one, other in combinations(labelings, 2)]))
    agreement = kept[0] / kept[1] + kept[2] / kept[3] - 1.0 if kept[1] and kept[3] else np.nan
    return stability, float(agreement)


def _labels(X: Any, n_clusters: int, known: Constraints, estimator: Any, resample: _Resample) -> np.ndarray:
    """(n,) labels of a fit to a part of the rows, and the nearest centroid of the others."""
    part = known.kept(resample.must_link, resample.cannot_link).restricted(resample.rows)
    model = clone(estimator).set_params(n_clusters=n_clusters, random_state=resample.seed)
    with warnings.catch_warnings():
        for told in (ContradictionWarning, ConvergenceWarning, EmptyClusterWarning, EmptyRowsWarning):
            warnings.simplefilter("ignore", told)
        model.fit(X[resample.rows], constraints=part)
        labels = np.asarray(model.predict(X))
    labels[resample.rows] = model.labels_
    return labels
