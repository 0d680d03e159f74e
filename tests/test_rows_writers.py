"""Stores from every kind of source hold what the source holds."""

from __future__ import annotations

import csv
import gzip
import json
import shutil

import numpy as np
import pandas
import pytest
import scipy.io
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer

from hmrf_fast import io, rows
from hmrf_fast.errors import FileError, InputError, InputTypeError

TEXTS = ["one two three", 'two, "three" four', "five\nsix one", "", "seven seven eight"]


@pytest.fixture
def X():
    return sp.random(211, 30, 0.2, format="csr", random_state=np.random.default_rng(0))


@pytest.fixture(autouse=True)
def many_pieces(monkeypatch):
    """Else every source would be one piece."""
    for name in ("rows.convert", "io.blocks", "io.cells", "io.matrix_file", "io.matrix_market"):
        monkeypatch.setattr(f"hmrf_fast.{name}.ENTRIES", 100)
    for name in ("BYTES", "TEXT"):
        monkeypatch.setattr(f"hmrf_fast.io.sources.{name}", 1000)
    for name in ("rows.convert.TEXTS", "io.reading.ROWS", "io.texts.ROWS"):
        monkeypatch.setattr(f"hmrf_fast.{name}", 2)


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


def assert_reads(path, X, rtol=0.0, **settings):
    """The same rows, ids, classes and names from the file's rows in memory and in a store; returns what it says."""
    whole, cut = io.read(path, **settings), io.read(path, store=path.with_suffix(".store"), **settings)
    np.testing.assert_allclose(sp.csr_matrix(whole.matrix).toarray(), X.toarray(), rtol=rtol)
    assert_holds(cut.matrix, X, rtol)
    assert (cut.ids, cut.labels, cut.feature_names) == (whole.ids, whole.labels, whole.feature_names)
    return whole


def test_npz(tmp_path, X):
    for name, compressed in (("a", False), ("b", True)):
        sp.save_npz(tmp_path / f"{name}.npz", X, compressed=compressed)
        assert_reads(tmp_path / f"{name}.npz", X)
    sp.save_npz(tmp_path / "csc.npz", X.tocsc())
    assert_reads(tmp_path / "csc.npz", X)
    ids = np.array([f"r{row}" for row in range(X.shape[0])])
    for name, dense in (("rows", X.toarray()), ("columns", np.asfortranarray(X.toarray()))):
        np.savez(tmp_path / f"{name}.npz", X=dense, ids=ids, labels=np.arange(ids.size) % 2)
        assert assert_reads(tmp_path / f"{name}.npz", X).ids == ids.tolist()
    parts = {"indices": X.indices, "indptr": X.indptr, "shape": X.shape}
    np.savez_compressed(tmp_path / "both.npz", counts=2 * X.data, tfidf=X.data.astype("f4"), **parts)
    assert_reads(tmp_path / "both.npz", 2 * X, values="counts")
    assert io.read(tmp_path / "both.npz", store=tmp_path / "single", dtype="f4").matrix.dtype == np.float32


def damaged(X, **parts):
    return {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape, "format": b"csr"} | parts


