"""The family: each algorithm against its definition, and where two of them must agree."""

from __future__ import annotations

import inspect
import re
import warnings

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from strategies import must_and_cannot, planted, random_states

import hmrf_fast
from hmrf_fast import (
    ConstrainedKMeans,
    Constraints,
    COPKMeans,
    HMRFKMeans,
    PCKMeans,
    SeededKMeans,
    SphericalKMeans,
)
from hmrf_fast.errors import (
    ConstraintError,
    ContradictionError,
    ContradictionWarning,
    InfeasibleError,
    InputError,
    UnusedLabelsWarning,
)
from hmrf_fast.geometry import build_problem
from hmrf_fast.inputs import as_corpus
from hmrf_fast.neighborhoods import resolve
from hmrf_fast.penalties import empty_graph
from hmrf_fast.seeds import seeds_of

FAMILY = (HMRFKMeans, PCKMeans, SeededKMeans, ConstrainedKMeans, COPKMeans, SphericalKMeans)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("estimator", [SeededKMeans, ConstrainedKMeans])
def test_classes_in_the_wrong_place(estimator):
    """Who gives seeds as y gets plain k-means, and is told so."""
    X, y = np.arange(8.0)[:, None], [0, 1] + [-1] * 6
    for fit in (estimator(2, random_state=0).fit, estimator(2, random_state=0).partial_fit):
        with pytest.warns(
            UnusedLabelsWarning, match=f"{estimator.__name__} starts from known classes.*as partial_labels"
        ):
            model = fit(X, y)
    assert model.labels_.size == 8
    estimator(2, random_state=0).fit(X, y, partial_labels=y)
    COPKMeans(2, random_state=0).fit(X, y)


def groups_of(labels):
    """A partition whatever its numbers."""
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}


# ---------------------------------------------------------------------------------------------------------------------
# PCKMeans


@given(planted(), st.sampled_from(["sqeuclidean", "cosine"]), st.sampled_from([0.0, 0.3, 5.0]), st.booleans())
def test_pckmeans_reports_equation_2_1_and_never_raises_it(case, metric, w, noisy):
    X, K, _, pairs = case
    if noisy:  # turned pairs cannot all hold
        pairs = [
            (i, j, oracle.CANNOT_LINK if k % 3 == 0 else kind, weight) for k, (i, j, kind, weight) in enumerate(pairs)
        ]
    must, cannot = must_and_cannot(pairs)
    model = PCKMeans(K, w, metric=metric, infer_constraints=False, n_init=2, random_state=0)
    with np.errstate(all="raise"):
        fit_quietly(model, X, must_link=must, cannot_link=cannot)
    half = 0.5 if metric == "sqeuclidean" else 1.0
    data = half * oracle.data_term(X, model.labels_, model.cluster_centers_, np.ones(5), metric)
    broken = w * sum((model.labels_[i] == model.labels_[j]) != (kind == oracle.MUST_LINK) for i, j, kind, _ in pairs)
    assert model.inertia_ == pytest.approx(data, abs=1e-9)
    assert model.objective_ == pytest.approx(data + broken, abs=1e-9)
    assert np.all(np.diff(model.objective_history_) <= 1e-9 * abs(model.objective_history_[0]))


def fit_quietly(model, X, **known):
    """Contradictions are part of the example."""

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContradictionWarning)
        return model.fit(X, **known)


@given(planted(), random_states())
def test_a_price_of_0_is_seeding_and_an_infinite_one_is_keeping(case, rng):
    X, K, truth, pairs = case
    must, cannot = must_and_cannot(pairs)
    known = Constraints(must, cannot, partial_labels=np.where(rng.random(truth.size) < 0.4, truth, -1))
    start = X[rng.choice(len(X), K, replace=False)]
    for init in (start, "neighborhoods"):
        free = PCKMeans(K, 0.0, init=init).fit(X, constraints=known)
        seeded = SeededKMeans(K, init=init).fit(X, constraints=known)
        if init is start:
            np.testing.assert_array_equal(free.labels_, seeded.labels_)
        hard = PCKMeans(K, np.inf, init=init, random_state=0).fit(X, constraints=known)
        kept = ConstrainedKMeans(K, init=init, random_state=0).fit(X, constraints=known)
        if init is start:
            np.testing.assert_array_equal(hard.labels_, kept.labels_)
            assert hard.inertia_ == pytest.approx(0.5 * kept.inertia_)


