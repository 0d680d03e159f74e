"""Finding the neighbourhood of one row by questions, and doing so for several rows side by side."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TypeAlias

import numpy as np

from hmrf_fast.active.knowledge import SAME
from hmrf_fast.active.questions import Answer, Board, Placement, Question, Strategy

# One row's questions, one after the other.
Inquiry: TypeAlias = "Generator[Question, Answer, None]"


def side_by_side(inquiries: Iterable[Inquiry]) -> Strategy:
    """Run inquiries in step: each list of questions holds the current one of each."""
    waiting: list[tuple[Inquiry, Question]] = []
    for inquiry in inquiries:
        _advance(inquiry, None, waiting)
    while waiting:
        answers = yield [question for _, question in waiting]
        current, waiting = waiting, []
        for (inquiry, _), answer in zip(current, answers, strict=True):
            _advance(inquiry, answer, waiting)


def _advance(inquiry: Inquiry, answer: Answer, waiting: list[tuple[Inquiry, Question]]) -> None:
    try:
        waiting.append((inquiry, inquiry.send(answer)))  # the first send must be None, as it is
    except StopIteration:
        return


def place(board: Board, row: int, rng: np.random.Generator) -> Inquiry:
    """Ask a row against the neighbourhoods, nearest centroid first, until it is in one.

    A row that differs from all neighbourhoods founds one, unless there are `n_clusters` of them. A row that differs
    from all of `n_clusters` neighbourhoods but one is in that one; this is inferred without a question (Basu, Banerjee
    and Mooney, SDM 2004, section 5), unless somebody was in doubt about the row. A row in doubt stays outside.
    """
    knowledge = board.knowledge
    if board.home(row) is not None:
        return
    ranked, position, in_doubt = nearest_first(board, row), 0, False
    while position < len(ranked):
        founder = ranked[position]
        if knowledge.relation(row, founder) == SAME:
            return
        if not in_doubt and _only_one_left(board, row, founder):
            knowledge.add(row, founder, SAME)
            return
        if knowledge.relation(row, founder) is None:
            if board.placements:
                among = [other for other in ranked[position:] if knowledge.relation(row, other) is None]
                yield Placement(row, tuple(_member(board, other, rng) for other in among))
                position = len(ranked) - 1
            else:
                yield (row, _member(board, founder, rng))
            in_doubt |= knowledge.relation(row, founder) is None
            if board.home(row) is not None:
                return
        position += 1
        ranked += board.founders[len(ranked) :]  # rows placed side by side with this one may have founded some
    if not in_doubt and (board.n_clusters is None or len(board.founders) < board.n_clusters):
        board.founders.append(row)


def _only_one_left(board: Board, row: int, founder: int) -> bool:
    if board.n_clusters != len(board.founders) or board.n_clusters < 2:
        return False
    return all((board.knowledge.relation(row, other) is None) == (other == founder) for other in board.founders)


def nearest_first(board: Board, row: int) -> list[int]:
    """The neighbourhoods' founders by the distance of a row to the centroids, ties to the older one."""
    if len(board.founders) < 2:
        return list(board.founders)
    distances = board.space.to_neighborhoods(row, [board.knowledge.members(founder) for founder in board.founders])
    return [board.founders[position] for position in np.argsort(distances, kind="stable")]


def _member(board: Board, founder: int, rng: np.random.Generator) -> int:
    """A random row of a neighbourhood, among those that may be asked about."""
    members = [row for row in board.knowledge.members(founder) if board.may_ask(row)]
    return members[int(rng.integers(len(members)))]
