"""What a strategy asks, and what it may look at while it decides."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple, TypeAlias

import numpy as np

from hmrf_fast.active.knowledge import DIFFERENT, SAME, UNKNOWN, Knowledge
from hmrf_fast.active.space import Space


class Placement(NamedTuple):
    """One question about a row and several neighbourhoods: which of them, if any, is it in?"""

    row: int
    among: tuple[int, ...]  # one row of each neighbourhood


# A pair (i, j): are the two rows in the same cluster?
Question: TypeAlias = "tuple[int, int] | Placement"

# To a pair: SAME, DIFFERENT, or UNKNOWN where nobody could tell. To a Placement: the position of the neighbourhood, -1
# for none of them, None where nobody could tell.
Answer: TypeAlias = "int | None"

# What a strategy is: it yields a list of questions that do not depend on one another's answers, receives the list of
# answers, and so on; it returns when it has nothing left to ask. Its choices depend on the board, its seed and the
# answers only, so that answers from a file bring it back to where it was. Questions that need no asking any more (the
# answer is known, entailed, or somebody was in doubt) are answered at once and cost nothing.
Strategy: TypeAlias = "Generator[list[Question], list[Answer], None]"


class Board:
    """What a strategy sees.

    Parameters
    ----------
    space : Space
        Distances between rows; a stored copy, which asks no more, has none.
    knowledge : Knowledge
        What is known about pairs; answers are in it before the strategy receives them.
    rows : ndarray of int64
        The rows it may ask about, ascending.
    n_clusters : int or None
    batch_size : int
        How many questions a list should hold, if it can.
    placements : bool
        Whether it may yield `Placement`.
    seed : int
        Seed of all its random choices.

    Attributes
    ----------
    founders : list of int
        One row of each neighbourhood, in order of discovery; the strategy appends to it.
    """

    def __init__(
        self,
        space: Space,
        knowledge: Knowledge,
        rows: np.ndarray,
        n_clusters: int | None,
        batch_size: int,
        placements: bool,
        seed: int,
    ) -> None:
        self.space = space
        self.knowledge = knowledge
        self.rows = rows
        self.n_clusters = n_clusters
        self.batch_size = batch_size
        self.placements = placements
        self.seed = seed
        self.founders: list[int] = []

    def may_ask(self, row: int) -> bool:
        """Whether a row is one of `rows`."""
        position = np.searchsorted(self.rows, row)
        return bool(position < self.rows.size and self.rows[position] == row)

    def closed(self) -> Board:
        """A copy without the distances, which can be stored."""
        copy = object.__new__(Board)
        copy.__dict__.update(self.__dict__)
        del copy.space
        return copy

    def home(self, row: int) -> int | None:
        """Which neighbourhood a row is in: its founder, or None."""
        root = self.knowledge.find(row)
        return next((founder for founder in self.founders if self.knowledge.find(founder) == root), None)


def pairs_of(question: Question) -> list[tuple[int, int]]:
    """The pairs of rows that a question is about."""
    if isinstance(question, Placement):
        return [(question.row, other) for other in question.among]
    return [question]


def facts_of(question: Question, answer: Answer) -> list[tuple[int, int, int]]:
    """What an answer says, as (i, j, SAME / DIFFERENT / UNKNOWN): the neighbourhood itself, or no for each of them."""
    if not isinstance(question, Placement):
        return [(*question, UNKNOWN if answer is None else answer)]
    if answer is not None and answer >= 0:
        return [(question.row, question.among[answer], SAME)]
    said = UNKNOWN if answer is None else DIFFERENT
    return [(question.row, other, said) for other in question.among]


def recall(knowledge: Knowledge, question: Question) -> Answer:
    """The answer to a question as far as it is known."""
    relations = [knowledge.relation(i, j) for i, j in pairs_of(question)]
    if not isinstance(question, Placement):
        return UNKNOWN if relations[0] is None else relations[0]
    if SAME in relations:
        return relations.index(SAME)
    return None if None in relations else -1


def is_open(knowledge: Knowledge, question: Question) -> bool:
    """Whether a question still has to be asked."""
    pairs = pairs_of(question)
    if any(knowledge.relation(i, j) == SAME for i, j in pairs):
        return False
    return any(knowledge.is_open(i, j) for i, j in pairs)
