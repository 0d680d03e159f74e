"""What is asked for rarely, or cannot be had: refused before anything is changed, or done as it is everywhere else."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from commands import run_command

from hmrf_fast import ConstrainedKMeans, HMRFKMeans, rows
from hmrf_fast.active import SuperInstances
from hmrf_fast.app.naming import Naming
from hmrf_fast.errors import CheckpointError, ConstraintError, InputError
from hmrf_fast.io import DataSet

RNG = np.random.default_rng(8)
X = RNG.random((60, 6)) + 0.05
PAIRS = {"must_link": [(0, 1), (4, 9)], "cannot_link": [(0, 20), (3, 7)]}


def model(n_clusters=3, **more):
    return HMRFKMeans(n_clusters, **{"random_state": 0, "n_init": 1, "init": "k-means++", "max_iter": 30, **more})


def run(*arguments, code=0, cwd=None, text=""):
    done = run_command(*arguments, cwd=cwd, text=text)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_a_model_forgets_the_classes_of_an_earlier_fit():
    fitted = model().fit(X, partial_labels=["b", "a", *[None] * 58])
    assert fitted.classes_.tolist() == ["a", "b"]
    assert not hasattr(fitted.fit(X, **PAIRS), "classes_")


def test_a_warm_start_under_another_metric_takes_the_centroids_only():
    """Weights learned for one distance mean nothing to another."""
    first = model(metric="sqeuclidean", learn_weights=True, warm_start=True).fit(X, **PAIRS)
    assert np.ptp(first.feature_weights_) > 0
    start = first.cluster_centers_
    again = first.set_params(metric="cosine", learn_weights=False).fit(X, **PAIRS)
    assert np.array_equal(again.feature_weights_, np.ones(6))
    expected = model(metric="cosine", init=start).fit(X, **PAIRS)
    assert np.mean(again.labels_ == expected.labels_) == 1.0


@pytest.mark.parametrize("value", [1e300, -1e300, np.inf, np.nan])
def test_first_centroids_beyond_all_rows(value):
    init = X[:3].copy()
    init[1, 2] = value
    estimator = model(init=init)
    with pytest.raises(InputError, match=r"centers|init"):
        estimator.fit(X)
    assert not hasattr(estimator, "labels_")


def test_a_rate_of_ones_own():
    """Steps that are too short to matter leave the weights where they were."""
    found = [model(learn_weights=True, learning_rate=rate).fit(X, **PAIRS).feature_weights_ for rate in (1e-9, None)]
    assert np.allclose(found[0], 1.0, atol=1e-6) and not np.allclose(found[1], 1.0, atol=1e-3)


def test_shares_of_classes_that_are_ragged():
    with pytest.raises(ConstraintError, match="some entries are sequences"):
        ConstrainedKMeans(2, random_state=0).fit(X, partial_labels=[[0.5, 0.5], [1.0], *[[0.2, 0.8]] * 58])


def test_stores_are_clustered_in_the_precision_they_have(tmp_path):
    store = rows.write_matrix(tmp_path / "store", X)
    with pytest.raises(InputError, match="dtype=float32, but the rows of X are float64; store them in that precision"):
        model(dtype=np.float32).fit(store)
    assert np.array_equal(model(dtype=np.float64).fit(store).labels_, model().fit(X).labels_)


def test_stores_without_rows(tmp_path):
    with pytest.raises(InputError, match=r"shape \(0, 6\): nothing to cluster"):
        model().fit(rows.write_matrix(tmp_path / "store", sp.csr_matrix((0, 6))))


def test_a_fit_of_a_store_goes_on_with_the_same_rows_only(tmp_path):
    class Enough(Exception):
        pass

    def end(state):
        raise Enough

    store, settings = rows.write_matrix(tmp_path / "store", X), {"tol": 0.0, "checkpoint_every": 0.0}
    with pytest.raises(Enough):
        model(checkpoint=tmp_path / "ckpt", callback=end, **settings).fit(store, **PAIRS)
    other = X.copy()
    other[59, 5] += 1e-9
    with pytest.raises(CheckpointError, match="rows"):
        model(checkpoint=tmp_path / "ckpt", **settings).fit(rows.write_matrix(tmp_path / "other", other), **PAIRS)
    resumed = model(checkpoint=tmp_path / "ckpt", **settings).fit(rows.DiskRows(store.path), **PAIRS)
    whole = model(tol=0.0).fit(store, **PAIRS)
    assert np.array_equal(resumed.labels_, whole.labels_) and resumed.objective_ == whole.objective_


def test_empty_rows_are_left_out():
    data = DataSet(sp.csr_matrix([[1.0, 0], [0, 0], [0, 2]]), labels=["a", "b", "c"])
    kept = data.without_empty()
    assert kept.ids == ["0", "2"] and kept.labels == ["a", "c"] and kept.without_empty() is kept
    with pytest.raises(InputError, match="all 4 rows are empty"):
        DataSet(sp.csr_matrix((4, 2))).without_empty()


def test_rows_of_other_columns():
    mine, theirs = DataSet(X), DataSet(X[:, :4])
    with pytest.raises(InputError, match="these rows have 4 features, the model 6"):
        theirs.check_features(mine)
    named = [DataSet(X[:, :2], feature_names=names) for names in (["a", "b"], ["a", "c"])]
    with pytest.raises(InputError, match="the first that differs is 'b', not 'c'"):
        named[0].check_features(named[1])


def test_ids_stand_for_numbers_in_every_kind_of_sentence():
    naming = Naming()
    told = "rows [0, 2] are apart, row 1 is not; must-link (0, 1) contradicts cannot-link (1, 2)"
    assert naming.of(told) == told
    naming.ids = ["x", "y", "z"]
    found = naming.of(told)
    assert found == "rows x, z are apart, row y is not; must-link (x, y) contradicts cannot-link (y, z)"


def test_an_unfitted_learner_is_stored_as_it_is():
    copy = pickle.loads(pickle.dumps(SuperInstances(2, budget=7)))
    assert copy.get_params() == SuperInstances(2, budget=7).get_params() and not hasattr(copy, "n_features_in_")


def test_new_rows_of_a_learner_are_checked_like_the_first():
    learner = SuperInstances(2, metric="i_divergence", random_state=0).start(X)
    assert learner.predict(X).tolist() == [0] * 60  # one neighbourhood or none: nobody was asked
    with pytest.raises(InputError, match="Negative values"):
        learner.predict(-X)


def test_a_page_tells_of_contradictions():
    chains = [(3 * k, 3 * k + 1, 3 * k + 2) for k in range(12)]
    with pytest.warns(UserWarning, match="contradict"):
        fitted = model().fit(
            X,
            must_link=[pair for a, b, c in chains for pair in ((a, b), (b, c))],
            cannot_link=[(a, c) for a, _, c in chains],
        )
    report = fitted.constraint_report_
    assert report.n_contradictions == 12 and "  and 2 more" in str(report).splitlines()
    assert "Contradictions (" in fitted.report(X).html


@pytest.fixture
def files(tmp_path):
    sp.save_npz(tmp_path / "X.npz", sp.csr_matrix(X))
    return tmp_path


def test_a_dry_run_where_memory_is_not_known(files):
    told = run("fit", "X.npz", "-k", 3, "--metric", "mahalanobis", "--out", "r", "--dry-run", cwd=files).stdout
    assert "not known for this metric" in told and not (files / "r").exists()


def test_a_dry_run_of_more_than_there_is_memory(files):
    wide = sp.csr_matrix((np.ones(40_000), np.arange(40_000), np.arange(40_001)), (40_000, 2**31 - 1))
    sp.save_npz(files / "wide.npz", wide)
    done = run("fit", "wide.npz", "-k", 40_000, "--out", "r", "--dry-run", cwd=files, code=2)
    assert "this fit needs about" in done.stderr and "for 2147483647 features times 40000 clusters" in done.stderr
    assert not (files / "r").exists()


def test_a_bar_leaves_the_output_as_it_is(files):
    fit = ("fit", "X.npz", "-k", 3, "--init", "k-means++", "--n-init", 3)
    plain = [run(*fit, "--out", show, "--progress", show, cwd=files).stdout.splitlines() for show in ("none", "bar")]
    assert len(plain[0]) == len(plain[1])
    assert (files / "none" / "labels.csv").read_bytes() == (files / "bar" / "labels.csv").read_bytes()


def test_classes_that_nobody_knows(files):
    run("fit", "X.npz", "-k", 3, "--init", "k-means++", "--out", "r", "--progress", "none", cwd=files)
    for more in ((), ("--truth", "t.csv")):
        (files / "t.csv").write_text("row,label\n")
        told = run("evaluate", "r", *more, cwd=files, code=2).stderr
        assert "no row has a known class" in told


def test_weights_of_an_asked_session(files):
    done = run("ask", "X.npz", "-k", 2, "--weights", "w.csv", "--out", "p.csv", cwd=files, text="d\ns\nq\n")
    lines = (files / "w.csv").read_text().splitlines()
    assert "w.csv" in done.stdout and len(lines) > 1
