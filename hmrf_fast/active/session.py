"""A session on disk: one JSON object per line, appended and synchronised after every answer.

The first line names the format, the learner with its parameters, and digests of the data; every further line is one
answer, or takes the last one back. A line that a crash cut short is dropped when the file is read again.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from hmrf_fast.active.questions import Answer, Placement, Question
from hmrf_fast.atomic import file_at, replace_file
from hmrf_fast.errors import SessionError, TornSessionWarning

FORMAT, VERSION = "hmrf_fast active session", 1


def digest(*arrays: np.ndarray) -> str:
    """Short hexadecimal digest of arrays' shapes and content."""
    summary = hashlib.sha256()
    for array in arrays:
        summary.update(repr((array.shape, array.dtype.str)).encode())
        summary.update(np.ascontiguousarray(array).tobytes())
    return summary.hexdigest()[:32]


class SessionFile:
    """The file of one session, ready for further answers.

    Parameters
    ----------
    path : path-like
        A new file is created with the header; an existing one must have the same header.
    header : dict
        What must agree, as JSON values, ``n_rows`` and ``seed`` among them.
    any_seed : bool, default=False
        Take the seed of an existing file, whatever it is.

    Attributes
    ----------
    header : dict
    entries : list of (Question, Answer)
        The answers of the file, those taken back left out.

    Raises
    ------
    SessionError
        If the file is not a session, or is one of other data or parameters, or cannot be read or written.

    Warns
    -----
    TornSessionWarning
        If the last line was cut short; it is removed from the file.
    """

    def __init__(self, path: str | os.PathLike[str], header: dict[str, Any], any_seed: bool = False) -> None:
        self.header = {"format": FORMAT, "version": VERSION, **header}
        self.entries: list[tuple[Question, Answer]] = []
        self._any_seed = any_seed
        try:
            file_at(path)
            self.path = Path(path)
            content = self.path.read_bytes() if self.path.exists() else b""
            if content:
                self._read(content)
            else:
                self._create()
        except OSError as error:
            raise SessionError(f"{os.fspath(path)!r}: {error.strerror or error}") from error

    def append(self, question: Question, answer: Answer) -> None:
        """Write one answer and wait until it is on the disk."""
        if isinstance(question, Placement):
            self._write({"row": question.row, "among": list(question.among), "answer": answer})
        else:
            self._write({"pair": list(question), "answer": answer})

    def append_undo(self) -> None:
        """Write that the last answer is taken back."""
        self._write({"undo": True})

    def _create(self) -> None:
        replace_file(self.path, lambda file: file.write(_line(self.header)))
        self._size = self.path.stat().st_size

    def _read(self, content: bytes) -> None:
        *lines, rest = content.split(b"\n")
        if not lines:
            raise SessionError(f"{self.path} is not a session file: its first line has no end")
        self._compare(parse_object(lines[0], f"{self.path}, line 1", SessionError))
        torn = bool(rest)
        for number, line in enumerate(lines[1:], start=2):
            self._take(parse_object(line, f"{self.path}, line {number}", SessionError), f"{self.path}, line {number}")
        self._size = len(content) - len(rest)
        if torn:
            warnings.warn(
                f"{self.path}: the last line was cut short and is dropped ({rest[:60]!r}); its question will be asked "
                "again",
                TornSessionWarning,
                stacklevel=6,
            )
            os.truncate(self.path, self._size)

    def _compare(self, found: dict[str, Any]) -> None:
        if found.get("format") != FORMAT:
            raise SessionError(f"{self.path} is not a session file: its first line names no {FORMAT!r}")
        for name, wanted in self.header.items():
            if name == "seed" and self._any_seed and type(found.get("seed")) is int:
                continue
            if found.get(name) != wanted:
                raise SessionError(
                    f"{self.path} is a session with {name} = {found.get(name)!r}, here it is {wanted!r}: "
                    "use the same data and parameters, or another file"
                )
        self.header = found

    def _take(self, record: dict[str, Any], where: str) -> None:
        if record.get("undo") is True and self.entries:
            self.entries.pop()
            return
        n_rows, answer, row = self.header["n_rows"], record.get("answer"), record.get("row")
        pair, among = record.get("pair", ()), record.get("among", ())
        known = answer is None or type(answer) is int
        if _are_rows(pair, n_rows) and len(set(pair)) == len(pair) == 2 and known and answer in (-1, 0, 1):
            self.entries.append(((pair[0], pair[1]), answer))
            return
        if isinstance(row, int) and _are_rows([row], n_rows) and _are_rows(among, n_rows) and among and known:
            distinct = len({row, *among}) == 1 + len(among)
            if distinct and self.header["placements"] and (answer is None or -1 <= answer < len(among)):
                self.entries.append((Placement(row, tuple(among)), answer))
                return
        raise SessionError(f"{where}: {json.dumps(record)[:80]} is no answer")

    def _write(self, record: dict[str, Any]) -> None:
        line = _line(record)
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND)
            try:
                if os.fstat(handle).st_size != self._size:
                    raise SessionError(
                        f"{self.path} was changed by somebody else since it was read; start anew from it"
                    )
                written = os.write(handle, line)
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise SessionError(f"{self.path}: {error.strerror or error}; the answer was not saved") from error
        if written != len(line):  # a full disk: the torn line is dropped when the file is read
            raise SessionError(f"{self.path}: only {written} of {len(line)} bytes could be written")
        self._size += written


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"


def parse_object(line: bytes | str, where: str, error: type[Exception]) -> dict[str, Any]:
    """A line of JSON that must be an object; anything else raises ``error``, naming where it stands."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise error(f"{where}: {line[:60]!r} is not a JSON object")
    return record


def _are_rows(values: Any, n_rows: int) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < n_rows for value in values)
