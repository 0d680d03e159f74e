"""The oracle on small inputs whose answers were worked out by hand: partitions, closures, seeds, Lloyd loops."""

import numpy as np
import oracle
import pytest
from numpy.testing import assert_allclose
from oracle import CANNOT_LINK, MUST_LINK

P = np.array([[3.0, 1, 0, 0], [2, 2, 0, 0], [0, 0, 1, 3], [0, 0, 2, 2]])


def column(*values):
    return np.array(values, dtype=np.float64)[:, None]


def groups(labels):
    """A partition as a set of sets of rows."""
    return {frozenset(np.flatnonzero(np.asarray(labels) == h).tolist()) for h in set(labels)}


def inertia(X, labels, metric, **options):
    """J of a labelling with its own centroids, all feature weights one."""
    K, a = max(labels) + 1, np.ones(X.shape[1])
    return oracle.objective(X, labels, oracle.centroids(X, labels, K, a, metric), a, metric, **options)


def best(X, K, metric, pairs=(), penalty="potts"):
    return oracle.partition_optimum(X, K, np.ones(X.shape[1]), metric, pairs, penalty=penalty)


# ---------------------------------------------------------------------------------------------------------------------
# Partitions


def test_greedy_trap():
    pairs = [(0, 2, CANNOT_LINK, np.inf), (1, 2, CANNOT_LINK, np.inf)]
    labels, J = best(column(0, 5, 10), 2, "sqeuclidean", pairs)
    assert groups(labels) == {frozenset({0, 1}), frozenset({2})} and J == 12.5


@pytest.mark.parametrize(("w_ml", "w_cl", "expected"), [(10.0, 1.0, 3.5), (1.0, 10.0, 12.5)])
def test_contradiction_is_priced(w_ml, w_cl, expected):
    pairs = oracle.closure(5, [(0, 1), (1, 2)], [(0, 2)], w_ml, w_cl)
    labels, J = best(column(0, 1, 2, 20, 21), 2, "sqeuclidean", pairs)
    assert groups(labels) == {frozenset({0, 1, 2}), frozenset({3, 4})}
    assert_allclose(J, expected)


@pytest.mark.parametrize(
    ("weight", "partition", "expected"), [(60.0, [0, 0, 1, 1], 62.5), (1000.0, [0, 1, 0, 0], 82 + 2 / 3)]
)
def test_must_link_threshold(weight, partition, expected):
    X, pairs = column(0, 1, 10, 12), [(0, 3, MUST_LINK, weight)]
    labels, J = best(X, 2, "sqeuclidean", pairs)
    assert groups(labels) == groups(partition)
    assert_allclose([J, inertia(X, partition, "sqeuclidean", pairs=pairs, penalty="potts")], expected)


def test_must_link_threshold_traps_single_moves():
    X, a, pairs = column(0, 1, 10, 12), np.ones(1), [(0, 3, MUST_LINK, 1000.0)]
    labels = np.array([0, 0, 1, 0])
    mu = oracle.centroids(X, labels, 2, a, "sqeuclidean")
    D = oracle.distances(X, mu, a, "sqeuclidean")
    assert_allclose(oracle.objective(X, labels, mu, a, "sqeuclidean", pairs, penalty="potts"), 88 + 2 / 3)
    assert oracle.plain_icm_sweep(labels, D, pairs).tolist() == labels.tolist()


@pytest.mark.parametrize(
    ("metric", "expected"), [("sqeuclidean", 2.0), ("cosine", 0.107004), ("i_divergence", 0.135288)]
)
def test_two_blocks(metric, expected):
    X = oracle.prepare(P, metric)
    labels, J = best(X, 2, metric)
    assert groups(labels) == groups([0, 0, 1, 1])
    assert_allclose([J, inertia(X, [0, 0, 1, 1], metric)], expected, atol=5e-7)


