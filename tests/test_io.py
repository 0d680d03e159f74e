"""Files that people have -> rows, texts and constraints; every refusal names the line and what to do."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file
from text_corpus import json_lines, records

from hmrf_fast import Constraints, datasets
from hmrf_fast.errors import FileError, InputError, InputTypeError
from hmrf_fast.examination import examine
from hmrf_fast.io import (
    DataSet,
    Texts,
    dataset_of_texts,
    read,
    read_constraints,
    read_texts,
    vectorize,
    write,
    write_constraints,
    write_labels,
)
from hmrf_fast.io.results import load_results

IDS = [record["id"] for record in records()]
TEXTS = [record["text"] for record in records()]
LABELS = [record["label"] for record in records()]


def as_csv(delimiter=",", end="\r\n") -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, ["id", "label", "text"], delimiter=delimiter, lineterminator=end)
    writer.writeheader()
    writer.writerows(records())
    return stream.getvalue().encode()


def as_parquet() -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.Table.from_pylist(records()), sink)
    return sink.getvalue().to_pybytes()


FILES = {
    "a.jsonl": json_lines,
    "b.jsonl": lambda: json_lines("\r\n"),
    "c.jsonl.gz": lambda: gzip.compress(json_lines()),
    "packed-without-saying-so.jsonl": lambda: gzip.compress(json_lines()),
    "mark.jsonl": lambda: b"\xef\xbb\xbf" + json_lines(),
    "unknown.name": lambda: b"\n" + json_lines(),
    "d.csv": as_csv,
    "e.csv.gz": lambda: gzip.compress(as_csv(end="\n")),
    "f.tsv": lambda: as_csv("\t"),
    "g.parquet": as_parquet,
}


@pytest.mark.parametrize("name", FILES)
def test_texts_of_every_format_are_the_same(name, tmp_path):
    (tmp_path / name).write_bytes(FILES[name]())
    found = read_texts(tmp_path / name)
    assert found.ids == IDS and found.texts == TEXTS and found.labels == LABELS


def test_texts_of_a_folder_and_of_lines(tmp_path):
    for record in records():
        (tmp_path / "all" / record["label"]).mkdir(parents=True, exist_ok=True)
        (tmp_path / "all" / record["label"] / f"{record['id']}.txt").write_text(record["text"])
    found = read_texts(tmp_path / "all")
    assert set(zip(found.ids, found.texts, found.labels, strict=True)) == {
        (f"{record['label']}/{record['id']}.txt", record["text"], record["label"]) for record in records()
    }
    (tmp_path / "lines.txt").write_bytes(("\r\n".join(TEXTS) + "\r\n").encode())
    assert read_texts(tmp_path / "lines.txt") == (TEXTS, None, None)


def test_columns_by_name(tmp_path):
    (tmp_path / "x.jsonl").write_text(
        '{"subject": "A", "body": "b", "nr": 7, "group": null}\n{"subject": "C", "nr": 8}'
    )
    found = read_texts(tmp_path / "x.jsonl", text="subject,body", id="nr", label="group")
    assert found == (["A\nb", "C\n"], ["7", "8"], [None, None])


LATIN = "id,text\n1,caf\xe9\n".encode("latin-1")
BAD_TEXTS = {
    "there is no such file": ("none.jsonl", None),
    "a.jsonl: holds no rows": ("a.jsonl", b""),
    "b.csv: holds no rows": ("b.csv", b"id,text\n"),
    "holds no rows": ("blank.txt", b" \n\n"),
    r"c.csv, line 2: byte 0xe9 is not utf-8; .*--encoding, often latin-1": ("c.csv", LATIN),
    "its gzip content is damaged or cut short": ("d.jsonl.gz", gzip.compress(json_lines())[:-9]),
    r"e.jsonl, line 2: 'x' is not JSON": ("e.jsonl", b'{"text": "a"}\nx\n'),
    "f.jsonl, line 1: .* is no JSON object": ("f.jsonl", b"[1]\n"),
    r"g.jsonl: has no column text, body, .*, but words; name the one .*--text": ("g.jsonl", b'{"words": "a b"}'),
    "h.jsonl, line 3: has no text": ("h.jsonl", b'{"text": "a"}\n\n{"id": 1, "text": null}'),
    r"i.csv, line 3: id 'a' was used before \(.*line 2\)": ("i.csv", b"id,text\na,x\na,y\n"),
    "j.csv, line 3: 1 columns, expected 2": ("j.csv", b"id,text\na,x\nb\n"),
    "k.csv: is not a CSV text file": ("k.csv", b'id,text\na,"x\n'),
    "l.jsonl, line 1: text is no text but a list": ("l.jsonl", b'{"text": [1]}'),
    "m.csv, line 1: two columns have the same name": ("m.csv", b"text,text\na,b\n"),
    "n.jsonl, line 2: has no id": ("n.jsonl", b'{"id": 1, "text": "a"}\n{"text": "b"}'),
}


@pytest.mark.parametrize("told", BAD_TEXTS)
def test_bad_texts(told, tmp_path):
    name, content = BAD_TEXTS[told]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(FileError, match=told):
        read_texts(tmp_path / name)


def test_encodings(tmp_path):
    (tmp_path / "c.csv").write_bytes(LATIN)
    assert read_texts(tmp_path / "c.csv", encoding="latin-1").texts == ["caf\xe9"]
    with pytest.raises(FileError, match="encoding 'nothing' is unknown"):
        read_texts(tmp_path / "c.csv", encoding="nothing")
    with pytest.raises(FileError, match=r"has no column 'tekst'; name one that it has: id, text"):
        read_texts(tmp_path / "c.csv", encoding="latin-1", text="tekst")


def test_broken_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(FileError, match="cannot be read as Parquet"):
        read_texts(tmp_path / "x.parquet")


@given(st.lists(st.text(), min_size=1, max_size=5))
def test_any_text_survives_json_lines(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("texts") / "x.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    assert read_texts(path).texts == texts


@pytest.mark.parametrize("values", ["tfidf", "counts"])
def test_further_texts_get_the_same_columns(values, tmp_path):
    matrix, vectorizer = vectorize(TEXTS, values=values)
    assert "the" not in vectorizer.terms and "orbit" in vectorizer.terms and "question" not in vectorizer.terms
    again = vectorizer.transform(TEXTS)
    assert abs(again - matrix).max() <= 1e-15  # words are added up in another order
    DataSet(matrix, IDS, TEXTS, LABELS, vectorizer.terms, vectorizer).save(tmp_path / "m")
    found = read(tmp_path / "m")
    assert (found.ids, found.texts, found.labels, found.feature_names) == (IDS, TEXTS, LABELS, vectorizer.terms)
    assert abs(found.matrix - matrix).nnz == 0
    # Written and read as JSON, weights keep all their digits.
    assert abs(found.vectorizer.transform(TEXTS) - again).nnz == 0
    assert found.vectorizer.transform(["unheard of"]).nnz == 0


def test_settings_that_there_are_not():
    texts = Texts(["red moon", "blue moon"], None, None)
    with pytest.raises(
        InputTypeError, match=r"drop_empty is no setting of vectorize, which has values, min_df, .*without_empty"
    ):
        dataset_of_texts(texts, drop_empty=True)
    vectorizer = dataset_of_texts(texts, min_df=1, max_df=1.0).vectorizer
    with pytest.raises(InputTypeError, match="min_df is a setting of a vectorizer, and one is given"):
        dataset_of_texts(texts, vectorizer=vectorizer, min_df=2)


def test_vectorizer_settings():
    assert "question" in vectorize(TEXTS, max_df=1.0)[1].terms
    assert "the" in vectorize(TEXTS, max_df=1.0, stop_words=None)[1].terms
    assert any(" " in term for term in vectorize(TEXTS, ngram_max=2)[1].terms)
    with pytest.raises(InputError, match=r"no word is left of 2 texts .*: lower min_df \(2\)"):
        vectorize(["one two", "three four"])
    with pytest.raises(InputError, match="no word is left"):
        vectorize(TEXTS, token_pattern="(")
    with pytest.raises(InputError, match="values must be one of"):
        vectorize(TEXTS, values="binary")


def test_matrices_of_every_format(tmp_path):
    matrix = sp.random_array((7, 5), density=0.5, rng=np.random.default_rng(0), format="csr")
    labels = np.arange(7) % 2
    sp.save_npz(tmp_path / "a.npz", matrix)
    np.savez(tmp_path / "b.npz", X=matrix.toarray(), labels=labels, label_names=["x", "y"], ids=list("abcdefg"))
    scipy.io.mmwrite(tmp_path / "c.mtx", matrix)
    (tmp_path / "d.mtx.gz").write_bytes(gzip.compress((tmp_path / "c.mtx").read_bytes()))
    dump_svmlight_file(matrix, labels, str(tmp_path / "e.svm"))
    names = [f"f{k}" for k in range(5)]
    rows = matrix.toarray().tolist()
    (tmp_path / "f.csv").write_text("id," + ",".join(names) + "\n" + "".join(
        f"r{k},{','.join(map(repr, row))}\n" for k, row in enumerate(rows)))  # fmt: skip
    (tmp_path / "g.jsonl").write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))
    for path in sorted(tmp_path.iterdir()):
        found = read(path)
        np.testing.assert_allclose(sp.csr_matrix(found.matrix).toarray(), matrix.toarray(), err_msg=path.name)
    assert read(tmp_path / "b.npz").labels == list("xyxyxyx") and read(tmp_path / "b.npz").ids == list("abcdefg")
    assert read(tmp_path / "e.svm").labels == list("0101010")
    assert (
        read(tmp_path / "f.csv").ids == [f"r{k}" for k in range(7)] and read(tmp_path / "f.csv").feature_names == names
    )


@pytest.mark.parametrize("name", ["x.npz", "x.mtx", "x.svm", "x.h5ad", "folder"])
def test_written_rows_are_read_again(name, tmp_path):
    if name.endswith("h5ad"):
        pytest.importorskip("anndata")
    (tmp_path / "a.jsonl").write_bytes(json_lines())
    data = read(tmp_path / "a.jsonl")
    write(data, tmp_path / name)
    found = read(tmp_path / name)
    np.testing.assert_allclose(sp.csr_matrix(found.matrix).toarray(), data.matrix.toarray())
    if name in ("x.h5ad", "folder"):
        assert found.ids == IDS and found.labels == LABELS and found.feature_names == data.feature_names
    if name == "x.svm":
        assert len(set(found.labels)) == 3
    with pytest.raises(FileError, match=r"'.doc' is none of .npz"):
        write(data, tmp_path / "x.doc")


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("x.mtx", b"%%Matrix", "cannot be read as Matrix Market"),
        ("x.mtx", b"", "cannot be read as Matrix Market"),
        ("x.svm", b"1 a:b\n", "cannot be read as svmlight"),
        ("x.h5ad", b"nothing", "cannot be read as .h5ad"),
        ("x.csv", b"id,a\nr,1\ns,two\n", "line 3: a = 'two' is no number; if it is text, say --text a"),
        ("x.csv", b"id,label\nr,1\n", "neither a column of text nor columns of numbers"),
        ("x.jsonl", b'{"a": 1}\n{"b": 1}\n', "line 2: a = None is no number"),
    ],
)
def test_bad_matrices(name, content, told, tmp_path):
    if name == "x.h5ad":
        pytest.importorskip("anndata")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=re.escape(told)):
        read(tmp_path / name)


def test_folders_that_do_not_fit_together(tmp_path):
    dataset_of_texts(read_texts_of(tmp_path)).save(tmp_path / "m")
    about = json.loads((tmp_path / "m" / "about.json").read_text())
    for changed, told in (
        ({**about, "n_rows": 61}, "do not belong together"),
        ({**about, "version": 9}, "newer hmrf_fast"),
        ({**about, "format": "other"}, "is no hmrf_fast data set"),
        ({"format": about["format"]}, "is damaged"),
        ([], "is damaged"),
    ):
        (tmp_path / "m" / "about.json").write_text(json.dumps(changed))
        with pytest.raises(FileError, match=told):
            read(tmp_path / "m")
    with pytest.raises(FileError, match="is no folder of results"):
        load_results(tmp_path / "m")


def read_texts_of(folder):
    (folder / "a.jsonl").write_bytes(json_lines())
    return read_texts(folder / "a.jsonl")


def constraints(tmp_path, content, name="c.csv", ids=IDS):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_constraints(tmp_path / name, 60, ids)


@pytest.mark.parametrize("ids", [IDS, None])
def test_pairs_by_number(ids, tmp_path):
    found = constraints(tmp_path, "0,3,must,2\r\n3,1,cannot,inf\r\n", ids=ids)
    assert found.must_link.tolist() == [[0, 3]] and found.cannot_link.tolist() == [[1, 3]]
    assert found.must_link_weight.tolist() == [2.0] and found.cannot_link_weight.tolist() == [np.inf]


def test_pairs_by_id(tmp_path):
    found = constraints(tmp_path, "I,J,Type\nmsg-0,msg-3,same\nmsg-3,msg-1,different\n")
    assert found.must_link.tolist() == [[0, 3]] and found.cannot_link.tolist() == [[1, 3]]
    lines = b'{"i": "msg-0", "j": "msg-3", "type": "must", "weight": 0.5}\n'
    assert constraints(tmp_path, lines, "c.jsonl").must_link_weight.tolist() == [0.5]
    # Ids that look like numbers are ids, not row numbers.
    assert constraints(tmp_path, "7,9,must\n", ids=["9", "7", *map(str, range(100, 158))]).must_link.tolist() == [
        [0, 1]
    ]


def test_labels_and_groups(tmp_path):
    found = constraints(
        tmp_path, "id,label,must_link_group,cannot_link_group\nmsg-5,space,,g\nmsg-2,,h,g\nmsg-1,x,h,-1\n"
    )
    assert found.codes[[5, 2, 1, 0]].tolist() == [0, -1, 1, -1]
    assert found.must_link_groups.codes[[5, 2, 1]].tolist() == [-1, 0, 0]
    assert found.cannot_link_groups.codes[[5, 2, 1]].tolist() == [0, 0, -1]
    assert constraints(tmp_path, "row,label\n4,1\n").codes[4] == 0


def test_constraints_in_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = {"i": [0, 1], "j": [3, 4], "type": ["must", "no"], "weight": [1.0, None]}
    parquet.write_table(pyarrow.table(table), tmp_path / "c.parquet")
    with pytest.raises(FileError, match="row 1: type 'no' is none of must"):
        read_constraints(tmp_path / "c.parquet", 60)
    parquet.write_table(pyarrow.table(table | {"type": ["must", "cannot"]}), tmp_path / "c.parquet")
    assert read_constraints(tmp_path / "c.parquet", 60).cannot_link_weight.tolist() == [1.0]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("msg-0,msg-99,must\n", "line 1: the data have no row with the id 'msg-99'"),
        (
            "msg-0,msg-1,must\nmsg-0,msg-99,must\nx,y,must\n",
            r"line 2: the data have no row with the id 'msg-99' \(2 more: 'x', 'y'\); correct",
        ),
        ("a,b,must\n", "line 1: row number 'a' is not an integer, nor is it an id of the data, which are like 'msg-0'"),
        ("id,label\nmsg-0,a\n\nmsg-0,b\n", r"line 4: row msg-0 was named before \(.*line 2\)"),
        ("id,name\nmsg-0,a\n", "has the columns id, name; expected i,j,type"),
        ("i,j,weight\n0,1,1\n", "has the columns i, j, weight; expected"),
        (
            "a,b,kind\nmsg-0,msg-3,must\n",
            r"line 1: neither a pair nor known column names \(a,b,kind\); expected i,j,type",
        ),
        ("a,b,kind,w\n0,3,must,1\n", r"line 1: neither .* expected i,j,type\[,weight\] or id,label or id,must_link"),
        ("id,kind\n", "has the columns id, kind; expected i,j,type"),
        ("", r"holds no constraints; expected i,j,type"),
        ("# none yet\n\n", "holds no constraints"),
        (b"0,1,must\xff\n", "line 1: byte 0xff is not utf-8"),
    ],
)
def test_bad_constraints(content, told, tmp_path):
    with pytest.raises(FileError, match=told):
        constraints(tmp_path, content)


@pytest.mark.parametrize("ids", [IDS, None])
def test_written_constraints_are_read_again(ids, tmp_path):
    known = constraints(tmp_path, "0,3,must,0.1\n4,1,cannot,inf\n")
    write_constraints(tmp_path / "again.csv", known, ids)
    found = read_constraints(tmp_path / "again.csv", 60, ids)
    for name in ("must_link", "cannot_link", "must_link_weight", "cannot_link_weight"):
        np.testing.assert_array_equal(getattr(found, name), getattr(known, name))
    write_constraints(tmp_path / "none.csv", Constraints(), ids)
    assert read_constraints(tmp_path / "none.csv", 60, ids).is_empty


def test_labels_are_written(tmp_path):
    labels = np.array([1, 0], np.int32)
    write_labels(tmp_path / "a.csv", labels)
    assert (tmp_path / "a.csv").read_text() == "row,label\n0,1\n1,0\n"
    write_labels(tmp_path / "a.csv", labels, ['x,"y"', "z"], np.array([0.5, 0.25]))
    assert (tmp_path / "a.csv").read_text() == 'id,label,distance\n"x,""y""",1,0.5\nz,0,0.25\n'
    with pytest.raises(FileError, match="cannot be written"):
        write_labels(tmp_path / "none" / "a.csv", labels)
    parquet = pytest.importorskip("pyarrow.parquet")
    write_labels(tmp_path / "a.parquet", labels, ["x", "z"])
    assert parquet.read_table(tmp_path / "a.parquet").to_pydict() == {"id": ["x", "z"], "label": [1, 0]}


