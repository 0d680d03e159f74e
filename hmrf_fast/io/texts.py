"""Texts with ids, and known classes where there are any: JSON lines, CSV, Parquet, a folder or standard input."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from hmrf_fast.errors import FileError
from hmrf_fast.io.sources import read_text
from hmrf_fast.io.tables import Table, read_table

__all__ = ["TEXT_COLUMNS", "Texts", "cell_ids", "read_texts", "texts_of"]

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


def texts_of(table: Table, text: str | None = None, id: str | None = None, label: str | None = None) -> Texts:
    """The texts in a table that was read; see `read_texts`."""
    if not table.n_rows:
        raise FileError(f"{table.path}: holds no rows; give a file with some")
    names = text.split(",") if text else [name for name in TEXT_COLUMNS if name in table.columns][:1]
    if not names:
        raise FileError(
            f"{table.path}: has no column {', '.join(TEXT_COLUMNS[:-1])} or {TEXT_COLUMNS[-1]}, but "
            f"{', '.join(table.columns)}; name the one with the text (--text)"
        )
    parts = [_strings(table, name, required=len(names) == 1) for name in names]
    texts = ["\n".join(one or "" for one in cells) for cells in zip(*parts, strict=True)]
    return Texts(texts, cell_ids(table, id), _labels(table, label))


def cell_ids(table: Table, name: str | None) -> list[str] | None:
    """The column of ids, checked to be distinct; None without one."""
    if name is None and "id" not in table.columns:
        return None
    ids = _strings(table, name or "id", required=True)
    seen: dict[Any, int] = {}
    for row, value in enumerate(ids):
        if seen.setdefault(value, row) != row:
            raise FileError(
                f"{table.place(row)}: id {value!r} was used before ({table.place(seen[value])}); ids must be distinct"
            )
    return ids  # type: ignore[return-value]


def _labels(table: Table, name: str | None) -> list[str | None] | None:
    if name is None and "label" not in table.columns:
        return None
    return _strings(table, name or "label", required=False)


def _strings(table: Table, name: str, required: bool) -> list[str | None]:
    if name not in table.columns:
        raise FileError(f"{table.path}: has no column {name!r}; name one that it has: {', '.join(table.columns)}")
    found: list[str | None] = []
    for row, value in enumerate(table.columns[name]):
        if isinstance(value, (dict, list)):
            raise FileError(f"{table.place(row)}: {name} is no text but a {type(value).__name__}; name another column")
        if value is None and required:
            raise FileError(f"{table.place(row)}: has no {name}; fill it in or leave the row out")
        found.append(None if value is None else str(value))
    return found


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
