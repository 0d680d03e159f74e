"""What a learner shows of its session."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from hmrf_fast.active.dialogue import Dialogue
from hmrf_fast.active.questions import facts_of
from hmrf_fast.constraints import Constraints

PLACED_WEIGHT = 2.0


class Published:
    """Attributes of a learner, computed from its session when they are read: true after every single answer."""

    _dialogue: Dialogue | None = None
    _stopped: str | None = None

    @property
    def constraints_(self) -> Constraints:
        """What was known before and everything that was answered or inferred, with weight 1."""
        dialogue = self._begun()
        known = Constraints() if dialogue.known is None else dialogue.known
        return known.with_pairs(dialogue.board.knowledge.must_link, dialogue.board.knowledge.cannot_link)

    @property
    def pairs_(self) -> np.ndarray:
        """(q, 2) int64 pairs in the order in which they were answered; "none of these neighbourhoods" is one pair for
        each of them."""
        facts = self._facts()
        return np.array([fact[:2] for fact in facts], dtype=np.int64).reshape(-1, 2)

    @property
    def answers_(self) -> np.ndarray:
        """(q,) int8 answers to `pairs_`: 1 same, 0 different, -1 don't know."""
        return np.array([fact[2] for fact in self._facts()], dtype=np.int8)

    @property
    def n_queries_(self) -> int:
        """Number of questions answered."""
        return len(self._begun().entries)

    @property
    def neighborhoods_(self) -> list[np.ndarray]:
        """The int64 rows of each neighbourhood, ascending, in order of discovery; they all differ from one another."""
        board = self._begun().board
        return [np.sort(np.array(board.knowledge.members(row), dtype=np.int64)) for row in board.founders]

    @property
    def sample_weight_(self) -> np.ndarray:
        """(n,) float64: 2 for rows in neighbourhoods, 1 for others, for the fit that uses `constraints_`."""
        board = self._begun().board
        weight = np.ones(board.knowledge.n_rows)
        for row in board.founders:
            weight[board.knowledge.members(row)] = PLACED_WEIGHT
        return weight

    @property
    def stop_reason_(self) -> str:
        """Why the session ended: "exhausted" (nothing left to ask), "budget", "awaiting answers", "stopped" (by the
        oracle), or "open" while it goes on."""
        dialogue = self._begun()
        if dialogue.is_exhausted:
            return "exhausted"
        return "budget" if dialogue.n_left == 0 else self._stopped or "open"

    def __sklearn_is_fitted__(self) -> bool:
        return self._dialogue is not None

    def __getstate__(self) -> dict[str, Any]:
        """A copy keeps the answers; to go on asking it must be started again, from the session file."""
        state = dict(super().__getstate__())  # type: ignore[call-overload]
        if self._dialogue is not None:
            state["_dialogue"] = self._dialogue.closed()
        return state

    def _begun(self) -> Dialogue:
        if self._dialogue is None:
            raise NotFittedError(f"this {type(self).__name__} has no session yet: call fit or start first")
        return self._dialogue

    def _facts(self) -> list[tuple[int, int, int]]:
        return [fact for entry in self._begun().entries for fact in facts_of(*entry)]
