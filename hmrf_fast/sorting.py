"""Sorts of small whole numbers, faster than a sort that has to keep the order of equal ones."""

from __future__ import annotations

import numpy as np


def stable_order(keys: np.ndarray, largest: int) -> np.ndarray:
    """(m,) int64: the places of non-negative keys (m,) int64 of at most ``largest``, ascending, equal ones in their
    order. Where key and place fit one word, these words are sorted: they are all different."""
    shift = int(keys.size).bit_length()
    if int(largest).bit_length() + shift > 63:
        return np.argsort(keys, kind="stable")
    words = (keys << shift) | np.arange(keys.size)
    words.sort()
    return words & ((1 << shift) - 1)
