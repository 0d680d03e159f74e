"""Corrections by hand: what changes, what must not, and what a later fit makes of them."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from strategies import random_states

from hmrf_fast import ConstrainedKMeans, COPKMeans, HMRFKMeans, PCKMeans, SphericalKMeans, datasets
from hmrf_fast.errors import ConstraintError, ContradictionError, InputError

NEWS = datasets.load("news_different_3").data
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def blobs(K=4, size=10, spread=0.3):
    rng = np.random.default_rng(0)
    return np.repeat(6.0 * np.eye(K), size, axis=0) + spread * rng.random((K * size, K))


def state(model):
    """Everything that a correction may change."""
    return {name: copy.deepcopy(value) for name, value in vars(model).items() if name != "_training"}


def assert_unchanged(model, before):
    after = state(model)
    assert after.keys() == before.keys()
    for name, value in before.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(after[name], value)
        elif isinstance(value, (int, float, str, tuple)):
            assert after[name] == value


def plain_center(X, metric):
    """The centroid of dense rows, written out."""
    if metric == "sqeuclidean":
        return X.mean(0)
    total = (X / np.linalg.norm(X, axis=1, keepdims=True)).sum(0)
    return total / np.linalg.norm(total)


@pytest.mark.parametrize("metric", ["cosine", "sqeuclidean"])
@given(random_states())
def test_a_move_changes_two_centroids_and_nothing_else(metric, rng):
    X = blobs()
    model = HMRFKMeans(4, metric=metric, n_init=2, random_state=0).fit(X)
    row, target = int(rng.integers(40)), int(rng.integers(4))
    labels, centers = model.labels_.copy(), model.cluster_centers_.copy()
    source = labels[row]
    assert model.move(row, target) is model
    assert model.labels_[row] == target
    np.testing.assert_array_equal(np.delete(model.labels_, row), np.delete(labels, row))
    others = np.setdiff1d(np.arange(4), [source, target])
    np.testing.assert_array_equal(model.cluster_centers_[others], centers[others])
    for cluster in (source, target):
        expected = plain_center(X[model.labels_ == cluster], metric)
        np.testing.assert_allclose(model.cluster_centers_[cluster], expected, atol=1e-12)
    own = model.transform(X)[np.arange(40), model.labels_].sum()
    assert model.inertia_ == pytest.approx(own) and model.objective_ == pytest.approx(own)


def test_merging_keeps_all_other_ids_and_bits():
    X = blobs()
    model = SphericalKMeans(4, n_init=5, random_state=0).fit(X)
    labels, centers = model.labels_.copy(), model.cluster_centers_.copy()
    model.merge(3, 1)
    np.testing.assert_array_equal(model.labels_, np.where(labels == 3, 1, labels))
    np.testing.assert_array_equal(model.cluster_centers_[[0, 2]], centers[[0, 2]])
    np.testing.assert_array_equal(model.cluster_centers_[3], model.cluster_centers_[1])
    assert model.merged_into_.tolist() == [0, 1, 2, 1]
    np.testing.assert_array_equal(model.predict(X), model.labels_)  # the merged id is never given again
    model.merge(0, 1)
    assert model.merged_into_.tolist() == [0, 0, 2, 0] and set(model.labels_) == {0, 2}
    with pytest.raises(InputError, match="cluster 3 was merged into cluster 0"):
        model.move(0, 3)


def test_splitting_uses_freed_ids_before_new_ones():
    X = blobs()
    model = PCKMeans(4, random_state=0).fit(X)
    truth = model.labels_.copy()
    model.merge(1, 2)
    others = model.cluster_centers_[[0, 3]].copy()
    model.split(1, 2)
    assert model.n_clusters == 4 and model.merged_into_.tolist() == [0, 1, 2, 3]
    assert len({frozenset(np.flatnonzero(model.labels_ == c)) for c in range(4)}
               ^ {frozenset(np.flatnonzero(truth == c)) for c in range(4)}) == 0  # fmt: skip
    np.testing.assert_array_equal(model.cluster_centers_[[0, 3]], others)
    model.split(0, 3)
    assert model.n_clusters == 6 == len(model.cluster_centers_) and set(model.labels_[truth == 0]) == {0, 4, 5}
    sizes = np.bincount(model.labels_)
    assert sizes[0] >= max(sizes[4], sizes[5])
    assert list(model.get_feature_names_out())[-1] == "pckmeans5"
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_corrections_are_kept_by_a_later_fit():
    for estimator in (HMRFKMeans, COPKMeans, PCKMeans):
        X = blobs()
        model = estimator(4, metric="sqeuclidean", n_init=3, random_state=0, warm_start=True).fit(X)
        wrong = int((model.labels_[0] + 1) % 4)
        kept, gone = sorted({0, 1, 2, 3} - {wrong, int(model.labels_[0])})
        model.move(0, wrong).merge(kept, gone)
        assert [edit.kind for edit in model.edits_] == ["move", "merge"]
        after = model.labels_.copy()
        model.fit(X, constraints=model.constraints_)
        np.testing.assert_array_equal(model.labels_, after)  # what was merged stays merged, and empty
        np.testing.assert_array_equal(model.predict(X[1:]), after[1:])
        assert not model.edits_ and len(model.constraints_.must_link) == 2
        fresh = estimator(3, metric="sqeuclidean", n_init=5, random_state=1).fit(X, constraints=model.constraints_)
        assert (
            len(np.unique(fresh.labels_[after == kept])) == 1 and fresh.labels_[0] == fresh.labels_[after == wrong][1]
        )


def test_a_later_correction_replaces_an_earlier_one():
    model = HMRFKMeans(4, metric="sqeuclidean", n_init=3, random_state=0).fit(blobs())
    first, second = (int(c) for c in np.setdiff1d(np.arange(4), model.labels_[0])[:2])
    model.move(0, first).move(0, second)
    labels = model.labels_
    assert len(model.constraints_.must_link) == 1
    assert all(labels[i] == labels[j] for i, j in model.constraints_.must_link)
    assert all(labels[i] != labels[j] for i, j in model.constraints_.cannot_link)
    model.merge(first, second)
    assert all(model.labels_[i] != model.labels_[j] for i, j in model.constraints_.cannot_link)


def test_hard_knowledge_forbids_and_ties_move_along():
    X = blobs()
    model = COPKMeans(4, n_init=3, random_state=0).fit(X, must_link=[(0, 1)], cannot_link=[(0, 10), (0, 20)])
    home, blocked = model.labels_[0], int(model.labels_[10])
    before = state(model)
    with pytest.raises(ConstraintError, match="hard cannot-link between rows 0 and 10 forbids it"):
        model.move(1, blocked)
    with pytest.raises(ConstraintError, match="hard cannot-link between rows 0 and 10"):
        model.merge(home, blocked)
    assert_unchanged(model, before)
    free = int(model.labels_[30])
    model.move(1, free)
    assert model.labels_[0] == model.labels_[1] == free
    classes = np.repeat([0, 1, 2, 3], 10)
    known = ConstrainedKMeans(4, random_state=0).fit(X, partial_labels=np.where(np.arange(40) % 10 < 9, classes, -1))
    before = state(known)
    with pytest.raises(ConstraintError, match="known classes"):
        known.move(5, 1)
    with pytest.raises(InputError, match="parts at most, not 3: they are alike or tied together"):
        known.split(0, 3)
    assert_unchanged(known, before)


def test_rows_of_known_class_keep_their_cluster_when_it_is_split():
    X = np.concatenate([blobs(2, 12), blobs(2, 4) + 3.0])
    known = np.full(len(X), -1)
    known[-1] = 1  # the class starts from the small group, and its cluster holds the large one as well
    known[0] = 0
    model = ConstrainedKMeans(2, init=X[[0, -1]], metric="sqeuclidean").fit(X, partial_labels=known)
    model.split(1, 2)
    assert model.labels_[-1] == 1 and model.n_clusters == 3


def test_bad_corrections_change_nothing():
    X = blobs()
    model = HMRFKMeans(4, metric="sqeuclidean", n_init=3, random_state=0)
    with pytest.raises(Exception, match="not fitted"):
        model.move(0, 1)
    model.fit(X)
    before = state(model)
    for bad, told in (
        (lambda: model.move(40, 0), "row must be at least 0 and at most 39, got 40"),
        (lambda: model.move(0, 4), "cluster must be at least 0 and at most 3, got 4"),
        (lambda: model.move(0, 1.5), "cluster must be an integer"),
        (lambda: model.merge(2, 2), "cluster 2 cannot be merged with itself"),
        (lambda: model.split(0, 1), "n_parts must be at least 2"),
        (lambda: model.split(0, 11), "cluster 0 holds 10 rows, too few for 11 parts"),
        (lambda: model.move(0, 1, X=X[:5]), "X has 5 rows, but the model was fitted to 40"),
    ):
        with pytest.raises(InputError, match=told):
            bad()
        assert_unchanged(model, before)


def test_the_last_row_of_a_cluster_cannot_leave_it():
    model = HMRFKMeans(2, metric="sqeuclidean", random_state=0).fit([[0.0], [0.1], [9.0]])
    alone, other = model.labels_[2], model.labels_[0]
    with pytest.raises(InputError, match=f"leave nothing of cluster {alone}"):
        model.move(2, other)


def test_contradicting_the_given_hard_pairs_is_explained():
    X = blobs(3)
    model = HMRFKMeans(3, metric="sqeuclidean", n_init=3, random_state=0, must_link_weight=np.inf).fit(
        X, must_link=[(k, k + 1) for k in range(9)]
    )
    with pytest.raises((ContradictionError, InputError)):
        model.split(int(model.labels_[0]), 2)


def test_rows_stay_behind_when_a_model_is_pickled_or_copied():
    model = HMRFKMeans(3, n_init=2, random_state=0).fit(NEWS)
    size = len(pickle.dumps(model))
    assert size < 3 * model.cluster_centers_.nbytes
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        with pytest.raises(InputError, match="pass them as X"):
            other.move(0, 1)
        other.move(0, 1, X=NEWS)
        assert other.labels_[0] == 1


@pytest.mark.parametrize("storage", [sp.csr_matrix, sp.csc_array, np.asarray])
@pytest.mark.parametrize("metric", ["i_divergence", "pearson"])
def test_corrections_work_for_every_metric_and_storage(metric, storage):
    X = storage(blobs())
    model = HMRFKMeans(4, metric=metric, n_init=3, random_state=0).fit(X)
    model.move(0, 1).merge(0, 3).split(0, 2)
    assert np.isfinite(model.objective_) and np.isfinite(model.cluster_centers_).all()


@given(st.lists(st.tuples(st.sampled_from(["move", "merge", "split", "fit"]), st.integers(0, 39), st.integers(0, 39)),
                min_size=1, max_size=8))  # fmt: skip
def test_any_sequence_leaves_a_state_that_agrees_with_itself(steps):
    X = blobs(spread=4.0)
    model = HMRFKMeans(4, metric="sqeuclidean", n_init=1, random_state=0, warm_start=True).fit(X)
    for kind, a, b in steps:
        clusters = np.flatnonzero(model.merged_into_ == np.arange(model.n_clusters))
        first, second = clusters[a % clusters.size], clusters[b % clusters.size]
        try:
            if kind == "move":
                model.move(a, second)
            elif kind == "merge" and clusters.size > 2:
                model.merge(first, second)
            elif kind == "split":
                model.split(first, 2)
            elif kind == "fit":
                model.fit(X, constraints=model.constraints_)
        except (InputError, ConstraintError):
            continue
        labels = model.labels_
        assert set(labels) <= set(np.flatnonzero(model.merged_into_ == np.arange(model.n_clusters)))
        assert model.n_clusters == len(model.cluster_centers_) and np.isfinite(model.cluster_centers_).all()
        assert model.constraint_report_.n_must_link_violated == model.constraint_report_.n_cannot_link_violated == 0
        assert model.inertia_ == pytest.approx(model.transform(X)[np.arange(40), labels].sum())


def test_weights_and_probabilities_travel_with_a_pickled_model():
    X, weight = blobs(2, 6), np.r_[np.full(6, 50.0), np.ones(6)]
    shares = np.zeros((12, 2))
    shares[0], shares[3], shares[11] = [1, 0], [0.7, 0.3], [0, 1]
    for known in ({}, {"partial_labels": shares}):
        model = ConstrainedKMeans(2, random_state=0).fit(X, sample_weight=weight, **known)
        other = pickle.loads(pickle.dumps(model))
        row, target = 4, int(1 - model.labels_[4])
        model.move(row, target)
        other.move(row, target, X=X)
        np.testing.assert_array_equal(other.cluster_centers_, model.cluster_centers_)
        assert other.objective_ == model.objective_
    with pytest.raises(ConstraintError, match="row 0 is known to be of class 0"):
        other.move(0, 1, X=X)


def test_parameters_changed_since_the_fit_stop_a_correction():
    model = PCKMeans(4, random_state=0).fit(blobs(), must_link=[(0, 1)])
    before = state(model)
    with pytest.raises(InputError, match=r"metric .* fit again before correcting"):
        model.set_params(metric="cosine").move(0, 1)
    with pytest.raises(InputError, match="must_link_weight"):
        model.set_params(metric="sqeuclidean", w=np.inf).merge(0, 1)
    model.set_params(w=1.0)
    assert_unchanged(model, before)
    assert model.set_params(n_clusters=7).merge(0, 1).n_clusters == 7  # for the next fit, and nobody else's business


def test_rows_that_are_certain_keep_their_cluster_when_it_is_split():
    X, shares = np.array([[0.0], [0.1], [0.2], [0.3], [3.0], [50.0]]), np.zeros((6, 2))
    shares[4], shares[5] = [1, 0], [0, 1]
    model = ConstrainedKMeans(2, random_state=0).fit(X, partial_labels=shares).split(0)
    assert model.labels_.tolist() == [2, 2, 2, 2, 0, 1]
