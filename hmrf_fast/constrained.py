"""The estimators that take constraints: what goes into ``fit``, and the parameters of those that have none of their
own."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any, Self

from hmrf_fast.base import Clusterer
from hmrf_fast.constraints import Constraints
from hmrf_fast.errors import UnusedLabelsWarning


class ConstrainedClusterer(Clusterer):
    """The estimators that take constraints."""

    _starts_from_labels = False

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        partial_labels: Any = None,
        constraints: Constraints | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """Cluster the rows of X under constraints.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows to cluster; anything but CSR is converted once, and nothing is ever made dense (but where matrices per
            cluster are learned). A pandas or polars frame, or an AnnData object, gives the features their names; places
            of rows that are not in memory are in :mod:`hmrf_fast.rows`.
        y : ignored
            Present for scikit-learn's conventions; known classes are ``partial_labels``, not `y`.
        must_link, cannot_link : array-like of shape (m, 2), optional
            Pairs of row numbers, counted from 0. A tuple of two arrays is read as first and second rows.
        partial_labels : array-like of shape (n,), optional
            Known classes, -1, NaN or None where unknown.
        constraints : Constraints, optional
            Instead of the three above: with weights per pair, groups, row ids.
        sample_weight : array-like of shape (n,), optional
            Weight of each row, in seeding as well; a row of weight 0 is labelled but influences nothing.

        Returns
        -------
        self

        Raises
        ------
        InputError
            X or a parameter is unusable: the message names row, column or value.
        ConstraintError
            Constraints do not fit X; ``ContradictionError`` and ``InfeasibleError`` are kinds of it.

        Warns
        -----
        ContradictionWarning, EmptyRowsWarning, EmptyClusterWarning, SampledConstraintsWarning, ConvergenceWarning
        UnusedLabelsWarning
            `SeededKMeans` and `ConstrainedKMeans` got classes as `y`, and nothing else to start from.
        """
        self._warn_of_unused(y, must_link, cannot_link, partial_labels, constraints)
        return self._fit(X, must_link, cannot_link, partial_labels, constraints, sample_weight)

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        partial_labels: Any = None,
        constraints: Constraints | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn from one batch of rows after the other, see :class:`hmrf_fast.batches.BatchLearner`.

        The first batch is clustered by ``fit``, unless the model is fitted already; every further one gets labels under
        the constraints among its rows, and moves each centroid by the share of the batch in all that it has seen.
        Feature weights stay; smoothing falls the more rows have been seen. Batches should be drawn at random, the first
        not be small: what early centroids gathered stays in the sums. On 100,000 film reviews and 20 clusters, two
        passes end 0.3 % above the J of a full fit with the cosine and batches of 5000, and 1.2 % with I-divergence and
        batches of 20,000 (of 5000: 2.7 %).

        Parameters
        ----------
        X, y, must_link, cannot_link, partial_labels, constraints, sample_weight
            As for `fit`; row numbers are those of the batch.

        Returns
        -------
        self
            ``labels_``, ``inertia_``, ``objective_`` (before the centroids moved) and ``constraint_report_`` are those
            of the batch; ``counts_`` (K,) the weights that the centroids have seen, ``n_steps_`` the batches.

        Raises
        ------
        InputError, ConstraintError
            As by `fit`; also if the parameters do not go with the model, and for metric="mahalanobis".
        """
        self._warn_of_unused(y, must_link, cannot_link, partial_labels, constraints)
        return self._fit_batch(X, must_link, cannot_link, partial_labels, constraints, sample_weight)

    def _warn_of_unused(self, y: Any, *known: Any) -> None:
        if self._starts_from_labels and y is not None and all(one is None for one in known):
            warnings.warn(
                f"{type(self).__name__} starts from known classes and got none: y is not looked at, give them as "
                "partial_labels, with -1 where the class is unknown",
                UnusedLabelsWarning,
                stacklevel=3,
            )


class PlainClusterer(ConstrainedClusterer):
    """The estimators that have no parameter of their own."""

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: str = "sqeuclidean",
        init: Any = "k-means++",
        n_init: int = 10,
        smoothing: float = 1.0,
        max_iter: int = 100,
        tol: float = 1e-4,
        dtype: Any = None,
        copy_x: bool = True,
        n_threads: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], None] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 60.0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.init = init
        self.n_init = n_init
        self.smoothing = smoothing
        self.max_iter = max_iter
        self.tol = tol
        self.dtype = dtype
        self.copy_x = copy_x
        self.n_threads = n_threads
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
