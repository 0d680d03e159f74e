"""Ill-conditioned and adversarial data with known optima, and the bounds that ``docs/robustness.md`` states."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from engine_helpers import examples
from hypothesis import given
from hypothesis import strategies as st
from oracle import METRICS
from scipy import sparse
from strategies import random_states

from hmrf_fast import HMRFKMeans, PCKMeans


def quiet(model, X, **known):
    """A fit whose warnings are of no interest; but numpy may not warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        return model.fit(X, **known)


def best_on_a_line(x, K):
    """The lowest within-cluster sum of squares of numbers on a line, where clusters are stretches: dynamic
    programming over all cuts, in exact enough arithmetic (long doubles)."""
    x = np.sort(np.asarray(x, np.longdouble))
    n = x.size

    def cost(i, j):
        part = x[i:j]
        return ((part - part.mean()) ** 2).sum()

    best = np.array([cost(0, j) if j else np.longdouble(0) for j in range(n + 1)])
    for _ in range(1, K):
        best = np.array([np.longdouble(0)] + [min(best[i] + cost(i, j) for i in range(j)) for j in range(1, n + 1)])
    return float(best[n])


LINES = {
    "powers": (2.0 ** np.arange(24), 4),
    "far apart": (np.array([0.0, 1e-6, 1.0, 1.0 + 1e-6, 1e6, 1e6 + 1.0]), 3),
    "far from the origin": (1e7 + np.array([0.0, 0.1, 0.2, 5.0, 5.1, 9.0, 9.1]), 3),
    "both signs": (np.array([-1e8, -1e8 + 1, -1.0, 1.0, 1e8, 1e8 + 1]), 3),
    "evenly spaced": (np.arange(12.0), 4),
    "one outlier": (np.append(np.linspace(0, 1, 11), 1e9), 2),
}


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("kind", [HMRFKMeans, PCKMeans])
def test_optima_on_a_line(name, kind):
    x, K = LINES[name]
    model = quiet(kind(K, metric="sqeuclidean", init="k-means++", n_init=30, tol=0, random_state=0), x[:, None])
    centers = np.array([x[model.labels_ == h].mean() for h in range(K)], np.longdouble)
    found = float(((x.astype(np.longdouble) - centers[model.labels_]) ** 2).sum())
    assert found == pytest.approx(best_on_a_line(x, K), rel=1e-6)
    scale = 0.5 if kind is PCKMeans else 1.0
    assert model.objective_ == pytest.approx(scale * found, rel=1e-6, abs=1e-13 * float((x**2).sum()))


