"""Any input that the command line takes -> one `DataSet`."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from hmrf_fast.errors import FileError, InputError, in_short
from hmrf_fast.io.dataset import DataSet, is_dataset_folder, load_folder
from hmrf_fast.io.feature_names import names_beside
from hmrf_fast.io.matrix_file import read_npz
from hmrf_fast.io.matrix_market import read_matrix_market
from hmrf_fast.io.sources import kind_of, missing, read_bytes
from hmrf_fast.io.tables import Table, read_table
from hmrf_fast.io.texts import TEXT_COLUMNS, Texts, cell_ids, read_texts, texts_of
from hmrf_fast.io.vectorizing import TextVectorizer, vectorize
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

    Returns
    -------
    DataSet
        Columns of ``NAME.npz`` are named by ``NAME.vocab.txt`` or ``NAME.vocab.txt.gz`` beside it, a name per line, if
        it has as many lines.

    Raises
    ------
    FileError, InputError
    """
    kind, source = kind_of(path), Path(path)
    if source.is_dir():
        if is_store(source):
            return DataSet(DiskRows(source))
        if is_dataset_folder(source):
            return load_folder(source)
        return dataset_of_texts(read_texts(source, encoding=encoding), metric, values, vectorizer)
    if file_format is None and kind == "npz":
        return _npz(source, values, metric)
    if file_format is None and kind == "mtx":
        return DataSet(read_matrix_market(path))
    if file_format is None and kind in SVMLIGHT:
        return _svmlight(path)
    if file_format is None and kind == "h5ad":
        return _anndata(source)
    table = read_table(path, file_format=file_format, encoding=encoding)
    if text or any(name in table.columns for name in TEXT_COLUMNS) or not table.n_rows:
        return dataset_of_texts(texts_of(table, text, id, label), metric, values, vectorizer)
    return _numbers(table, id, label)


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
    """
    if vectorizer is None:
        values = values or ("counts" if metric == "i_divergence" else "tfidf")
        matrix, vectorizer = vectorize(texts.texts, values=values, **settings)
    else:
        matrix = vectorizer.transform(texts.texts)
    return DataSet(matrix, texts.ids, texts.texts, texts.labels, vectorizer.terms, vectorizer)


def _npz(path: Path, values: str | None, metric: str) -> DataSet:
    matrix, others = read_npz(path, values, metric)
    n_rows, labels, names = matrix.shape[0], others.get("labels"), others.get("label_names")
    told: list[str | None] | None = None
    if labels is not None and labels.shape == (n_rows,):
        named = names is not None and labels.dtype.kind in "iu" and labels.max(initial=-1) < names.size
        told = [None if str(one) == "-1" else str(names[one] if named else one) for one in labels]  # type: ignore[index]
    ids = [str(one) for one in others["ids"]] if others.get("ids", np.empty(0)).shape == (n_rows,) else None
    if ids is not None and len(set(ids)) < n_rows:
        ids = None
    return DataSet(matrix, ids, None, told, names_beside(path, matrix.shape[1]))


def _svmlight(path: str | os.PathLike[str]) -> DataSet:
    try:
        matrix, labels = load_svmlight_file(io.BytesIO(read_bytes(path)))
    except (ValueError, TypeError, OverflowError) as error:
        raise FileError(f"{path}: cannot be read as svmlight ({in_short(error)}); write it anew") from error
    told: list[str | None] = [f"{label:g}" for label in labels]
    return DataSet(matrix, None, None, told if len(set(told)) > 1 else None)


def _anndata(path: Path) -> DataSet:
    try:
        import anndata
    except ModuleNotFoundError:
        raise missing("anndata", "anndata", path) from None
    if not path.is_file():
        raise FileError(f"{path}: there is no such file; check the name and the folder")
    try:
        cells = anndata.read_h5ad(path)
    except Exception as error:  # whatever HDF5 and anndata raise between them
        raise FileError(f"{path}: cannot be read as .h5ad ({in_short(error)}); write it anew") from error
    if cells.X is None:
        raise FileError(f"{path}: has no matrix X")
    ids = cells.obs_names.tolist()
    labels = [None if value != value else str(value) for value in cells.obs["label"]] if "label" in cells.obs else None
    matrix = cells.X if sp.issparse(cells.X) else np.asarray(cells.X)
    return DataSet(matrix, ids if len(set(ids)) == len(ids) else None, None, labels, cells.var_names.tolist())


def _numbers(table: Table, id: str | None, label: str | None) -> DataSet:
    """A table without text: its numeric columns are the features."""
    ids = cell_ids(table, id)
    named = {id or "id", label or "label"}
    if label is not None and label not in table.columns:
        raise FileError(f"{table.path}: has no column {label!r}; it has {', '.join(table.columns)}")
    names = [name for name in table.columns if name not in named]
    if not names:
        raise FileError(f"{table.path}: has neither a column of text nor columns of numbers")
    matrix = np.column_stack([_column(table, name) for name in names])
    known = table.columns.get(label or "label")
    labels = None if known is None else [None if value is None else str(value) for value in known]
    return DataSet(matrix, ids, None, labels, names)


def _column(table: Table, name: str) -> np.ndarray:
    values = np.empty(table.n_rows)
    for row, value in enumerate(table.columns[name]):
        try:
            values[row] = float(value)
        except (TypeError, ValueError):
            raise InputError(
                f"{table.place(row)}: {name} = {value!r} is no number; if it is text, say --text {name}, if it names "
                f"the row --id {name}"
            ) from None
    return values
