"""J and its gradient from the engine against the oracle, with given, entailed and implicit constraints."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import oracle
import pytest
from engine_helpers import (
    NO_PRIOR,
    TINY_LIMITS,
    assert_near,
    engine_gradient,
    engine_objective,
    entailed_pairs,
    examples,
    graph_of,
    instances,
    objective_from_sums,
    state_of,
)
from hypothesis import assume, event, given
from hypothesis import strategies as st
from strategies import feature_weights, pair_lists, random_states

from hmrf_fast import weight_step
from hmrf_fast.listed_pairs import pair_phi, pair_products
from hmrf_fast.weight_step import Prior

IMPLICIT = ("cosine", "pearson", "sqeuclidean")  # i_divergence has no implicit form: its pairs are always listed
penalties = st.sampled_from(["distance", "potts"])
alphas = st.sampled_from([0.0, 0.01, 1.0])
priors = st.one_of(st.none(), st.tuples(st.just("rayleigh"), st.floats(0.1, 50.0)))


def smoothing_of(case, alpha):
    return alpha if case.metric == "i_divergence" else 0.0


def oracle_objective(case, state, pairs, penalty, prior=None):
    return oracle.objective(
        case.rows, case.labels, state.centers, case.a, case.metric, pairs, case.sample_weight, state.alpha, penalty,
        prior,
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# J


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@examples(80)
@given(case=instances(zeros=True), penalty=penalties, alpha=alphas, prior=priors)
def test_objective_with_given_pairs(dtype, case, penalty, alpha, prior):
    """J is added up in double precision whatever the storage of the rows."""
    case = case._replace(X=case.X.astype(dtype).astype(np.float64))
    state = state_of(case, smoothing_of(case, alpha), dtype=dtype, potts=penalty == "potts")
    given_prior = NO_PRIOR if prior is None else Prior(*prior)
    assert_near(engine_objective(state, prior=given_prior), oracle_objective(case, state, case.pairs, penalty, prior))
    assert_near(objective_from_sums(state), oracle_objective(case, state, case.pairs, penalty))


@examples(60)
@given(instances(max_pairs=8), penalties, st.booleans())
def test_objective_with_entailed_pairs_of_any_weight(case, penalty, tiny):
    implicit = tiny and case.metric in IMPLICIT
    graph = graph_of(
        case.X.shape[0], case.pairs, infer=True, limits=TINY_LIMITS[1] if implicit else None, enumerate_all=not implicit
    )
    state = state_of(case, graph=graph, potts=penalty == "potts")
    expected = oracle_objective(case, state, entailed_pairs(case.X.shape[0], case.pairs), penalty)
    assert_near(engine_objective(state), expected)
    assert_near(objective_from_sums(state), expected)


@examples(60)
@given(instances(max_pairs=8), penalties, st.floats(0.1, 3.0), st.floats(1.0, 2.0))
def test_objective_of_the_closure(case, penalty, cannot, ratio):
    """The paper's closure: all entailed pairs of a kind weigh the same, must-links no less than cannot-links."""
    weight = {oracle.MUST_LINK: cannot * ratio, oracle.CANNOT_LINK: cannot}
    case = case._replace(pairs=[(i, j, kind, weight[kind]) for i, j, kind, _ in case.pairs])
    must, cannots = ([(i, j) for i, j, kind, _ in case.pairs if kind == one] for one in weight)
    n = case.X.shape[0]
    state = state_of(case, infer=True, potts=penalty == "potts")
    pairs = oracle.closure(n, must, cannots, cannot * ratio, cannot)
    assert_near(engine_objective(state), oracle_objective(case, state, pairs, penalty))


# ---------------------------------------------------------------------------------------------------------------------
# dJ/da


def oracle_gradient(case, state, pairs):
    return oracle.gradient(
        case.rows, case.labels, state.centers, case.a, case.metric, pairs, case.sample_weight, state.alpha
    )


