"""How the papers measure: stratified halves, and constraints drawn as random pairs of one half.

Basu, Bilenko and Mooney, KDD 2004, section 4.3: pairs come from the training half and are typed by class equality, all
rows are clustered, and the score is taken on the test half alone. The number of constraints is that of drawn pairs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["DrawnPairs", "draw_pairs", "split_halves"]


def __dir__() -> list[str]:
    return list(__all__)


_FIRST_BATCH = 1024
_LARGEST_BATCH = 1 << 20


class DrawnPairs(NamedTuple):
    """Distinct pairs of rows in the order in which they were drawn.

    Attributes
    ----------
    pairs : ndarray of shape (n_pairs, 2), int64
        The smaller row first.
    same_class : ndarray of shape (n_pairs,), bool
    """

    pairs: np.ndarray
    same_class: np.ndarray

    def first(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Sort the first pairs into must-links and cannot-links.

        Parameters
        ----------
        count : int
            How many pairs, at most all.

        Returns
        -------
        must_link, cannot_link : ndarray of shape (m, 2) and (c, 2), int64
            Together ``count`` pairs.
        """
        pairs, same_class = self.pairs[:count], self.same_class[:count]
        return pairs[same_class], pairs[~same_class]


def draw_pairs(
    labels: ArrayLike, rows: ArrayLike, n_pairs: int, random_state: int | np.random.Generator | None = None
) -> DrawnPairs:
    """Draw distinct pairs uniformly from given rows, and type them by class equality.

    One seed gives one endless order of pairs, of which the first ``n_pairs`` are returned: fewer pairs are a prefix of
    more. Pairs are drawn, not listed, so memory grows with ``n_pairs`` and not with the square of the number of rows.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Class of every row.
    rows : array-like of int
        Rows of which pairs are made, without repetition.
    n_pairs : int
        How many pairs.
    random_state : int, Generator or None
        Source of randomness, as :func:`numpy.random.default_rng` takes it.

    Returns
    -------
    DrawnPairs
        ``pairs`` of shape (n_pairs, 2) and ``same_class`` of shape (n_pairs,).

    Raises
    ------
    ValueError
        If the rows do not have that many pairs, or one of them is repeated.
    """
    labels = np.asarray(labels)
    rows = np.sort(np.asarray(rows, dtype=np.int64))
    if np.any(rows[1:] == rows[:-1]):
        raise ValueError(f"row {rows[1:][rows[1:] == rows[:-1]][0]} is given more than once")
    possible = rows.size * (rows.size - 1) // 2
    if not 0 <= n_pairs <= possible:
        raise ValueError(f"{rows.size} rows have {possible} pairs, {n_pairs} were asked for")
    first, second = _distinct_positions(rows.size, n_pairs, np.random.default_rng(random_state))
    pairs = np.column_stack((rows[first], rows[second]))
    return DrawnPairs(pairs, labels[pairs[:, 0]] == labels[pairs[:, 1]])


def _distinct_positions(size: int, n_pairs: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw ordered batches until there are enough distinct unordered pairs; keep those in order of first appearance."""
    codes = np.empty(0, dtype=np.int64)
    batch = _FIRST_BATCH
    while codes.size < n_pairs:
        ends = rng.integers(0, size, size=(batch, 2))
        ends = ends[ends[:, 0] != ends[:, 1]]
        drawn = np.concatenate((codes, ends.min(axis=1) * size + ends.max(axis=1)))
        codes = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
        # The sizes of the batches must not depend on n_pairs, or fewer pairs would be no prefix of more.
        batch = min(2 * batch, _LARGEST_BATCH)
    return np.divmod(codes[:n_pairs], max(size, 1))


def split_halves(
    labels: ArrayLike, random_state: int | np.random.Generator | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Split rows at random into two halves with the same share of every class.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Class of every row.
    random_state : int, Generator or None
        Source of randomness, as :func:`numpy.random.default_rng` takes it.

    Returns
    -------
    training, test : ndarray of int64
        Ascending row numbers. The halves differ by at most one row, overall and in every class.
    """
    labels = np.asarray(labels)
    shuffled = np.random.default_rng(random_state).permutation(labels.size)
    # Every second row of the shuffled rows grouped by class: the alternation runs on from one class into the next.
    by_class = shuffled[np.argsort(labels[shuffled], kind="stable")]
    return np.sort(by_class[0::2]), np.sort(by_class[1::2])
