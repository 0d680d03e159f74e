"""Pairs inside sets and between sets: listed without a loop per pair, or drawn as a deterministic sample."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np

_Fields = TypeVar("_Fields", bound=tuple[Any, ...])


class Bundles(NamedTuple):
    """Bundles of pairs: all pairs inside one set (left == right) or all cross pairs of two sets, one weight each."""

    left: np.ndarray  # (b,) int64 set
    right: np.ndarray  # (b,) int64 set
    kind: np.ndarray  # (b,) int8, +1 must-link, -1 cannot-link
    weight: np.ndarray  # (b,) float64

    def take(self, which: np.ndarray) -> Bundles:
        """The bundles picked by a mask or by numbers."""
        return Bundles(*(field[which] for field in self))


class Listed(NamedTuple):
    """Pairs of rows, one by one."""

    first: np.ndarray  # (m,) int64
    second: np.ndarray  # (m,) int64
    kind: np.ndarray  # (m,) int8
    weight: np.ndarray  # (m,) float64


def no_bundles() -> Bundles:
    """An empty list of bundles."""
    return Bundles(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int8), np.empty(0))


def join(parts: list[_Fields]) -> _Fields:
    """Concatenate tuples of arrays of one type, field by field."""
    return type(parts[0])(*(np.concatenate(fields) for fields in zip(*parts, strict=True)))


def pair_counts(ptr: np.ndarray, bundles: Bundles) -> np.ndarray:
    """How many pairs each bundle holds, (b,) int64."""
    sizes = np.diff(ptr)
    p, q = sizes[bundles.left], sizes[bundles.right]
    return np.where(bundles.left == bundles.right, p * (p - 1) // 2, p * q)


def _decode(ptr: np.ndarray, members: np.ndarray, bundles: Bundles, which: np.ndarray, number: np.ndarray) -> Listed:
    """The pair with a given number inside its bundle."""
    left, right = bundles.left[which], bundles.right[which]
    q = ptr[right + 1] - ptr[right]
    inside = left == right
    # Pair numbers of a clique run (0,1), (0,2), (1,2), (0,3), ...: the second end is the triangular root.
    second = ((1.0 + np.sqrt(1.0 + 8.0 * number)) / 2.0).astype(np.int64)
    second -= (second * (second - 1) // 2 > number).astype(np.int64)  # the root may be off by one for large numbers
    second += (second * (second + 1) // 2 <= number).astype(np.int64)
    first = number - second * (second - 1) // 2
    cross = ~inside
    first[cross] = number[cross] // q[cross]
    second[cross] = number[cross] - first[cross] * q[cross]
    return Listed(members[ptr[left] + first], members[ptr[right] + second], bundles.kind[which], bundles.weight[which])


def enumerate_pairs(ptr: np.ndarray, members: np.ndarray, bundles: Bundles) -> Listed:
    """List every pair of the bundles.

    Parameters
    ----------
    ptr : ndarray of shape (s + 1,), int64
    members : ndarray, int64
        The sets: rows of set k are ``members[ptr[k]:ptr[k + 1]]``.
    bundles : Bundles

    Returns
    -------
    Listed
    """
    counts = pair_counts(ptr, bundles)
    which = np.repeat(np.arange(counts.size), counts)
    number = np.arange(which.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return _decode(ptr, members, bundles, which, number)


def sample_pairs(ptr: np.ndarray, members: np.ndarray, bundles: Bundles, n_draws: int, seed: int) -> Listed:
    """Draw pairs of the bundles, weighted so that each kind keeps its total weight.

    All pairs of all bundles are laid out in one line, cut into `n_draws` equal stretches, and one pair is drawn from
    each stretch: every bundle, and every row of a bundle, gets its share.

    Parameters
    ----------
    ptr, members : ndarray
        The sets, see `enumerate_pairs`.
    bundles : Bundles
    n_draws : int
        At most the number of pairs.
    seed : int
        Of the random stream; the same seed and bundles give the same sample.

    Returns
    -------
    Listed
    """
    counts = pair_counts(ptr, bundles)
    ends = np.cumsum(counts)
    generator = np.random.Generator(np.random.PCG64(seed))
    at = (np.arange(n_draws) + generator.random(n_draws)) * (ends[-1] / n_draws)
    at = np.minimum(at.astype(np.int64), ends[-1] - 1)
    at = at[np.diff(at, prepend=-1) > 0]
    which = np.searchsorted(ends, at, side="right")
    drawn = np.bincount(which, minlength=counts.size)
    scaled = bundles.weight * counts / np.maximum(drawn, 1)
    listed = _decode(ptr, members, bundles._replace(weight=scaled), which, at - (ends - counts)[which])
    for kind in (1, -1):
        # A bundle smaller than a stretch may go without a draw: the others of its kind carry its weight.
        of_kind = bundles.kind == kind
        wanted, got = (bundles.weight * counts)[of_kind].sum(), listed.weight[listed.kind == kind].sum()
        if got > 0:
            listed.weight[listed.kind == kind] *= wanted / got
    return listed
