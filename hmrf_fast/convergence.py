"""When a run of the EM loop is over."""

from __future__ import annotations

from typing import NamedTuple

ROUNDING = 1e-13  # share of the summed squares (or lengths) of the rows, from which J is subtracted
QUIET_ITERATIONS = 3  # with moving weights, labels must rest this long before the fit counts as converged


class Rest(NamedTuple):
    """For how long nothing has happened."""

    quiet: int = 0  # E-steps in a row that changed no label
    standing: int = 0  # E-steps in a row after which J was no lower than after the one before
    reached: float = float("inf")  # J after the last E-step

    def after(self, changed: int, now: float, base: float) -> Rest:
        """After one more E-step that changed so many labels and reached ``now``; ``base`` as in ``Geometry``.

        J stands if it fell by no more than rounding: where rows are as near to one centroid as to another, and J is a
        difference of equals, rounding can move them to and fro for ever.
        """
        stands = self.reached - now <= ROUNDING * abs(base)
        return Rest(0 if changed else self.quiet + 1, self.standing + 1 if stands else 0, now)

    def is_over(self, before: float, tol: float, base: float, learning: bool) -> bool:
        """Whether the fit has converged; ``before`` is J before the last E-step."""
        now = self.reached
        rests = abs(before - now) <= max(tol * abs(now), ROUNDING * abs(base))
        settled = self.quiet >= (QUIET_ITERATIONS if learning else 1)
        return (settled and rests) or self.standing >= QUIET_ITERATIONS
