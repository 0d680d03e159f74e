"""Things timed side by side: in turn, in random order, compared round by round.

Other processes slow a machine down by factors that change within seconds, so seconds of different moments cannot be
compared. All sides of one round meet about the same machine: the median over the rounds of their ratio can be.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from corpora import SMALL

LONG_CALL = 20.0  # seconds; nothing of ours takes as long to compile
LONG_RIVAL = 0.3  # rivals have nothing to compile
SHORTEST_ROUND = 0.02  # seconds; quicker calls are repeated within a round
RECORDED: list[tuple[str, dict[str, Any]]] = []  # what the summary at the end of a run shows


def compare(ours: Callable, rivals: Mapping[str, Callable], rounds: int = 9, seed: int = 0, warm: bool = True):
    """Time all in turn. A callable may return the number of units (iterations) it did; seconds are divided by it.

    With ``warm`` all are called before anything is timed, which compiles what has to be compiled. Returns seconds per
    unit of ours, and per rival the medians ``ratio`` (wall time of ours / its own: below 1 ours is the faster one),
    ``cpu_ratio`` (the same for processor time, children included), its ``seconds``, and the ``lowest`` and ``highest``
    ratio of a round.
    """
    rounds = min(rounds, 2 if warm else 1) if SMALL else rounds
    sides = (ours, *rivals.values())
    repeats = [_repeats(side, LONG_RIVAL if side is not ours else LONG_CALL) if warm else 1 for side in sides]
    seconds = np.empty((rounds, len(sides), 2))  # round, side, (wall, processor)
    rng = np.random.default_rng(seed)
    for number in range(rounds):
        for which in rng.permutation(len(sides)):
            seconds[number, which] = _time(sides[which], repeats[which])
    found = {}
    for place, name in enumerate(rivals, 1):
        wall, cpu = (seconds[:, 0, clock] / np.maximum(seconds[:, place, clock], 1e-9) for clock in (0, 1))
        found[name] = {
            "ratio": float(np.median(wall)),
            "cpu_ratio": float(np.median(cpu)),
            "seconds": float(np.median(seconds[:, place, 0])),
            "lowest": float(wall.min()),
            "highest": float(wall.max()),
        }
    return float(np.median(seconds[:, 0, 0])), found


def record(
    benchmark, ours: Callable, rivals: Mapping[str, Callable | None], *, targets: Mapping[str, float] | None = None,
    rounds: int = 9, warm: bool = True, most_seconds: float | None = None, **more: Any,
) -> None:  # fmt: skip
    """Compare with all rivals that are there, let pytest-benchmark time ours, and store ratios beside their targets.

    ``most_seconds`` is a target for the time of ours itself.
    Where benchmarks are disabled all run once, which only shows that they can.
    """
    there = {name: rival for name, rival in rivals.items() if rival is not None}
    if benchmark.disabled:
        for rival in there.values():
            rival()
        benchmark.pedantic(ours, rounds=1, iterations=1)
        return
    seconds, found = compare(ours, there, rounds, warm=warm)
    benchmark.extra_info.update(more, ours=seconds)
    if most_seconds is not None:
        note(benchmark, "seconds", "ours", seconds, most_seconds)
    for name, facts in found.items():
        note(benchmark, "ratio", name, facts.pop("ratio"), (targets or {}).get(name), ours=seconds, **facts)
    benchmark.pedantic(ours, rounds=1, iterations=1)


def note(benchmark, kind: str, against: str, value: float, target: float | None = None, **facts: Any) -> None:
    """Store one figure with a benchmark's result and for the summary; ``target`` is the most that it should be."""
    figure = {"kind": kind, "against": against, "value": value, "target": target, **facts}
    benchmark.extra_info.setdefault("figures", []).append(figure)
    RECORDED.append((benchmark.name, figure))


def growth(benchmark, what: str, sizes: Sequence[float], tasks: Sequence[Callable], most_seconds: float | None = None):
    """How time grows with a size: the slope of log seconds over log size, 1 where it is proportional.

    Each task is timed several times, in turn; the fastest counts, which the machine disturbed least. ``most_seconds``
    is a target for the last of them.
    """
    if benchmark.disabled:
        for task in tasks:
            task()
    else:
        repeats = [_repeats(task) for task in tasks]
        rounds = range(1 if SMALL else 3)
        seconds = np.array([[_time(task, n)[0] for task, n in zip(tasks, repeats, strict=True)] for _ in rounds]).min(0)
        slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
        note(benchmark, "slope", what, slope, 1.05, sizes=list(map(float, sizes)), seconds=seconds.tolist())
        if most_seconds is not None:
            note(benchmark, "seconds", f"{what}: {sizes[-1]}", float(seconds[-1]), most_seconds)
    benchmark.pedantic(tasks[0], rounds=1, iterations=1)


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


def _repeats(task: Callable, long_call: float = LONG_CALL) -> int:
    """Calls per round, found by a second call where the first was not a long one (compiling takes long, too)."""
    first = _seconds(task)
    return 1 if first > long_call else max(1, int(SHORTEST_ROUND / max(_seconds(task), 1e-7)))


def _seconds(task: Callable) -> float:
    begin = time.perf_counter()
    task()
    return time.perf_counter() - begin
