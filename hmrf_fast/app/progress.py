"""How a long fit shows that it goes on: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from time import perf_counter
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

__all__ = ["ProgressOption", "Show", "progress"]

EVERY = 2.0  # seconds between lines


class Show(StrEnum):
    """Forms of progress."""

    auto = "auto"
    bar = "bar"
    plain = "plain"
    json = "json"
    none = "none"


ProgressOption = Annotated[
    Show,
    typer.Option(
        "--progress", help="On standard error. auto: a bar on a terminal, else a line every two seconds; json: all."
    ),
]
Callback = Callable[[dict[str, Any]], None]


@contextmanager
def progress(show: Show, quiet: bool, max_iter: int) -> Iterator[Callback | None]:
    """Give the ``callback`` of a fit that shows its progress; None where nothing is to be shown."""
    if show is Show.auto:
        show = Show.bar if sys.stderr.isatty() else Show.plain
    if quiet or show is Show.none:
        yield None
    elif show is Show.bar:
        yield from _bar(max_iter)
    else:
        yield _lines(max_iter, as_json=show is Show.json)


class _Clock:
    """Iterations per second of the start that runs, and the seconds left if it takes all that it may."""

    def __init__(self, max_iter: int) -> None:
        self.max_iter = max_iter
        self.start, self.began = -1, perf_counter()

    def read(self, state: dict[str, Any]) -> tuple[float, float]:
        now = perf_counter()
        if state["start"] != self.start:
            # The first iteration includes what came before it; of one there is no rate yet.
            self.start, self.began = state["start"], now
        rate = (state["iteration"] - 1) / max(now - self.began, 1e-9)
        return rate, (self.max_iter - state["iteration"]) / rate if rate else float("inf")


def _bar(max_iter: int) -> Iterator[Callback]:
    clock = _Clock(max_iter)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[told]}"),
        TimeRemainingColumn(compact=True),
        TextColumn("left at most"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("looking for a start", total=None, told="")

        def notify(state: dict[str, Any]) -> None:
            again = state["start"] != clock.start
            rate, _ = clock.read(state)
            if again:
                bar.reset(task, total=max_iter)
            told = f"J = {state['objective']:.8g}, {state['changed']} moved, {rate:.1f}/s"
            name = f"start {state['start']}, iteration {state['iteration']}"
            bar.update(task, description=name, completed=state["iteration"], told=told)

        yield notify


def _lines(max_iter: int, as_json: bool) -> Callback:
    clock = _Clock(max_iter)
    last = perf_counter()

    def notify(state: dict[str, Any]) -> None:
        nonlocal last
        rate, left = clock.read(state)
        if as_json:
            told = {"rate": round(rate, 3), "seconds_left": round(left, 3) if rate else None}
            typer.echo(json.dumps(state | told), err=True)
        elif perf_counter() - last >= EVERY:
            last = perf_counter()
            eta = f", {left:.0f} s left at most" if rate else ""
            typer.echo(
                f"start {state['start']}, iteration {state['iteration']}: J = {state['objective']:.10g}, "
                f"{state['changed']} moved, {rate:.1f} iterations/s{eta}",
                err=True,
            )

    return notify
