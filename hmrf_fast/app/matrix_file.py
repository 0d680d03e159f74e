"""Reading the data to cluster: a sparse or dense matrix in a ``.npz`` file."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from hmrf_fast.app.common import BadInput, one_line

__all__ = ["read_matrix"]

# What numpy, scipy and zipfile raise between them for files that are not what they seem.
_UNREADABLE = (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile, zlib.error)


def read_matrix(path: Path, values: str | None, metric: str) -> Any:
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
    scipy.sparse matrix or ndarray of shape (n_samples, n_features)

    Raises
    ------
    BadInput
        If the file cannot be read as any of these.
    """
    try:
        # numpy leaves a file open that it opened by name and could not read.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            names = set(archive.files)
            if "format" in names:
                return _checked(sp.load_npz(file))
            if {"indices", "indptr", "shape"} <= names:
                from hmrf_fast.datasets import sparse_from_arrays

                return _checked(sparse_from_arrays(archive, _choose_values(path, names, values, metric)))
            if "X" in names:
                return _checked(archive["X"])
    except FileNotFoundError:
        raise BadInput(f"{path}: there is no such file") from None
    except _UNREADABLE as error:
        raise BadInput(f"{path}: cannot be read as a matrix in .npz format ({one_line(error)})") from error
    raise BadInput(
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
        raise BadInput(
            f"{path}: has no values named {values or 'counts, tfidf or data'} (it has {', '.join(sorted(names))})"
        )
    return values
