"""Farthest-first traversal in steps: how far every row is from all rows visited so far."""

from __future__ import annotations

import numpy as np

from hmrf_fast.active.space import Space


class Frontier:
    """The rows not visited yet, by their distance to the nearest visited one.

    Parameters
    ----------
    space : Space
    rows : ndarray of shape (r,), int64
        Rows that may be visited, ascending.
    weight : ndarray of shape (r,), float64, optional
        What distances are multiplied with before they are compared.
    """

    def __init__(self, space: Space, rows: np.ndarray, weight: np.ndarray | None = None) -> None:
        self._space = space
        self._rows = rows
        self._weight = weight
        self._nearest = np.full(rows.size, np.inf)
        self._left = np.ones(rows.size, dtype=bool)

    @property
    def is_empty(self) -> bool:
        """Whether every row was visited."""
        return not self._left.any()

    def visit(self, row: int) -> None:
        """Take a row in; one pass over the rows."""
        self.drop(row)
        np.minimum(self._nearest, self._space.to_row(row)[self._rows], out=self._nearest)

    def drop(self, row: int) -> None:
        """Never propose a row, without a look at its distances."""
        position = np.searchsorted(self._rows, row)
        if position < self._rows.size and self._rows[position] == row:
            self._left[position] = False

    def farthest(self) -> int:
        """The row left that is farthest from all visited ones; ties go to the lowest number."""
        score = self._nearest if self._weight is None else self._nearest * self._weight
        return int(self._rows[np.argmax(np.where(self._left, score, -np.inf))])