@pytest.mark.parametrize("piecewise", [False, True])
def test_bad_npz(tmp_path, X, piecewise):
    other = X.indices.copy()
    other[-1] = 30
    for number, (parts, told) in enumerate(
        [
            ({"indptr": X.indptr[::-1].copy()}, "pointers do not rise"),
            ({"indptr": X.indptr[:-1]}, "211 row pointers for 211 rows"),
            ({"data": X.data[:-1]}, f"{X.nnz - 1} values where there should be {X.nnz}"),
            ({"indices": other}, "30"),
            ({"format": b"xyz"}, "'xyz' are not known"),
        ]
    ):
        np.savez(tmp_path / f"{number}.npz", **damaged(X, **parts))
        with pytest.raises(FileError, match=told):
            io.read(tmp_path / f"{number}.npz", store=tmp_path / "other" if piecewise else None)
    sp.save_npz(tmp_path / "cut.npz", X)
    (tmp_path / "cut.npz").write_bytes((tmp_path / "cut.npz").read_bytes()[:-300])
    with pytest.raises(FileError, match=r"cannot be read as a matrix in \.npz format"):
        io.read(tmp_path / "cut.npz", store=tmp_path / "other" if piecewise else None)
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("zero_based", [False, True])
def test_svmlight(tmp_path, X, zero_based):
    y = np.arange(X.shape[0]) % 3
    dump_svmlight_file(X, y, str(tmp_path / "x.svm"), zero_based=zero_based)
    found = assert_reads(tmp_path / "x.svm", X, rtol=1e-12)
    assert found.labels == [str(one) for one in y]
    (tmp_path / "y.svm.gz").write_bytes(gzip.compress((tmp_path / "x.svm").read_bytes() + b"# 0 0:1\n"))
    assert io.read(tmp_path / "y.svm.gz", store=tmp_path / "packed").matrix.shape == X.shape
    (tmp_path / "bad.svm").write_text("1 a:b\n")
    with pytest.raises(FileError, match=r"bad\.svm: cannot be read"):
        io.read(tmp_path / "bad.svm", store=tmp_path / "other")


def test_matrix_market(tmp_path, X):
    scipy.io.mmwrite(tmp_path / "x.mtx", X.tocsc().tocoo(), precision=17)
    assert_reads(tmp_path / "x.mtx", X, rtol=1e-15)
    square = (X[:30] + X[:30].T).tocsr()
    scipy.io.mmwrite(tmp_path / "square.mtx", square, precision=17, symmetry="symmetric")
    assert_reads(tmp_path / "square.mtx", square, rtol=1e-15)
    scipy.io.mmwrite(tmp_path / "dense.mtx", X.toarray(), precision=17)
    assert_reads(tmp_path / "dense.mtx", X, rtol=1e-15)
    lines = (tmp_path / "x.mtx").read_text().splitlines()
    (tmp_path / "torn.mtx").write_text("\n".join(lines[:-3]))
    with pytest.raises(FileError, match=f"it names {X.nnz} entries and has {X.nnz - 3}"):
        io.read(tmp_path / "torn.mtx", store=tmp_path / "other")
    (tmp_path / "out.mtx").write_text("\n".join([*lines[:-1], "212 1 1.0"]))
    with pytest.raises(FileError, match=rf"entries \d+ to {X.nnz}: .*Row index out of bounds"):
        io.read(tmp_path / "out.mtx", store=tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_h5ad(tmp_path, X):
    anndata = pytest.importorskip("anndata")
    for name, matrix in (("csr", X), ("dense", X.toarray()), ("csc", X.tocsc())):
        cells = anndata.AnnData(matrix)
        cells.obs["label"] = pandas.Categorical([None, *(f"c{row % 3}" for row in range(1, X.shape[0]))])
        cells.write_h5ad(tmp_path / f"{name}.h5ad")
        found = assert_reads(tmp_path / f"{name}.h5ad", X)
        assert found.labels[:3] == [None, "c1", "c2"] and found.ids[:2] == ["0", "1"]


def write_tables(folder, records):
    """The same table in every format."""
    lines = [json.dumps({name: value for name, value in one.items() if value is not None}) for one in records]
    (folder / "t.jsonl").write_text("\n".join(lines))
    with gzip.open(folder / "p.jsonl.gz", "wt") as file:
        file.write("\n".join(lines))
    with (folder / "t.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
    parquet, pyarrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    parquet.write_table(pyarrow.Table.from_pylist(records), folder / "t.parquet")
    return [folder / name for name in ("t.jsonl", "p.jsonl.gz", "t.csv", "t.parquet")]


def test_tables_of_numbers(tmp_path, X):
    rows_of = [
        {f"f{column}": value for column, value in enumerate(row)} | {"id": f"r{number}", "label": "ab"[number % 2]}
        for number, row in enumerate(X[:9].toarray().tolist())
    ]
    for path in write_tables(tmp_path, rows_of):
        found = assert_reads(path, X[:9])
        assert found.ids[8] == "r8" and found.labels[:2] == ["a", "b"]
        (tmp_path / "t.store").exists() and shutil.rmtree(tmp_path / "t.store")


def test_tables_of_texts(tmp_path):
    records = [
        {"id": f"r{number}", "text": text, "label": "x" if number == 3 else None} for number, text in enumerate(TEXTS)
    ]
    records[3]["text"] = "eight"  # a cell of CSV cannot be empty
    matrix, vectorizer = io.vectorize([one["text"] for one in records], min_df=1, max_df=1.0, stop_words=None)
    for path in write_tables(tmp_path, records):
        found = assert_reads(path, matrix, vectorizer=vectorizer)
        assert found.labels == [None, None, None, "x", None] and found.texts[1] == TEXTS[1]
        shutil.rmtree(path.with_suffix(".store"))
        assert list(io.stream_texts(path)) == found.texts


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["a", "b", "c", "a"], "line 4: id 'a' was used before .*line 1"),
        (["a", "b", None, "d"], "line 3: has no id"),
    ],
)
def test_ids_are_compared_across_blocks(tmp_path, lines, told):
    (tmp_path / "t.jsonl").write_text("\n".join(json.dumps({"v": 1.0} | ({"id": one} if one else {})) for one in lines))
    with pytest.raises(FileError, match=told):
        io.read(tmp_path / "t.jsonl", store=tmp_path / "t")
    with pytest.raises(FileError):
        io.read(tmp_path / "t.jsonl")


