"""Sessions with a true oracle: tasks to draw, and what must hold whatever was asked."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import strategies as st
from oracle import METRICS
from strategies import csr_matrices

from hmrf_fast.active import ExploreConsolidate

LINE = np.arange(6.0)[:, None]
HALVES = [0, 0, 0, 1, 1, 1]


def closure(n, facts):
    """(n, n) of 1 same, 0 different, -1 open: everything that facts (i, j, answer) entail, by plain repetition."""
    label = list(range(n))
    for i, j, answer in facts:
        if answer == 1:
            old, new = label[i], label[j]
            label = [new if each == old else each for each in label]
    apart = {frozenset((label[i], label[j])) for i, j, answer in facts if answer == 0}
    table = np.full((n, n), -1)
    for i in range(n):
        for j in range(n):
            if label[i] == label[j]:
                table[i, j] = 1
            elif frozenset((label[i], label[j])) in apart:
                table[i, j] = 0
    return table


def check_session(learner, n, truth=None, known=(), rows=None):
    """No pair twice, none entailed by what was known before it, all within `rows`, all true."""
    facts, seen = list(known), set()
    for (i, j), answer in zip(learner.pairs_.tolist(), learner.answers_.tolist(), strict=True):
        assert i != j and frozenset((i, j)) not in seen
        seen.add(frozenset((i, j)))
        assert closure(n, facts)[i, j] == -1, f"({i}, {j}) was entailed"
        assert rows is None or {i, j} <= set(rows)
        facts.append((i, j, answer))
        if truth is not None and answer != -1:
            assert answer == (truth[i] == truth[j])
    for first, second in combinations(learner.neighborhoods_, 2):
        assert not set(first.tolist()) & set(second.tolist())
    if truth is not None:
        for i, j in learner.constraints_.must_link.tolist():
            assert truth[i] == truth[j]
        for i, j in learner.constraints_.cannot_link.tolist():
            assert truth[i] != truth[j]


@st.composite
def tasks(draw):
    """Rows (repeated and empty ones included), true classes of at most k, a learner with its parameters."""
    metric = draw(st.sampled_from(METRICS))
    X = draw(csr_matrices(n=(2, 14), d=(1, 6), signed=False if metric == "i_divergence" else None))
    n, k = X.shape[0], draw(st.integers(2, 4))
    truth = draw(st.lists(st.integers(0, draw(st.integers(0, k - 1))), min_size=n, max_size=n))
    learner = ExploreConsolidate(
        draw(st.sampled_from([k, None])),
        metric=metric,
        budget=draw(st.sampled_from([None, 0, 1, 3, 7, 20])),
        explore=draw(st.sampled_from(["farthest", "density"])),
        batch_size=draw(st.sampled_from([1, 1, 2, 5])),
        random_state=draw(st.integers(0, 9)),
    )
    return X, truth, learner


class Doubtful:
    """A true oracle that does not know some rows, or answers about neighbourhoods."""

    def __init__(self, truth, unsure=()):
        self.truth, self.unsure, self.asked = truth, set(unsure), 0

    def __call__(self, i, j):
        self.asked += 1
        return None if {i, j} & self.unsure else self.truth[i] == self.truth[j]


class Placing(Doubtful):
    def neighborhood(self, row, rows):
        self.asked += 1
        if row in self.unsure:
            return None
        return next((p for p, other in enumerate(rows) if self.truth[row] == self.truth[other]), -1)
