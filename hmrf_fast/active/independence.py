"""Which questions may be open at the same time: none whose answer the others' answers could entail."""

from __future__ import annotations

from collections.abc import Iterable

from hmrf_fast.active.knowledge import Knowledge
from hmrf_fast.active.questions import Question, pairs_of


class Independent:
    """Questions that are open together.

    Each answer may be "same" or "different", so a pair is entailed by other answers if and only if they can tie its
    rows together, or tie them to two sets that are known to differ.

    Parameters
    ----------
    knowledge : Knowledge
    questions : iterable of Question
        Those open already.
    """

    def __init__(self, knowledge: Knowledge, questions: Iterable[Question] = ()) -> None:
        self._knowledge = knowledge
        self._reach: dict[int, set[int]] = {}  # root -> roots that the open questions may tie to it
        for question in questions:
            self._join(question)

    def admit(self, question: Question) -> bool:
        """Add a question if it is independent of the others, and say whether it is."""
        if any(self._may_be_entailed(i, j) for i, j in pairs_of(question)):
            return False
        self._join(question)
        return True

    def _of(self, row: int) -> set[int]:
        root = self._knowledge.find(row)
        return self._reach.get(root, {root})

    def _may_be_entailed(self, i: int, j: int) -> bool:
        first, second = self._of(i), self._of(j)
        if first is second or first & second:
            return True
        return any(self._knowledge.relation(a, b) is not None for a in first for b in second)

    def _join(self, question: Question) -> None:
        for i, j in pairs_of(question):
            joined = self._of(i) | self._of(j)
            for root in joined:
                self._reach[root] = joined
