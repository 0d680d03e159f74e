"""Paths that name no plain file, and files that are there but empty: one sentence, and nothing is touched."""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import hmrf_fast
from hmrf_fast import HMRFKMeans, io
from hmrf_fast.active import LabelOracle, SuperInstances
from hmrf_fast.errors import (
    CheckpointError,
    FileError,
    HMRFError,
    InputError,
    ModelFileError,
    NotEnoughMemoryError,
    SessionError,
)
from hmrf_fast.io.sources import LONGEST_LINE, read_bytes

X = np.array([[0.0, 1.0], [0.1, 1.0], [5.0, 0.0], [5.1, 0.0]])
NO_FILES = ["", ".", "a\0b"]


@pytest.fixture
def model():
    return HMRFKMeans(2, random_state=0).fit(X)


@pytest.mark.parametrize("path", NO_FILES)
def test_paths_that_can_never_be_files(tmp_path, monkeypatch, model, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckpointError):
        HMRFKMeans(2, checkpoint=path).fit(X)
    with pytest.raises((FileError, ModelFileError)):
        model.save(path)
    with pytest.raises(ModelFileError):
        hmrf_fast.load(path)
    with pytest.raises(SessionError):
        SuperInstances(2, budget=1).fit(X, oracle=LabelOracle([0, 0, 1, 1]), session=path)
    with pytest.raises(FileError):
        io.read(path)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_pipes_and_links(tmp_path, model):
    """A pipe stays a pipe; of a link, the file behind it is written."""
    pipe, link, target = tmp_path / "pipe", tmp_path / "link", tmp_path / "target"
    os.mkfifo(pipe)
    link.symlink_to(target)
    with pytest.raises((FileError, ModelFileError), match="pipe"):
        model.save(pipe)
    assert pipe.is_fifo()
    model.save(link)
    assert link.is_symlink() and target.is_file()
    assert np.array_equal(hmrf_fast.load(target).labels_, model.labels_)


