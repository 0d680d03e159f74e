"""Whole fits: J never rises, the published state agrees with itself, and plain data give plain k-means."""

from __future__ import annotations

import warnings

import numpy as np
import oracle
import pytest
from engine_helpers import Instance, assert_near, constraints_of, entailed_pairs, examples, instances, problem_of
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse
from strategies import csr_matrices, pair_lists, random_states

from hmrf_fast import datasets, em
from hmrf_fast.constraints import Constraints
from hmrf_fast.errors import ConvergenceWarning, EmptyClusterWarning, EmptyRowsWarning, HMRFError, HMRFWarning
from hmrf_fast.hmrf_kmeans import HMRFKMeans

INITS = ("auto", "low_rank", "neighborhoods", "k-means++", "random", "printed")
DTYPES = (np.float64, np.float32)


def fitted(X, constraints=None, sample_weight=None, **parameters):
    """A fit whose typed warnings are of no interest."""
    model = HMRFKMeans(**({"random_state": 0, "n_init": 1} | parameters))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HMRFWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, constraints=constraints, sample_weight=sample_weight)


@st.composite
def fits(draw, constrained=None):
    """An instance with constraints or without, and parameters for the estimator."""
    case = draw(instances(n=(14, 30), d=(11, 25), K=(1, 5), zeros=True))
    learn, init = draw(st.booleans()), draw(st.sampled_from(INITS))
    if np.count_nonzero(np.diff(case.X.indptr) * case.sample_weight) < 11 and init == "low_rank":
        init = "auto"  # too few rows that count: refused when asked for by name
    parameters = {
        "n_clusters": case.K,
        "metric": case.metric,
        "learn_weights": learn,
        "weight_prior": draw(st.sampled_from([None, None, 0.01, 1.0])) if learn else None,
        "penalty": "distance" if learn else draw(st.sampled_from(["distance", "potts"])),
        "e_step": draw(st.sampled_from(["icm", "block_icm"])),
        "init": init,
        "infer_constraints": draw(st.booleans()),
        "smoothing": draw(st.sampled_from([1e-3, 1.0])),
        "max_iter": draw(st.sampled_from([1, 3, 60])),
        "dtype": draw(st.sampled_from(DTYPES)),
    }
    more = draw(st.booleans()) if constrained is None else constrained
    pairs = draw(pair_lists(case.X.shape[0], min_size=1, max_size=25)) if more else []
    return case._replace(pairs=pairs, X=case.X.astype(parameters["dtype"]).astype(np.float64)), parameters


def fit_case(case, parameters):
    return fitted(case.X, constraints_of(case.pairs) if case.pairs else None, case.sample_weight, **parameters)


def assert_never_rises(model, dtype):
    """Between any two sub-steps."""
    history = model.objective_history_
    assert np.isfinite(history).all()
    tolerance = (1e-9 if dtype == np.float64 else 1e-6) * max(1.0, np.abs(history).max())
    rises = np.diff(history)
    steps = list(zip(model.history_steps_[1:], rises, strict=True))
    assert (rises <= tolerance).all(), [step for step in steps if step[1] > tolerance]
    assert model.objective_ == history[-1]


# ---------------------------------------------------------------------------------------------------------------------
# J never rises


@examples(80)
@given(fits())
def test_objective_never_rises(drawn):
    case, parameters = drawn
    assert_never_rises(fit_case(case, parameters), parameters["dtype"])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("learn", [False, True])
@pytest.mark.parametrize("metric", oracle.METRICS)
def test_objective_never_rises_on_real_data(metric, learn, dtype):
    name = "iris" if metric == "sqeuclidean" else "news_different_3"
    values = {"i_divergence": "counts", "sqeuclidean": None}.get(metric, "tfidf")
    X, y = datasets.load(name, values=values, dtype=dtype, return_X_y=True)
    rng = np.random.default_rng(0)
    pairs = np.array([rng.choice(y.size, 2, replace=False) for _ in range(60)])
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    for given_constraints in (None, Constraints(pairs[same], pairs[~same])):
        model = fitted(X, given_constraints, n_clusters=3, metric=metric, learn_weights=learn)
        assert_never_rises(model, dtype)
        assert len(model.objective_history_) >= 3


