"""Search for nearest centroids, E-step after E-step: keeps the table, and looks only at what moved."""

from __future__ import annotations

import numpy as np

from hmrf_fast.geometry import Geometry, Problem
from hmrf_fast.kernels import pool
from hmrf_fast.kernels.centroids import fill_columns
from hmrf_fast.kernels.distances import assign_rows, table_shape
from hmrf_fast.kernels.pruning import reassign_rows
from hmrf_fast.kernels.rows import VECTOR_BYTES
from hmrf_fast.kernels.types import ClusterTerms
from hmrf_fast.rows.block import Block

CACHE_LINE = 64  # bytes
FULL_VECTOR = 5  # clusters from which on a table has whole vectors
LONGEST_STRETCH = 1e30
LARGEST_MEAN = 100.0  # length of a row's mean, relative to that of what deviates from it
FEWEST_CLUSTERS = 12  # with fewer, looking at all costs about as much; up to four add up in another order, too
WORTHWHILE = 0.7  # share of the table's width up to which the moved clusters alone are looked at first


def table_type(problem: Problem) -> np.dtype:
    """The precision of the data, but double where differences of large numbers need it, which is for squared Euclidean
    and for rows that deviate little from their mean; and for rows so short that single precision cannot tell what makes
    them long."""
    needs_double = problem.metric.name == "sqeuclidean" or problem.unit.max(initial=0.0) > LONGEST_STRETCH
    if problem.metric.centred:
        needs_double |= np.abs(problem.unit * problem.mean).max(initial=0.0) * problem.n_features**0.5 > LARGEST_MEAN
    return np.dtype(np.float64) if needs_double else problem.rows.dtype


def empty_table(problem: Problem, n_clusters: int) -> np.ndarray:
    """A table of zeros that begins where a cache line does: its rows then touch as few lines as they can."""
    dtype = table_type(problem)
    shape = table_shape(n_clusters, problem.n_features, dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    memory = np.zeros(size + CACHE_LINE, np.uint8)
    skipped = -memory.ctypes.data % CACHE_LINE
    return memory[skipped : skipped + size].view(dtype).reshape(shape)


def lane_terms(clusters: ClusterTerms, table: np.ndarray, centred: bool) -> tuple[np.ndarray, np.ndarray]:
    """The offsets and cross terms of all lanes of a table, in its precision; lanes without a cluster are infinitely
    far."""
    n_clusters = clusters.offset.size
    n_lanes = max(table.shape[0] * table.shape[2], VECTOR_BYTES // table.itemsize)
    offset, cross = np.full(n_lanes, np.inf, table.dtype), np.zeros(n_lanes if centred else 0, table.dtype)
    offset[:n_clusters] = clusters.offset
    if centred:
        cross[:n_clusters] = clusters.cross
    return offset, cross


def fill_table(problem: Problem, clusters: ClusterTerms, which: np.ndarray, lanes: np.ndarray, table) -> None:
    """Lay out the given clusters (k,) as the given lanes (k,) of a term-major table (tiles, d, width) OUT; cost k d."""
    n_features = problem.n_features
    work = 4.0 * n_features * which.size
    pool.run_chunks(
        lambda first, last: fill_columns(
            clusters.content, clusters.inverse, clusters.weights, which, lanes, first, last, table
        ),
        pool.even_chunks(n_features, 16 if problem.n_threads > 1 else 1, work),
        problem.n_threads,
        work,
    )


class Search:
    """Nearest centroids of the rows (r,) of a problem.

    The answers are the same bits as of a search that forgets everything: ``kernels/pruning.py`` says why.
    """

    def __init__(self, problem: Problem, rows: np.ndarray, *, prune: bool):
        self.problem, self.rows = problem, rows
        n_clusters = problem.n_clusters
        self.table = empty_table(problem, n_clusters)
        self.moved = np.ones(n_clusters, bool)  # since the last search; whoever moves centroids sets it
        self.geometry: Geometry | None = None
        self.labels = np.zeros(problem.n_rows, np.int32)
        self.nearest = np.zeros(problem.n_rows)  # without the row's base, like ``second``
        self.second = np.full(problem.n_rows if prune and n_clusters >= FEWEST_CLUSTERS else 0, -np.inf)

    def find(self, geometry: Geometry, clusters: ClusterTerms) -> tuple[np.ndarray, np.ndarray]:
        """Labels (n,) int32 and distances (n,) float64; of other rows than those searched for, anything."""
        fresh, self.geometry = geometry is not self.geometry, geometry
        if fresh:
            self.moved[:] = True
        moved = np.flatnonzero(self.moved)
        fill_table(self.problem, clusters, moved, moved, self.table)
        lanes = lane_terms(clusters, self.table, self.problem.metric.centred)
        shape = table_shape(max(moved.size, FULL_VECTOR), self.problem.n_features, self.table.dtype)
        if (
            fresh
            or not self.second.size
            or shape[0] * shape[2] > WORTHWHILE * self.table.shape[0] * self.table.shape[2]
        ):
            self._search_all(geometry, *lanes)
        else:
            self._search_moved(geometry, clusters, moved, *lanes)
        self.moved[:] = False
        return self.labels.copy(), self.nearest + geometry.rows.base

    def _search_all(self, geometry: Geometry, offset: np.ndarray, cross: np.ndarray) -> None:
        self._run(find_nearest, geometry, self.table, offset, cross)

    def _search_moved(
        self, geometry: Geometry, clusters: ClusterTerms, moved: np.ndarray, offset: np.ndarray, cross: np.ndarray
    ) -> None:
        compact = empty_table(self.problem, max(moved.size, FULL_VECTOR))
        lane = np.full(self.problem.n_clusters, -1)
        lane[moved] = np.arange(moved.size)
        fill_table(self.problem, clusters, moved, lane[moved], compact)
        self._run(_find_again, geometry, self.table, compact, moved, lane, offset, cross)

    def _run(self, task, geometry: Geometry, *shared: np.ndarray) -> None:
        found, bound = (self.labels, self.nearest), (self.second,)
        self.problem.fill(task, (geometry.rows,), found, shared, wanted=self.rows, private=bound, stays=True)


def find_nearest(block: Block, numbers, terms, labels, nearest, second, table, offset, cross) -> None:
    """Nearest centroids of the rows with the given numbers, or of all rows of a block."""
    numbers, width = np.arange(block.n_rows) if numbers is None else numbers, table.shape[0] * table.shape[2]
    _run_chunks(
        block,
        numbers,
        lambda first, last: assign_rows(
            block.corpus, terms, table, offset, cross, numbers, first, last, labels, nearest, second
        ),
        width,
    )


def _find_again(
    block: Block, numbers, terms, labels, nearest, second, table, compact, moved, lane, offset, cross
) -> None:
    """The same, given what was found before some centroids moved."""
    _run_chunks(
        block,
        numbers,
        lambda first, last: reassign_rows(
            block.corpus, terms, table, compact, moved, lane, offset, cross, numbers, first, last, labels, nearest,
            second,
        ),
        moved.size,
    )  # fmt: skip


def _run_chunks(block: Block, numbers: np.ndarray, task, width: int) -> None:
    bounds = block.bounds
    if bounds.size > 2:
        bounds = pool.coarser(bounds, block.corpus.indptr[bounds], block.n_threads, width)
        bounds = np.unique(np.searchsorted(numbers, bounds))
    else:
        bounds = np.array([0, numbers.size])
    if numbers.size:
        pool.run_chunks(task, bounds, block.n_threads, (block.n_entries + numbers.size) * float(width))
