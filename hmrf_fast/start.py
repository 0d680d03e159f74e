"""The parameter ``init`` -> the starts that a fit tries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from hmrf_fast import inputs
from hmrf_fast.em import Start
from hmrf_fast.errors import InputError
from hmrf_fast.geometry import Problem
from hmrf_fast.low_rank import RANKS, low_rank_starts, usable_ranks
from hmrf_fast.neighborhoods import Resolved
from hmrf_fast.seeding import restarts

RESTS = {"neighborhoods": "farthest", "k-means++": "k-means++", "printed": "printed"}
CHOICES = ("auto", "low_rank", *RESTS)


def starts(problem: Problem, resolved: Resolved, settings: Any, seed: int, matrix) -> Iterator[Start]:
    """All starts of a fit, made one by one.

    "auto" is "low_rank" where the data has enough rows and features for it, else "k-means++".
    """
    init, rng = settings.init, np.random.Generator(np.random.PCG64(seed))
    if callable(init):
        for _ in range(settings.n_init):
            given = init(matrix, problem.n_clusters, random_state=int(rng.integers(2**31)))
            yield Start(inputs.check_centers(given, problem.n_clusters, problem.corpus.n_features))
        return
    if not isinstance(init, str):
        yield Start(inputs.check_centers(init, problem.n_clusters, problem.corpus.n_features))
        return
    member, first = seeds_of(problem, resolved)
    low_rank = init in ("auto", "low_rank") and bool(usable_ranks(problem))
    if init == "low_rank" and not low_rank:
        raise InputError(
            f"init='low_rank' needs more than {2 * min(RANKS)} distinct rows and features, the data has "
            f"{problem.n_rows} and {problem.corpus.n_features}; use init='k-means++'"
        )
    if init == "low_rank" or (init == "auto" and low_rank):
        yield from low_rank_starts(problem, member, first, settings.options, settings.n_init, rng)
        return
    rest = RESTS.get(init, "k-means++")
    n_init = settings.n_init if rest != "farthest" else 1  # farthest rows are the same every time
    yield from map(Start, restarts(problem, member, first, rest, n_init, rng, explore=rest == "k-means++"))


def seeds_of(problem: Problem, resolved: Resolved) -> tuple[np.ndarray, np.ndarray]:
    """Neighbourhoods that can seed clusters: (n,) member numbers, and those of the classes, in class order.

    A neighbourhood counts with two or more rows of positive weight, or as the only rows of a class.
    """
    member = resolved.component.astype(np.int32, copy=True)
    classes = resolved.class_component.astype(np.int64)
    if member.size == 0 or member.max() < 0:
        return member, classes
    usable = (problem.unit > 0) & (problem.sample_weight > 0)
    counts = np.bincount(member[(member >= 0) & usable], minlength=member.max() + 1)
    keep = (counts >= 2) | ((counts >= 1) & np.isin(np.arange(counts.size), classes))
    rank = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
    member = np.where(member >= 0, rank[member], -1).astype(np.int32)
    first = rank[classes]
    _, order = np.unique(first, return_index=True)  # tied classes share a neighbourhood, which seeds once
    first = first[np.sort(order)]
    return member, first[first >= 0].astype(np.int64)