@pytest.mark.parametrize("shift", [0.0, 1e3, 1e6, 1e7])
def test_offsets_that_leave_enough_digits(shift):
    """Two clouds of spread 1 and distance 10, however far from the origin."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 3)) + 10.0 * truth[:, None] + shift
    model = quiet(
        HMRFKMeans(2, metric="sqeuclidean", n_init=3, random_state=0), X, must_link=[(0, 1)], cannot_link=[(0, 59)]
    )
    assert len(set(zip(model.labels_.tolist(), truth.tolist(), strict=True))) == 2


@pytest.mark.parametrize("metric", METRICS)
def test_columns_of_all_sizes(metric):
    """Columns from 1e-30 to 1e30: finite everywhere, and the largest decide."""
    rng = np.random.default_rng(1)
    X = rng.random((40, 7)) * 10.0 ** np.array([-30, -20, -10, 0, 10, 20, 30.0])
    for learn in (False, True):
        model = quiet(
            HMRFKMeans(3, metric=metric, learn_weights=learn, n_init=2, random_state=0), X, must_link=[(0, 1)]
        )
        for name in ("cluster_centers_", "feature_weights_", "objective_history_", "inertia_"):
            assert np.isfinite(getattr(model, name)).all(), name
        assert np.isfinite(model.transform(X)).all()
        assert (model.transform(X) >= 0).all()


def exact_distances(X, model, metric):
    """Distances to the centroids in long doubles, for weights of one and without smoothing."""
    X, C = X.astype(np.longdouble), model.cluster_centers_.astype(np.longdouble)
    if metric == "sqeuclidean":
        return ((X[:, None] - C[None]) ** 2).sum(axis=2)
    if metric == "i_divergence":
        X = X / X.sum(axis=1, keepdims=True)
        safe = np.where(X > 0, X, 1.0)
        return (np.where(X[:, None] > 0, X[:, None] * np.log(safe[:, None] / C[None]), 0) - X[:, None] + C[None]).sum(
            axis=2
        )
    if metric == "pearson":
        X, C = X - X.mean(axis=1, keepdims=True), C - C.mean(axis=1, keepdims=True)
    X, C = (Y / np.sqrt((Y**2).sum(axis=1, keepdims=True)) for Y in (X, C))
    return 1.0 - X @ C.T


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("metric", METRICS)
@examples(40)
@given(rng=random_states(), shift=st.sampled_from([0.0, 1.0, 30.0, 1e3]), n_features=st.integers(3, 30))
def test_stated_bounds_of_distances(metric, dtype, rng, shift, n_features):
    present = rng.random((20, n_features)) < 0.7
    X = (rng.random((20, n_features)) * np.where(present, 1.0, 0.01) + 0.01 + shift).astype(dtype)
    model = quiet(HMRFKMeans(3, metric=metric, init=X[:3], smoothing=0.0, max_iter=5), sparse.csr_matrix(X))
    assert model.smoothing_ == 0.0
    error = np.abs(model.transform(X) - exact_distances(X, model, metric)).max(axis=1)
    rows = X.astype(np.float64)
    size = {
        "sqeuclidean": np.full(len(X), (rows**2).sum(axis=1).max()),
        "cosine": np.ones(len(X)),
        "i_divergence": np.full(len(X), np.log(n_features)),
        "pearson": np.linalg.norm(rows, axis=1) / np.linalg.norm(rows - rows.mean(axis=1, keepdims=True), axis=1),
    }[metric]
    exact = dtype is np.float64 or metric == "sqeuclidean" or (metric == "pearson" and size.max() > 100)
    power = 2.0 if metric == "pearson" and exact else 1.0
    assert np.all(error <= (1e-14 if exact else 1e-6) * size**power), (error / size).max()


def test_single_precision_far_from_the_rows_means():
    """Rows that deviate by millionths from their mean are told apart as in double precision, and J never rises."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = (1e6 + rng.uniform(0.1, 3.0, (60, 7)) * (rng.random((60, 7)) < 0.3)).astype(np.float32)
        settings = {"metric": "pearson", "init": "printed", "n_init": 1, "tol": 0.0, "random_state": 0}
        single, double = (quiet(HMRFKMeans(3, **settings, dtype=dtype), X) for dtype in (np.float32, np.float64))
        assert np.all(np.diff(single.objective_history_) <= 1e-9 * len(X))
        np.testing.assert_array_equal(single.labels_, double.labels_)


def test_nearly_parallel_rows_are_for_float64():
    """The directions of two clouds differ by less than float32 resolves, and float64 tells them apart."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 20)
    X = 1e4 + rng.random((40, 5)) * 0.1 + np.outer(truth, [1.0, 0, 0, 0, 0])
    model = quiet(HMRFKMeans(2, metric="cosine", n_init=5, random_state=0), X)
    assert len(set(zip(model.labels_.tolist(), truth.tolist(), strict=True))) == 2


@pytest.mark.parametrize("metric", METRICS)
def test_extreme_prices_and_weights(metric):
    rng = np.random.default_rng(2)
    X = rng.random((30, 4)) + 0.1
    weight = 10.0 ** rng.uniform(-90, 9, 30)
    for price in (1e-99, 1e99, np.inf):
        model = HMRFKMeans(3, metric=metric, must_link_weight=price, cannot_link_weight=price, n_init=2, random_state=0)
        model = quiet(model, X, must_link=[(0, 1), (1, 2)], cannot_link=[(0, 3), (4, 5)], sample_weight=weight)
        assert np.isfinite(model.objective_history_).all() and np.isfinite(model.cluster_centers_).all()
        if price > 1:
            labels = model.labels_
            assert labels[0] == labels[1] == labels[2] != labels[3] and labels[4] != labels[5]
