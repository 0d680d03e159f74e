"""The command ``hmrf-fast report``: what a fit found, as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hmrf_fast.app.common import Config, exit_codes

__all__ = ["HELP", "report"]

HELP = """Show what a fit found, as one HTML page.

\b
    hmrf-fast report res
    hmrf-fast report res --out page.html

RES is the folder of a fit; the page is RES/report.html unless --out says otherwise. It needs no network: sizes, terms
and typical rows of the clusters, constraints that are violated, the objective step by step, a map, and agreement with
the classes that came with the data.

In Python: model.report(X, feature_names, texts, ids, labels, path).
"""


def report(
    results: Annotated[Path, typer.Argument(metavar="RES", help="Folder of a fit.")],
    out: Annotated[Path | None, typer.Option(help="The page; RES/report.html if left out.")] = None,
    config: Config = None,
) -> None:
    """Run the command."""
    with exit_codes():
        from hmrf_fast.errors import FileError
        from hmrf_fast.io import load_results

        found, page = load_results(results), out or results / "report.html"
        data = found.data
        made = found.model.report(data.in_memory(), data.feature_names, data.texts, data.ids, data.labels)
        try:
            made.save(page)
        except OSError as error:
            raise FileError(
                f"{page}: cannot be written to ({error.strerror or error}); choose another (--out)"
            ) from error
        typer.echo(f"{page}: {made.title}")
