"""Rows to cluster with everything that is known of them, in memory and as a folder."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from hmrf_fast.atomic import replace_file
from hmrf_fast.errors import FileError, InputError, in_short
from hmrf_fast.io.matrix_file import read_npz
from hmrf_fast.io.sources import read_bytes
from hmrf_fast.io.tables import read_table
from hmrf_fast.io.vectorizing import TextVectorizer
from hmrf_fast.rows.disk import DiskRows

__all__ = ["DataSet", "is_dataset_folder", "load_folder"]

FORMAT, VERSION = "hmrf_fast data set", 1
ABOUT, MATRIX, ROWS = "about.json", "matrix.npz", "rows.jsonl.gz"


@dataclass(eq=False, repr=False)
class DataSet:
    """Rows, and what people need to recognise them.

    As a folder it is ``matrix.npz`` (of :func:`scipy.sparse.save_npz`), ``rows.jsonl.gz`` (id, label and text of every
    row, one JSON object per line) and ``about.json`` (format, sizes, feature names, vectorizer).

    Attributes
    ----------
    matrix : {csr_matrix, ndarray, DiskRows} of shape (n, d)
        Of rows on disk, the folder says where they lie, unless it is the store itself.
    ids : list of n str, or None
        The rows' own names; all distinct.
    texts : list of n str, or None
    labels : list of n str or None, or None
        Known classes, for comparisons; a fit does not look at them.
    feature_names : list of d str, or None
    vectorizer : TextVectorizer or None
        What made the rows of texts.
    folder : Path or None
        Where it was read from, if from a folder of its own.
    """

    matrix: Any
    ids: list[str] | None = None
    texts: list[str] | None = None
    labels: list[str | None] | None = None
    feature_names: list[str] | None = None
    vectorizer: TextVectorizer | None = None
    folder: Path | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        n_rows, n_features = self.matrix.shape
        known = {"ids": self.ids, "texts": self.texts, "labels": self.labels, "feature names": self.feature_names}
        place = ["on disk"] if isinstance(self.matrix, DiskRows) else []
        there = [name for name, values in known.items() if values is not None]
        return f"DataSet({', '.join([f'{n_rows} rows x {n_features} features', *place, *there])})"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.matrix.shape[0]

    def in_memory(self) -> Any:
        """The matrix, read into memory if its rows are on disk.

        Returns
        -------
        {csr_matrix, ndarray} of shape (n, d)
        """
        return self.matrix.to_csr() if isinstance(self.matrix, DiskRows) else self.matrix

    @property
    def features(self) -> list[str]:
        """A name for each of the d features, made of its number where none were given."""
        return self.feature_names or [f"feature {column}" for column in range(self.matrix.shape[1])]

    def without_empty(self) -> DataSet:
        """The same without rows that hold nothing but zeros.

        Returns
        -------
        DataSet
            Rows that had no ids get their former numbers as ids.

        Raises
        ------
        InputError
            If no row is left.
        """
        matrix = sp.csr_matrix(self.in_memory())
        kept = np.flatnonzero((matrix != 0).getnnz(axis=1))
        if not kept.size:
            raise InputError(f"all {self.n_rows} rows are empty")
        if kept.size == self.n_rows:
            return self

        def part(values: list[Any] | None) -> list[Any] | None:
            return None if values is None else [values[row] for row in kept.tolist()]

        ids = part(self.ids) or [str(row) for row in kept.tolist()]
        return replace(
            self, matrix=matrix[kept], ids=ids, texts=part(self.texts), labels=part(self.labels), folder=None
        )

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the folder; files of the same names are replaced.

        Parameters
        ----------
        folder : path-like

        Raises
        ------
        FileError
            If it cannot be written.
        """
        folder = Path(folder)
        about = {
            "format": FORMAT,
            "version": VERSION,
            "n_rows": self.n_rows,
            "n_features": self.matrix.shape[1],
            "columns": list(self._columns()),
            "store": self._store(folder),
            "feature_names": None if self.vectorizer else self.feature_names,
            "vectorizer": None if self.vectorizer is None else asdict(self.vectorizer),
        }
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if self.folder is not None and self.folder.resolve() != folder.resolve():
                for name in (MATRIX, ROWS) if about["store"] is None else (ROWS,):
                    _link(self.folder / name, folder / name)
            else:
                if about["store"] is None:
                    replace_file(folder / MATRIX, lambda file: sp.save_npz(file, sp.csr_matrix(self.matrix)))
                replace_file(folder / ROWS, lambda file: file.write(gzip.compress(self._lines(), 6, mtime=0)))
            replace_file(folder / ABOUT, lambda file: file.write(json.dumps(about).encode("ascii")))
        except OSError as error:
            raise FileError(
                f"{folder}: cannot be written to ({error.strerror or error}); choose another place"
            ) from error

    def _store(self, folder: Path) -> str | None:
        """Where rows on disk lie, as ``folder`` tells it: "." in their own, so that it may be moved."""
        if not isinstance(self.matrix, DiskRows):
            return None
        return "." if self.matrix.path == folder.resolve() else str(self.matrix.path)

    def kept_in_store(self) -> DataSet:
        """The same, with ids, classes and names of features written down in the store that holds the rows.

        Returns
        -------
        DataSet

        Raises
        ------
        FileError
            If they cannot be written; the store is removed then, since its rows would be taken for others.
        """
        if self._columns() or self.feature_names:
            try:
                self.save(self.matrix.path)
            except BaseException:
                shutil.rmtree(self.matrix.path, ignore_errors=True)
                raise
        return self

    def check_features(self, other: DataSet) -> None:
        """Refuse to compare with rows of other features.

        Parameters
        ----------
        other : DataSet

        Raises
        ------
        InputError
            If both have names of features and these differ, or their numbers do; the message names the first.
        """
        size, expected = self.matrix.shape[1], other.matrix.shape[1]
        mine, theirs = self.feature_names, other.feature_names
        if mine is not None and theirs is not None and mine != theirs:
            name = next((pair for pair in zip(mine, theirs, strict=False) if pair[0] != pair[1]), None)
            told = "" if name is None else f"; the first that differs is {name[0]!r}, not {name[1]!r}"
            raise InputError(
                f"these rows have {size} features, the model {expected} others{told}: give texts, which are counted "
                "with the model's vocabulary, or the same columns in the same order"
            )
        if size != expected:
            raise InputError(f"these rows have {size} features, the model {expected}: give the same columns")

    def _columns(self) -> dict[str, list[Any]]:
        """What is known of the rows besides the matrix."""
        named: dict[str, list[Any] | None] = {"id": self.ids, "label": self.labels, "text": self.texts}
        return {name: values for name, values in named.items() if values is not None}

    def _lines(self) -> bytes:
        """Every row as a line of JSON; keys that no row has are left out."""
        columns = self._columns()
        lines = (json.dumps(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True))
        return "".join(f"{line}\n" for line in lines).encode("ascii")


