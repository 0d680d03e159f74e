"""A sparse or dense matrix in a ``.npz`` file."""

from __future__ import annotations

import contextlib
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from hmrf_fast.archive import array_header, parse_array
from hmrf_fast.errors import FileError, HMRFError, in_short
from hmrf_fast.io.blocks import ENTRIES, Reader, row_spans
from hmrf_fast.io.feature_names import names_beside
from hmrf_fast.io.sources import no_such_file
from hmrf_fast.memory import refuse_without

__all__ = ["npz_blocks", "read_npz", "refuse_shape"]

PIECE = 1 << 20  # bytes of a member that are read at a time
# What numpy, scipy and zipfile raise between them for files that are not what they seem.
_UNREADABLE = (
    OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError, MemoryError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def read_npz(path: Path) -> Any:
    """The matrix in a ``.npz`` file; see `npz_blocks`."""
    return next(npz_blocks(path, False))


def npz_blocks(path: Path, piecewise: bool, values: str | None = None, metric: str = "cosine") -> Reader:
    """Read a matrix from one of three layouts of ``.npz``.

    Parameters
    ----------
    path : Path
        A file of :func:`scipy.sparse.save_npz`; or ``indices``, ``indptr``, ``shape`` with ``counts`` or ``tfidf``, as
        the bundled data sets have them; or a dense array named ``X``.
    piecewise : bool
        CSR and dense rows one after the other can be read so.
    values : str or None
        Which values of a file that has several. None takes counts for I-divergence and tf-idf otherwise.
    metric : str
        The distance the data are read for.

    Yields
    ------
    scipy.sparse matrix or ndarray of shape (n_samples, n_features)

    Returns
    -------
    dict
        Ids, labels and feature names, where the file has such or they lie beside it.

    Raises
    ------
    FileError
        If the file cannot be read as any of these.
    """
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as members:
            archive = _Members(members, path, piecewise)
            names = archive.names
            others = {name: archive[name] for name in sorted(names & {"ids", "labels", "label_names"})}
            if "shape" in names:
                refuse_shape(path, archive["shape"])
            if "format" in names and (kind := _text(archive["format"])) != "csr":
                blocks: Iterator[Any] = iter([_saved_by_scipy(archive, kind)])
            elif "format" in names:
                blocks = _rows(archive, "data", None)
            elif {"indices", "indptr", "shape"} <= names:
                blocks = _rows(archive, _choose_values(path, names, values, metric), np.float64)
            elif "X" in names:
                blocks = _dense(archive)
            else:
                raise FileError(
                    f"{path}: holds {_list(names)}, but neither a matrix of scipy.sparse.save_npz "
                    "nor arrays indices, indptr, shape nor an array X"
                )
            size = 0
            for block in blocks:
                size += block.shape[0]
                yield _checked(block)
                width = block.shape[1]
            return _told(path, (size, width), others)
    except FileNotFoundError:
        raise no_such_file(path) from None
    except HMRFError:
        raise
    except _UNREADABLE as error:
        told = in_short(error)
        raise FileError(
            f"{path}: cannot be read as a matrix in .npz format ({told}); write it with scipy.sparse.save_npz"
        ) from error


def _told(path: Path, shape: tuple[int, int], others: dict[str, np.ndarray]) -> dict[str, Any]:
    """What the file says of the rows and columns."""
    n_rows, labels, names = shape[0], others.get("labels"), others.get("label_names")
    told: list[str | None] | None = None
    if labels is not None and labels.shape == (n_rows,):
        named = names is not None and labels.dtype.kind in "iu" and labels.max(initial=-1) < names.size
        told = [None if str(one) == "-1" else str(names[one] if named else one) for one in labels]  # type: ignore[index]
    ids = [str(one) for one in others["ids"]] if others.get("ids", np.empty(0)).shape == (n_rows,) else None
    if ids is not None and len(set(ids)) < n_rows:
        ids = None
    return {"ids": ids, "labels": told, "feature_names": names_beside(path, shape[1])}


def _list(names: set[str]) -> str:
    """Names out of a file, which may be anything, in one line."""
    told = [name if name.isidentifier() else repr(name) for name in sorted(names)]
    return ", ".join(told[:10]) + (", ..." if len(told) > 10 else "") if told else "nothing"


class _Members(Mapping[str, np.ndarray]):
    """The arrays of an archive. numpy takes the size that an array names for granted, and would set that much memory
    aside; here an array must be as large as its bytes, and their number, which the archive names, must fit."""

    def __init__(self, members: zipfile.ZipFile, path: Path, piecewise: bool):
        for member in members.infolist():  # each method has errors of its own; numpy knows these two
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError(f"its member {member.filename!r} is neither stored as it is nor deflated")
        self.members, self.path, self.piecewise = members, path, piecewise
        self.names = {name.removesuffix(".npy") for name in members.namelist()}
        if not piecewise:
            self.refuse_whole()

    def refuse_whole(self) -> None:
        """Raise if all of it together does not fit into memory."""
        size = sum(member.file_size for member in self.members.infolist())
        refuse_without(f"{self.path}", size, "its unpacked content")

    def __getitem__(self, name: str) -> np.ndarray:
        with _naming(name):
            refuse_without(f"{self.path}", self.members.getinfo(f"{name}.npy").file_size, f"its member {name!r}")
            return parse_array(self.members.read(f"{name}.npy"), "biufUS")

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


@contextlib.contextmanager
def _naming(name: str) -> Iterator[None]:
    """What is wrong with a member of an archive says which one it is."""
    try:
        yield
    except ValueError as error:
        if isinstance(error, HMRFError):
            raise
        raise ValueError(f"its member {name!r} {error}") from error


class _Stream:
    """The numbers of one array in an archive, taken from the beginning on."""

    def __init__(self, archive: _Members, name: str):
        member = archive.members.getinfo(f"{name}.npy")
        self._file, self.name = archive.members.open(member), name
        with _naming(name):
            self.shape, self.fortran, self.dtype = array_header(self._file, member.file_size, "biuf")

    def take(self, count: int) -> np.ndarray:
        """The next ``count`` numbers; the archive is read in pieces that are small beside the result."""
        found = np.empty(count, self.dtype)
        view = memoryview(found.view(np.uint8).data)
        while len(view):
            piece = self._file.read(min(len(view), PIECE))
            if not piece:
                raise ValueError(f"its member {self.name!r} ends too early")
            view[: len(piece)] = piece
            view = view[len(piece) :]
        return found


def _rows(archive: _Members, values: str, dtype: Any) -> Iterator[sp.csr_matrix]:
    """Rows in CSR."""
    indptr, (n_rows, n_columns) = archive["indptr"], map(int, archive["shape"])
    columns, data = _Stream(archive, "indices"), _Stream(archive, values)
    if indptr.shape != (n_rows + 1,):
        raise ValueError(f"{indptr.size} row pointers for {n_rows} rows")
    if min(columns.shape[0], data.shape[0]) < indptr[-1]:
        raise ValueError(f"{data.shape[0]} values where there should be {indptr[-1]}")
    for first, last in row_spans(indptr, archive.piecewise):
        size = int(indptr[last]) - int(indptr[first])
        found = columns.take(size), indptr[first : last + 1] - indptr[first]
        yield sp.csr_matrix(
            (data.take(size).astype(dtype or data.dtype, copy=False), *found), (last - first, n_columns)
        )


def _dense(archive: _Members) -> Iterator[np.ndarray]:
    """Rows in an array named X, all at once if its columns come one after the other."""
    X = _Stream(archive, "X")
    if X.fortran or len(X.shape) != 2:
        archive.refuse_whole()
        yield archive["X"]
        return
    n_rows, n_columns = X.shape
    step = max(1, ENTRIES // max(n_columns, 1)) if archive.piecewise else max(n_rows, 1)
    for first in range(0, max(n_rows, 1), step):
        count = min(step, n_rows - first)
        yield X.take(count * n_columns).reshape(count, n_columns)


def refuse_shape(path: str | os.PathLike[str], shape: Any) -> None:
    """Raise for a matrix whose rows alone, filled or not, do not fit into memory."""
    rows = max((int(side) for side in shape[:1]), default=0)
    if rows < 0:
        raise ValueError(f"{rows} rows")
    refuse_without(f"{path}", 32 * rows, f"{rows} rows")


def _text(name: np.ndarray) -> str:
    """What the one cell of an array says."""
    told = name.item()
    return told.decode("ascii") if isinstance(told, bytes) else str(told)


def _saved_by_scipy(archive: _Members, kind: str) -> Any:
    """What ``scipy.sparse.save_npz`` wrote, if it is not CSR."""
    archive.refuse_whole()
    parts = {"coo": ("row", "col"), "dia": ("offsets",)}.get(kind, ("indices", "indptr"))
    if kind not in ("csc", "bsr", "coo", "dia"):
        raise ValueError(f"sparse matrices in the format {kind!r} are not known")
    data, rest, shape = archive["data"], [archive[part] for part in parts], tuple(archive["shape"].tolist())
    if kind == "coo":
        return sp.coo_matrix((data, tuple(rest)), shape=shape)
    return getattr(sp, f"{kind}_matrix")((data, *rest), shape=shape)


def _checked(matrix: Any) -> Any:
    """Return the matrix; raise ValueError if it has no rows and columns, or indices that lead outside of it."""
    if matrix.ndim != 2:
        raise ValueError(f"an array of {matrix.ndim} axes, expected rows and columns")
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)
    return matrix


def _choose_values(path: Path, names: set[str], values: str | None, metric: str) -> str:
    there = [name for name in ("counts", "tfidf", "data") if name in names]
    if values is None and there:
        wanted = "counts" if metric == "i_divergence" else "tfidf"
        return wanted if wanted in there else there[0]
    if values not in there:
        raise FileError(f"{path}: has no values named {values or 'counts, tfidf or data'} (it has {_list(names)})")
    return values
