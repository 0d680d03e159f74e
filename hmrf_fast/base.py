"""The one fit() of every estimator: check -> resolve -> start -> iterate -> publish."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import Any

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
from hmrf_fast.groups import Grouping
from hmrf_fast.kernels.metrics import METRICS
from hmrf_fast.neighborhoods import Resolved, resolve
from hmrf_fast.penalties import empty_graph, plan
from hmrf_fast.report import build_report
from hmrf_fast.settings import Settings, finish_options, given_constraints, is_array, thread_count
from hmrf_fast.start import starts

logger = logging.getLogger("hmrf_fast")


class ConstrainedClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """What all estimators share. A subclass has parameters, documentation and ``_settings()``."""

    def _settings(self) -> Settings:
        raise NotImplementedError

    def _fit(self, *arguments):
        """A fit that fails leaves the estimator as it was."""
        before = dict(self.__dict__)
        try:
            return self._checked_fit(*arguments)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _checked_fit(self, X, must_link, cannot_link, partial_labels, constraints, sample_weight):
        """Check everything, then iterate, then publish."""
        settings = self._settings()
        matrix = inputs.check_matrix(self, X, reset=True, dtype=self.dtype, copy=self.copy_x)
        known = given_constraints(settings, must_link, cannot_link, partial_labels, constraints)
        problem, resolved = self._build(settings, matrix, known, sample_weight)
        seed = inputs.draw_seed(self.random_state)
        results = []
        options = finish_options(settings, problem)
        logger.log(self._level(), "%d rows, %d under constraints", problem.n_rows, problem.graph.rows.size)
        for number, start in enumerate(starts(problem, resolved, settings, seed, matrix)):
            result = run(problem, start, options._replace(callback=self._progress(number)), seed + number)
            logger.log(
                self._level(), "start %d: J = %.10g after %d iterations", number, result.objective, result.n_iter
            )
            results.append(result)
        best = best_of(results)
        if resolved.labels is not None and len(known.classes) and not is_array(settings.init):
            best = _number_by_class(best, resolved.labels)
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
                "see constraint_report_.contradictions for the chains; infer_constraints=False suits noisy constraints",
                ContradictionWarning,
                stacklevel=5,
            )
        problem = build_problem(
            inputs.as_corpus(matrix), metric, weight, graph, self.n_clusters,
            potts=settings.penalty == "potts", n_threads=thread_count(self.n_threads),
        )  # fmt: skip
        empty = np.flatnonzero(problem.unit == 0)
        if empty.size:
            named = ", ".join(map(str, empty[:5])) + (", ..." if empty.size > 5 else "")
            fate = (
                "without mass they only dilute a centroid"
                if metric.entropic
                else "equally far from every centroid, they join the first cluster unless constrained"
            )
            warnings.warn(
                f"{empty.size} of {n_rows} rows (row {named}) say nothing under metric={settings.metric!r}: {fate}; "
                "better leave them out",
                EmptyRowsWarning,
                stacklevel=5,
            )
        return problem, resolved

    def _level(self) -> int:
        return logging.INFO if self.verbose else logging.DEBUG

    def _progress(self, number: int) -> Callable[[dict[str, Any]], None]:
        level, callback = self._level(), self.callback

        def notify(state: dict[str, Any]) -> None:
            state["start"] = number
            logger.log(
                level, "start %(start)d, iteration %(iteration)d: J = %(objective).10g, %(changed)d moved", state
            )
            if callback is not None:
                callback(state)

        return notify

    def _publish(
        self, result: EMResult, problem: Problem, resolved: Resolved, known: Constraints, options: Options
    ) -> None:
        self.labels_ = result.labels
        self.cluster_centers_ = result.centers
        self.feature_weights_ = result.weights
        self.smoothing_ = result.alpha
        self._metric = problem.metric.name  # what was fitted, whatever set_params says later
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
                f"only {self.n_clusters - result.n_empty} of n_clusters={self.n_clusters} clusters hold rows: "
                "there are fewer distinct rows than clusters; use fewer clusters",
                EmptyClusterWarning,
                stacklevel=5,
            )
        if not result.converged:
            warnings.warn(
                f"not converged within max_iter={options.max_iter} iterations (J = {result.objective:g}); "
                "raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _query(self, X):
        """Problem, geometry, centroid terms and table for new rows."""
        check_is_fitted(self)
        matrix = inputs.check_matrix(self, X, reset=False, dtype=self.dtype)
        metric = METRICS[self._metric]
        if metric.entropic:
            inputs.refuse_negative(matrix, metric.name, type(self).__name__)
        n_rows, n_clusters = matrix.shape[0], self.cluster_centers_.shape[0]
        problem = build_problem(
            inputs.as_corpus(matrix),
            metric,
            np.ones(n_rows),
            empty_graph(),
            n_clusters,
            n_threads=thread_count(self.n_threads),
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
        """Distance of each row to every centroid, in the fitted metric (for I-divergence in nats, smoothing term
        included).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)

        Returns
        -------
        distances : ndarray of shape (n, K), float64
        """
        problem, geometry, clusters, table = self._query(X)
        return distances_of(problem, geometry, clusters, table, np.arange(problem.n_rows))

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


def _number_by_class(result: EMResult, known: Grouping) -> EMResult:
    """Renumber clusters so that cluster c is the one that holds most rows of the c-th class."""
    n_clusters, labelled = result.centers.shape[0], known.codes >= 0
    table = np.zeros((known.ids.size, n_clusters))
    np.add.at(table, (known.codes[labelled], result.labels[labelled]), 1)
    _, held = linear_sum_assignment(-table)
    order = np.concatenate([held, np.setdiff1d(np.arange(n_clusters), held)])
    rank = np.empty(n_clusters, np.int32)
    rank[order] = np.arange(n_clusters)
    return result._replace(labels=rank[result.labels], centers=result.centers[order])