def test_the_largest_neighbourhoods_and_a_row_apart_from_all_start_pckmeans():
    X = sp.csr_matrix(np.arange(12.0)[:, None])
    problem = build_problem(as_corpus(X), "sqeuclidean", np.ones(12), empty_graph(), 4)
    must = [(0, 1), (2, 3), (3, 4), (5, 6), (6, 7), (7, 8)]
    cannot = [(10, 0), (10, 2), (5, 10), (11, 0), (11, 2), (11, 5), (9, 0)]
    seeds = seeds_of(problem, resolve(Constraints(must, cannot), 12), True, np.arange(12))
    groups = [seeds.share[g].indices.tolist() for g in range(seeds.share.shape[0])]
    assert groups[:3] == [[0, 1], [2, 3, 4], [5, 6, 7, 8]]
    assert groups[3] in ([10], [11]) and len(groups) == 4  # 9 is apart from one of them only, and K is reached
    model = PCKMeans(3, 0.0, init="neighborhoods", max_iter=1).fit(X, must_link=must[:4], cannot_link=[(2, 0)])
    assert model.n_iter_ == 1


def test_a_second_row_must_be_apart_from_the_first_as_well():
    X = sp.csr_matrix(np.arange(6.0)[:, None])
    problem = build_problem(as_corpus(X), "sqeuclidean", np.ones(6), empty_graph(), 5)
    told = [(4, 0), (5, 0)]
    for linked, expected in ((told, 2), ([*told, (4, 5)], 3)):
        seeds = seeds_of(problem, resolve(Constraints([(0, 1)], linked), 6), True, np.arange(6))
        assert seeds.share.shape[0] == expected


# ---------------------------------------------------------------------------------------------------------------------
# Hard constraints


@given(
    planted(),
    st.sampled_from([COPKMeans, ConstrainedKMeans, lambda *a, **k: PCKMeans(*a, w=np.inf, **k)]),
    random_states(),
)
def test_hard_constraints_are_never_violated(case, estimator, rng):
    X, K, truth, pairs = case
    must, cannot = must_and_cannot(pairs)
    known = np.where(rng.random(truth.size) < 0.2, truth, -1)
    model = estimator(K, n_init=2, random_state=0, metric="cosine")
    model.fit(X, constraints=Constraints(must, cannot, partial_labels=known))
    labels = model.labels_
    assert all(labels[i] == labels[j] for i, j in must) and all(labels[i] != labels[j] for i, j in cannot)
    for i, j in zip(*np.nonzero((known[:, None] >= 0) & (known >= 0)), strict=True):
        assert (labels[i] == labels[j]) == (known[i] == known[j])
    assert model.objective_ == pytest.approx(model.inertia_)
    assert str(model.constraint_report_.n_group_pairs_violated) == "0"


@given(random_states())
def test_copkmeans_reaches_the_optimum_of_tiny_sets(rng):
    X, K = rng.random((6, 2)), 3
    truth = np.concatenate([np.arange(K), rng.integers(K, size=3)])
    pairs = [(i, j, oracle.CANNOT_LINK if truth[i] != truth[j] else oracle.MUST_LINK, np.inf)
             for i in range(6) for j in range(i) if rng.random() < 0.3]  # fmt: skip
    must, cannot = must_and_cannot(pairs)
    _, best = oracle.partition_optimum(X, K, np.ones(2), "sqeuclidean", pairs)
    model = COPKMeans(K, n_init=40, random_state=0).fit(X, must_link=must, cannot_link=cannot)
    assert model.objective_ == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_copkmeans_does_not_fall_into_the_greedy_trap(order):
    X = np.array([[0.0], [5.0], [10.0]])[list(order)]
    place = {row: k for k, row in enumerate(order)}
    for seed in range(50):
        model = COPKMeans(2, random_state=seed)
        model.fit(X, cannot_link=[(place[0], place[2]), (place[1], place[2])])
        assert groups_of(model.labels_) == {frozenset({place[0], place[1]}), frozenset({place[2]})}
        assert model.inertia_ == pytest.approx(12.5)


