"""Mini-batches against the plain definition: means, or directions of sums, of all rows ever assigned."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from engine_helpers import busy_threads
from scipy import sparse

from hmrf_fast import ConstrainedKMeans, HMRFKMeans, SphericalKMeans
from hmrf_fast.errors import ConvergenceWarning, HMRFWarning, InputError

RNG = np.random.default_rng(1)
CENTERS = RNG.random((4, 12)) * (RNG.random((4, 12)) < 0.6)
TRUTH = RNG.integers(0, 4, 400)
X = sparse.csr_matrix(
    np.maximum(CENTERS[TRUTH] + 0.2 * RNG.normal(size=(400, 12)), 0.0) * (RNG.random((400, 12)) < 0.9)
)
METRICS = ["cosine", "sqeuclidean", "i_divergence", "pearson"]


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", HMRFWarning)
        yield


def model(metric="cosine", **more):
    return HMRFKMeans(4, metric=metric, init="k-means++", n_init=2, random_state=0, **more)


def expected_centers(metric, labels, weight, alpha):
    """The centroids of all rows by their last word, in plain NumPy."""
    rows = X.toarray()[: labels.size]
    if metric == "pearson":
        rows = rows - rows.mean(1, keepdims=True)
    if metric in ("cosine", "pearson"):
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    if metric == "i_divergence":
        rows = rows / rows.sum(1, keepdims=True)
    sums = np.array([(weight[:, None] * rows)[labels == c].sum(0) for c in range(4)])
    if metric in ("cosine", "pearson"):
        return sums / np.linalg.norm(sums, axis=1, keepdims=True)
    means = sums / np.bincount(labels, weight, 4)[:, None]
    return (means + alpha / 12) / (1 + alpha) if metric == "i_divergence" else means


@pytest.mark.parametrize("metric", METRICS)
def test_centroids_are_those_of_all_rows_seen(metric):
    weight = np.arange(400) % 3 + 0.5
    part, labels = model(metric), []
    for first in range(0, 400, 100):
        batch = slice(first, first + 100)
        part.partial_fit(X[batch], sample_weight=weight[batch])
        labels.append(part.labels_)
        seen = np.concatenate(labels)
        expected = expected_centers(metric, seen, weight[: seen.size], part.smoothing_)
        if first:
            np.testing.assert_allclose(part.cluster_centers_, expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(part.counts_, np.bincount(seen, weight[: seen.size], 4))
    assert part.n_steps_ == 4


@pytest.mark.parametrize("metric", METRICS)
def test_labels_are_nearest_and_two_passes_come_near_the_full_fit(metric):
    full, part = model(metric).fit(X), model(metric)
    for _ in range(2):
        for batch in np.array_split(np.random.default_rng(0).permutation(400), 4):
            before = part.predict(X[batch]) if hasattr(part, "labels_") else None
            part.partial_fit(X[batch])
            assert before is None or np.array_equal(part.labels_, before)
    assert -part.score(X) < 1.02 * -full.score(X)


def test_goes_on_from_a_full_fit():
    fitted = model("sqeuclidean").fit(X[:300])
    counts = np.bincount(fitted.labels_, minlength=4)
    fitted.partial_fit(X[300:301])
    assert fitted.counts_.sum() == 301 and np.abs(fitted.counts_ - counts).sum() == 1
    fitted.fit(X)
    assert not hasattr(fitted, "counts_")


def test_constraints_of_a_batch_hold():
    part = model(must_link_weight=np.inf, cannot_link_weight=np.inf).partial_fit(X[:200])
    must, cannot = [(0, 1), (1, 2)], [(0, 5), (3, 4)]
    labels = part.partial_fit(X[200:210], must_link=must, cannot_link=cannot).labels_
    assert all(labels[i] == labels[j] for i, j in must) and all(labels[i] != labels[j] for i, j in cannot)
    assert part.constraint_report_.n_must_link_violated == part.constraint_report_.n_cannot_link_violated == 0


def test_soft_constraints_are_priced():
    part = model(must_link_weight=100.0).partial_fit(X[:200])
    free = part.predict(X[200:])
    pair = 0, int(np.argmax(free != free[0]))
    labels = part.partial_fit(X[200:], must_link=[pair]).labels_
    assert labels[pair[0]] == labels[pair[1]]
    assert part.objective_ >= part.inertia_


def test_known_classes_keep_their_clusters():
    known = np.where(np.arange(400) % 4 == 0, TRUTH + 10, -1)
    part = ConstrainedKMeans(4, random_state=0).partial_fit(X[:200], partial_labels=known[:200])
    part.partial_fit(X[200:], partial_labels=known[200:])
    assert np.array_equal(part.labels_[::4] + 10, known[200::4])
    with pytest.raises(InputError, match="the model knows"):
        part.partial_fit(X[:50], partial_labels=np.where(known[:50] == 11, -1, known[:50]))
    shares = np.where(known[:50, None] == np.arange(10, 14), 1.0, 0.0)
    labels = part.partial_fit(X[:50], partial_labels=shares).labels_
    assert np.array_equal(labels[::4] + 10, known[:50:4])


def test_threads_copies_and_weights_do_not_change_bits():
    found = []
    for n_threads in (1, 4):
        with busy_threads(20):
            part = model(n_threads=n_threads, learn_weights=True, max_iter=5).partial_fit(X[:200], must_link=[(0, 1)])
            weights = part.feature_weights_
            part = pickle.loads(pickle.dumps(part)).partial_fit(X[200:], cannot_link=[(0, 1)])
        assert np.array_equal(part.feature_weights_, weights)
        found.append(part.cluster_centers_)
    assert np.array_equal(*found)


def test_warm_start_keeps_ids():
    part = SphericalKMeans(4, random_state=0, warm_start=True)
    for first in (0, 200):
        part.partial_fit(X[first : first + 200])
    before = part.predict(X)
    assert np.mean(part.fit(X).labels_ == before) > 0.95


def test_a_small_batch_moves_only_its_own_clusters():
    part = model().partial_fit(X[:200])
    before = part.partial_fit(X[:1]).cluster_centers_
    other = [c for c in range(4) if c != part.partial_fit(X[1:2]).labels_[0]]
    assert np.array_equal(part.cluster_centers_[other], before[other])


def test_refusals():
    part = model().partial_fit(X[:200]).partial_fit(X[200:])
    before = dict(part.__dict__)
    for change, named in (({"metric": "pearson"}, "metric='pearson'"), ({"n_clusters": 5}, "n_clusters=5")):
        with pytest.raises(InputError, match=named):
            part.set_params(**change).partial_fit(X[:50])
        part.set_params(metric="cosine", n_clusters=4)
    with pytest.raises(ValueError, match="features"):
        part.partial_fit(X[:, :5])
    assert part.__dict__ == before
    with pytest.raises(InputError, match="corrected by hand"):
        part.merge(0, 1)
    lifted = HMRFKMeans(2, metric="mahalanobis", random_state=0).fit(X[:40, :3].toarray())
    with pytest.raises(InputError, match="mahalanobis"):
        lifted.partial_fit(X[:40, :3].toarray())
    moved = pickle.loads(pickle.dumps(model().fit(X)))
    with pytest.raises(InputError, match="stayed behind"):
        moved.partial_fit(X)
