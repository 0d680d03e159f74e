"""The one fit() of every estimator: check -> resolve -> start -> iterate -> publish."""

from __future__ import annotations

import logging
import numbers
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from hmrf_fast import inputs
from hmrf_fast.constraints import Constraints
from hmrf_fast.e_step import build_table, distances_of, nearest_centroids
from hmrf_fast.em import EMResult, Options, best_of, run
from hmrf_fast.errors import (
    ContradictionWarning,
    ConvergenceWarning,
    EmptyClusterWarning,
    EmptyRowsWarning,
    InputError,
)
from hmrf_fast.geometry import Problem, build_problem, measure
from hmrf_fast.kernels.metrics import METRICS
from hmrf_fast.kernels.pool import available_threads
from hmrf_fast.neighborhoods import Resolved, resolve
from hmrf_fast.penalties import empty_graph, plan
from hmrf_fast.report import build_report
from hmrf_fast.start import starts
from hmrf_fast.weight_step import choose_prior

logger = logging.getLogger("hmrf_fast")


class Settings(NamedTuple):
    """An algorithm of the family as settings of the one engine."""

    metric: str
    penalty: str
    infer: bool
    must_link_weight: float
    cannot_link_weight: float
    init: Any
    n_init: int
    options: Options
    learning_rate: float | None
    weight_prior: float | None


class ConstrainedClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """What all estimators share. A subclass has parameters, documentation and ``_settings()``."""

    def _settings(self) -> Settings:
        raise NotImplementedError

    def _fit(self, X, must_link, cannot_link, partial_labels, constraints, sample_weight):
        """Check everything, then iterate, then publish: a failed fit leaves the estimator as it was."""
        settings = self._settings()
        matrix = inputs.check_matrix(self, X, reset=True, dtype=self.dtype, copy=self.copy_x)
        known = _given_constraints(settings, must_link, cannot_link, partial_labels, constraints)
        problem, resolved = self._build(settings, matrix, known, sample_weight)
        seed = inputs.draw_seed(self.random_state)
        results = []
        options = _finish_options(settings, problem)
        for number, start in enumerate(starts(problem, resolved, settings, seed, matrix)):
            result = run(problem, start, options._replace(callback=self._progress(number)), seed + number)
            logger.log(self._level(), "start %d: J = %.10g after %d iterations", number, result.objective, result.n_iter)
            results.append(result)
        best = best_of(results)
        if len(known.classes) and not _is_array(settings.init):
            best = _number_by_class(best, resolved)
        self._publish(best, problem, resolved, known, options)
        return self

    def _build(self, settings: Settings, matrix, known: Constraints, sample_weight) -> tuple[Problem, Resolved]:
        n_rows = matrix.shape[0]
        metric = METRICS[settings.metric]
        if metric.entropic:
            inputs.refuse_negative(matrix, settings.metric, type(self).__name__)
        if n_rows < self.n_clusters:
            raise InputError(f"n_samples={n_rows} should be >= n_clusters={self.n_clusters}")
        weight = inputs.check_sample_weight(sample_weight, matrix)
        resolved = resolve(known, n_rows, infer=settings.infer)
        entropic = metric.entropic and settings.penalty != "potts"
        graph = plan(resolved, enumerate_all=entropic, n_clusters=self.n_clusters)
        if resolved.n_contradictions:
            warnings.warn(
                f"{resolved.n_contradictions} cannot-link(s) contradict the must-links and cannot all be satisfied; "
                "see constraint_report_.contradictions for the chains, or set infer_constraints=False for noisy constraints",
                ContradictionWarning,
                stacklevel=4,
            )
        problem = build_problem(
            inputs.as_corpus(matrix), metric, weight, graph, self.n_clusters,
            potts=settings.penalty == "potts", n_threads=_threads(self.n_threads),
        )  # fmt: skip
        n_empty = int(np.count_nonzero(problem.unit == 0))
        if n_empty:
            warnings.warn(
                f"{n_empty} of {n_rows} rows are empty under metric={settings.metric!r} (no direction or mass): their "
                "distance to every centroid is the same and they join the lowest such cluster; leave them out to avoid this",
                EmptyRowsWarning,
                stacklevel=4,
            )
        return problem, resolved

    def _level(self) -> int:
        return logging.INFO if self.verbose else logging.DEBUG

    def _progress(self, number: int) -> Callable[[dict[str, Any]], None]:
        level, callback = self._level(), self.callback

        def notify(state: dict[str, Any]) -> None:
            state["start"] = number
            logger.log(level, "start %(start)d, iteration %(iteration)d: J = %(objective).10g, %(changed)d moved", state)
            if callback is not None:
                callback(state)

        return notify

    def _publish(self, result: EMResult, problem: Problem, resolved: Resolved, known: Constraints, options: Options) -> None:
        self.labels_ = result.labels
        self.cluster_centers_ = result.centers
        self.feature_weights_ = result.weights
        self.smoothing_ = result.alpha
        self.objective_ = result.objective
        self.objective_history_ = np.array(result.history)
        self.history_steps_ = tuple(result.steps)
        self.n_iter_ = result.n_iter
        self.converged_ = result.converged
        self.constraint_report_ = build_report(resolved, result.labels)
        self._n_features_out = result.centers.shape[0]
        if len(known.classes):
            self.classes_ = known.classes
        elif hasattr(self, "classes_"):
            del self.classes_
        if result.n_empty:
            warnings.warn(
                f"only {self.n_clusters - result.n_empty} of n_clusters={self.n_clusters} clusters hold rows: there are "
                "fewer distinct rows than clusters; use fewer clusters",
                EmptyClusterWarning,
                stacklevel=4,
            )
        if not result.converged:
            warnings.warn(
                f"not converged within max_iter={options.max_iter} iterations (J = {result.objective:g}); "
                "raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _query(self, X):
        """Problem, geometry, centroid terms and table for new rows."""
        check_is_fitted(self)
        matrix = inputs.check_matrix(self, X, reset=False, dtype=self.dtype)
        metric = METRICS[self._settings().metric]
        if metric.entropic:
            inputs.refuse_negative(matrix, metric.name, type(self).__name__)
        n_rows, n_clusters = matrix.shape[0], self.cluster_centers_.shape[0]
        problem = build_problem(
            inputs.as_corpus(matrix), metric, np.ones(n_rows), empty_graph(), n_clusters, n_threads=_threads(self.n_threads)
        )
        clusters = metric.cluster_terms(self.cluster_centers_, self.feature_weights_, self.smoothing_)
        return problem, measure(problem, self.feature_weights_), clusters, build_table(problem, clusters)

    def predict(self, X):
        """Nearest centroid of each row; constraints play no part.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows in the features of the fit.

        Returns
        -------
        labels : ndarray of shape (n,), int32
        """
        return nearest_centroids(*self._query(X))[0]

    def transform(self, X):
        """Distance of each row to every centroid, in the fitted metric (for I-divergence in nats, smoothing term included).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)

        Returns
        -------
        distances : ndarray of shape (n, K), float64
        """
        query = self._query(X)
        return distances_of(*query, np.arange(query[0].n_rows))

    def score(self, X, y=None, sample_weight=None):
        """Minus the summed distance of the rows to their nearest centroid; higher is better.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
        y : ignored
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        score : float
        """
        query = self._query(X)
        nearest = nearest_centroids(*query)[1]
        weight = np.ones(nearest.size) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return -float(weight @ nearest)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.metric == "i_divergence"
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def _given_constraints(settings: Settings, must_link, cannot_link, partial_labels, constraints) -> Constraints:
    loose = [name for name, value in (("must_link", must_link), ("cannot_link", cannot_link), ("partial_labels", partial_labels))
             if value is not None]  # fmt: skip
    if constraints is None:
        constraints = Constraints(must_link, cannot_link, partial_labels=partial_labels)
    elif loose:
        raise InputError(f"give either constraints or {', '.join(loose)}, not both: Constraints(...) takes them all")
    elif not isinstance(constraints, Constraints):
        raise InputError(f"constraints must be a hmrf_fast.Constraints, got {type(constraints).__name__}")
    return constraints.scaled(settings.must_link_weight, settings.cannot_link_weight)


def _finish_options(settings: Settings, problem: Problem) -> Options:
    """Options whose automatic values depend on the data."""
    options = settings.options
    if not options.learn_weights:
        return options
    rate = settings.learning_rate
    if rate is None:
        rate = problem.corpus.n_features / problem.sample_weight.sum()
    return options._replace(learning_rate=rate, prior=choose_prior(problem, settings.weight_prior))


def _threads(n_threads) -> int:
    return available_threads() if n_threads in (None, -1) else int(n_threads)


def _is_array(init) -> bool:
    return not isinstance(init, str) and not callable(init)


def _number_by_class(result: EMResult, resolved: Resolved) -> EMResult:
    """Renumber clusters so that cluster c is the one that holds most rows of the c-th class."""
    codes, n_clusters = resolved.labels.codes, result.centers.shape[0]
    known = codes >= 0
    table = np.zeros((resolved.labels.ids.size, n_clusters))
    np.add.at(table, (codes[known], result.labels[known]), 1)
    _, held = linear_sum_assignment(-table)
    order = np.concatenate([held, np.setdiff1d(np.arange(n_clusters), held)])
    rank = np.empty(n_clusters, np.int32)
    rank[order] = np.arange(n_clusters)
    return result._replace(labels=rank[result.labels], centers=result.centers[order])


def check_parameters(estimator) -> None:
    """Types and bounds of the parameters that all estimators share."""
    inputs.check_number("n_clusters", estimator.n_clusters, numbers.Integral, 1)
    inputs.check_number("n_init", estimator.n_init, numbers.Integral, 1)
    inputs.check_number("max_iter", estimator.max_iter, numbers.Integral, 1)
    inputs.check_number("tol", estimator.tol, numbers.Real, 0)
    if estimator.n_threads is not None and estimator.n_threads != -1:
        inputs.check_number("n_threads", estimator.n_threads, numbers.Integral, 1)
    if estimator.dtype is not None and np.dtype(estimator.dtype) not in (np.dtype("f4"), np.dtype("f8")):
        raise InputError(f"dtype must be None, float32 or float64, got {estimator.dtype!r}")
    if estimator.callback is not None and not callable(estimator.callback):
        raise InputError(f"callback must be callable, got {estimator.callback!r}")
