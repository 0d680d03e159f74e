"""Tables with named columns: CSV, JSON lines and Parquet; cells that are read know the place where they stand."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from hmrf_fast.atomic import replace_file
from hmrf_fast.errors import FileError, in_short
from hmrf_fast.io.sources import kind_of, missing, read_bytes, read_text

__all__ = ["FORMATS", "Table", "read_table", "write_table"]

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

    def place(self, row: int) -> str:
        """Where a row stands, for messages."""
        return f"{self.path}, row {row}" if self.lines is None else f"{self.path}, line {self.lines[row]}"


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
    form = file_format or FORMATS.get(kind_of(path))
    if form == "parquet":
        return _parquet(path)
    text = read_text(path, encoding)
    if form is None:
        form = "jsonl" if text.lstrip()[:1] == "{" else "csv" if headerless else "lines"
    if form == "jsonl":
        return _json_lines(path, text)
    if form == "lines":
        numbered = [(n, line.rstrip("\r")) for n, line in enumerate(text.split("\n"), start=1) if line.strip()]
        return Table(str(path), {"text": [line for _, line in numbered]}, [n for n, _ in numbered], len(numbered))
    return _csv(path, text, "\t" if form == "tsv" else ",", headers, headerless, expected)


def _json_lines(path: str | os.PathLike[str], text: str) -> Table:
    columns: dict[str, list[Any]] = {}
    lines: list[int] = []
    # Not splitlines: texts may hold other characters that end lines, which JSON does not escape.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            told = f"{line.strip()[:60]!r} is not JSON ({in_short(error)}); one object per line is expected"
            raise FileError(f"{path}, line {number}: {told}") from None
        if not isinstance(record, dict):
            raise FileError(f"{path}, line {number}: {line.strip()[:60]!r} is no JSON object; one per line is expected")
        for name, value in record.items():
            columns.setdefault(name, [None] * len(lines)).append(value)
        lines.append(number)
        for values in columns.values():
            if len(values) < len(lines):
                values.append(None)
    return Table(str(path), columns, lines, len(lines))


def _csv(
    path: str | os.PathLike[str],
    text: str,
    delimiter: str,
    headers: Collection[str],
    headerless: Sequence[Sequence[str]],
    expected: str,
) -> Table:
    names: list[str] | None = None
    rows, lines = [], []
    limit = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # texts are longer than the usual cell
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        for cells in reader:
            stripped = [cell.strip() for cell in cells]
            if not any(stripped) or (headerless and stripped[0].startswith("#")):
                continue
            place = f"{path}, line {reader.line_num}"
            if names is None:
                lowered = [cell.lower() for cell in stripped]
                first = not headerless or bool(set(headers) & set(lowered))
                names = _names(stripped if not headerless else lowered, first, headerless, place, expected)
                if first:
                    continue
            if len(cells) != len(names):
                raise FileError(
                    f"{place}: {len(cells)} columns, expected {len(names)} ({','.join(names)}); put cells with commas "
                    "in double quotes"
                )
            rows.append(stripped if headerless else cells)
            lines.append(reader.line_num)
    except csv.Error as error:
        raise FileError(
            f"{path}: is not a CSV text file ({in_short(error)}); save it as CSV, or say what it is (--format)"
        ) from error
    finally:
        csv.field_size_limit(limit)
    columns = {name: [row[k] or None for row in rows] for k, name in enumerate(names or [])}
    return Table(str(path), columns, lines, len(rows))


def _names(cells: list[str], first: bool, headerless: Sequence[Sequence[str]], place: str, expected: str) -> list[str]:
    if first:
        if len(set(cells)) < len(cells):
            raise FileError(f"{place}: two columns have the same name ({','.join(cells)}); rename one")
        return cells
    for names in headerless:
        if len(names) == len(cells):
            return list(names)
    raise FileError(f"{place}: {len(cells)} columns, {expected}")


def _parquet(path: str | os.PathLike[str]) -> Table:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise missing("pyarrow", "parquet", path) from None
    content = read_bytes(path, lines=False)
    try:
        table = pyarrow.parquet.read_table(pyarrow.BufferReader(content))
    except (pyarrow.ArrowException, OSError) as error:
        raise FileError(f"{path}: cannot be read as Parquet ({in_short(error)}); write it anew") from error
    return Table(str(path), table.to_pydict(), None, table.num_rows)


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
