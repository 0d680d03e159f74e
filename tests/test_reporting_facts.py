"""The numbers of a report, against plain NumPy."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from reporting_helpers import fitted
from sklearn.metrics import normalized_mutual_info_score

from hmrf_fast import ConstrainedKMeans, Constraints, HMRFKMeans, SphericalKMeans
from hmrf_fast.errors import ConstraintError, ContradictionWarning, InputError
from hmrf_fast.reporting.facts import gather
from hmrf_fast.reporting.layout import between, spread_out
from hmrf_fast.scores import pairwise_f_measure

METRICS = ("cosine", "i_divergence", "sqeuclidean", "pearson", "mahalanobis", "mahalanobis_diagonal")


@given(st.integers(0, 1000), st.sampled_from(("cosine", "i_divergence")))
def test_terms_of_counts(seed, metric):
    """Salience is weight times mean, lift the ratio of means, share the rows that hold the term."""
    model, X = fitted(seed=seed, metric=metric, learn_weights=seed % 2 == 0)
    facts = gather(model, X)
    norm = np.sqrt((X**2).sum(axis=1)) if metric == "cosine" else X.sum(axis=1)
    rows = X / norm[:, None]
    for cluster in range(3):
        members = rows[model.labels_ == cluster]
        told = facts.terms[cluster]
        if not len(members):
            assert told.by_weight == told.by_lift == ()
            continue
        salience = model.feature_weights_ * members.mean(axis=0)
        expected = np.sort(salience[members.any(axis=0)])[::-1]
        np.testing.assert_allclose([term.salience for term in told.by_weight], expected[:12], rtol=1e-9)
        for term in (*told.by_weight, *told.by_lift):
            column = members[:, term.feature]
            np.testing.assert_allclose(term.salience, salience[term.feature], rtol=1e-9)
            np.testing.assert_allclose(term.lift, column.mean() / rows[:, term.feature].mean(), rtol=1e-9)
            np.testing.assert_allclose(term.share, np.mean(column > 0), rtol=1e-12)
        lifts = [term.lift for term in told.by_lift]
        assert np.all(np.diff(lifts) <= 1e-8 * lifts[0])


@pytest.mark.parametrize("metric", ["sqeuclidean", "pearson"])
def test_terms_of_measurements_are_differences(metric):
    model, X = fitted(metric=metric)
    facts = gather(model, X)
    rows = X
    if metric == "pearson":
        rows = X / np.linalg.norm(X - X.mean(axis=1, keepdims=True), axis=1, keepdims=True)
    assert facts.centred
    for cluster in range(3):
        difference = rows[model.labels_ == cluster].mean(axis=0) - rows.mean(axis=0)
        by_lift = facts.terms[cluster].by_lift
        lifts = difference / rows.std(axis=0)
        assert [term.feature for term in by_lift] == np.argsort(-np.abs(lifts), kind="stable").tolist()
        np.testing.assert_allclose([term.lift for term in by_lift], lifts[[term.feature for term in by_lift]])


@pytest.mark.parametrize("metric", METRICS)
def test_examples_are_the_nearest_and_the_farthest_rows(metric):
    model, X = fitted(metric=metric)
    distances = model.transform(X)
    for cluster, told in enumerate(gather(model, X).examples):
        members = np.flatnonzero(model.labels_ == cluster)
        order = members[np.argsort(distances[members, cluster], kind="stable")]
        assert [one.row for one in told.near] == order[:3].tolist()
        assert [one.row for one in told.far] == order[::-1][: len(told.far)].tolist()
        for one in (*told.near, *told.far):
            np.testing.assert_allclose(one.distance, distances[one.row, cluster])
            assert one.nearest == distances[one.row].argmin()


@given(st.integers(0, 1000), st.integers(1, 4))
def test_links_and_their_strain(seed, n_clusters):
    """Every way to place two rows, tried."""
    model, X = fitted(seed=seed, n_clusters=n_clusters)
    facts, distances = gather(model, X).constraints, model.transform(X)
    pairs = {"must-link": model.constraints_.must_link, "cannot-link": model.constraints_.cannot_link}
    assert {(one.kind, one.first, one.second) for one in facts.given} == {
        (kind, *pair) for kind, rows in pairs.items() for pair in rows.tolist()
    }
    for link in facts.given:
        together = link.kind == "must-link"
        assert link.violated == ((model.labels_[link.first] == model.labels_[link.second]) != together)
        cost = distances[link.first][:, None] + distances[link.second][None, :]
        allowed = np.eye(n_clusters, dtype=bool) == together
        best = cost[allowed].min() if allowed.any() else np.inf
        np.testing.assert_allclose(link.strain, best - cost.min(), atol=1e-9)
    assert len(facts.violated) == min(50, sum(one.violated for one in facts.given))
    assert facts.n_suspects == sum(one.strain > 0 for one in facts.given)
    strains = [one.strain for one in facts.suspects]
    assert strains == sorted(strains, reverse=True)
    held = np.zeros(len(X), bool)
    for rows in pairs.values():
        held[rows.ravel()] = True
    np.testing.assert_array_equal(facts.constrained, held)


def test_violated_pairs_of_groups_and_classes_name_their_source():
    rng = np.random.default_rng(3)
    X = np.abs(rng.normal(size=(40, 5)))
    known = Constraints(
        must_link_groups=np.arange(40) % 8, cannot_link_groups=[f"s{row // 4}" for row in range(40)],
        partial_labels=np.where(np.arange(40) < 12, np.arange(40) % 2, -1), must_link_weight=1e-9,
        cannot_link_weight=1e-9,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContradictionWarning)
        model = HMRFKMeans(3, init="k-means++", n_init=1, random_state=0).fit(X, constraints=known)
    facts = gather(model, X).constraints
    labels = model.labels_
    assert facts.violated
    for link in facts.violated:
        a, b = link.first, link.second
        assert (labels[a] == labels[b]) == (link.kind == "cannot-link")
        noun, _, names = link.source.partition(" ")
        if noun == "classes":
            assert names == f"{a % 2} and {b % 2}" and a % 2 != b % 2
        elif noun == "class":
            assert a % 2 == b % 2 == int(names)
        elif link.kind == "must-link":
            assert a % 8 == b % 8 == int(names)
        else:
            assert a // 4 == b // 4 and names == f"'s{a // 4}'"
    assert facts.contradictions and facts.report.n_contradictions >= len(facts.contradictions)
    assert facts.constrained.all()


def test_agreement_counts_rows_of_known_class():
    model, X = fitted(n_pairs=10)
    classes = np.array([None if row % 7 == 0 else "ab"[row % 2] for row in range(60)], dtype=object)
    found = gather(model, X, labels=classes).agreement
    known = np.array([name is not None for name in classes])
    assert found.classes == ("a", "b")
    for cluster in range(3):
        inside = known & (model.labels_ == cluster)
        assert found.table[cluster].tolist() == [np.sum(classes[inside] == name) for name in "ab"]
    truth = classes[known].astype(str)
    np.testing.assert_allclose(found.all_rows.nmi, normalized_mutual_info_score(truth, model.labels_[known]))
    np.testing.assert_allclose(found.all_rows.f_measure, pairwise_f_measure(truth, model.labels_[known]))
    free = known.copy()
    free[np.concatenate([model.constraints_.must_link, model.constraints_.cannot_link]).ravel()] = False
    assert found.free_rows.n_rows == free.sum() < found.all_rows.n_rows == known.sum()


def test_the_plane_of_three_clusters_keeps_their_centroids_apart():
    """Between centroids, distances in the plane are the distances of their means in all dimensions."""
    model, X = fitted(n_pairs=0)
    drawn = gather(model, X).map
    assert drawn.plane and drawn.rows.tolist() == list(range(60)) and drawn.links == ()
    rows = X / np.linalg.norm(X, axis=1, keepdims=True)
    held = np.unique(model.labels_)
    means = np.array([rows[model.labels_ == cluster].mean(axis=0) for cluster in held])
    flat = np.array([drawn.xy[model.labels_ == cluster].mean(axis=0) for cluster in held])
    apart = np.linalg.norm(means[:, None] - means[None], axis=2)
    np.testing.assert_allclose(np.linalg.norm(flat[:, None] - flat[None], axis=2), apart, atol=1e-9)


@pytest.mark.parametrize("n_clusters", [1, 2])
def test_directions_that_centroids_lack_come_from_the_rows(n_clusters):
    model, X = fitted(n_clusters=n_clusters, metric="sqeuclidean", n_pairs=0)
    xy = gather(model, X).map.xy
    centred = X - X.mean(axis=0)
    if n_clusters == 2:
        first, second = (X[model.labels_ == cluster].mean(axis=0) for cluster in (0, 1))
        axis = (first - second) / np.linalg.norm(first - second)
        np.testing.assert_allclose(np.abs(np.corrcoef(xy[:, 0], centred @ axis)[0, 1]), 1.0)
        centred = centred - np.outer(centred @ axis, axis)
    values = np.linalg.svd(centred, compute_uv=False) ** 2
    drawn = (xy[:, n_clusters - 1 :] ** 2).sum(axis=0)
    np.testing.assert_allclose(drawn, values[: drawn.size], rtol=1e-6)


def test_many_clusters_are_laid_out_by_their_distances():
    """Points that fit into a plane are found again; a typical row is pulled to its own centroid by 0.6."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(12, 2))
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    places = spread_out(distances, points + 0.1 * rng.normal(size=points.shape))
    np.testing.assert_allclose(np.linalg.norm(places[:, None] - places[None], axis=2), distances, atol=0.02)
    rows, own = rng.normal(size=(50, 12)), rng.integers(12, size=50)
    rows[np.arange(50), own] += 4.0
    share = between(rows, own, np.eye(12))  # with centroids at the corners of a simplex, places are the shares
    np.testing.assert_allclose(share.sum(axis=1), 1.0)
    np.testing.assert_array_equal(share.argmax(axis=1), rows.argmax(axis=1))
    np.testing.assert_allclose(np.median(share[np.arange(50), own]), 0.6, atol=1e-6)


