"""Matrices in Matrix Market files.

scipy's reader is quick, but takes the sizes that a file names for granted and can crash on tables of another length; so
the size is compared with the lines that are there first, and dense tables are read by numpy. Coordinates come in any
order, mostly by column: what is read piecewise goes to temporary files first, one per stretch of rows.
"""

from __future__ import annotations

import io
import os
import re
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.io
import scipy.sparse as sp

from hmrf_fast.errors import FileError, HMRFError, in_short
from hmrf_fast.io.blocks import ENTRIES, Reader
from hmrf_fast.io.matrix_file import refuse_shape
from hmrf_fast.io.sources import line_pieces
from hmrf_fast.memory import refuse_without

__all__ = ["matrix_market_blocks"]

_HEADER = re.compile(rb"%%MatrixMarket[ \t]+matrix[ \t]+(\w+)[ \t]+(\w+)[ \t]+([\w-]+)[ \t]*\r?\n", re.I)
_LINE = re.compile(rb"^[ \t]*[^\s%]", re.M)
_SIZE = re.compile(rb"^[ \t]*(\d+)[ \t]+(\d+)(?:[ \t]+(\d+))?[ \t]*\r?$", re.M)


class _Head(NamedTuple):
    """What the first lines say."""

    line: bytes  # the first
    layout: str
    field: str
    symmetry: str
    shape: tuple[int, int]
    n_entries: int
    end: int  # where the sizes end


def matrix_market_blocks(
    path: str | os.PathLike[str], piecewise: bool, scratch: str | os.PathLike[str] | None = None
) -> Reader:
    """Read a real, integer or pattern matrix, packed with gzip or not.

    Parameters
    ----------
    path : path-like
    piecewise : bool
        Matrices in coordinates can be read so.
    scratch : path-like, optional
        The folder for temporary files, of 24 bytes per entry.

    Yields
    ------
    scipy.sparse.csr_matrix of float64, or ndarray

    Returns
    -------
    dict
        Empty: there is nothing but the matrix.

    Raises
    ------
    FileError
        If the file is no such matrix.
    """
    pieces = line_pieces(path, piecewise)
    try:
        first = _first(pieces)
        head = _head(path, first)
        if head.layout == "array":
            yield _dense(b"".join([first[head.end :], *pieces]), head)
        elif (second := next(pieces, None)) is None:
            yield _csr(_entries(path, first, head))
        else:
            with tempfile.TemporaryDirectory(dir=scratch if scratch and Path(scratch).is_dir() else None) as folder:
                parts = _parts(path, head, chain([first, second], pieces))
                yield from _sorted_by_row(parts, head, Path(folder))
    except (ValueError, TypeError, ArithmeticError, EOFError, StopIteration, MemoryError) as error:
        if isinstance(error, HMRFError):
            raise
        raise FileError(f"{path}: cannot be read as Matrix Market ({in_short(error)})") from error
    return {}


def _first(pieces: Iterator[bytes]) -> bytes:
    """The first line and the piece with the sizes; pieces between them that are comments alone are left out."""
    first = next(pieces, b"")
    header = _HEADER.match(first)
    while header is not None and _LINE.search(first, header.end()) is None and (piece := next(pieces, b"")):
        first = header.group() + piece
    return first


def _head(path: str | os.PathLike[str], content: bytes) -> _Head:
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
    shape = int(size.group(1)), int(size.group(2))
    refuse_shape(path, shape)
    return _Head(header.group(), layout, field, symmetry, shape, int(size.group(3) or 0), size.end())


def _count(content: bytes, begin: int = 0) -> int:
    return sum(1 for _ in _LINE.finditer(content, begin))


def _entries(path: str | os.PathLike[str], content: bytes, head: _Head) -> sp.coo_matrix:
    """A whole file, header and all."""
    found = _count(content, head.end)
    if found != head.n_entries:
        raise ValueError(f"it names {head.n_entries} entries and has {found}")
    refuse_without(f"{path}", 48 * found, f"{found} entries")
    if b"\0" in content:
        raise ValueError("it holds a NUL byte")
    # scipy reads past the end of a last line that no line feed ends.
    return sp.coo_matrix(scipy.io.mmread(io.BytesIO(content + b"\n")), dtype=np.float64)


def _parts(path: str | os.PathLike[str], head: _Head, pieces: Iterator[bytes]) -> Iterator[sp.coo_matrix]:
    """The entries of each piece, as if it were a file of its own."""
    total, begin = 0, head.end
    for piece in pieces:
        body, begin = piece[begin:], 0
        found = _count(body)
        total += found
        sizes = b"%d %d %d\n" % (*head.shape, found)
        part = head._replace(n_entries=found, end=len(head.line) + len(sizes))
        try:
            yield _entries(path, head.line + sizes + body.lstrip(), part)
        except ValueError as error:
            if isinstance(error, HMRFError):
                raise
            raise ValueError(f"entries {total - found + 1} to {total}: {in_short(error)}") from None
    if total != head.n_entries:
        raise ValueError(f"it names {head.n_entries} entries and has {total}")


def _sorted_by_row(parts: Iterator[sp.coo_matrix], head: _Head, folder: Path) -> Iterator[sp.csr_matrix]:
    """Stretches of rows, from entries in any order."""
    n_rows, n_columns = head.shape
    step = max(1, n_rows // max(1, -(-head.n_entries // ENTRIES)))
    buckets = [folder / str(number) for number in range(-(-n_rows // step))]
    for bucket in buckets:
        bucket.touch()
    for part in parts:
        table = np.column_stack([part.row, part.col, part.data])
        of = part.row // step
        for number in np.unique(of):
            with buckets[number].open("ab") as bucket:
                bucket.write(table[of == number].tobytes())
    for number, bucket in enumerate(buckets):
        table, first = np.fromfile(bucket).reshape(-1, 3), number * step
        place = table[:, 0].astype(np.int64) - first, table[:, 1].astype(np.int64)
        yield _csr(sp.coo_matrix((table[:, 2], place), (min(step, n_rows - first), n_columns)))


def _csr(entries: sp.coo_matrix) -> sp.csr_matrix:
    """Rows of entries in any order. Those of one cell are added from the least to the greatest: the order in which they
    are found depends on the pieces, and with it the last bits of a sum."""
    rows = entries.tocsr()
    if rows.nnz == entries.nnz:
        return rows
    order = np.lexsort((entries.data, entries.col, entries.row))
    row, column, values = entries.row[order], entries.col[order], entries.data[order]
    new = np.concatenate([[True], (np.diff(row) != 0) | (np.diff(column) != 0)])
    sums = np.bincount(np.cumsum(new) - 1, weights=values)
    return sp.coo_matrix((sums, (row[new], column[new])), entries.shape).tocsr()


def _dense(body: bytes, head: _Head) -> np.ndarray:
    if head.symmetry != "general" or head.field == "pattern":
        raise ValueError(f"a {head.symmetry} {head.field} matrix in array form; write it in coordinate form")
    values = np.loadtxt(io.BytesIO(body), comments="%", ndmin=1) if _LINE.search(body) else np.empty(0)
    if values.shape != (head.shape[0] * head.shape[1],):
        raise ValueError(f"it names {head.shape[0]} x {head.shape[1]} values and has {values.size}")
    return values.reshape(head.shape, order="F")
