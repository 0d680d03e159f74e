"""Other packages, each with the best settings that its documentation or our trials know; imported when they are fitted.

All get the rows as a dense array (scikit-learn: sparse where they are), of unit length where the set's metric is
directional: there, squared Euclidean distances are twice the cosine ones.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from methods import Method, Outcome, Trial, is_short, scaled_price
from sets import Corpus

DENSE_LIMIT = 1 << 30  # bytes of a dense copy
METRIC_DIMENSIONS = 50  # metric-learn advises a PCA in front where covariances are singular or rows are long


def fits_dense(corpus: Corpus) -> bool:
    return 8 * corpus.X.shape[0] * corpus.X.shape[1] <= DENSE_LIMIT


def _dense(corpus: Corpus) -> np.ndarray:
    X = corpus.X.toarray() if sp.issparse(corpus.X) else corpus.X
    if corpus.metric == "pearson":
        X = X - X.mean(1, keepdims=True)
        X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    return X


def _kmeans(X: Any, trial: Trial) -> Outcome:
    from sklearn.cluster import KMeans

    model = KMeans(trial.corpus.n_clusters, n_init=10, random_state=trial.seed).fit(X)
    return Outcome(model.labels_, model.n_iter_, model.inertia_)


def _sklearn(trial: Trial) -> Outcome:
    corpus = trial.corpus
    return _kmeans(corpus.X if sp.issparse(corpus.X) else _dense(corpus), trial)


def _active_semi_clustering(name: str, trial: Trial) -> Outcome:
    """The package draws from NumPy's global state and turns floating-point warnings into errors when imported."""
    with np.errstate():
        from active_semi_clustering.semi_supervised import pairwise_constraints
    np.seterr(all="warn")
    np.random.seed(trial.seed)  # noqa: NPY002
    w = {"w": scaled_price(trial.corpus)} if name == "PCKMeans" else {}
    model = getattr(pairwise_constraints, name)(trial.corpus.n_clusters, **w)
    model.fit(_dense(trial.corpus), ml=trial.must_link.tolist(), cl=trial.cannot_link.tolist())
    return Outcome(model.labels_)


def _compact(X: np.ndarray, dimensions: int, seed: int) -> np.ndarray:
    """Leading principal components; constant and dependent columns are gone."""
    from sklearn.decomposition import PCA

    rank = int(np.linalg.matrix_rank(X - X.mean(0)))
    return PCA(max(1, min(rank, dimensions)), random_state=seed).fit_transform(X)


def _metric_learn(name: str, trial: Trial) -> Outcome:
    """A learned transformation, then k-means."""
    _restore_renamed_argument()
    import metric_learn

    X = _compact(_dense(trial.corpus), METRIC_DIMENSIONS, trial.seed)
    if not len(trial.must_link) or not len(trial.cannot_link):
        return _kmeans(X, trial)
    pairs = np.concatenate([trial.must_link, trial.cannot_link])
    signs = np.repeat([1, -1], [len(trial.must_link), len(trial.cannot_link)])
    options = {"diagonal": True, "diagonal_c": 1.0} if name == "MMC" else {}
    model = getattr(metric_learn, name)(preprocessor=X, random_state=trial.seed, **options).fit(pairs, signs)
    return _kmeans(model.transform(X), trial)


def _rca(trial: Trial) -> Outcome:
    """Relevant components of the must-link neighbourhoods, in as many dimensions as these can tell apart."""
    _restore_renamed_argument()
    from metric_learn import RCA

    n, pairs, X = trial.corpus.y.size, trial.must_link, _dense(trial.corpus)
    graph = sp.coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), (n, n))
    _, component = sp.csgraph.connected_components(graph, directed=False)
    size = np.bincount(component)
    chunks = np.where(size[component] > 1, component, -1)
    chunks[chunks >= 0] = np.unique(chunks[chunks >= 0], return_inverse=True)[1]
    freedom = int((chunks >= 0).sum() - np.unique(chunks[chunks >= 0]).size)
    if freedom < 1:
        return _kmeans(X, trial)
    X = _compact(X, min(METRIC_DIMENSIONS, freedom), trial.seed)
    return _kmeans(RCA().fit(X, chunks).transform(X), trial)


def _restore_renamed_argument() -> None:
    """metric-learn 0.7 calls scikit-learn's checks by an argument that 1.8 has renamed."""
    import metric_learn._util as util
    from sklearn.utils import validation

    for name in ("check_array", "check_X_y"):
        if getattr(util, name) is getattr(validation, name):
            setattr(util, name, _renaming(getattr(validation, name)))


def _renaming(check: Callable) -> Callable:
    def call(*arguments, force_all_finite=True, **more):
        return check(*arguments, ensure_all_finite=force_all_finite, **more)

    return call


ASSC, METRIC_LEARN = "active_semi_clustering", "metric_learn"
PEERS = {
    "scikit-learn KMeans": Method(_sklearn, constrained=False),
    "assc PCKMeans": Method(partial(_active_semi_clustering, "PCKMeans"), fits_dense, package=ASSC),
    "assc MPCKMeans": Method(partial(_active_semi_clustering, "MPCKMeans"), is_short, package=ASSC),
    "assc MPCKMeansMF": Method(partial(_active_semi_clustering, "MPCKMeansMF"), is_short, package=ASSC),
    "metric-learn ITML": Method(partial(_metric_learn, "ITML"), fits_dense, package=METRIC_LEARN),
    "metric-learn MMC": Method(partial(_metric_learn, "MMC"), fits_dense, package=METRIC_LEARN),
    "metric-learn RCA": Method(_rca, fits_dense, package=METRIC_LEARN),
}
