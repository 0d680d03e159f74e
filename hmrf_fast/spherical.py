"""SphericalKMeans: fast cosine k-means for people without constraints."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Self

from hmrf_fast.base import Clusterer
from hmrf_fast.settings import Settings, settings_of


class SphericalKMeans(Clusterer):
    """K-means with the cosine distance on sparse rows (Dhillon and Modha, Machine Learning 2001).

    Rows count by direction only; centroids are sums of unit rows, scaled to length 1. Nothing is made dense. Use it in
    place of ``sklearn.cluster.KMeans`` on tf-idf text or other sparse rows; where some pairs or labels are known, use
    `HMRFKMeans`, which minimises the same without them, by default from a stronger and slower start.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    init : {"k-means++", "random", "auto", "low_rank", "printed"}, array of shape (K, d) or callable
        The start; "k-means++" by default: rows drawn with a probability proportional to the cosine distance to the
        nearest centroid so far (Arthur and Vassilvitskii 2007 with that distance). "low_rank" runs in truncated SVDs
        first and often finds far better optima on text, at several times the cost; "random" draws rows by sample weight
        alone; "auto" and "printed" as in `HMRFKMeans`.
    n_init : int or "auto", default=1
        Number of random starts; the lowest objective wins. "auto", as in scikit-learn: 10 for "random" and callables,
        else 1.
    max_iter : int, default=100
        Largest number of iterations of each start.
    tol : float, default=1e-4
        Converged when no label changes and J changes by less than this share.
    dtype, copy_x, n_threads
        As in `HMRFKMeans`.
    warm_start : bool, default=False
        Start a further ``fit`` from the centroids of the last one; cluster ids stay.
    random_state, verbose, callback, checkpoint, checkpoint_every
        As in `HMRFKMeans`.

    Attributes
    ----------
    labels_ : ndarray of shape (n,), int32
    cluster_centers_ : ndarray of shape (K, d), float64
        Centroids of unit length.
    inertia_ : float
        Summed weighted cosine distance of the rows to their centroids; ``objective_`` is the same without constraints.
    n_iter_ : int
    n_features_in_ : int

    See Also
    --------
    HMRFKMeans : With constraints, learned weights and other distances.

    References
    ----------
    I. S. Dhillon, D. S. Modha, Concept Decompositions for Large Sparse Text Data Using Clustering, Machine Learning
    2001. The unconstrained case of S. Basu, A. Banerjee, R. J. Mooney, ICML 2002 (SPKMeans).

    Examples
    --------
    >>> from hmrf_fast import SphericalKMeans
    >>> X = [[1.0, 0.0], [100.0, 1.0], [0.0, 1.0], [1.0, 100.0]]
    >>> SphericalKMeans(2, n_init=3, random_state=0).fit_predict(X).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: int | str = 1,
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
        self.init = init
        self.n_init = n_init
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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
        y : ignored
        sample_weight : array-like of shape (n,), optional
            Weight of each row, in seeding as well; a row of weight 0 is labelled but influences nothing.

        Returns
        -------
        self : SphericalKMeans

        Raises
        ------
        InputError
            X or a parameter is unusable: the message names row, column or value.

        Warns
        -----
        EmptyRowsWarning, EmptyClusterWarning, ConvergenceWarning
        """
        return self._fit(X, None, None, None, None, sample_weight)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one batch of rows after the other; see :meth:`HMRFKMeans.partial_fit`.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.

        Returns
        -------
        self : SphericalKMeans

        Raises
        ------
        InputError
        """
        return self._fit_batch(X, None, None, None, None, sample_weight)

    def _settings(self) -> Settings:
        n_init = self.n_init
        if isinstance(n_init, str) and n_init == "auto":
            n_init = 10 if callable(self.init) or (isinstance(self.init, str) and self.init == "random") else 1
        return settings_of(self, metric="cosine", n_init=n_init)
