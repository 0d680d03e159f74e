"""What the library says of row numbers, told to a reader of the shell: with the data's ids, and without attributes."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["Naming"]

# One pass over all forms, so that an id that is itself a number is not translated again.
_FORMS = re.compile(
    r"\brows \[(?P<list>\d+(?:, \d+)*)\]"
    r"|\brow (?P<rows>\d+(?:, \d+)*)"
    r"|\b(?P<kind>(?:cannot|must)[-_]link) \((?P<pair>\d+, \d+)\)"
    r"|\b(?P<links>must-links?) (?P<chain>\d+(?:-(?:\d+|\.\.\.))+)"
    r"|(?<=[(,] )(?P<later>\d+-\d+)(?= by )|(?<=\()(?P<step>\d+-\d+)(?= by )"
)
_ATTRIBUTES = re.compile(r"see constraint_report_\.contradictions for the chains, and \.suspects .*")
_COMMAND = "hmrf-fast constraints check FILE DATA names the chains"


class Naming:
    """The ids of the rows, once they are read; until then, and without ids, rows keep their numbers."""

    def __init__(self) -> None:
        self.ids: Sequence[str] | None = None

    def of(self, message: str) -> str:
        """A sentence about rows and pairs, with ids in place of row numbers.

        Parameters
        ----------
        message : str

        Returns
        -------
        str
        """
        message = _ATTRIBUTES.sub(_COMMAND, message)
        return message if self.ids is None else _FORMS.sub(self._named, message)

    def of_problem(self, problem: BaseException) -> str:
        """An error or a warning; only those about constraints and rows of the data: files have rows of their own."""
        from hmrf_fast.errors import ConstraintError, HMRFWarning

        told = str(problem)
        return self.of(told) if isinstance(problem, (ConstraintError, HMRFWarning)) else told

    def _named(self, found: re.Match[str]) -> str:
        if found["list"]:
            return f"rows {self._each(found['list'], ', ')}"
        if found["rows"]:
            return f"row {self._each(found['rows'], ', ')}"
        if found["pair"]:
            return f"{found['kind']} ({self._each(found['pair'], ', ')})"
        if found["chain"]:
            return f"{found['links']} {self._each(found['chain'], '-', ' - ')}"
        return self._each(found["later"] or found["step"], "-", " - ")

    def _each(self, rows: str, between: str, joint: str | None = None) -> str:
        return (joint or between).join(self._id(row) for row in rows.split(between))

    def _id(self, row: str) -> str:
        known = self.ids is not None and row.isdecimal() and int(row) < len(self.ids)
        return self.ids[int(row)] if known else row  # type: ignore[index]