# ---------------------------------------------------------------------------------------------------------------------
# The published state


def prior_of(case, parameters):
    """What the estimator adds to J for its weights."""
    total, strength = case.sample_weight.sum(), parameters["weight_prior"]
    if not parameters["learn_weights"]:
        return None
    if strength is not None:
        return "rayleigh", strength * total
    automatic = {"i_divergence": ("rayleigh", total / case.X.shape[1]), "sqeuclidean": ("log_det", total)}
    return automatic.get(case.metric)


@examples(40)
@given(fits())
def test_objective_is_recomputed_from_the_published_state(drawn):
    case, parameters = drawn
    model = fit_case(case, parameters)
    pairs = entailed_pairs(case.X.shape[0], case.pairs) if parameters["infer_constraints"] else case.pairs
    expected = oracle.objective(
        case.rows, model.labels_, model.cluster_centers_, model.feature_weights_, case.metric, pairs,
        case.sample_weight, model.smoothing_, parameters["penalty"], prior_of(case, parameters),
    )  # fmt: skip
    # The centroids belong to the labels of the iteration before, hence to no rounding of their own.
    assert_near(model.objective_, expected, 1e-9)


@examples(40)
@given(fits())
def test_centers_of_a_converged_fit_minimise(drawn):
    case, parameters = drawn
    parameters |= {"learn_weights": False, "max_iter": 200}
    model = fit_case(case, parameters)
    assume(model.converged_)
    held = np.bincount(model.labels_, case.sample_weight, case.K) > 0
    expected = oracle.centroids(
        case.rows, model.labels_, case.K, model.feature_weights_, case.metric, case.sample_weight, model.smoothing_
    )
    assert_near(model.cluster_centers_[held], expected[held], 1e-9)


@examples(40)
@given(fits(constrained=False))
def test_predict_repeats_the_labels_of_unconstrained_fits(drawn):
    """Bit for bit, also where max_iter ended the fit, with learned weights and in float32."""
    case, parameters = drawn
    model = fit_case(case, parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyRowsWarning)
        assert np.array_equal(model.predict(case.X), model.labels_)


@examples(40)
@given(fits())
def test_state_is_well_formed(drawn):
    case, parameters = drawn
    model = fit_case(case, parameters)
    assert model.labels_.shape == (case.X.shape[0],)
    assert 0 <= model.labels_.min() and model.labels_.max() < case.K
    assert np.isfinite(model.cluster_centers_).all()
    assert (model.feature_weights_ > 0).all()
    assert model.n_iter_ <= parameters["max_iter"]


# ---------------------------------------------------------------------------------------------------------------------
# Plain k-means


@pytest.mark.parametrize("metric", ["cosine", "sqeuclidean"])
@examples(40)
@given(X=csr_matrices(n=(5, 30), d=(2, 10), zero_rows=False), K=st.integers(1, 5), rng=random_states())
def test_without_constraints_it_is_plain_kmeans(metric, X, K, rng):
    start = X.toarray()[rng.choice(X.shape[0], K, replace=False)]
    unit = start / np.linalg.norm(start, axis=1, keepdims=True)
    assume(len(np.unique(unit.round(9), axis=0)) == K)  # between equal directions rounding would choose
    model = fitted(X, n_clusters=K, metric=metric, init=start, tol=0.0, max_iter=200)
    assume("refill" not in model.history_steps_)  # the plain loops leave an empty cluster empty
    plain = oracle.plain_spherical_kmeans if metric == "cosine" else oracle.plain_kmeans
    assert np.array_equal(model.labels_, plain(X.toarray(), start, max_iter=200))
    assert model.converged_