def test_copkmeans_names_what_cannot_be_kept():
    X = np.arange(10.0)[:, None]
    model = COPKMeans(3)
    clique = [(i, j) for i in (2, 4, 6, 8) for j in (2, 4, 6, 8) if i < j]
    with pytest.raises(
        InfeasibleError, match=r"rows \[2, 4, 6, 8\] are mutually hard cannot-linked: 4.*n_clusters=3"
    ) as error:
        model.fit(X, cannot_link=[*clique, (0, 2), (1, 4)])
    assert error.value.rows == (2, 4, 6, 8)
    with pytest.raises(InfeasibleError, match="group 5 needs 4 clusters, more than n_clusters=3") as error:
        model.fit(X, constraints=Constraints(cannot_link_groups=[-1, 5, 5, -1, 5, 5] + [-1] * 4))
    assert error.value.rows == (1, 2, 4, 5)
    with pytest.raises(InfeasibleError, match="4 classes, more than n_clusters=3") as error:
        model.fit(X, partial_labels=[-1, 7, 7, 8, 9, 6] + [-1] * 4)
    assert error.value.rows == (5, 1, 3, 4)
    with pytest.raises(ContradictionError, match="0-1-2"):
        model.fit(X, must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)])
    assert not hasattr(model, "labels_")


# ---------------------------------------------------------------------------------------------------------------------
# Seeds

X_SEEDS = np.array([[0.0], [0.2], [5.0], [5.2], [5.1], [9.0]])
CODES = np.array([7, -1, 3, -1, -1, -1])


def with_type(kind):
    if kind == "nan":
        return np.where(CODES < 0, np.nan, CODES)
    if kind == "strings":
        return [None if code < 0 else f"class {code}" for code in CODES]
    return CODES.astype(kind)


@pytest.mark.parametrize("init", ["k-means++", "neighborhoods"])
@pytest.mark.parametrize("kind", ["int8", "int64", "float64", "nan", "strings"])
def test_seeds_of_any_type_start_their_clusters(kind, init):
    model = SeededKMeans(3, init=init, random_state=0).fit(X_SEEDS, partial_labels=with_type(kind))
    assert model.labels_.tolist() == [1, 1, 0, 0, 0, 2]
    assert model.inertia_ == pytest.approx(0.04)
    assert [str(name)[-1] for name in model.classes_] == ["3", "7"]


def test_seeds_are_kept_by_one_and_released_by_the_other():
    known = CODES.copy()
    known[4] = 7
    kept = ConstrainedKMeans(3, random_state=0).fit(X_SEEDS, partial_labels=known)
    assert kept.labels_.tolist() == [1, 1, 0, 0, 1, 2] and kept.inertia_ == pytest.approx(16.706666667)
    released = SeededKMeans(3, random_state=0).fit(X_SEEDS, partial_labels=known)
    assert released.labels_.tolist() == [1, 1, 0, 0, 0, 2]
    for estimator in (SeededKMeans, ConstrainedKMeans):
        with pytest.raises(InfeasibleError, match="3 classes, more than n_clusters=2"):
            estimator(2).fit(X_SEEDS, partial_labels=[0, 1, 2, -1, -1, -1])


@given(planted(), random_states(), st.sampled_from(["sqeuclidean", "cosine", "i_divergence"]))
def test_seeds_keep_the_cluster_of_their_class(case, rng, metric):
    """Also with incomplete seeding: classes without a seed, clusters beyond the classes."""
    X, K, truth, _ = case
    known = np.where((rng.random(truth.size) < 0.5) & (truth != 1), truth, -1)
    model = ConstrainedKMeans(K + 1 if len(X) > K else K, metric=metric, n_init=2, random_state=0)
    model.fit(X, partial_labels=known)
    classes = np.unique(known[known >= 0])
    np.testing.assert_array_equal(classes[model.labels_[known >= 0]], known[known >= 0])


def test_a_class_whose_seeds_say_nothing_still_has_its_cluster():
    X = sp.csr_matrix(np.array([[0, 0.0], [1, 0], [2, 0.1], [0, 1], [0.1, 3]]))
    with pytest.warns(hmrf_fast.errors.EmptyRowsWarning):
        model = ConstrainedKMeans(2, metric="cosine", random_state=0).fit(X, partial_labels=[0, -1, 1, -1, -1])
    assert model.labels_[0] == 0 and model.labels_[1] == model.labels_[2] == 1


@given(planted(n=(8, 24)), random_states(), st.sampled_from(["sqeuclidean", "cosine"]))
def test_certain_probabilities_are_labels(case, rng, metric):
    X, K, truth, _ = case
    known = np.where(rng.random(truth.size) < 0.4, truth, -1)
    known[:K] = np.arange(K)
    shares = np.where(known[:, None] >= 0, known[:, None] == np.arange(K), np.nan)
    for estimator in (SeededKMeans, ConstrainedKMeans):
        hard = estimator(K, metric=metric, random_state=0).fit(X, partial_labels=known)
        soft = estimator(K, metric=metric, random_state=0).fit(X, partial_labels=shares)
        np.testing.assert_array_equal(hard.labels_, soft.labels_)
        np.testing.assert_allclose(hard.cluster_centers_, soft.cluster_centers_, atol=1e-12)


