"""COPKMeans: k-means that never violates a constraint."""

from __future__ import annotations

from hmrf_fast.constrained import PlainClusterer
from hmrf_fast.settings import Settings, settings_of


class COPKMeans(PlainClusterer):
    """K-means under hard must-links and cannot-links (Wagstaff, Cardie, Rogers and Schroedl, ICML 2001).

    Every constraint holds in the result. The published algorithm assigns rows one by one and gives up where an
    earlier choice leaves a later row without a cluster. Here must-linked rows are assigned as one, those with the
    most restricted choice first; conflicts are repaired by exchanges, and small sets are searched completely. Where
    no assignment exists, the error names rows that prove it, as few as were found.

    Use it where constraints are certain. With doubtful ones, `PCKMeans` and `HMRFKMeans` weigh them against the
    distances.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    metric : {"sqeuclidean", "cosine", "i_divergence", "pearson"}, default="sqeuclidean"
        The distance; "cosine" for text.
    init : {"k-means++", "neighborhoods", "auto", "low_rank", "random", "printed"}, array of shape (K, d) or callable
        The start, as in `HMRFKMeans`. With "k-means++" every second start ignores the must-link neighbourhoods, as the
        published algorithm does.
    n_init : int, default=10
        Number of random starts; the lowest objective wins.
    smoothing : float, default=1.0
        I-divergence only; see `HMRFKMeans`.
    max_iter, tol, dtype, copy_x, n_threads, warm_start, random_state, verbose, callback
        As in `HMRFKMeans`.
    checkpoint, checkpoint_every
        As in `HMRFKMeans`.

    Attributes
    ----------
    labels_, cluster_centers_, inertia_, objective_, objective_history_, constraint_report_, n_iter_, n_features_in_
        As in `HMRFKMeans`; no constraint is ever violated, so `objective_` equals `inertia_`.

    Raises
    ------
    ContradictionError
        By ``fit``: a cannot-link joins rows that must-links tie together; the message names the chain.
    InfeasibleError
        By ``fit``: the cannot-links need more clusters; ``rows`` of the error are rows that prove it.

    References
    ----------
    K. Wagstaff, C. Cardie, S. Rogers, S. Schroedl, Constrained K-means Clustering with Background Knowledge, ICML 2001;
    the baseline of Basu, Banerjee, Mooney, ICML 2002.

    Examples
    --------
    >>> from hmrf_fast import COPKMeans
    >>> X = [[0.0], [5.0], [10.0]]
    >>> labels = COPKMeans(2, random_state=0).fit_predict(X, cannot_link=[(0, 2), (1, 2)])
    >>> bool(labels[0] == labels[1] != labels[2])
    True
    """

    def _settings(self) -> Settings:
        hard = float("inf")
        return settings_of(self, must_link_weight=hard, cannot_link_weight=hard)
