"""The Typer application: one module per command, put together here."""

from __future__ import annotations

from typing import Annotated

import typer

from hmrf_fast.app import (
    ask,
    bench,
    constraints,
    convert,
    demo,
    evaluate,
    fit,
    label,
    predict,
    report,
    select_k,
    vectorize,
    warmup,
)
from hmrf_fast.version import __version__

__all__ = ["app"]

_HELP = """Constrained clustering of sparse data (HMRF-KMeans).

\b
Try it on the bundled newsgroup messages:
    hmrf-fast demo

\b
From texts to clusters:
    hmrf-fast vectorize texts.jsonl --out m
    hmrf-fast fit m --n-clusters 20 --constraints pairs.csv --out res
    hmrf-fast report res
    hmrf-fast predict res new.jsonl --out labels.csv

\b
Exit codes:
    0    done; also ask and label ended by Ctrl-C (label by SIGTERM, too), since every answer is saved
    2    bad input or usage: one sentence on standard error says what to mend
    3    constraints check found contradictions
    75   interrupted and saved (fit --checkpoint): the same command goes on
    130  interrupted by Ctrl-C
    1    a fault of this program

\b
hmrf-fast --install-completion teaches the shell (bash, zsh, fish, PowerShell) to complete commands and options with
Tab, from the next one you open; --show-completion prints what it would install.
"""

# Plain help: panels cut long option names off, and draw a frame around the one sentence of an error.
app = typer.Typer(
    help=_HELP, no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False, rich_markup_mode=None
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hmrf_fast {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Hold the options of the program itself."""


_constraints = typer.Typer(help=constraints.HELP, no_args_is_help=True, rich_markup_mode=None)
_constraints.command("check", help=constraints.CHECK_HELP)(constraints.check)

app.command("vectorize", help=vectorize.HELP)(vectorize.vectorize)
app.command("fit", help=fit.HELP)(fit.fit)
app.command("predict", help=predict.HELP)(predict.predict)
app.command("evaluate", help=evaluate.HELP)(evaluate.evaluate)
app.command("report", help=report.HELP)(report.report)
app.command("select-k", help=select_k.HELP)(select_k.select_k)
app.add_typer(_constraints, name="constraints")
app.command("ask", help=ask.HELP)(ask.ask)
app.command("label", help=label.HELP)(label.label)
app.command("convert", help=convert.HELP)(convert.convert)
app.command("warmup", help=warmup.HELP)(warmup.warmup)
app.command("bench", help=bench.HELP)(bench.bench)
app.command("demo", help=demo.HELP)(demo.demo)
