"""Rows on disk, estimates and resumption from the command line."""

from __future__ import annotations

import json
import re

import pytest
import scipy.sparse as sp
from commands import run_command

from hmrf_fast import datasets, estimate_memory, io, rows


def run(*arguments, code=0):
    done = run_command(*arguments)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.fixture
def news(tmp_path):
    X = datasets.load("news_different_3", return_X_y=True)[0]
    sp.save_npz(tmp_path / "X.npz", X)
    (tmp_path / "pairs.csv").write_text("i,j,type\n0,1,must\n100,101,must\n0,100,cannot\n")
    return tmp_path, X


def fit(place, data, out, *more, code=0):
    return run("fit", data, "-k", 3, "--constraints", place / "pairs.csv", "--out", place / out, *more, code=code)


def test_rows_on_disk_are_input_like_any_matrix(news):
    place, X = news
    fit(place, place / "X.npz", "memory")
    run("convert", place / "X.npz", place / "X.store")
    fit(place, place / "X.store", "disk")
    labels = [(place / name / "labels.csv").read_bytes() for name in ("memory", "disk")]
    assert labels[0] == labels[1]
    assert not (place / "disk" / "data" / "matrix.npz").exists()
    told = [
        run("predict", place / "disk", place / one, "--out", place / f"p{k}.csv")
        for k, one in enumerate(["X.store", "X.npz"])
    ]
    assert len(told) == 2 and (place / "p0.csv").read_bytes() == (place / "p1.csv").read_bytes()
    run("report", place / "disk", "--out", place / "page.html")
    run("convert", place / "X.store", place / "back.npz")
    assert (sp.load_npz(place / "back.npz") != X).nnz == 0
    assert "is there already" in run("convert", place / "X.npz", place / "X.store", code=2)


def test_a_dry_run_tells_and_leaves_nothing(news):
    place, X = news
    told = fit(place, place / "X.npz", "none", "--dry-run")
    assert not (place / "none").exists()
    lines = dict(re.split(r"  +", line.strip(), maxsplit=1) for line in told.splitlines())
    assert len(lines) == len(told.splitlines()), "two lines have one name"
    pairs, constrained = map(int, re.findall(r"\d+", lines["priced pairs"]))
    expected = estimate_memory(*X.shape, X.nnz, 3, n_constrained=constrained, n_pairs=pairs)
    assert constrained == 4 and pairs >= 3
    for name, size in (("memory", expected.total), ("for tables", expected.tables)):
        number, unit = lines[name].split()[:2]
        assert float(number) == pytest.approx(size / {"kB": 1e3, "MB": 1e6}[unit], abs=0.051)
    assert re.match(r"\d", lines["E-step"]) and "search for initial centroids" in lines["not timed"]
    rows.write_matrix(place / "store", X)
    assert "elsewhere" in fit(place, place / "store", "none", "--dry-run", "--metric", "i_divergence")


def test_resume_asks_for_a_checkpoint(news):
    place, _ = news
    assert "--resume needs --checkpoint" in fit(place, place / "X.npz", "a", "--resume", code=2)
    saved = ("--checkpoint", place / "fit.ckpt")
    assert "no checkpoint to go on from" in fit(place, place / "X.npz", "a", "--resume", *saved, code=2)
    assert not (place / "a").exists()
    assert "taken from" not in fit(place, place / "X.npz", "a", *saved)
    told = fit(place, place / "X.npz", "b", "--resume", *saved)
    assert f"taken from {place / 'fit.ckpt'}, which holds this finished fit" in told
    one, other = (json.loads((place / name / "summary.json").read_text())["objective"] for name in "ab")
    assert one == other


def test_convert_takes_names_of_features(tmp_path):
    sp.save_npz(tmp_path / "X.npz", sp.eye(3, format="csr"))
    (tmp_path / "genes.txt").write_text("g1\r\ng2\r\ng3\r\n")
    run("convert", tmp_path / "X.npz", tmp_path / "m", "--features", tmp_path / "genes.txt")
    assert io.read(tmp_path / "m").feature_names == ["g1", "g2", "g3"]
    (tmp_path / "genes.txt").write_text("g1\ng2\n")
    told = run("convert", tmp_path / "X.npz", tmp_path / "n", "--features", tmp_path / "genes.txt", code=2)
    assert "genes.txt: has 2 lines, but there are 3 features" in told and not (tmp_path / "n").exists()