# ---------------------------------------------------------------------------------------------------------------------
# Empty clusters


@pytest.mark.parametrize("max_iter", [1, 2, 10])
def test_emptied_clusters_are_refilled_consistently(max_iter):
    """Two of the three first centroids attract no row."""
    X, init = [[1.0], [2.0], [3.0]], [[4.0], [0.0], [1.0]]
    model = fitted(X, n_clusters=3, metric="sqeuclidean", init=init, tol=0.0, max_iter=max_iter)
    assert np.array_equal(model.predict(X), model.labels_)
    rows = np.array(X)
    again = oracle.objective(rows, model.labels_, model.cluster_centers_, np.ones(1), "sqeuclidean")
    assert model.objective_ == pytest.approx(again, abs=1e-12)
    if max_iter == 10:
        assert sorted(model.labels_) == [0, 1, 2]
        assert model.objective_ == 0.0


@examples(40)
@given(instances(n=(6, 15), d=(3, 6), K=(2, 4), zero_rows=False, max_pairs=6), random_states())
def test_equal_first_centroids_leave_no_cluster_empty(case, rng):
    """All rows distinct under the metric: a cluster can always be filled, whatever the start."""
    rows = case.rows
    if case.metric in ("cosine", "pearson"):
        assume(rows.any(axis=1).all())
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assume(len(np.unique(rows.round(9), axis=0)) == case.X.shape[0])
    start = np.repeat(case.X.toarray()[:1], case.K, axis=0)
    start[1:] += 1e-3 * rng.random(start[1:].shape)
    model = fitted(case.X, n_clusters=case.K, metric=case.metric, init=start, max_iter=100)
    assert_never_rises(model, np.float64)
    assert np.unique(model.labels_).size == case.K


@examples(40)
@given(instances(n=(6, 15), d=(3, 6), K=(2, 4), zero_rows=False), st.booleans())
def test_refilling_moves_must_linked_rows_together(case, infer):
    """Tearing a neighbourhood apart to fill a cluster would raise J."""
    pairs = [(i, i + 1, oracle.MUST_LINK, 5.0) for i in range(0, case.X.shape[0] - 1, 3)]
    start = np.repeat(case.X.toarray()[:1], case.K, axis=0)
    told = {"n_clusters": case.K, "metric": case.metric, "penalty": "potts", "infer_constraints": infer}
    assert_never_rises(fitted(case.X, constraints_of(pairs), init=start, **told), np.float64)


@pytest.mark.parametrize("metric", oracle.METRICS)
def test_more_clusters_than_distinct_rows_warns(metric):
    X = np.array([[1.0, 2.0, 0.0]] * 4 + [[0.0, 1.0, 3.0]] * 3)
    model = HMRFKMeans(4, metric=metric, random_state=0)
    with pytest.warns(EmptyClusterWarning, match="only 2 of n_clusters=4 clusters hold rows"):
        model.fit(X)
    assert np.unique(model.labels_).size == 2
    assert np.isfinite(model.cluster_centers_).all()
    assert np.array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("given_pairs", [{}, {"must_link": [(2, 3)]}, {"cannot_link": [(2, 3)]}])
def test_rows_infinitely_far_from_every_centroid(given_pairs):
    """Without smoothing a first centroid that lacks a row's features is infinitely far: soft constraints still hold."""
    X = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 1, 0, 0]])
    model = HMRFKMeans(2, metric="i_divergence", smoothing=0.0, init=X[:2]).fit(X, **given_pairs)
    assert np.isfinite(model.objective_)
    assert np.isfinite(model.cluster_centers_).all()


# ---------------------------------------------------------------------------------------------------------------------
# Failed fits


