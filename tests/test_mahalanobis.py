"""Matrices per cluster, full and diagonal, against plain formulas."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from engine_helpers import assert_near, examples
from hypothesis import given
from hypothesis import strategies as st

from hmrf_fast import HMRFKMeans, datasets
from hmrf_fast.errors import InputError
from hmrf_fast.kernels.mahalanobis import invert_positive, lifted_width, plain_width
from hmrf_fast.protocol import draw_pairs, split_halves
from hmrf_fast.scores import normalized_mutual_information

SETTINGS = {"metric": "mahalanobis", "n_init": 3, "tol": 0.0, "max_iter": 300}
DIAGONAL = {**SETTINGS, "metric": "mahalanobis_diagonal"}


def blobs(seed: int, n: int = 60, d: int = 3, n_clusters: int = 3):
    """Stretched clusters of different shapes and scales, with a few true pairs."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_clusters, size=n)
    shapes = rng.standard_normal((n_clusters, d, d))
    X = 4.0 * rng.standard_normal((n_clusters, d))[y] + np.einsum("nd,nde->ne", rng.standard_normal((n, d)), shapes[y])
    X *= 10.0 ** rng.integers(-2, 3, d)
    must_link, cannot_link = draw_pairs(y, np.arange(n), 12, seed).first(12)
    return X, y, {"must_link": must_link, "cannot_link": cannot_link}


