"""The estimator as scikit-learn's users meet it."""

from __future__ import annotations

import os
import pickle
import stat
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from hmrf_fast import (
    ConstrainedKMeans,
    Constraints,
    COPKMeans,
    HMRFKMeans,
    PCKMeans,
    SeededKMeans,
    SphericalKMeans,
    datasets,
)
from hmrf_fast.errors import ConstraintError, ConvergenceWarning, EmptyClusterWarning, InputError
from hmrf_fast.scores import normalized_mutual_information

NEWS = datasets.load("news_different_3")
ESTIMATORS = [
    HMRFKMeans(),
    HMRFKMeans(metric="sqeuclidean"),
    HMRFKMeans(init="k-means++", learn_weights=True, metric="sqeuclidean"),
    HMRFKMeans(init="neighborhoods"),
    PCKMeans(),
    SeededKMeans(),
    ConstrainedKMeans(),
    COPKMeans(),
    SphericalKMeans(),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.filterwarnings("ignore::hmrf_fast.errors.UnusedLabelsWarning")  # checks hand y to every estimator
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_parameters_survive_clone_and_pickle():
    model = HMRFKMeans(3, metric="pearson", n_init=2, random_state=0, callback=print)
    assert clone(model).get_params() == model.get_params()
    fitted = HMRFKMeans(3, n_init=2, random_state=0).fit(NEWS.data)
    loaded = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(loaded.predict(NEWS.data), fitted.labels_)


def test_in_a_pipeline_with_routed_constraints():
    pairs = np.array([[0, 1], [100, 101]])
    with sklearn.config_context(enable_metadata_routing=True):
        model = HMRFKMeans(3, n_init=2, random_state=0).set_fit_request(must_link=True)
        pipeline = make_pipeline(FunctionTransformer(accept_sparse=True), model)
        pipeline.fit(NEWS.data, must_link=pairs)
    assert pipeline[-1].constraint_report_.n_must_link == 2
    assert pipeline.transform(NEWS.data[:5]).shape == (5, 3)


def test_grid_search_over_metrics():
    search = GridSearchCV(
        HMRFKMeans(3, n_init=1, init="k-means++", random_state=0),
        {"metric": ["cosine", "pearson"]},
        scoring=make_scorer(normalized_mutual_information),
        cv=2,
    )
    search.fit(NEWS.data, NEWS.target)
    assert set(search.cv_results_["param_metric"]) == {"cosine", "pearson"}
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()


def test_feature_names_out():
    model = HMRFKMeans(3, n_init=1, random_state=0).fit(NEWS.data)
    assert list(model.get_feature_names_out()) == ["hmrfkmeans0", "hmrfkmeans1", "hmrfkmeans2"]


def test_transform_predict_and_score_agree():
    model = HMRFKMeans(3, n_init=2, random_state=0).fit(NEWS.data)
    distances = model.transform(NEWS.data)
    np.testing.assert_array_equal(distances.argmin(1), model.labels_)
    assert model.score(NEWS.data) == pytest.approx(-model.objective_)
    weight = np.linspace(0, 1, NEWS.data.shape[0])
    assert model.score(NEWS.data, sample_weight=weight) == pytest.approx(-(weight @ distances.min(1)))


def test_callback_and_init_callable():
    seen = []

    def rows(X, n_clusters, random_state):
        return X[np.random.default_rng(random_state).choice(X.shape[0], n_clusters, replace=False)].toarray()

    model = HMRFKMeans(3, init=rows, n_init=2, random_state=0, callback=seen.append).fit(NEWS.data)
    assert {state["start"] for state in seen} == {0, 1}
    assert set(seen[0]) == {"start", "iteration", "objective", "changed"}
    assert model.objective_ <= min(state["objective"] for state in seen) + 1e-9


def test_an_exception_in_the_callback_changes_nothing():
    model = HMRFKMeans(3, n_init=1, random_state=0).fit(NEWS.data)
    before = model.labels_.copy()

    def stop(state):
        raise KeyboardInterrupt

    model.set_params(callback=stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(NEWS.data[:100])
    np.testing.assert_array_equal(model.labels_, before)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be at least 1, got 0"),
        ({"n_clusters": 2.5}, "n_clusters must be an integer, got 2.5"),
        ({"metric": "euclidean"}, "metric must be one of .*'sqeuclidean'.*, got 'euclidean'"),
        ({"init": "uniform"}, "init must be one of .*, got 'uniform'"),
        ({"e_step": "gibbs"}, "e_step must be one of .*, got 'gibbs'"),
        ({"penalty": 1}, "penalty must be one of .*, got 1"),
        ({"n_init": True}, "n_init must be an integer, got True"),
        ({"tol": -1e-3}, "tol must be at least 0, got -0.001"),
        ({"must_link_weight": -1}, "must_link_weight must be at least 0, got -1"),
        ({"cannot_link_weight": np.nan}, "cannot_link_weight must be at least 0, got nan"),
        ({"learning_rate": 0}, "learning_rate must be above 0.*, got 0"),
        ({"smoothing": "much"}, "smoothing must be a number, got 'much'"),
        ({"n_threads": 0}, "n_threads must be at least 1, got 0"),
        ({"dtype": np.int32}, "dtype must be None, float32 or float64"),
        ({"learn_weights": True, "penalty": "potts"}, "learn_weights=True needs penalty='distance'"),
        ({"init": np.zeros((2, 3))}, r"initial centers \(2, 3\) does not match n_clusters=3 and 3293 features"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    model = HMRFKMeans(**{"n_clusters": 3, **parameters})
    with pytest.raises(InputError, match=message):
        model.fit(NEWS.data)
    assert not hasattr(model, "labels_") and not hasattr(model, "n_features_in_")


class TestBadData:
    def test_not_finite(self):
        for bad, word in ((np.nan, "NaN"), (np.inf, "inf")):
            X = np.ones((5, 3))
            X[3, 1] = bad
            with pytest.raises(InputError, match=rf"{word}.* at row 3, column 1"):
                HMRFKMeans(2).fit(X)
            with pytest.raises(InputError, match=rf"{word}.* at row 3, column 1"):
                HMRFKMeans(2).fit(sp.csr_matrix(X))

    def test_fewer_rows_than_clusters(self):
        with pytest.raises(InputError, match="n_samples=2 should be >= n_clusters=3"):
            HMRFKMeans(3).fit(np.eye(2))

    def test_sample_weights(self):
        with pytest.raises(InputError, match=r"sample_weight\[1\] = -1"):
            HMRFKMeans(2).fit(np.eye(3), sample_weight=[1, -1, 1])
        with pytest.raises(ValueError, match="zero"):  # scikit-learn's own words, in versions that look
            HMRFKMeans(2).fit(np.eye(3), sample_weight=[0, 0, 0])

    def test_constraints(self):
        with pytest.raises(ConstraintError, match=r"names row 3, but there are 3 rows"):
            HMRFKMeans(2).fit(np.eye(3), must_link=[(0, 3)])
        with pytest.raises(InputError, match="either constraints or must_link"):
            HMRFKMeans(2).fit(np.eye(3), must_link=[(0, 1)], constraints=Constraints())
        with pytest.raises(InputError, match=r"must be a hmrf_fast\.Constraints, got list"):
            HMRFKMeans(2).fit(np.eye(3), constraints=[(0, 1)])


def test_unconverged_fit_warns():
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        HMRFKMeans(3, init="k-means++", n_init=1, max_iter=1, random_state=0).fit(NEWS.data)


@pytest.mark.parametrize("metric", ["cosine", "sqeuclidean", "pearson"])
def test_a_fit_that_rests_after_its_only_iteration_has_converged(metric):
    """Warnings are errors here."""
    X = np.repeat([[9.0, 0.1, 0.3], [0.7, 5.0, 1.0]], 4, axis=0)
    model = HMRFKMeans(2, metric=metric, learn_weights=False, init="k-means++", max_iter=1, random_state=0).fit(X)
    assert model.converged_ and model.n_iter_ == 1 and model.objective_ == pytest.approx(0.0, abs=1e-12)
    start = SphericalKMeans(2, random_state=0).fit(X).cluster_centers_
    assert SphericalKMeans(2, init=start, max_iter=1).fit(X + np.eye(8, 3)).n_iter_ == 1


def test_sample_weight_is_repetition():
    X = NEWS.data[:60].toarray()
    weight = np.random.default_rng(0).integers(0, 4, 60)
    start = X[weight > 0][:3]
    weighted = HMRFKMeans(3, init=start).fit(X, sample_weight=weight)
    repeated = HMRFKMeans(3, init=start).fit(np.repeat(X, weight, axis=0))
    assert weighted.objective_ == pytest.approx(repeated.objective_)
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, atol=1e-12)


def test_starts_follow_content_not_order():
    order = np.random.default_rng(1).permutation(NEWS.data.shape[0])
    plain = HMRFKMeans(3, n_init=3, random_state=0).fit(NEWS.data)
    shuffled = HMRFKMeans(3, n_init=3, random_state=0).fit(NEWS.data[order])
    np.testing.assert_array_equal(plain.labels_[order], shuffled.labels_)


def test_partial_labels_number_the_clusters():
    known = np.where(np.arange(300) % 10 == 0, NEWS.target, -1)
    model = HMRFKMeans(3, n_init=2, random_state=0).fit(NEWS.data, partial_labels=known)
    assert np.mean(model.labels_ == NEWS.target) > 0.7  # by number, not only up to a permutation


class TestUnwritableCache:
    CODE = """
        import os, sys, warnings
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            import numpy as np
            from hmrf_fast import HMRFKMeans
            print(HMRFKMeans(2, random_state=0).fit(np.eye(4)).labels_.size)
        ours = [w for w in caught if w.category.__name__ == "CacheWarning"]
        assert len(ours) <= 1, ours
        print("warned" if ours else "silent")
    """

    @pytest.mark.parametrize("where", ["/proc/nowhere", None])
    def test_import_and_fit_succeed(self, where, tmp_path):
        """A location that nobody, root included, can write to; and a home without rights."""
        environment = {**os.environ, "HOME": str(tmp_path / "none"), "PYTHONDONTWRITEBYTECODE": "1"}
        environment.pop("NUMBA_CACHE_DIR", None)
        if where:
            environment.update(NUMBA_CACHE_DIR=where, NUMBA_CACHE_LOCATOR_CLASSES="UserProvidedCacheLocator")
        command = [sys.executable, "-c", textwrap.dedent(self.CODE)]
        result = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        assert result.stdout.split()[0] == "4"
        if where:
            assert result.stdout.split()[1] == "warned"

    def test_torn_cache_files_are_survived(self, tmp_path):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        command = [sys.executable, "-c", textwrap.dedent(self.CODE)]
        subprocess.run(command, env=environment, check=True, capture_output=True)
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert any(path.suffix == ".nbi" for path in files)
        for path in files:
            path.chmod(path.stat().st_mode | stat.S_IWUSR)
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        result = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        assert result.stdout.split()[0] == "4"

    # A cache file whose content rings the alarm while it is read, which no clock could time as well.
    RINGING = """
        import pickle, signal, sys
        from pathlib import Path
        import numpy as np
        from hmrf_fast.kernels.mahalanobis import invert_positive

        class Late(Exception):
            pass

        class Ring:
            def __reduce__(self):
                return signal.raise_signal, (signal.SIGINT,)

        def hear(*_):
            raise kind("in time")

        kind = {"Late": Late, "TimeoutError": TimeoutError, "KeyboardInterrupt": KeyboardInterrupt}[sys.argv[2]]
        signal.signal(signal.SIGINT, hear)
        for path in Path(sys.argv[1]).rglob("*invert_positive*.nbi"):
            version = pickle.loads(path.read_bytes())
            path.write_bytes(pickle.dumps(version) + pickle.dumps(Ring()))
        try:
            invert_positive(np.eye(2))
        except kind as error:
            print("heard", error)
        else:
            print("passed over")
    """

    @pytest.mark.skipif(sys.platform == "win32", reason="signals work differently there")
    def test_signals_are_heard_while_cache_files_are_read(self, tmp_path):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
        first = "import numpy as np; from hmrf_fast.kernels.mahalanobis import invert_positive as f; f(np.eye(2))"
        subprocess.run([sys.executable, "-P", "-c", first], env=environment, check=True, capture_output=True)
        for kind in ("Late", "TimeoutError", "KeyboardInterrupt"):
            command = [sys.executable, "-P", "-c", textwrap.dedent(self.RINGING), str(tmp_path), kind]
            result = subprocess.run(command, env=environment, capture_output=True, text=True)
            assert result.returncode == 0, result.stderr
            assert result.stdout.splitlines()[0] == "heard in time", result.stdout


class TestThePaper:
    """KDD 2004, figure 3: on News-Different-3, from the printed start, what each part of the algorithm buys."""

    @pytest.fixture(scope="class")
    @staticmethod
    def curves():
        from hmrf_fast.ablations import ABLATIONS, constraints_for
        from hmrf_fast.protocol import draw_pairs, split_halves

        scores = {name: [] for name in ABLATIONS if name != "default"}
        for run in range(10):
            training, test = split_halves(NEWS.target, run)
            pairs = draw_pairs(NEWS.target, training, 500, run).first(500)
            for name in scores:
                settings = {**ABLATIONS[name], "n_init": 1}
                model = HMRFKMeans(3, random_state=run, **settings).fit(NEWS.data, **constraints_for(name, *pairs))
                scores[name].append(normalized_mutual_information(NEWS.target[test], model.labels_[test]))
        return {name: np.mean(values) for name, values in scores.items()}

    def test_unconstrained_stays_near_chance(self, curves):
        assert curves["KMeans"] < 0.15

    def test_seeds_from_500_constraints_are_worth_most(self, curves):
        assert 0.65 < curves["KMeans-I"] < 0.85
        assert 0.65 < curves["KMeans-I-C"] < 0.85
        assert curves["KMeans-I-C-D"] > curves["KMeans"] + 0.4


class TestHandMadeMatrices:
    def test_column_out_of_range(self):
        X = sp.csr_matrix(np.eye(4))
        X.indices[2] = 10**8
        with pytest.raises(InputError, match=r"holds column 100000000 in row 2, but X has 4 columns"):
            HMRFKMeans(2).fit(X)

    @pytest.mark.parametrize("indptr", [[0, 3, 1, 3, 4], [0, 1, 2, 3, 10**6]])
    def test_row_pointers(self, indptr):
        X = sp.csr_matrix(np.eye(4))
        X.indptr = np.array(indptr, dtype=np.int32)
        with pytest.raises(ValueError, match=r"indptr is malformed|index pointer"):  # or scipy's own words
            HMRFKMeans(2).fit(X)


@pytest.mark.filterwarnings("ignore::hmrf_fast.errors.EmptyClusterWarning")
def test_refilling_a_cluster_of_weightless_rows_keeps_hard_cannot_links():
    known = Constraints(cannot_link=[(1, 2)], cannot_link_weight=np.inf)
    model = HMRFKMeans(3, metric="sqeuclidean", init=[[4.0], [0.0], [9.0]], random_state=0)
    model.fit([[9.0], [1.0], [8.0]], constraints=known, sample_weight=[1, 0, 1])
    assert model.labels_[1] != model.labels_[2]


def test_dense_hard_cannot_links_are_repaired_for_every_seed():
    rng = np.random.default_rng(0)
    truth = np.arange(12) % 3
    pairs = [(i, j) for i in range(12) for j in range(i) if truth[i] != truth[j] and rng.random() < 0.7]
    X = rng.random((12, 2))
    for seed in range(40):
        model = HMRFKMeans(
            3, metric="sqeuclidean", cannot_link_weight=np.inf, n_init=1, init="k-means++", random_state=seed
        )
        model.fit(X, cannot_link=pairs)
        assert model.constraint_report_.n_cannot_link_violated == 0


class TestExtremes:
    @pytest.mark.parametrize(("dtype", "value"), [(np.float64, 1e200), (np.float32, -1e30)])
    def test_huge_values(self, dtype, value):
        X = np.eye(4, dtype=dtype)
        X[2, 1] = value
        with pytest.raises(InputError, match=r"X\[2, 1\] = -?1e\+"):
            HMRFKMeans(2).fit(X)

    @pytest.mark.parametrize("weight", [1e300, 1e-300])
    def test_weights(self, weight):
        with pytest.raises(InputError, match="sample weights span"):
            HMRFKMeans(2).fit(np.eye(4), sample_weight=[1, 1, weight, 1])
        with pytest.raises(InputError, match="must_link weights span"):
            HMRFKMeans(2, must_link_weight=weight).fit(np.eye(4), must_link=[(0, 1)])

    @pytest.mark.parametrize("metric", ["cosine", "i_divergence"])
    def test_tiny_rows_keep_their_direction(self, metric):
        X = np.array([[1.0, 0.0], [1e-90, 0.0], [0.0, 1.0], [0.0, 1e-90]])
        model = HMRFKMeans(2, metric=metric, init=X[[0, 2]]).fit(X)
        assert model.labels_.tolist() == [0, 0, 1, 1]


def test_one_component_of_all_rows_does_not_stall_the_refill():
    """Each component is looked at once: with a look per row this took half a minute."""
    X = sp.random(4000, 200, 0.05, "csr", random_state=0) + sp.eye(4000, 200, format="csr")
    X = X[np.diff(X.indptr) > 0]
    model = HMRFKMeans(5, init="k-means++", n_init=1, random_state=0)
    with pytest.warns(EmptyClusterWarning, match="only 1 of n_clusters=5"):
        model.fit(X, constraints=Constraints(must_link_groups=np.zeros(X.shape[0], int), must_link_weight=100.0))


def test_a_fitted_model_keeps_its_metric():
    X = np.random.default_rng(0).random((20, 4))
    model = HMRFKMeans(2, metric="i_divergence", random_state=0).fit(X)
    before = model.transform(X)
    np.testing.assert_array_equal(model.set_params(metric="sqeuclidean").transform(X), before)


def test_learned_weights_of_widely_spread_features():
    X = np.array([[1.0, 0, 2], [2, 0, 4.1], [0, 3, 0], [0, 1, 0.2], [1, 1, 0]])
    settings = {"metric": "sqeuclidean", "learn_weights": True, "random_state": 0, "init": "k-means++"}
    plain, spread = (HMRFKMeans(2, **settings).fit(X * scale) for scale in (1.0, 1e9))
    np.testing.assert_allclose(spread.feature_weights_ * 1e18, plain.feature_weights_, rtol=1e-6)


def test_orderly_in_place_where_possible():
    X = sp.csr_matrix((np.array([1.0, 3, 2, 2]), np.array([1, 0, 1, 0]), np.array([0, 2, 4])), shape=(2, 2))
    X.indptr = X.indptr.astype(np.int64)
    assert HMRFKMeans(1, copy_x=False).fit(X).labels_.tolist() == [0, 0]
