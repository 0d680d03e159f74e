"""Searches that look at moved centroids only: the same bits as searches among all of them."""

from __future__ import annotations

import numpy as np
import pytest
from engine_helpers import NO_PRIOR, Instance, busy_threads, examples, instances, problem_of
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from strategies import random_states

from hmrf_fast import e_step, em, pruning
from hmrf_fast.e_step import free_search
from hmrf_fast.geometry import measure
from hmrf_fast.kernels._jit import JIT_DISABLED

DTYPES = (np.float64, np.float32)
CLUSTERS = (5, 12, 20, 140)  # from one vector to several tiles


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


# Not compiled, blocks of another width add float32 numbers in another order and precision.
@pytest.mark.parametrize("dtype", [one for one in DTYPES if one is np.float64 or not JIT_DISABLED])
@pytest.mark.parametrize("K", CLUSTERS)
@examples(15)
@given(case=instances(n=(3, 30), d=(2, 12), K=(1, 1)), rng=random_states(), share=st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_moved_only_is_bitwise_the_full_search(K, dtype, case, rng, share):
    """Several searches in a row; constrained rows are none of them."""
    case = case._replace(K=K)
    problem = problem_of(case, dtype=dtype)
    geometry = measure(problem, case.a)
    centers = rng.uniform(0.1, 2.0, (K, case.X.shape[1]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pruning, "FEWEST_CLUSTERS", 5)
        patch.setattr(pruning, "WORTHWHILE", 100.0)  # always
        search = free_search(problem, prune=True)
        for _ in range(4):
            clusters = problem.metric.cluster_terms(centers, case.a, 0.0)
            found, expected = search.find(geometry, clusters), fresh_answer(problem, geometry, clusters)
            for got, wanted in zip(found, expected, strict=True):
                assert np.array_equal(got[search.rows], wanted[search.rows])
            which = np.flatnonzero(rng.random(K) < share)
            centers = nudge(centers, which, rng)
            search.moved[which] = True
    free = np.setdiff1d(np.arange(problem.n_rows), problem.graph.rows)
    assert np.array_equal(search.rows, free)


def test_new_weights_forget_everything():
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
    """A run, and how many of its searches looked at moved centroids only."""
    searches = []

    class Counting(pruning.Search):
        def _search_moved(self, *arguments):
            searches.append(1)
            super()._search_moved(*arguments)

    with pytest.MonkeyPatch.context() as patch, busy_threads(300):
        patch.setattr(pruning, "FEWEST_CLUSTERS", fewest)
        patch.setattr(e_step, "Search", Counting)
        problem = problem_of(case, dtype=dtype, n_threads=n_threads)
        return em.run(problem, em.Start(centers.copy()), options, 0), len(searches)


@pytest.mark.parametrize("metric", ["cosine", "sqeuclidean", "i_divergence"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_whole_runs_are_the_same_bits(dtype, metric):
    """Pruned or not, on one thread or several; and pruning does take place."""
    rng = np.random.default_rng(1)
    case = overlapping_groups(rng)._replace(metric=metric, pairs=[(0, 1, "must_link", 1.0), (2, 9, "cannot_link", 1.0)])
    centers = case.X[rng.choice(400, 20, replace=False)].toarray()
    options = em.Options(tol=0.0, prior=NO_PRIOR, smoothing=(1.0, 1e-3) if metric == "i_divergence" else (0.0, 0.0))
    found = [run_counted(case, dtype, centers, options, *how) for how in ((1, 1), (1, 3), (10**9, 1))]
    results, counts = zip(*found, strict=True)
    assert counts[0] == counts[1] > 0
    assert counts[2] == 0
    for other in results[1:]:
        assert np.array_equal(results[0].labels, other.labels)
        assert np.array_equal(results[0].centers, other.centers)
        assert results[0].history == other.history
