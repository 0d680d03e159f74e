"""Texts with ids, and known classes where there are any: JSON lines, CSV, Parquet, a folder or standard input."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hmrf_fast.errors import FileError, InputTypeError
from hmrf_fast.io.blocks import ROWS
from hmrf_fast.io.sources import read_text
from hmrf_fast.io.tables import Table, read_table, table_blocks

__all__ = ["TEXT_COLUMNS", "RowNames", "TextCells", "Texts", "read_texts", "stream_texts", "texts_of"]

TEXT_COLUMNS = ("text", "body", "content", "message", "document", "abstract", "title")


class Texts(NamedTuple):
    """Texts in the order of the file.

    Attributes
    ----------
    texts : list of n str
    ids : list of n str, or None
        None: the rows have numbers only.
    labels : list of n str or None, or None
        Known classes.
    """

    texts: list[str]
    ids: list[str] | None
    labels: list[str | None] | None


def read_texts(
    path: str | os.PathLike[str],
    *,
    text: str | None = None,
    id: str | None = None,
    label: str | None = None,
    file_format: str | None = None,
    encoding: str = "utf-8",
) -> Texts:
    """Read texts.

    Parameters
    ----------
    path : path-like
        A file of JSON lines, CSV, Parquet or plain lines, packed with gzip or not; a folder of text files, whose ids
        are their paths and whose classes the folders they lie in; "-" for standard input.
    text : str, optional
        Name of the column with the text; several, separated by commas, are put together. By default the first there is
        of text, body, content, message, document, abstract, title.
    id, label : str, optional
        Names of the columns with ids and classes; by default "id" and "label", if there are such.
    file_format : {"jsonl", "csv", "tsv", "parquet", "lines"}, optional
        By default what the name, or else the content, says.
    encoding : str, default="utf-8"

    Returns
    -------
    Texts

    Raises
    ------
    FileError
        Something is missing, repeated or unreadable; the message names the line.
    """
    if Path(path).is_dir():
        return _folder(Path(path), encoding)
    table = read_table(path, file_format=file_format, encoding=encoding)
    return texts_of(table, text, id, label)


def stream_texts(
    path: str | os.PathLike[str],
    *,
    text: str | None = None,
    file_format: str | None = None,
    encoding: str = "utf-8",
) -> Iterator[str]:
    """Read texts one by one, for corpora that do not fit into memory.

    Parameters
    ----------
    path : path-like
        A file as for `read_texts`; of a folder there is no stream.
    text, file_format, encoding
        As for `read_texts`.

    Yields
    ------
    str

    Raises
    ------
    FileError
        As for `read_texts`.
    """
    cells = TextCells(text)
    for table in table_blocks(path, ROWS, file_format, encoding):
        yield from cells.of(table)


def texts_of(table: Table, text: str | None = None, id: str | None = None, label: str | None = None) -> Texts:
    """The texts in a table that was read; see `read_texts`."""
    texts, known = TextCells(text).of(table), RowNames(id, label)
    known.add(table)
    return Texts(texts, **known.fields())


class TextCells:
    """The texts of a table that comes in one block or in many.

    Parameters
    ----------
    text : str or None
        The columns, given or the usual one.

    Raises
    ------
    InputTypeError
        If it is no text.
    """

    def __init__(self, text: str | None):
        if not isinstance(text, str | None):
            raise InputTypeError(f"text must be the name of a column, or several separated by commas, got {text!r}")
        self._given = bool(text)
        self._names = text.split(",") if text else []
        self._seen: set[str] = set()

    def of(self, table: Table) -> list[str]:
        """The texts of all rows of a block, of several columns put together; refuses a table without."""
        if not table.n_rows and not self._seen:
            raise FileError(f"{table.path}: holds no rows; give a file with some")
        if not self._given:
            self._names = self._usual(table)
        alone = len(self._names) == 1
        parts = [_strings(table, name, required=alone, later=name in self._seen) for name in self._names]
        self._seen.update(self._names)
        return ["\n".join(one or "" for one in cells) for cells in zip(*parts, strict=True)]

    def _usual(self, table: Table) -> list[str]:
        """The first usual column that there is. Seen whole, a file is read by the first of all its rows; so one that is
        there in later blocks only is refused, as it is refused there for its empty cells."""
        here = [name for name in TEXT_COLUMNS if name in table.columns]
        if self._names:
            before = [name for name in here if TEXT_COLUMNS.index(name) < TEXT_COLUMNS.index(self._names[0])]
            if before:
                raise FileError(
                    f"{table.place_of(before[0])}: has a column {before[0]!r}, which the rows before lack; name the "
                    "column with the text (--text)"
                )
            return self._names
        if not here:
            raise FileError(
                f"{table.path}: has no column {', '.join(TEXT_COLUMNS[:-1])} or {TEXT_COLUMNS[-1]}, but "
                f"{', '.join(table.columns)}; name the one with the text (--text)"
            )
        return here[:1]


class RowNames:
    """Ids and classes of the rows of a table that comes in one block or in many.

    Parameters
    ----------
    id, label : str or None
        The columns; by default "id" and "label", if there are such.
    """

    def __init__(self, id: str | None, label: str | None):
        self._id, self._label = id, label
        self.columns = {id or "id", label or "label"}
        self._ids: list[Any] = []
        self._labels: list[str | None] = []
        self._has_labels = False
        self._lines: list[int] = []
        self._rows = Table("", {}, None, 0)  # all of them, to say where one stands

    def add(self, table: Table) -> None:
        """Keep what a block says of its rows."""
        began = bool(self._rows.n_rows)
        if self._id is None and "id" in table.columns:
            if began:  # as if all blocks were one
                raise _no_cell(self._rows, 0, "id")
            self._id = "id"
        if self._id is not None:
            self._ids += _strings(table, self._id, required=True, later=began)
        # A class that is asked for must be there, but not in every block: JSON leaves out what a row has not.
        name = self._label or "label"
        here = name in table.columns
        self._labels += _strings(table, name, required=False) if here else [None] * table.n_rows
        self._has_labels |= here
        self._lines += table.lines or ()
        lines = None if table.lines is None else self._lines
        self._rows = Table(table.path, table.columns, lines, self._rows.n_rows + table.n_rows)

    def fields(self) -> dict[str, Any]:
        """Ids, checked to be distinct, and labels; None where there are none."""
        seen: dict[Any, int] = {}
        for row, value in enumerate(self._ids):
            if seen.setdefault(value, row) != row:
                raise FileError(
                    f"{self._rows.place(row)}: id {value!r} was used before ({self._rows.place(seen[value])}); ids "
                    "must be distinct"
                )
        if self._label is not None and not self._has_labels:
            raise _no_column(self._rows, self._label)
        return {"ids": self._ids if self._id else None, "labels": self._labels if self._has_labels else None}


def _strings(table: Table, name: str, required: bool, later: bool = False) -> list[str | None]:
    """The cells of a column; of a ``later`` block it may be missing, as JSON leaves out what rows have not."""
    if name not in table.columns and not later:
        raise _no_column(table, name)
    found: list[str | None] = []
    for row, value in enumerate(table.columns.get(name, [None] * table.n_rows)):
        if isinstance(value, (dict, list)):
            raise FileError(f"{table.place(row)}: {name} is no text but a {type(value).__name__}; name another column")
        if value is None and required:
            raise _no_cell(table, row, name)
        found.append(None if value is None else str(value))
    return found


def _no_cell(table: Table, row: int, name: str) -> FileError:
    return FileError(f"{table.place(row)}: has no {name}; fill it in or leave the row out")


def _no_column(table: Table, name: str) -> FileError:
    return FileError(f"{table.path}: has no column {name!r}; name one that it has: {', '.join(table.columns)}")


def _folder(folder: Path, encoding: str) -> Texts:
    try:
        paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    except OSError as error:
        raise FileError(
            f"{error.filename or folder}: {error.strerror or error}; give a folder of readable files"
        ) from error
    if not paths:
        raise FileError(f"{folder}: holds no files; give a folder of text files")
    texts = [read_text(path, encoding) for path in paths]
    ids = [path.relative_to(folder).as_posix() for path in paths]
    labels: list[str | None] = [path.parent.name if path.parent != folder else None for path in paths]
    return Texts(texts, ids, labels if any(labels) else None)
