"""Searches that look only at centroids that may be near: the same bits as searches among all."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from engine_helpers import NO_PRIOR, Instance, busy_threads, examples, instances, problem_of
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from strategies import random_states

from hmrf_fast import HMRFKMeans, e_step, em, pruning
from hmrf_fast.e_step import free_search
from hmrf_fast.errors import ConvergenceWarning
from hmrf_fast.geometry import measure
from hmrf_fast.kernels.row_blocks import VECTOR_BYTES
from hmrf_fast.rows import DiskRows, write_matrix

DTYPES = (np.float64, np.float32)
CLUSTERS = (5, 12, 20, 140)  # from one vector to several tiles
METRICS = ("cosine", "sqeuclidean", "i_divergence", "pearson")


def overlapping_groups(rng, n=400, d=40, K=20):
    """Overlapping groups: labels keep moving for many iterations, and ever fewer centroids with them."""
    X = rng.random((n, d)) * (rng.random((n, d)) < 0.3)
    X[:, 0] += 0.01
    labels = rng.integers(0, K, n).astype(np.int32)
    return Instance(sparse.csr_matrix(X), "cosine", K, labels, np.ones(d), np.ones(n), [])


def fresh_answer(problem, geometry, clusters):
    return free_search(problem, prune=False).find(geometry, clusters)


def nudge(centers, which, rng):
    """Move some centroids a little, some far, and one onto another: an exact tie."""
    centers = centers.copy()
    centers[which] *= rng.uniform(0.5, 1.5, (which.size, centers.shape[1])) ** rng.choice([0.05, 3.0], (which.size, 1))
    if which.size > 1 and rng.random() < 0.3:
        centers[which[0]] = centers[rng.integers(len(centers))]
    return centers


@pytest.fixture
def always(monkeypatch):
    """Prunes whatever the number of clusters, and whether it pays or not."""
    monkeypatch.setattr(pruning, "FEWEST_CLUSTERS", 5)
    monkeypatch.setattr(pruning, "ROW_PRICE", -1e9)


def searched_again(problem, weights, centers, alter, rounds=4, search=None):
    """Searches in a row, each compared with one that knows nothing, while ``alter`` moves centroids."""
    geometry = measure(problem, weights)
    search = free_search(problem, prune=True) if search is None else search
    assert search.tops.size or problem.signed
    for _ in range(rounds):
        clusters = problem.metric.cluster_terms(centers, weights, 0.0)
        found, expected = search.find(geometry, clusters), fresh_answer(problem, geometry, clusters)
        for got, wanted in zip(found, expected, strict=True):
            assert np.array_equal(got[search.rows], wanted[search.rows])
        centers, which = alter(centers)
        search.moved[which] = True
    return search


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("K", CLUSTERS)
@examples(15)
@given(case=instances(n=(3, 30), d=(2, 12), K=(1, 1)), rng=random_states(), share=st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_pruned_is_bitwise_the_full_search(K, dtype, case, rng, share):
    """Several searches in a row; constrained rows are none of them."""
    problem = problem_of(case._replace(K=K), dtype=dtype)

    def alter(centers):
        which = np.flatnonzero(rng.random(K) < share)
        return nudge(centers, which, rng), which

    search = searched_again(problem, case.a, rng.uniform(0.1, 2.0, (K, case.X.shape[1])), alter)
    free = np.setdiff1d(np.arange(problem.n_rows), problem.graph.rows)
    assert np.array_equal(search.rows, free)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_between_two_centroids(dtype, metric):
    """Adversarial ties: rows and centroids of few values, centroids twice, and centroids that move by one unit in the
    last place, so that rounding alone decides who is nearest."""
    rng, K, d = np.random.default_rng(0), 128, 6
    X = sparse.csr_matrix(rng.integers(0, 3, (200, d)) + np.eye(200, d))
    case = Instance(X, metric, K, np.zeros(200, np.int32), np.ones(d), np.ones(200), [])
    problem = problem_of(case, dtype=dtype)

    def alter(centers):
        which, centers = np.flatnonzero(rng.random(K) < 0.5), centers.copy()
        move = rng.choice([0.0, 1e-7, -1e-7, 1e-16, 0.5], (which.size, d))
        centers[which] = centers[rng.integers(0, K, which.size)] * (1.0 + move)
        return centers, which

    searched_again(problem, np.ones(d), 1.0 + rng.integers(0, 2, (K, d)), alter, rounds=12)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("metric", ["cosine", "sqeuclidean", "pearson"])
def test_with_values_of_both_signs_nothing_is_left_out(metric):
    """The largest entry of a group bounds no product with a negative value."""
    X = sparse.csr_matrix(np.random.default_rng(1).normal(size=(150, 9)))
    problem = problem_of(Instance(X, metric, 70, np.zeros(150, np.int32), np.ones(9), np.ones(150), []))
    assert not free_search(problem, prune=True).tops.size


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("metric", ["mahalanobis", "mahalanobis_diagonal"])
def test_metrics_whose_keys_rise_with_products(metric, monkeypatch):
    """Lifted rows are without negative values only where nearly all weight is in one corner."""
    X, weight = 1.0 + np.random.default_rng(0).random((400, 3)), np.full(400, 1e-20)
    X[:10], weight[:10] = 1.0, 1.0
    model = HMRFKMeans(40, metric=metric, init="k-means++", n_init=1, max_iter=20, random_state=0)
    pruned = clone(model).fit(X, sample_weight=weight)
    monkeypatch.setattr(pruning, "FEWEST_CLUSTERS", 10**9)
    whole = clone(model).fit(X, sample_weight=weight)
    assert np.array_equal(pruned.labels_, whole.labels_)
    assert np.array_equal(pruned.objective_history_, whole.objective_history_)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("size", [1e-90, 1e-28, 1e-20, 1e90])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("metric", METRICS)
def test_sizes_whose_squares_single_precision_does_not_know(metric, dtype, size):
    """What bounds are made of has half the digits: it must be rounded up, below the normal range, too."""
    if dtype is np.float32 and not 1e-30 < size < 1e10:
        size = size**0.25
    rng, K, d = np.random.default_rng(3), 70, 5
    X = sparse.csr_matrix(size * (rng.random((150, d)) + np.eye(150, d)))
    problem = problem_of(Instance(X, metric, K, np.zeros(150, np.int32), np.ones(d), np.ones(150), []), dtype=dtype)

    def alter(centers):
        which = np.flatnonzero(rng.random(K) < 0.4)
        return nudge(centers, which, rng), which

    searched_again(problem, np.ones(d), size * rng.random((K, d)), alter, rounds=8)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(4))
def test_logarithms_of_zero(seed, dtype):
    """Centroids that lack a feature stay infinitely far along it, which must not hide that others of a group rise."""
    rng, K, d = np.random.default_rng(seed), 70, 6
    X = sparse.csr_matrix(rng.random((150, d)) * (rng.random((150, d)) < 0.4) + np.eye(150, d))
    case = Instance(X, "i_divergence", K, np.zeros(150, np.int32), np.ones(d), np.ones(150), [])
    problem = problem_of(case, dtype=dtype)

    def alter(centers):
        which = np.flatnonzero(rng.random(K) < 0.7)
        moved = rng.random((which.size, d)) ** rng.choice([1.0, 8.0], (which.size, d))
        centers = centers.copy()
        centers[which] = np.where(centers[which] > 0, moved, 0.0)
        return centers, which

    centers = rng.random((K, d)) * (rng.random((K, d)) < 0.5)
    centers[:, 0] += 0.1
    searched_again(problem, np.ones(d), centers, alter, rounds=8)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("guess", [-np.inf, np.nan, 0.0, np.inf])
def test_wrong_guesses_cost_time_only(guess):
    """A worker of a cluster that fails takes along what it found, and labels from elsewhere know nothing."""
    rng = np.random.default_rng(2)
    case = overlapping_groups(rng)
    problem, which = problem_of(case), np.arange(case.K)

    def shaken(centers):
        return centers * rng.uniform(0.9, 1.1, centers.shape), which

    centers = rng.uniform(0.1, 2.0, (case.K, case.X.shape[1]))
    search = searched_again(problem, case.a, centers, shaken)
    search.labels[:] = rng.integers(0, case.K, search.labels.size)
    search.nearest[::3] = guess
    searched_again(problem, case.a, centers, shaken, search=search)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("dtype", DTYPES)
def test_where_few_centroids_moved_only_their_groups_are_asked(dtype):
    """Several tiles of bounds; the centroids that moved may have been nearest, may become it, and may tie."""
    rng, K = np.random.default_rng(4), 9000
    case = overlapping_groups(rng, n=300)._replace(K=K)
    problem, step = problem_of(case, dtype=dtype), VECTOR_BYTES // np.dtype(dtype).itemsize
    moved, asked = [np.arange(K)], []

    class Asking(pruning.Search):
        def _bounding(self, *arguments):
            every, few = super()._bounding(*arguments)
            asked.append((few.groups, every.groups))
            return every, few

    def alter(centers):
        which = np.unique(rng.integers(0, K, rng.integers(1, 40)))
        moved.append(which)
        centers = centers.copy()
        centers[which] = centers[rng.integers(0, K, which.size)] * rng.choice([1.0, 1.1], (which.size, 1))
        return centers, which

    search = Asking(problem, np.arange(problem.n_rows), prune=True)
    searched_again(problem, np.ones(40), rng.uniform(0.1, 2.0, (K, 40)), alter, rounds=6, search=search)
    assert np.array_equal(*asked[0])
    for which, (few, every) in zip(moved[1:], asked[1:], strict=False):
        assert np.array_equal(few, np.unique(which // step)) and few.size < every.size


@pytest.mark.usefixtures("always")
def test_a_search_broken_off_leaves_nothing_to_rely_on(monkeypatch):
    rng = np.random.default_rng(6)
    case = overlapping_groups(rng)._replace(K=140)
    problem, weights = problem_of(case), np.ones(40)

    def alter(centers):
        return nudge(centers, np.array([3]), rng), np.array([3])

    centers = rng.uniform(0.1, 2.0, (140, 40))
    search = searched_again(problem, weights, centers, alter)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(pruning, "find_again", lambda *_: interrupt())
        search.moved[:] = True
        elsewhere = problem.metric.cluster_terms(centers[::-1].copy(), weights, 0.0)
        search.find(measure(problem, weights), elsewhere)
    searched_again(problem, weights, centers, alter, search=search)


def interrupt():
    raise KeyboardInterrupt


@pytest.mark.usefixtures("always")
def test_new_weights_change_every_bound():
    rng = np.random.default_rng(0)
    case = overlapping_groups(rng)
    problem = problem_of(case)
    search = free_search(problem, prune=True)
    centers = rng.uniform(0.1, 2.0, (case.K, case.X.shape[1]))
    for weights in (np.ones(case.X.shape[1]), rng.uniform(0.1, 3.0, case.X.shape[1])):
        geometry = measure(problem, weights)
        clusters = problem.metric.cluster_terms(centers, weights, 0.0)
        expected = fresh_answer(problem, geometry, clusters)
        for got, wanted in zip(search.find(geometry, clusters), expected, strict=True):
            assert np.array_equal(got, wanted)


def run_counted(case, dtype, centers, options, fewest, n_threads):
    """A run, and how many of its searches went by bounds."""
    searches = []

    class Counting(pruning.Search):
        def _bounding(self, *arguments):
            searches.append(1)
            return super()._bounding(*arguments)

    with pytest.MonkeyPatch.context() as patch, busy_threads(300):
        patch.setattr(pruning, "FEWEST_CLUSTERS", fewest)
        patch.setattr(e_step, "Search", Counting)
        patch.setattr(pruning, "ROW_PRICE", -1e9)
        problem = problem_of(case, dtype=dtype, n_threads=n_threads)
        return em.run(problem, em.Start(centers.copy()), options, 0), len(searches)


@pytest.mark.parametrize("learn_weights", [False, True], ids=["plain", "learned"])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_whole_runs_are_the_same_bits(dtype, metric, learn_weights):
    """Pruned or not, on one thread or several; and pruning does take place."""
    rng = np.random.default_rng(1)
    case = overlapping_groups(rng)._replace(metric=metric, pairs=[(0, 1, "must_link", 1.0), (2, 9, "cannot_link", 1.0)])
    centers = case.X[rng.choice(400, 20, replace=False)].toarray()
    smoothing = (1.0, 1e-3) if metric == "i_divergence" else (0.0, 0.0)
    options = em.Options(tol=0.0, prior=NO_PRIOR, smoothing=smoothing, learn_weights=learn_weights)
    found = [run_counted(case, dtype, centers, options, *how) for how in ((1, 1), (1, 3), (10**9, 1))]
    results, counts = zip(*found, strict=True)
    assert counts[0] == counts[1] > 0
    assert counts[2] == 0
    for other in results[1:]:
        assert np.array_equal(results[0].labels, other.labels)
        assert np.array_equal(results[0].centers, other.centers)
        assert results[0].history == other.history


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("metric", METRICS)
def test_rows_on_disk_are_pruned_alike(tmp_path, monkeypatch, metric):
    """What is found stays with the blocks from search to search."""
    case = overlapping_groups(np.random.default_rng(5))
    write_matrix(tmp_path / "store", case.X)
    there = DiskRows(tmp_path / "store", 0.01)
    assert len(list(there.spans())) > 5
    model = HMRFKMeans(case.K, metric=metric, init="k-means++", n_init=1, max_iter=12, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        pruned, stored = clone(model).fit(case.X), clone(model).fit(there)
        monkeypatch.setattr(pruning, "FEWEST_CLUSTERS", 10**9)
        whole = clone(model).fit(case.X)
    for other in (pruned, stored):
        assert np.array_equal(other.labels_, whole.labels_)
        assert np.array_equal(other.objective_history_, whole.objective_history_)
