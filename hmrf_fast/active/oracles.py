"""Who answers: known labels."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from hmrf_fast import inputs
from hmrf_fast.errors import InputError
from hmrf_fast.groups import encode_groups


class LabelOracle:
    """Answers from known classes, for experiments.

    Parameters
    ----------
    y : array-like of shape (n,)
        Class of each row: integers or strings; where it is unknown (-1, NaN or None) the answer is None.
    noise : float, default=0.0
        Probability that an answer is flipped. A pair asked again, in either order, gets the same answer.
    random_state : int, RandomState, Generator or None, default=None
        Which answers are flipped; every other draw of the same noise flips others.

    Raises
    ------
    ConstraintError, InputError
        If `y` is no list of classes or `noise` no probability.

    Examples
    --------
    >>> from hmrf_fast.active import LabelOracle
    >>> oracle = LabelOracle(["a", "a", "b"])
    >>> oracle(0, 1), oracle(0, 2)
    (True, False)
    """

    def __init__(self, y: Any, noise: float = 0.0, random_state: Any = None) -> None:
        self._codes = encode_groups(y, "y").codes
        inputs.check_number("noise", noise, numbers.Real, 0, 1)
        self.noise = float(noise)
        self._seed = inputs.draw_seed(random_state) if noise else 0

    @property
    def n_rows(self) -> int:
        """Length of `y`."""
        return self._codes.size

    def __call__(self, i: int, j: int) -> bool | None:
        """True if the two rows are of one class."""
        low, high = sorted((int(i), int(j)))
        if not (0 <= low and high < self._codes.size):
            raise InputError(f"the pair ({i}, {j}) was asked, but y holds {self._codes.size} rows")
        first, second = self._codes[low], self._codes[high]
        if first < 0 or second < 0:
            return None
        same = bool(first == second)
        if self.noise and np.random.default_rng([self._seed, low, high]).random() < self.noise:
            return not same
        return same
