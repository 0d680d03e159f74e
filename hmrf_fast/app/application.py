"""The Typer application: one module per command, put together here."""

from __future__ import annotations

from typing import Annotated

import typer

import hmrf_fast
from hmrf_fast.app import demo, fit, warmup

__all__ = ["app"]

_HELP = """Constrained clustering of sparse data (HMRF-KMeans).

\b
Try it on the bundled newsgroup messages:
    hmrf-fast demo

\b
Cluster your own sparse matrix, with pairs of rows that belong together or apart:
    hmrf-fast fit X.npz --constraints pairs.csv --n-clusters 20 --out result/
"""

# Plain help: panels cut long option names off, and draw a frame around the one sentence of an error.
app = typer.Typer(
    help=_HELP, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hmrf_fast {hmrf_fast.__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Hold the options of the program itself."""


app.command("demo", help=demo.HELP)(demo.demo)
app.command("fit", help=fit.HELP)(fit.fit)
app.command("warmup", help=warmup.HELP)(warmup.warmup)
