"""Any input that the command line takes -> one `DataSet`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from inspect import signature
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from hmrf_fast.errors import FileError, InputError, InputTypeError
from hmrf_fast.io.blocks import ROWS, Blocks, Reader
from hmrf_fast.io.cells import cell_blocks
from hmrf_fast.io.dataset import DataSet, is_dataset_folder, load_folder
from hmrf_fast.io.matrix_file import npz_blocks
from hmrf_fast.io.matrix_market import matrix_market_blocks
from hmrf_fast.io.sources import kind_of
from hmrf_fast.io.svmlight import svmlight_blocks
from hmrf_fast.io.tables import Table, table_blocks
from hmrf_fast.io.texts import TEXT_COLUMNS, RowNames, TextCells, Texts, read_texts
from hmrf_fast.io.vectorizing import TextVectorizer, vectorize
from hmrf_fast.rows.convert import write_blocks, write_matrix
from hmrf_fast.rows.disk import DiskRows
from hmrf_fast.rows.store import is_store

__all__ = ["dataset_of_texts", "read"]

SVMLIGHT = ("svm", "svmlight", "libsvm", "dat")


def read(
    path: str | os.PathLike[str],
    *,
    metric: str = "cosine",
    values: str | None = None,
    text: str | None = None,
    id: str | None = None,
    label: str | None = None,
    file_format: str | None = None,
    encoding: str = "utf-8",
    vectorizer: TextVectorizer | None = None,
    store: str | os.PathLike[str] | None = None,
    dtype: Any = None,
) -> DataSet:
    """Read rows to cluster.

    Parameters
    ----------
    path : path-like
        A folder of `DataSet.save`; a store of `hmrf_fast.rows`, whose rows stay on disk; ``.npz``; ``.mtx``
        (Matrix Market); ``.svm``, ``.svmlight``, ``.libsvm`` or ``.dat``
        (svmlight); ``.h5ad`` (AnnData, needs anndata); a table as JSON lines, CSV or Parquet; a folder of texts; "-"
        for a table from standard input. Tables with a column of text are vectorized; of others the numeric columns are
        the features. All but ``.npz``, ``.h5ad`` and Parquet may be packed with gzip.
    metric : str, default="cosine"
        What the rows are for: "i_divergence" takes counts, everything else tf-idf, where there is a choice.
    values : {"tfidf", "counts"}, optional
        To choose otherwise.
    text, id, label, file_format, encoding
        As for `read_texts`.
    vectorizer : TextVectorizer, optional
        Of earlier texts, so that the columns are the same.
    store : path-like, optional
        Rows go to a store of this name, which must not be there yet, and stay on disk: a few megabytes are in memory at
        a time. Texts are not kept then; ids, classes and names of features lie in the store, too. What has to be seen
        whole before its first row is known must still fit into memory: texts without a vectorizer, matrices by columns,
        dense Matrix Market files and folders.
    dtype : {numpy.float32, numpy.float64}, optional
        Of the values in the store; by default float64, unless the file holds float32.

    Returns
    -------
    DataSet
        Columns of ``NAME.npz`` are named by ``NAME.vocab.txt`` or ``NAME.vocab.txt.gz`` beside it, a name per line, if
        it has as many lines.

    Raises
    ------
    FileError, InputError
    """
    source = Path(path)
    if source.is_dir():
        data = _folder(source, metric, values, encoding, vectorizer)
        return data if store is None else stored(data, store, dtype)
    kind, piecewise = kind_of(path) if file_format is None else "", store is not None
    if kind == "npz":
        reader = npz_blocks(source, piecewise, values, metric)
    elif kind == "mtx":
        reader = matrix_market_blocks(path, piecewise, None if store is None else Path(store).absolute().parent)
    elif kind in SVMLIGHT:
        reader = svmlight_blocks(path, piecewise)
    elif kind == "h5ad":
        reader = cell_blocks(source, piecewise)
    else:
        tables = table_blocks(path, ROWS if piecewise else None, file_format, encoding)
        reader = _table_blocks(tables, text, RowNames(id, label), metric, values, vectorizer, piecewise)
    blocks = Blocks(reader)
    with closing(reader):  # a reader whose blocks are refused ends here, not whenever its frames are forgotten
        if store is None:
            [matrix] = blocks
        else:
            matrix = write_blocks(store, blocks, dtype=dtype)
    data = DataSet(matrix, **blocks.rest)
    return data if store is None else data.kept_in_store()


def _folder(path: Path, metric: str, values: str | None, encoding: str, vectorizer: TextVectorizer | None) -> DataSet:
    if is_dataset_folder(path):  # a store with names, too
        return load_folder(path)
    if is_store(path):
        return DataSet(DiskRows(path))
    return dataset_of_texts(read_texts(path, encoding=encoding), metric, values, vectorizer)


def stored(data: DataSet, store: str | os.PathLike[str], dtype: Any = None) -> DataSet:
    """Rows in memory, or in another store, as rows in a store, with all that is known of them but texts."""
    rows = write_matrix(store, data.in_memory(), dtype=dtype)
    return replace(data, matrix=rows, texts=None, folder=None).kept_in_store()


def dataset_of_texts(
    texts: Texts,
    metric: str = "cosine",
    values: str | None = None,
    vectorizer: TextVectorizer | None = None,
    **settings: Any,
) -> DataSet:
    """Vectorize texts, or give them the columns of earlier ones.

    Parameters
    ----------
    texts : Texts
    metric, values, vectorizer
        As for `read`.
    **settings
        As for `vectorize`, where there is no vectorizer yet.

    Returns
    -------
    DataSet

    Raises
    ------
    InputError
        If no word is left.
    InputTypeError
        For settings that `vectorize` does not have.
    """
    if settings and vectorizer is not None:
        raise InputTypeError(f"{min(settings)} is a setting of a vectorizer, and one is given")
    known = list(signature(vectorize).parameters)[1:]
    unknown = sorted(settings.keys() - set(known))
    if unknown:
        raise InputTypeError(
            f"{unknown[0]} is no setting of vectorize, which has {', '.join(known)}; "
            "DataSet.without_empty leaves out rows without words"
        )
    if vectorizer is None:
        values = values or ("counts" if metric == "i_divergence" else "tfidf")
        matrix, vectorizer = vectorize(texts.texts, values=values, **settings)
    else:
        matrix = vectorizer.transform(texts.texts)
    return DataSet(matrix, texts.ids, texts.texts, texts.labels, vectorizer.terms, vectorizer)


def _table_blocks(
    tables: Iterator[Table],
    text: str | None,
    known: RowNames,
    metric: str,
    values: str | None,
    vectorizer: TextVectorizer | None,
    piecewise: bool,
) -> Reader:
    """A table with a column of text, or of numbers."""
    first = next(tables)
    tables = chain([first], tables)
    if not (text or any(name in first.columns for name in TEXT_COLUMNS) or not first.n_rows):
        return (yield from _numbers(tables, first, known))
    cells, texts = TextCells(text), []
    for table in tables:
        found = cells.of(table)
        known.add(table)
        if piecewise and vectorizer is not None:
            yield vectorizer.transform(found)
        else:
            texts += found
    if vectorizer is None or not piecewise:
        data = dataset_of_texts(Texts(texts, None, None), metric, values, vectorizer)
        vectorizer = data.vectorizer
        yield data.matrix
    assert vectorizer is not None
    told = {"feature_names": vectorizer.terms, "vectorizer": vectorizer, "texts": None if piecewise else texts}
    return known.fields() | told


def _numbers(tables: Iterator[Table], first: Table, known: RowNames) -> Reader:
    """A table without text: its numeric columns are the features."""
    names = [name for name in first.columns if name not in known.columns]
    if not names:
        raise FileError(f"{first.path}: has neither a column of text nor columns of numbers")
    for table in tables:
        known.add(table)
        new = set(table.columns).difference(names, known.columns)
        if new:
            raise FileError(f"{table.place_of(min(new))}: column {min(new)!r} is not there in the rows before")
        yield np.column_stack([_column(table, name) for name in names])
    return known.fields() | {"feature_names": names}


def _column(table: Table, name: str) -> np.ndarray:
    values = np.empty(table.n_rows)
    for row, value in enumerate(table.columns.get(name, [None] * table.n_rows)):
        try:
            values[row] = float(value)
        except (TypeError, ValueError, OverflowError):
            raise InputError(
                f"{table.place(row)}: {name} = {value!r} is no number; if it is text, say --text {name}, if it names "
                f"the row --id {name}, if it is its class --label {name}"
            ) from None
    return values
