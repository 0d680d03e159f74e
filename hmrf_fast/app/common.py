"""What the commands share: options with one meaning everywhere, and how errors reach the reader."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from hmrf_fast.app.config import CONFIG_HELP, use_config
from hmrf_fast.app.naming import Naming

__all__ = [
    "CONTRADICTORY",
    "Config",
    "ConstraintFiles",
    "Encoding",
    "FileFormat",
    "FitMetric",
    "Force",
    "Format",
    "IdColumn",
    "LabelColumn",
    "Metric",
    "NThreads",
    "Quiet",
    "RandomState",
    "TextColumn",
    "Values",
    "exit_codes",
    "interrupt_is_taken",
    "known_of",
    "one_line",
    "reading",
    "saving",
]

CONTRADICTORY = 3  # exit code of "constraints check"


AGAIN = 0.25  # seconds
SAVED = 75  # exit code: "temporary failure" of sysexits.h, at which batch systems call a job again


class Metric(StrEnum):
    """The distances of :class:`hmrf_fast.HMRFKMeans`."""

    cosine = "cosine"
    i_divergence = "i_divergence"
    sqeuclidean = "sqeuclidean"
    pearson = "pearson"


class FitMetric(StrEnum):
    """Those, and the ones that only a fit knows."""

    cosine = "cosine"
    i_divergence = "i_divergence"
    sqeuclidean = "sqeuclidean"
    pearson = "pearson"
    mahalanobis = "mahalanobis"
    mahalanobis_diagonal = "mahalanobis_diagonal"


class Values(StrEnum):
    """What a row of text holds."""

    tfidf = "tfidf"
    counts = "counts"


class FileFormat(StrEnum):
    """Formats of tables."""

    jsonl = "jsonl"
    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"
    lines = "lines"


RandomState = Annotated[int, typer.Option(min=0, help="Seed; the same seed gives the same result.")]
NThreads = Annotated[int | None, typer.Option(help="Number of threads; all available cores if left out.")]

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors and warnings.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the results in a folder that is not empty.")]
Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE.toml", is_eager=True, callback=use_config, help=CONFIG_HELP),
]
ConstraintFiles = Annotated[
    list[Path] | None,
    typer.Option("--constraints", help="Pairs, labels or groups, see fit; given again for further files."),
]
TextColumn = Annotated[
    str | None, typer.Option("--text", help="Column with the text; several, as subject,body, are put together.")
]
IdColumn = Annotated[str | None, typer.Option("--id", help="Column with the rows' own ids. [default: id, if there is]")]
LabelColumn = Annotated[
    str | None, typer.Option("--label", help="Column with known classes, for comparison. [default: label, if there is]")
]
Format = Annotated[FileFormat | None, typer.Option("--format", help="Format of a table whose name does not say it.")]
Encoding = Annotated[str, typer.Option(help="Encoding of text files.")]


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
        interrupt_is_taken()
        for number, handler in before.items():
            signal.signal(number, handler)


def interrupt_is_taken() -> None:
    """Ctrl-C was heard, and what comes now must not be cut short by it."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)


def reading(
    text: str | None, id: str | None, label: str | None, file_format: FileFormat | None, encoding: str
) -> dict[str, Any]:
    """The options of a table as arguments of the functions that read it."""
    form = None if file_format is None else file_format.value
    return {"text": text, "id": id, "label": label, "file_format": form, "encoding": encoding}


def known_of(files: list[Path] | None, n_rows: int, ids: Any) -> Any:
    """The constraints of all files together, None if there are none."""
    from hmrf_fast.errors import FileError
    from hmrf_fast.io import read_constraints

    known = None
    for file in files or ():
        told = read_constraints(file, n_rows, ids)
        if known is not None:
            if _has_sets(known) and _has_sets(told):
                raise FileError(f"{file}: labels or groups are in a file before it, too; put them into one table")
            told, others = (told, known) if _has_sets(told) else (known, told)
            told = told.with_pairs(others.must_link, weight=others.must_link_weight)
            told = told.with_pairs(None, others.cannot_link, weight=others.cannot_link_weight)
        known = told
    return known


def _has_sets(known: Any) -> bool:
    return any(sets is not None for sets in (known.labels, known.must_link_groups, known.cannot_link_groups))


@contextmanager
def saving(checkpoint: Path | None) -> Iterator[None]:
    """With a checkpoint, SIGTERM ends the work as Ctrl-C does, and the exit code is 75: the same command goes on."""
    if checkpoint is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"Interrupted; the same command goes on from {checkpoint}.", err=True)
        raise typer.Exit(SAVED) from None
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def exit_codes() -> Iterator[Naming]:
    """Turn the library's errors, and scikit-learn's about X, into one sentence and exit code 2, Ctrl-C into 130,
    warnings into single lines.

    A command that has read its rows hands their ids to what this yields, and messages name them.
    0 done, 2 bad input, `CONTRADICTORY`, `SAVED`, 130 interrupted; see ``application.py``, which tells people."""
    naming = Naming()

    def show(message: Any, *_: Any) -> None:
        typer.echo(f"Warning: {one_line(naming.of_problem(message))}", err=True)

    try:
        with warnings.catch_warnings(), _insisting_on_interrupts():
            warnings.showwarning = show  # type: ignore[assignment]  # the arguments that it needs
            yield naming
    except (ValueError, TypeError, MemoryError) as error:
        told = one_line(naming.of_problem(error)) or "there is not enough memory; take fewer rows, features or clusters"
        typer.echo(f"Error: {told}", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("Interrupted.", err=True)
        raise typer.Exit(130) from None