def test_two_blocks_under_i_divergence():
    scaled, wider = P * [[1000.0], [1], [1], [1]], np.hstack([P, np.zeros((4, 1))])
    for X in (scaled, wider):
        assert_allclose(inertia(oracle.prepare(X, "i_divergence"), [0, 0, 1, 1], "i_divergence"), 0.135288, atol=5e-7)
    X = oracle.prepare(P, "i_divergence")
    D = oracle.distances(X, X[[0, 2]], np.ones(4), "i_divergence")
    assert np.isinf(D[:2, 1]).all() and np.isinf(D[2:, 0]).all() and not np.isnan(D).any()


def test_length_invariance():
    A = np.array([[1.0, 0], [100, 1], [0, 1], [1, 100]])
    for scale in (1e-6, 1.0, 1e6):
        labels, J = best(oracle.prepare(A * [[scale], [1], [1], [1]], "cosine"), 2, "cosine")
        assert groups(labels) == groups([0, 0, 1, 1])
        assert_allclose(J, 5.0e-5, atol=1e-6)
    labels, J = best(A, 2, "sqeuclidean")
    assert groups(labels) != groups([0, 0, 1, 1])
    assert_allclose(J, 6601.33, atol=5e-3)


def test_an_empty_row_costs_one_under_cosine():
    X = oracle.prepare([[1, 0, 0], [2, 0, 0], [0, 3, 0], [0, 1, 0], [0, 0, 0]], "cosine")
    assert_allclose(inertia(X, [0, 0, 1, 1, 0], "cosine"), 1.0)


def test_partial_labels():
    X = column(0, 0.2, 5, 5.2, 5.1, 9)
    assert_allclose(inertia(X, [1, 1, 0, 0, 0, 2], "sqeuclidean"), 0.04)
    assert_allclose(inertia(X, [1, 1, 0, 0, 1, 2], "sqeuclidean"), 16.7067, atol=5e-5)


def test_pair_costs_by_hand():
    X, a = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([1.0, 2.0])
    pairs = [(0, 1, MUST_LINK, 2.0), (0, 2, CANNOT_LINK, 3.0)]
    labels, mu = [0, 1, 0], np.zeros((2, 2))
    data = 1.0 + 2.0 + 3.0
    assert oracle.objective(X, labels, mu, a, "sqeuclidean", pairs) == data + 2.0 * 3.0 + 3.0 * (3.0 - 2.0)
    assert oracle.objective(X, labels, mu, a, "sqeuclidean", pairs, penalty="potts") == data + 2.0 + 3.0
    assert oracle.objective(X, [0, 0, 1], mu, a, "sqeuclidean", pairs) == data


# ---------------------------------------------------------------------------------------------------------------------
# Closures and seeds


def test_closure_of_two_linked_components():
    pairs = oracle.closure(6, [(0, 1), (2, 1), (4, 3)], [(4, 0)], 2.0, 3.0)
    must = [(0, 1), (0, 2), (1, 2), (3, 4)]
    cannot = [(0, 3), (0, 4), (1, 3), (1, 4), (2, 3), (2, 4)]
    assert pairs == sorted([(*p, MUST_LINK, 2.0) for p in must] + [(*p, CANNOT_LINK, 3.0) for p in cannot])


def test_closure_of_lone_rows_and_repeats():
    assert oracle.closure(4, [], [(2, 0), (0, 2)]) == [(0, 2, CANNOT_LINK, 1.0)]
    assert oracle.closure(4, [(3, 1), (1, 3), (2, 2)], []) == [(1, 3, MUST_LINK, 1.0)]
    with pytest.raises(ValueError, match="row 1"):
        oracle.closure(3, [], [(1, 1)])


def test_closure_keeps_a_contradiction_as_given():
    pairs = oracle.closure(4, [(0, 1), (1, 2)], [(2, 0), (3, 1)])
    assert [p[:2] for p in pairs if p[2] == CANNOT_LINK] == [(0, 2), (0, 3), (1, 3), (2, 3)]
    assert [p[:2] for p in pairs if p[2] == MUST_LINK] == [(0, 1), (0, 2), (1, 2)]


def test_farthest_first_weighs_distance_by_size():
    mu, a, sizes = column(0, 1, 10, 11), np.ones(1), [5, 1, 1, 4]
    order = oracle.farthest_first(mu, sizes, 4, "sqeuclidean", a, np.array([5.5]))
    # Largest first (0); then sqrt(5 n) D = 2.2, 223.6, 541.1; then min(2.2, 2 * 100) against min(223.6, 2 * 1).
    assert order == [0, 3, 1, 2]
    assert oracle.farthest_first(mu, sizes, 2, "sqeuclidean", a, np.array([5.5])) == [0, 3]
    # Size 9 at distance 4 against size 1 at distance 9: 3 * 4 > 1 * 9, times the same root.
    assert oracle.farthest_first(column(0, 2, 3), [16, 9, 1], 2, "sqeuclidean", a, np.array([0.0])) == [0, 1]
    # The root of the product and not the product: 2 * 4 < 1 * 9.
    assert oracle.farthest_first(column(0, 2, 3), [16, 4, 1], 2, "sqeuclidean", a, np.array([0.0])) == [0, 2]
    assert oracle.farthest_first(mu, sizes, 9, "sqeuclidean", a, np.array([5.5])) == [0, 3, 1, 2]


def test_farthest_first_under_cosine_divides_similarity_by_size():
    mu = oracle.prepare([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8]], "cosine")
    # Similarities to row 0 are 0.8 / sqrt(9 * 9) < 0.6 / sqrt(9 * 1): size outweighs angle.
    assert oracle.farthest_first(mu, [9, 9, 1], 2, "cosine", np.ones(2), mu[1]) == [0, 1]
    assert oracle.farthest_first(mu, [9, 1, 1], 2, "cosine", np.ones(2), mu[1]) == [0, 2]


def test_farthest_first_breaks_ties_by_the_global_centroid_then_by_index():
    mu, a = column(-3, 0, 2, 3), np.ones(1)
    assert oracle.farthest_first(mu, [1, 1, 1, 1], 1, "sqeuclidean", a, np.array([-0.5])) == [3]
    assert oracle.farthest_first(mu, [1, 1, 1, 1], 1, "sqeuclidean", a, np.array([0.0])) == [0]
    assert oracle.farthest_first(column(0, 2, -2), [9, 1, 1], 2, "sqeuclidean", a, np.array([1.0])) == [0, 2]


# ---------------------------------------------------------------------------------------------------------------------
# Lloyd loops


def test_lloyd_loops_find_the_two_blocks():
    assert oracle.plain_kmeans(P, P[[0, 2]]).tolist() == [0, 0, 1, 1]
    assert oracle.plain_spherical_kmeans(P, P[[0, 2]]).tolist() == [0, 0, 1, 1]


def test_lloyd_loops_tie_to_the_lowest_label_and_keep_emptied_centroids():
    assert oracle.plain_kmeans(column(0, 1, 2), column(0, 2), 1).tolist() == [0, 0, 1]
    assert oracle.plain_spherical_kmeans([[1.0, 0], [3, 3], [0, 2]], [[5.0, 0], [0, 1]], 1).tolist() == [0, 0, 1]
    assert oracle.plain_kmeans(column(0, 1), column(0.5, 9)).tolist() == [0, 0]
    assert oracle.plain_spherical_kmeans([[1.0, 1.0], [0.0, 0.0]], [[2.0, 0.0], [0.0, 1.0]]).tolist() == [0, 0]


@pytest.mark.parametrize("metric", ["cosine", "sqeuclidean"])
def test_lloyd_loops_end_in_a_fixed_point_of_the_formulas(metric):
    rng = np.random.default_rng(5)
    X, a = oracle.prepare(rng.normal(size=(40, 3)), metric), np.ones(3)
    loop = oracle.plain_spherical_kmeans if metric == "cosine" else oracle.plain_kmeans
    labels = loop(X, X[:4])
    mu = oracle.centroids(X, labels, 4, a, metric)
    assert (oracle.distances(X, mu, a, metric).argmin(axis=1) == labels).all()