@pytest.mark.skipif(not Path("/dev/zero").is_char_device(), reason="needs the device")
@pytest.mark.parametrize("read", [io.read, io.read_texts, lambda path: io.read_constraints(path, 4)])
def test_devices_are_not_read(read):
    with pytest.raises((FileError, NotEnoughMemoryError), match="device"):
        read("/dev/zero")


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.svm", "x.mtx"])
def test_a_line_without_end(tmp_path, name):
    """A small file may unpack to one."""
    with gzip.open(tmp_path / name, "wb", compresslevel=1) as file:
        file.write(b'{"a": 1}\n{"a": 2}\r\n' if name.endswith("jsonl") else b"a\nb\r\n")
        for _ in range(LONGEST_LINE >> 20):
            file.write(b"1" * (1 << 20))
        file.write(b"1")
    with pytest.raises(FileError, match=f"{name}, line 3: is longer than 64 MiB; end lines"):
        io.read(tmp_path / name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_pipe_without_end(tmp_path):
    """It is left after a line's most, however much more would come."""
    os.mkfifo(tmp_path / "x.csv")
    sent = []

    def send():
        with open(tmp_path / "x.csv", "wb", buffering=0) as pipe:
            try:
                while True:
                    sent.append(pipe.write(b"1" * (1 << 20)))
            except BrokenPipeError:
                return

    writer = threading.Thread(target=send)
    writer.start()
    with pytest.raises(FileError, match="line 1: is longer"):
        io.read(tmp_path / "x.csv")
    writer.join()
    assert LONGEST_LINE < sum(sent) < 3 * LONGEST_LINE


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_that_are_just_short_enough(tmp_path, end):
    """However many there are, and wherever they lie in what is read at a time."""
    line = b"1" * LONGEST_LINE
    content = b"22" + end + line + end + b"333" + end
    (tmp_path / "x").write_bytes(content)
    assert read_bytes(tmp_path / "x") == content
    (tmp_path / "x").write_bytes(content.replace(b"1" + end, b"11" + end, 1))
    number = 1 + end.count(b"\n")
    with pytest.raises(FileError, match=f"line {number}: is longer"):
        read_bytes(tmp_path / "x")
    assert len(read_bytes(tmp_path / "x", lines=False)) == len(content) + 1


def test_a_folder_whose_rows_were_emptied(tmp_path):
    data = io.DataSet(X, ids=["a", "b", "c", "d"])
    data.save(tmp_path / "m")
    (tmp_path / "m" / "rows.jsonl.gz").write_bytes(b"")
    with pytest.raises(FileError, match="lacks the id"):
        io.read(tmp_path / "m")


def test_a_folder_with_an_entry_that_nobody_may_read(tmp_path):
    locked = Path("/proc/1/cwd/x")
    try:
        locked.is_file()
    except OSError:
        (tmp_path / "texts").mkdir()
        (tmp_path / "texts" / "a.txt").write_text("apple")
        (tmp_path / "texts" / "b.txt").symlink_to(locked)
        with pytest.raises(FileError, match="readable"):
            io.read_texts(tmp_path / "texts")
    else:
        pytest.skip("this system lets everybody look there")


HEAD = b"%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize("line", [b"1 1 1 \t", b"1 1 1 7", b"1 1 1"])
def test_a_last_line_that_no_line_feed_ends(tmp_path, line):
    """scipy alone reads past its end, and may crash."""
    (tmp_path / "x.mtx").write_bytes(HEAD + b"2 2 1\n" + line)
    assert io.read(tmp_path / "x.mtx").matrix.toarray().tolist() == [[1.0, 0.0], [0.0, 0.0]]


def test_a_byte_that_no_text_has(tmp_path):
    (tmp_path / "x.mtx").write_bytes(HEAD + b"2 2 1\n1 1 1\0\n")
    with pytest.raises(FileError, match="NUL"):
        io.read(tmp_path / "x.mtx")


@pytest.mark.parametrize("stored", [False, True])
def test_entries_too_many_are_found_wherever_they_stand(tmp_path, stored):
    """Also behind the piece that holds as many as are named."""
    line = b"100 100 1.25\n"
    count = ((1 << 24) - len(HEAD) - 20) // len(line)
    content = HEAD + b"1000 1000 %d\n" % count + line * count
    (tmp_path / "x.mtx").write_bytes(content + b"\n" * ((1 << 24) - len(content)) + b"5 5 7\n" * 3)
    more = {"store": tmp_path / "no" / "x.store"} if stored else {}
    with pytest.raises(FileError, match=f"names {count} entries and has {count + 3}"):
        io.read(tmp_path / "x.mtx", **more)
    assert not (tmp_path / "no" / "x.store").exists()


def test_a_number_beyond_all_floats(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"a":' + "9" * 400 + "}\n")
    with pytest.raises(InputError, match=r"line 1: a = 9+ is no number"):
        io.read(tmp_path / "x.jsonl")


@pytest.mark.parametrize("content", [b"1 +0:2 3:4\n2 2:1", b"1\x0b0:2 3:4\n2 2:1", b"1\t0:2 3:4\n2 2:1"])
def test_columns_from_zero_are_seen_in_memory_and_in_pieces(tmp_path, content):
    (tmp_path / "x.svm").write_bytes(content)
    stored = io.read(tmp_path / "x.svm", store=tmp_path / "x.store").in_memory()
    assert np.array_equal(stored.toarray(), io.read(tmp_path / "x.svm").matrix.toarray())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_pipe_that_would_have_to_be_read_twice(tmp_path):
    os.mkfifo(tmp_path / "x.svm")
    sender = threading.Thread(target=lambda: (tmp_path / "x.svm").write_bytes(b"1 1:2\n2 2:2\n"))
    sender.start()
    assert io.read(tmp_path / "x.svm", store=tmp_path / "x.store").labels == ["1", "2"]
    sender.join()


def test_parquet_columns_of_one_name(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"a": [1.0], "b": [2.0]}).rename_columns(["a", "a"]), tmp_path / "x.parquet")
    with pytest.raises(FileError, match="two columns 'a'"):
        io.read(tmp_path / "x.parquet")


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda file: file["X/indices"].__setitem__(0, 10**6), "ind"),
        (lambda file: file["X/indices"].__setitem__(0, -5), "ind"),
        (lambda file: file["X"].attrs.__setitem__("shape", [4, 3]), "X is 4 x 3, but obs has 5"),
        (lambda file: file["X"].attrs.__setitem__("shape", [5, 7]), "and var 3 names"),
    ],
)
def test_cells_that_do_not_fit_their_names(tmp_path, damage, told, stored):
    pytest.importorskip("anndata")
    h5py = pytest.importorskip("h5py")
    io.write(io.DataSet(sp.csr_matrix(np.eye(5, 3) + 1.0)), tmp_path / "x.h5ad")
    with h5py.File(tmp_path / "x.h5ad", "r+") as file:
        damage(file)
    with pytest.raises(HMRFError, match=told):
        io.read(tmp_path / "x.h5ad", **({"store": tmp_path / "x.store"} if stored else {}))
    assert not (tmp_path / "x.store").exists()
