"""HMRFKMeans: parameters and documentation; the work is in ``base.py`` and below."""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from hmrf_fast.constrained import ConstrainedClusterer
from hmrf_fast.errors import InputError
from hmrf_fast.inputs import LARGEST, check_choice, check_number
from hmrf_fast.kernels.mahalanobis import LIFTED
from hmrf_fast.kernels.metrics import METRICS
from hmrf_fast.settings import Settings, settings_of


class HMRFKMeans(ConstrainedClusterer):
    """K-means on sparse rows under must-link and cannot-link constraints, with a learned distance.

    Hidden-Markov-random-field k-means (Basu, Bilenko and Mooney, KDD 2004): constraints seed the clusters, steer
    every assignment, and shape the distance through feature weights. Each constraint has a price, so noisy knowledge
    bends but does not break the clusters; an infinite price makes it hard. One iteration costs the non-zeros of X
    times the number of clusters, plus the constraints.

    Use it when some pairs of rows, groups of rows or labels are known. Without any it is spherical k-means
    (metric="cosine") from a strong start.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    metric : str, default="cosine"
        The distance D between a row and a centroid (eqs. 10 and 12): "cosine" for tf-idf text, "i_divergence"
        (Kullback-Leibler of rows divided by their sum) for counts, "sqeuclidean" for measurements on one scale,
        "pearson" (cosine of rows minus their mean) for profiles. "mahalanobis" learns a full matrix A per cluster,
        (x - mu)' A (x - mu) - ln det A plus a ridge: the best of all on most sets of up to a hundred measurements, on
        one scale or not; "mahalanobis_diagonal" learns its diagonal, a weight per cluster and feature, for more
        features or few rows; see Notes.
    learn_weights : bool, default=False
        Learn one weight per feature (M-step B, eqs. 18-20 corrected). Off by default: from the default start it lowers
        the agreement with true classes on most news corpora, while from the printed start it raises it, as the paper
        reports. With metric="sqeuclidean" and constraints it helps on most sets of few features. J values with and
        without learned weights cannot be compared.
    weight_prior : float, default=None
        Strength rho of a Rayleigh prior with mode 1 on every weight, relative to the summed sample weights. None: no
        prior for "cosine" and "pearson"; (1 / number of features) for "i_divergence"; a log-determinant term for
        "sqeuclidean". Where matrices per cluster are learned it is the ridge of every covariance, as a share of the
        variances within clusters; None: 0.1.
    learning_rate : float, default=None
        First step size of the weights of "cosine" and "pearson", multiplied with dJ/da; it decays by 0.9 per
        iteration and is halved while J would rise. None: number of features / summed sample weights. The paper used
        1.75 on 300 rows.
    must_link_weight, cannot_link_weight : float, default=1.0
        Price of a violated constraint of that kind, multiplied with the constraint's own weight; ``inf`` = hard; 0 =
        the constraints only seed clusters.
    penalty : {"distance", "potts"}, default="distance"
        What a violation costs per unit weight: "distance" phi(x_i, x_j) for a must-link and phi_max - phi for a
        cannot-link (eqs. 7 and 8), or the constant 1 ("potts", as in PCKMeans).
    infer_constraints : bool, default=True
        Penalise entailed constraints too: must-links within a neighbourhood and cannot-links between neighbourhoods
        that one given cannot-link separates. Large sets of them are never listed: sums over neighbourhoods stand for
        them. Costs up to 64 pairs per constrained row and iteration. False penalises the given pairs only: faster with
        very many.
    filter_constraints : {False, True, "auto"}, default=False
        Leave out given pairs that are probably wrong; ``constraint_report_.suspects`` lists them. They are the pairs
        that the best labels violate when every pair may be broken for a constant price on the scale of the data, which
        takes two further fits. For pairs of doubtful origin: with 20 % of 500 pairs turned round, related news keeps
        0.39 NMI in place of 0.09. "auto" looks for wrong pairs only if given pairs contradict one another, as few
        rarely do. Hard pairs, groups and labels are never left out. Not the default, since pairs that are right but
        hard to satisfy would be lost as well.
    init : {"auto", "low_rank", "neighborhoods", "k-means++", "random", "printed"}, array of shape (K, d) or callable
        The start; "auto" by default. Neighbourhoods of must-linked rows seed the first clusters in all named ones (more
        of them than clusters: weighted farthest-first). The rest comes from: the best of ``n_init`` constrained runs in
        each of several truncated SVDs, annealed (under "cosine" and "pearson") and polished in the full space
        ("low_rank"); the rows farthest from the seeds ("neighborhoods"); rows drawn by distance ("k-means++") or by
        sample weight alone ("random"); the global centroid with each coordinate multiplied by 1 + 0.7 (U - 0.5)
        ("printed", the authors' program). "auto" is "low_rank" where X has more than ten distinct rows and features,
        else "k-means++". On three news corpora the printed start alone ends near chance, the low-rank one reaches
        without any constraint what the paper reports for 500. A callable gets
        ``(X, n_clusters, random_state=seed)`` and returns centroids.
    n_init : int, default=10
        Number of random starts; of their results the lowest objective wins, with two exceptions: texts, see below, and
        metric="mahalanobis", see Notes. With priced constraints every second start of "k-means++" and "low_rank"
        ignores the neighbourhoods, since a few pairs can make bad seeds. For "low_rank" the best of either half is
        chosen in each truncated SVD, and these (starts 0, 1, ... of the log) compete in the full space. Of such starts
        on rows that can be texts (cosine, no negative values) the one wins under whose labels the words of the rows are
        most probable, among those whose objectives are within 0.2 % of the lowest and that violate no more: that close,
        the lowest objective is chance (related and similar news: .01 NMI).
    e_step : {"block_icm", "icm"}, default="block_icm"
        "icm" moves one row at a time until nothing changes (section 3.4); "block_icm" then also moves whole must-link
        neighbourhoods, and repeats. Never worse than "icm" from the same start.
    smoothing : float, default=1.0
        I-divergence only: first value of alpha in the smoothed centroids (eq. 16); halved every iteration down to
        0.001. 0 switches smoothing off; distances to centroids that lack a row's features are then infinite.
    max_iter : int, default=100
        Largest number of iterations of each start.
    tol : float, default=1e-4
        A fit has converged when no label changes and J changes by less than this share (with learned weights: for three
        iterations in a row).
    dtype : {None, numpy.float32, numpy.float64}, default=None
        Precision of the data. None keeps float32 and converts everything else to float64. float32 data has float32
        distance tables (except "sqeuclidean"); sums, weights and J are float64 always.
    copy_x : bool, default=True
        X is never changed. False allows a CSR matrix with unsorted or repeated entries to be put in order in place.
    n_threads : int, default=None
        Threads to use; None or -1: all that the process may use. Results are the same bits for any number.
    warm_start : bool, default=False
        Start a further ``fit`` from the centroids, labels, feature weights and smoothing of the last one, whatever
        `init` says; cluster ids stay. `n_clusters` and the number of features must be the same, the rows need not be.
    random_state : int, RandomState, Generator or None, default=None
        Source of the starts and of the visiting order of the E-step.
    verbose : int, default=0
        Above 0, progress is logged to the logger "hmrf_fast" at level INFO instead of DEBUG; show it with
        ``logging.basicConfig(level=logging.INFO)``.
    callback : callable, default=None
        Called after every iteration with a dict: "start" (number of the start), "iteration", "objective", "changed"
        (rows that moved). An exception from it ends the fit and leaves the estimator as it was.
    checkpoint : path-like, default=None
        File in which the fit is written down as it goes. A further ``fit`` with the same arguments, in another process
        for instance, goes on from there to the bits that an uninterrupted one reaches, and begins anew without such a
        file; with ``random_state=None`` it takes the file's seed. Ctrl-C and SIGTERM let the sub-step finish and save
        before they take effect (a second one does not wait). The file stays when the fit is done, and gives its result
        again; a finished one gives way to another fit, an unfinished one is refused. The one before it is kept beside
        it as ``*.previous``. Each holds the centroids of the start under way and of the best one, 16 K d bytes. No
        pickles; see ``numpy.load(checkpoint)``. A callable `init` is known by its name only.
    checkpoint_every : float, default=60.0
        Seconds between two checkpoints; 0: after every sub-step.

    Attributes
    ----------
    labels_ : ndarray of shape (n,), int32
        Cluster of each row; follows the constraints.
    cluster_centers_ : ndarray of shape (K, d), float64
        Centroids: of unit length under the feature weights for the directional metrics.
    feature_weights_ : ndarray of shape (d,), float64
        Learned weights a; ones if none were learned.
    metric_matrix_ : ndarray of shape (K, d, d), float64
        Only with metric="mahalanobis": A of every cluster, in the features of X; its diagonal (K, d) with
        "mahalanobis_diagonal".
    inertia_ : float
        The part of J that distances make: summed weighted distance of the rows to the centroid of their label.
    objective_ : float
        J (eq. 9, each unordered pair counted once) of labels, centroids and weights.
    objective_history_ : ndarray of float64
        J after every sub-step of the winning start; never rises but by rounding, about 1e-15 of the summed distances
        (1e-8 of them with float32 data).
    history_steps_ : tuple of str
        The sub-step behind each value: "E", "refill" (an emptied cluster got the costliest row), "M" (centroids), "W"
        (weights).
    n_iter_ : int
    converged_ : bool
    smoothing_ : float
        Last alpha; part of the distances that ``predict`` and ``transform`` use.
    constraint_report_ : ConstraintReport
        Satisfied and violated constraints, neighbourhoods, contradictions; ``print`` it.
    constraints_ : Constraints
        What the fit was given, without the suspects, and the pairs that record later corrections.
    edits_ : tuple of Edit
        The corrections since the fit, see `move`, `merge` and `split`.
    merged_into_ : ndarray of shape (K,), int32
        Every cluster's own id, or the id of the cluster that it was merged into.
    classes_ : ndarray
        Only with partial labels: the classes; cluster c belongs to the c-th of them, further clusters to none.
    n_features_in_ : int

    See Also
    --------
    Constraints : Weights per pair, groups, labels and row ids.

    Notes
    -----
    The four algorithms compared in the paper are parameter settings, ready in ``hmrf_fast.ablations``: *KMeans* is
    ``init="printed"`` without constraints; *-I* adds constraints with both weights 0; *-I-C* has both weights 1;
    *-I-C-D* has ``learn_weights=True`` as well.

    metric="mahalanobis" is MPCK-Means with a full matrix per cluster (ICML 2004), "mahalanobis_diagonal" with a
    diagonal one, with two differences. Each
    covariance gets a ridge T = weight_prior * diag(variances within the clusters of the best first run), which adds
    tr(A T) to the distance of a row and makes A = (covariance + T)^-1 exist always. And a violated constraint costs
    the squared distance in which those variances are 1: the printed price goes through A, whose closed form can then
    be indefinite. The features are those of X, or, where this tells left-out rows of a neighbourhood better from
    other rows and clusters have more rows than features, the directions in which rows under must-links deviate from
    their neighbourhoods without correlation and by one size (relevant component analysis, Bar-Hillel, Hertz,
    Shental and Weinshall, JMLR 2005). Starts are labels of squared Euclidean k-means there, improved by one matrix
    for all clusters. With up to 32 features the result of the start wins under which the rows are most probable, means
    and matrices integrated out, among those that violate no more than that of the lowest objective; else the latter.
    Rows are kept with all products of two features, n d^2 / 2 numbers, which limits d to some hundreds; an iteration
    costs K times that, plus K d^3. Diagonal matrices know no directions: starts and objective stay with the features
    of X, 2 n d numbers are kept. ``move``, ``merge``, ``split`` and ``warm_start`` are not to be had with either.

    References
    ----------
    S. Basu, M. Bilenko, R. J. Mooney, A Probabilistic Framework for Semi-Supervised Clustering, KDD 2004.
    M. Bilenko, S. Basu, R. J. Mooney, Integrating Constraints and Metric Learning in Semi-Supervised Clustering, ICML
    2004.

    Examples
    --------
    >>> from hmrf_fast import HMRFKMeans
    >>> X = [[1.0, 0.0], [2.0, 0.1], [0.0, 1.0], [0.1, 3.0]]
    >>> HMRFKMeans(2, random_state=0).fit(X, must_link=[(0, 1)]).labels_.tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: str = "cosine",
        learn_weights: bool = False,
        weight_prior: float | None = None,
        learning_rate: float | None = None,
        must_link_weight: float = 1.0,
        cannot_link_weight: float = 1.0,
        penalty: str = "distance",
        infer_constraints: bool = True,
        filter_constraints: bool | str = False,
        init: Any = "auto",
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
        self.metric = metric
        self.learn_weights = learn_weights
        self.weight_prior = weight_prior
        self.learning_rate = learning_rate
        self.must_link_weight = must_link_weight
        self.cannot_link_weight = cannot_link_weight
        self.penalty = penalty
        self.infer_constraints = infer_constraints
        self.filter_constraints = filter_constraints
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
        check_choice("penalty", self.penalty, ("distance", "potts"))
        if not (isinstance(self.filter_constraints, (bool, np.bool_)) or self.filter_constraints == "auto"):
            raise InputError(f"filter_constraints must be 'auto', True or False, got {self.filter_constraints!r}")
        for name in ("weight_prior", "learning_rate"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), numbers.Real, 0, LARGEST, open_low=True)
        if self.learn_weights and self.penalty == "potts":
            raise InputError(
                "learn_weights=True needs penalty='distance': constant penalties do not depend on the weights"
            )
        if self.learn_weights and self.metric in LIFTED:
            raise InputError(f"metric={self.metric!r} learns its matrices in any case: leave learn_weights=False")
        return settings_of(
            self,
            metrics=(*METRICS, *LIFTED),
            penalty=self.penalty,
            must_link_weight=self.must_link_weight,
            cannot_link_weight=self.cannot_link_weight,
            learn_weights=bool(self.learn_weights),
            doubt=self.filter_constraints,
            learning_rate=self.learning_rate,
            weight_prior=self.weight_prior,
        )
