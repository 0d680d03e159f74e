"""The command ``hmrf-fast label``: a person answers in the browser, on a page that this command serves."""

from __future__ import annotations

from typing import Annotated

import typer

from hmrf_fast.app.answers import Budget, Clusters, Out, Session, Weights, files_of, told_of
from hmrf_fast.app.common import (
    Config,
    ConstraintFiles,
    Encoding,
    Format,
    IdColumn,
    Metric,
    NThreads,
    RandomState,
    TextColumn,
    exit_codes,
    known_of,
    reading,
)

__all__ = ["HELP", "label"]

HELP = """Ask whether rows belong together, in the browser.

\b
    hmrf-fast label corpus.jsonl
    hmrf-fast label m --n-clusters 20 --weights m.weights.csv
    hmrf-fast fit m --n-clusters 20 --constraints m.pairs.csv --sample-weight m.weights.csv --out res

Open the address that is printed. The page shows two rows side by side with the terms that decide; the keys are s same,
d different, x or ? don't know, u undo. Every answer is saved at once, and clusters are found anew in the background.
Ctrl-C and SIGTERM end it with exit code 0; the same command goes on where the last one ended, also after a crash, and
so does ask, at the terminal.

The page is for this machine only, and for whoever knows the address, which is new every time. Needs
pip install "hmrf_fast[label]".

In Python: labeling.LabelServer(labeling.Desk(io.read("m"), 20, session="m.answers.jsonl")).run(), with labeling and io
from hmrf_fast.
"""


def label(
    data: Annotated[str, typer.Argument(metavar="DATA", help="The rows, as for fit.")],
    n_clusters: Clusters = None,
    session: Session = None,
    out: Out = None,
    weights: Weights = None,
    budget: Budget = 100,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of 127.0.0.1; 0 is any that is free.")] = 0,
    metric: Annotated[Metric, typer.Option(help="Distance.")] = Metric.cosine,
    constraints: ConstraintFiles = None,
    width: Annotated[int, typer.Option(min=20, help="Characters shown of a text.")] = 2000,
    random_state: RandomState = 0,
    n_threads: NThreads = None,
    text: TextColumn = None,
    id: IdColumn = None,
    file_format: Format = None,
    encoding: Encoding = "utf-8",
    config: Config = None,
) -> None:
    """Run the command."""
    with exit_codes() as naming:
        from hmrf_fast.io import read
        from hmrf_fast.labeling import Desk, LabelServer
        from hmrf_fast.labeling.server import listen

        with listen(port) as listener:  # before the work: what cannot be had is told at once
            rows = read(data, metric=metric.value, **reading(text, id, None, file_format, encoding))
            naming.ids = rows.ids
            known = known_of(constraints, rows.n_rows, rows.ids)
            files = files_of(data, session, out, weights)
            desk = Desk(
                rows, n_clusters, session=files.session, out=files.pairs, weights=files.weights, metric=metric.value,
                budget=budget, constraints=known, random_state=random_state, n_threads=n_threads, width=width,
            )  # fmt: skip
            server = LabelServer(desk, listener)
            typer.echo(f"{rows.n_rows} rows, {desk.learner.n_queries_} questions answered so far. Open\n{server.url}")
            typer.echo("in a browser on this machine. Ctrl-C ends; every answer is saved as it is given.")
            server.run()
        typer.echo(f"\n{told_of(desk.learner, files)}")
