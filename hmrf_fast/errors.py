"""Errors and warnings of the library, each a subclass of the built-in a caller would expect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from hmrf_fast.kernels.notices import CacheWarning, HMRFWarning

__all__ = [
    "AnswerError",
    "AwaitingAnswers",
    "CacheWarning",
    "CheckpointError",
    "CheckpointWarning",
    "ConstraintError",
    "ContradictionError",
    "ContradictionWarning",
    "ConvergenceWarning",
    "EmptyClusterWarning",
    "EmptyRowsWarning",
    "FileError",
    "HMRFError",
    "HMRFWarning",
    "InfeasibleError",
    "InputError",
    "InputTypeError",
    "ModelFileError",
    "NotEnoughMemoryError",
    "SampledConstraintsWarning",
    "SessionError",
    "StaleError",
    "StopAsking",
    "TakeBack",
    "TornSessionWarning",
    "UnusedLabelsWarning",
]


def __dir__() -> list[str]:
    return list(__all__)


def in_short(error: BaseException | str) -> str:
    """What another library's error says, in one line that may be part of a sentence."""
    told = " ".join(str(error).split()) or type(error).__name__
    return told if len(told) <= 300 else f"{told[:300]} ..."


def first_of(names: Sequence[Any]) -> str:
    """The first of some names as it reads in a message, and beside it how many more there are, and which."""
    more = ", ".join(map(repr, names[1:6])) + (", ..." if len(names) > 6 else "")
    return repr(names[0]) + (f" ({len(names) - 1} more: {more})" if more else "")


class HMRFError(Exception):
    """Base of every error raised on purpose by this library; its message is one line, whatever names it quotes:
    characters that cannot be printed, which names in files may hold, are shown as escapes."""

    def __str__(self) -> str:
        return _printable(super().__str__())


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


class ConstraintError(HMRFError, ValueError):
    """The constraints are malformed or do not fit the data."""


class ContradictionError(ConstraintError):
    """Hard constraints contradict one another.

    Parameters
    ----------
    message : str
        What is shown.
    contradictions : tuple
        The proofs: a cannot-link each, and the chain of must-links between its rows.
    """

    def __init__(self, message: str, contradictions: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.contradictions = tuple(contradictions)


class InfeasibleError(ConstraintError):
    """No labelling with this number of clusters can satisfy the constraints.

    Parameters
    ----------
    message : str
        What is shown.
    rows : sequence of int
        Rows that prove it, where they are known.
    """

    def __init__(self, message: str, rows: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.rows = tuple(rows)


class InputError(HMRFError, ValueError):
    """The data matrix or a parameter is not usable."""


class InputTypeError(InputError, TypeError):
    """The data are of a type that holds no numbers."""


class FileError(InputError):
    """A file cannot be read as what it should be, or cannot be written; the message names file, line and value."""


class ModelFileError(FileError):
    """A model cannot be loaded.

    Parameters
    ----------
    message : str
        What is shown.
    reason : {"unreadable", "foreign", "damaged", "newer"}
        What is wrong with the file.
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class CheckpointError(FileError):
    """A checkpoint cannot be read or written, or belongs to another fit; nothing was computed or overwritten."""


class NotEnoughMemoryError(HMRFError, MemoryError):
    """The work would take more memory than there is; raised before it begins."""


class ContradictionWarning(HMRFWarning):
    """Soft constraints contradict one another."""


class EmptyRowsWarning(HMRFWarning):
    """Some rows hold no non-zero value."""


class EmptyClusterWarning(HMRFWarning):
    """A cluster lost all its rows."""


class UnusedLabelsWarning(HMRFWarning):
    """Labels were given as `y`, which no fit looks at, to an estimator that starts from labels and got no others."""


class CheckpointWarning(HMRFWarning):
    """A checkpoint could not be written, or is damaged and the one before it is used."""


class SampledConstraintsWarning(HMRFWarning):
    """Entailed constraints were sampled because there are too many to list."""


class AnswerError(HMRFError, ValueError):
    """An oracle's answer is none of those allowed."""


class SessionError(HMRFError, ValueError):
    """A session file is foreign, of other data or parameters, or cannot be read or written."""


class StaleError(HMRFError):
    """A request rests on a state of a session that somebody has changed since; nothing was done."""


class TornSessionWarning(HMRFWarning):
    """The last line of a session file was cut short and is dropped."""


class StopAsking(HMRFError):
    """An oracle's way to end a session: raised instead of an answer, everything answered so far is kept."""


class AwaitingAnswers(StopAsking):
    """Answers are not there yet; the session goes on when they are."""


class TakeBack(HMRFError):
    """An oracle's way to take the last answer back: raised instead of an answer, that question is asked again."""
