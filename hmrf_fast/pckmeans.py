"""PCKMeans: k-means with a constant price per violated constraint."""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable
from typing import Any

from hmrf_fast.constrained import ConstrainedClusterer
from hmrf_fast.inputs import check_number
from hmrf_fast.settings import Settings, settings_of


class PCKMeans(ConstrainedClusterer):
    """Pairwise constrained k-means: every violated pair costs the same (Basu, Banerjee and Mooney, SDM 2004).

    Minimises eq. 2.1, the summed ``1/2 |x - mu|^2`` (or 1 - cos, or an I-divergence) of the rows plus `w` for every
    violated must-link and cannot-link, entailed ones included. `w` = 0 only seeds, as `SeededKMeans`, and `w` = inf
    never violates, as `ConstrainedKMeans`: from the same first centroids the results are equal (their named starts
    differ where there are more neighbourhoods than clusters).

    Use it where constraints are equally important, and distances on a known scale: `w` is in their units. `HMRFKMeans`
    prices a violation by the distance of the two rows, and can learn that distance.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    w : float, default=1.0
        Price of a violated pair, multiplied with the pair's own weight; 0 to ``inf``. Compare it with the distances: on
        data whose squared distances are in the thousands, 1 changes nothing.
    metric : {"sqeuclidean", "cosine", "i_divergence", "pearson"}, default="sqeuclidean"
        The distance; "sqeuclidean" counts half, as in eq. 2.1. "cosine" is the spherical variant, for text.
    infer_constraints : bool, default=True
        Penalise entailed constraints too (section 3); False penalises the given pairs only.
    init : {"k-means++", "neighborhoods", "auto", "low_rank", "random", "printed"}, array of shape (K, d) or callable
        The start. All named ones begin with the centroids of the largest must-link neighbourhoods, then a row that is
        cannot-linked to all of them if there are too few (section 3); the name says where the rest comes from, as in
        `HMRFKMeans`; "printed" is the paper's. With "k-means++" and a price on violations, every second start ignores
        the neighbourhoods, and J decides.
    n_init : int, default=10
        Number of random starts; the lowest objective wins.
    e_step : {"block_icm", "icm"}, default="block_icm"
        "icm" moves one row at a time, as in the paper; "block_icm" whole neighbourhoods as well.
    smoothing : float, default=1.0
        I-divergence only; see `HMRFKMeans`.
    max_iter, tol, dtype, copy_x, n_threads, warm_start, random_state, verbose, callback
        As in `HMRFKMeans`.
    checkpoint, checkpoint_every
        As in `HMRFKMeans`.

    Attributes
    ----------
    labels_, cluster_centers_, inertia_, objective_, objective_history_, constraint_report_, n_iter_, n_features_in_
        As in `HMRFKMeans`; `objective_` is eq. 2.1.

    References
    ----------
    S. Basu, A. Banerjee, R. J. Mooney, Active Semi-Supervision for Pairwise Constrained Clustering, SDM 2004.

    Examples
    --------
    >>> from hmrf_fast import PCKMeans
    >>> X = [[0.0], [1.0], [10.0], [12.0]]
    >>> PCKMeans(2, w=1000.0, random_state=0).fit(X, must_link=[(0, 3)]).constraint_report_.n_must_link_violated
    0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        w: float = 1.0,
        *,
        metric: str = "sqeuclidean",
        infer_constraints: bool = True,
        init: Any = "k-means++",
        n_init: int = 10,
        e_step: str = "block_icm",
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
        self.w = w
        self.metric = metric
        self.infer_constraints = infer_constraints
        self.init = init
        self.n_init = n_init
        self.e_step = e_step
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
        check_number("w", self.w, numbers.Real, 0)
        return settings_of(
            self,
            penalty="potts",
            must_link_weight=self.w,
            cannot_link_weight=self.w,
            by_size=True,
            fixed_labels=self.w == float("inf"),
            scale=0.5 if self.metric == "sqeuclidean" else 1.0,
        )
