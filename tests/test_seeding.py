"""First centroids: neighbourhood centroids and their order against the oracle, draws, and the printed rest."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from strategies import random_states

from hmrf_fast import HMRFKMeans
from hmrf_fast.geometry import build_problem
from hmrf_fast.inputs import as_corpus
from hmrf_fast.neighborhood_seeds import neighborhood_centers
from hmrf_fast.penalties import empty_graph
from hmrf_fast.seeding import restarts
from hmrf_fast.seeds import hard_seeds

NOBODY = np.zeros(0, np.int64)


def seeds(member, first=NOBODY, **more):
    """Groups that do not overlap; the first ones are those of the classes 0, 1, ..."""
    return hard_seeds(np.asarray(member, np.int32), np.asarray(first, np.int64), np.arange(len(first)), **more)


def problem_of(X, metric, n_clusters, weight=None):
    matrix = sp.csr_matrix(X)
    weight = np.ones(matrix.shape[0]) if weight is None else weight
    return build_problem(as_corpus(matrix), metric, weight, empty_graph(), n_clusters)


def plain_centers(X, metric, member, n_clusters):
    """Means of unit rows (directional) or of prepared rows, visited by the oracle's farthest-first, as centroids."""
    rows, ones = oracle.prepare(X, metric), np.ones(X.shape[1])
    scaled = rows / np.linalg.norm(rows, axis=1, keepdims=True) if metric in ("cosine", "pearson") else rows
    means = np.array([scaled[member == p].mean(0) for p in range(member.max() + 1)])
    sizes, middle = np.bincount(member[member >= 0]), scaled.mean(0)
    order = oracle.farthest_first(means, sizes, n_clusters, metric, ones, middle)
    if metric in ("cosine", "pearson"):
        means = means / np.linalg.norm(means, axis=1, keepdims=True)
    return means[order]


@pytest.mark.parametrize("metric", ["cosine", "pearson", "sqeuclidean"])
@given(rng=random_states(), n_clusters=st.integers(1, 5), n_groups=st.integers(1, 7))
def test_neighbourhoods_are_visited_farthest_first(metric, rng, n_clusters, n_groups):
    # none is constant
    X = rng.random((3 * n_groups, 6)) * (rng.random((3 * n_groups, 6)) < 0.7) + 0.01 * np.arange(1, 7)
    member = rng.permutation(np.repeat(np.arange(n_groups), 3)).astype(np.int32)
    member[rng.random(member.size) < 0.2] = -1
    _, codes = np.unique(member[member >= 0], return_inverse=True)
    member[member >= 0] = codes
    if member.max() < 0:
        return
    found = neighborhood_centers(problem_of(X, metric, n_clusters), seeds(member))
    np.testing.assert_allclose(found, plain_centers(X, metric, member, n_clusters), atol=1e-9)


def test_classes_come_first_and_in_order():
    X = np.array([[0.0], [0.1], [5.0], [9.0], [9.1], [9.2]])
    member = np.array([2, 2, 0, 1, 1, 1], np.int32)
    found = neighborhood_centers(problem_of(X, "sqeuclidean", 2), seeds(member, [2, 0]))
    np.testing.assert_allclose(found, [[0.05], [5.0]])


def test_rows_are_drawn_in_proportion_to_weight_and_squared_distance():
    X, weight = np.array([[0.0], [1.0], [2.0], [30.0]]), np.array([1.0, 4.0, 1.0, 0.0])
    problem, rng = problem_of(X, "sqeuclidean", 2, weight), np.random.default_rng(0)
    seeded = np.array([0, -1, -1, -1], np.int32)
    draws = [c[1, 0] for c in restarts(problem, seeds(seeded), "k-means++", 4000, rng, explore=False)]
    assert set(draws) == {1.0, 2.0}  # never a row of weight 0, nor the centroid itself
    assert np.mean(np.array(draws) == 1.0) == pytest.approx(0.5, abs=0.03)  # weight 4 * distance 1 against 1 * 4


def test_farthest_rows_complete_the_seeds():
    X = np.array([[0.0], [0.2], [5], [5.2], [9]])
    member = np.array([0, -1, 1, -1, -1], np.int32)
    (found,) = restarts(problem_of(X, "sqeuclidean", 3), seeds(member), "farthest", 1, np.random.default_rng(0), False)
    assert found[2, 0] == 9.0


def test_printed_rest_stays_within_35_percent_of_the_global_centroid():
    X = np.random.default_rng(0).random((20, 50)) + 0.1
    starts = restarts(problem_of(X, "sqeuclidean", 3), seeds([-1] * 20), "printed", 2, np.random.default_rng(0), False)
    ratio = np.concatenate(list(starts)) / X.mean(0)
    assert 0.65 <= ratio.min() < 0.7 and 1.3 < ratio.max() <= 1.35


@pytest.mark.parametrize("init", ["k-means++", "neighborhoods"])
def test_without_constraints_the_penalty_does_not_matter(init):
    X = np.random.default_rng(0).random((30, 2)) + 5 * np.arange(30)[:, None] % 35
    settings = {"metric": "sqeuclidean", "init": init, "n_init": 1, "random_state": 0}
    potts, distance = (HMRFKMeans(6, penalty=p, **settings).fit(X) for p in ("potts", "distance"))
    np.testing.assert_array_equal(potts.labels_, distance.labels_)