def test_large_data_are_sampled_with_the_ends_of_constraints():
    rng = np.random.default_rng(1)
    X = sp.random(5000, 60, density=0.3, random_state=1, format="csr")
    pairs = [(int(a), int(b)) for a, b in rng.integers(5000, size=(40, 2)) if a != b]
    model = HMRFKMeans(12, init="k-means++", n_init=1, random_state=0).fit(X, cannot_link=pairs)
    drawn = gather(model, X).map
    assert drawn.rows.size == 2000 and not drawn.plane and np.isfinite(drawn.xy).all()
    ends = {tuple(sorted((int(drawn.rows[a]), int(drawn.rows[b])))) for a, b, _ in drawn.links}
    assert ends == {tuple(sorted(pair)) for pair in pairs}
    np.testing.assert_array_equal(drawn.labels, model.labels_[drawn.rows])
    again = gather(model.set_params(n_threads=1), X).map
    np.testing.assert_array_equal(drawn.xy, again.xy)


def test_learned_weights_of_features_that_occur():
    model, X = fitted(learn_weights=True, n_pairs=30)
    X[:, 3] = 0
    model.fit(X, must_link=model.constraints_.must_link)
    weights = gather(model, X, feature_names=[f"t{k}" for k in range(12)]).weights
    values = {f"t{k}": value for k, value in enumerate(model.feature_weights_) if k != 3}
    assert weights.learned
    assert dict(weights.highest) | dict(weights.lowest) == pytest.approx(values)
    assert weights.highest[0][1] == max(values.values()) and weights.lowest[0][1] == min(values.values())


