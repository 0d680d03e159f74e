"""The estimators among other libraries: data frames, AnnData, pipelines, routed metadata, joblib."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from joblib import Parallel, delayed
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from text_corpus import records

from hmrf_fast import Constraints, HMRFKMeans, PCKMeans, datasets
from hmrf_fast.errors import InputError
from hmrf_fast.selection import select_n_clusters

IRIS = datasets.load_iris()
NEWS = datasets.load_news_different_3()
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]


def euclidean(**settings) -> HMRFKMeans:
    return HMRFKMeans(3, metric="sqeuclidean", n_init=2, random_state=0, **settings)


def cosine() -> HMRFKMeans:
    return HMRFKMeans(3, n_init=2, random_state=0)


@pytest.fixture(scope="module")
def plain() -> HMRFKMeans:
    return euclidean().fit(IRIS.data)


def frame_of(library: str):
    """Iris as a frame of the library, which is left out where it is missing."""
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    return module.DataFrame({name: IRIS.data[:, number] for number, name in enumerate(NAMES)})


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frame_in_frame_out(library, plain):
    frame = frame_of(library)
    model = euclidean().set_output(transform=library).fit(frame)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_array_equal(model.predict(frame), plain.labels_)
    assert list(model.feature_names_in_) == NAMES
    distances = model.transform(frame)
    assert type(distances) is type(frame)
    assert list(distances.columns) == ["hmrfkmeans0", "hmrfkmeans1", "hmrfkmeans2"]
    np.testing.assert_array_equal(distances.to_numpy(), plain.transform(IRIS.data))
    assert model.report().facts.terms[0].by_weight[0].name in NAMES


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_whose_columns_differ_are_refused(library):
    frame = frame_of(library)
    model = euclidean().fit(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[NAMES[::-1]])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_column_of_words_is_named(library):
    frame = frame_of(library)
    kinds = np.array(["setosa", "other"])[(IRIS.target > 0).astype(int)].tolist()
    mixed = frame.assign(kind=kinds) if library == "pandas" else frame.with_columns(kind=np.array(kinds))
    with pytest.raises(InputError, match=r"column 'kind' of X holds no numbers, but values such as 'setosa'"):
        euclidean().fit(mixed)
    encoded = make_column_transformer((OneHotEncoder(), ["kind"]), remainder=StandardScaler())
    assert make_pipeline(encoded, euclidean()).fit(mixed)[-1].n_features_in_ == 6


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("unit", ["datetime64[ns]", "timedelta64[ns]"])
def test_a_column_of_dates_is_named(library, unit):
    frame, days = frame_of(library), np.arange(150).astype(unit)
    dated = frame.assign(when=days) if library == "pandas" else frame.with_columns(when=days)
    with pytest.raises(InputError, match=r"column 'when' of X holds .* no numbers: say in which unit"):
        euclidean().fit(dated)


def test_corrections_of_a_model_of_frames():
    frame = frame_of("pandas")
    model = euclidean().set_output(transform="pandas").fit(frame)
    alone = euclidean().fit(IRIS.data)
    for one in (model, alone):
        one.move(0, int(one.labels_[100])).split(int(one.labels_[100]), 2)
    np.testing.assert_array_equal(model.labels_, alone.labels_)
    assert model.edits_ == alone.edits_


def test_pandas_index_comes_back_and_missing_values_are_named():
    frame = frame_of("pandas").set_index(np.array([f"flower {k}" for k in range(150)]))
    distances = euclidean().set_output(transform="pandas").fit_transform(frame)
    assert list(distances.index) == list(frame.index)
    gaps = frame.astype("Float64")
    gaps.iloc[7, 2] = None
    with pytest.raises(InputError, match="NaN at row 7, column 2"):
        euclidean().fit(gaps)


def test_sparse_frames_stay_sparse():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame.sparse.from_spmatrix(NEWS.data, columns=NEWS.feature_names)
    model = cosine().fit(frame)
    np.testing.assert_array_equal(model.labels_, cosine().fit(NEWS.data).labels_)
    assert list(model.feature_names_in_) == list(NEWS.feature_names)


def test_lazy_frames_are_refused():
    frame = frame_of("polars")
    with pytest.raises(InputError, match=r"give X\.collect\(\)"):
        euclidean().fit(frame.lazy())


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_knowledge_in_frames_and_series(library):
    frame = frame_of(library)
    series = pytest.importorskip(library).Series
    pairs = frame.__class__({"first": [0, 60], "second": [1, 61]})
    weights = series([1.0, 2.0])
    told = Constraints(pairs, must_link_weight=weights)
    assert told.must_link.tolist() == [[0, 1], [60, 61]] and told.must_link_weight.tolist() == [1.0, 2.0]
    labels = series(["a" if k < 5 else "b" if 50 <= k < 55 else None for k in range(150)])
    model = euclidean().fit(frame, partial_labels=labels, sample_weight=series(np.ones(150)))
    assert list(model.classes_) == ["a", "b"]
    assert set(model.labels_[:5]) == {0} and set(model.labels_[50:55]) == {1}
    named = Constraints([("r3", "r0")], row_ids=series([f"r{k}" for k in range(150)]))
    assert named.must_link.tolist() == [[0, 3]]


@pytest.fixture(scope="module")
def cells():
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    cells = anndata.AnnData(NEWS.data.copy())
    cells.var_names = [f"{name} {number}" for number, name in enumerate(NEWS.feature_names)]
    return cells


def test_anndata(cells):
    model = cosine().fit(cells)
    labels = cosine().fit(NEWS.data).labels_
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_array_equal(model.predict(cells[:50]), labels[:50])
    assert list(model.feature_names_in_) == list(cells.var_names)
    assert model.report().facts.terms[0].by_weight[0].name in set(cells.var_names)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(cells[:, ::-1])
    assert select_n_clusters(cells, [2, 3], estimator=cosine(), n_resamples=2, random_state=0).n_clusters in (2, 3)


def test_anndata_without_a_matrix_in_memory(cells, tmp_path):
    import anndata

    cells.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    with pytest.raises(InputError, match=r"adata\.to_memory\(\)"):
        cosine().fit(backed)
    backed.file.close()
    with pytest.raises(InputError, match="has no X"):
        cosine().fit(anndata.AnnData(shape=(5, 2)))


def test_texts_through_a_pipeline():
    texts = [record["text"] for record in records()]
    pipeline = make_pipeline(TfidfVectorizer(), HMRFKMeans(3, random_state=0))
    pipeline.fit(texts, hmrfkmeans__must_link=[(0, 3)], hmrfkmeans__cannot_link=[(0, 1)])
    labels = pipeline.predict(texts)
    assert labels[0] == labels[3] != labels[1]
    assert pipeline[:-1].get_feature_names_out().size == pipeline[-1].n_features_in_


def test_everything_that_fit_takes_can_be_routed(plain):
    weight = np.linspace(0.5, 1.5, 150)
    known = Constraints([(0, 1)], [(0, 149)])
    with sklearn.config_context(enable_metadata_routing=True):
        model = euclidean().set_fit_request(constraints=True, sample_weight=True)
        model.set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler(with_mean=False).set_fit_request(sample_weight=False), model)
        pipeline.fit(IRIS.data, constraints=known, sample_weight=weight)
        routed = pipeline.score(IRIS.data, sample_weight=weight)
    scaled = pipeline[0].transform(IRIS.data)
    alone = euclidean().fit(scaled, constraints=known, sample_weight=weight)
    np.testing.assert_array_equal(pipeline[-1].labels_, alone.labels_)
    assert routed == alone.score(scaled, sample_weight=weight) != alone.score(scaled)


def test_partial_labels_are_cut_with_the_rows_of_a_search():
    labels = np.where(np.arange(150) % 10 == 0, IRIS.target, -1)
    with sklearn.config_context(enable_metadata_routing=True):
        model = PCKMeans(3, n_init=1, random_state=0).set_fit_request(partial_labels=True)
        search = GridSearchCV(model, {"w": [0.0, 1.0]}, cv=3, error_score="raise")
        search.fit(IRIS.data, partial_labels=labels)
    assert list(search.best_estimator_.classes_) == [0, 1, 2]


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_fits_side_by_side(backend):
    def fit(X, seed):
        return HMRFKMeans(3, init="k-means++", n_init=1, random_state=seed, n_threads=1).fit(X).labels_

    alone = [fit(NEWS.data, seed) for seed in range(3)]
    # Rows above the limit reach other processes as read-only maps.
    together = Parallel(n_jobs=2, backend=backend, max_nbytes=100)(delayed(fit)(NEWS.data, seed) for seed in range(3))
    np.testing.assert_array_equal(together, alone)


def test_read_only_rows_as_joblib_maps_them(tmp_path):
    import joblib

    shuffled = sp.csr_matrix(NEWS.data[:, ::-1])
    joblib.dump(shuffled, tmp_path / "rows.joblib")
    mapped = joblib.load(tmp_path / "rows.joblib", mmap_mode="r")
    np.testing.assert_array_equal(cosine().fit(mapped).labels_, cosine().fit(shuffled).labels_)