@given(random_states(), st.floats(0.0, 3.0))
def test_soft_seeds_weigh_first_centroids_and_cost_their_surprise(rng, price):
    X, weight = rng.random((12, 3)), rng.uniform(0.5, 2.0, 12)
    shares = rng.dirichlet(np.ones(3), 12)
    shares[rng.random(12) < 0.5] = 0.0
    shares[:3] = rng.dirichlet(np.ones(3), 3)
    first = (shares * weight[:, None]).T @ X / (shares * weight[:, None]).sum(0)[:, None]
    model = ConstrainedKMeans(3, soft_label_weight=price, max_iter=1)
    model.fit(X, partial_labels=shares, sample_weight=weight)
    known = shares.sum(1) > 0
    surprise = np.where(known[:, None], -np.log(np.where(known[:, None], shares, 1.0)), 0.0)
    costs = weight[:, None] * (((X[:, None] - first) ** 2).sum(2) + price * surprise)
    assert model.objective_history_[0] == pytest.approx(costs.min(1).sum())
    costs = weight[:, None] * (((X[:, None] - model.cluster_centers_) ** 2).sum(2) + price * surprise)
    np.testing.assert_array_equal(model.labels_, costs.argmin(1))
    assert model.objective_ == pytest.approx(costs.min(1).sum())


def test_malformed_probabilities_are_refused():
    X = np.arange(4.0)[:, None]
    good = [[1, 0], [0.5, 0.5], [np.nan, np.nan], [0, 0]]
    assert ConstrainedKMeans(2).fit(X, partial_labels=good).labels_.size == 4
    bad = [[1, 0], [0.5, 0.4], [0, 0], [0, 0]]
    with pytest.raises(ConstraintError, match=r"row 1 of partial_labels sum to 0\.9"):
        SeededKMeans(2).fit(X, partial_labels=bad)
    with pytest.raises(ConstraintError, match=r"partial_labels\[1, 0\] = -0\.5"):
        SeededKMeans(2).fit(X, partial_labels=[[1, 0], [-0.5, 1.5], [0, 0], [0, 0]])
    with pytest.raises(InfeasibleError, match="3 classes, more than n_clusters=2"):
        SeededKMeans(2).fit(X, partial_labels=np.eye(4, 3))
    with pytest.raises(ConstraintError, match="no column"):
        ConstrainedKMeans(2).fit(X, partial_labels=np.zeros((4, 0)))
    with pytest.raises(InputError, match="3 rows of probabilities, X has 4"):
        SeededKMeans(2).fit(X, partial_labels=np.eye(3, 2))
    with pytest.raises(InputError, match="probabilities of classes are for SeededKMeans"):
        HMRFKMeans(2).fit(X, partial_labels=good)
    with pytest.raises(InputError, match="cannot be combined"):
        SeededKMeans(2).fit(X, partial_labels=good, must_link=[(0, 1)])


# ---------------------------------------------------------------------------------------------------------------------
# All of them


@pytest.mark.parametrize("estimator", FAMILY)
def test_every_parameter_is_described(estimator):
    told = inspect.getdoc(estimator)  # Python 3.13 takes the indentation away itself
    described = re.search(r"Parameters\n-+\n(.*?)\nAttributes\n", told, re.S).group(1)
    heads = re.findall(r"^(\w[\w, ]*?)(?: : |$)", described, re.M)
    named = [name for head in heads for name in head.split(", ")]
    assert sorted(named) == sorted(inspect.signature(estimator).parameters)
    assert "References" in told and re.search(r"\d{4}", told)


