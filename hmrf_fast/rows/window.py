"""Memory that the client and the workers of its machine share: tables are written once and read in place, where a
message would be copied four times on its way."""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

FOLDER = "/dev/shm"  # where Linux keeps files in memory
ALIGNMENT = 64  # bytes: a cache line
SHORTEST = 1024  # bytes below which a message carries an array


class Place(NamedTuple):
    """Where in a window an array lies."""

    offset: int
    shape: tuple[int, ...]
    dtype: str


class Window:
    """A file in memory that several processes have open; who writes and who reads when is their affair.

    Parameters
    ----------
    path : str
        Of a file that `new_file` made. It may be unlinked as soon as everybody has it open, so that nothing is left
        behind, whatever becomes of the processes.
    """

    def __init__(self, path: str):
        self._file = os.open(path, os.O_RDWR)
        weakref.finalize(self, os.close, self._file)
        self._map: mmap.mmap | None = None
        self._room = 0  # bytes that are really there

    def store(self, arrays: Iterable[np.ndarray]) -> list[Place] | None:
        """Write arrays over what was there; None if there is no room for them."""
        arrays, places, end = list(arrays), [], 0
        for array in arrays:
            places.append(Place(end, array.shape, array.dtype.str))
            end += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        if end > self._room:
            try:
                os.posix_fallocate(self._file, 0, end)  # a hole would only be missed when it is written to
            except OSError:
                return None
            self._room = end
        for array, place in zip(arrays, places, strict=True):
            self.at(place)[...] = array
        return places

    def at(self, place: Place) -> np.ndarray:
        """The array at a place, as it is there: good until the next one is written."""
        dtype, count = np.dtype(place.dtype), int(np.prod(place.shape))
        end = place.offset + count * dtype.itemsize
        if self._map is None or len(self._map) < end:
            self._map = mmap.mmap(self._file, os.fstat(self._file).st_size)
        return np.frombuffer(self._map, dtype, count, place.offset).reshape(place.shape)


def new_file(mark: bytes) -> str | None:
    """The path of a new file in memory that begins with ``mark``, for `holds` to know it by; None where there are no
    such files."""
    try:
        file, path = tempfile.mkstemp(prefix="hmrf_fast-", dir=FOLDER)
        with os.fdopen(file, "wb") as opened:
            opened.write(mark)
    except OSError:
        return None
    return path


def holds(path: str, mark: bytes) -> bool:
    """Whether a path leads to that very file here, too; elsewhere it leads to nothing, or to something else."""
    try:
        with open(path, "rb") as file:
            return file.read(len(mark)) == mark
    except OSError:
        return False
