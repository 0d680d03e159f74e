"""A sparse or dense matrix in a ``.npz`` file."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from hmrf_fast.archive import parse_array
from hmrf_fast.datasets import sparse_from_arrays
from hmrf_fast.errors import FileError, HMRFError, in_short
from hmrf_fast.memory import refuse_without

__all__ = ["read_npz", "refuse_shape"]

# What numpy, scipy and zipfile raise between them for files that are not what they seem.
_UNREADABLE = (
    OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError, MemoryError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def read_npz(path: Path, values: str | None = None, metric: str = "cosine") -> tuple[Any, dict[str, np.ndarray]]:
    """Read a matrix from one of three layouts of ``.npz``.

    Parameters
    ----------
    path : Path
        A file of :func:`scipy.sparse.save_npz`; or ``indices``, ``indptr``, ``shape`` with ``counts`` or ``tfidf``, as
        the bundled data sets have them; or a dense array named ``X``.
    values : str or None
        Which values of a file that has several. None takes counts for I-divergence and tf-idf otherwise.
    metric : str
        The distance the data are read for.

    Returns
    -------
    matrix : scipy.sparse matrix or ndarray of shape (n_samples, n_features)
    others : dict of str to ndarray
        Arrays ``ids``, ``labels`` and ``label_names``, where the file has such.

    Raises
    ------
    FileError
        If the file cannot be read as any of these.
    """
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as members:
            archive = _Members(members, path)
            names = archive.names
            others = {name: archive[name] for name in sorted(names & {"ids", "labels", "label_names"})}
            if "shape" in names:
                refuse_shape(path, archive["shape"])
            if "format" in names:
                return _checked(_saved_by_scipy(archive)), others
            if {"indices", "indptr", "shape"} <= names:
                return _checked(sparse_from_arrays(archive, _choose_values(path, names, values, metric))), others
            if "X" in names:
                return _checked(archive["X"]), others
    except FileNotFoundError:
        raise FileError(f"{path}: there is no such file; check the name and the folder") from None
    except HMRFError:
        raise
    except _UNREADABLE as error:
        told = in_short(error)
        raise FileError(
            f"{path}: cannot be read as a matrix in .npz format ({told}); write it with scipy.sparse.save_npz"
        ) from error
    raise FileError(
        f"{path}: holds {_list(names)}, but neither a matrix of scipy.sparse.save_npz "
        "nor arrays indices, indptr, shape nor an array X"
    )


def _list(names: set[str]) -> str:
    """Names out of a file, which may be anything, in one line."""
    told = [name if name.isidentifier() else repr(name) for name in sorted(names)]
    return ", ".join(told[:10]) + (", ..." if len(told) > 10 else "") if told else "nothing"


class _Members(Mapping[str, np.ndarray]):
    """The arrays of an archive. numpy takes the size that an array names for granted, and would set that much memory
    aside; here an array must be as large as its bytes, and their number, which the archive names, must fit."""

    def __init__(self, members: zipfile.ZipFile, path: Path):
        for member in members.infolist():  # each method has errors of its own; numpy knows these two
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError(f"its member {member.filename!r} is neither stored as it is nor deflated")
        refuse_without(f"{path}", sum(member.file_size for member in members.infolist()), "its unpacked content")
        self.members, self.names = members, {name.removesuffix(".npy") for name in members.namelist()}

    def __getitem__(self, name: str) -> np.ndarray:
        try:
            return parse_array(self.members.read(f"{name}.npy"), "biufUS")
        except ValueError as error:
            raise ValueError(f"its member {name!r} {error}") from error

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def refuse_shape(path: str | os.PathLike[str], shape: Any) -> None:
    """Raise for a matrix whose rows alone, filled or not, do not fit into memory."""
    rows = max((int(side) for side in shape[:1]), default=0)
    if rows < 0:
        raise ValueError(f"{rows} rows")
    refuse_without(f"{path}", 32 * rows, f"{rows} rows")


def _saved_by_scipy(archive: Mapping[str, np.ndarray]) -> Any:
    """What ``scipy.sparse.save_npz`` wrote."""
    name = archive["format"].item()
    name = name.decode("ascii") if isinstance(name, bytes) else str(name)
    parts = {"coo": ("row", "col"), "dia": ("offsets",)}.get(name, ("indices", "indptr"))
    if name not in ("csr", "csc", "bsr", "coo", "dia"):
        raise ValueError(f"sparse matrices in the format {name!r} are not known")
    data, rest, shape = archive["data"], [archive[part] for part in parts], tuple(archive["shape"].tolist())
    if name == "coo":
        return sp.coo_matrix((data, tuple(rest)), shape=shape)
    return getattr(sp, f"{name}_matrix")((data, *rest), shape=shape)


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
