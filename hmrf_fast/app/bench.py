"""The command ``hmrf-fast bench``: how fast a fit is here."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from hmrf_fast.app.common import Config, ConstraintFiles, Metric, NThreads, RandomState, exit_codes, known_of

__all__ = ["HELP", "bench"]

HELP = """Time the steps of a fit on this machine, beside scikit-learn's k-means.

\b
    hmrf-fast bench
    hmrf-fast bench m --n-clusters 20 --constraints pairs.csv
    hmrf-fast bench --rows 100000 --features 50000 --entries 100 --json

DATA is anything that fit reads; without it texts are made up, of Zipf words and topics. One run from one k-means++
start is timed, a few iterations long, and scikit-learn's KMeans from the same centroids on the same rows with as many
threads. Kernels are compiled before. Anything else that this machine does at the time slows both.

In Python: hmrf_fast.timing.time_fit(X, 100).
"""

GIB = 2.0**30


def bench(
    data: Annotated[str | None, typer.Argument(metavar="[DATA]", help="Rows; made up if left out.")] = None,
    n_clusters: Annotated[int, typer.Option("--n-clusters", "-k", min=1, help="Number of clusters.")] = 100,
    metric: Annotated[Metric, typer.Option(help="Distance.")] = Metric.cosine,
    learn_weights: Annotated[bool, typer.Option("--learn-weights", help="Learn feature weights.")] = False,
    constraints: ConstraintFiles = None,
    rows: Annotated[int, typer.Option(min=10, help="Of made-up texts.")] = 20_000,
    features: Annotated[int, typer.Option(min=10, help="Of made-up texts.")] = 50_000,
    entries: Annotated[float, typer.Option(min=1, help="Words per made-up text.")] = 100,
    max_iter: Annotated[int, typer.Option(min=1, help="Most iterations.")] = 10,
    rival: Annotated[
        bool, typer.Option("--rival/--no-rival", help="Time scikit-learn's KMeans as well or not.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    random_state: RandomState = 0,
    n_threads: NThreads = None,
    config: Config = None,
) -> None:
    """Run the command."""
    with exit_codes():
        from hmrf_fast.io import read
        from hmrf_fast.timing import time_fit

        if data is None:
            matrix, ids = _made_up(metric, rows, features, entries, random_state), None
        else:
            found = read(data, metric=metric.value)
            matrix, ids = found.matrix, found.ids
        known = known_of(constraints, matrix.shape[0], ids)
        timing = time_fit(
            matrix, n_clusters, metric=metric.value, learn_weights=learn_weights, constraints=known, max_iter=max_iter,
            n_threads=n_threads, random_state=random_state, rival=rival,
        )  # fmt: skip
        if as_json:
            typer.echo(json.dumps(_plain(timing)))
        else:
            _print(timing)


def _made_up(metric: Metric, rows: int, features: int, entries: float, seed: int) -> Any:
    from hmrf_fast.artificial import zipf_texts

    texts = zipf_texts(rows, features, entries, 20, seed)
    return texts.counts if metric is Metric.i_divergence else texts.tfidf


def _plain(timing: Any) -> dict[str, Any]:
    """What was measured as JSON values."""
    told = timing._asdict()
    told["steps"] = {
        step.name: {"first": step.first, "later": None if step.later != step.later else step.later}
        for step in timing.steps
    }
    return {**told, "rows_per_second": timing.rows_per_second, "entries_per_second": timing.entries_per_second}


def _print(timing: Any) -> None:
    lines = [
        f"{timing.n_rows} rows, {timing.n_features} features, {timing.n_entries} non-zeros; {timing.n_clusters} "
        f"clusters, {timing.metric}, {timing.n_threads} threads",
        f"compiling and loading {timing.compiling:.1f} s, preparing {timing.preparing:.3f} s, first centroids "
        f"{timing.seeding:.3f} s",
        f"{timing.n_iter} iterations of {timing.per_iteration:.4f} s on average: "
        f"{timing.rows_per_second:,.0f} rows/s, {timing.entries_per_second:,.0f} non-zeros/s",
    ]
    for step in timing.steps:
        later = "" if step.later != step.later else f", later {step.later:.4f} s"
        lines.append(f"    {step.name}: first {step.first:.4f} s{later}")
    if timing.rival is not None:
        lines.append(
            f"scikit-learn's KMeans: {timing.rival:.4f} s per iteration ({timing.rival_n_iter} of them), "
            f"{timing.rival / timing.per_iteration:.1f} times as long"
        )
    lines.append(f"memory beside the rows: about {timing.memory / GIB:.2f} GiB with the default search for a start")
    typer.echo("\n".join(lines))
