"""Bytes from wherever they are: a file, standard input, gzip or not, as text that is known to be text."""

from __future__ import annotations

import errno
import gzip
import io
import os
import sys
import zlib
from pathlib import Path
from typing import Any

from hmrf_fast.errors import FileError, in_short
from hmrf_fast.memory import refuse_without

__all__ = ["STDIN", "kind_of", "missing", "read_bytes", "read_text"]

STDIN = "-"
PIECE = 1 << 26
LONGEST_LINE = 1 << 26  # bytes; whatever has longer ones, such as a pipe that never ends a line, is no text
_GZIP = b"\x1f\x8b"


def read_bytes(path: str | os.PathLike[str], *, lines: bool = True) -> bytes:
    """The content of a file, or of standard input for "-"; unpacked if it is gzip, whatever its name.

    Raises
    ------
    FileError
        If it cannot be read, or should be lines and has one that is longer than `LONGEST_LINE`.
    NotEnoughMemoryError
        If it holds more than there is memory.
    """
    try:
        if str(path) == STDIN:
            content = _whole(sys.stdin.buffer, path, "its content", lines)
        else:
            with _source(path).open("rb") as file:
                content = _whole(file, path, "its content", lines)
    except FileNotFoundError:
        raise FileError(f"{path}: there is no such file; check the name and the folder") from None
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from error
    if not content.startswith(_GZIP):
        return content
    try:
        return _unpacked(path, content, lines)
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(
            f"{path}: its gzip content is damaged or cut short ({in_short(error)}); copy it again"
        ) from error


def _source(path: str | os.PathLike[str]) -> Path:
    """A file or a pipe; devices may never end."""
    if "\0" in os.fspath(path):
        raise OSError(errno.EINVAL, "a zero byte is in the name")
    file = Path(path)
    if (file.is_char_device() or file.is_block_device()) and not os.fspath(path).startswith(("/dev/stdin", "/dev/fd/")):
        raise OSError(errno.EINVAL, "is a device; give a file")
    return file


def _unpacked(path: str | os.PathLike[str], content: bytes, lines: bool) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
        return _whole(file, path, "its unpacked content", lines)


def _whole(file: Any, path: str | os.PathLike[str], what: str, lines: bool) -> bytes:
    """All that a file holds, piece by piece: pipes do not say how much, and a small file may unpack to more than there
    is memory."""
    pieces, size, ended, open_line = [], 0, 0, 0
    while piece := file.read(PIECE):
        pieces.append(piece)
        size += len(piece)
        refuse_without(f"{path}", 2 * size, what)  # twice while the pieces are joined
        if lines and not pieces[0].startswith(_GZIP):
            ended, open_line = _measured(path, piece, ended, open_line)
    return b"".join(pieces)


def _measured(path: str | os.PathLike[str], piece: bytes, ended: int, open_line: int) -> tuple[int, int]:
    """The number of lines that have ended after a further piece, and the bytes of the one that has not.

    No piece is longer than a line may be, so only a line that began in an earlier one can be too long.
    """
    ends = [place for place in (piece.find(b"\n"), piece.find(b"\r")) if place >= 0]
    if open_line + min(ends, default=len(piece)) > LONGEST_LINE:
        raise FileError(
            f"{path}, line {ended + 1}: is longer than {LONGEST_LINE >> 20} MiB; end lines with a line feed, or store "
            "wide rows as .npz"
        )
    if not ends:
        return ended, open_line + len(piece)
    last = max(piece.rfind(b"\n"), piece.rfind(b"\r"))
    return ended + piece.count(b"\n"), len(piece) - last - 1


def read_text(path: str | os.PathLike[str], encoding: str = "utf-8") -> str:
    """The text of a file, without a byte order mark.

    Raises
    ------
    FileError
        If it cannot be read or is not in that encoding; the message names the line.
    """
    content = read_bytes(path)
    try:
        return content.decode("utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding)
    except LookupError:
        raise FileError(f"encoding {encoding!r} is unknown; utf-8, latin-1 and cp1252 are usual") from None
    except UnicodeError as error:
        start = getattr(error, "start", 0)
        line = content.count(b"\n", 0, start) + 1
        raise FileError(
            f"{path}, line {line}: byte 0x{content[start]:02x} is not {encoding}; convert the file, or name its "
            "encoding (--encoding, often latin-1 or cp1252)"
        ) from None


def kind_of(path: str | os.PathLike[str]) -> str:
    """The ending of a name in small letters, without ".gz": "jsonl", "csv", ...; "" without one."""
    name = Path(path).name.lower().removesuffix(".gz")
    return Path(name).suffix.removeprefix(".")


def missing(package: str, extra: str, path: str | os.PathLike[str]) -> FileError:
    """What to say where an optional package is not installed."""
    return FileError(f'{path}: needs {package}: pip install "hmrf_fast[{extra}]"')
