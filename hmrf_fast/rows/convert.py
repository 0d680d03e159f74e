"""Matrices in memory and in files -> stores, in one pass and a few megabytes at a time."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from hmrf_fast.errors import InputError, in_short
from hmrf_fast.inputs import canonical
from hmrf_fast.kernels import pool
from hmrf_fast.rows.disk import DiskRows
from hmrf_fast.rows.store import StoreWriter

ENTRIES = 1 << 20  # that are in memory at a time
BYTES = 1 << 24  # of text


def write_blocks(path, blocks: Iterable[Any], *, n_features: int | None = None, dtype=np.float64) -> DiskRows:
    """Store the rows of matrices, one matrix after the other.

    Parameters
    ----------
    path : path-like
        The folder to make.
    blocks : iterable of {sparse matrix, array-like} of shape (., d)
        Canonical or not; at most one is in memory if they are made one by one.
    n_features : int, optional
        Default: of the widest block.
    dtype : {numpy.float32, numpy.float64}

    Returns
    -------
    DiskRows

    Raises
    ------
    InputError
        If there is something at `path`, or a block holds NaN, infinity or column numbers that lead outside of it.
        Nothing is left behind then.
    """
    with StoreWriter(path, n_features, dtype) as writer:
        for block in blocks:
            writer.append(canonical(sp.csr_matrix(block, dtype=dtype), copy=True))
    return DiskRows(path)


def write_matrix(path, matrix, *, dtype=None) -> DiskRows:
    """Store a matrix (n, d) in memory, sparse or dense; other parameters as of `write_blocks`."""
    matrix = sp.csr_matrix(matrix)
    kind = dtype or (matrix.dtype if matrix.dtype == np.float32 else np.float64)
    bounds = pool.even_pieces(matrix.indptr, ENTRIES).tolist()
    blocks = (matrix[first:last] for first, last in pairwise(bounds))
    return write_blocks(path, blocks, n_features=matrix.shape[1], dtype=kind)


def write_npz(path, source, *, values: str = "data", dtype=np.float64) -> DiskRows:
    """Store the CSR matrix of an ``.npz`` file, as ``scipy.sparse.save_npz`` writes it; ``values`` names its array of
    values."""
    try:
        with zipfile.ZipFile(source) as archive:
            indptr, shape = (_whole(archive, name) for name in ("indptr", "shape"))
            if "format.npy" in archive.namelist() and _whole(archive, "format").item() != b"csr":
                raise InputError(f"{source} does not hold CSR; convert it to that before it is saved")
            with archive.open("indices.npy") as columns, archive.open(f"{values}.npy") as data:
                blocks = _from_streams(indptr, int(shape[1]), columns, data)
                return write_blocks(path, blocks, n_features=int(shape[1]), dtype=dtype)
    except (KeyError, zipfile.BadZipFile, EOFError) as error:
        raise InputError(f"{source} is no CSR matrix in .npz format: {error}") from None


def _whole(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    with archive.open(f"{name}.npy") as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def _from_streams(indptr: np.ndarray, n_features: int, columns: Any, data: Any) -> Iterator[sp.csr_matrix]:
    kinds = [_kind_of(file) for file in (columns, data)]
    for first, last in pairwise(pool.even_pieces(indptr.astype(np.int64), ENTRIES).tolist()):
        size = int(indptr[last] - indptr[first])
        found = [
            np.frombuffer(file.read(size * kind.itemsize), kind)
            for file, kind in zip((columns, data), kinds, strict=True)
        ]
        if min(map(len, found)) < size:
            raise InputError(f"the matrix ends before row {last}")
        yield sp.csr_matrix((found[1], found[0], indptr[first : last + 1] - indptr[first]), (last - first, n_features))


def _kind_of(file: BinaryIO) -> np.dtype:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return read(file)[2]


def write_svmlight(path, source, *, n_features: int | None = None, zero_based: bool = False, dtype=np.float64):
    """Store the rows of an svmlight file; returns them and their targets (n,)."""
    from sklearn.datasets import load_svmlight_file

    targets = []

    def blocks() -> Iterator[sp.csr_matrix]:
        for offset in range(0, os.path.getsize(source), BYTES):
            with open(source, "rb") as file:
                matrix, target = load_svmlight_file(
                    file, n_features=n_features, dtype=np.float64, zero_based=zero_based, offset=offset, length=BYTES
                )
            targets.append(target)
            yield matrix

    try:
        rows = write_blocks(path, blocks(), n_features=n_features, dtype=dtype)
    except ValueError as error:
        raise InputError(f"{source} cannot be read as an svmlight file: {error}") from None
    return rows, np.concatenate(targets)


def write_matrix_market(path, source, *, dtype=np.float64) -> DiskRows:
    """Store a general matrix in coordinates from a Matrix Market file.

    Coordinates come in any order, mostly by column: they go to temporary files first, one per stretch of rows.
    """
    with open(source, encoding="ascii") as file:
        first = file.readline().lower().split()
        if first[:3] != ["%%matrixmarket", "matrix", "coordinate"] or first[-1] != "general" or "complex" in first:
            raise InputError(f"{source} is no general real matrix in coordinates: it begins {' '.join(first)!r}")
        line = next((line for line in file if not line.startswith("%")), "")
        try:
            n_rows, n_features, n_entries = map(int, line.split())
        except ValueError:
            raise InputError(f"{source}: expected rows, columns and entries, got {line.strip()!r}") from None
        step = -(-n_rows // max(1, -(-n_entries // ENTRIES))) or 1
        width = 2 if "pattern" in first else 3
        with tempfile.TemporaryDirectory(dir=Path(path).absolute().parent) as folder:
            buckets = [Path(folder) / str(k) for k in range(-(-n_rows // step))]
            found = _sort_into(file, buckets, step, width, (n_rows, n_features), source)
            if found != n_entries:
                raise InputError(f"{source} is torn: {found} of {n_entries} entries are there")
            blocks = (
                _stretch(one, k * step, min(step, n_rows - k * step), n_features) for k, one in enumerate(buckets)
            )
            return write_blocks(path, blocks, n_features=n_features, dtype=dtype)


def _sort_into(file, buckets: list[Path], step: int, width: int, shape: tuple[int, int], source) -> int:
    """Append each entry (row, column, value) to the file of its stretch of rows; returns how many there are."""
    count = 0
    for bucket in buckets:
        bucket.touch()
    while lines := list(islice(file, ENTRIES // 4)):
        try:
            table = np.array(" ".join(lines).split(), np.float64).reshape(-1, width)
        except ValueError as error:
            raise InputError(f"{source}: not all entries have {width} numbers ({in_short(error)})") from None
        if width == 2:
            table = np.column_stack([table, np.ones(len(table))])
        outside = np.flatnonzero((table[:, :2] < 1).any(1) | (table[:, :2] > shape).any(1))
        if outside.size:
            raise InputError(f"{source}: entry {count + outside[0] + 1} lies outside of {shape[0]} x {shape[1]}")
        of = (table[:, 0].astype(np.int64) - 1) // step
        for k in np.unique(of):
            with buckets[k].open("ab") as bucket:
                bucket.write(table[of == k].tobytes())
        count += len(table)
    return count


def _stretch(path: Path, first: int, n_rows: int, n_features: int) -> sp.csr_matrix:
    table = np.fromfile(path).reshape(-1, 3)
    place = table[:, 0].astype(np.int64) - 1 - first, table[:, 1].astype(np.int64) - 1
    return sp.coo_matrix((table[:, 2], place), (n_rows, n_features)).tocsr()


def write_h5ad(path, source, *, dtype=np.float64) -> DiskRows:
    """Store X of an AnnData file, sparse by rows or dense; needs h5py, which comes with anndata."""
    try:
        import h5py
    except ImportError:
        raise InputError("reading .h5ad needs h5py: pip install anndata") from None
    with h5py.File(source, "r") as file:
        group = file["X"]
        if isinstance(group, h5py.Dataset):
            step = max(1, ENTRIES // group.shape[1])
            parts = (group[first : first + step] for first in range(0, group.shape[0], step))
            return write_blocks(path, parts, n_features=group.shape[1], dtype=dtype)
        kind, shape = group.attrs["encoding-type"], group.attrs["shape"]
        if kind != "csr_matrix":
            raise InputError(f"X of {source} is stored as {kind}; only csr_matrix and dense arrays can be read by rows")
        indptr = group["indptr"][:].astype(np.int64)
        bounds = pairwise(pool.even_pieces(indptr, ENTRIES).tolist())
        return write_blocks(
            path, (_h5_rows(group, indptr, *span, int(shape[1])) for span in bounds), n_features=int(shape[1]),
            dtype=dtype,
        )  # fmt: skip


def _h5_rows(group, indptr: np.ndarray, first: int, last: int, n_features: int) -> sp.csr_matrix:
    span = slice(int(indptr[first]), int(indptr[last]))
    numbers = group["data"][span], group["indices"][span], indptr[first : last + 1] - indptr[first]
    return sp.csr_matrix(numbers, (last - first, n_features))
