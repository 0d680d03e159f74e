"""Arrays and a JSON header in one file that holds no code: a ``.npz`` whose members are stored as they are.

The member ``header.npy`` is a one-dimensional uint8 array, the UTF-8 bytes of a JSON object::

    {"format": ..., "version": ..., "content": {...}, "arrays": {name: {"shape", "dtype", "sha256"}}}

and ``digest.npy`` are the 32 bytes of the header's SHA-256. Every other member is one of the arrays. Nothing is
compressed, so that no member is larger in memory than in the file: a reader never allocates more than the file's size.
``numpy.load(path, allow_pickle=False)`` opens it as well.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import struct
import tokenize
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hmrf_fast.atomic import file_at, replace_file
from hmrf_fast.errors import FileError, ModelFileError, in_short

__all__ = ["array_header", "parse_array", "read_archive", "write_archive"]

# What zipfile raises between them for damaged directories, names, sizes and flags.
_NO_ZIP = (
    zipfile.BadZipFile, EOFError, RuntimeError, NotImplementedError, UnicodeDecodeError, OverflowError, struct.error,
)  # fmt: skip
KINDS = "biufU"  # of dtypes: numbers, booleans and text


def write_archive(
    path: str | os.PathLike[str], file_format: str, version: int, content: Any, arrays: Mapping[str, np.ndarray]
) -> None:
    """Write a file, whole or not at all.

    Parameters
    ----------
    path : path-like
    file_format : str
    version : int
    content : JSON values
    arrays : mapping of str to ndarray
        Numbers, booleans or text.

    Raises
    ------
    FileError
        If the file cannot be written.
    """
    told = {name: _describe(array) for name, array in arrays.items()}
    header = {"format": file_format, "version": version, "content": content, "arrays": told}
    packed = np.frombuffer(json.dumps(header, allow_nan=False).encode("utf-8"), np.uint8)
    digest = np.frombuffer(hashlib.sha256(packed.tobytes()).digest(), np.uint8)
    try:
        replace_file(path, lambda file: np.savez(file, header=packed, digest=digest, **arrays))  # type: ignore[arg-type]
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or error}") from error


def read_archive(path: str | os.PathLike[str], file_format: str, newest: int) -> tuple[int, Any, dict[str, np.ndarray]]:
    """Read a file that `write_archive` wrote, and nothing else; no byte of it is executed.

    Parameters
    ----------
    path : path-like
    file_format : str
        What the header must say.
    newest : int
        The highest version that the caller understands.

    Returns
    -------
    version : int
    content : JSON values
    arrays : dict of str to ndarray

    Raises
    ------
    ModelFileError
        ``reason`` "unreadable": no such file, or no right to it; "foreign": another kind of file; "damaged": cut off or
        changed; "newer": of a version that this library does not know.
    """
    try:
        with file_at(path).open("rb") as file, zipfile.ZipFile(file) as members:
            sizes = _member_sizes(members, path)
            packed = _member(members, "header", path, file_format)
            header = _header(packed, _member(members, "digest", path, file_format), path, file_format, newest)
            if set(sizes) != {"header", "digest", *header["arrays"]}:
                raise _damaged(path, "its header lists other arrays than it holds")
            return header["version"], header["content"], {
                name: _checked(_member(members, name, path, file_format), told, name, path)
                for name, told in header["arrays"].items()
            }  # fmt: skip
    except OSError as error:
        raise ModelFileError(f"{path}: {error.strerror or error}", "unreadable") from error
    except _NO_ZIP as error:
        foreign = not _begins_as_zip(path)
        raise (
            _foreign(path, file_format) if foreign else _damaged(path, in_short(error) or "it ends early")
        ) from error


def _describe(array: np.ndarray) -> dict[str, Any]:
    if array.dtype.kind not in KINDS:
        raise TypeError(f"arrays of {array.dtype} are not stored")
    digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return {"shape": list(array.shape), "dtype": array.dtype.str, "sha256": digest}


def _begins_as_zip(path: str | os.PathLike[str]) -> bool:
    with Path(path).open("rb") as file:
        return file.read(2) == b"PK"


def _member_sizes(members: zipfile.ZipFile, path: str | os.PathLike[str]) -> dict[str, int]:
    sizes = {}
    for member in members.infolist():
        name = member.filename.removesuffix(".npy")
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise _damaged(path, f"its member {name!r} is compressed")
        if name in sizes:
            raise _damaged(path, f"it has two members {name!r}")
        sizes[name] = member.file_size
    return sizes


def _member(members: zipfile.ZipFile, name: str, path: str | os.PathLike[str], file_format: str) -> np.ndarray:
    """An array whose bytes are all there; the file was not compressed, so they are no more than the file has."""
    try:
        content = members.read(f"{name}.npy")
    except KeyError:
        raise _foreign(path, file_format) from None
    try:
        return parse_array(content)
    except ValueError as error:
        raise _damaged(path, f"its member {name!r} {error}") from error


def parse_array(content: bytes, kinds: str = KINDS) -> np.ndarray:
    """The array that the bytes of a ``.npy`` file hold; it takes no more memory than they do.

    Raises
    ------
    ValueError
        If it is none, of another kind of dtype, or not of the size that it names.
    """
    stream = io.BytesIO(content)
    shape, fortran, dtype = array_header(stream, len(content), kinds)
    count = int(np.prod(shape, dtype=object))
    flat = np.frombuffer(content, dtype, count, stream.tell()) if count else np.empty(count, dtype)
    return flat.reshape(shape, order="F" if fortran else "C").copy(order="K")


def array_header(file: Any, size: int, kinds: str = KINDS) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, whether columns come one after the other, and dtype of the array in a ``.npy`` file of ``size`` bytes,
    which is read up to the numbers; errors as of `parse_array`."""
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(file)
    except (ValueError, TypeError, SyntaxError, RecursionError, tokenize.TokenError) as error:
        raise ValueError(f"is no array ({in_short(error)})") from error
    count = int(np.prod(shape, dtype=object))
    if dtype.kind not in kinds or min(shape, default=0) < 0 or count * dtype.itemsize != size - file.tell():
        raise ValueError("has not the size or type that it names")
    if max(shape, default=0) >= 1 << 60 or (count and not dtype.itemsize):
        raise ValueError(f"has the shape {shape} and holds nothing")
    return shape, fortran, dtype


