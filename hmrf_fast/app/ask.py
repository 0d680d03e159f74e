"""The command ``hmrf-fast ask``: a person at the terminal answers the questions that teach most."""

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
    interrupt_is_taken,
    known_of,
    reading,
)

__all__ = ["HELP", "ask"]

HELP = """Show pairs of rows and ask whether they belong together.

\b
    hmrf-fast ask m --n-clusters 20
    hmrf-fast fit m --n-clusters 20 --constraints m.pairs.csv --out res

Keys, each with Enter: s same, d different, x or ? don't know, u undo, q quit. Every answer is saved in the session
file at once; the same command goes on where the last one ended, and so does label, in the browser. The pairs that
follow from the answers are written at the end, also after q and Ctrl-C, which end with exit code 0.

In Python: hmrf_fast.active.SuperInstances(20).fit(X, oracle=TerminalOracle(texts), session="m.answers.jsonl").
"""


def ask(
    data: Annotated[str, typer.Argument(metavar="DATA", help="The rows, as for fit.")],
    n_clusters: Clusters = None,
    session: Session = None,
    out: Out = None,
    weights: Weights = None,
    budget: Budget = 100,
    metric: Annotated[Metric, typer.Option(help="Distance.")] = Metric.cosine,
    constraints: ConstraintFiles = None,
    width: Annotated[int, typer.Option(min=20, help="Characters shown of a text.")] = 600,
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
        from hmrf_fast.active import SuperInstances, TerminalOracle, top_terms
        from hmrf_fast.io import read, write_constraints, write_weights

        rows = read(data, metric=metric.value, **reading(text, id, None, file_format, encoding))
        naming.ids = rows.ids
        known = known_of(constraints, rows.n_rows, rows.ids)
        files = files_of(data, session, out, weights)
        learner = SuperInstances(
            n_clusters, metric=metric.value, budget=budget, random_state=random_state, n_threads=n_threads
        )
        texts = top_terms(rows.in_memory(), rows.features) if rows.texts is None else rows.texts
        oracle = TerminalOracle(texts, width=width)
        try:
            learner.fit(rows.in_memory(), oracle=oracle, constraints=known, session=files.session)
        except KeyboardInterrupt:
            interrupt_is_taken()
            typer.echo("", err=True)
        write_constraints(files.pairs, learner.constraints_, rows.ids)
        if files.weights:
            write_weights(files.weights, learner.sample_weight_, rows.ids)
        typer.echo(f"\n{told_of(learner, files)}")
