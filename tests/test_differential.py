"""Against independent implementations on shared ground, and against itself on data that must not make a difference."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from engine_helpers import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import METRICS
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.covariance import EmpiricalCovariance
from sklearn.metrics import mutual_info_score, normalized_mutual_info_score
from sklearn.preprocessing import StandardScaler
from strategies import csr_matrices, pair_lists, random_states, sample_weights

from hmrf_fast import Constraints, HMRFKMeans, PCKMeans, SphericalKMeans, datasets
from hmrf_fast.protocol import draw_pairs
from hmrf_fast.scores import mutual_information, normalized_mutual_information


def quiet(model, X, **known):
    """A fit whose warnings are of no interest."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, **known)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
@examples(40)
@given(X=csr_matrices(n=(6, 40), d=(2, 8)), K=st.integers(1, 5), data=st.data())
def test_kmeans_of_scikit_learn(storage, X, K, data):
    """Lloyd's algorithm from the same centroids: the same labels, centroids and inertia."""
    assume(X.shape[0] >= K)
    X = X.toarray()
    weight = data.draw(sample_weights(X.shape[0]))
    start = X[data.draw(random_states()).choice(len(X), K, replace=False)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = KMeans(K, init=start, n_init=1, tol=0, algorithm="lloyd").fit(storage(X), sample_weight=weight)
    ours = quiet(HMRFKMeans(K, metric="sqeuclidean", init=start, tol=0), storage(X), sample_weight=weight)
    assume("refill" not in ours.history_steps_ and len(set(theirs.labels_)) == K)  # they relocate in another way
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-9)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, abs=1e-9)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(np.sqrt(ours.transform(X)), theirs.transform(X), atol=1e-6)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40))
def test_scores_of_scikit_learn(pairs):
    truth, labels = np.array(pairs).T
    assert mutual_information(truth, labels) == pytest.approx(mutual_info_score(truth, labels), abs=1e-12)
    assert normalized_mutual_information(truth, labels) == pytest.approx(
        normalized_mutual_info_score(truth, labels, average_method="arithmetic"), abs=1e-12
    )


def test_learned_metrics_of_one_cluster_are_the_inverse_variances():
    """With one cluster the learned weights are 1 / variance (StandardScaler's), a learned matrix the precision."""
    X = np.random.default_rng(0).normal(size=(300, 4)) @ np.diag([1.0, 3.0, 0.2, 10.0]) + 2.0
    X[:, 1] += X[:, 0]
    weights = quiet(HMRFKMeans(1, metric="sqeuclidean", learn_weights=True), X).feature_weights_
    np.testing.assert_allclose(weights, 1.0 / StandardScaler().fit(X).var_, rtol=1e-6)
    matrix = quiet(HMRFKMeans(1, metric="mahalanobis", weight_prior=1e-9, random_state=0), X).metric_matrix_[0]
    np.testing.assert_allclose(matrix, EmpiricalCovariance().fit(X).precision_, rtol=1e-5, atol=1e-8)


def test_covariance_metric_of_metric_learn():
    """The same matrix by a third implementation, which divides by n - 1."""
    metric_learn = pytest.importorskip("metric_learn")
    X = np.random.default_rng(1).normal(size=(200, 3)) @ np.array([[1.0, 0.5, 0], [0, 2.0, 0.3], [0, 0, 0.7]])
    matrix = quiet(HMRFKMeans(1, metric="mahalanobis", weight_prior=1e-9, random_state=0), X).metric_matrix_[0]
    theirs = metric_learn.Covariance().fit(X).get_mahalanobis_matrix()
    np.testing.assert_allclose(matrix * (len(X) - 1) / len(X), theirs, rtol=1e-5)


@pytest.mark.parametrize("metric", METRICS)
@examples(25)
@given(X=csr_matrices(n=(5, 30), d=(4, 10), density=(0.6, 0.9), zero_rows=False), K=st.integers(1, 4), data=st.data())
def test_every_row_twice_at_half_the_weight(metric, X, K, data):
    """Starts included: rows are drawn in an order of content, so copies stand side by side."""
    X = abs(X) if metric == "i_divergence" else X
    weight = data.draw(sample_weights(X.shape[0]))
    model = HMRFKMeans(K, metric=metric, init="k-means++", n_init=3, random_state=0)
    once = quiet(model, X, sample_weight=weight)
    labels, J = once.labels_.copy(), once.objective_
    twice = quiet(model, sparse.vstack([X, X], format="csr"), sample_weight=np.tile(weight / 2, 2))
    np.testing.assert_array_equal(twice.labels_, np.tile(labels, 2))
    assert twice.objective_ == pytest.approx(J, rel=1e-9, abs=1e-9)


@examples(40)
@given(
    X=csr_matrices(n=(6, 30), d=(4, 10), density=(0.6, 0.9), zero_rows=False), rng=random_states(), K=st.integers(2, 4)
)
def test_length_of_the_rows_under_cosine(X, rng, K):
    start = X.toarray()[rng.choice(X.shape[0], K, replace=False)]
    scaled = sparse.diags_array(10.0 ** rng.uniform(-20, 20, X.shape[0])) @ X
    for kind in (HMRFKMeans, SphericalKMeans):
        plain, other = (quiet(kind(K, init=start), rows) for rows in (X, sparse.csr_matrix(scaled)))
        np.testing.assert_array_equal(plain.labels_, other.labels_)
        assert plain.objective_ == pytest.approx(other.objective_, abs=1e-9)


@pytest.mark.parametrize("metric", METRICS)
@examples(25)
@given(X=csr_matrices(n=(6, 30), d=(3, 8), signed=False, zero_rows=False), K=st.integers(2, 4), data=st.data())
def test_constraints_that_hold_already_change_nothing(metric, X, K, data):
    """From a fit's own end, constraints that its labels satisfy cost nothing and hold its labels where they are."""
    assume(X.shape[0] >= K)
    first = quiet(HMRFKMeans(K, metric=metric, n_init=2, random_state=0), X)
    assume(first.converged_ and "refill" not in first.history_steps_)
    pairs = data.draw(pair_lists(X.shape[0], max_size=15, truth=first.labels_))
    must, cannot = (
        [p[:2] for p in pairs if (first.labels_[p[0]] == first.labels_[p[1]]) == same] for same in (True, False)
    )
    labels, J = first.labels_.copy(), first.objective_
    again = quiet(first.set_params(warm_start=True), X, constraints=Constraints(must or None, cannot or None))
    np.testing.assert_array_equal(again.labels_, labels)
    assert again.objective_ == pytest.approx(J, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("kind", [HMRFKMeans, PCKMeans])
def test_true_constraints_help_or_at_least_do_no_harm(kind):
    """Nested draws of true pairs on iris: NMI of all rows, averaged over draws, does not fall beyond noise."""
    X, y = datasets.load("iris", return_X_y=True)
    curve = []
    for count in (0, 40, 120, 300):
        found = []
        for seed in range(6):
            drawn = draw_pairs(y, np.arange(len(y)), count, random_state=seed)
            must, cannot = drawn.pairs[drawn.same_class], drawn.pairs[~drawn.same_class]
            model = quiet(
                kind(3, metric="sqeuclidean", n_init=5, random_state=0), X, must_link=must, cannot_link=cannot
            )
            found.append(normalized_mutual_information(y, model.labels_))
        curve.append(np.mean(found))
    assert all(later >= earlier - 0.02 for earlier, later in pairwise(curve)), curve
    assert curve[-1] > curve[0]