def subgradients(case, state, pairs):
    """The oracle's gradients for all ways to name the two heaviest rows, of which J's bound is made: where rows tie, it
    has a kink, and any of them will do."""
    order = np.arange(case.X.shape[0])
    choices = [()]
    if case.metric == "i_divergence":
        weight = case.rows @ case.a
        sums = {pair: weight[list(pair)].sum() for pair in combinations(order.tolist(), 2)}
        choices = [pair for pair, total in sums.items() if total >= max(sums.values()) * (1.0 - 1e-11)]
    for first in choices:  # ties of the oracle go to the lowest row
        moved = np.concatenate([np.array(first, int), np.delete(order, first)])
        place = np.argsort(moved)
        named = [(*sorted((int(place[i]), int(place[j]))), kind, w) for i, j, kind, w in pairs]
        yield oracle.gradient(
            case.rows[moved], case.labels[moved], state.centers, case.a, case.metric, named, case.sample_weight[moved],
            state.alpha,
        )  # fmt: skip


def differences(state, prior=NO_PRIOR, step=1e-5):
    """Central differences of the engine's own J."""
    a = state.geometry.weights
    out = np.zeros(a.size)
    for m in range(a.size):
        ends = [a.copy(), a.copy()]
        ends[0][m] -= step
        ends[1][m] += step
        low, high = (engine_objective(state, weights, prior) for weights in ends)
        out[m] = (high - low) / (2 * step)
    return out


@examples(100)
@given(instances(zeros=True), alphas, st.booleans())
def test_gradient_equals_the_oracle(case, alpha, infer):
    state = state_of(case, smoothing_of(case, alpha), infer=infer)
    pairs = entailed_pairs(case.X.shape[0], case.pairs) if infer else case.pairs
    found, expected = engine_gradient(state), list(subgradients(case, state, pairs))
    assert_near(found, min(expected, key=lambda one: np.abs(found - one).max()), 1e-8)


@examples(60)
@given(instances(d=(2, 8)), alphas, random_states())
def test_gradient_equals_finite_differences(case, alpha, rng):
    # At equal weights all rows tie for the bound of i_divergence, a kink of J; these weights keep away from it.
    case = case._replace(a=rng.uniform(0.3, 3.0, case.a.size))
    state = state_of(case, smoothing_of(case, alpha))
    assert_near(engine_gradient(state), differences(state), 1e-6)


@pytest.mark.parametrize("metric", ["cosine", "pearson"])
@examples(40)
@given(data=st.data())
def test_scale_of_the_weights_is_free(metric, data):
    case = data.draw(instances(metrics=(metric,)))
    state = state_of(case)
    assert_near(case.a @ engine_gradient(state), 0.0, 1e-9)
    assert_near(engine_objective(state, weights=2.5 * case.a), engine_objective(state))


# ---------------------------------------------------------------------------------------------------------------------
# Implicit blocks and links


@st.composite
def implicit_cases(draw):
    """An instance with pairs, groups or classes; a graph that lists all pairs, and one that lists as few as it can."""
    case = draw(instances(metrics=IMPLICIT, n=(4, 16), K=(1, 4)))
    n = case.X.shape[0]
    rng = draw(random_states())
    sets = {}
    for name in ("must_link_groups", "cannot_link_groups", "partial_labels"):
        if draw(st.booleans()):
            sets[name] = rng.integers(-1, 3, n)
    weights = draw(st.sampled_from([(0.1, 5.0), (1.0, 1.0)]))
    case = case._replace(pairs=draw(pair_lists(n, min_size=2, max_size=10, weight=weights)))
    limits = draw(st.sampled_from(TINY_LIMITS))
    graphs = [graph_of(n, case.pairs, infer=True, enumerate_all=True, **sets)]
    graphs.append(graph_of(n, case.pairs, infer=True, limits=limits, **sets))
    assume(graphs[1].block_weight.size)
    event(f"cannot-link blocks: {(graphs[1].block_weight < 0).any()}, links: {graphs[1].link_block.size > 0}")
    return case, graphs


@examples(80)
@given(implicit_cases(), penalties)
def test_implicit_constraints_cost_what_listed_ones_cost(drawn, penalty):
    case, graphs = drawn
    states = [state_of(case, graph=graph, potts=penalty == "potts") for graph in graphs]
    assert graphs[0].block_weight.size == 0
    assert graphs[1].pair_first.size < graphs[0].pair_first.size
    assert_near(engine_objective(states[1]), engine_objective(states[0]))
    assert_near(engine_gradient(states[1]), engine_gradient(states[0]))


