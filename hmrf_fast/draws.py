"""How far the search for starts has come: enough to go on without repeating what is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np


class Draws(NamedTuple):
    """The starts that were made, and the source of the next one."""

    drawn: int = 0
    state: Mapping[str, Any] | None = None  # of the generator right after them; None: as it began

    def go_on(self, rng: np.random.Generator) -> None:
        """Put the generator in that state."""
        if self.state is not None:
            rng.bit_generator.state = self.state


NO_DRAWS = Draws()


def generator(seed: int) -> np.random.Generator:
    """The source of all starts of a fit."""
    return np.random.Generator(np.random.PCG64(seed))
