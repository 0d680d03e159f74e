"""The bundled corpora, the papers' protocol and the scores."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from hmrf_fast import ablations, datasets, protocol, scores

TEXTS = {
    "news_different_3": ((300, 3293), 14387, [100, 100, 100]),
    "news_related_3": ((300, 3425), 17246, [100, 100, 100]),
    "news_similar_3": ((300, 1898), 9079, [100, 100, 100]),
    "classic400": ((400, 2897), 19197, [100, 100, 200]),
}
LOADERS = {name: getattr(datasets, f"load_{name}") for name in datasets.available()}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("values", ["tfidf", "counts"])
def test_text_sets(name, values):
    shape, stored, sizes = TEXTS[name]
    bunch = LOADERS[name](values)
    data = bunch.data
    assert isinstance(data, sp.csr_matrix) and data.dtype == np.float64 and data.shape == shape
    assert data.nnz == stored and data.data.min() > 0
    data.check_format(full_check=True)
    assert data.has_canonical_format
    assert bunch.feature_names.shape == (shape[1],) and len(set(bunch.feature_names)) == shape[1]
    assert bunch.target.dtype == np.int64
    np.testing.assert_array_equal(np.bincount(bunch.target), sizes)
    assert len(bunch.target_names) == len(sizes)
    assert "2004" in bunch.DESCR and bunch.filename.endswith(f"{name}.npz")
    if values == "tfidf":
        np.testing.assert_allclose(np.sqrt(data.multiply(data).sum(axis=1)), 1.0, atol=2e-6)
    else:
        assert np.all(data.data == np.rint(data.data))


@pytest.mark.parametrize("name", TEXTS)
def test_tfidf_is_that_of_the_counts(name):
    counts, tfidf = (datasets.load(name, values=values, return_X_y=True)[0] for values in ("counts", "tfidf"))
    expected = counts.multiply(np.log(counts.shape[0] / np.diff(counts.tocsc().indptr))).tocsr()
    expected = expected.multiply(1 / np.sqrt(expected.multiply(expected).sum(axis=1)))
    np.testing.assert_allclose(tfidf.toarray(), expected.toarray(), atol=1e-5)


def test_iris():
    bunch = datasets.load_iris(dtype=np.float32)
    assert bunch.data.shape == (150, 4) and bunch.data.dtype == np.float32
    np.testing.assert_array_equal(np.bincount(bunch.target), [50, 50, 50])
    assert len(bunch.feature_names) == 4


def test_cells():
    bunch = datasets.load_cells_3()
    assert bunch.data.shape == (240, 600) and np.all(bunch.data.data == np.rint(bunch.data.data))
    bunch.data.check_format(full_check=True)
    assert bunch.target_names.tolist() == ["H1975", "H2228", "HCC827"] and len(set(bunch.ids)) == 240
    assert all(name.startswith("ENSG") for name in bunch.feature_names) and np.unique(bunch.feature_names).size == 600
    with pytest.raises(ValueError, match="values must be 'counts', not 'tfidf'"):
        datasets.load("cells_3", values="tfidf")


def test_extras_and_x_y():
    assert datasets.load_news_similar_3().ids.shape == (300,)
    classic = datasets.load_classic400()
    agreement = scores.normalized_mutual_information(classic.target, classic.file_labels)
    assert agreement == pytest.approx(0.345, abs=5e-4)
    data, target = datasets.load_classic400("counts", dtype="float32", return_X_y=True)
    assert data.dtype == np.float32
    np.testing.assert_array_equal(target, classic.target)


def test_wrong_names_are_told():
    with pytest.raises(ValueError, match="no bundled data set 'reuters'; there are news_different_3, "):
        datasets.load("reuters")
    with pytest.raises(ValueError, match="values must be 'tfidf' or 'counts', not 'binary'"):
        datasets.load_news_related_3("binary")
    with pytest.raises(ValueError, match="iris is dense and has one kind of values"):
        datasets.load("iris", values="counts")


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 3), max_size=40), st.integers(0, 2**32 - 1))
def test_halves_are_stratified(labels, seed):
    labels = np.array(labels, dtype=int)
    training, test = protocol.split_halves(labels, seed)
    np.testing.assert_array_equal(np.sort(np.concatenate((training, test))), np.arange(labels.size))
    assert abs(training.size - test.size) <= 1
    sizes = [np.bincount(labels[half], minlength=4) for half in (training, test)]
    assert np.all(np.abs(sizes[0] - sizes[1]) <= 1)


@settings(deadline=None, max_examples=50)
@given(st.sets(st.integers(0, 60), max_size=30), st.integers(0, 2**32 - 1), st.data())
def test_pairs_are_distinct_nested_and_typed(rows, seed, data):
    labels = np.arange(61) % 3
    rows = np.array(sorted(rows, reverse=True), dtype=int)
    possible = rows.size * (rows.size - 1) // 2
    count = data.draw(st.integers(0, possible))
    every = protocol.draw_pairs(labels, rows, possible, seed)
    drawn = protocol.draw_pairs(labels, rows, count, seed)
    assert len({tuple(pair) for pair in every.pairs.tolist()}) == possible == len(every.pairs)
    assert np.all(every.pairs[:, 0] < every.pairs[:, 1]) and np.all(np.isin(every.pairs, rows))
    np.testing.assert_array_equal(drawn.pairs, every.pairs[:count])
    must, cannot = every.first(count)
    assert len(must) + len(cannot) == count
    assert np.all(labels[must[:, 0]] == labels[must[:, 1]])
    assert np.all(labels[cannot[:, 0]] != labels[cannot[:, 1]])


def test_pairs_are_uniform():
    labels = np.zeros(5, dtype=int)
    rng = np.random.default_rng(0)
    counts = np.zeros((5, 5))
    for _ in range(4000):
        _, (first, second) = protocol.draw_pairs(labels, range(5), 2, rng).pairs
        counts[first, second] += 1
    share = counts[np.triu_indices(5, 1)] / 4000
    np.testing.assert_allclose(share, 0.1, atol=0.02)  # four standard deviations


def test_pairs_of_many_rows_are_not_enumerated():
    n = 1_000_000
    drawn = protocol.draw_pairs(np.arange(n) % 2, np.arange(n), 50_000, 0)  # of 5e11 pairs
    assert drawn.pairs.shape == (50_000, 2)
    assert abs(drawn.same_class.mean() - 0.5) < 0.02


def test_impossible_draws_are_told():
    with pytest.raises(ValueError, match="3 rows have 3 pairs, 4 were asked for"):
        protocol.draw_pairs(np.zeros(9), [1, 5, 7], 4)
    with pytest.raises(ValueError, match="row 5 is given more than once"):
        protocol.draw_pairs(np.zeros(9), [5, 1, 5], 1)


def test_scores():
    assert scores.normalized_mutual_information([0, 0, 1, 1], [5, 5, 3, 3]) == pytest.approx(1.0)
    assert scores.normalized_mutual_information([0, 0, 1, 1], [0, 1, 0, 1]) == pytest.approx(0.0)
    # By hand: H(C) = ln 2, H(K) = 3/2 ln 2, I = ln 2.
    assert scores.normalized_mutual_information([0, 0, 1, 1], [0, 0, 1, 2]) == pytest.approx(0.8)
    # Pairs together: 2 in truth, 1 in the clustering, 1 in both.
    assert scores.pairwise_f_measure([0, 0, 1, 1], [0, 0, 1, 2]) == pytest.approx(2 / 3)
    assert scores.pairwise_f_measure([0, 1], [1, 0]) == 1.0
    assert scores.pairwise_f_measure([0, 0], [0, 1]) == 0.0


def test_ablations():
    pairs = {"must_link": [(0, 1)], "cannot_link": [(0, 2)]}
    assert ablations.constraints_for("KMeans", **pairs) == {}
    for name in ("KMeans-I", "KMeans-I-C", "KMeans-I-C-D", "default"):
        assert ablations.constraints_for(name, **pairs) == pairs
    with pytest.raises(ValueError, match="no ablation 'KMeans-X'; there are KMeans, "):
        ablations.constraints_for("KMeans-X", **pairs)


@pytest.mark.parametrize("name", datasets.available())
def test_a_data_set_is_shown_in_one_line(name):
    corpus = datasets.load(name)
    told = repr(corpus)
    assert "\n" not in told and len(told) < 200
    assert name in told and f"{corpus.data.shape[0]} x {corpus.data.shape[1]}" in told
    assert all(key in told for key in corpus)


@pytest.mark.parametrize("name", ["", "active", "datasets", "errors", "protocol", "scores", "ablations"])
def test_public_modules_list_their_public_names_alone(name):
    module = importlib.import_module(f"hmrf_fast.{name}".rstrip("."))
    assert dir(module) == sorted(module.__all__)
    for each in module.__all__:
        assert getattr(module, each) is not None