def _header(
    packed: np.ndarray, digest: np.ndarray, path: str | os.PathLike[str], file_format: str, newest: int
) -> dict[str, Any]:
    if packed.dtype != np.uint8 or digest.tobytes() != hashlib.sha256(packed.tobytes()).digest():
        raise _damaged(path, "its header does not have the checksum that it names")
    try:
        header = json.loads(packed.tobytes())
        found, version = header["format"], header["version"]
    except (ValueError, RecursionError, KeyError, TypeError):
        raise _foreign(path, file_format) from None
    if found != file_format or type(version) is not int:
        raise _foreign(path, file_format)
    if version > newest:
        raise ModelFileError(
            f"{path} is a {file_format} of version {version}, this hmrf_fast knows up to {newest}: update hmrf_fast",
            "newer",
        )
    if not isinstance(header.get("arrays"), dict) or "content" not in header:
        raise _damaged(path, "its header is incomplete")
    return header


def _checked(array: np.ndarray, told: Any, name: str, path: str | os.PathLike[str]) -> np.ndarray:
    if _describe(array) != told:
        raise _damaged(path, f"its array {name!r} is not the one that its header describes")
    return array


def _foreign(path: str | os.PathLike[str], file_format: str) -> ModelFileError:
    return ModelFileError(f"{path} is no {file_format}", "foreign")


def _damaged(path: str | os.PathLike[str], what: str) -> ModelFileError:
    return ModelFileError(f"{path} is damaged or was changed: {what}; save it again from the original", "damaged")
