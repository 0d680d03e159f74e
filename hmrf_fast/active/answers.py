"""Oracles' answers -> checked numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from hmrf_fast.active.knowledge import DIFFERENT, SAME, UNKNOWN
from hmrf_fast.active.questions import Answer, Placement, Question
from hmrf_fast.errors import AnswerError


def put(oracle: Any, question: Question) -> Answer:
    """Ask an oracle one question.

    Raises
    ------
    AnswerError
        If the answer is not one; whatever the oracle itself raises passes through.
    """
    if isinstance(question, Placement):
        return check_place(question, oracle.neighborhood(question.row, list(question.among)))
    return check_answer(question, oracle(*question))


def check_answer(pair: tuple[int, int], answer: Any) -> int:
    """True or 1 -> SAME, False or 0 -> DIFFERENT, None -> UNKNOWN; anything else is refused."""
    if answer is None:
        return UNKNOWN
    if isinstance(answer, (bool, np.bool_, int, np.integer)) and answer in (0, 1):
        return SAME if answer else DIFFERENT
    raise AnswerError(
        f"the answer to the pair ({pair[0]}, {pair[1]}) is {answer!r}; it must be True (same), False (different) or "
        "None (don't know)"
    )


def check_place(question: Placement, answer: Any) -> Answer:
    """The position of a neighbourhood, -1 for none, None for don't know; anything else is refused."""
    if answer is None:
        return None
    whole = isinstance(answer, (int, np.integer)) and not isinstance(answer, bool)
    if whole and -1 <= answer < len(question.among):
        return int(answer)
    raise AnswerError(
        f"the neighbourhood of row {question.row} is {answer!r}; it must be a position below {len(question.among)}, "
        "-1 (none of them) or None (don't know)"
    )
