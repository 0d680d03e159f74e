"""Bytes from wherever they are: a file, standard input, gzip or not, as text that is known to be text."""

from __future__ import annotations

import codecs
import contextlib
import errno
import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, AnyStr

from hmrf_fast.errors import FileError, in_short
from hmrf_fast.memory import refuse_without

__all__ = ["STDIN", "byte_pieces", "kind_of", "line_pieces", "missing", "no_such_file", "read_bytes", "read_text",
           "text_lines"]  # fmt: skip

STDIN = "-"
PIECE = 1 << 26  # of what is read at once
BYTES = 1 << 24  # of what is read block by block
LONGEST_LINE = PIECE  # bytes; whatever has longer ones, such as a pipe that never ends a line, is no text
TEXT = 1 << 22  # of bytes, whose letters take four each while lines are looked for
_GZIP = b"\x1f\x8b"


def byte_pieces(path: str | os.PathLike[str], size: int) -> Iterator[bytes]:
    """The content of a file, or of standard input for "-", ``size`` bytes at a time; unpacked if it is gzip, whatever
    its name."""
    try:
        with _opened(path) as file:
            while piece := file.read(size):
                yield piece
    except FileNotFoundError:
        raise no_such_file(path) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FileError(
            f"{path}: its gzip content is damaged or cut short ({in_short(error)}); copy it again"
        ) from error
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from error


def read_bytes(path: str | os.PathLike[str], *, lines: bool = True) -> bytes:
    """The content of a file, or of standard input for "-"; unpacked if it is gzip, whatever its name.

    Raises
    ------
    FileError
        If it cannot be read, or should be lines and has one that is longer than `LONGEST_LINE`.
    NotEnoughMemoryError
        If it holds more than there is memory.
    """
    pieces = _that_fit(path, byte_pieces(path, PIECE))
    return b"".join(_of_short_lines(path, pieces) if lines else pieces)


def line_pieces(path: str | os.PathLike[str], piecewise: bool) -> Iterator[bytes]:
    """The content of a file in pieces of whole lines, at least one, or all of it as one piece."""
    if not piecewise:
        yield read_bytes(path)
        return
    pieces = _whole_lines(_of_short_lines(path, byte_pieces(path, BYTES)), b"\n")
    yield next(pieces, b"")
    yield from pieces


def _whole_lines(pieces: Iterator[AnyStr], newline: AnyStr) -> Iterator[AnyStr]:
    """The same in pieces that end where lines do."""
    nothing, rest = newline[:0], [newline[:0]]
    for piece in pieces:
        end = piece.rfind(newline) + 1
        if end:
            rest.append(piece[:end])
            yield nothing.join(rest)
            rest = []
        rest.append(piece[end:])
    if any(rest):
        yield nothing.join(rest)


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[Any]:
    """A file to read bytes from, unpacked if they are packed."""
    with contextlib.nullcontext(sys.stdin.buffer) if str(path) == STDIN else _source(path).open("rb") as file:
        head = file.read(len(_GZIP))
        rejoined: Any = _Rejoined(head, file)
        if head != _GZIP:
            yield rejoined
            return
        with gzip.GzipFile(fileobj=rejoined, mode="rb") as unpacked:
            yield unpacked


class _Rejoined:
    """A file whose first bytes were read already: pipes cannot go back."""

    def __init__(self, head: bytes, file: Any):
        self._head, self._file = head, file

    def read(self, size: int) -> bytes:
        head, self._head = self._head, b""
        return head + self._file.read(max(size - len(head), 0))


def _source(path: str | os.PathLike[str]) -> Path:
    """A file or a pipe; devices may never end."""
    if "\0" in os.fspath(path):
        raise OSError(errno.EINVAL, "a zero byte is in the name")
    file = Path(path)
    if (file.is_char_device() or file.is_block_device()) and not os.fspath(path).startswith(("/dev/stdin", "/dev/fd/")):
        raise OSError(errno.EINVAL, "is a device; give a file")
    return file


def _that_fit(path: str | os.PathLike[str], pieces: Iterator[AnyStr]) -> Iterator[AnyStr]:
    """All pieces, as long as there is memory for them: pipes do not say how much they hold, and a small file may unpack
    to more than there is memory."""
    size = 0
    for piece in pieces:
        size += len(piece)
        refuse_without(f"{path}", 2 * size, "its content")  # twice while the pieces are joined
        yield piece


def _of_short_lines(path: str | os.PathLike[str], pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same pieces, as long as no line is too long."""
    ended, open_line = 0, 0
    for piece in pieces:
        ended, open_line = _measured(path, piece, ended, open_line)
        yield piece


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
    return "".join(_that_fit(path, _decoded(path, encoding, PIECE)))


def text_lines(path: str | os.PathLike[str], encoding: str, piecewise: bool) -> Iterator[str]:
    """The lines of a file with the "\\n" that ends them. All that is read is kept by who asks, unless ``piecewise``."""
    pieces = _decoded(path, encoding, TEXT)
    for piece in _whole_lines(pieces if piecewise else _that_fit(path, pieces), "\n"):
        yield from io.StringIO(piece, "\n")


def _decoded(path: str | os.PathLike[str], encoding: str, size: int) -> Iterator[str]:
    decoder, line = _decoder(encoding), 1
    try:
        for piece in _of_short_lines(path, byte_pieces(path, size)):
            yield decoder.decode(piece)
            line += piece.count(b"\n")
        yield decoder.decode(b"", final=True)
    except UnicodeError as error:
        content, start = getattr(error, "object", b"\0"), getattr(error, "start", 0)
        line += content.count(b"\n", 0, start)
        raise FileError(
            f"{path}, line {line}: byte 0x{content[start]:02x} is not {encoding}; convert the file, or name its "
            "encoding (--encoding, often latin-1 or cp1252)"
        ) from None


def _decoder(encoding: str) -> codecs.IncrementalDecoder:
    """What turns bytes into text, piece by piece."""
    name = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    try:
        with contextlib.suppress(UnicodeError):
            b"    ".decode(name)  # refuses codecs of other things than text
        return codecs.getincrementaldecoder(name)()
    except LookupError:
        raise FileError(f"encoding {encoding!r} is unknown; utf-8, latin-1 and cp1252 are usual") from None


def kind_of(path: str | os.PathLike[str]) -> str:
    """The ending of a name in small letters, without ".gz": "jsonl", "csv", ...; "" without one."""
    name = Path(path).name.lower().removesuffix(".gz")
    return Path(name).suffix.removeprefix(".")


def missing(package: str, extra: str, path: str | os.PathLike[str]) -> FileError:
    """What to say where an optional package is not installed."""
    return FileError(f'{path}: needs {package}: pip install "hmrf_fast[{extra}]"')


def no_such_file(path: str | os.PathLike[str]) -> FileError:
    """What to say of a name that leads nowhere."""
    return FileError(f"{path}: there is no such file; check the name and the folder")