def test_what_the_model_still_holds_is_enough():
    model, _ = fitted()
    facts = gather(model)
    np.testing.assert_array_equal(facts.history, model.objective_history_)
    assert facts.steps == model.history_steps_ and facts.terms[0].by_weight[0].name.startswith("feature ")
    assert facts.sizes.tolist() == np.bincount(model.labels_, minlength=3).tolist()
    with pytest.raises(InputError, match="its rows stayed behind: pass them as X"):
        gather(pickle.loads(pickle.dumps(model)))


def test_data_frames_name_their_features():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    model, X = fitted()
    frame = pandas.DataFrame(X, columns=[f"word{k}" for k in range(12)], index=np.arange(60)[::-1])
    facts = gather(model.set_output(transform="pandas").fit(frame), texts=frame["word0"])
    assert facts.terms[0].by_weight[0].name.startswith("word")
    assert facts.names.text(7) == str(X[7, 0])


def test_merged_clusters_are_gone():
    model, X = fitted(n_pairs=0)
    facts = gather(model.merge(0, 1), X)
    assert 1 not in facts.order and facts.sizes[1] == 0
    assert all(one.nearest != 1 for told in facts.examples for one in (*told.near, *told.far))


@pytest.mark.parametrize("estimator", [SphericalKMeans, ConstrainedKMeans])
def test_every_estimator_can_be_reported(estimator):
    _, X = fitted()
    known = {} if estimator is SphericalKMeans else {"partial_labels": [0, 1, 2] + [-1] * 57}
    facts = gather(estimator(3, random_state=0).fit(X, **known), X)
    assert facts.order.size == 3


def test_what_does_not_fit_is_refused():
    model, X = fitted()
    with pytest.raises(InputError, match="X has 59 rows, but the model was fitted to 60"):
        gather(model, X[:59])
    with pytest.raises(InputError, match="feature_names has 3 entries, but X has 12 features"):
        gather(model, X, feature_names=["a", "b", "c"])
    with pytest.raises(InputError, match="texts has 1 entries, but X has 60 rows"):
        gather(model, X, texts=["only one"])
    with pytest.raises(InputError, match="ids must be a sequence with one entry per row, got one string"):
        gather(model, X, ids="ids.csv")
    with pytest.raises(ConstraintError, match=r"labels\[0\] = 0.5 is not an integer"):
        gather(model, X, labels=np.full(60, 0.5))