@examples(40)
@given(implicit_cases(), random_states())
def test_implicit_gradient_equals_finite_differences(drawn, rng):
    case, graphs = drawn
    state = state_of(case._replace(a=rng.uniform(0.3, 3.0, case.a.size)), graph=graphs[1])
    assert_near(engine_gradient(state), differences(state), 1e-6)


# ---------------------------------------------------------------------------------------------------------------------
# Closed-form weight steps


@examples(40)
@given(random_states(), st.floats(0.01, 100.0))
def test_rayleigh_step_equals_the_oracle(rng, strength):
    slope = rng.normal(0.0, 10.0, 20) * 10.0 ** rng.integers(-6, 6, 20)
    slope[0] = 0.0
    step = weight_step.closed_form(Prior("rayleigh", strength), slope, np.ones(20), 1.0)
    np.testing.assert_allclose(step, oracle.rayleigh_step(slope, strength), rtol=1e-12)
    # It is a minimum: the derivative of slope * a + prior vanishes.
    residue = slope + strength * (step - 1.0 / step)
    assert (np.abs(residue) <= 1e-9 * (np.abs(slope) + strength * (step + 1.0 / step))).all()


@examples(40)
@given(random_states(), st.floats(1.0, 100.0))
def test_log_det_step_equals_the_oracle(rng, strength):
    slope, old = rng.uniform(-1.0, 10.0, 20), rng.uniform(0.1, 5.0, 20)
    slope[0] = 0.0
    step = weight_step.closed_form(Prior("log_det", strength), slope, old, np.ones(20))
    np.testing.assert_allclose(step, oracle.log_det_step(slope, strength, old), rtol=1e-12)


def learned(state, prior, step=0.1):
    """One weight step of the engine and J on both sides of it."""

    def under(geometry, clusters):
        return engine_objective(state._replace(geometry=geometry), prior=prior)

    before = engine_objective(state, prior=prior)
    geometry, _, after = weight_step.learn(
        state.problem, state.geometry, state.centers, state.clusters, state.sums, state.labels, state.alpha, prior,
        step, before, under,
    )  # fmt: skip
    assert_near(after, engine_objective(state, geometry.weights, prior))
    return geometry.weights, before, after


@examples(60)
@given(instances(zero_rows=False), alphas, st.sampled_from([None, 0.01, 1.0]))
def test_weight_step_never_raises_the_objective(case, alpha, strength):
    state = state_of(case, smoothing_of(case, alpha))
    prior = weight_step.choose_prior(state.problem, strength)
    weights, before, after = learned(state, prior)
    assert after <= before
    assert (weights > 0).all()
    assert np.isfinite(weights).all()


@examples(40)
@given(instances(metrics=("i_divergence", "sqeuclidean"), max_pairs=0), alphas)
def test_weight_step_is_the_oracles_minimiser(case, alpha):
    """Without violated pairs J is linear in the weights, so one step ends at the minimum."""
    state = state_of(case, smoothing_of(case, alpha))
    prior = weight_step.choose_prior(state.problem, None)
    weights, before, after = learned(state, prior)
    slope = oracle_gradient(case, state, [])
    if case.metric == "i_divergence":
        expected = oracle.rayleigh_step(slope, prior.strength)
    else:
        slope[slope < 1e-11 * np.abs(case.X).max() ** 2] = 0.0  # rounding, not a deviation
        expected = oracle.log_det_step(slope, prior.strength, case.a)
    if after < before:
        np.testing.assert_allclose(weights, expected, rtol=1e-7)
    else:
        assert np.array_equal(weights, case.a)


@examples(60)
@given(instances(n=(4, 14), d=(2, 10), max_pairs=12), st.data())
def test_listed_overlaps_give_the_bits_of_merged_rows(case, data):
    """Once gradients were taken, distances of pairs come from what their rows share, to the last bit; and gradients are
    the same with lists and without."""
    state = state_of(case)
    problem, pairs = state.problem, state.geometry.pairs
    weights = data.draw(feature_weights(case.X.shape[1]))
    strength = np.random.default_rng(0).normal(size=problem.graph.pair_kind.size)
    merged = pair_phi(problem, pairs, weights)
    listed_products = pair_products(problem, pairs, strength)
    assert np.array_equal(pair_phi(problem, pairs, weights), merged)
    problem.memo["shared"] = None
    assert_near(pair_products(problem, pairs, strength), listed_products)
