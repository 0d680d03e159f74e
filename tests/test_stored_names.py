"""Stores keep what people call rows and features, so that constraints by id mean the same rows as before."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from commands import run_command

from hmrf_fast import io
from hmrf_fast.errors import FileError

TEXTS = ["red apple", "red pear", "", "green apple", "green pear tart"]


@pytest.fixture
def named(tmp_path):
    data = io.dataset_of_texts(
        io.Texts(TEXTS, [f"r{row}" for row in range(5)], ["a", "a", None, "b", "b"]), min_df=1
    ).without_empty()
    data.save(tmp_path / "data")
    return tmp_path, data


def run(*arguments, code=0):
    done = run_command(*arguments)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code == 0 else done.stderr


def same_names(one, other):
    return (one.ids, one.labels, one.features) == (other.ids, other.labels, other.features)


def test_a_store_keeps_names_and_may_be_moved(named):
    place, data = named
    told = io.read(place / "data", store=place / "X.store")
    assert same_names(told, data) and told.texts is None
    assert repr(told) == "DataSet(4 rows x 5 features, on disk, ids, labels, feature names)"
    assert "4 x 5, 9 values, float64" in repr(told.matrix)
    shutil.move(place / "X.store", place / "moved")
    found = io.read(place / "moved")
    assert same_names(found, data) and found.vectorizer.terms == data.vectorizer.terms
    assert np.array_equal(found.in_memory().toarray(), data.matrix.toarray())


def test_a_folder_beside_a_store_tells_where_the_rows_are(named):
    place, data = named
    io.write(data, place / "X.store")
    io.read(place / "X.store").save(place / "copy")
    found = io.read(place / "copy")
    assert same_names(found, data) and found.matrix.path == (place / "X.store").resolve()


def test_rows_without_names_make_a_plain_store(tmp_path):
    io.write(io.DataSet(np.eye(3)), tmp_path / "X.store")
    assert sorted(path.name for path in (tmp_path / "X.store").iterdir()) == [
        "header.json", "indices.npy", "indptr.npy", "values.npy",
    ]  # fmt: skip


def test_names_that_cannot_be_written_take_the_store_with_them(named):
    place, data = named
    store = io.read(place / "data", store=place / "X.store").matrix
    (place / "X.store" / "about.json").unlink()
    (place / "X.store" / "about.json").mkdir()  # no file can be put in its place
    broken = io.DataSet(store, ids=data.ids, feature_names=data.features)
    with pytest.raises(FileError, match="cannot be written"):
        broken.kept_in_store()
    assert not store.path.exists()


def test_ids_mean_the_same_rows_in_every_form(named):
    place, _ = named
    (place / "pairs.csv").write_text("i,j,type\nr1,r3,must\n")
    (place / "lost.csv").write_text("i,j,type\nr1,r2,must\n")
    run("convert", place / "data", place / "X.store")
    for data in ("data", "X.store"):
        assert "1 must-link" in run("constraints", "check", place / "pairs.csv", place / data)
        assert "no row with the id 'r2'" in run("constraints", "check", place / "lost.csv", place / data, code=2)
    assert "no room for the ids" in run_command("convert", place / "data", place / "X.npz").stderr