@pytest.mark.parametrize("estimator", FAMILY)
def test_a_warm_start_goes_on_where_the_last_fit_ended(estimator):
    rng = np.random.default_rng(0)
    X = np.repeat(np.eye(4) * 5, 25, axis=0) + rng.random((100, 4))
    model = estimator(4, random_state=0, n_init=3, warm_start=True).fit(X)
    labels, centers = model.labels_, model.cluster_centers_
    again = model.fit(X)
    np.testing.assert_array_equal(again.labels_, labels)
    np.testing.assert_allclose(again.cluster_centers_, centers, atol=1e-12)
    assert again.n_iter_ <= 2
    changed = X.copy()
    changed[[3, 30, 60, 90]] = X[[30, 60, 90, 3]]  # 4 % of the rows
    model.fit(changed)
    stay = np.setdiff1d(np.arange(100), [3, 30, 60, 90])
    np.testing.assert_array_equal(model.labels_[stay], labels[stay])
    model.fit(X[::2])  # fewer rows, same clusters
    np.testing.assert_array_equal(model.labels_, labels[::2])
    with pytest.raises(InputError, match="4 clusters and 4 features, but n_clusters=4 and X has 3 features"):
        model.fit(X[:, :3])
    np.testing.assert_array_equal(model.labels_, labels[::2])


def test_a_warm_start_keeps_what_was_learned():
    X = hmrf_fast.datasets.load("news_different_3").data
    model = HMRFKMeans(3, learn_weights=True, init="k-means++", n_init=2, random_state=0, warm_start=True)
    first = model.fit(X).objective_
    weights = model.feature_weights_
    assert model.fit(X).objective_history_[0] <= first * (1 + 1e-9)
    assert np.corrcoef(weights, model.feature_weights_)[0, 1] > 0.9
    model = HMRFKMeans(3, metric="i_divergence", n_init=2, random_state=0, warm_start=True).fit(X)
    assert model.fit(X).smoothing_ == model.smoothing_ <= 1e-3


def test_labels_that_are_kept_cannot_be_switched_off_or_merged_away():
    X = np.arange(8.0)[:, None]
    labels = [0, 1] + [-1] * 6
    with pytest.raises(InputError, match="weight 0 switches labels off"):
        ConstrainedKMeans(3).fit(X, constraints=Constraints([(3, 4)], partial_labels=labels, must_link_weight=0.0))
    model = ConstrainedKMeans(4, random_state=0, warm_start=True).fit(X, partial_labels=labels).merge(1, 2)
    with pytest.raises(InfeasibleError, match="classes 1 and 2 are kept apart, but both are cluster 1 since merging"):
        model.fit(X, partial_labels=[0, 1, 2] + [-1] * 5)


def test_probabilities_of_merged_classes_add_up():
    X, shares = np.arange(8.0)[:, None], np.zeros((8, 3))
    shares[0], shares[7] = [0.9, 0.1, 0], [0, 0, 1]
    model = ConstrainedKMeans(3, random_state=0, warm_start=True).fit(X, partial_labels=shares).merge(0, 1)
    shares[1] = [0, 1, 0]
    model.fit(X, partial_labels=shares)
    assert model.labels_[1] == 0 and model.objective_ == pytest.approx(model.inertia_)


def test_what_merged_clusters_cannot_hold_is_proven():
    X = np.arange(8.0)[:, None]
    model = COPKMeans(3, random_state=0, warm_start=True).fit(X).merge(0, 1)
    with pytest.raises(InfeasibleError, match=r"rows \[0, 1, 2\] are mutually hard cannot-linked") as error:
        model.fit(X, cannot_link=[(0, 1), (0, 2), (1, 2)])
    assert error.value.rows == (0, 1, 2)


@pytest.mark.parametrize("estimator", FAMILY)
@pytest.mark.parametrize(
    ("parameter", "value", "told"),
    [
        ("n_clusters", 10**30, "n_clusters must be at most 2147483647, got 1000"),
        ("dtype", "x", "dtype must be None, float32 or float64, got 'x'"),
        ("dtype", "int32", "dtype must be None, float32 or float64, got 'int32'"),
        ("init", None, "init must be a name, an array of 2 centers"),
        ("init", [[np.nan], [1.0]], "init must be a name, an array of 2 centers"),
        ("init", lambda X, K, random_state: None, "init must be a name, an array of 2 centers"),
        ("init", "uniform", "init must be one of"),
        ("random_state", "a", "random_state='a' is no seed"),
        ("random_state", -1, "random_state=-1 is no seed"),
        ("random_state", 1.5, r"random_state=1\.5 is no seed"),
        ("warm_start", "no", "warm_start must be True or False, got 'no'"),
    ],
)
def test_bad_parameters_are_refused_by_name(estimator, parameter, value, told):
    model = estimator(**{"n_clusters": 2, parameter: value})
    with pytest.raises(InputError, match=told):
        model.fit(1 + np.arange(6.0)[:, None])
    assert not hasattr(model, "labels_")
