"""Weights of rows in tables, by row numbers or by the rows' own ids."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from hmrf_fast.errors import FileError
from hmrf_fast.io.constraints import ROWS, cell_weight, refuse_repeated, row_numbers
from hmrf_fast.io.tables import read_table, write_table

__all__ = ["read_weights", "write_weights"]


def read_weights(
    path: str | os.PathLike[str], n_rows: int, ids: Sequence[str] | None = None, *, encoding: str = "utf-8"
) -> np.ndarray:
    """Read how much rows count, for the ``sample_weight`` of a fit, from CSV, JSON lines or Parquet.

    Parameters
    ----------
    path : path-like
        A table with ``id`` (or ``row``) and ``weight``: a number of at least 0, 1 where empty.
    n_rows : int
        Number of rows of the data.
    ids : sequence of n str, optional
        The rows' own ids, as for `read_constraints`.
    encoding : str, default="utf-8"

    Returns
    -------
    ndarray of shape (n,), float64
        1 for rows that the table does not name.

    Raises
    ------
    FileError
        If the file cannot be read so; the message names the line.
    """
    table = read_table(path, encoding=encoding, file_format=None, headers=(*ROWS, "weight"))
    weights = np.ones(n_rows)
    if not table.columns:
        raise FileError(f"{table.path}: holds no weights; expected id (or row) and weight")
    column = next((name for name in ROWS if name in table.columns), None)
    if column is None or "weight" not in table.columns:
        raise FileError(f"{table.path}: has the columns {', '.join(table.columns)}; expected id (or row) and weight")
    if table.n_rows == 0:  # a line of names alone is what `write_weights` makes of weights that are all 1
        return weights
    rows = row_numbers(table, (column,), n_rows, ids)[:, 0]
    refuse_repeated(table, rows, column)
    given = np.array([cell_weight(table, row) for row in range(table.n_rows)])
    if np.isinf(given).any():
        raise FileError(f"{table.place(int(np.argmax(np.isinf(given))))}: a row cannot weigh inf; give a number")
    weights[rows] = given
    return weights


def write_weights(path: str | os.PathLike[str], weights: np.ndarray, ids: Sequence[str] | None = None) -> None:
    """Write weights as the table that `read_weights` reads, CSV or Parquet; rows of weight 1 are left out.

    Parameters
    ----------
    path : path-like
    weights : ndarray of shape (n,), float64
    ids : sequence of n str, optional
        The rows' own ids; without them rows are numbered from 0.

    Raises
    ------
    FileError
        If the file cannot be written.
    """
    rows = np.flatnonzero(weights != 1).tolist()
    named = {"row": rows} if ids is None else {"id": [ids[row] for row in rows]}
    write_table(path, {**named, "weight": weights[rows].tolist()})
