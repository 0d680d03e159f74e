"""What a fitted model says about rows: nearest centroid, distances, score."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from hmrf_fast.assembly import warn_of_empty_rows
from hmrf_fast.e_step import all_distances, build_table, nearest_centroids
from hmrf_fast.geometry import Geometry, Problem, build_problem, measure, metric_named
from hmrf_fast.inputs import check_sample_weight
from hmrf_fast.kernels.types import ClusterTerms
from hmrf_fast.memory import refuse_without
from hmrf_fast.penalties import empty_graph
from hmrf_fast.settings import thread_count
from hmrf_fast.sources import as_rows, check_source, in_memory, refuse_negative


class CentroidModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Prediction from centroids, feature weights and smoothing."""

    def predict(self, X: Any) -> np.ndarray:
        """Nearest centroid of each row; constraints play no part.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows in the features of the fit.

        Returns
        -------
        labels : ndarray of shape (n,), int32

        Warns
        -----
        EmptyRowsWarning
            Some rows say nothing, as texts without a word that the fit knows: all of them get the same cluster.
        """
        query = self._query(self._checked(X))
        warn_of_empty_rows(query[0], "their clusters mean nothing; better leave them out", stacklevel=3)
        labels, _ = nearest_centroids(*query)
        return self.merged_into_[labels]

    def transform(self, X: Any) -> np.ndarray:
        """Distance of each row to every centroid, in the fitted metric (for I-divergence in nats, smoothing term
        included).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)

        Returns
        -------
        distances : ndarray of shape (n, K), float64
        """
        return self._distances(self._checked(X))

    def _distances(self, matrix: Any) -> np.ndarray:
        """See `transform`: of checked rows, and an array whatever ``set_output`` says."""
        problem, geometry, clusters, table = self._query(matrix)
        size = 8 * problem.n_rows * problem.n_clusters
        refuse_without("this result", size, f"{problem.n_rows} rows times {problem.n_clusters} clusters")
        distances = all_distances(problem, geometry, clusters, table)
        if self._frame is None:  # what is negative is rounding; with learned matrices there is a logarithm besides
            np.maximum(distances, 0.0, out=distances)
        distances *= self._fitted.scale
        return distances

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
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
        query = self._query(self._checked(X))
        weight = check_sample_weight(sample_weight, query[0].rows)
        nearest = nearest_centroids(*query)[1]
        return -self._fitted.scale * float(weight @ nearest)

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        return check_source(self, X, reset=False, dtype=self.dtype)

    def _query(self, matrix: Any) -> tuple[Problem, Geometry, ClusterTerms, np.ndarray]:
        """Problem, geometry, centroid terms and table for new rows."""
        metric = metric_named(self._fitted.metric)
        if metric.entropic:
            refuse_negative(matrix, metric.name, type(self).__name__)
        n_rows, n_clusters = matrix.shape[0], self.cluster_centers_.shape[0]
        centers, weights = self.cluster_centers_, self.feature_weights_
        if self._frame is not None:
            matrix = self._frame.lift(in_memory(matrix, f"metric={metric.name!r}"))
            centers, weights = self._lifted_centers, self._frame.weights
        problem = build_problem(
            as_rows(matrix),
            metric,
            np.ones(n_rows),
            empty_graph(),
            n_clusters,
            n_threads=thread_count(self.n_threads),
        )
        clusters = metric.cluster_terms(centers, weights, self.smoothing_)
        return problem, measure(problem, weights), clusters, build_table(problem, clusters)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = getattr(self, "metric", None) == "i_divergence"
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags
