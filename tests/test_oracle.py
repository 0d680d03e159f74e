"""The oracle checked against itself: finite differences, perturbations, solvers."""

import numpy as np
import oracle
import pytest
import strategies
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from oracle import CANNOT_LINK, METRICS, MUST_LINK
from scipy.optimize import minimize_scalar

SETTINGS = settings(deadline=None, derandomize=True, max_examples=30)


@st.composite
def problems(draw, metric, n=(3, 10), d=(1, 6), pairs=True):
    """(X, labels, K, a, sample weights, pairs) of a small clustering problem with prepared rows."""
    raw = draw(strategies.csr_matrices(n, d, signed=False if metric == "i_divergence" else None))
    X = oracle.prepare(raw, metric)
    K = draw(st.integers(1, 3))
    a = draw(strategies.feature_weights(X.shape[1]))
    s = draw(strategies.sample_weights(len(X), zeros=draw(st.booleans())))
    return (
        X,
        draw(strategies.label_vectors(len(X), K)),
        K,
        a,
        s,
        draw(strategies.pair_lists(len(X))) if pairs else [],
    )


def central_differences(f, a):
    """df/da by central differences with steps relative to each weight."""
    out = np.zeros(len(a))
    for m in range(len(a)):
        step = np.zeros(len(a))
        step[m] = 1e-5 * a[m]
        out[m] = (f(a + step) - f(a - step)) / (2.0 * step[m])
    return out


def heaviest_rows_are_clear(X, a):
    """Whether phi_max of i_divergence is differentiable: the second and third largest <a, x_i> differ."""
    weight = np.sort(X @ a)[::-1]
    return len(weight) < 3 or weight[1] - weight[2] > 1e-3


# ---------------------------------------------------------------------------------------------------------------------
# Rows, distances, penalties


def test_prepared_rows_by_hand():
    X = [[3.0, 4.0, 0.0], [0.0, 0.0, 0.0], [0.1, 0.1, 0.1]]
    assert_allclose(oracle.prepare(X, "cosine")[:2], [[0.6, 0.8, 0.0], [0.0, 0.0, 0.0]])
    assert_allclose(oracle.prepare(X, "i_divergence")[:2], [[3 / 7, 4 / 7, 0.0], [0.0, 0.0, 0.0]])
    assert_allclose(oracle.prepare(X, "pearson")[0], [2 / 3, 5 / 3, -7 / 3])
    assert not oracle.prepare(X, "pearson")[1:].any()
    assert_allclose(oracle.prepare(X, "sqeuclidean"), X)
    with pytest.raises(ValueError, match="non-negative"):
        oracle.prepare([[-1.0, 2.0]], "i_divergence")


def test_distances_by_hand():
    one, x, y = np.ones(2), np.array([1.0, 0.0]), np.array([0.5, 0.5])
    a = np.array([2.0, 1.0])
    assert oracle.distance(x, y, a, "sqeuclidean") == 0.75
    assert_allclose(oracle.distance(x, y, a, "cosine"), 1.0 - 1.0 / (np.sqrt(2.0) * np.sqrt(0.75)))
    assert_allclose(oracle.distance(x, y, a, "i_divergence"), 2.0 * (np.log(2.0) - 0.5) + 0.5)
    assert oracle.distance(y, x, one, "i_divergence") == np.inf
    assert oracle.distance(0.0 * x, y, one, "i_divergence") == 1.0
    assert oracle.distance(0.0 * x, 0.0 * x, one, "i_divergence") == 0.0
    for metric in ("cosine", "pearson"):
        assert oracle.distance(0.0 * x, y, one, metric) == oracle.distance(x, 0.0 * y, one, metric) == 1.0
    assert oracle.phi_max(np.array([[-1.0, 1.0], [1.0, 0.0]]), one, "cosine") == 2.0
    assert oracle.phi_max(np.array([[0.0, 1.0], [3.0, 0.0]]), a, "sqeuclidean") == 19.0


@pytest.mark.parametrize("metric", METRICS)
@SETTINGS
@given(data=st.data())
def test_phi_is_a_symmetric_penalty_below_phi_max(metric, data):
    X, _, _, a, _, pairs = data.draw(problems(metric))
    top = oracle.phi_max(X, a, metric)
    for i, j, *_ in pairs:
        value = oracle.phi(X[i], X[j], a, metric)
        assert -1e-12 <= value <= top * (1 + 1e-12)
        assert_allclose(value, oracle.phi(X[j], X[i], a, metric), atol=1e-12)


def test_equal_rows_of_i_divergence_tie_to_the_lowest_index():
    X = oracle.prepare(np.random.default_rng(1).uniform(size=(20, 7)), "i_divergence")
    assert_allclose(oracle.phi_max(X, np.ones(7), "i_divergence"), 2.0 * np.log(2.0))
    got = oracle.gradient(X, [0] * 20, X[:1], np.ones(7), "i_divergence", [(4, 4, CANNOT_LINK, 1.0)])
    got -= oracle.gradient(X, [0] * 20, X[:1], np.ones(7), "i_divergence")
    assert_allclose(got, np.log(2.0) * (X[0] + X[1]), atol=1e-12)  # phi of a row to itself is 0


# ---------------------------------------------------------------------------------------------------------------------
# Gradients and centroids


@pytest.mark.parametrize("penalty", ["distance", "potts"])
@pytest.mark.parametrize("with_pairs", [False, True])
@pytest.mark.parametrize("metric", METRICS)
@SETTINGS
@given(data=st.data())
def test_gradient_equals_central_differences(metric, with_pairs, penalty, data):
    X, labels, K, a, s, pairs = data.draw(problems(metric, pairs=with_pairs))
    assume(metric != "i_divergence" or not pairs or heaviest_rows_are_clear(X, a))
    mu = data.draw(strategies.random_states()).uniform(0.05, 1.0, (K, X.shape[1]))  # holds for any centroids
    settings_ = {"pairs": pairs, "sample_weight": s, "alpha": 0.3, "penalty": penalty}
    got = oracle.gradient(X, labels, mu, a, metric, **settings_)
    expected = central_differences(lambda b: oracle.objective(X, labels, mu, b, metric, **settings_), a)
    assert_allclose(got, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("metric", ["cosine", "pearson"])
@SETTINGS
@given(data=st.data())
def test_cosine_objective_ignores_the_scale_of_the_weights(metric, data):
    X, labels, K, a, s, pairs = data.draw(problems(metric))
    mu = oracle.centroids(X, labels, K, a, metric, s)
    J = [oracle.objective(X, labels, mu, scale * a, metric, pairs, s) for scale in (1.0, 7.0)]
    assert_allclose(*J, atol=1e-10)
    assert_allclose(a @ oracle.gradient(X, labels, mu, a, metric, pairs, s), 0.0, atol=1e-10)


@pytest.mark.parametrize("metric", METRICS)
@SETTINGS
@given(data=st.data())
def test_centroids_are_minimisers(metric, data):
    X, labels, K, a, s, _ = data.draw(problems(metric))
    alpha = data.draw(st.sampled_from([0.0, 0.5]))
    rng = data.draw(strategies.random_states())
    mu = oracle.centroids(X, labels, K, a, metric, s, alpha)
    best = oracle.objective(X, labels, mu, a, metric, sample_weight=s, alpha=alpha)
    assert np.isfinite(best)
    for size in (1e-3, 0.1, 1.0):
        other = mu + size * rng.standard_normal(mu.shape)
        if metric == "i_divergence":
            other = np.abs(other)
        elif metric != "sqeuclidean":
            other /= np.array([oracle.weighted_norm(row, a) for row in other])[:, None]
        assert oracle.objective(X, labels, other, a, metric, sample_weight=s, alpha=alpha) >= best - 1e-10


@pytest.mark.parametrize("metric", METRICS)
def test_integer_sample_weights_are_repeated_rows(metric):
    X = oracle.prepare(np.random.default_rng(0).uniform(0.0, 1.0, (5, 4)), metric)
    labels, repeats, a = np.array([0, 1, 0, 1, 1]), np.array([1, 2, 3, 1, 2]), np.array([1.0, 2.0, 0.5, 3.0])
    twice, its_labels = np.repeat(X, repeats, axis=0), np.repeat(labels, repeats)
    mu = oracle.centroids(X, labels, 2, a, metric, repeats, 0.2)
    assert_allclose(mu, oracle.centroids(twice, its_labels, 2, a, metric, alpha=0.2))
    J = oracle.objective(X, labels, mu, a, metric, sample_weight=repeats, alpha=0.2)
    assert_allclose(J, oracle.objective(twice, its_labels, mu, a, metric, alpha=0.2))


def test_a_cluster_without_direction_is_a_row_of_zeros():
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])
    assert not oracle.centroids(X, [0, 0, 1], 3, np.ones(2), "cosine").any()


# ---------------------------------------------------------------------------------------------------------------------
# Weight steps


def solved(G, prior):
    """argmin over a > 0 of <a, G> + prior by a general solver, feature by feature, in logarithms."""

    def cost(t, slope):
        return np.exp(t) * slope + oracle.prior_term(np.exp(t), prior)

    found = [minimize_scalar(cost, bounds=(-8.0, 8.0), args=(g,), method="bounded", options={"xatol": 1e-9}) for g in G]
    return np.exp([answer.x for answer in found])


@SETTINGS
@given(rng=strategies.random_states(), r=st.floats(0.1, 10.0), s=st.floats(0.3, 3.0))
def test_rayleigh_step_minimises(rng, r, s):
    G = rng.normal(0.0, 5.0, 4)
    a = oracle.rayleigh_step(G, r, s)
    assert_allclose(a, solved(G, ("rayleigh", r, s)), rtol=1e-4)
    assert_allclose(G + central_differences(lambda b: oracle.prior_term(b, ("rayleigh", r, s)), a), 0.0, atol=1e-5)


def test_log_det_step_minimises_and_keeps_weights_without_minimum():
    S = np.array([0.5, 2.0, 30.0])
    assert_allclose(oracle.log_det_step(S, 12, np.ones(3)), solved(S, ("log_det", 12)), rtol=1e-5)
    assert_allclose(oracle.log_det_step([2.0, 0.0, -1.0], 4, [9.0, 8.0, 7.0]), [2.0, 8.0, 7.0])


@pytest.mark.parametrize("metric", ["i_divergence", "sqeuclidean"])
@pytest.mark.parametrize("prior_name", ["rayleigh", "log_det"])
@SETTINGS
@given(data=st.data())
def test_weight_steps_never_raise_j(metric, prior_name, data):
    X, labels, K, a, s, pairs = data.draw(problems(metric))
    if metric == "i_divergence":
        pairs = [pair for pair in pairs if pair[2] == MUST_LINK]  # see the next test
    mu = oracle.centroids(X, labels, K, a, metric, s, 0.1)
    G = oracle.gradient(X, labels, mu, a, metric, pairs, s, 0.1)
    prior = (prior_name, 0.7 * len(X))
    b = oracle.rayleigh_step(G, prior[1]) if prior_name == "rayleigh" else oracle.log_det_step(G, prior[1], a)
    assume((b < 1e8).all())  # a feature with next to no spread: its weight is all but unbounded
    before, after = (oracle.objective(X, labels, mu, w, metric, pairs, s, 0.1, prior=prior) for w in (a, b))
    assert after <= before + 1e-9 * max(1.0, abs(before))


def test_rayleigh_step_can_raise_j_where_the_heaviest_rows_change():
    """phi_max of i_divergence is the maximum of linear functions, so J bends upwards between the two weights."""
    X, labels, a = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), [0, 0, 1, 1], np.ones(2)
    mu, pairs, prior = X[[0, 2]], [(0, 1, CANNOT_LINK, 10.0)], ("rayleigh", 4.0)
    b = oracle.rayleigh_step(oracle.gradient(X, labels, mu, a, "i_divergence", pairs), 4.0)
    before, after = (oracle.objective(X, labels, mu, w, "i_divergence", pairs, prior=prior) for w in (a, b))
    assert_allclose(before, 20.0 * np.log(2.0) + 4.0)
    assert b[1] == 1.0 and b[0] < 0.3 and after > before + 1.0


# ---------------------------------------------------------------------------------------------------------------------
# The E-step


@SETTINGS
@given(data=st.data())
def test_enumeration_equals_milp(data):
    n, K = data.draw(st.integers(2, 6)), data.draw(st.integers(1, 3))
    D = data.draw(strategies.random_states()).uniform(0.0, 3.0, (n, K))
    pairs = data.draw(strategies.pair_lists(n, weight=(0.0, 4.0)))
    labels, cost = oracle.icm_optimum(D, pairs)
    found, found_cost = oracle.milp_optimum(D, pairs)
    assert_allclose(found_cost, cost, rtol=1e-9)
    assert_allclose([oracle.icm_cost(labels, D, pairs), oracle.icm_cost(found, D, pairs)], cost, rtol=1e-9)


def test_infinite_costs_forbid_and_the_impossible_is_named():
    D = np.array([[0.0, 5.0], [0.0, 5.0], [np.inf, 1.0]])
    pairs = [(0, 1, CANNOT_LINK, np.inf), (1, 2, MUST_LINK, np.inf)]
    for optimum in (oracle.icm_optimum, oracle.milp_optimum):
        labels, cost = optimum(D, pairs)
        assert labels.tolist() == [0, 1, 1] and cost == 6.0
    with pytest.raises(ValueError, match="no labelling of finite cost"):
        oracle.milp_optimum(D, [*pairs, (0, 2, MUST_LINK, np.inf)])


def test_milp_of_forty_rows_is_no_worse_than_sweeps():
    rng = np.random.default_rng(3)
    D = rng.uniform(0.0, 1.0, (40, 4))
    left, right = rng.permutation(40)[:38].reshape(2, 19)
    pairs = [(i, j, MUST_LINK if i % 2 else CANNOT_LINK, 0.4) for i, j in zip(left, right, strict=True)]
    labels = np.full(40, -1)
    for _ in range(20):
        labels = oracle.plain_icm_sweep(labels, D, pairs, rng.permutation(40))
    assert oracle.milp_optimum(D, pairs)[1] <= oracle.icm_cost(labels, D, pairs)


@SETTINGS
@given(data=st.data())
def test_row_costs_are_differences_of_the_total_and_sweeps_never_raise_it(data):
    n, K = data.draw(st.integers(2, 12)), data.draw(st.integers(1, 4))
    D = data.draw(strategies.random_states()).uniform(0.0, 2.0, (n, K))
    pairs = data.draw(strategies.pair_lists(n))
    labels = data.draw(strategies.label_vectors(n, min(n, K)))
    i = data.draw(st.integers(0, n - 1))
    moved = np.tile(labels, (K, 1))
    moved[:, i] = np.arange(K)
    total = np.array([oracle.icm_cost(row, D, pairs) for row in moved])
    assert_allclose(np.diff(oracle.icm_row_costs(i, labels, D, pairs)), np.diff(total), atol=1e-12)
    swept = oracle.plain_icm_sweep(labels, D, pairs)
    assert oracle.icm_cost(swept, D, pairs) <= oracle.icm_cost(labels, D, pairs) + 1e-12


def test_a_row_stays_where_moving_is_not_cheaper():
    D, pairs = np.array([[2.0, 1.0, 1.0]]), []
    assert oracle.plain_icm_sweep([2], D, pairs).tolist() == [2]
    assert oracle.plain_icm_sweep([0], D, pairs).tolist() == [1]


def test_partners_without_a_label_have_no_say():
    D, pairs = np.array([[1.0, 2.0], [3.0, 0.0]]), [(0, 1, MUST_LINK, 9.0)]
    assert_allclose(oracle.icm_row_costs(0, [-1, -1], D, pairs), D[0])
    assert_allclose(oracle.icm_row_costs(0, [-1, 1], D, pairs), [10.0, 2.0])
    assert oracle.plain_icm_sweep([-1, -1], D, pairs).tolist() == [0, 0]
