"""SeededKMeans and ConstrainedKMeans: a few rows of known class start the clusters."""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable
from typing import Any

from hmrf_fast.constrained import ConstrainedClusterer, PlainClusterer
from hmrf_fast.inputs import LARGEST, check_number
from hmrf_fast.settings import Settings, settings_of


class SeededKMeans(PlainClusterer):
    """K-means started from rows of known class, which it may then reassign (Basu, Banerjee and Mooney, ICML 2002).

    The centroid of the seeds of class c starts cluster c; after that the seeds are rows like all others. Use it where
    labels may be wrong; `ConstrainedKMeans` where they are right. Classes without a seed, and clusters beyond the
    classes, start from rows of the data (incomplete seeding).

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K, at least the number of classes.
    metric : {"sqeuclidean", "cosine", "i_divergence", "pearson"}, default="sqeuclidean"
        The distance; "cosine" is the spherical variant, for text.
    init : {"k-means++", "neighborhoods", "auto", "low_rank", "random", "printed"}, array of shape (K, d) or callable
        Where clusters without seeds start: from rows drawn by distance, from the rows farthest from the seeds
        ("neighborhoods"), and so on as in `HMRFKMeans`. An array starts all clusters, the c-th that of class c.
    n_init : int, default=10
        Number of random starts; the lowest objective wins. With seeds for all clusters there is only one.
    smoothing : float, default=1.0
        I-divergence only; see `HMRFKMeans`.
    max_iter, tol, dtype, copy_x, n_threads, warm_start, random_state, verbose, callback
        As in `HMRFKMeans`.
    checkpoint, checkpoint_every
        As in `HMRFKMeans`.

    Attributes
    ----------
    labels_ : ndarray of shape (n,), int32
        Clusters of known classes come first, in the sorted order of the classes.
    classes_ : ndarray
        The classes: cluster c began with the seeds of ``classes_[c]``.
    cluster_centers_, inertia_, objective_, objective_history_, constraint_report_, n_iter_, n_features_in_
        As in `HMRFKMeans`. Violations are reported, and cost nothing.

    Notes
    -----
    ``fit(X, partial_labels=...)`` takes one label per row (-1, NaN or None where unknown), or soft seeds: an array of
    shape (n, C) with a probability per class, rows of zeros or NaN where nothing is known. A soft seed adds to the
    first centroid of each class in proportion. Must-links given besides form seeds as well. Constraints weigh nothing
    here, those of corrections by hand included: a later fit may undo these.

    References
    ----------
    S. Basu, A. Banerjee, R. J. Mooney, Semi-supervised Clustering by Seeding, ICML 2002, figure 1.

    Examples
    --------
    >>> from hmrf_fast import SeededKMeans
    >>> X = [[0.0], [0.2], [5.0], [5.2], [5.1], [9.0]]
    >>> SeededKMeans(3, random_state=0).fit(X, partial_labels=[7, -1, 3, -1, -1, -1]).labels_.tolist()
    [1, 1, 0, 0, 0, 2]
    """

    _starts_from_labels = True

    def _settings(self) -> Settings:
        return settings_of(self, must_link_weight=0.0, cannot_link_weight=0.0, soft_labels=1.0)


class ConstrainedKMeans(ConstrainedClusterer):
    """K-means started from rows of known class, which keep their class (Basu, Banerjee and Mooney, ICML 2002).

    As `SeededKMeans`, but a row of class c stays in cluster c throughout. Use it where labels are right. Pairs given
    besides are hard as well: they are never violated.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K, at least the number of classes.
    metric : {"sqeuclidean", "cosine", "i_divergence", "pearson"}, default="sqeuclidean"
        The distance; "cosine" is the spherical variant, for text.
    soft_label_weight : float, default=1.0
        For soft seeds: a row costs ``soft_label_weight * -ln p`` in a cluster to whose class it belongs with
        probability p, in the units of the distance. The larger, the more the probabilities decide against the
        distances.
    init, n_init, smoothing
        As in `SeededKMeans`.
    max_iter, tol, dtype, copy_x, n_threads, warm_start, random_state, verbose, callback
        As in `HMRFKMeans`.
    checkpoint, checkpoint_every
        As in `HMRFKMeans`.

    Attributes
    ----------
    labels_ : ndarray of shape (n,), int32
        Clusters of known classes come first, in the sorted order of the classes.
    classes_ : ndarray
        The classes: cluster c holds the rows known to be of ``classes_[c]``.
    cluster_centers_, inertia_, objective_, objective_history_, constraint_report_, n_iter_, n_features_in_
        As in `HMRFKMeans`; `objective_` includes the cost of soft seeds.

    Notes
    -----
    Seeds are given as for `SeededKMeans`. A soft seed that is certain of one class keeps it; for the others, the
    assignment minimises D - w ln p, the posterior of a mixture whose prior differs from row to row (the paper names
    soft seeds as future work). Clusters beyond the classes count as the row's likeliest class.

    References
    ----------
    S. Basu, A. Banerjee, R. J. Mooney, Semi-supervised Clustering by Seeding, ICML 2002, figure 2.

    Examples
    --------
    >>> from hmrf_fast import ConstrainedKMeans
    >>> X = [[0.0], [0.2], [5.0], [5.2], [5.1], [9.0]]
    >>> ConstrainedKMeans(3, random_state=0).fit(X, partial_labels=[7, -1, 3, -1, 7, -1]).labels_.tolist()
    [1, 1, 0, 0, 1, 2]
    """

    _starts_from_labels = True

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: str = "sqeuclidean",
        soft_label_weight: float = 1.0,
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
        self.soft_label_weight = soft_label_weight
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

    def _settings(self) -> Settings:
        check_number("soft_label_weight", self.soft_label_weight, numbers.Real, 0, LARGEST)
        hard = float("inf")
        return settings_of(
            self,
            must_link_weight=hard,
            cannot_link_weight=hard,
            fixed_labels=True,
            soft_labels=float(self.soft_label_weight),
        )
