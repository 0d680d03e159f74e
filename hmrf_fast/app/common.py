"""What the commands share: options with one meaning everywhere, and how errors reach the reader."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated

import typer

__all__ = ["BadInput", "Metric", "NThreads", "RandomState", "exit_codes", "one_line"]


AGAIN = 0.25  # seconds


class BadInput(Exception):
    """Something the caller can mend; the message is one sentence that says where and what."""


class Metric(StrEnum):
    """The distances of :class:`hmrf_fast.HMRFKMeans`."""

    cosine = "cosine"
    i_divergence = "i_divergence"
    sqeuclidean = "sqeuclidean"
    pearson = "pearson"


RandomState = Annotated[int, typer.Option(min=0, help="Seed; the same seed gives the same result.")]
NThreads = Annotated[int | None, typer.Option(help="Number of threads; all available cores if left out.")]


def one_line(message: object) -> str:
    """Return a message with its line breaks folded away."""
    return " ".join(str(message).split())


@contextmanager
def _insisting_on_interrupts() -> Iterator[None]:
    """Ctrl-C counts even where it lands in a callback of the compiler, which swallows exceptions: it comes again until
    somebody takes it."""
    elsewhere = threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer")
    if elsewhere or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def interrupt(*_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGALRM)}
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def exit_codes() -> Iterator[None]:
    """Turn an :class:`BadInput` into one sentence and exit code 2, Ctrl-C into 130, warnings into single lines."""
    try:
        with warnings.catch_warnings(), _insisting_on_interrupts():
            warnings.showwarning = lambda message, *_: typer.echo(f"Warning: {one_line(message)}", err=True)
            yield
    except BadInput as error:
        typer.echo(f"Error: {one_line(error)}", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("Interrupted.", err=True)
        raise typer.Exit(130) from None
