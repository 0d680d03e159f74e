"""Damaged files of every kind: a typed error or a result, and never code, a crash or a mountain of memory.

A few hundred mutations run here; ``tests/fuzzing`` goes on from there for as long as one likes.
"""

from __future__ import annotations

import gzip
import io
import re
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from fuzzing import readers

from hmrf_fast import rows
from hmrf_fast.errors import FileError, HMRFError, InputError, ModelFileError, NotEnoughMemoryError
from hmrf_fast.io import read, sources
from hmrf_fast.rows.store import StoreWriter


@pytest.mark.parametrize("name", readers.READERS)
def test_mutated_files(name, tmp_path):
    for content in readers.examples(name, 60, 1):
        readers.run(name, content, tmp_path)


def test_the_watch_sees_code():
    """The fuzzer would notice: a pickle in place of an array is never unpickled, but where it is, the hook speaks."""
    script = (
        "import pickle, sys; from fuzzing.readers import watch, Escape; watch.on = True\n"
        "try: pickle.loads(b'cos\\nsystem\\n.')\nexcept Escape: sys.exit(7)"
    )
    folder = readers.__file__.rsplit("/fuzzing", 1)[0]
    told = subprocess.run([sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {folder!r}); {script}"])
    assert told.returncode == 7


def resized(content: bytes, old: bytes, new: bytes) -> bytes:
    """An archive in which an array names another shape."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as members, zipfile.ZipFile(stream, "w") as copy:
        for name in members.namelist():
            copy.writestr(name, members.read(name).replace(old.ljust(len(new)), new).replace(old, new))
    return stream.getvalue()


def test_sizes_in_npz_are_not_taken_for_granted(tmp_path):
    stream = io.BytesIO()
    np.savez(stream, X=np.ones((12, 6)))
    (tmp_path / "x.npz").write_bytes(resized(stream.getvalue(), b"(12, 6), }         ", b"(99999999999, 6), }"))
    with pytest.raises(FileError, match="'X' has not the size"):
        read(tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n", "names 2 x 2 values and has 3"),
        (b"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n5\n", "names 2 x 2 values and has 5"),
        (b"%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1.0\n", "names 3 entries and has 1"),
        (b"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1.0 2\n", "numbers are complex"),
        (b"%%MatrixMarket matrix array real symmetric\n1 1\n1\n", "write it in coordinate form"),
        (b"%%MatrixMarket matrix coordinate real general\n2 2\n", "line of sizes"),
        (b"%%MatrixMarket matrix coordinate real general\n1 1 1\n2 1 1.0\n", "cannot be read as Matrix Market"),
    ],
)
def test_matrix_market_that_does_not_fit_its_header(content, told, tmp_path):
    """Some of these end the process inside scipy."""
    (tmp_path / "x.mtx").write_bytes(content)
    with pytest.raises(FileError, match=told):
        read(tmp_path / "x.mtx")


@pytest.mark.parametrize("name", ["x.mtx", "x.npz"])
def test_more_rows_than_memory(name, tmp_path):
    if name == "x.mtx":
        (tmp_path / name).write_bytes(b"%%MatrixMarket matrix coordinate real general\n999999999999 2 1\n1 1 1.0\n")
    else:
        sp.save_npz(tmp_path / name, sp.coo_matrix(([1.0], ([0], [0])), shape=(999_999_999_999, 2)))
    with pytest.raises(NotEnoughMemoryError, match="999999999999 rows"):
        read(tmp_path / name)


def test_gzip_is_unpacked_piece_by_piece(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "PIECE", 1 << 10)
    content = np.random.default_rng(0).bytes(5000)
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(content) + gzip.compress(content))
    assert sources.read_bytes(tmp_path / "x.csv.gz") == content + content


def test_store_with_forged_columns(tmp_path):
    """Checksums find damage, not malice: kernels must not be led outside of their tables."""
    with StoreWriter(tmp_path / "store", 6) as writer:
        writer.append(sp.csr_matrix(np.eye(6)))
        writer.n_features = 5
    with pytest.raises(InputError, match="columns 0 to 5, there are 5"):
        list(rows.DiskRows(tmp_path / "store").spans())
    header = (tmp_path / "store" / "header.json").read_text()
    for changed in (
        re.sub(r'"lowest": [0-9.]+', '"lowest": null', header),
        re.sub(r'"piece": \d+', '"piece": 1e999', header),
    ):
        (tmp_path / "store" / "header.json").write_text(changed)
        with pytest.raises(InputError):
            rows.DiskRows(tmp_path / "store")


def test_half_a_header_in_a_model(tmp_path):
    content = readers.READERS["model"].seeds()[0]
    (tmp_path / "m").write_bytes(resized(content, b", }", b", ("))
    with pytest.raises(ModelFileError, match="is no array"):
        readers.load(tmp_path / "m")


@pytest.mark.parametrize(("flags", "letter"), [(0x800, 0xBA), (0x1, None)], ids=["no UTF-8", "encrypted"])
def test_directory_of_a_model_that_zipfile_cannot_read(flags, letter, tmp_path):
    content = bytearray(readers.READERS["model"].seeds()[0])
    entry = content.index(b"PK\x01\x02")  # the first entry of the central directory: flags at 8, its name at 46
    content[entry + 8 : entry + 10] = flags.to_bytes(2, "little")
    content[entry + 46] = content[entry + 46] if letter is None else letter
    (tmp_path / "m").write_bytes(bytes(content))
    with pytest.raises(ModelFileError, match="damaged"):
        readers.load(tmp_path / "m")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_members_packed_by_other_methods(method, tmp_path):
    """They have errors of their own, such as lzma's for options that it does not know."""
    with (
        zipfile.ZipFile(io.BytesIO(readers.READERS["npz"].seeds()[0])) as seed,
        zipfile.ZipFile(tmp_path / "x.npz", "w") as other,
    ):
        for name in seed.namelist():
            other.writestr(name, seed.read(name), compress_type=method if name == "data.npy" else zipfile.ZIP_STORED)
    with pytest.raises(FileError, match=r"member 'data.npy' is neither stored as it is nor deflated"):
        read(tmp_path / "x.npz")
    content = bytearray((tmp_path / "x.npz").read_bytes())
    place = content.index(b"data.npy") + len("data.npy")
    content[place : place + 40] = b"\xff" * 40
    (tmp_path / "x.npz").write_bytes(bytes(content))
    with pytest.raises(FileError):
        read(tmp_path / "x.npz")


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("what", ["name", "text", "time"])
def test_parquet_with_values_that_python_has_not(what, stored, tmp_path):
    """Arrow does not look at them; who asks for them as objects is told by other errors than Arrow's."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    values = {
        "name": [1.5],
        "text": pyarrow.array([b"a\xff"]).view(pyarrow.string()),
        "time": pyarrow.array([2**62], pyarrow.timestamp("us")),
    }[what]
    parquet.write_table(pyarrow.table({"text": values}), tmp_path / "x.parquet", store_schema=False)
    if what == "name":
        content = (tmp_path / "x.parquet").read_bytes()
        (tmp_path / "x.parquet").write_bytes(content.replace(b"text", b"te\xfet"))
    with pytest.raises(FileError, match="cannot be read as Parquet"):
        read(tmp_path / "x.parquet", **({"store": tmp_path / "x.store"} if stored else {}))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.csv", b'ii,",\n\x0b\x00,",\n1\n'),
        ("x.csv", b'"a\nb","a\nb"\n1,2\n'),
        ("x.csv", b'"a\nb",c\nx,2\n'),
        ("x.csv", b'"a\r\x1b[31mb",c\nx,2\n'),
        ("x.jsonl", b'{"text": {}, "a\\nb": 1}\n'),
        ("x.jsonl", b'{"a\\u2028\\ud800b": "x"}\n'),
        ("x\ny.csv", b"a,a\n1,2\n"),
    ],
)
def test_messages_stay_one_printable_line(name, content, tmp_path):
    """Whatever names of columns and files they quote."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(HMRFError) as told:
        read(tmp_path / name)
    assert str(told.value).isprintable()
    assert type(told.value)(*told.value.args).args == told.value.args  # as pickling does it
