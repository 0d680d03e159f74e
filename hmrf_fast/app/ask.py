"""The command ``hmrf-fast ask``: a person at the terminal answers the questions that teach most."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hmrf_fast.app.common import (
    Config,
    Encoding,
    Format,
    IdColumn,
    Metric,
    NThreads,
    RandomState,
    TextColumn,
    exit_codes,
    reading,
)

__all__ = ["HELP", "ask"]

HELP = """Show pairs of rows and ask whether they belong together.

\b
    hmrf-fast ask m --n-clusters 20 --session answers.jsonl --out pairs.csv
    hmrf-fast fit m --n-clusters 20 --constraints pairs.csv --out res

Keys, each with Enter: s same, d different, ? don't know, u undo, q quit. Every answer is saved in the session file at
once; the same command goes on where the last one ended. The pairs that follow from the answers are written to pairs.csv
at the end, also after q.

In Python: hmrf_fast.active.SuperInstances(20).fit(X, oracle=TerminalOracle(texts), session="answers.jsonl").
"""


def ask(
    data: Annotated[str, typer.Argument(metavar="DATA", help="The rows, as for fit.")],
    session: Annotated[Path, typer.Option(help="File that keeps the answers; it is continued if it exists.")],
    out: Annotated[Path, typer.Option(help="CSV file for the pairs.")],
    n_clusters: Annotated[
        int | None, typer.Option("--n-clusters", "-k", min=1, help="Number of clusters, if it is known.")
    ] = None,
    budget: Annotated[int, typer.Option(min=1, help="Most questions.")] = 100,
    metric: Annotated[Metric, typer.Option(help="Distance.")] = Metric.cosine,
    constraints: Annotated[Path | None, typer.Option(help="What is known already.")] = None,
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
    with exit_codes():
        from hmrf_fast.active import SuperInstances, TerminalOracle
        from hmrf_fast.io import read, read_constraints, write_constraints

        rows = read(data, metric=metric.value, **reading(text, id, None, file_format, encoding))
        known = None if constraints is None else read_constraints(constraints, rows.n_rows, rows.ids)
        learner = SuperInstances(
            n_clusters, metric=metric.value, budget=budget, random_state=random_state, n_threads=n_threads
        )
        oracle = TerminalOracle(_texts(rows), width=width)
        try:
            learner.fit(rows.in_memory(), oracle=oracle, constraints=known, session=session)
        except KeyboardInterrupt:
            typer.echo("", err=True)
        write_constraints(out, learner.constraints_, rows.ids)
        typer.echo(
            f"\n{learner.n_queries_} questions answered, {len(learner.neighborhoods_)} neighbourhoods found; "
            f"{learner.constraints_!r} written to {out} ({learner.stop_reason_})"
        )


def _texts(rows: Any) -> list[str]:
    """What a person sees of every row."""
    from hmrf_fast.active import top_terms

    if rows.texts is not None:
        return rows.texts
    names = rows.feature_names or [f"feature {column}" for column in range(rows.matrix.shape[1])]
    return top_terms(rows.in_memory(), names)
