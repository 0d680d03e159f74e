"""Pairs and their weights as callers write them -> one canonical array of distinct pairs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from hmrf_fast.errors import ConstraintError, first_of
from hmrf_fast.sorting import stable_order


def parse_pairs(pairs: Any, name: str, lookup: Mapping[Hashable, int] | None = None) -> np.ndarray:
    """Read pairs of rows in the caller's order.

    Parameters
    ----------
    pairs : None, (m, 2) array-like, iterable of pairs, or tuple of two index arrays
        A *tuple* of exactly two arrays or lists holds first and second ends; everything else lists pairs.
    name : str
        The parameter's name, for messages.
    lookup : mapping of id to row, optional
        If given, the pairs hold ids instead of row numbers.

    Returns
    -------
    ndarray of shape (m, 2), int64
        A new array, never a view of the caller's.

    Raises
    ------
    ConstraintError
        For a wrong shape or dtype, a negative row number, an unknown id, or a pair of a row with itself.
    """
    if pairs is None:
        return np.empty((0, 2), dtype=np.int64)
    if lookup is None:
        rows = _as_rows(_as_array(pairs, name), name)
    else:
        rows = _look_up(pairs, name, lookup)
    same = rows[:, 0] == rows[:, 1]
    if same.any():
        position = int(np.argmax(same))
        raise ConstraintError(f"{name} pair {position} joins row {rows[position, 0]} with itself")
    return rows


def _is_array_like(value: Any) -> bool:
    return isinstance(value, list) or hasattr(value, "__array__")


def _is_two_index_arrays(pairs: Any) -> bool:
    return isinstance(pairs, tuple) and len(pairs) == 2 and all(_is_array_like(part) for part in pairs)


def _check_lengths(pairs: tuple[Any, Any], name: str) -> None:
    if len(pairs[0]) != len(pairs[1]):
        raise ConstraintError(f"{name}: the two index arrays differ in length, {len(pairs[0])} and {len(pairs[1])}")


def _as_array(pairs: Any, name: str) -> np.ndarray:
    if _is_two_index_arrays(pairs):
        _check_lengths(pairs, name)
        first, second = (np.asarray(part) for part in pairs)
        if first.ndim != 1 or second.ndim != 1:
            raise ConstraintError(f"{name}: index arrays must be one-dimensional, got {first.shape} and {second.shape}")
        if first.size == 0:
            return np.empty((0, 2), dtype=np.int64)
        for part in (first, second):
            _check_integers(part, name)
        return np.column_stack([_as_int64(first, name), _as_int64(second, name)])
    if not _is_array_like(pairs) and not isinstance(pairs, tuple):
        pairs = _listed(pairs, name)
    try:
        return np.asarray(pairs)
    except ValueError:
        raise ConstraintError(_ragged_message(pairs, name)) from None


def _listed(pairs: Any, name: str) -> list[Any]:
    try:
        return list(pairs)
    except TypeError:
        raise ConstraintError(f"{name} must be pairs of rows, got {type(pairs).__name__}") from None


def _ragged_message(pairs: Any, name: str) -> str:
    for position, pair in enumerate(pairs):
        if np.ndim(pair) != 1 or len(pair) != 2:
            return f"{name} pair {position} is {pair!r}, not two rows"
    return f"{name} must have shape (m, 2)"


def _check_integers(array: np.ndarray, name: str) -> None:
    if array.dtype.kind not in "iu":
        numeric = array.dtype.kind in "fcbmM"
        ids = "" if numeric else "; if these are ids, wrap them in hmrf_fast.Constraints(..., row_ids=...)"
        raise ConstraintError(f"{name} must hold integer row numbers; got dtype {array.dtype}{ids}")


def _as_int64(array: np.ndarray, name: str) -> np.ndarray:
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        raise ConstraintError(f"{name} holds row number {array.max()}, which does not fit 64 bits")
    return array.astype(np.int64)


def _as_rows(array: np.ndarray, name: str) -> np.ndarray:
    if array.size == 0 and array.shape in ((0,), (0, 2), (1, 0), (2, 0)):
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ConstraintError(f"{name} must have shape (m, 2), one pair per line; got shape {array.shape}")
    _check_integers(array, name)
    rows = _as_int64(array, name)
    negative = (rows < 0).any(axis=1)
    if negative.any():
        position = int(np.argmax(negative))
        raise ConstraintError(f"{name} pair {position} holds the negative row number {rows[position].min()}")
    return rows


def _look_up(pairs: Any, name: str, lookup: Mapping[Hashable, int]) -> np.ndarray:
    if _is_two_index_arrays(pairs):
        _check_lengths(pairs, name)
        listed = list(zip(*(np.asarray(p).tolist() if hasattr(p, "__array__") else p for p in pairs), strict=True))
    else:
        listed = np.asarray(pairs).tolist() if hasattr(pairs, "__array__") else _listed(pairs, name)
    flat: list[int] = []
    unknown: dict[Hashable, int] = {}
    for position, pair in enumerate(listed):
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise ConstraintError(f"{name} pair {position} is {pair!r}, not two ids")
        for row_id in pair:
            flat.append(lookup.get(row_id, -1))
            if flat[-1] < 0:
                unknown.setdefault(row_id, position)
    if unknown:
        first, told = next(iter(unknown.values())), first_of(list(unknown))
        raise ConstraintError(f"{name} pair {first} names the id {told}, which is not in row_ids")
    return np.array(flat, dtype=np.int64).reshape(-1, 2)


def id_lookup(row_ids: Any) -> dict[Hashable, int]:
    """Map each row id to its row; duplicate ids are refused with both rows named."""
    ids = np.asarray(row_ids).tolist() if hasattr(row_ids, "__array__") else list(row_ids)
    lookup: dict[Hashable, int] = {}
    for row, row_id in enumerate(ids):
        first = lookup.setdefault(row_id, row)
        if first != row:
            raise ConstraintError(f"row_ids holds the id {row_id!r} twice, at rows {first} and {row}")
    return lookup


def parse_weights(weight: Any, pairs: np.ndarray, name: str) -> tuple[np.ndarray, float]:
    """Read a scalar or per-pair weight.

    Parameters
    ----------
    weight : float or array-like of shape (m,)
        Non-negative; infinity means hard.
    pairs : ndarray of shape (m, 2)
        The pairs in the caller's order.
    name : str
        The parameter's name, for messages.

    Returns
    -------
    weights : ndarray of shape (m,), float64
    group_weight : float
        What groups and labels weigh: the scalar; with per-pair weights 1.0, or infinity if every pair is hard.

    Raises
    ------
    ConstraintError
        For a wrong length, a negative weight or NaN.
    """
    array = np.asarray(weight)
    if array.dtype.kind not in "iuf" and array.size:
        raise ConstraintError(f"{name} must be a number or one number per pair; got dtype {array.dtype}")
    if array.ndim == 0:
        scalar = float(array)
        if not scalar >= 0:
            raise ConstraintError(f"{name} must be >= 0, got {scalar}")
        return np.full(len(pairs), scalar), scalar
    if array.shape != (len(pairs),):
        raise ConstraintError(f"{name} has shape {array.shape} for {len(pairs)} pairs")
    weights = array.astype(np.float64)
    broken = ~(weights >= 0)
    if broken.any():
        position = int(np.argmax(broken))
        first, second = pairs[position]
        raise ConstraintError(f"{name}[{position}] = {weights[position]} for pair ({first}, {second}) is not >= 0")
    return weights, np.inf if weights.size and np.isinf(weights).all() else 1.0


def distinct_pairs(pairs: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sort pairs as i < j and keep each once, with its largest weight.

    Returns
    -------
    pairs : ndarray of shape (d, 2), int64
    weights : ndarray of shape (d,), float64
    position : ndarray of shape (d,), int64
        Where each pair was first given.
    """
    low, high = np.minimum(pairs[:, 0], pairs[:, 1]), np.maximum(pairs[:, 0], pairs[:, 1])
    order = pair_order(low, high)
    low, high = low[order], high[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    start = np.flatnonzero(new)
    largest = np.maximum.reduceat(weights[order], start) if start.size else np.empty(0)
    return np.column_stack([low[start], high[start]]), largest, order[start]


def pair_order(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """(m,) int64: where pairs of non-negative numbers stand when sorted, equal ones in their order."""
    bits = int(high.max(initial=0)).bit_length()
    if 2 * bits > 63:
        return np.lexsort((high, low))
    return stable_order((low << bits) | high, 1 << 2 * bits)


def signed_entries(A: Any) -> sp.coo_array:
    """The non-zeros of a signed weight matrix of constraints, checked."""
    entries = sp.coo_array(A)
    if len(entries.shape) != 2 or entries.shape[0] != entries.shape[1]:
        raise ConstraintError(
            f"A must be square, one row and one column per row of the data; got shape {entries.shape}"
        )
    if entries.dtype.kind not in "iuf":
        raise ConstraintError(f"A must hold signed numbers; got dtype {entries.dtype}")
    if sp.issparse(A):
        entries = entries.copy()
        entries.sum_duplicates()
    entries = sp.coo_array((entries.data.astype(np.float64), (entries.row, entries.col)), shape=entries.shape)
    broken = np.isnan(entries.data)
    if broken.any():
        k = int(np.argmax(broken))
        raise ConstraintError(f"A[{entries.row[k]}, {entries.col[k]}] is NaN")
    entries.eliminate_zeros()
    diagonal = entries.row == entries.col
    if diagonal.any():
        k = int(np.argmax(diagonal))
        raise ConstraintError(f"A[{entries.row[k]}, {entries.col[k]}] = {entries.data[k]} links a row with itself")
    size = entries.shape[0]
    codes = np.minimum(entries.row, entries.col).astype(np.int64) * size + np.maximum(entries.row, entries.col)
    both = np.intersect1d(codes[entries.data > 0], codes[entries.data < 0])
    if both.size:
        first, second = divmod(int(both[0]), size)
        raise ConstraintError(f"A gives the pair ({first}, {second}) one sign above and the other below the diagonal")
    return entries
