"""Labels and group ids: any array with gaps -> small integer codes, -1 where nothing is known."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hmrf_fast.errors import ConstraintError
from hmrf_fast.sorting import stable_order


class Grouping(NamedTuple):
    """Rows sorted into groups (or classes)."""

    codes: np.ndarray  # (n,) int32, the group of each row, -1 where unknown
    ids: np.ndarray  # (g,) the caller's group ids, ascending

    def name(self, code: int) -> str:
        """The caller's id of one group, as it reads in a message."""
        return repr(self.ids[code].item())

    def restricted(self, rows: np.ndarray) -> Grouping:
        """The grouping of some rows, without the groups that none of them is in."""
        held, codes = np.unique(self.codes[rows], return_inverse=True)
        first = np.searchsorted(held, 0)  # -1 comes before the groups
        return Grouping((codes - first).astype(np.int32), self.ids[held[first:]])


def encode_groups(values: Any, name: str) -> Grouping:
    """Turn labels or group ids into codes.

    Parameters
    ----------
    values : array-like of shape (n,)
        Integers (-1 = unknown), integral floats (NaN or -1 = unknown), strings, or objects that mix one of these with
        None, NaN or -1 for unknown.
    name : str
        The parameter's name, for messages.

    Returns
    -------
    Grouping
        ``codes`` int32 and ``ids`` sorted.

    Raises
    ------
    ConstraintError
        If the array is not one-dimensional, holds a fraction or an infinity, or mixes types.
    """
    try:
        array = np.asarray(values)
    except ValueError:
        raise ConstraintError(f"{name} must hold one integer or string per row; some entries are sequences") from None
    if array.dtype.kind in "US" and not hasattr(values, "__array__"):
        # NumPy would have turned a NaN or None among strings into the strings "nan" and "None".
        array = np.array(list(values), dtype=object)
    if array.ndim != 1:
        raise ConstraintError(f"{name} must be one-dimensional, one entry per row; got shape {array.shape}")
    kind = array.dtype.kind
    if kind == "O":
        known, found = _known_objects(array, name)
    elif kind == "f":
        known = ~np.isnan(array) & (array != -1)
        found = _integral(array, known, name)
    elif kind in "iu":
        known = array != -1 if kind == "i" else np.ones(array.size, dtype=bool)
        found = array[known]
        if array.dtype != np.uint64:
            found = found.astype(np.int64)
    elif kind in "US":
        known, found = np.ones(array.size, dtype=bool), array
    else:
        raise ConstraintError(f"{name} must hold integers, integral floats or strings; got dtype {array.dtype}")
    ids, inverse = np.unique(found, return_inverse=True)
    codes = np.full(array.size, -1, dtype=np.int32)
    codes[known] = inverse
    return Grouping(codes, ids)


def _integral(array: np.ndarray, known: np.ndarray, name: str) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        broken = known & ~((array == np.floor(array)) & (np.abs(array) < 2.0**63))
    if broken.any():
        row = int(np.argmax(broken))
        raise ConstraintError(f"{name}[{row}] = {array[row].item()!r} is not an integer")
    return array[known].astype(np.int64)


def _is_unknown(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (int, float, np.integer, np.floating)) and bool(value != value or value == -1)


def _known_objects(array: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    known = np.fromiter((not _is_unknown(value) for value in array), dtype=bool, count=array.size)
    values = array[known].tolist()
    if all(isinstance(value, str) for value in values):
        return known, np.array(values, dtype=str)
    number = (int, float, np.integer, np.floating)
    for row, value in zip(np.flatnonzero(known), values, strict=True):
        if isinstance(value, bool) or not isinstance(value, number):
            other = "strings and numbers must not be mixed" if isinstance(value, str) else "use integers or strings"
            raise ConstraintError(f"{name}[{row}] = {value!r} is of type {type(value).__name__}; {other}")
        if value != np.floor(value):
            raise ConstraintError(f"{name}[{row}] = {value!r} is not an integer")
    try:
        return known, np.array([int(value) for value in values], dtype=np.int64)
    except OverflowError:
        raise ConstraintError(f"{name} holds an integer that does not fit 64 bits") from None


def members_by_code(codes: np.ndarray, n_codes: int) -> tuple[np.ndarray, np.ndarray]:
    """List the members of each code: ``(ptr (n_codes + 1,) int64, members int64)``, ascending within a code."""
    counts = np.bincount(codes.astype(np.int64) + 1, minlength=n_codes + 1)
    ptr = np.zeros(n_codes + 1, dtype=np.int64)
    np.cumsum(counts[1:], out=ptr[1:])
    return ptr, stable_order(codes.astype(np.int64) + 1, n_codes)[counts[0] :]


def common_length(lengths: dict[str, int]) -> int | None:
    """The one number of rows that several inputs, by name, agree on; None without any."""
    if len(set(lengths.values())) > 1:
        told = " and ".join(f"{length} ({name})" for name, length in lengths.items())
        raise ConstraintError(f"the numbers of rows differ: {told}")
    return next(iter(lengths.values()), None)
