"""Paths that name no plain file, and files that are there but empty: one sentence, and nothing is touched."""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path

import numpy as np
import pytest

import hmrf_fast
from hmrf_fast import HMRFKMeans, io
from hmrf_fast.active import LabelOracle, SuperInstances
from hmrf_fast.errors import CheckpointError, FileError, ModelFileError, NotEnoughMemoryError, SessionError
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
