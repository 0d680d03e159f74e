"""Rows on disk, read block by block."""

from __future__ import annotations

import mmap
import os
import weakref
import zlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from hmrf_fast.errors import InputError, NotEnoughMemoryError
from hmrf_fast.kernels import pool
from hmrf_fast.kernels.types import Corpus
from hmrf_fast.rows.block import Block, Few
from hmrf_fast.rows.interface import Rows, make_block
from hmrf_fast.rows.store import PREAMBLE, read_header

BLOCK_MB = 64
KEPT = 3  # sets of few rows, the constrained ones among them


class DiskRows(Rows):
    """A store as rows to cluster; `hmrf_fast.rows.store` describes the format.

    Blocks are windows into the files: nothing is copied, and only the window at work takes memory. While it is at work
    the operating system is told to fetch the next one. Checksums are compared when a piece is first read.

    Parameters
    ----------
    path : path-like
        The folder.
    block_mb : float, default=64
        About how many megabytes (2**20 bytes) are at work at a time; results do not depend on it.

    Attributes
    ----------
    lowest : float
        The lowest stored value.

    Raises
    ------
    InputError
        If the folder is no store, or damaged; a file that is cut short while it is read ends the process (SIGBUS).
    """

    def __init__(self, path: str | os.PathLike, block_mb: float = BLOCK_MB):
        self.path, self.block_mb = Path(path).resolve(), float(block_mb)
        if not self.block_mb > 0:
            raise InputError(f"block_mb must be above 0, got {block_mb!r}")
        self._header = read_header(self.path)
        self.n_features, self.dtype = int(self._header["shape"][1]), np.dtype(self._header["dtype"])
        self.lowest = float(self._header["lowest"])
        self._files = {name: _File(self.path, name, kind, self._header) for name, kind in self._kinds().items()}
        self._files["indices"].below = self.n_features
        self.indptr = np.array(self._files["indptr"].window(0, int(self._header["shape"][0]) + 1))
        if self.indptr[0] != 0 or np.any(np.diff(self.indptr) < 0) or self.nnz != self._files["values"].size:
            raise InputError(f"{self.path}: the row pointers do not rise from 0 to {self._files['values'].size}")
        entry = 4 + self.dtype.itemsize
        self.bounds = pool.even_pieces(self.indptr, max(1, int(self.block_mb * 2**20) // entry))
        self._kept: list[Few] = []

    def __repr__(self) -> str:
        n_rows, n_features = self.shape
        return f"DiskRows({str(self.path)!r}: {n_rows} x {n_features}, {self.indptr[-1]} values, {self.dtype})"

    def _kinds(self) -> dict[str, np.dtype]:
        return {"indptr": np.dtype("<i8"), "indices": np.dtype("<i4"), "values": self.dtype}

    def __reduce__(self):
        return DiskRows, (str(self.path), self.block_mb)

    def spans(self, bounds: np.ndarray | None = None, wanted: np.ndarray | None = None) -> Iterator[Block]:
        """See `Rows.spans`."""
        spans = list(pairwise((self.bounds if bounds is None else bounds).tolist()))
        if wanted is not None:
            spans = [span for span in spans if np.diff(np.searchsorted(wanted, span))[0]]
        for number, (first, last) in enumerate(spans):
            corpus = self._corpus(first, last)
            if number + 1 < len(spans):
                self._announce(*spans[number + 1])
            yield make_block(corpus, first)
            del corpus

    def to_csr(self) -> sp.csr_matrix:
        """All rows as a matrix in memory."""
        corpus = self._corpus(0, self.shape[0])
        return sp.csr_matrix((corpus.values.copy(), corpus.indices.copy(), self.indptr.copy()), self.shape)

    def _corpus(self, first: int, last: int) -> Corpus:
        begin, end = int(self.indptr[first]), int(self.indptr[last])
        indices, values = (self._files[name].window(begin, end) for name in ("indices", "values"))
        return Corpus(self.indptr[first : last + 1] - begin, indices, values, self.n_features)

    def _announce(self, first: int, last: int) -> None:
        for name in ("indices", "values"):
            self._files[name].announce(int(self.indptr[first]), int(self.indptr[last]))

    def take(self, ids: np.ndarray) -> Few:
        """See `Rows.take`."""
        for few in self._kept:
            if few.ids is ids:
                return few
        indptr = np.concatenate([[0], np.cumsum(self.indptr[ids + 1] - self.indptr[ids])])
        indices, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], self.dtype)
        for first, last in _runs(ids):
            corpus = self._corpus(int(ids[first]), int(ids[last - 1]) + 1)
            indices[indptr[first] : indptr[last]] = corpus.indices
            values[indptr[first] : indptr[last]] = corpus.values
        few = Few(Corpus(indptr, indices, values, self.n_features), np.arange(ids.size), ids, False)
        if ids.size > 1:
            self._kept = [few, *self._kept[: KEPT - 1]]
        return few


