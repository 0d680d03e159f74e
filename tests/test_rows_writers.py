"""Stores from every kind of source hold what the source holds."""

from __future__ import annotations

import csv
import gzip
import json

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer

from hmrf_fast import rows
from hmrf_fast.errors import InputError

TEXTS = ["one two three", 'two, "three" four', "five\nsix one", "", "seven seven eight"]


@pytest.fixture
def X():
    return sp.random(211, 30, 0.2, format="csr", random_state=np.random.default_rng(0))


@pytest.fixture(autouse=True)
def many_pieces(monkeypatch):
    """Else every source would be one piece."""
    monkeypatch.setattr("hmrf_fast.rows.convert.ENTRIES", 100)
    monkeypatch.setattr("hmrf_fast.rows.convert.BYTES", 1000)
    monkeypatch.setattr("hmrf_fast.rows.texts.AT_ONCE", 2)


def matrix_of(there):
    corpora = [block.corpus for block in there.spans()]
    parts = [
        sp.csr_matrix((one.values, one.indices, one.indptr), (one.indptr.size - 1, one.n_features)) for one in corpora
    ]
    return sp.vstack(parts, format="csr")


def assert_holds(there, X, rtol=0.0):
    found = matrix_of(there)
    assert found.shape == X.shape and found.has_canonical_format
    np.testing.assert_allclose(found.toarray(), X.toarray(), rtol=rtol)
    assert there.lowest == pytest.approx(X.data.min())


def test_matrices(tmp_path, X):
    assert_holds(rows.write_matrix(tmp_path / "csr", X), X)
    assert_holds(rows.write_matrix(tmp_path / "csc", X.tocsc()), X)
    assert_holds(rows.write_matrix(tmp_path / "dense", X.toarray()), X)
    assert rows.write_matrix(tmp_path / "single", X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("compressed", [False, True])
def test_npz(tmp_path, X, compressed):
    sp.save_npz(tmp_path / "x.npz", X, compressed=compressed)
    assert_holds(rows.write_npz(tmp_path / "store", tmp_path / "x.npz"), X)
    sp.save_npz(tmp_path / "csc.npz", X.tocsc())
    with pytest.raises(InputError, match="does not hold CSR"):
        rows.write_npz(tmp_path / "other", tmp_path / "csc.npz")
    (tmp_path / "bad.npz").write_bytes(b"nothing")
    with pytest.raises(InputError, match="is no CSR matrix"):
        rows.write_npz(tmp_path / "other", tmp_path / "bad.npz")


def test_svmlight(tmp_path, X):
    y = np.arange(X.shape[0]) % 3
    dump_svmlight_file(X, y, str(tmp_path / "x.svm"), zero_based=False)
    there, targets = rows.write_svmlight(tmp_path / "store", tmp_path / "x.svm", n_features=30)
    assert_holds(there, X, rtol=1e-12)
    assert np.array_equal(targets, y)
    (tmp_path / "bad.svm").write_text("1 a:b\n")
    with pytest.raises(InputError, match=r"bad\.svm cannot be read"):
        rows.write_svmlight(tmp_path / "other", tmp_path / "bad.svm")


def test_matrix_market(tmp_path, X):
    scipy.io.mmwrite(tmp_path / "x.mtx", X.tocsc().tocoo(), precision=17)
    assert_holds(rows.write_matrix_market(tmp_path / "store", tmp_path / "x.mtx"), X, rtol=1e-15)
    lines = (tmp_path / "x.mtx").read_text().splitlines()
    (tmp_path / "torn.mtx").write_text("\n".join(lines[:-3]))
    with pytest.raises(InputError, match="torn"):
        rows.write_matrix_market(tmp_path / "other", tmp_path / "torn.mtx")
    (tmp_path / "out.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.0\n")
    with pytest.raises(InputError, match="entry 1 lies outside of 2 x 2"):
        rows.write_matrix_market(tmp_path / "other", tmp_path / "out.mtx")
    assert not (tmp_path / "other").exists()


def test_h5ad(tmp_path, X):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5ad", "w") as file:
        group = file.create_group("X")
        group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", X.shape
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(X, name)
    assert_holds(rows.write_h5ad(tmp_path / "store", tmp_path / "x.h5ad"), X)
    with h5py.File(tmp_path / "dense.h5ad", "w") as file:
        file["X"] = X.toarray()
    assert_holds(rows.write_h5ad(tmp_path / "dense", tmp_path / "dense.h5ad"), X)


def test_texts(tmp_path):
    with gzip.open(tmp_path / "t.jsonl.gz", "wt") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in TEXTS)
    with (tmp_path / "t.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text"])
        writer.writerows(enumerate(TEXTS))
    for vectorizer in (HashingVectorizer(n_features=64), TfidfVectorizer().fit(TEXTS)):
        for name in ("t.jsonl.gz", "t.csv"):
            there = rows.write_texts(
                tmp_path / f"{name} {vectorizer}"[:40], rows.stream_texts(tmp_path / name), vectorizer
            )
            assert_holds(there, vectorizer.transform(TEXTS))


def test_texts_of_parquet(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    parquet.write_table(pyarrow.table({"text": TEXTS}), tmp_path / "t.parquet")
    assert list(rows.stream_texts(tmp_path / "t.parquet")) == TEXTS


def test_texts_that_are_none_are_named(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"text": "a"}\n{"title": "b"}\n')
    with pytest.raises(InputError, match="record 1 has no text named 'text'"):
        list(rows.stream_texts(tmp_path / "t.jsonl"))
    with pytest.raises(InputError, match=r"read from \.jsonl"):
        next(rows.stream_texts(tmp_path / "t.doc"))
