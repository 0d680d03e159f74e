"""Matrices in Matrix Market files.

scipy's reader is quick, but takes the sizes that a file names for granted and can crash on tables of another length; so
the size is compared with the lines that are there first, and dense tables are read by numpy.
"""

from __future__ import annotations

import io
import os
import re
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

from hmrf_fast.errors import FileError, HMRFError, in_short
from hmrf_fast.io.matrix_file import refuse_shape
from hmrf_fast.io.sources import read_bytes
from hmrf_fast.memory import refuse_without

__all__ = ["read_matrix_market"]

_HEADER = re.compile(rb"%%MatrixMarket[ \t]+matrix[ \t]+(\w+)[ \t]+(\w+)[ \t]+([\w-]+)[ \t]*\r?\n", re.I)
_LINE = re.compile(rb"^[ \t]*[^\s%]", re.M)
_SIZE = re.compile(rb"^[ \t]*(\d+)[ \t]+(\d+)(?:[ \t]+(\d+))?[ \t]*\r?$", re.M)


def read_matrix_market(path: str | os.PathLike[str]) -> Any:
    """Read a real, integer or pattern matrix, packed with gzip or not.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    scipy.sparse.csr_matrix of float64, or ndarray

    Raises
    ------
    FileError
        If the file is no such matrix.
    """
    content = read_bytes(path)
    try:
        return _parsed(path, content)
    except (ValueError, TypeError, ArithmeticError, EOFError, StopIteration, MemoryError) as error:
        if isinstance(error, HMRFError):
            raise
        raise FileError(f"{path}: cannot be read as Matrix Market ({in_short(error)})") from error


def _parsed(path: str | os.PathLike[str], content: bytes) -> Any:
    header = _HEADER.match(content)
    if header is None:
        raise ValueError("it does not begin with a line like '%%MatrixMarket matrix coordinate real general'")
    layout, field, symmetry = (word.lower().decode() for word in header.groups())
    if field not in ("real", "double", "integer", "pattern"):
        raise ValueError(f"its numbers are {field}, not real, integer or pattern")
    begin = _LINE.search(content, header.end())
    size = None if begin is None else _SIZE.match(content, begin.start())
    if size is None or (size.group(3) is None) != (layout == "array"):
        raise ValueError(f"the line of sizes does not fit a matrix in {layout} form")
    n_rows, n_columns = int(size.group(1)), int(size.group(2))
    refuse_shape(path, (n_rows, n_columns))
    if layout == "array":
        return _dense(content[size.end() :], (n_rows, n_columns), field, symmetry)
    found, named = sum(1 for _ in _LINE.finditer(content, size.end())), int(size.group(3))
    if found != named:
        raise ValueError(f"it names {named} entries and has {found}")
    refuse_without(f"{path}", 48 * found, f"{found} entries")
    return sp.csr_matrix(scipy.io.mmread(io.BytesIO(content)), dtype=np.float64)


def _dense(body: bytes, shape: tuple[int, int], field: str, symmetry: str) -> np.ndarray:
    if symmetry != "general" or field == "pattern":
        raise ValueError(f"a {symmetry} {field} matrix in array form; write it in coordinate form")
    values = np.loadtxt(io.BytesIO(body), comments="%", ndmin=1) if _LINE.search(body) else np.empty(0)
    if values.shape != (shape[0] * shape[1],):
        raise ValueError(f"it names {shape[0]} x {shape[1]} values and has {values.size}")
    return values.reshape(shape, order="F")
