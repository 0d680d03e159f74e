"""Reading constraints: a CSV file with the columns ``i,j,type[,weight]``."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hmrf_fast.app.common import BadInput

__all__ = ["PairTable", "read_pairs"]

_KINDS = {
    **dict.fromkeys(("must", "ml", "must_link", "must-link", "+1", "1"), True),
    **dict.fromkeys(("cannot", "cl", "cannot_link", "cannot-link", "-1"), False),
}


class PairTable(NamedTuple):
    """Constraints as they stand in the file."""

    pairs: np.ndarray  # (n, 2) int64
    must: np.ndarray  # (n,) bool, True for must-link
    weights: np.ndarray | None  # (n,) float64, inf for hard; None if the file has no such column


def read_pairs(path: Path, n_rows: int) -> PairTable:
    """Read must-links and cannot-links between rows counted from 0.

    Parameters
    ----------
    path : Path
        A CSV file. A header line, blank lines and lines that begin with ``#`` are passed over.
    n_rows : int
        Number of rows of the data.

    Returns
    -------
    PairTable

    Raises
    ------
    BadInput
        If the file cannot be read; the message names the line.
    """
    pairs: list[tuple[int, int]] = []
    must: list[bool] = []
    weights: list[float] = []
    width = 0
    try:
        with path.open(newline="", encoding="utf-8-sig") as lines:
            reader = csv.reader(lines)
            for cells in reader:
                cells = [cell.strip() for cell in cells]
                if not any(cells) or cells[0].startswith("#"):
                    continue
                where = f"{path}, line {reader.line_num}"
                header = width == 0 and cells[:2] == ["i", "j"]
                width = width or len(cells)
                if width not in (3, 4) or len(cells) != width:
                    expected = "i,j,type or i,j,type,weight" if width not in (3, 4) else f"{width}"
                    raise BadInput(f"{where}: {len(cells)} columns, expected {expected}")
                if header:
                    continue
                pairs.append(_row_numbers(cells, n_rows, where))
                must.append(_kind(cells[2], where))
                if width == 4:
                    weights.append(_weight(cells[3], where))
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"{path}: is not a CSV text file ({error})") from error
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return PairTable(table, np.array(must, dtype=bool), np.array(weights, dtype=np.float64) if width == 4 else None)


def _row_numbers(cells: list[str], n_rows: int, where: str) -> tuple[int, int]:
    numbers = []
    for cell in cells[:2]:
        try:
            number = int(cell)
        except ValueError:
            raise BadInput(f"{where}: row number {cell!r} is not an integer") from None
        if not 0 <= number < n_rows:
            raise BadInput(f"{where}: row {number} is out of range, the data have rows 0 to {n_rows - 1}")
        numbers.append(number)
    if numbers[0] == numbers[1]:
        raise BadInput(f"{where}: row {numbers[0]} is paired with itself")
    return numbers[0], numbers[1]


def _kind(cell: str, where: str) -> bool:
    try:
        return _KINDS[cell.lower()]
    except KeyError:
        raise BadInput(f"{where}: type {cell!r} is none of must, cannot, ml, cl, +1, -1") from None


def _weight(cell: str, where: str) -> float:
    try:
        weight = float(cell) if cell.strip() else 1.0
    except ValueError:
        weight = -1.0
    if not weight >= 0:  # also refuses NaN
        raise BadInput(f"{where}: weight {cell!r} is not a number of at least 0 (inf makes the constraint hard)")
    return weight