def test_examination(tmp_path):
    found = examine(constraints(tmp_path, "0,1,must,inf\n1,2,must,inf\n0,2,cannot,inf\n5,6,cannot,\n"), 60)
    assert (found.n_must_link, found.n_cannot_link, found.n_constrained, found.n_contradictions) == (2, 2, 5, 1)
    assert found.neighborhood_sizes.tolist() == [3]
    assert found.contradictions == ("cannot-link (0, 2) contradicts the must-links 0-1-2",)
    assert "hard cannot-link (0, 2)" in found.refused and not found.is_consistent
    labels = constraints(tmp_path, "id,label\nmsg-0,a\nmsg-1,b\nmsg-2,a\n")
    assert examine(labels, 60).is_consistent and examine(labels, 60).n_labels == 3
    assert "holds 2 classes, more than n_clusters=1" in examine(labels, 60, 1).refused


def test_bundled_files_are_read():
    found = read(datasets.load("news_different_3").filename)
    assert found.n_rows == 300 and len(set(found.labels)) == 3 and len(found.ids) == 300


@pytest.mark.parametrize("ending", [".vocab.txt", ".vocab.txt.gz"])
def test_names_beside_a_matrix(tmp_path, ending):
    sp.save_npz(tmp_path / "X.npz", sp.csr_matrix(np.eye(3)))
    pack = gzip.compress if ending.endswith(".gz") else bytes
    (tmp_path / f"X{ending}").write_bytes(pack(b"one\ntwo\nthree\n"))
    assert read(tmp_path / "X.npz").feature_names == ["one", "two", "three"]
    (tmp_path / f"X{ending}").write_bytes(pack(b"one\ntwo\n"))
    assert read(tmp_path / "X.npz").feature_names is None