def _runs(ids: np.ndarray) -> Iterator[tuple[int, int]]:
    """Where stretches of consecutive numbers begin and end."""
    return pairwise([0, *(np.flatnonzero(np.diff(ids) != 1) + 1).tolist(), ids.size]) if ids.size else iter(())


class _File:
    """Windows into one array of a store."""

    def __init__(self, folder: Path, name: str, dtype: np.dtype, header: dict):
        self.path, self.dtype = folder / f"{name}.npy", dtype
        self.size = (self.path.stat().st_size - PREAMBLE) // dtype.itemsize
        self._piece, self._sums = int(header["piece"]), header["crc32"][name]
        self.below: int | None = None  # what all numbers must be below, and not negative: kernels do not look
        self._unseen = np.ones(len(self._sums), bool)
        self._file = os.open(self.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        weakref.finalize(self, os.close, self._file)

    def window(self, first: int, last: int) -> np.ndarray:
        """The numbers [first, last), mapped; cost: nothing, but for a comparison of checksums the first time."""
        if last <= first:
            return np.empty(0, self.dtype)
        begin, end = first * self.dtype.itemsize, last * self.dtype.itemsize
        for piece in range(begin // self._piece, (end - 1) // self._piece + 1):
            if self._unseen[piece]:
                self._compare(piece)
        return self._map(begin, end).view(self.dtype)

    def announce(self, first: int, last: int) -> None:
        """Have the operating system fetch the numbers [first, last) meanwhile."""
        if hasattr(os, "posix_fadvise") and last > first:
            size = self.dtype.itemsize
            place = PREAMBLE + first * size, (last - first) * size
            os.posix_fadvise(self._file, *place, os.POSIX_FADV_WILLNEED)

    def _map(self, begin: int, end: int) -> np.ndarray:
        skipped = (PREAMBLE + begin) % mmap.ALLOCATIONGRANULARITY
        length, offset = end - begin + skipped, PREAMBLE + begin - skipped
        # Nobody writes, but compiled kernels are others for arrays that nobody may write.
        try:
            window = mmap.mmap(self._file, length, access=mmap.ACCESS_COPY, offset=offset)
        except OSError as error:
            told = f"no room for a window of {length} bytes into {self.path}: {error.strerror}; lower block_mb"
            raise NotEnoughMemoryError(told) from None
        return np.frombuffer(window, np.uint8, end - begin, skipped)

    def _compare(self, piece: int) -> None:
        begin, end = piece * self._piece, min((piece + 1) * self._piece, self.size * self.dtype.itemsize)
        found = zlib.crc32(self._map(begin, end).data)
        if found != self._sums[piece]:
            raise InputError(
                f"{self.path} is damaged: bytes {begin} to {end} have the checksum {found:08x}, the header says "
                f"{self._sums[piece]:08x}"
            )
        size = self.dtype.itemsize
        if self.below is not None and end > begin:
            part = self._map(begin - begin % size, end - end % size).view(self.dtype)
            if not (part.min() >= 0 and part.max() < self.below):
                raise InputError(f"{self.path} names columns {part.min()} to {part.max()}, there are {self.below}")
        self._unseen[piece] = False
