"""The command ``hmrf-fast select-k``: how many clusters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from hmrf_fast.app.common import (
    Config,
    ConstraintFiles,
    Encoding,
    Format,
    IdColumn,
    NThreads,
    Quiet,
    RandomState,
    TextColumn,
    exit_codes,
    known_of,
    reading,
)
from hmrf_fast.app.estimators import EstimatorName, MetricOption, estimator_of
from hmrf_fast.app.progress import ProgressOption, Show, counting

__all__ = ["HELP", "select_k"]

HELP = """Choose the number of clusters.

\b
    hmrf-fast select-k m --candidates 2-10,15,20
    hmrf-fast select-k m --candidates 2-10 --constraints pairs.csv --out scores.csv

For each number, parts of the rows are clustered: the best is the one at which these clusterings agree with one another
(stability) and, where pairs of both kinds are given, with pairs that they were not told (agreement). The row with the
highest score is marked; without pairs the most clusters that are about as stable as the best.

In Python: hmrf_fast.selection.select_n_clusters(X, range(2, 11), constraints=known).
"""


def select_k(
    data: Annotated[str, typer.Argument(metavar="DATA", help="The rows, as for fit.")],
    candidates: Annotated[
        str | None,
        typer.Option(help="Numbers and ranges to compare, as 2-10,15,20. [default: nine, from 2 or the classes on]"),
    ] = None,
    constraints: ConstraintFiles = None,
    estimator: EstimatorName = "HMRFKMeans",
    metric: MetricOption = None,
    n_init: Annotated[int | None, typer.Option(min=1, help="Random starts of each fit; fewer are quicker.")] = None,
    n_resamples: Annotated[int, typer.Option(min=2, help="Fits for each number.")] = 6,
    out: Annotated[Path | None, typer.Option(help="Write the table there: .csv, .parquet or .json.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    random_state: RandomState = 0,
    n_threads: NThreads = None,
    text: TextColumn = None,
    id: IdColumn = None,
    file_format: Format = None,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    show: ProgressOption = Show.auto,
    config: Config = None,
) -> None:
    """Run the command."""
    with exit_codes() as naming:
        from hmrf_fast.io import read
        from hmrf_fast.selection import select_n_clusters

        numbers = [] if candidates is None else _numbers(candidates)
        settings = {"metric": metric and metric.value, "n_init": n_init, "n_threads": n_threads}
        model = estimator_of(estimator, settings)
        how = reading(text, id, None, file_format, encoding)
        rows = read(data, metric=getattr(model, "metric", "cosine"), **how)
        naming.ids = rows.ids
        known = known_of(constraints, rows.n_rows, rows.ids)
        if candidates is None:
            fewest = 2 if known is None else max(2, known.classes.size)
            numbers = list(range(fewest, fewest + 9))
        with counting(show, quiet, len(numbers) * n_resamples) as step:
            found = select_n_clusters(
                rows.matrix, numbers, constraints=known, estimator=model, n_resamples=n_resamples,
                random_state=random_state, callback=step and (lambda k, fits: step(f"{k} clusters", fits)),
            )  # fmt: skip
        told = _table(found)
        if out is not None:
            _write(out, told)
        if as_json:
            typer.echo(json.dumps(told))
        elif not quiet:
            _print(told)


def _numbers(text: str) -> list[int]:
    """2-4,8 -> [2, 3, 4, 8]."""
    from hmrf_fast.errors import InputError

    numbers: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        try:
            numbers.update(range(int(first), int(last if dash else first) + 1))
        except ValueError:
            raise InputError(
                f"--candidates {text!r}: {part.strip()!r} is neither a number nor a range as 2-10"
            ) from None
    if not numbers:
        raise InputError(f"--candidates {text!r} names no number; say for instance 2-10,15,20")
    return sorted(numbers)


def _table(found: Any) -> dict[str, Any]:
    named = {"n_clusters": found.candidates, "score": found.score, "stability": found.stability}
    columns = {name: values.tolist() for name, values in named.items()}
    columns["agreement"] = [None if value != value else value for value in found.agreement.tolist()]
    return {"chosen": found.n_clusters, **columns}


def _write(path: Path, told: dict[str, Any]) -> None:
    from hmrf_fast.atomic import replace_file
    from hmrf_fast.errors import FileError
    from hmrf_fast.io.tables import write_table

    if path.suffix != ".json":
        chosen = [number == told["chosen"] for number in told["n_clusters"]]
        write_table(path, {**{name: told[name] for name in told if name != "chosen"}, "chosen": chosen})
        return
    try:
        replace_file(path, lambda file: file.write(json.dumps(told).encode("ascii") + b"\n"))
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({error.strerror or error}); choose another place") from error


def _print(told: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    from hmrf_fast.selection import STABLE

    by_pairs = None not in told["agreement"]
    shown = ("score", "stability", "agreement") if by_pairs else ("stability",)  # which is the score without pairs
    table = Table()
    for heading in ("clusters", *shown, "choice"):
        table.add_column(heading, justify="right")
    for number, *values in zip(told["n_clusters"], *(told[name] for name in shown), strict=True):
        mark = "<- chosen" if number == told["chosen"] else ""
        table.add_row(str(number), *(f"{value:.3f}" for value in values), mark)
    how = "the highest score" if by_pairs else f"the most clusters whose stability is within {STABLE:g} of the highest"
    Console().print(table)
    typer.echo(f"Chosen: {told['chosen']} clusters, {how}.")
