"""Threads: kernels release the interpreter lock, so chunks of rows run on ordinary threads.

The grid of chunks is fixed by the data alone. Helpers are started when first needed in a process, so forked children
start their own, and all fits of a process share them: nobody waits for a chunk that nobody works on, hence nothing can
deadlock. What passes between threads is queues that are written in C: an interrupt (Ctrl-C) in the middle of what is
written in Python, such as a semaphore, may leave it locked for ever.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise
from queue import SimpleQueue

import numpy as np

SERIAL_WORK = 400_000  # multiply-adds below which handing chunks to threads costs more than it saves (about 1 ms)
CHUNK_ENTRIES = 1 << 16
LARGEST_CHUNK = 1 << 19
LONGEST_CALL = 5e8  # multiply-adds, about 0.15 s

_calls: dict[tuple[int, int], SimpleQueue] = {}  # by process and number of threads: what its helpers are asked to do
_lock = threading.Lock()


def _forget_after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    _calls.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


def _help(calls: SimpleQueue) -> None:
    """A helper's life: one call after the other, none of which may raise."""
    while True:
        calls.get()()  # nothing may hold on to a call: it holds the arrays of a fit


def _helpers(n_threads: int) -> SimpleQueue:
    """The queue of as many helpers as work beside the thread that asks."""
    key = os.getpid(), n_threads
    with _lock:
        if key not in _calls:
            _calls[key] = SimpleQueue()
            for number in range(n_threads - 1):
                name = f"hmrf_fast_{number}"
                threading.Thread(target=_help, args=(_calls[key],), name=name, daemon=True).start()
        return _calls[key]


def run_chunks(task: Callable[[int, int], object], bounds: np.ndarray, n_threads: int, work: float) -> list:
    """Call ``task(first, last)`` for consecutive bounds, results in order; serial when the work is small.

    The caller works, too: it has begun before others wake up, and does everything where all others are busy. After an
    error, chunks that nobody has begun are left out.
    """
    if bounds.size == 2:
        return [task(int(bounds[0]), int(bounds[1]))]
    spans: Sequence[tuple[int, int]] = list(pairwise(bounds.tolist()))
    if n_threads == 1 or work < SERIAL_WORK:
        return [task(first, last) for first, last in spans]
    results: list[object] = [None] * len(spans)
    waiting, ended = deque(enumerate(spans)), SimpleQueue[BaseException | None]()

    def take_chunks() -> None:
        while waiting:
            try:
                number, (first, last) = waiting.popleft()
            except IndexError:  # somebody else was faster
                return
            try:
                results[number] = task(first, last)
                ended.put(None)
            except BaseException as error:
                ended.put(error)

    try:
        calls = _helpers(n_threads)
        for _ in range(min(n_threads, len(spans)) - 1):
            calls.put(take_chunks)
        take_chunks()
        for _ in spans:
            error = ended.get()
            if error is not None:
                raise error
    finally:
        waiting.clear()
    return results


def row_chunks(indptr: np.ndarray) -> np.ndarray:
    """Bounds of row chunks with about equal numbers of non-zeros plus rows; a function of the matrix only."""
    n_rows = indptr.size - 1
    load = indptr + np.arange(n_rows + 1)
    count = max(1, int(load[-1]) // CHUNK_ENTRIES)
    if count == 1 and n_rows:
        return np.array([0, n_rows])
    bounds = np.searchsorted(load, np.linspace(0, load[-1], count + 1)[1:-1])
    return np.unique(np.concatenate([[0], bounds, [n_rows]]))


def even_pieces(indptr: np.ndarray, largest: int) -> np.ndarray:
    """Bounds of as few spans of rows with about equal numbers of non-zeros as it takes for these to be at most about
    ``largest``; a function of the row pointers only."""
    count = max(1, min(-(-int(indptr[-1]) // largest), indptr.size - 1))
    marks = np.searchsorted(indptr, indptr[-1] * np.arange(1, count) // count)
    return np.unique(np.concatenate([[0], marks, [indptr.size - 1]]))


def coarser(bounds: np.ndarray, load: np.ndarray, n_threads: int, width: float) -> np.ndarray:
    """Fewer of the given bounds, for tasks whose results do not depend on the grid: a call costs as much as a few
    thousand non-zeros, and tables that outgrow the cache are read once per chunk.

    ``load`` are the non-zeros up to each of the bounds, ``width`` the multiply-adds per non-zero, of which a chunk
    holds few enough to be interrupted soon.
    """
    entries = min(LARGEST_CHUNK, load[-1] // (4 * n_threads), LONGEST_CALL / width)
    kept = np.searchsorted(load, np.arange(0, load[-1], max(entries, 1)))
    return np.unique(np.concatenate([[bounds[0]], bounds[kept], [bounds[-1]]]))


def even_chunks(size: int, count: int, work: float = np.inf) -> np.ndarray:
    """Bounds of at most ``count`` equal spans of range(size); of one span where the work is too little for threads,
    which is for tasks whose result does not depend on the grid."""
    count = min(count if work >= SERIAL_WORK else 1, size)
    if count == 1:
        return np.array([0, size])
    return np.arange(count + 1) * size // max(count, 1)
