"""How a long fit shows that it goes on: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from time import perf_counter
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from hmrf_fast.app.logs import heard

__all__ = ["ProgressOption", "Show", "counting", "progress"]

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
    """Give the ``callback`` of a fit that shows its progress; None where nothing is to be shown.

    What comes before the first iteration, the search for starts in few dimensions, is known from the library's log.
    """
    show = _resolved(show, quiet)
    if show is Show.none:
        yield None
    elif show is Show.bar:
        yield from _bar(max_iter)
    else:
        lines = _Lines(max_iter, as_json=show is Show.json)
        with heard(_Search(lines.search)):
            yield lines.notify


def _resolved(show: Show, quiet: bool) -> Show:
    if quiet:
        return Show.none
    if show is Show.auto:
        return Show.bar if sys.stderr.isatty() else Show.plain
    return show


class _Search(logging.Handler):
    """Hands on what the log tells of the search for a start."""

    def __init__(self, tell: Callback) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        if isinstance(record.args, dict) and "runs" in record.args:
            self._tell(record.args)


class _Clock:
    """Steps per second of what runs, and the seconds left if it takes all that it may."""

    def __init__(self) -> None:
        self.what: Any = None
        self.began = perf_counter()

    def begins(self, what: Any) -> bool:
        """Whether this is something new."""
        new = what != self.what
        if new:
            # The first step includes what came before it; of one there is no rate yet.
            self.what, self.began = what, perf_counter()
        return new

    def read(self, done: int, most: int) -> dict[str, Any]:
        """Rate and seconds left, None where there is no rate."""
        rate = (done - 1) / max(perf_counter() - self.began, 1e-9)
        return {"rate": round(rate, 3), "seconds_left": round((most - done) / rate, 3) if rate else None}


def _left(told: dict[str, Any]) -> str:
    return "" if told["seconds_left"] is None else f", {told['seconds_left']:.0f} s left at most"


def _bar(max_iter: int) -> Iterator[Callback]:
    clock = _Clock()
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
            if clock.begins(("fit", state["start"])):
                bar.reset(task, total=max_iter)
            rate = clock.read(state["iteration"], max_iter)["rate"]
            told = f"J = {state['objective']:.8g}, {state['changed']} moved, {rate:.1f}/s"
            name = f"start {state['start']}, iteration {state['iteration']}"
            bar.update(task, description=name, completed=state["iteration"], told=told)

        def search(state: dict[str, Any]) -> None:
            if clock.begins(("search", state["start"])):
                bar.reset(task, total=state["runs"])
            name = f"looking for start {state['start']} in {state['rank']} dimensions"
            bar.update(task, description=name, completed=state["run"], told="")

        with heard(_Search(search)):
            yield notify


class _Lines:
    """Progress line by line: all as JSON, else one every few seconds."""

    def __init__(self, max_iter: int, as_json: bool) -> None:
        self._as_json, self._max_iter = as_json, max_iter
        self._clock = _Clock()
        self._last = perf_counter()

    def search(self, state: dict[str, Any]) -> None:
        self._clock.begins(("search", state["start"]))
        told = self._clock.read(state["run"], state["runs"])
        self._tell(
            state | told,
            f"start {state['start']}: looked for in {state['rank']} dimensions, run {state['run']} of {state['runs']}"
            f"{_left(told)}",
        )

    def notify(self, state: dict[str, Any]) -> None:
        self._clock.begins(("fit", state["start"]))
        told = self._clock.read(state["iteration"], self._max_iter)
        self._tell(
            state | told,
            f"start {state['start']}, iteration {state['iteration']}: J = {state['objective']:.10g}, "
            f"{state['changed']} moved, {told['rate']:.1f} iterations/s{_left(told)}",
        )

    def count(self, what: str, done: int, total: int) -> None:
        self._tell({"what": what, "done": done, "total": total}, f"{done} of {total}: {what}")

    def _tell(self, values: dict[str, Any], line: str) -> None:
        if self._as_json:
            typer.echo(json.dumps(values), err=True)
        elif perf_counter() - self._last >= EVERY:
            self._last = perf_counter()
            typer.echo(line, err=True)


@contextmanager
def counting(show: Show, quiet: bool, total: int) -> Iterator[Callable[[str, int], None] | None]:
    """Give a function that is called with what was done and the number of steps done so far, of ``total``."""
    show = _resolved(show, quiet)
    if show is Show.none:
        yield None
    elif show is Show.bar:
        columns = (
            TextColumn("{task.description}"), BarColumn(bar_width=20), MofNCompleteColumn(), TimeRemainingColumn()
        )  # fmt: skip
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("", total=total)
            yield lambda what, done: bar.update(task, description=what, completed=done)
    else:
        lines = _Lines(1, as_json=show is Show.json)
        yield lambda what, done: lines.count(what, done, total)
