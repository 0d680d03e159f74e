"""SphericalKMeans: the plain loop, and a drop-in for scikit-learn's KMeans."""

from __future__ import annotations

import warnings

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from hypothesis import given
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from strategies import planted, random_states

from hmrf_fast import SphericalKMeans, datasets
from hmrf_fast.errors import InputError
from hmrf_fast.geometry import build_problem
from hmrf_fast.inputs import as_corpus
from hmrf_fast.neighborhoods import resolve
from hmrf_fast.penalties import empty_graph
from hmrf_fast.seeding import restarts
from hmrf_fast.seeds import seeds_of


@given(planted(), random_states())
def test_spherical_kmeans_follows_the_plain_loop(case, rng):
    X, K, *_ = case
    start = X[rng.choice(len(X), K, replace=False)]
    model = SphericalKMeans(K, init=start, tol=0).fit(sp.csr_matrix(X))
    np.testing.assert_array_equal(model.labels_, oracle.plain_spherical_kmeans(X, start))
    np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1.0, rtol=1e-12)


def test_spherical_kmeans_stands_in_for_kmeans():
    rng = np.random.default_rng(0)
    X = sp.random(60, 30, density=0.3, random_state=rng, format="csr") + sp.csr_matrix(np.eye(60, 30))
    unit = X.multiply(1 / np.sqrt(X.multiply(X).sum(1))).tocsr()
    ours = SphericalKMeans(4, random_state=0, n_init=20).fit(X, sample_weight=np.ones(60))
    theirs = KMeans(4, random_state=0, n_init=20).fit(unit)
    own = unit @ theirs.cluster_centers_.T / np.linalg.norm(theirs.cluster_centers_, axis=1)
    cosine = np.sum(1 - np.asarray(own)[np.arange(60), theirs.labels_])
    assert ours.inertia_ <= cosine * 1.02
    np.testing.assert_array_equal(ours.predict(X), ours.labels_)
    assert ours.fit_transform(X).shape == (60, 4) and ours.score(X) == pytest.approx(-ours.inertia_)


def a_start(X, n_clusters, random_state):
    return X[np.random.default_rng(random_state).choice(X.shape[0], n_clusters, replace=False)].toarray()


@pytest.mark.parametrize("init", ["k-means++", "random", "array", a_start])
@pytest.mark.parametrize("n_init", ["auto", 3])
def test_spherical_kmeans_takes_what_kmeans_takes(init, n_init):
    X, _ = datasets.load("news_different_3", return_X_y=True)
    init = X[[0, 100, 200]].toarray() if isinstance(init, str) and init == "array" else init
    common = {"n_clusters": 3, "n_init": n_init, "max_iter": 300, "tol": 1e-4, "random_state": 0, "copy_x": True}
    starts = []

    def counting(state):
        starts.append(state["start"])

    for cls, more in ((KMeans, {}), (SphericalKMeans, {"callback": counting})):
        model = clone(cls(init=init, verbose=0, **common, **more))
        assert model.get_params()["n_init"] == n_init
        pipe = make_pipeline(FunctionTransformer(accept_sparse=True), model.set_params(max_iter=200))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of KMeans: an array is but one start
            labels = pipe.fit_predict(X)
            apart = pipe.fit_transform(X)
        assert labels.shape == (300,) and labels.dtype == np.int32 and apart.shape == (300, 3)
        assert pipe.score(X) <= 0 and model.max_iter == 200
        np.testing.assert_array_equal(pipe.predict(X), model.labels_)
        np.testing.assert_array_equal(apart.argmin(1), model.labels_)
    single = isinstance(init, np.ndarray) or (init == "k-means++" and n_init == "auto")
    expected = 1 if single else 10 if n_init == "auto" else n_init
    assert set(starts) == set(range(expected))


@pytest.mark.parametrize("n_init", ["many", 0, 1.5, None])
def test_spherical_kmeans_names_a_bad_number_of_starts(n_init):
    with pytest.raises(InputError, match="n_init"):
        SphericalKMeans(2, n_init=n_init).fit(np.eye(4))


@given(planted(), random_states())
def test_random_starts_are_distinct_rows_of_positive_weight(case, rng):
    X, K, *_ = case
    weight = rng.integers(0, 2, len(X)).astype(float)
    problem = build_problem(as_corpus(sp.csr_matrix(X)), "sqeuclidean", weight, empty_graph(), K)
    none = seeds_of(problem, resolve(None, len(X)), False, np.zeros(0, np.int64))
    (centers,) = restarts(problem, none, "random", 1, rng, False)
    usable = np.flatnonzero((weight > 0) & X.any(1)) if weight.any() else np.arange(len(X))
    rows = [set(np.flatnonzero((X == center).all(1)).tolist()) & set(usable.tolist()) for center in centers]
    assert all(rows) and (len(usable) < K or len(set.union(*rows)) >= K)
