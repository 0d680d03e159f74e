"""A sparse or dense matrix in a ``.npz`` file."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from hmrf_fast.datasets import sparse_from_arrays
from hmrf_fast.errors import FileError

__all__ = ["read_npz"]

# What numpy, scipy and zipfile raise between them for files that are not what they seem.
_UNREADABLE = (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile, zlib.error)


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
        # numpy leaves a file open that it opened by name and could not read.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            names = set(archive.files)
            others = {name: archive[name] for name in ("ids", "labels", "label_names") if name in names}
            if "format" in names:
                return _checked(sp.load_npz(file)), others
            if {"indices", "indptr", "shape"} <= names:
                return _checked(sparse_from_arrays(archive, _choose_values(path, names, values, metric))), others
            if "X" in names:
                return _checked(archive["X"]), others
    except FileNotFoundError:
        raise FileError(f"{path}: there is no such file") from None
    except FileError:
        raise
    except _UNREADABLE as error:
        told = " ".join(str(error).split())
        raise FileError(f"{path}: cannot be read as a matrix in .npz format ({told})") from error
    raise FileError(
        f"{path}: holds {', '.join(sorted(names)) or 'nothing'}, but neither a matrix of scipy.sparse.save_npz "
        "nor arrays indices, indptr, shape nor an array X"
    )


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
        raise FileError(
            f"{path}: has no values named {values or 'counts, tfidf or data'} (it has {', '.join(sorted(names))})"
        )
    return values
