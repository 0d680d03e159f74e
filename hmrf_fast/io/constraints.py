"""Constraints in tables: pairs, labels or groups, by row numbers or by the rows' own ids."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from hmrf_fast.atomic import replace_file
from hmrf_fast.constraints import Constraints
from hmrf_fast.errors import FileError, first_of
from hmrf_fast.io.tables import Table, read_table

__all__ = ["read_constraints", "write_constraints"]

_KINDS = {
    **dict.fromkeys(("must", "ml", "must_link", "must-link", "same", "+1", "1"), True),
    **dict.fromkeys(("cannot", "cl", "cannot_link", "cannot-link", "different", "-1"), False),
}
_GROUPS = ("label", "must_link_group", "cannot_link_group")
ROWS = ("id", "row")
_HEADERS = ("i", "j", "type", "weight", *ROWS, *_GROUPS)
_HEADERLESS = (("i", "j", "type"), ("i", "j", "type", "weight"))
_EXPECTED = "expected i,j,type[,weight] or id,label or id,must_link_group,cannot_link_group (row in place of id, too)"


def read_constraints(
    path: str | os.PathLike[str],
    n_rows: int,
    ids: Sequence[str] | None = None,
    *,
    weight: float | None = None,
    encoding: str = "utf-8",
) -> Constraints:
    """Read constraints from CSV, JSON lines or Parquet.

    Pairs have the columns ``i``, ``j``, ``type`` (must or cannot; also ml, cl, +1, -1, same, different) and, if
    wanted, ``weight`` (1 where empty, ``inf`` makes a pair hard). A CSV file of pairs may lack its line of names; blank
    lines and lines that begin with ``#`` are passed over. Other tables name a row by ``id`` (or ``row``) and give its
    ``label`` (known class), ``must_link_group`` or ``cannot_link_group``; empty cells and rows that are not there are
    unknown.

    Parameters
    ----------
    path : path-like
    n_rows : int
        Number of rows of the data.
    ids : sequence of n str, optional
        The rows' own ids. If any cell of the file is one of them, all must be; else cells are row numbers from 0.
    weight : float, optional
        Of labels and groups; default 1.
    encoding : str, default="utf-8"

    Returns
    -------
    Constraints

    Raises
    ------
    FileError
        If the file cannot be read so; the message names the line.
    """
    table = read_table(path, encoding=encoding, headers=_HEADERS, headerless=_HEADERLESS, expected=_EXPECTED)
    if not table.columns:
        raise FileError(f"{table.path}: holds no constraints; {_EXPECTED}")
    pairs = {"i", "j", "type"} <= set(table.columns)
    column = next((name for name in ROWS if name in table.columns), None)
    if not pairs and (column is None or not set(_GROUPS) & set(table.columns)):
        raise FileError(f"{table.path}: has the columns {', '.join(table.columns)}; {_EXPECTED}")
    if table.n_rows == 0:  # a line of names alone is what `write_constraints` makes of no pairs
        return Constraints()
    if pairs:
        _refuse_unknown_names(table, ids)
        return _pairs(table, n_rows, ids)
    assert column is not None
    rows = row_numbers(table, (column,), n_rows, ids)[:, 0]
    refuse_repeated(table, rows, column)
    weights = 1.0 if weight is None else weight
    return Constraints(
        partial_labels=_spread(table, "label", rows, n_rows),
        must_link_groups=_spread(table, "must_link_group", rows, n_rows),
        cannot_link_groups=_spread(table, "cannot_link_group", rows, n_rows),
        must_link_weight=weights,
        cannot_link_weight=weights,
    )


def write_constraints(path: str | os.PathLike[str], constraints: Constraints, ids: Sequence[str] | None = None) -> None:
    """Write pairs as the CSV that `read_constraints` reads; groups and labels are not part of it.

    Parameters
    ----------
    path : path-like
    constraints : Constraints
    ids : sequence of n str, optional
        Written in place of row numbers.

    Raises
    ------
    FileError
        If the file cannot be written.
    """
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(_HEADERLESS[1])
    for kind in ("must", "cannot"):
        pairs, weights = getattr(constraints, f"{kind}_link"), getattr(constraints, f"{kind}_link_weight")
        for (i, j), weight in zip(pairs.tolist(), weights.tolist(), strict=True):
            writer.writerow((*((i, j) if ids is None else (ids[i], ids[j])), kind, f"{weight:.17g}"))
    try:
        replace_file(path, lambda file: file.write(stream.getvalue().encode("utf-8", errors="replace")))
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({error.strerror or error}); choose another place") from error


def _refuse_unknown_names(table: Table, ids: Sequence[str] | None) -> None:
    """A first line of words alone is no pair, but a line of names that nobody knows."""
    first = [str(cells[0]) for cells in table.columns.values()]
    known = {str(one) for one in ids or ()}
    if table.lines is None or first[2].strip().lower() in _KINDS or any(_is_row(cell, known) for cell in first[:2]):
        return
    raise FileError(f"{table.place(0)}: neither a pair nor known column names ({','.join(first)}); {_EXPECTED}")


def _is_row(cell: str, ids: set[str]) -> bool:
    return cell in ids or cell.lstrip("+-").isdecimal()


def _pairs(table: Table, n_rows: int, ids: Sequence[str] | None) -> Constraints:
    rows = row_numbers(table, ("i", "j"), n_rows, ids)
    same = np.flatnonzero(rows[:, 0] == rows[:, 1])
    if same.size:
        raise FileError(
            f"{table.place(same[0])}: row {table.columns['i'][same[0]]} is paired with itself; leave the line out"
        )
    must = np.array([_kind(table, row) for row in range(table.n_rows)])
    if "weight" not in table.columns:
        return Constraints(rows[must], rows[~must])
    weights = np.array([cell_weight(table, row) for row in range(table.n_rows)])
    return Constraints(rows[must], rows[~must], must_link_weight=weights[must], cannot_link_weight=weights[~must])


def row_numbers(table: Table, columns: tuple[str, ...], n_rows: int, ids: Sequence[str] | None) -> np.ndarray:
    """(m, columns) row numbers."""
    lookup = {} if ids is None else {name: row for row, name in enumerate(ids)}
    by_id = any(str(value) in lookup for name in columns for value in table.columns[name])
    if by_id:
        return _rows_by_id(table, columns, lookup)
    found = np.empty((table.n_rows, len(columns)), dtype=np.int64)
    for row in range(table.n_rows):
        for k, name in enumerate(columns):
            value = table.columns[name][row]
            found[row, k] = _by_number(table, row, value, n_rows, ids)
    return found


def _rows_by_id(table: Table, columns: tuple[str, ...], lookup: dict[str, int]) -> np.ndarray:
    found = np.empty((table.n_rows, len(columns)), dtype=np.int64)
    unknown: dict[str, int] = {}
    for row in range(table.n_rows):
        for k, name in enumerate(columns):
            told = str(table.columns[name][row])
            found[row, k] = lookup.get(told, -1)
            if found[row, k] < 0:
                unknown.setdefault(told, row)
    if unknown:
        raise FileError(
            f"{table.place(min(unknown.values()))}: the data have no row with the id {first_of(list(unknown))}; "
            "correct it or leave the line out"
        )
    return found


def _by_number(table: Table, row: int, value: Any, n_rows: int, ids: Sequence[str] | None) -> int:
    try:
        number = int(str(value))
    except ValueError:
        known = "" if not ids else f", nor is it an id of the data, which are like {ids[0]!r}"
        raise FileError(f"{table.place(row)}: row number {value!r} is not an integer{known}") from None
    if not 0 <= number < n_rows:
        raise FileError(f"{table.place(row)}: row {number} is out of range, the data have rows 0 to {n_rows - 1}")
    return number


def _kind(table: Table, row: int) -> bool:
    value = table.columns["type"][row]
    try:
        return _KINDS[str(value).strip().lower()]
    except KeyError:
        raise FileError(f"{table.place(row)}: type {value!r} is none of must, cannot, ml, cl, +1, -1") from None


def cell_weight(table: Table, row: int) -> float:
    value = table.columns["weight"][row]
    try:
        weight = 1.0 if value is None else float(value)
    except (TypeError, ValueError):
        weight = -1.0
    if not weight >= 0:  # also refuses NaN
        raise FileError(
            f"{table.place(row)}: weight {value!r} is not a number of at least 0 (inf makes the constraint hard)"
        )
    return weight


def refuse_repeated(table: Table, rows: np.ndarray, column: str) -> None:
    order = np.argsort(rows, kind="stable")
    again = np.flatnonzero(rows[order][1:] == rows[order][:-1])
    if again.size:
        first, second = order[again[0]], order[again[0] + 1]
        name = table.columns[column][second]
        raise FileError(
            f"{table.place(second)}: row {name} was named before ({table.place(first)}); keep one of the two"
        )


def _spread(table: Table, name: str, rows: np.ndarray, n_rows: int) -> Any:
    """One entry per row of the data, None where the table says nothing."""
    if name not in table.columns:
        return None
    spread: list[str | None] = [None] * n_rows
    for row, value in zip(rows.tolist(), table.columns[name], strict=True):
        unknown = value is None or value != value or str(value).strip() in ("", "-1")
        spread[row] = None if unknown else str(value)
    return spread
