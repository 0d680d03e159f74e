"""Explore and Consolidate: find one neighbourhood per cluster, then let them grow."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from hmrf_fast import inputs
from hmrf_fast.active.density import closeness
from hmrf_fast.active.frontier import Frontier
from hmrf_fast.active.learner import ActiveLearner
from hmrf_fast.active.placing import place, side_by_side
from hmrf_fast.active.questions import Board, Strategy
from hmrf_fast.active.replay import Replay
from hmrf_fast.active.space import Space


class ExploreConsolidate(ActiveLearner):
    """Ask for one neighbourhood per cluster first, then let the neighbourhoods grow.

    The active learner of Basu, Banerjee and Mooney (SDM 2004, section 5). *Explore* places rows far from everything
    seen so far until there are `n_clusters` neighbourhoods that differ from one another: a row is asked against one
    random row of each, nearest centroid first, until it is in one; a row that is in none founds the next. *Consolidate*
    then places random rows in the same way; a row that differs from all neighbourhoods but one is in that one, which
    needs no question. No pair is asked twice, and none that earlier answers entail.

    Parameters
    ----------
    n_clusters : int or None, default=8
        Number of clusters. None: unknown; then Explore goes on for as long as the budget lasts, and nothing is inferred
        from a row's differing from all neighbourhoods but one. With fewer than the true number such inferences can be
        wrong.
    metric : {"cosine", "i_divergence", "sqeuclidean", "pearson"}, default="cosine"
        The distance, as in `HMRFKMeans`.
    budget : int or None, default=100
        Largest number of questions, those of an earlier part of the session included; None: until nothing is left.
    explore : {"density", "farthest"}, default="density"
        What Explore visits next. "farthest" is the paper's: the row farthest from all visited ones, on text mostly an
        outlier. "density" multiplies this distance with how near the row's nearest neighbours are in a sample of 300
        rows, which takes one pass over X per sampled row. Mean number of questions until every class was found
        ("farthest" / "density"): 18 / 4, 17 / 4 and 21 / 5 on the three bundled news sets, 525 / 379 with 20 news
        groups.
    batch_size : int, default=1
        Rows that are placed side by side, so that several questions are open at a time. A few more questions are needed
        than one by one: with 4, 2 to 3 more until every class of the news sets was found.
    on_contradiction : {"raise", "warn"}, default="raise"
        What an answer does that contradicts earlier ones: raise `ContradictionError` and not be taken, or warn and be
        kept in `pairs_` but not in `constraints_`. Both name the chain of answers that it contradicts. Pairs that are
        asked cannot contradict; answers told without being asked can.
    n_threads : int, default=None
        As in `HMRFKMeans`.
    random_state : int, RandomState, Generator or None, default=None
        Source of the first row, of the rows that represent neighbourhoods and of Consolidate's order.

    Attributes
    ----------
    constraints_ : Constraints
        What was known before, what was answered, and the inferred must-links.
    pairs_ : ndarray of shape (q, 2), int64
        Pairs in the order in which they were answered. "None of these neighbourhoods" is one pair for each of them.
    answers_ : ndarray of shape (q,), int8
        1 same, 0 different, -1 don't know.
    n_queries_ : int
        Questions answered.
    neighborhoods_ : list of ndarray of int64
        Rows of each neighbourhood, in order of discovery; single rows are allowed. They all differ.
    sample_weight_ : ndarray of shape (n,), float64
        2 for rows of ``neighborhoods_``, 1 for others, for the fit that uses ``constraints_``; see `SuperInstances`.
    stop_reason_ : {"exhausted", "budget", "awaiting answers", "stopped", "open"}
    n_features_in_ : int

    See Also
    --------
    LabelOracle, TerminalOracle, FileOracle : Who answers.

    Notes
    -----
    To "don't know" a pair is never asked again, nothing is inferred about its row, and the row founds no neighbourhood.

    Each visited row costs one pass over the rows that share a feature with it; memory is that of X twice, never a table
    of rows by rows.

    References
    ----------
    S. Basu, A. Banerjee, R. J. Mooney, Active Semi-Supervision for Pairwise Constrained Clustering, SDM 2004.

    Examples
    --------
    >>> from hmrf_fast import HMRFKMeans
    >>> from hmrf_fast.active import ExploreConsolidate, LabelOracle
    >>> X = [[1.0, 0.0], [2.0, 0.1], [0.0, 1.0], [0.1, 3.0]]
    >>> queries = ExploreConsolidate(2, random_state=0).fit(X, oracle=LabelOracle([0, 0, 1, 1]))
    >>> [rows.tolist() for rows in queries.neighborhoods_]
    [[2, 3], [0, 1]]
    >>> model = HMRFKMeans(2, random_state=0).fit(X, constraints=queries.constraints_)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: str = "cosine",
        budget: int | None = 100,
        explore: Any = "density",
        batch_size: int = 1,
        on_contradiction: str = "raise",
        n_threads: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.budget = budget
        self.explore = explore
        self.batch_size = batch_size
        self.on_contradiction = on_contradiction
        self.n_threads = n_threads
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        inputs.check_choice("explore", self.explore, ("farthest", "density"))

    def _strategy(self, board: Board) -> Strategy:
        rng = np.random.default_rng(board.seed).spawn(2)[1]
        yield from explore(board, rng, self.explore)
        if board.n_clusters is not None and len(board.founders) == board.n_clusters > 1:
            yield from consolidate(board, rng)


def explore(board: Board, rng: np.random.Generator, order: str) -> Strategy:
    """Place rows far from all earlier ones until there are `n_clusters` neighbourhoods (SDM 2004, figure 2).

    Sets of rows that are must-linked already come first, the largest first; without any, a random row.
    """
    if board.rows.size == 0:
        return
    if "candidates" not in board.space.memo:
        known = [sorted(filter(board.may_ask, members)) for members in board.knowledge.sets()]
        first = [rows[0] for rows in sorted(filter(None, known), key=lambda rows: (-len(rows), rows[0]))]
        space, rows, seed = board.space, board.rows, board.seed
        board.space.memo["candidates"] = Replay(lambda: _candidates(space, rows, first, seed, order))
    candidates = iter(board.space.memo["candidates"])
    while board.n_clusters is None or len(board.founders) < board.n_clusters:
        count = board.batch_size if board.founders else 1
        wave = list(islice(candidates, count))
        if not wave:
            return
        yield from side_by_side(place(board, row, rng) for row in wave)


def consolidate(board: Board, rng: np.random.Generator) -> Strategy:
    """Place random rows until all are placed (SDM 2004, figure 3)."""
    left = iter(rng.permutation(board.rows).tolist())
    while wave := list(islice(left, board.batch_size)):
        yield from side_by_side(place(board, row, rng) for row in wave)


def _candidates(space: Space, rows: np.ndarray, first: list[int], seed: int, order: str) -> Iterator[int]:
    """All rows, whatever is answered, in this order: the first ones, then those far from all before them."""
    rng = np.random.default_rng(seed)
    density = closeness(space, rows, rng.spawn(1)[0]) if order == "density" else None
    frontier = Frontier(space, rows, density)
    for row in first or [int(rng.choice(rows))]:
        frontier.visit(row)
        yield row
    while not frontier.is_empty:
        row = frontier.farthest()
        frontier.visit(row)
        yield row
