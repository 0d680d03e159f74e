"""What ``ask`` and ``label`` share: the files of a session, and what is told at its end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

__all__ = ["Budget", "Clusters", "Files", "Out", "Session", "Weights", "files_of", "told_of"]

Session = Annotated[
    Path | None,
    typer.Option(help="File that keeps the answers; continued if it exists. [default: DATA's name and .answers.jsonl]"),
]
Out = Annotated[
    Path | None,
    typer.Option(help="CSV file for the pairs that follow from them. [default: DATA's name and .pairs.csv]"),
]
Weights = Annotated[
    Path | None,
    typer.Option(help="CSV file for weights: 2 for rows placed by answers. Better clusters with fit --sample-weight."),
]
Clusters = Annotated[int | None, typer.Option("--n-clusters", "-k", min=1, help="Number of clusters, if it is known.")]
Budget = Annotated[int, typer.Option(min=1, help="Most questions; may be raised when a session goes on.")]


class Files(NamedTuple):
    """Where a session is kept."""

    session: Path
    pairs: Path
    weights: Path | None


def files_of(data: str, session: Path | None, out: Path | None, weights: Path | None) -> Files:
    """The files named, or files in the working directory that are named after the data."""
    name = Path(data).name.split(".")[0].strip("-") or "texts"
    return Files(session or Path(f"{name}.answers.jsonl"), out or Path(f"{name}.pairs.csv"), weights)


def told_of(learner: Any, files: Files) -> str:
    """How a session ended, in one line."""
    written = f"{files.pairs} and {files.weights}" if files.weights else f"{files.pairs}"
    known = learner.constraints_
    pairs = f"{_counted(len(known.must_link), 'must-link')} and {_counted(len(known.cannot_link), 'cannot-link')}"
    return (
        f"{_counted(learner.n_queries_, 'question')} answered, "
        f"{_counted(len(learner.neighborhoods_), 'neighbourhood')} found; "
        f"{pairs} written to {written} ({learner.stop_reason_})"
    )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
