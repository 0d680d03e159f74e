"""Small files that claim to hold much: HDF5 and Parquet need not store what they say is there."""

from __future__ import annotations

import contextlib
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from hmrf_fast import io
from hmrf_fast.errors import FileError, NotEnoughMemoryError

MUCH = 10**12


def claim(file, name, size, **more):
    """An array of any size takes the place of one that is there, with its attributes and nothing in it."""
    told, dtype = dict(file[name].attrs), more.get("dtype", file[name].dtype)
    del file[name]
    array = file.create_dataset(name, size, dtype, chunks=tuple(min(one, 1000) for one in np.atleast_1d(size)))
    array.attrs.update(told)


def end_at(number, *claimed):
    """The last row is said to end there."""

    def change(file):
        pointers = file["X/indptr"][:].astype(np.int64)
        pointers[-1] = number
        put(file, "X/indptr", pointers)
        for name in claimed:
            claim(file, name, number)

    return change


def put(file, name, values):
    told = dict(file[name].attrs)
    del file[name]
    file[name] = values
    file[name].attrs.update(told)


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize(
    ("kind", "change", "error", "told"),
    [
        (np.asarray, lambda file: claim(file, "X", (10**7, 10**4)), FileError, "10000000 x 10000, but obs has 5"),
        (np.asarray, lambda file: claim(file, "X", (MUCH, 3)), NotEnoughMemoryError, f"{MUCH} rows"),
        (np.asarray, lambda file: claim(file, "obs/_index", MUCH), NotEnoughMemoryError, "/obs and /var"),
        (sp.csc_matrix, lambda file: claim(file, "X/data", MUCH), NotEnoughMemoryError, "for /X"),
        (
            sp.csc_matrix,
            lambda file: file["X"].attrs.__setitem__("shape", [MUCH, 3]),
            NotEnoughMemoryError,
            f"{MUCH} rows",
        ),
        (sp.csr_matrix, lambda file: claim(file, "X/indptr", MUCH), NotEnoughMemoryError, "/X/indptr"),
        (sp.csr_matrix, end_at(MUCH, "X/data", "X/indices"), NotEnoughMemoryError, "values of rows"),
        (sp.csr_matrix, end_at(1000 * MUCH, "X/data", "X/indices"), NotEnoughMemoryError, "values of rows"),
        (sp.csr_matrix, end_at(1000 * MUCH), FileError, "entries"),
    ],
)
def test_cells_that_are_not_there(kind, change, error, told, stored, tmp_path):
    anndata, h5py = pytest.importorskip("anndata"), pytest.importorskip("h5py")
    anndata.AnnData(kind(np.eye(5, 3) + 1.0)).write_h5ad(tmp_path / "x.h5ad")
    with h5py.File(tmp_path / "x.h5ad", "r+") as file:
        change(file)
    with pytest.raises(error, match=told):
        io.read(tmp_path / "x.h5ad", **({"store": tmp_path / "x.store"} if stored else {}))
    assert not (tmp_path / "x.store").exists()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits memory as Linux does")
def test_a_text_that_is_written_once_and_meant_often(tmp_path):
    """A file of a few kilobytes that unpacks to some gigabytes, where there are two."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    often = pyarrow.DictionaryArray.from_arrays(np.zeros(20_000, np.int32), ["a b " * 50_000])
    parquet.write_table(pyarrow.table({"text": often}), tmp_path / "x.parquet")
    assert (tmp_path / "x.parquet").stat().st_size < 100_000
    script = (
        "import resource, sys; from hmrf_fast import errors, io\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (2**31, 2**31))\n"
        "try: io.read(sys.argv[1])\nexcept errors.NotEnoughMemoryError as error: sys.exit(7)"
    )
    found = subprocess.run([sys.executable, "-P", "-c", script, tmp_path / "x.parquet"], capture_output=True)
    assert found.returncode == 7, found.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits memory as Linux does")
@pytest.mark.parametrize("inside", ["list", "struct", "map"])
def test_the_same_deeper_in(tmp_path, inside):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    often = pyarrow.DictionaryArray.from_arrays(np.zeros(20_000, np.int32), ["a b " * 50_000])
    ends = pyarrow.array([0, 20_000], pyarrow.int32())
    cells = {
        "list": lambda: pyarrow.ListArray.from_arrays(ends, often),
        "struct": lambda: pyarrow.StructArray.from_arrays([often], ["one"]),
        "map": lambda: pyarrow.MapArray.from_arrays(ends, np.arange(20_000), often),
    }[inside]()
    parquet.write_table(pyarrow.table({"text": ["a"] * len(cells), "more": cells}), tmp_path / "x.parquet")
    with memory_left(2**30), pytest.raises(NotEnoughMemoryError, match="its content"):
        io.read(tmp_path / "x.parquet")


@contextlib.contextmanager
def memory_left(size):
    """So much more address space than this process has, for the time being."""
    import resource

    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def half_columns(file):
    put(file, "X/indices", file["X/indices"][:] + 0.5)


def half_pointers(file):
    put(file, "X/indptr", file["X/indptr"][:] + 0.5)


def half_rows(file):
    file["X"].attrs["shape"] = [5.5, 3.0]


def outside(file):
    told, shape = dict(file["X/data"].attrs), file["X/data"].shape
    del file["X/data"]
    file["X"].create_dataset("data", shape, np.float64, external=[("/dev/zero", 0, 8 * shape[0])])
    file["X/data"].attrs.update(told)


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (half_columns, "float64"),
        (half_pointers, "float64"),
        (half_rows, "5.5 x 3"),
        (outside, "lies in another file"),
    ],
)
def test_cells_that_are_no_matrix(change, told, stored, tmp_path):
    anndata, h5py = pytest.importorskip("anndata"), pytest.importorskip("h5py")
    anndata.AnnData(sp.csr_matrix(np.eye(5, 3) + 1.0)).write_h5ad(tmp_path / "x.h5ad")
    with h5py.File(tmp_path / "x.h5ad", "r+") as file:
        change(file)
    with pytest.raises(FileError, match=told):
        io.read(tmp_path / "x.h5ad", **({"store": tmp_path / "x.store"} if stored else {}))
