"""What every active learner does: start or resume a session, put its questions, and take answers.

A learner is parameters, documentation and ``_strategy(board)``, a generator of questions (see ``questions.py``).
"""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from hmrf_fast import inputs
from hmrf_fast.active.answers import check_answer, put
from hmrf_fast.active.dialogue import Dialogue
from hmrf_fast.active.opening import checked_pairs, open_dialogue
from hmrf_fast.active.published import Published
from hmrf_fast.active.questions import Board, Question, Strategy, pairs_of
from hmrf_fast.constraints import Constraints
from hmrf_fast.errors import AnswerError, AwaitingAnswers, InputError, StopAsking, TakeBack
from hmrf_fast.kernels.metrics import METRICS


class ActiveLearner(Published, BaseEstimator):
    """Base of the active learners; a subclass has parameters, documentation and ``_strategy``."""

    def _strategy(self, board: Board) -> Strategy:
        raise NotImplementedError

    def _check_parameters(self) -> None:
        if self.n_clusters is not None:
            inputs.check_number("n_clusters", self.n_clusters, numbers.Integral, 1)
        if self.budget is not None:
            inputs.check_number("budget", self.budget, numbers.Integral, 0)
        inputs.check_number("batch_size", self.batch_size, numbers.Integral, 1)
        if self.n_threads is not None and self.n_threads != -1:
            inputs.check_number("n_threads", self.n_threads, numbers.Integral, 1)
        inputs.check_choice("metric", self.metric, tuple(METRICS))
        inputs.check_choice("on_contradiction", self.on_contradiction, ("raise", "warn"))

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        oracle: Callable[..., Any],
        rows: Any = None,
        constraints: Constraints | None = None,
        session: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Ask an oracle until the budget is used up or nothing is left to ask.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows that will be clustered.
        y : ignored
            Present for scikit-learn's conventions; true classes are ``LabelOracle(y)``.
        oracle : callable
            ``oracle(i, j)`` answers for two row numbers True (same cluster), False (different) or None (don't know).
            If it has a method ``neighborhood(row, rows)``, that is asked instead where it applies: it answers with the
            position in ``rows`` (one row of each neighbourhood) of the one that ``row`` belongs to, -1 for none of
            them, None for don't know; one question each. If it has a method ``announce(pairs)``, that is called with
            all pairs of a round before they are asked. An attribute ``n_rows``, if any, must fit X. It may raise
            `StopAsking` to end the session, or `TakeBack` to undo the last answer.
        rows : array-like of int, optional
            Rows that may be asked about; all by default.
        constraints : Constraints, optional
            What is known already; used, and never asked.
        session : path-like, optional
            File to which every answer is saved as it is given. If it exists, its session goes on. It must be one of
            the same rows in the same order, the same ``rows``, ``constraints`` and parameters; only ``budget``,
            ``on_contradiction``, ``n_threads`` and a ``random_state`` that is no int may change: they do not decide
            which question follows from which answers. An oracle with a method ``neighborhood`` goes on with such
            oracles only.

        Returns
        -------
        self : object
            ``stop_reason_`` tells why it ended.

        Raises
        ------
        InputError
            X, `rows` or a parameter is unusable.
        AnswerError
            The oracle's answer is none. As after every exception from the oracle, all earlier answers are kept in the
            attributes and in the session file.
        ContradictionError
            An answer, or `constraints`, contradict what is known, which is named, and ``on_contradiction="raise"``.
        SessionError
            The session file belongs to other data or parameters, or cannot be used.

        Warns
        -----
        ContradictionWarning, TornSessionWarning
        """
        if not callable(oracle):
            raise InputError(f"oracle must be callable with two row numbers, got {type(oracle).__name__}")
        dialogue = self._open(X, rows, constraints, session, oracle)
        while questions := dialogue.ask(self.batch_size):
            if not self._put_all(oracle, questions, dialogue):
                break
        return self

    def start(
        self,
        X: Any,
        *,
        rows: Any = None,
        constraints: Constraints | None = None,
        session: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Begin a session, or resume one, that `ask` and `tell` carry on.

        Parameters
        ----------
        X, rows, constraints, session
            As for `fit`.

        Returns
        -------
        self : object

        Raises
        ------
        InputError, ContradictionError, SessionError
            As for `fit`.
        """
        self._open(X, rows, constraints, session, None)
        return self

    def ask(self, n: int = 1) -> np.ndarray:
        """The next questions.

        Parameters
        ----------
        n : int, default=1
            How many at most.

        Returns
        -------
        pairs : ndarray of shape (q, 2), int64
            At most n pairs of which none can be entailed by the others' answers, so q may be smaller; pairs handed out
            before and not answered come first. None at all: the session is over, see ``stop_reason_``.
        """
        inputs.check_number("n", n, numbers.Integral, 1)
        return np.array(self._live().ask(int(n)), dtype=np.int64).reshape(-1, 2)

    def tell(self, pairs: Any, answers: Any) -> Self:
        """Give answers, also to pairs that were not asked; each counts as a query.

        Parameters
        ----------
        pairs : array-like of shape (q, 2), int
        answers : sequence of q answers
            True or 1 (same), False or 0 (different), None (don't know).

        Returns
        -------
        self : object

        Raises
        ------
        InputError, AnswerError
            A pair or an answer is malformed, or their numbers differ; nothing is taken.
        ContradictionError
            An answer contradicts earlier ones; those before it are kept.
        """
        dialogue = self._live()
        asked = checked_pairs(pairs, dialogue.board.knowledge.n_rows)
        if not isinstance(answers, Iterable):
            raise AnswerError(f"answers must be one for each pair, got {answers!r}")
        answers = list(answers)
        if len(asked) != len(answers):
            raise AnswerError(f"there are {len(answers)} answers to {len(asked)} pairs")
        checked = [check_answer(pair, answer) for pair, answer in zip(asked, answers, strict=True)]
        for pair, answer in zip(asked, checked, strict=True):
            dialogue.tell(pair, answer)
        return self

    def undo(self) -> Self:
        """Take the last answer back, also in the session file.

        Returns
        -------
        self : object

        Raises
        ------
        InputError
            If there is no answer.
        """
        dialogue = self._live()
        if not dialogue.entries:
            raise InputError("there is no answer to take back")
        dialogue.undo()
        return self

    def _open(
        self,
        X: Any,
        rows: Any,
        constraints: Constraints | None,
        session: str | os.PathLike[str] | None,
        oracle: Callable[..., Any] | None,
    ) -> Dialogue:
        """A session that cannot be opened leaves the learner as it was."""
        before = dict(self.__dict__)
        try:
            self._check_parameters()
            dialogue = open_dialogue(self, self._strategy, X, rows, constraints, session, oracle)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        self._dialogue, self._stopped = dialogue, None
        return dialogue

    def _live(self) -> Dialogue:
        dialogue = self._begun()
        if not dialogue.is_live:
            raise InputError("a copied or stored learner keeps its answers but not the rows: start it again to go on")
        return dialogue

    def _put_all(self, oracle: Any, questions: list[Question], dialogue: Dialogue) -> bool:
        """Put the questions of a round; whether the session goes on. Where one answer is not there yet, the others may
        be."""
        if hasattr(oracle, "announce"):
            oracle.announce([pair for question in questions for pair in pairs_of(question)])
        for question in questions:
            try:
                answer = put(oracle, question)
            except AwaitingAnswers:
                self._stopped = "awaiting answers"
                continue
            except StopAsking:
                self._stopped = "stopped"
                return False
            except TakeBack:
                if dialogue.entries:
                    dialogue.undo()
                return True
            dialogue.tell(question, answer)
        return self._stopped is None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.metric == "i_divergence"
        return tags