LATE = [
    (['{"v": 1}', '{"v": 2}', '{"v": 3, "id": "a"}'], "line 1: has no id"),
    (['{"v": 1}', '{"v": 2}', '{"v": 3}', '{"v": 4, "text": "a"}'], r"line 4: column 'text' is not there"),
    (
        ['{"title": "a"}', '{"title": "b"}', '{"title": "c"}', '{"title": "d", "text": "e"}'],
        r"line 4: has a column 'text'",
    ),
    (['{"text": "a"}', '{"text": "b"}', '{"title": "c"}'], "line 3: has no text"),
]


@pytest.mark.parametrize(("lines", "told"), LATE)
def test_columns_that_come_late_are_refused_as_in_one_block(tmp_path, lines, told):
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    vectorizer = io.vectorize(["a b", "a b"], min_df=1, max_df=1.0, token_pattern=".")[1]
    with pytest.raises(FileError, match=told):
        io.read(tmp_path / "t.jsonl", store=tmp_path / "t", vectorizer=vectorizer)
    with pytest.raises(InputError, match=r"line \d: "):
        io.read(tmp_path / "t.jsonl", vectorizer=vectorizer)
    assert not (tmp_path / "t").exists()


def test_a_further_column_of_text_may_be_missing(tmp_path):
    lines = [{"a": "one", "b": "two"}, {"a": "three"}, {"a": "one"}, {"a": "one"}, {"b": "two"}]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, lines)))
    told = list(io.stream_texts(tmp_path / "t.jsonl", text="a,b"))
    assert told == io.read_texts(tmp_path / "t.jsonl", text="a,b").texts
    assert told == ["one\ntwo", "three\n", "one\n", "one\n", "\ntwo"]


def test_columns_of_text_are_named_in_one_string(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"a": "one", "b": "two"}\n')
    for reads in (io.read, io.read_texts, lambda path, text: list(io.stream_texts(path, text=text))):
        with pytest.raises(InputTypeError, match=r"separated by commas, got \['a', 'b'\]"):
            reads(tmp_path / "t.jsonl", text=["a", "b"])


