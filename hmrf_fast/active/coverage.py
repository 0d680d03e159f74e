"""Rows that speak for many others: greedy facility location, lazily."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

import numpy as np

from hmrf_fast.active.coordinates import distances

LARGEST = 2000  # rows of either side of the table of affinities


class Coverage:
    """How well all rows are represented, and by whom next.

    With S_ij >= 0 the affinity of row i to row j, a set A of rows covers sum_i max_{j in A} S_ij. The row that adds
    most comes next: within 1 - 1/e of the best set of every size (Nemhauser, Wolsey and Fisher 1978). Gains only fall
    as the set grows, so old ones are upper bounds and few need a second look (Minoux 1978).

    Parameters
    ----------
    coordinates : ndarray of shape (n, r), float64
    candidates : ndarray of shape (c,), int64
        Rows that may be chosen, ascending.
    witnesses : ndarray of shape (w,), int64
        Rows that count as covered or not.
    directional : bool
        Affinity is the squared cosine where that is positive, and none to rows without a direction, which speak for
        nobody; else the distance that is saved against the largest one.
    """

    def __init__(
        self, coordinates: np.ndarray, candidates: np.ndarray, witnesses: np.ndarray, directional: bool
    ) -> None:
        self._coordinates = coordinates
        self._candidates = candidates
        self._witnesses = witnesses
        self._directional = directional
        self._points = np.asarray(coordinates.any(axis=1))
        self._reach = (
            0.0 if directional else float(distances(coordinates[candidates], coordinates[witnesses]).max(initial=0.0))
        )
        self._affinity = self._affinities(candidates)
        self._covered = np.zeros(witnesses.size)

    def cover(self, rows: Iterable[int]) -> None:
        """Take in rows that are chosen already."""
        for row in rows:
            np.maximum(self._covered, self._affinities(np.array([row]))[0], out=self._covered)

    def __iter__(self) -> Iterator[int]:
        """All candidates, the one that adds most first; ties go to the lowest row."""
        heap = [(-self._gain(position), position, 0) for position in range(self._candidates.size)]
        heapq.heapify(heap)
        n_chosen = 0
        while heap:
            _, position, as_of = heapq.heappop(heap)
            if as_of < n_chosen:
                heapq.heappush(heap, (-self._gain(position), position, n_chosen))
                continue
            np.maximum(self._covered, self._affinity[position], out=self._covered)
            n_chosen += 1
            yield int(self._candidates[position])

    def _gain(self, position: int) -> float:
        return float(np.maximum(self._affinity[position] - self._covered, 0.0).sum())

    def _affinities(self, rows: np.ndarray) -> np.ndarray:
        table = distances(self._coordinates[rows], self._coordinates[self._witnesses])
        if not self._directional:
            return np.maximum(self._reach - table, 0.0)
        affinity = np.maximum(1.0 - table * table / 2.0, 0.0) ** 2
        affinity[~self._points[rows]] = 0.0
        affinity[:, ~self._points[self._witnesses]] = 0.0
        return affinity


def by_coverage(
    coordinates: np.ndarray, rows: np.ndarray, done: list[int], directional: bool, rng: np.random.Generator
) -> Iterator[int]:
    """All `rows`, the most representative first; those of ``done`` are represented already.

    At most `LARGEST` rows stand for all, and as many compete at a time, so memory does not grow with the data.
    """
    n_rows = coordinates.shape[0]
    witnesses = np.sort(rng.choice(n_rows, min(LARGEST, n_rows), replace=False))
    shuffled, chosen = rng.permutation(rows), list(done)
    for block in np.split(shuffled, range(LARGEST, shuffled.size, LARGEST)):
        coverage = Coverage(coordinates, np.sort(block), witnesses, directional)
        coverage.cover(chosen)
        for row in coverage:
            yield row
            chosen.append(row)
