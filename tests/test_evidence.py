"""The evidence for labellings, and what it chooses between."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from engine_helpers import examples, instances, needs_compiler
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln
from scipy.stats import multivariate_t

from hmrf_fast import HMRFKMeans, datasets
from hmrf_fast.errors import ConvergenceWarning, HMRFWarning
from hmrf_fast.evidence import ROOM, Judge, row_probability, word_probability
from hmrf_fast.geometry import build_problem, measure
from hmrf_fast.inputs import as_corpus
from hmrf_fast.m_step import statistics, sum_rows
from hmrf_fast.outcomes import ROUNDING, EMResult, keep_best
from hmrf_fast.penalties import empty_graph
from hmrf_fast.start import judge_for


def plain_evidence(X, labels, weight, n_clusters):
    """The same in dense NumPy."""
    rows = X.toarray().astype(float)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows / np.where(length > 0, length, 1.0) * weight[:, None]
    sums = np.stack([rows[labels == h].sum(axis=0) for h in range(n_clusters)])
    if not sums.sum() > 0:
        return 0.0
    share = sums.sum(axis=0) / sums.sum()
    prior = (share * np.count_nonzero(share))[share > 0]
    total = gammaln(1.0 + np.bincount(labels, weight, n_clusters)).sum()
    for seen in (sums * sums.sum() / weight.sum())[:, share > 0]:
        total += gammaln(prior.sum()) - gammaln(prior.sum() + seen.sum())
        total += (gammaln(prior + seen) - gammaln(prior)).sum()
    return total


def measured(X, labels, weight, n_clusters, n_threads=1):
    problem = build_problem(as_corpus(X), "cosine", weight, empty_graph(), n_clusters, n_threads=n_threads)
    geometry = measure(problem, np.ones(problem.n_features))
    return word_probability(
        problem, statistics(problem, geometry, sum_rows(problem, geometry, labels.astype(np.int32)))
    )


@examples(60)
@given(instances(metrics=("i_divergence",), zero_rows=True))
def test_agrees_with_the_formula(one):
    told = measured(one.X, one.labels, one.sample_weight, one.K)
    assert told == pytest.approx(plain_evidence(one.X, one.labels, one.sample_weight, one.K), rel=1e-9, abs=1e-9)


@examples(40)
@given(instances(metrics=("i_divergence",)), st.randoms(use_true_random=False))
def test_order_repeats_and_threads_change_nothing(one, random):
    told = measured(one.X, one.labels, one.sample_weight, one.K)
    order = np.array(random.sample(range(len(one.labels)), len(one.labels)))
    permuted = measured(one.X[order], one.labels[order], one.sample_weight[order], one.K)
    assert permuted == pytest.approx(told, rel=1e-12)
    assert measured(one.X, one.labels, one.sample_weight, one.K, n_threads=2) == told
    twice = sp.vstack([one.X, one.X], format="csr")
    halved = measured(twice, np.tile(one.labels, 2), np.tile(one.sample_weight / 2, 2), one.K)
    assert halved == pytest.approx(told, rel=1e-12)


@needs_compiler
def test_true_classes_have_more_evidence_than_any_few_rows_moved():
    X, y = datasets.load("classic400", return_X_y=True)
    rng, ones = np.random.default_rng(0), np.ones(len(y))
    true = measured(X, y, ones, 3)
    for count in (5, 40, 200):
        moved = y.copy()
        moved[rng.permutation(len(y))[:count]] = rng.integers(3, size=count)
        assert measured(X, moved, ones, 3) < true


def plain_row_probability(rows, labels, n_clusters):
    """Of normal rows (n, d) with the conjugate prior: marginal likelihood row by row, each given those before it.

    The predictive density of a row is a t distribution (Murphy 2007, eq. 232), so that no determinant of the formula
    under test is used.
    """
    size, total = rows.shape[1], 0.0
    for h in range(n_clusters):
        mean, belief, freedom, scatter = np.zeros(size), 0.1, size + 11.0, 30.0 * np.eye(size)
        for row in rows[labels == h]:
            degrees = freedom - size + 1.0
            shape = scatter * (belief + 1.0) / (belief * degrees)
            total += multivariate_t(mean, shape, degrees).logpdf(row) + size / 2 * np.log(np.pi)
            scatter = scatter + belief / (belief + 1.0) * np.outer(row - mean, row - mean)
            mean, belief, freedom = (belief * mean + row) / (belief + 1.0), belief + 1.0, freedom + 1.0
        total += gammaln(np.count_nonzero(labels == h) + 1.0)
    return total


@pytest.mark.parametrize("size", [1, 2, 5])
def test_agrees_with_predictive_densities(size):
    rng = np.random.default_rng(size)
    rows = rng.normal(size=(30, size)) * 3.0
    labels = rng.integers(3, size=30)
    labels[7] = 3  # of 5 clusters one has a single row and one is empty
    first, second = np.triu_indices(size)
    lifted = sp.csr_matrix(np.hstack([rows, rows[:, first] * rows[:, second]]))
    problem = build_problem(as_corpus(lifted), "mahalanobis", np.ones(30), empty_graph(), 5)
    geometry = measure(problem, np.ones(problem.n_features))
    sums = statistics(problem, geometry, sum_rows(problem, geometry, labels.astype(np.int32)))
    expected = plain_row_probability(rows, labels, 5)
    assert row_probability(problem, sums) == pytest.approx(expected, rel=1e-9)
    plain = sums._replace(linear=sums.linear * sums.inverse, inverse=np.zeros(0))  # sums need not be in fixed point
    assert row_probability(problem, plain) == pytest.approx(expected, rel=1e-9)


def test_a_violated_pair_counts_half_of_what_it_adds_to_the_objective():
    """Which is twice a negative log density. Words are judged without pairs, whose prices are in other units."""
    rng = np.random.default_rng(0)
    lifted = sp.csr_matrix(rng.random((12, 5)))
    problem = build_problem(as_corpus(lifted), "mahalanobis", np.ones(12), empty_graph(), 2)
    geometry, labels = measure(problem, np.ones(5)), np.arange(12, dtype=np.int32) % 2
    sums = statistics(problem, geometry, sum_rows(problem, geometry, labels))
    free = row_probability(problem, sums)
    assert Judge("matrices").weigh(problem, sums, 0.0) == (free, np.inf)
    assert Judge("matrices").weigh(problem, sums, 7.0) == pytest.approx((free - 3.5, np.inf))
    problem = build_problem(as_corpus(lifted), "cosine", np.ones(12), empty_graph(), 2)
    geometry = measure(problem, np.ones(5))
    sums = statistics(problem, geometry, sum_rows(problem, geometry, labels))
    assert Judge("words").weigh(problem, sums, 7.0) == (word_probability(problem, sums), ROOM)
    assert Judge().weigh(problem, sums, 7.0) == (0.0, 0.0)


def result_of(objective, evidence=0.0, room=0.0, broken=0.0):
    return EMResult(None, None, None, 0.0, objective - broken, objective, [], [], 1, True, 0, evidence, room)


def best_of(*results):
    kept = []
    for one in results:
        kept = keep_best(kept, one)
        assert len(kept) <= 2
    return results.index(kept[0])


@given(
    st.lists(st.tuples(st.floats(1.0, 1.01), st.floats(-9.0, -1.0)), min_size=1, max_size=6),
)
def test_evidence_chooses_among_objectives_that_are_as_good_as_equal(drawn):
    results = [result_of(*one, ROOM) for one in drawn]
    chosen = results[best_of(*results)]
    lowest = min(one.objective for one in results)
    assert chosen.objective <= lowest * (1 + ROOM)
    nobody_else = [one for one in results if one.objective <= lowest * (1 + ROUNDING)]
    assert chosen.evidence >= max(one.evidence for one in nobody_else) - 1e-7


def test_objectives_decide_where_there_is_no_evidence():
    assert best_of(result_of(1.0), result_of(1.0 - 1e-6), result_of(1.001)) == 1
    assert best_of(result_of(1.0), result_of(1.0 - 1e-13)) == 0, "rounding never chooses"
    near, lower = result_of(1.0, -5.0, ROOM), result_of(0.9, -9.0, ROOM)
    assert best_of(near, result_of(1.001, -4.0, ROOM), result_of(1.1, -1.0, ROOM)) == 1
    assert best_of(near, lower, result_of(0.9001, -8.0, ROOM)) == 2
    assert best_of(result_of(-3.0, -5.0, np.inf), result_of(0.0, -4.0, np.inf)) == 1


@given(
    st.lists(st.tuples(st.floats(0.0, 5.0), st.floats(-9.0, 9.0), st.sampled_from([0.0, 1.0, 1e3, 1e9])), min_size=1)
)
@pytest.mark.parametrize("room", [ROOM, np.inf])
def test_evidence_never_pays_for_constraints(room, drawn):
    """Neither with a violation that the lowest objective does without, nor with room that violations make."""
    results = [result_of(500.0 + extra + broken, told, room, broken) for extra, told, broken in drawn]
    chosen, lowest = results[best_of(*results)], min(results, key=lambda one: one.objective)
    near = lowest.objective + ROUNDING * lowest.objective
    assert chosen.objective - chosen.inertia <= max(
        one.objective - one.inertia + ROUNDING * one.objective for one in results if one.objective <= near
    )
    assert room == np.inf or chosen.objective <= lowest.objective + 505.0 * ROOM + ROUNDING * lowest.objective


SHARES = [("news_similar_3", "cosine"), ("iris", "mahalanobis")]


@pytest.mark.parametrize("name, metric", SHARES)
@pytest.mark.parametrize("power", [-8, -200])
def test_weights_that_are_shares_choose_as_ones(name, metric, power):
    """Weights of one over n say nothing of how many rows there are."""
    X = datasets.load(name).data
    for seed in range(2):
        model = HMRFKMeans(3, metric=metric, random_state=seed)
        plain, shares = (model.fit(X, sample_weight=scale).labels_ for scale in (1.0, 2.0**power))
        np.testing.assert_array_equal(plain, shares)


@pytest.mark.parametrize("weight", [1e-100, 1e60, 1e100, np.where(np.arange(20) % 2, 1e100, 1e-100)])
@pytest.mark.parametrize("n_distinct", [2, 20])
@pytest.mark.parametrize("features", [1, 4, 32])
def test_any_weights_are_judged(features, n_distinct, weight):
    """Rounding errors of huge weights are larger than priors, and clusters of equal rows have nothing else."""
    rng = np.random.default_rng(features)
    rows = rng.normal(size=(n_distinct, features))[np.arange(20) % n_distinct]
    model = HMRFKMeans(3, metric="mahalanobis", max_iter=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", HMRFWarning)
        model.fit(rows, sample_weight=weight)
    assert np.isfinite(model.objective_)
    assert np.isfinite(model.metric_matrix_).all()


def decides(X, **settings):
    model = HMRFKMeans(3, **settings)
    problem = build_problem(as_corpus(X), model.metric, np.ones(X.shape[0]), empty_graph(), 3)
    return judge_for(problem, model._settings()).kind == "words"


def test_only_rows_that_can_be_texts_are_judged_by_words():
    X, _ = datasets.load("news_similar_3", return_X_y=True)
    assert decides(X)
    assert decides(X, init="low_rank")
    assert not decides(X, init="k-means++")
    assert not decides(X, learn_weights=True)
    assert not decides(X, metric="pearson")
    assert not decides(X, metric="i_divergence")
    signed = X.copy()
    signed.data[::2] *= -1
    assert not decides(signed)


@needs_compiler
def test_the_choice_is_one_of_the_best_starts():
    X, _ = datasets.load("news_similar_3", return_X_y=True)
    other = []
    for seed in range(4):
        last = {}
        model = HMRFKMeans(3, random_state=seed, callback=lambda told, last=last: last.update({told["start"]: told}))
        lowest = min(told["objective"] for told in (model.fit(X), last)[1].values())
        assert model.objective_ <= lowest * (1 + ROOM)
        other.append(model.objective_ > lowest * (1 + ROUNDING))
    assert any(other), "evidence never chose another than the lowest objective"