HARD = {"must_link_weight": np.inf, "cannot_link_weight": np.inf}
FAILURES = {
    "non-finite value": ([[1.0, np.nan]] * 4, {}, {}),
    "too few rows": ([[1.0, 2.0, 3.0]], {}, {}),
    "contradiction": (np.eye(4), HARD, {"must_link": [(0, 1)], "cannot_link": [(0, 1)]}),
    "infeasible": (np.eye(4), HARD, {"cannot_link": [(0, 1), (0, 2), (1, 2)]}),
    "row out of range": (np.eye(4), {}, {"must_link": [(0, 9)]}),
    "parameter": (np.eye(4), {"tol": -1.0}, {}),
    "weights": (np.eye(4), {}, {"sample_weight": [-1.0, 1.0, 1.0, 1.0]}),
    "start": (np.eye(4), {"init": np.eye(3)}, {}),
}


@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("before", [False, True])
def test_failed_fits_change_nothing(name, before):
    X, parameters, arguments = FAILURES[name]
    model = HMRFKMeans(2, metric="cosine", random_state=0)
    if before:
        model.fit(np.array([[1.0, 0.0], [2.0, 0.1], [0.0, 1.0], [0.1, 1.0]]))
    model.set_params(**parameters)
    state = dict(vars(model))
    with pytest.raises((HMRFError, ValueError)):
        model.fit(X, **arguments)
    assert vars(model) == state  # the very same objects
    assert hasattr(model, "labels_") == before


def test_interrupted_fits_change_nothing():
    def stop(state):
        raise KeyboardInterrupt

    model = HMRFKMeans(2, random_state=0, callback=stop)
    state = dict(vars(model))
    with pytest.raises(KeyboardInterrupt):
        model.fit(np.eye(5))
    assert vars(model) == state


def test_four_points_under_a_heavy_must_link():
    """The optimum needs two rows moved together; single moves end at 88.667."""
    X = sparse.csr_matrix([[0.0], [1.0], [10.0], [12.0]])
    known = {weight: Constraints([(0, 3)], must_link_weight=[weight]) for weight in (60.0, 1000.0)}
    told = {"n_clusters": 2, "metric": "sqeuclidean", "penalty": "potts", "n_init": 20}
    heavy, light = fitted(X, known[1000.0], **told), fitted(X, known[60.0], **told)
    assert heavy.objective_ == pytest.approx(248.0 / 3.0)
    assert (heavy.labels_ == heavy.labels_[0]).tolist() == [True, False, True, True]
    assert light.objective_ == pytest.approx(62.5)
    assert (light.labels_ == light.labels_[0]).tolist() == [True, True, False, False]


def test_rows_that_fit_perfectly_converge():
    """All that is left of J is rounding, which has no relative size, and decides whether a third cluster gets a row."""
    X = np.random.default_rng(0).random((40, 2)) + np.array([0.0, 1.0])  # centred, each is one of two directions
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyClusterWarning)
        model = HMRFKMeans(3, metric="pearson", n_init=1, random_state=0, tol=1e-4).fit(X[:30], must_link=[(0, 1)])
    assert model.converged_ and abs(model.inertia_) < 1e-12


def test_merged_clusters_start_where_the_others_are():
    """First centroids may come from anywhere; those of clusters that were merged away must draw no row."""
    X = sparse.csr_matrix([[0.0, 1.0], [0.0, 2.0], [5.0, 0.0], [9.0, 0.0]])
    case = Instance(X, "sqeuclidean", 3, np.zeros(4, np.int32), np.ones(2), np.ones(4), [])
    problem = problem_of(case)._replace(merged=np.array([0, 1, 0], np.int32))
    centers = np.array([[0.0, 1.0], [6.0, 0.0], [9.0, 0.0]])
    result = em.run(problem, em.Start(centers, None), em.Options(max_iter=1), 0)
    assert result.labels.tolist() == [0, 0, 1, 1] and result.steps[0] == "E"
    assert result.history[0] == 1.0 + 1.0 + 9.0
