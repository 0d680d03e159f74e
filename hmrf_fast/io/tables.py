"""Tables with named columns: CSV, JSON lines and Parquet; cells that are read know the place where they stand."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from hmrf_fast.atomic import replace_file
from hmrf_fast.errors import FileError, HMRFError, in_short
from hmrf_fast.io.blocks import ROWS
from hmrf_fast.io.cell_sizes import CELL, unpacked_bytes
from hmrf_fast.io.sources import STDIN, kind_of, missing, no_such_file, read_bytes, text_lines
from hmrf_fast.memory import refuse_without

__all__ = ["FORMATS", "Table", "read_table", "table_blocks", "write_table"]

FORMATS = {
    "jsonl": "jsonl", "ndjson": "jsonl", "json": "jsonl", "csv": "csv", "tsv": "tsv", "parquet": "parquet",
    "pq": "parquet", "txt": "lines", "text": "lines",
}  # fmt: skip


class Table(NamedTuple):
    """Rows of a file."""

    path: str
    columns: dict[str, list[Any]]  # None where a cell is empty
    lines: list[int] | None  # of the file, for each row; None if the format has none
    n_rows: int
    first: int = 0  # the number of its first row in the file

    def place(self, row: int) -> str:
        """Where a row stands, for messages."""
        return f"{self.path}, row {self.first + row}" if self.lines is None else f"{self.path}, line {self.lines[row]}"

    def place_of(self, name: str) -> str:
        """Where a column has its first value."""
        return self.place(next((row for row, value in enumerate(self.columns[name]) if value is not None), 0))


def read_table(
    path: str | os.PathLike[str],
    *,
    file_format: str | None = None,
    encoding: str = "utf-8",
    headers: Collection[str] = (),
    headerless: Sequence[Sequence[str]] = (),
    expected: str = "",
) -> Table:
    """Read a table.

    Parameters
    ----------
    path : path-like
        "-" is standard input.
    file_format : {"jsonl", "csv", "tsv", "parquet", "lines"}, optional
        By default what the name says, and for names that say nothing what the content looks like. "lines" is one
        column "text" with one row per line.
    encoding : str, default="utf-8"
    headers, headerless : optional
        CSV may lack its line of names: then it has as many columns as one of ``headerless``, and takes those names.
        A first line with one of ``headers`` is a line of names.
    expected : str, optional
        What to say of a first line of neither kind.

    Returns
    -------
    Table

    Raises
    ------
    FileError
        If it cannot be read so; the message names the line.
    """
    return next(table_blocks(path, None, file_format, encoding, headers, headerless, expected))


def table_blocks(
    path: str | os.PathLike[str],
    n_rows: int | None,
    file_format: str | None = None,
    encoding: str = "utf-8",
    headers: Collection[str] = (),
    headerless: Sequence[Sequence[str]] = (),
    expected: str = "",
) -> Iterator[Table]:
    """The same, at most ``n_rows`` at a time; at least one table, which may be empty."""
    form = file_format or FORMATS.get(kind_of(path))
    if form == "parquet":
        yield from _parquet(path, n_rows)
        return
    lines = text_lines(path, encoding, n_rows is not None)
    if form is None:
        blank = [next(lines, "")]
        while not blank[-1].strip() and (line := next(lines, "")):
            blank.append(line)
        form = "jsonl" if blank[-1].lstrip()[:1] == "{" else "csv" if headerless else "lines"
        lines = chain(blank, lines)
    if form == "jsonl":
        yield from (_table_of(path, part) for part in _cut(_records(path, lines), n_rows))
    elif form == "lines":
        numbered = ((n, line.rstrip("\r\n")) for n, line in enumerate(lines, start=1) if line.strip())
        yield from (_table_of(path, part) for part in _cut(((n, {"text": one}) for n, one in numbered), n_rows))
    else:
        ends = (part for line in lines for part in io.StringIO(line, ""))  # "\r" may end lines, too
        cells = _cells(path, ends, "\t" if form == "tsv" else ",", headers, headerless, expected)
        _, names = next(cells, (0, []))
        for part in _cut(cells, n_rows):
            rows = list(part)
            columns = {name: [row[k] or None for _, row in rows] for k, name in enumerate(names)}
            yield Table(str(path), columns, [line for line, _ in rows], len(rows))


def _cut(records: Iterator[Any], n_rows: int | None) -> Iterator[Iterator[Any]]:
    """At most so many records at a time, all of them without a number; empty only where there are none."""
    if n_rows is None:
        yield records
        return
    yield islice(records, n_rows)
    for record in records:
        yield chain([record], islice(records, n_rows - 1))


def _table_of(path: str | os.PathLike[str], records: Iterable[tuple[int, dict[str, Any]]]) -> Table:
    """Records with the numbers of their lines as columns of one length."""
    columns: dict[str, list[Any]] = {}
    lines: list[int] = []
    for number, record in records:
        for name, value in record.items():
            columns.setdefault(name, [None] * len(lines)).append(value)
        lines.append(number)
        for values in columns.values():
            if len(values) < len(lines):
                values.append(None)
    return Table(str(path), columns, lines, len(lines))


def _records(path: str | os.PathLike[str], lines: Iterable[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """JSON objects. Lines end with "\\n" alone: texts may hold other characters that end lines, which JSON does not
    escape."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            told = f"{line.strip()[:60]!r} is not JSON ({in_short(error)}); one object per line is expected"
            raise FileError(f"{path}, line {number}: {told}") from None
        if not isinstance(record, dict):
            raise FileError(f"{path}, line {number}: {line.strip()[:60]!r} is no JSON object; one per line is expected")
        yield number, record