def is_dataset_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a folder is one that `DataSet.save` wrote."""
    return (Path(path) / ABOUT).is_file()


def load_folder(path: str | os.PathLike[str]) -> DataSet:
    """Read what `DataSet.save` wrote.

    Raises
    ------
    FileError
        If something in it is missing or does not fit together.
    """
    folder = Path(path)
    try:
        about = json.loads(read_bytes(folder / ABOUT))
        if about.get("format") != FORMAT:
            raise FileError(f"{folder / ABOUT}: is no {FORMAT}")
        if about["version"] > VERSION:
            raise FileError(f"{folder}: was written by a newer hmrf_fast; update hmrf_fast")
        shape = about["n_rows"], about["n_features"]
        told = about["vectorizer"]
        vectorizer = None if told is None else TextVectorizer(**told)
        store = None if about.get("store") is None else folder / about["store"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(
            f"{folder / ABOUT}: is damaged ({in_short(error)}); vectorize or convert the data again"
        ) from error
    matrix = read_npz(folder / MATRIX) if store is None else DiskRows(store)
    columns = read_table(folder / ROWS).columns
    names = about["feature_names"] if vectorizer is None else vectorizer.terms
    lengths = [len(values) for values in columns.values()]
    missing = set(about.get("columns", ())) - set(columns)
    if missing:
        raise FileError(
            f"{folder / ROWS}: lacks the {', '.join(sorted(missing))} of its rows; vectorize or convert the data again"
        )
    if matrix.shape != shape or set(lengths) - {shape[0]} or (names is not None and len(names) != shape[1]):
        raise FileError(
            f"{folder}: its files do not belong together (matrix {matrix.shape[0]} x {matrix.shape[1]}, "
            f"{lengths[0] if lengths else 0} rows of text, {shape[0]} x {shape[1]} expected); vectorize or convert "
            "the data again"
        )
    return DataSet(matrix, columns.get("id"), columns.get("text"), columns.get("label"), names, vectorizer, folder)


def _link(source: Path, target: Path) -> None:
    """A second name for the same file where the disk allows it, else a copy: files are replaced, never changed."""
    partial = target.with_name(f".{target.name}.new")
    partial.unlink(missing_ok=True)
    try:
        os.link(source, partial)
    except OSError:
        shutil.copyfile(source, partial)
    os.replace(partial, target)
