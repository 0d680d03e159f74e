"""The format of rows on disk: three plain ``.npy`` files and a header.

A store is a folder with ``indptr.npy`` (n + 1, int64), ``indices.npy`` (nnz, int32), ``values.npy`` (nnz, float32 or
float64), together a canonical CSR matrix, and ``header.json``: format, version, shape, the lowest value, and CRC-32
checksums of the three arrays, piece by piece.

Why these and not zarr, AnnData's CSR in HDF5, or Parquet: an iteration reads every row once and computes little on each
of its bytes, so rows should lie on disk as the kernels read them. Any span of rows is one stretch of a file, mapped
without a copy; compressed chunks would have to be unpacked, in every iteration, at about the speed of the kernels
themselves, and their bounds would not fall between rows. HDF5 lets one thread read at a time. And ``.npy`` needs no
library beyond numpy, here or in any other program: ``numpy.load(..., mmap_mode="r")`` reads what it is given.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from hmrf_fast.errors import FileError, InputError, in_short

FORMAT, VERSION = "hmrf_fast.rows", 1
ARRAYS = ("indptr", "indices", "values")
PREAMBLE = 128  # bytes before the numbers of a one-dimensional .npy file, whatever its length
PIECE = 1 << 22  # bytes that share a checksum
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO)


def _write_preamble(file: BinaryIO, dtype: np.dtype, size: int) -> None:
    shape = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (size,)}
    np.lib.format.write_array_header_1_0(file, shape)
    assert file.tell() == PREAMBLE


class _Column:
    """One array that grows: a file whose length stands at its beginning, hence is written last."""

    def __init__(self, path: Path, dtype: np.dtype):
        self.dtype, self.size, self.sums = dtype, 0, [0]
        self._file, self._room = path.open("wb"), PIECE
        _write_preamble(self._file, dtype, 0)

    def append(self, values: np.ndarray) -> None:
        data = np.ascontiguousarray(values, self.dtype).data.cast("B")
        self._file.write(data)
        self.size += values.size
        while len(data):
            part, data = data[: self._room], data[self._room :]
            self.sums[-1] = zlib.crc32(part, self.sums[-1])
            self._room -= len(part)
            if not self._room:
                self.sums.append(0)
                self._room = PIECE

    def close(self) -> None:
        self._file.seek(0)
        _write_preamble(self._file, self.dtype, self.size)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def abandon(self) -> None:
        with contextlib.suppress(OSError):  # what a full disk has no room for is still to be written
            self._file.close()


class StoreWriter:
    """Writes a store in one pass, one piece of rows after the other; nothing is there until all of it is.

    Parameters
    ----------
    path : path-like
        The folder to make.
    n_features : int, optional
        Default: one more than the highest column of all rows.
    dtype : {numpy.float32, numpy.float64}

    Raises
    ------
    InputError
        If there is something at `path` already.
    FileError
        If it cannot be written, on a full disk for example; nothing is left behind then.
    """

    def __init__(self, path: str | os.PathLike, n_features: int | None = None, dtype: Any = np.float64):
        self.path, self.n_features, self.dtype = Path(path), int(n_features or 0), np.dtype(dtype)
        self._grows = n_features is None
        if self.path.exists():
            raise InputError(f"{self.path} is there already; a store is never written over")
        self._folder = self.path.with_name(f"{self.path.name}.{os.getpid()}.partial")
        try:
            self._folder.mkdir(parents=True)
        except OSError as error:
            raise FileError(f"{self.path} cannot be written: {error.strerror or error}") from error
        kinds = (np.dtype("<i8"), np.dtype("<i4"), self.dtype.newbyteorder("<"))
        self._columns = {
            name: _Column(self._folder / f"{name}.npy", kind) for name, kind in zip(ARRAYS, kinds, strict=True)
        }
        self._columns["indptr"].append(np.zeros(1, np.int64))
        self._n_entries, self._lowest = 0, np.inf

    def append(self, matrix: sp.csr_matrix) -> None:
        """Add canonical rows, with as many columns as the store has features."""
        if self._grows:
            self.n_features = max(self.n_features, matrix.shape[1])
        elif matrix.shape[1] != self.n_features:
            raise InputError(f"rows of {matrix.shape[1]} features do not fit a store of {self.n_features}")
        used = int(matrix.indptr[-1])
        self._columns["indptr"].append(matrix.indptr[1:].astype(np.int64) + self._n_entries)
        self._columns["indices"].append(matrix.indices[:used])
        self._columns["values"].append(matrix.data[:used])
        self._n_entries += used
        self._lowest = min(self._lowest, float(matrix.data[:used].min(initial=np.inf)))

    def __enter__(self) -> StoreWriter:
        return self

    def __exit__(self, kind, error, trace) -> None:
        try:
            if kind is None:
                self._finish()
        except OSError as fault:
            error = fault
        if error is None:
            return
        for column in self._columns.values():
            column.abandon()
        shutil.rmtree(self._folder, ignore_errors=True)
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise FileError(f"{self.path} cannot be written: {error.strerror}") from error
        if kind is None:
            raise error

    def _finish(self) -> None:
        for column in self._columns.values():
            column.close()
        header = {
            "format": FORMAT,
            "version": VERSION,
            "shape": [self._columns["indptr"].size - 1, self.n_features],
            "dtype": self.dtype.name,
            "lowest": self._lowest if self._n_entries else 0.0,
            "piece": PIECE,
            "crc32": {name: column.sums for name, column in self._columns.items()},
        }
        with (self._folder / "header.json").open("w", encoding="utf-8") as file:
            json.dump(header, file)
            file.flush()
            os.fsync(file.fileno())
        os.rename(self._folder, self.path)


def is_store(path: Any) -> bool:
    """Whether something is the path of a folder that has the header of a store."""
    return isinstance(path, (str, os.PathLike)) and (Path(path) / "header.json").is_file()


def read_header(path: Path) -> dict[str, Any]:
    """The checked header of a store.

    Raises
    ------
    InputError
        If this is no store, of a version not known here, or if a file has not the length that the header says.
    """
    try:
        header = json.loads((path / "header.json").read_text(encoding="utf-8"))
        if header["format"] != FORMAT:
            raise InputError(f"{path} is no store of rows: its header names the format {header['format']!r}")
        if header["version"] != VERSION:
            raise InputError(f"{path} is a store of version {header['version']}; this library reads {VERSION}")
        n_rows, n_features = map(int, header["shape"])
        dtype, pieces, size = np.dtype(header["dtype"]), header["crc32"], int(header["piece"])
        header["lowest"] = float(header["lowest"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is no store of rows: its header.json cannot be read ({in_short(error)})") from None
    if n_rows < 0 or n_features < 0 or size <= 0 or dtype not in (np.float32, np.float64):
        raise InputError(f"{path}: the header names {n_rows} rows, {n_features} features and values of {dtype}")
    lengths = {name: _length(path / f"{name}.npy") for name in ARRAYS}
    if lengths["indptr"] != 8 * (n_rows + 1) or lengths["indices"] // 4 != lengths["values"] // dtype.itemsize:
        raise InputError(f"{path} is torn: its files hold {lengths} bytes, which do not fit {n_rows} rows of {dtype}")
    for name, length in lengths.items():
        sums = pieces.get(name) if isinstance(pieces, dict) else None
        if not isinstance(sums, list) or len(sums) != length // size + 1 or not all(type(one) is int for one in sums):
            raise InputError(f"{path}: the header has no checksums for all of {name}.npy")
    return header


def _length(path: Path) -> int:
    try:
        return path.stat().st_size - PREAMBLE
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