def test_entries_of_one_cell_have_one_sum(tmp_path):
    """In pieces they are met in another order than in one, where a symmetric file names both halves."""
    rng, count = np.random.default_rng(0), 400
    for symmetry in ("symmetric", "skew-symmetric", "general"):
        ends = rng.integers(1, 6, (count, 2)) + np.array([0, 7 if symmetry == "skew-symmetric" else 0])
        entries = zip(*ends.T.tolist(), rng.normal(size=count).tolist(), strict=True)
        text = "".join(f"{i} {j} {value!r}\n" for i, j, value in entries)
        path = tmp_path / f"{symmetry}.mtx"
        path.write_text(f"%%MatrixMarket matrix coordinate real {symmetry}\n12 12 {count}\n{text}")
        whole = io.read(path).matrix
        stored = io.read(path, store=path.with_suffix(".store")).in_memory()
        np.testing.assert_array_equal(stored.toarray(), whole.toarray())
        np.testing.assert_allclose(whole.toarray(), scipy.io.mmread(path).toarray(), rtol=1e-9, atol=1e-12)
        assert whole.nnz < count


def test_nothing_is_left_of_a_reader_that_is_not_heard_out(tmp_path):
    """Whoever keeps the error keeps its frames, and with them the reader and its temporary files."""
    entries = "".join(f"{row} 1 {'1e200' if row == 1 else 2}\n" for row in range(1, 400))
    (tmp_path / "x.mtx").write_text(f"%%MatrixMarket matrix coordinate real general\n399 2 399\n{entries}")
    with pytest.raises(InputError, match=r"1e\+200") as told:
        io.read(tmp_path / "x.mtx", store=tmp_path / "x.store")
    assert [path.name for path in tmp_path.iterdir()] == ["x.mtx"], told


def test_comments_of_any_length(tmp_path):
    comments = "% nothing\n" * 500
    (tmp_path / "x.mtx").write_text(
        f"%%MatrixMarket matrix coordinate real general\n{comments}2 2 2\n1 1 3\n2 2 4\n" + "\n" * 2000
    )
    assert_reads(tmp_path / "x.mtx", sp.csr_matrix([[3.0, 0.0], [0.0, 4.0]]))
    (tmp_path / "y.mtx").write_text(f"%%MatrixMarket matrix coordinate real general\n{comments}")
    for store in (None, tmp_path / "y.store"):
        with pytest.raises(FileError, match="the line of sizes does not fit"):
            io.read(tmp_path / "y.mtx", store=store)


@pytest.mark.parametrize("content", [b"", b"\n", b"# nothing\n", b"1\n2\n"])
def test_svmlight_without_any_entry(tmp_path, content):
    (tmp_path / "x.svm").write_bytes(content)
    whole, stored = io.read(tmp_path / "x.svm"), io.read(tmp_path / "x.svm", store=tmp_path / "x.store")
    assert whole.matrix.shape == stored.matrix.shape and whole.labels == stored.labels


def test_texts(tmp_path):
    for vectorizer in (HashingVectorizer(n_features=64), TfidfVectorizer().fit(TEXTS)):
        there = rows.write_texts(tmp_path / f"{vectorizer}"[:10], iter(TEXTS), vectorizer)
        assert_holds(there, vectorizer.transform(TEXTS))


def test_a_folder_as_a_store(tmp_path):
    (tmp_path / "texts").mkdir()
    for number, text in enumerate(TEXTS):
        (tmp_path / "texts" / f"{number}.txt").write_text(f"{text} number {('even', 'uneven')[number % 2]}")
    found = io.read(tmp_path / "texts", store=tmp_path / "store")
    whole = io.read(tmp_path / "texts")
    assert_holds(found.matrix, whole.matrix)
    assert found.texts is None and found.ids == whole.ids and found.feature_names == whole.feature_names


def test_texts_that_are_none_are_named(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"text": "a"}\n{"title": "b"}\n{"text": "c"}\n{"text": "d", "title": "e"}\n')
    with pytest.raises(FileError, match=r"line 2: has no text"):
        list(io.stream_texts(tmp_path / "t.jsonl"))
    with pytest.raises(FileError, match="no such file"):
        next(io.stream_texts(tmp_path / "t.parquet"))


def test_values_that_no_row_may_have(tmp_path, X):
    X.data[-1] = np.inf
    sp.save_npz(tmp_path / "x.npz", X)
    with pytest.raises(InputError, match=r"infinity \(inf\) at row \d+, column \d+; .*counted from row \d+"):
        io.read(tmp_path / "x.npz", store=tmp_path / "store")
