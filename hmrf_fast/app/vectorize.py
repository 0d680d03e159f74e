"""The command ``hmrf-fast vectorize``: texts in, a folder with matrix, ids, vocabulary and texts out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hmrf_fast.app.common import (
    Config,
    Encoding,
    Force,
    Format,
    IdColumn,
    LabelColumn,
    Quiet,
    TextColumn,
    Values,
    exit_codes,
    reading,
)

__all__ = ["HELP", "vectorize"]

HELP = """Count the words of texts, for fit.

\b
    hmrf-fast vectorize texts.jsonl --out m
    hmrf-fast vectorize mails/ --out m --values counts
    zcat texts.jsonl.gz | hmrf-fast vectorize - --text subject,body --out m

TEXTS is a file of JSON lines (one object per line), CSV with a line of names, Parquet, or one text per line, packed
with gzip or not; a folder of text files; or - for standard input. Words are counted as in the papers: lower case, three
letters or more, no stop words, in two texts at least and in half of them at most.

The folder m gets the matrix, the ids, the texts and the vocabulary, so that later texts get the same columns.

In Python: io.dataset_of_texts(io.read_texts("texts.jsonl")).save("m"), with io from hmrf_fast.
"""


def vectorize(
    texts: Annotated[str, typer.Argument(metavar="TEXTS", help="File or folder of texts, or - for standard input.")],
    out: Annotated[Path, typer.Option(help="Folder for the result.")],
    text: TextColumn = None,
    id: IdColumn = None,
    label: LabelColumn = None,
    file_format: Format = None,
    encoding: Encoding = "utf-8",
    values: Annotated[
        Values, typer.Option(help="tfidf for the metrics cosine and pearson, counts for i_divergence.")
    ] = Values.tfidf,
    min_df: Annotated[
        float, typer.Option(min=0, help="Fewest texts with a word; below 1, their share of all texts.")
    ] = 2,
    max_df: Annotated[
        float, typer.Option(min=0, help="Most texts with a word, from 1 on; up to 1.0, their share of all texts.")
    ] = 0.5,
    max_features: Annotated[int | None, typer.Option(min=1, help="Keep this many of the most frequent words.")] = None,
    ngram_max: Annotated[int, typer.Option(min=1, help="Count runs of up to so many words.")] = 1,
    stop_words: Annotated[
        bool, typer.Option("--stop-words/--no-stop-words", help="Leave English stop words out or not.")
    ] = True,
    token_pattern: Annotated[str | None, typer.Option(help="What is a word, as a regular expression.")] = None,
    sublinear_tf: Annotated[bool, typer.Option("--sublinear-tf", help="1 + ln(tf) in place of tf.")] = False,
    drop_empty: Annotated[
        bool, typer.Option("--drop-empty", help="Leave texts out that hold none of the words.")
    ] = False,
    force: Force = False,
    quiet: Quiet = False,
    config: Config = None,
) -> None:
    """Run the command."""
    with exit_codes():
        from hmrf_fast.assembly import FATES
        from hmrf_fast.io import dataset_of_texts, read_texts
        from hmrf_fast.io.results import open_folder
        from hmrf_fast.io.vectorizing import WORDS

        found = read_texts(texts, **reading(text, id, label, file_format, encoding))
        with open_folder(out, force):
            data = dataset_of_texts(
                found,
                values=values.value,
                min_df=min_df if min_df < 1 else int(min_df),
                max_df=max_df if max_df <= 1 else int(max_df),
                max_features=max_features,
                ngram_max=ngram_max,
                stop_words="english" if stop_words else None,
                token_pattern=WORDS if token_pattern is None else token_pattern,
                sublinear_tf=sublinear_tf,
            )
            rows = data.without_empty() if drop_empty else data
            dropped, data = data.n_rows - rows.n_rows, rows
            data.save(out)
        if not quiet:
            n_rows, n_features = data.matrix.shape
            typer.echo(f"{n_rows} texts, {n_features} words, {data.matrix.nnz} counts other than 0; written to {out}")
            if dropped:
                typer.echo(f"{dropped} texts hold none of the words and were left out")
            empty = int((data.matrix.getnnz(axis=1) == 0).sum())
            if empty:
                typer.echo(f"{empty} texts hold none of the words; {FATES[values is Values.counts]}")
