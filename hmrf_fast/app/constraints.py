"""The command ``hmrf-fast constraints check``: what constraints say, before any fit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hmrf_fast.app.common import (
    CONTRADICTORY,
    Config,
    Encoding,
    Format,
    IdColumn,
    Quiet,
    TextColumn,
    exit_codes,
    reading,
)

__all__ = ["CHECK_HELP", "HELP", "check"]

HELP = "Look at files of constraints."

CHECK_HELP = """Say how much constraints tell about the data, and what contradicts.

\b
    hmrf-fast constraints check pairs.csv m
    hmrf-fast constraints check pairs.csv m --n-clusters 20

Named are wrong lines, contradictions with the chain of must-links that proves them, the neighbourhoods that must-links
form, and how many rows are under constraints. The exit code is 3 if anything contradicts. Whether hard cannot-linked
pairs need more clusters than there are, and what the prices of a fit make hard, only that fit finds out.

In Python: hmrf_fast.examination.examine(constraints, n_rows).
"""


def check(
    constraints: Annotated[Path, typer.Argument(metavar="CONSTRAINTS", help="Pairs, labels or groups, as for fit.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="The rows, as for fit.")],
    n_clusters: Annotated[int | None, typer.Option("--n-clusters", "-k", min=1, help="Number of clusters.")] = None,
    text: TextColumn = None,
    id: IdColumn = None,
    file_format: Format = None,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    config: Config = None,
) -> None:
    """Run the command."""
    with exit_codes() as naming:
        from hmrf_fast.examination import examine
        from hmrf_fast.io import read, read_constraints

        rows = read(data, **reading(text, id, None, file_format, encoding))
        naming.ids = rows.ids
        found = examine(read_constraints(constraints, rows.n_rows, rows.ids), rows.n_rows, n_clusters)
        if not quiet:
            typer.echo(naming.of(str(found)))
    if not found.is_consistent:
        raise typer.Exit(CONTRADICTORY)
