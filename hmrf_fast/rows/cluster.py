"""Rows on the workers of a Dask cluster: tables go out, labels and sums come back.

Each partition is a future whose value is a block; one keeper (an actor) per worker holds those that are there, and the
arrays by row that passes need again. A pass is one message to each keeper and one back, which the scheduler does not
see: with the machine's own workers it goes through shared memory. With many workers tables are handed on from worker to
worker, and sums of integers meet in a tree of pairwise additions. What a lost worker held, Dask makes again from where
it came, and a new keeper does what was not done.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from hmrf_fast.errors import InputError
from hmrf_fast.inputs import as_corpus, canonical
from hmrf_fast.kernels.types import Corpus
from hmrf_fast.rows.block import Block, Few
from hmrf_fast.rows.crew import Crew, Pass
from hmrf_fast.rows.disk import DiskRows
from hmrf_fast.rows.interface import Rows, make_block, numbers_in
from hmrf_fast.rows.keeper import rows_of


class DaskRows(Rows):
    """Rows that live on the workers of a cluster.

    Parameters
    ----------
    source : dask.array.Array, DiskRows, or list of delayed matrices
        An array chunked by rows, whose chunks are CSR matrices or dense; a store that all workers can read; or one
        delayed matrix (., d) per partition. A worker that is lost costs the partitions it held: they are made again
        from the source.
    client : distributed.Client, optional
        Default: the current one.

    Raises
    ------
    InputError
        If there is no client, or partitions do not fit together or are refused as any X would be.
    """

    def __init__(self, source: Any, client: Any = None):
        self.client = _client(client)
        self._parts = self.client.compute(_partitions(source))
        facts = self.client.gather([self._submit(_facts, part) for part in self._parts])
        widths, kinds = sorted({one[1] for one in facts}), sorted({one[2] for one in facts})
        if len(widths) != 1 or len(kinds) != 1:
            raise InputError(f"partitions differ: they have {widths} features and values of {kinds}")
        self.n_features, self.dtype = widths[0], np.dtype(kinds[0])
        self.lowest = min(one[3] for one in facts)
        self.indptr = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(one[0]) for one in facts]))])
        self.bounds = np.concatenate([[0], np.cumsum([one[0].size - 1 for one in facts])])
        self._crew = Crew(self.client, self._parts, self.bounds)
        self._kept: list[Few] = []

    def spans(self, bounds: np.ndarray | None = None, wanted: np.ndarray | None = None) -> Iterator[Block]:
        """See `Rows.spans`: partitions are fetched one by one, which only what cannot work on the workers asks for."""
        if bounds is not None:
            yield from self._recut(bounds)
            return
        for number, first, _ in self._chosen(wanted):
            corpus = self._submit(rows_of, self._parts[number], None).result()
            yield make_block(corpus, first)

    def _recut(self, bounds: np.ndarray) -> Iterator[Block]:
        """Blocks between other bounds than those of the partitions, put together from pieces."""
        for first, last in pairwise(bounds.tolist()):
            pieces = [
                self.client.submit(
                    rows_of, self._parts[number], slice(max(first, begin) - begin, min(last, end) - begin), pure=False
                )
                for number, (begin, end) in enumerate(pairwise(self.bounds.tolist()))
                if begin < last and end > first
            ]
            yield make_block(_stacked(self.client.gather(pieces), self.n_features), first)

    def take(self, ids: np.ndarray) -> Few:
        """See `Rows.take`."""
        for few in self._kept:
            if few.ids is ids:
                return few
        parts = [
            self._submit(rows_of, self._parts[number], numbers_in(ids, first, last))
            for number, first, last in self._chosen(ids)
        ]
        corpus = _stacked(self.client.gather(parts), self.n_features, self.dtype)
        few = Few(corpus, np.arange(ids.size), ids, False)
        if ids.size > 1:
            self._kept = [few, *self._kept[:2]]
        return few

    def map(
        self, task: Callable, inputs: tuple = (), outputs: tuple = (), shared: tuple = (), *, n_threads: int = 1,
        wanted: np.ndarray | None = None, bounds: np.ndarray | None = None, stays: bool = False,
    ) -> Iterator[Any]:  # fmt: skip
        """See `Rows.map`; the grid is that of the partitions, whatever the caller wants, and the number of threads
        is that of the worker."""
        what = Pass(task, inputs, outputs, shared, wanted, stays)
        yield from self._crew.run(what)

    def add(
        self, task: Callable, inputs: tuple, shared: tuple, total: np.ndarray, *, n_threads: int = 1,
        wanted: np.ndarray | None = None, fresh: bool = True,
    ) -> None:  # fmt: skip
        """See `Rows.add`."""
        place = total.shape, total.dtype.str
        if fresh:
            total[:] = 0
        self._crew.add(Pass(task, inputs, (), shared, wanted, False, place), total)

    def _submit(self, function: Callable, *arguments: Any) -> Any:
        import dask

        # Tables of centroids and arrays by row are what must be sent; Dask would warn of each.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self.client.submit(function, *arguments, pure=False)

    def _chosen(self, wanted: np.ndarray | None) -> Iterator[tuple[int, int, int]]:
        """Number and rows of the partitions that hold any of the wanted rows."""
        for number, (first, last) in enumerate(pairwise(self.bounds.tolist())):
            if last > first and (wanted is None or np.diff(np.searchsorted(wanted, (first, last)))[0]):
                yield number, first, last


def is_dask(X: Any) -> bool:
    """Whether X is something that `DaskRows` takes, without an import of Dask."""
    if isinstance(X, list):
        return bool(X) and all(type(one).__module__.startswith("dask.delayed") for one in X)
    return type(X).__module__.startswith("dask.array")


def _client(client: Any) -> Any:
    try:
        from distributed import get_client
    except ImportError:
        raise InputError("rows on a cluster need Dask: pip install hmrf_fast[dask]") from None
    try:
        return get_client() if client is None else client
    except ValueError:
        raise InputError("rows on a cluster need a distributed.Client: make one first") from None


def _partitions(source: Any) -> list[Any]:
    """One delayed corpus per partition."""
    from dask import delayed

    if isinstance(source, DiskRows):
        spans = pairwise(source.bounds.tolist())
        return [delayed(_from_store)(os.fspath(source.path), first, last, pure=False) for first, last in spans]
    if hasattr(source, "to_delayed"):
        blocks = source.to_delayed()
        if blocks.ndim != 2 or blocks.shape[1] != 1:
            raise InputError(f"X is chunked into {blocks.shape} blocks: rechunk it so that each holds whole rows")
        source = blocks.ravel().tolist()
    return [delayed(_checked)(one, pure=False) for one in source]


def _from_store(path: str, first: int, last: int) -> Corpus:
    corpus = next(DiskRows(path).spans(np.array([first, last]))).corpus
    return corpus._replace(indices=corpus.indices.copy(), values=corpus.values.copy())


def _checked(matrix: Any) -> Corpus:
    matrix = sp.csr_matrix(matrix)
    kind = np.float32 if matrix.dtype == np.float32 else np.float64
    return as_corpus(canonical(matrix.astype(kind), copy=False))


def _facts(corpus: Corpus) -> tuple[np.ndarray, int, str, float]:
    return corpus.indptr, corpus.n_features, corpus.values.dtype.str, float(corpus.values.min(initial=np.inf))


def _stacked(parts: Iterable[Corpus], n_features: int, dtype: Any = None) -> Corpus:
    parts = list(parts)
    if not parts:
        return Corpus(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, dtype), n_features)
    lengths = np.concatenate([np.diff(one.indptr) for one in parts])
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return Corpus(indptr, *(np.concatenate([one[k] for one in parts]) for k in (1, 2)), n_features)
