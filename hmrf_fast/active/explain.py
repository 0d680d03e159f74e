"""Why an answer cannot be true: the chain of earlier answers that it contradicts."""

from __future__ import annotations

from hmrf_fast.active.knowledge import SAME, Knowledge
from hmrf_fast.constraints import Constraints
from hmrf_fast.contradictions import Contradiction, describe
from hmrf_fast.neighborhoods import resolve


def contradiction_of(
    knowledge: Knowledge, known: Constraints | None, fact: tuple[int, int, int]
) -> tuple[str, tuple[Contradiction, ...]]:
    """Tell which answers a fact (i, j, SAME or DIFFERENT) contradicts; cost: all rows and answers."""
    i, j, answer = fact
    must, cannot = knowledge.must_link, knowledge.cannot_link
    must, cannot = ([*must, (i, j)], cannot) if answer == SAME else (must, [*cannot, (i, j)])
    given = Constraints() if known is None else known
    # Hard constraints would end the search at their first contradiction, and only whether they hold matters here.
    softened = given.scaled(0.0, 0.0).with_pairs(must, cannot)
    found = resolve(softened, knowledge.n_rows).contradictions
    proof = tuple(each for each in found if _concerns(each, i, j)) or found
    said = "same" if answer == SAME else "different"
    return f"the answer {said!r} to the pair ({i}, {j}) cannot be true: {describe(proof[0])}", proof


def _concerns(contradiction: Contradiction, i: int, j: int) -> bool:
    steps = zip(contradiction.chain, contradiction.chain[1:], strict=False)
    return {i, j} == set(contradiction.pair) or any({i, j} == {a, b} for a, b in steps)
