"""The command ``hmrf-fast convert``: rows from one format to another."""

from __future__ import annotations

from dataclasses import replace
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

__all__ = ["HELP", "convert"]

HELP = """Write rows in another format.

\b
    hmrf-fast convert cells.h5ad m
    hmrf-fast convert m X.npz
    hmrf-fast convert counts.npz m --features genes.txt

DATA is anything that fit reads; the ending of OUT says what is written: .npz, .mtx, .svm, .h5ad, .store
(read from disk block by block), or a folder if it has none. Only the folder keeps texts; .store and .h5ad keep
ids, classes and names of features, .svm classes as numbers, .npz and .mtx nothing but numbers.

In Python: io.write(io.read("cells.h5ad"), "m"), with io from hmrf_fast.
"""


def convert(
    data: Annotated[str, typer.Argument(metavar="DATA", help="The rows, as for fit.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File or folder to write.")],
    features: Annotated[
        Path | None,
        typer.Option(
            help="Names of the features, one per line. [default: NAME.vocab.txt(.gz) beside NAME.npz, if it fits]"
        ),
    ] = None,
    values: Annotated[str | None, typer.Option(help="counts or tfidf, where there is a choice.")] = None,
    text: TextColumn = None,
    id: IdColumn = None,
    label: LabelColumn = None,
    file_format: Format = None,
    encoding: Encoding = "utf-8",
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    quiet: Quiet = False,
    config: Config = None,
) -> None:
    """Run the command."""
    with exit_codes():
        from hmrf_fast.errors import FileError
        from hmrf_fast.io import read, write
        from hmrf_fast.io.feature_names import read_names
        from hmrf_fast.io.sources import kind_of

        if out.exists() and not force:
            raise FileError(f"{out}: is there already; choose another name, or say --force to replace it")
        # Names given here are checked against the rows before anything is written.
        store = out if kind_of(out) == "store" and features is None else None
        rows = read(data, values=values, store=store, **reading(text, id, label, file_format, encoding))
        if features is not None:
            rows = replace(rows, feature_names=read_names(features, rows.matrix.shape[1], encoding), vectorizer=None)
            rows.folder = None  # its files hold the names that were there before
        if store is None:
            write(rows, out)
        if not quiet:
            typer.echo(f"{rows.n_rows} rows, {rows.matrix.shape[1]} features; written to {out}")
            if rows.ids is not None and kind_of(out) not in ("", "store", "h5ad"):
                typer.echo(
                    f"{out} has no room for the ids of the rows: constraints have to name them by number, from 0 to "
                    f"{rows.n_rows - 1}",
                    err=True,
                )