def _cells(
    path: str | os.PathLike[str],
    lines: Iterable[str],
    delimiter: str,
    headers: Collection[str],
    headerless: Sequence[Sequence[str]],
    expected: str,
) -> Iterator[tuple[int, list[str]]]:
    """The names of the columns, with 0, then the cells of each row with the number of its line."""
    names: list[str] | None = None
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while (cells := _next_row(path, reader)) is not None:
        stripped = [cell.strip() for cell in cells]
        if not any(stripped) or (headerless and stripped[0].startswith("#")):
            continue
        place = f"{path}, line {reader.line_num}"
        if names is None:
            lowered = [cell.lower() for cell in stripped]
            first = not headerless or bool(set(headers) & set(lowered))
            names = _names(stripped if not headerless else lowered, first, headerless, place, expected)
            yield 0, names
            if first:
                continue
        if len(cells) != len(names):
            raise FileError(
                f"{place}: {len(cells)} columns, expected {len(names)} ({','.join(names)}); put cells with commas in "
                "double quotes"
            )
        yield reader.line_num, stripped if headerless else cells


def _next_row(path: str | os.PathLike[str], reader: Iterator[list[str]]) -> list[str] | None:
    limit = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # texts are longer than the usual cell
    try:
        return next(reader, None)
    except csv.Error as error:
        raise FileError(
            f"{path}: is not a CSV text file ({in_short(error)}); save it as CSV, or say what it is (--format)"
        ) from error
    finally:
        csv.field_size_limit(limit)


def _names(cells: list[str], first: bool, headerless: Sequence[Sequence[str]], place: str, expected: str) -> list[str]:
    if first:
        if len(set(cells)) < len(cells):
            raise FileError(f"{place}: two columns have the same name ({','.join(cells)}); rename one")
        return cells
    for names in headerless:
        if len(names) == len(cells):
            return list(names)
    raise FileError(f"{place}: {len(cells)} columns, {expected}")


def _parquet(path: str | os.PathLike[str], n_rows: int | None) -> Iterator[Table]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise missing("pyarrow", "parquet", path) from None
    at_once = n_rows is None or str(path) == STDIN
    source = pyarrow.BufferReader(read_bytes(path, lines=False)) if at_once else _there(path)
    first = held = 0
    try:
        with pyarrow.parquet.ParquetFile(source) as file:
            names = file.schema_arrow.names
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise FileError(f"{path}: has two columns {twice!r}; rename one")
            whole: dict[str, list[Any]] = {name: [] for name in names}
            n_cells = len(names) * (file.metadata.num_rows if n_rows is None else 0)
            refuse_without(f"{path}", CELL * n_cells, f"{n_cells} cells")
            for batch in file.iter_batches(n_rows or ROWS):
                size = sum(map(unpacked_bytes, batch.columns))
                held = size + (held if n_rows is None else 0)
                refuse_without(f"{path}", held, "its content")
                cells = {name: one.to_pylist() for name, one in zip(names, batch.columns, strict=True)}
                if n_rows is None:
                    for name in names:
                        whole[name] += cells[name]
                else:
                    yield Table(str(path), cells, None, batch.num_rows, first)
                first += batch.num_rows
            if n_rows is None or first == 0:
                yield Table(str(path), whole, None, first)
    except HMRFError:
        raise
    except Exception as error:  # Arrow's own, and Python's for names, texts and times that are none
        raise FileError(f"{path}: cannot be read as Parquet ({in_short(error)}); write it anew") from error


def _there(path: str | os.PathLike[str]) -> str:
    if not Path(path).is_file():
        raise no_such_file(path)
    return os.fspath(path)


def write_table(path: str | os.PathLike[str], columns: Mapping[str, Iterable[Any]]) -> None:
    """Write columns of one length as CSV, or as Parquet if the name ends so.

    Raises
    ------
    FileError
        If the file cannot be written.
    """
    content = _as_parquet(path, columns) if FORMATS.get(kind_of(path)) == "parquet" else _as_csv(columns)
    try:
        replace_file(path, lambda file: file.write(content))
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({error.strerror or error}); choose another place") from error


def _as_csv(columns: Mapping[str, Iterable[Any]]) -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return stream.getvalue().encode("utf-8", errors="replace")


def _as_parquet(path: str | os.PathLike[str], columns: Mapping[str, Iterable[Any]]) -> bytes:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise missing("pyarrow", "parquet", path) from None
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table({name: list(values) for name, values in columns.items()}), sink)
    return sink.getvalue().to_pybytes()
