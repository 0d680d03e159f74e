"""Two things timed side by side: in turn, in random order, compared round by round.

Other processes slow a machine down by factors that change within seconds, so seconds of different moments cannot be
compared. Both sides of one round meet about the same machine: the median over the rounds of their ratio can be.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from corpora import SMALL

LONG_CALL = 20.0  # seconds
SHORTEST_ROUND = 0.02  # seconds; quicker calls are repeated within a round
RECORDED: list[tuple[str, dict[str, Any]]] = []  # what the summary at the end of a run shows


class Comparison(NamedTuple):
    """Medians; a ratio below 1 says that ours is the faster one."""

    ratio: float  # wall time of ours / wall time of the baseline
    cpu_ratio: float  # the same for processor time, children included
    ours: float  # seconds per unit
    baseline: float
    lowest: float  # smallest and largest ratio of a round
    highest: float


def compare(ours: Callable, baseline: Callable, rounds: int = 9, seed: int = 0, warm: bool = True) -> Comparison:
    """Time both in turn. A callable may return the number of units (iterations) it did; seconds are divided by it.

    With ``warm`` both are called before anything is timed, which compiles what has to be compiled.
    """
    rounds = min(rounds, 2 if warm else 1) if SMALL else rounds
    sides = (ours, baseline)
    repeats = [_repeats(side) if warm else 1 for side in sides]
    seconds = np.empty((rounds, 2, 2))  # round, side, (wall, processor)
    rng = np.random.default_rng(seed)
    for number in range(rounds):
        for which in rng.permutation(2):
            seconds[number, which] = _time(sides[which], repeats[which])
    wall, cpu = (seconds[:, 0, clock] / np.maximum(seconds[:, 1, clock], 1e-9) for clock in (0, 1))
    typical = np.median(seconds[:, :, 0], axis=0)
    return Comparison(*map(float, (np.median(wall), np.median(cpu), *typical, wall.min(), wall.max())))


def record(
    benchmark, ours: Callable, baseline: Callable, *, against: str, rounds: int = 9, warm: bool = True, **more: Any
) -> None:
    """Compare, let pytest-benchmark time ours, and store ratios and names with its result.

    Where benchmarks are disabled both run once, which only shows that they can.
    """
    if benchmark.disabled:
        baseline()
    else:
        result = compare(ours, baseline, rounds, warm=warm)
        note(benchmark, against=against, **result._asdict(), **more)
    benchmark.pedantic(ours, rounds=1 if SMALL else 3, iterations=1)


def note(benchmark, **facts: Any) -> None:
    """Store facts, ``ratio`` and ``against`` among them, with a benchmark's result and for the summary."""
    benchmark.extra_info.update(facts)
    RECORDED.append((benchmark.name, facts))


def _clocks() -> tuple[float, float]:
    spent = os.times()
    return time.perf_counter(), time.process_time() + spent.children_user + spent.children_system


def _time(task: Callable, repeats: int) -> tuple[float, float]:
    """Wall and processor seconds per unit."""
    begin, units = _clocks(), 0.0
    for _ in range(repeats):
        units += task() or 1
    end = _clocks()
    return (end[0] - begin[0]) / units, (end[1] - begin[1]) / units


def _repeats(task: Callable) -> int:
    """Calls per round, found by a second call where the first was not a long one (compiling takes long, too)."""
    first = _seconds(task)
    return 1 if first > LONG_CALL else max(1, int(SHORTEST_ROUND / max(_seconds(task), 1e-7)))


def _seconds(task: Callable) -> float:
    begin = time.perf_counter()
    task()
    return time.perf_counter() - begin
