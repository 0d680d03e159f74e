"""The command ``hmrf-fast predict``: the nearest cluster of further rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hmrf_fast.app.common import (
    Config,
    Encoding,
    Format,
    IdColumn,
    LabelColumn,
    Quiet,
    TextColumn,
    exit_codes,
    reading,
)

__all__ = ["HELP", "predict"]

HELP = """Put further rows into the clusters of a fit.

\b
    hmrf-fast predict res new.jsonl --out labels.csv

RES is the folder of a fit, DATA anything that fit reads; texts are counted with the fit's own vocabulary. labels.csv
gets the nearest cluster of every row under its id (or number) and the distance to it; labels.parquet is written as
Parquet. Texts without any word of the fit are warned of: they get a cluster, too, and it means nothing.

In Python: hmrf_fast.load("res/model.npz").predict(X).
"""


def predict(
    results: Annotated[Path, typer.Argument(metavar="RES", help="Folder of a fit.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="Further rows.")],
    out: Annotated[Path, typer.Option(help="File for the labels, .csv or .parquet.")],
    text: TextColumn = None,
    id: IdColumn = None,
    label: LabelColumn = None,
    file_format: Format = None,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    config: Config = None,
) -> None:
    """Run the command."""
    with exit_codes() as naming:
        import numpy as np

        from hmrf_fast.io import load_results, read, write_labels

        fitted = load_results(results)
        model, vectorizer = fitted.model, fitted.data.vectorizer
        how = reading(text, id, label, file_format, encoding)
        metric = getattr(model, "metric", "cosine")
        rows = read(data, metric=metric, vectorizer=vectorizer, **how)
        rows.check_features(fitted.data)
        naming.ids = rows.ids
        distances = model.transform(rows.matrix)
        labels = model.predict(rows.matrix)
        write_labels(out, labels, rows.ids, distances[np.arange(labels.size), labels])
        if not quiet:
            typer.echo(f"{labels.size} rows, {np.unique(labels).size} clusters; written to {out}")
