"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

__all__ = ["file_at", "replace_file", "sync_folder"]


def file_at(path: str | os.PathLike[str]) -> Path:
    """The file that a path names, behind links; there may be none yet.

    Raises
    ------
    OSError
        If a file can never stand there: the path is empty or holds a zero byte, or names a folder, a device or a pipe.
    """
    told = os.fspath(path)
    if not told or "\0" in told:
        raise OSError(errno.EINVAL, "is no name of a file", told)
    target = Path(os.path.realpath(told))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "is a folder, not a file" if target.is_dir() else "is a device or a pipe", told)
    return target


def replace_file(path: str | os.PathLike[str], write: Callable[[BinaryIO], Any]) -> None:
    """Write a file under another name, wait until it is on the disk, then put it in the place of ``path``; where that
    is a link, of the file behind it.

    Parameters
    ----------
    path : path-like
    write : callable
        Gets the open binary file. If it raises, ``path`` is left as it was.

    Raises
    ------
    OSError
    """
    path = file_at(path)
    handle, partial = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(partial, 0o666 & ~_umask())
        os.replace(partial, path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Wait until a folder's list of files is on the disk, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    """The permissions that new files lack; they can only be read by setting them."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
