"""The parameter ``init`` -> the starts that a fit tries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from hmrf_fast import inputs
from hmrf_fast.draws import NO_DRAWS, Draws
from hmrf_fast.em import Start
from hmrf_fast.errors import InputError
from hmrf_fast.evidence import MOST_FEATURES, Judge
from hmrf_fast.geometry import Problem
from hmrf_fast.kernels.mahalanobis import MAHALANOBIS, plain_width
from hmrf_fast.low_rank import RANKS, low_rank_starts, usable_ranks
from hmrf_fast.seeding import restarts, useful_restarts
from hmrf_fast.seeds import Seeds, are_complete

RESTS = {"neighborhoods": "farthest", "k-means++": "k-means++", "random": "random", "printed": "printed"}
CHOICES = ("auto", "low_rank", *RESTS)


def starts(
    problem: Problem, seeds: Seeds, settings: Any, rng: np.random.Generator, matrix: Any, past: Draws = NO_DRAWS
) -> Iterator[Start]:
    """All starts of a fit, made one by one, but those that were drawn in the past.

    "auto" is "low_rank" where the data has enough rows and features for it, else "k-means++".
    """
    init = settings.init
    if callable(init):
        past.go_on(rng)
        for _ in range(past.drawn, settings.n_init):
            given = init(matrix, problem.n_clusters, random_state=int(rng.integers(2**31)))
            yield Start(inputs.check_centers(given, problem.n_clusters, problem.n_features))
        return
    if not isinstance(init, str):
        for _ in range(past.drawn, 1):
            yield Start(inputs.check_centers(init, problem.n_clusters, problem.n_features))
        return
    low_rank = _is_low_rank(problem, init)
    if init == "low_rank" and not low_rank:
        raise InputError(
            f"init='low_rank' needs more than {2 * min(RANKS)} distinct rows and features, the data has "
            f"{problem.n_rows} and {problem.n_features}; use init='k-means++'"
        )
    explore = problem.graph.rows.size > 0 and not settings.fixed_labels and not are_complete(seeds, problem.n_clusters)
    if init == "low_rank" or (init == "auto" and low_rank):
        yield from low_rank_starts(problem, seeds, settings.options, settings.n_init, rng, explore, past)
        return
    rest = RESTS.get(init, "k-means++")
    explore = explore and rest == "k-means++"
    n_init = 1 if rest == "farthest" else useful_restarts(problem, seeds, settings.n_init)
    past.go_on(rng)
    yield from map(Start, restarts(problem, seeds, rest, n_init, rng, explore, past.drawn))


def judge_for(problem: Problem, settings: Any) -> Judge:
    """What chooses between the results of the starts: words where rows can be taken for texts and starts come from
    their low-rank structure (under learned weights the objectives of starts are not on one scale), the rows themselves
    where each cluster has a matrix of few features, else the objective."""
    metric = problem.metric
    if not isinstance(settings.init, str):
        return Judge()
    if metric.name == MAHALANOBIS.name:
        return Judge("matrices" if plain_width(problem.n_features) <= MOST_FEATURES else "objective")
    texts = metric.directional and not metric.centred and not problem.signed and not settings.options.learn_weights
    return Judge("words" if texts and _is_low_rank(problem, settings.init) else "objective")


def _is_low_rank(problem: Problem, init: str) -> bool:
    return init in ("auto", "low_rank") and bool(usable_ranks(problem))
