"""Whatever goes in, what comes out is a typed error, or a result that holds what is promised.

The profile says how many examples there are: ``HYPOTHESIS_PROFILE=nightly pytest tests/test_fuzzed_fits.py`` runs
20,000 that are new each time.
"""

from __future__ import annotations

import warnings

import numpy as np
from engine_helpers import busy_threads
from fuzzing.fits import STORAGES, Case, cases
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from hmrf_fast import ConstrainedKMeans, COPKMeans, SeededKMeans, SphericalKMeans
from hmrf_fast.errors import EmptyRowsWarning, HMRFError

COUNT = 5 * settings.default.max_examples
PUBLISHED = ("labels_", "cluster_centers_", "feature_weights_", "objective_history_", "n_iter_")


@settings(max_examples=COUNT, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(case=cases(), variant=st.sampled_from(("threads", "storage", "order", "rows", "names", "error")))
def test_any_fit(case, variant):
    note(f"{case}")
    model = case.fit()
    if isinstance(model, HMRFError):
        again = case.fit()
        assert type(again) is type(model) and str(again) == str(model)
        return
    check_result(case, model)
    check_constraints(case, model)
    check_prediction(case, model)
    VARIANTS[variant](case, model)


def check_result(case: Case, model) -> None:
    """Labels in range, numbers that are numbers, an objective that never rises."""
    n, K = len(case.X), case.parameters["n_clusters"]
    assert model.labels_.shape == (n,) and model.labels_.dtype == np.int32
    assert model.labels_.min() >= 0 and model.labels_.max() < K
    assert model.cluster_centers_.shape == (K, case.X.shape[1])
    for name in ("cluster_centers_", "feature_weights_", "smoothing_"):
        assert np.isfinite(getattr(model, name)).all(), name
    assert (model.feature_weights_ > 0).all()
    history = model.objective_history_
    assert not np.isnan(history).any()
    unsmoothed = case.parameters.get("metric") == "i_divergence" and case.parameters["smoothing"] == 0.0
    assert unsmoothed or (np.isfinite(history).all() and np.isfinite(model.inertia_))
    finite = history[np.isfinite(history)]
    assert np.isfinite(history[::-1]).argmin() in (0, finite.size)  # once it is finite it stays so
    assert np.all(np.diff(finite) <= noise(case, model)), np.diff(finite).max()


def noise(case: Case, model) -> float:
    """What rounding may add to J: distances are differences of numbers as large as the squared rows."""
    weight = 1.0 if case.weight is None else case.weight
    square = float((np.square(case.X) * np.max(model.feature_weights_)).sum(axis=1).max(initial=0.0))
    size = square if case.parameters.get("metric") == "sqeuclidean" else 1.0 + np.max(model.feature_weights_)
    prices = [abs(w) for *_, w in (*case.known.must, *case.known.cannot) if np.isfinite(w)]
    return 1e-9 * (np.sum(np.broadcast_to(weight, len(case.X))) + 10.0 * sum(prices) + 1.0) * size


def check_constraints(case: Case, model) -> None:
    """Hard constraints hold, unless they were doubted."""
    labels, inf = model.labels_, np.inf
    always = case.kind in (COPKMeans, ConstrainedKMeans)
    given = {kind: case.parameters.get(f"{kind}_link_weight", 1.0) for kind in ("must", "cannot")}
    if case.kind in (SphericalKMeans, SeededKMeans) or model.constraint_report_.suspects:
        return
    for i, j, w in case.known.must:
        if w > 0 and (always or (given["must"] > 0 and inf in (w, given["must"]))):
            assert labels[i] == labels[j]
    for i, j, w in case.known.cannot:
        if w > 0 and (always or (given["cannot"] > 0 and inf in (w, given["cannot"]))):
            assert labels[i] != labels[j]
    known = case.known.labels
    if known is not None and case.kind is ConstrainedKMeans:
        _, codes = np.unique(known[known >= 0], return_inverse=True)
        np.testing.assert_array_equal(labels[known >= 0], codes)


def check_prediction(case: Case, model) -> None:
    """Distances are numbers, and rows that no constraint names are where they are nearest."""
    distances = model.transform(case.X)
    assert not np.isnan(distances).any()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyRowsWarning)
        np.testing.assert_array_equal(model.predict(case.X), model.predict(case.X.copy()))
    free = np.ones(len(case.X), bool)
    free[[i for pair in (*case.known.must, *case.known.cannot) for i in pair[:2]]] = False
    for named in (case.known.labels, case.known.groups):
        free &= True if named is None else named < 0
    if model.history_steps_[-1] == "refill":
        return
    rows = np.flatnonzero(free)
    own, least = distances[rows, model.labels_[rows]], distances[rows].min(axis=1)
    same = own == least
    single = case.parameters["dtype"] is np.float32
    size = 1.0 + np.abs(np.where(np.isfinite(distances[rows]), distances[rows], 0.0)).max(axis=1, initial=0.0)
    if case.parameters.get("metric") == "sqeuclidean":
        size = size + (np.square(case.X) * model.feature_weights_).sum(axis=1).max()
    own, least, size = own[~same], least[~same], size[~same]
    assert np.all(own - least <= (1e-5 if single else 1e-7) * size), (own - least, size)


def assert_same(first, second) -> None:
    """Bit for bit."""
    assert type(first) is type(second), (first, second)
    if isinstance(first, HMRFError):
        assert str(first) == str(second)
        return
    for name in PUBLISHED:
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)


def vary_threads(case: Case, model) -> None:
    with busy_threads(5):  # sums are added along chunks, whatever the number of threads
        assert_same(case.fit(n_threads=1), case.fit(n_threads=3))


def vary_storage(case: Case, model) -> None:
    for storage in STORAGES:
        assert_same(model, case.fit(storage(case.X)))


def vary_order(case: Case, model) -> None:
    assert_same(model, case.fit(known=case.known.given(flip=True)))


def vary_rows(case: Case, model) -> None:
    """Only where nothing is tied: then labels of permuted rows are the permuted labels, up to their numbers."""
    if not case.general or model.n_iter_ == 0:
        return
    order = np.random.default_rng(0).permutation(len(case.X))
    rank = np.argsort(order)
    weight = None if case.weight is None else case.weight[order]
    moved = case.fit(case.X[order], case.known.given(lambda i: int(rank[i]), order), weight)
    assert not isinstance(moved, HMRFError), moved
    one, other = model.labels_[order], moved.labels_
    pairs = set(zip(one.tolist(), other.tolist(), strict=True))
    assert len(pairs) == len(set(one.tolist())) == len(set(other.tolist())), (one, other)


def vary_names(case: Case, model) -> None:
    labels = case.known.labels
    if labels is None:
        return
    renamed = case.known._replace(labels=np.where(labels >= 0, 10 * labels + 7, -1))
    assert_same(model, case.fit(known=renamed.given()))


def vary_nothing(case: Case, model) -> None:
    assert_same(model, case.fit())


VARIANTS = {
    "threads": vary_threads,
    "storage": vary_storage,
    "order": vary_order,
    "rows": vary_rows,
    "names": vary_names,
    "error": vary_nothing,
}
