"""One session of questions and answers: the strategy running, what it asks, and everything that was answered."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hmrf_fast.active.explain import contradiction_of
from hmrf_fast.active.independence import Independent
from hmrf_fast.active.questions import Answer, Board, Placement, Question, Strategy, facts_of, is_open, recall
from hmrf_fast.active.session import SessionFile
from hmrf_fast.constraints import Constraints
from hmrf_fast.errors import ContradictionError, ContradictionWarning


class Entry(NamedTuple):
    """One question and its answer."""

    question: Question
    answer: Answer


class Dialogue:
    """Runs a strategy, keeps the answers, and can take the last one back.

    Parameters
    ----------
    new_board : callable
        Makes the board as it is before the first answer.
    strategy : callable
        Takes a board and returns the running strategy.
    known : Constraints or None
        What was known before, for explanations.
    budget : int or None
    on_contradiction : {"raise", "warn"}
    """

    def __init__(
        self,
        new_board: Callable[[], Board],
        strategy: Callable[[Board], Strategy],
        known: Constraints | None,
        budget: int | None,
        on_contradiction: str,
    ) -> None:
        self._new_board = new_board
        self._strategy = strategy
        self.known = known
        self._budget = np.inf if budget is None else budget
        self._on_contradiction = on_contradiction
        self._file: SessionFile | None = None
        self._begin()

    def _begin(self) -> None:
        self.entries: list[Entry] = []
        self.board = self._new_board()
        self._handed_out: list[Question] = []
        self._running: Strategy | None = self._strategy(self.board)
        self._batch: list[Question] | None = next(self._running, None)
        self._broken = False
        self._settle()

    def resume(self, file: SessionFile) -> None:
        """Take in the answers of a session file, and write every further one to it."""
        for question, answer in file.entries:
            self._hand_out_again()
            self._take_in(question, answer)
        self._file = file

    @property
    def is_live(self) -> bool:
        """Whether it can go on: a stored copy cannot."""
        return self._new_board is not None

    @property
    def n_left(self) -> float:
        """Questions that the budget still allows."""
        return max(self._budget - len(self.entries), 0)

    @property
    def is_exhausted(self) -> bool:
        """Whether the strategy has nothing left to ask."""
        return self._batch is None and not self._broken

    def ask(self, n: int) -> list[Question]:
        """Up to n questions whose answers do not entail one another; those handed out before and not answered come
        first."""
        self._mend()
        self._handed_out = [question for question in self._handed_out if is_open(self.board.knowledge, question)]
        independent = Independent(self.board.knowledge, self._handed_out)
        for question in self._batch or ():
            if len(self._handed_out) >= min(n, self.n_left):
                break
            if is_open(self.board.knowledge, question) and independent.admit(question):
                self._handed_out.append(question)
        return self._handed_out[: int(min(n, self.n_left))]

    def tell(self, question: Question, answer: Answer) -> None:
        """Keep an answer: first in the session file, then here."""
        self._mend()
        self._check(question, answer)
        if self._file is not None:
            self._file.append(question, answer)
        self._take_in(question, answer)

    def undo(self) -> Entry:
        """Take the last answer back: the session is as it was before it."""
        *kept, last = self.entries
        if self._file is not None:
            self._file.append_undo()
        self._replay(kept)
        return last

    def closed(self) -> Dialogue:
        """A copy that can be stored: the answers without the running strategy, the distances and the file."""
        copy = object.__new__(Dialogue)
        copy.__dict__.update(self.__dict__)
        for name in ("_new_board", "_strategy", "_running", "_file"):
            setattr(copy, name, None)
        copy.board = self.board.closed()
        return copy

    def _check(self, question: Question, answer: Answer) -> None:
        wrong = self._disagreeing(question, answer)
        if wrong and self._on_contradiction == "raise":
            told, proof = self._explain(wrong[0])
            raise ContradictionError(
                f"{told}; the answer was not taken, all earlier ones are kept (correct the wrong one, or set "
                "on_contradiction='warn' to go on without answers that contradict)",
                proof,
            )

    def _take_in(self, question: Question, answer: Answer, quiet: bool = False) -> None:
        self._check(question, answer)
        wrong = self._disagreeing(question, answer)
        self.entries.append(Entry(question, answer))
        for fact in facts_of(question, answer):
            if fact not in wrong and (not isinstance(question, Placement) or self.board.knowledge.is_open(*fact[:2])):
                self.board.knowledge.add(*fact)
        self._settle()
        if wrong and not quiet:
            told, _ = self._explain(wrong[0])
            warnings.warn(f"{told}; the answer is not among the constraints", ContradictionWarning, stacklevel=5)

    def _replay(self, entries: list[Entry]) -> None:
        try:
            self._begin()
            for entry in entries:
                self._hand_out_again()
                self._take_in(*entry, quiet=True)
        except BaseException:
            self.entries, self._broken = entries, True
            raise

    def _hand_out_again(self) -> None:
        """As when the answers were given first: a round begins when the last one is answered, and what it left out as
        dependent comes after it."""
        if not any(is_open(self.board.knowledge, question) for question in self._handed_out):
            self.ask(self.board.batch_size)

    def _mend(self) -> None:
        """Run the strategy again after it was interrupted."""
        if self._broken:
            self._replay(self.entries)

    def _disagreeing(self, question: Question, answer: Answer) -> list[tuple[int, int, int]]:
        return [fact for fact in facts_of(question, answer) if not self.board.knowledge.agrees(*fact)]

    def _explain(self, fact: tuple[int, int, int]) -> tuple[str, tuple[Any, ...]]:
        return contradiction_of(self.board.knowledge, self.known, fact)

    def _settle(self) -> None:
        """Let the strategy go on for as long as its questions need no asking."""
        while self._running is not None and self._batch is not None:
            knowledge = self.board.knowledge
            if any(is_open(knowledge, question) for question in self._batch):
                return
            try:
                self._batch = self._running.send([recall(knowledge, question) for question in self._batch])
            except StopIteration:
                self._batch = None
            except BaseException:  # also Ctrl-C: the answers are kept, and the strategy is run again when it is needed
                self._batch, self._broken = None, True
                raise