def distance(u: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """(n,) D in the coordinates whose ridge is the identity; ``covariance`` is the inverse of A."""
    A, offset = np.linalg.inv(covariance), u - mean
    return np.einsum("ni,ij,nj->n", offset, A, offset) + np.linalg.slogdet(covariance)[1] + np.trace(A)


def moments(u: np.ndarray, labels: np.ndarray, h: int, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean, and covariance plus ridge, of a cluster."""
    rows, share = u[labels == h], weight[labels == h] / weight[labels == h].sum()
    mean = share @ rows
    return mean, (rows - mean).T @ ((rows - mean) * share[:, None]) + np.eye(u.shape[1])


def violated_price(model: HMRFKMeans, u: np.ndarray, pairs: dict[str, np.ndarray]) -> float:
    """Price of the given pairs alone."""
    price = model._frame.price
    most = price * np.sum((u.max(0) - u.min(0)) ** 2)
    total = 0.0
    for (kind, chosen), sign in zip(pairs.items(), (1, -1), strict=True):
        for i, j in chosen:
            phi = price * np.sum((u[i] - u[j]) ** 2)
            if (model.labels_[i] != model.labels_[j]) == (sign > 0):
                total += phi if kind == "must_link" else most - phi
    return total


@given(st.integers(1, 12), st.integers(0, 1000))
def test_inverse_and_determinant(size, seed):
    half = np.random.default_rng(seed).standard_normal((size, size))
    matrix = half @ half.T + np.eye(size)
    lower = np.tril(matrix)
    log_det = invert_positive(lower)
    assert_near(log_det, np.linalg.slogdet(matrix)[1], 1e-9)
    assert_near(np.tril(lower), np.tril(np.linalg.inv(matrix)), 1e-8)
    assert plain_width(lifted_width(size)) == size


@examples(30)
@given(seed=st.integers(0, 10_000), weighted=st.booleans(), full=st.booleans())
def test_matrices_distances_and_objective_equal_the_formulas(seed, weighted, full):
    X, _, pairs = blobs(seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, len(X)) if weighted else np.ones(len(X))
    model = HMRFKMeans(3, **(SETTINGS if full else DIAGONAL), infer_constraints=False, random_state=seed)
    model.fit(X, **pairs, sample_weight=weight)
    turn = model._frame.turn if full else np.diag(model._frame.turn)
    u = (X - model._frame.mean) @ turn
    expected = np.empty((len(X), 3))
    for h in range(3):
        mean, covariance = moments(u, model.labels_, h, weight)
        covariance = covariance if full else np.diag(np.diag(covariance))
        expected[:, h] = distance(u, mean, covariance)
        learned = model.metric_matrix_[h] if full else np.diag(model.metric_matrix_[h])
        assert_near(learned, turn @ np.linalg.inv(covariance) @ turn.T, 1e-6)
        assert_near(model.cluster_centers_[h], np.linalg.solve(turn.T, mean) + model._frame.mean, 1e-8)
    assert_near(model.transform(X), expected, 1e-6)
    assert np.all(expected >= 0)
    assert np.array_equal(model.predict(X), expected.argmin(1))
    data = weight @ expected[np.arange(len(X)), model.labels_]
    assert_near(model.inertia_, data, 1e-7)
    assert_near(model.objective_, data + violated_price(model, u, pairs), 1e-7)


@examples(15)
@given(
    seed=st.integers(0, 10_000),
    penalty=st.sampled_from(["distance", "potts"]),
    settings=st.sampled_from([SETTINGS, DIAGONAL]),
)
def test_objective_never_rises(seed, penalty, settings):
    X, _, pairs = blobs(seed)
    model = HMRFKMeans(3, **settings, penalty=penalty, random_state=seed).fit(X, **pairs)
    history = model.objective_history_
    assert np.all(np.diff(history) <= 1e-9 * np.abs(history[:-1]))
    assert {"E", "M"} <= set(model.history_steps_)


def test_matrices_minimise_the_objective():
    """Central differences of J by every entry of mean and matrix vanish, and any step in A raises J."""
    X, _, _ = blobs(7)
    model = HMRFKMeans(3, **SETTINGS, random_state=0).fit(X)
    u = ((X - model._frame.mean) @ model._frame.turn)[model.labels_ == 0]
    mean, covariance = moments(u, np.zeros(len(u), int), 0, np.ones(len(u)))
    scale = np.diag(model._frame.turn)
    assert_near(np.linalg.inv(covariance), model.metric_matrix_[0] / np.outer(scale, scale), 1e-6)
    rng, best = np.random.default_rng(0), distance(u, mean, covariance).sum()
    for _ in range(20):
        step = rng.standard_normal(covariance.shape)
        step = 1e-4 * (step + step.T)
        A = np.linalg.inv(covariance)
        there, back = (distance(u, mean, np.linalg.inv(A + sign * step * A.max())).sum() for sign in (1, -1))
        assert there >= best and back >= best
        assert abs(there - back) <= 1e-2 * (there + back - 2 * best) + 1e-9 * best


def test_more_than_scales_are_learned():
    """Iris: its versicolor and virginica are stretched along each other."""
    X, y = datasets.load_iris(return_X_y=True)
    scores = {"mahalanobis": [], "sqeuclidean": []}
    for run in range(3):
        training, test = split_halves(y, run)
        must_link, cannot_link = draw_pairs(y, training, 50, run).first(50)
        for metric, found in scores.items():
            model = HMRFKMeans(3, metric=metric, random_state=run)
            labels = model.fit(X, must_link=must_link, cannot_link=cannot_link).labels_
            found.append(normalized_mutual_information(y[test], labels[test]))
    assert np.mean(scores["mahalanobis"]) > 0.88 > 0.83 > np.mean(scores["sqeuclidean"])


@pytest.mark.parametrize("settings", [SETTINGS, DIAGONAL])
def test_same_bits_for_threads_sparse_rows_and_unpickled_models(settings):
    X, _, pairs = blobs(3, n=200)
    one = HMRFKMeans(3, **settings, random_state=0, n_threads=1).fit(X, **pairs)
    for rows, n_threads in ((X, 2), (sp.csr_matrix(X), 1)):
        other = HMRFKMeans(3, **settings, random_state=0, n_threads=n_threads).fit(rows, **pairs)
        assert np.array_equal(one.labels_, other.labels_)
        assert one.metric_matrix_.tobytes() == other.metric_matrix_.tobytes()
        assert one.objective_ == other.objective_
    assert np.array_equal(pickle.loads(pickle.dumps(one)).transform(X), one.transform(X))


def test_scale_of_the_rows_changes_nothing():
    """But draws and numbers of the clusters, which follow from hashes of the rows: so with starts enough to find
    the best labels whatever is drawn."""
    X, _, pairs = blobs(5)
    settings = {**SETTINGS, "n_init": 30}
    plain = HMRFKMeans(3, **settings, random_state=0).fit(X, **pairs)
    scaled = HMRFKMeans(3, **settings, random_state=0).fit(1024.0 * X, **pairs)
    assert normalized_mutual_information(plain.labels_, scaled.labels_) == pytest.approx(1.0)
    assert_near(scaled.objective_, plain.objective_, 1e-7)
    names = scaled.predict(1024.0 * plain.cluster_centers_)
    assert_near(scaled.metric_matrix_[names] * 1024.0**2, plain.metric_matrix_, 1e-6)


def test_many_features_of_few_rows_have_diagonals():
    """2000 features: full matrices would have 24 million numbers, their diagonals find the two stretched clusters."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = rng.standard_normal((60, 2000)) * np.where(y[:, None] == 0, 1.0, 2.0)
    X[:, :20] += 2.0 * y[:, None]
    model = HMRFKMeans(2, **DIAGONAL, random_state=0).fit(X, must_link=[(0, 1), (30, 31)], cannot_link=[(0, 30)])
    assert model.metric_matrix_.shape == (2, 2000)
    assert normalized_mutual_information(y, model.labels_) == pytest.approx(1.0)


@pytest.mark.parametrize("offset", [128.0, 1e4, 1e9, 1e14, -1e14])
@pytest.mark.parametrize("init", ["auto", "centers", "function"])
def test_offsets_change_nothing(offset, init):
    """Values are steps of 1/64, which an offset leaves exact."""
    X, _, pairs = blobs(15)
    X = np.round(64.0 * X / X.std(axis=0)) / 64.0
    inits = {"auto": "auto", "centers": X[:3], "function": lambda rows, n_clusters, random_state: rows[:n_clusters]}
    settings = SETTINGS | {"n_init": 10, "random_state": 0}
    pairs = pairs if init == "auto" else {}  # one start and an order that follows from the numbers themselves
    plain = HMRFKMeans(3, **settings, init=inits[init]).fit(X, **pairs)
    moved = HMRFKMeans(3, **settings, init=X[:3] + offset if init == "centers" else inits[init])
    moved.fit(X + offset, **pairs)
    assert normalized_mutual_information(plain.labels_, moved.labels_) == pytest.approx(1.0)
    assert_near(moved.objective_, plain.objective_, 1e-3 if abs(offset) > 1e12 else 1e-7)
    assert np.array_equal(moved.predict(X + offset), moved.labels_) == np.array_equal(plain.predict(X), plain.labels_)


@pytest.mark.parametrize("settings", [SETTINGS, DIAGONAL])
def test_constant_and_dependent_features(settings):
    """They have no weight, respectively only what the ridge leaves them, and nothing is infinite."""
    X, _, pairs = blobs(11)
    X = np.column_stack([X, np.full(len(X), 3.0), X[:, 0] - X[:, 1]])
    model = HMRFKMeans(3, **settings, random_state=0).fit(X, **pairs)
    assert np.isfinite(model.metric_matrix_).all()
    assert np.all(model.metric_matrix_[:, 3] == 0) and np.all(model.cluster_centers_[:, 3] == 3.0)
    assert np.isfinite(model.transform(X)).all()


@pytest.mark.parametrize("settings", [SETTINGS, DIAGONAL])
def test_hard_constraints_hold(settings):
    X, _, pairs = blobs(13)
    model = HMRFKMeans(3, **settings, must_link_weight=np.inf, cannot_link_weight=np.inf, random_state=0)
    report = model.fit(X, **pairs).constraint_report_
    assert report.n_must_link_violated == report.n_cannot_link_violated == 0


def test_what_it_cannot_do_is_said():
    X, _, _ = blobs(1)
    with pytest.raises(InputError, match="learns its matrices in any case"):
        HMRFKMeans(3, metric="mahalanobis", learn_weights=True).fit(X)
    with pytest.raises(InputError, match=r"3 rows of 20000 features make 600090000 numbers, the limit is 134217728"):
        HMRFKMeans(2, metric="mahalanobis").fit(sp.csr_matrix(np.eye(3, 20000)))
    with pytest.raises(InputError, match=r"their squares: 3000 rows of 30000 features make 180000000 numbers"):
        HMRFKMeans(2, metric="mahalanobis_diagonal").fit(sp.csr_matrix((np.ones(1), ([0], [0])), shape=(3000, 30000)))
    for settings in (SETTINGS, DIAGONAL):
        model = HMRFKMeans(3, **settings, warm_start=True, random_state=0).fit(X)
        with pytest.raises(InputError, match="cannot be corrected by hand"):
            model.merge(0, 1)
        with pytest.raises(InputError, match=f"warm_start cannot continue metric='{settings['metric']}'"):
            model.fit(X)
    plain = model.set_params(warm_start=False, metric="sqeuclidean").fit(X)
    assert not hasattr(plain, "metric_matrix_") and plain.transform(X).shape == (len(X), 3)


def test_centroids_of_the_caller_are_the_only_start():
    """Also where must-links would teach others: the first E-step goes by them, and one start is all that is tried."""
    X, y, pairs = blobs(3)
    centers = np.stack([X[y == c].mean(0) for c in range(3)])
    tried = []
    model = HMRFKMeans(
        3, metric="mahalanobis", init=centers, random_state=0, callback=lambda told: tried.append(told["start"])
    )
    model.fit(X, **pairs)
    assert set(tried) <= {0, 1}  # as it is, and improved by one matrix for all clusters
    with pytest.raises(InputError):
        model.set_params(init=centers[:2]).fit(X, **pairs)
