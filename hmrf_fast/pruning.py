"""Search for nearest centroids, E-step after E-step: keeps the table, and looks only where a bound does not hold."""

from __future__ import annotations

import numpy as np

from hmrf_fast.geometry import Geometry, Problem
from hmrf_fast.kernels import pool
from hmrf_fast.kernels.centroids import fill_columns
from hmrf_fast.kernels.distances import assign_rows, table_shape
from hmrf_fast.kernels.pruning import reassign_rows
from hmrf_fast.kernels.rows import VECTOR_BYTES
from hmrf_fast.kernels.types import ClusterTerms, Drift
from hmrf_fast.rows.block import Block

CACHE_LINE = 64  # bytes
FULL_VECTOR = 5  # clusters from which on a table has whole vectors
LONGEST_STRETCH = 1e30
LARGEST_MEAN = 100.0  # length of a row's mean, relative to that of what deviates from it
FEWEST_CLUSTERS = 64  # with fewer, looking at all costs about as much
SAMPLED = 64  # rows, of which one shows whether looking at few groups pays
OWN_PRICE, LOOK_PRICE = 2.0, 3.5  # of the own centroid and of a group, in lines of the cache that a search of all reads
WIDE_SPAN, MANY_CLUSTERS = 16, 300  # columns of a group, and clusters from which on they are more than one vector
FEW_GROUPS = 16  # that bounds may always have
BOUNDS_SHARE = 1.25  # of bounds per feature, cluster and row: a quarter of what the tables take
NO_BOUNDS, NO_RISES = np.zeros((0, 0), np.float32), np.zeros((0, 0, 0))


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


def fill_table(
    problem: Problem, clusters: ClusterTerms, which: np.ndarray, table: np.ndarray, rises=NO_RISES, groups: int = 0
) -> np.ndarray:
    """Lay out the given clusters (k,) as their columns of a term-major table (tiles, d, width) OUT; cost k d.

    Returns their squared lengths (k,) there, and in ``rises`` OUT how much groups of its columns rose, see
    ``fill_columns``."""
    n_features, span = problem.n_features, table.shape[0] * table.shape[2] // max(groups, 1)
    work = 4.0 * n_features * which.size
    bounds = pool.even_chunks(n_features, 16 if problem.n_threads > 1 else 1, work)
    square, rises = np.zeros((bounds.size - 1, which.size)), rises.astype(table.dtype, copy=False)
    pool.run_chunks(
        lambda first, last: fill_columns(
            clusters.content, clusters.inverse, clusters.weights, which, span, not problem.signed, first, last, table,
            rises, square[np.searchsorted(bounds, first)],
        ),
        bounds,
        problem.n_threads,
        work,
    )  # fmt: skip
    return square.sum(0)


def bounds_of(n_rows: int, n_clusters: int, shape: tuple[int, int, int], dtype: np.dtype) -> int:
    """The number of groups into which pruning divides the columns of a table; none where it does not pay.

    A group is whole vectors, and few of them, unless its bounds would take much memory beside the tables."""
    if n_clusters < FEWEST_CLUSTERS:
        return 0
    lanes, (tiles, n_features, width) = VECTOR_BYTES // dtype.itemsize, shape
    most = max(FEW_GROUPS, BOUNDS_SHARE * n_clusters * n_features / max(n_rows, 1))
    wanted = tiles * width // max(WIDE_SPAN if n_clusters >= MANY_CLUSTERS else lanes, lanes)
    counts = (tiles * width // span for span in range(lanes, width + 1, lanes) if width % span == 0)
    return next((count for count in counts if count <= min(most, wanted)), tiles)


class Search:
    """Nearest centroids of the rows (r,) of a problem.

    The answers are the same bits as of a search among all: ``kernels/pruning.py`` says why.
    """

    def __init__(self, problem: Problem, rows: np.ndarray, *, prune: bool):
        self.problem, self.rows = problem, rows
        n_clusters = problem.n_clusters
        self.table = empty_table(problem, n_clusters)
        self.moved = np.ones(n_clusters, bool)  # since the last search; whoever moves centroids sets it
        self.geometry: Geometry | None = None
        self.labels = np.zeros(problem.n_rows, np.int32)
        self.nearest = np.zeros(problem.n_rows)  # without the row's base, like ``bounds``
        self.lanes = np.zeros(0), np.zeros(0)  # see ``lane_terms``
        self.square = np.zeros(n_clusters)
        shape, dtype = self.table.shape, self.table.dtype
        groups = bounds_of(problem.n_rows, n_clusters, shape, dtype) if prune else 0
        self.bounds = np.full((problem.n_rows, groups), -np.inf, np.float32)

    def find(self, geometry: Geometry, clusters: ClusterTerms) -> tuple[np.ndarray, np.ndarray]:
        """Labels (n,) int32 and distances (n,) float64; of other rows than those searched for, anything."""
        fresh, self.geometry = geometry is not self.geometry, geometry
        if fresh:
            self.moved[:] = True
        which, before = np.flatnonzero(self.moved), self.lanes
        rises = self._rises(0 if fresh else self.bounds.shape[1])
        self.square[which] = fill_table(self.problem, clusters, which, self.table, rises, self.bounds.shape[1])
        self.lanes = lane_terms(clusters, self.table, self.problem.metric.centred)
        if rises.size:
            self._run(find_again, geometry, self.table, *self.lanes, self._drift(rises, before))
        else:
            self._run(find_nearest, geometry, self.table, *self.lanes)
        self.moved[:] = False
        return self.labels.copy(), self.nearest + geometry.rows.base

    def _rises(self, groups: int) -> np.ndarray:
        if groups == 0:
            return NO_RISES
        return empty_table(self.problem, max(groups, FULL_VECTOR))

    def _drift(self, rises: np.ndarray, before: tuple[np.ndarray, np.ndarray]) -> Drift:
        (offset, cross), groups, real = self.lanes, self.bounds.shape[1], slice(self.moved.size)
        fall = np.zeros(offset.size)
        fall[real] = before[0][real].astype(float) - offset[real]
        lean = np.abs(before[1].astype(float) - cross)
        square = self.square + (cross[real].astype(float) ** 2 if lean.size else 0.0)
        return Drift(
            signed=self.problem.signed,
            moved=self.moved.copy(),
            rises=rises,
            fall=fall.reshape(groups, -1).max(1),
            cross=lean.reshape(groups, -1).max(1) if lean.size else lean,
            # Infinite where there are logarithms of 0, whose rises mislead: no bound holds then.
            length=float(np.sqrt(square.max())),
            highest=float(np.abs(offset[real]).max()),
            precision=float(np.finfo(self.table.dtype).eps),
        )

    def _run(self, task, geometry: Geometry, *shared) -> None:
        found, bound = (self.labels, self.nearest), (self.bounds,)
        self.problem.fill(task, (geometry.rows,), found, shared, wanted=self.rows, private=bound, stays=True)


def find_nearest(block: Block, numbers, terms, labels, nearest, bounds, table, offset, cross) -> None:
    """Nearest centroids of the rows with the given numbers, or of all rows of a block."""
    numbers, width = np.arange(block.n_rows) if numbers is None else numbers, table.shape[0] * table.shape[2]
    _run_chunks(
        block,
        numbers,
        lambda first, last: assign_rows(
            block.corpus, terms, table, offset, cross, numbers, first, last, labels, nearest, bounds
        ),
        width,
    )


def find_again(block: Block, numbers, terms, labels, nearest, bounds, table, offset, cross, drift: Drift) -> None:
    """The same, given what was found before some centroids moved, where a sample of the rows shows that this pays."""
    shared, found = (table, offset, cross), (labels, nearest, bounds)

    def again(rows: np.ndarray):
        return lambda first, last: reassign_rows(block.corpus, terms, *shared, drift, rows, first, last, *found)

    some = numbers[::SAMPLED].copy()
    if not some.size:
        return
    looks = again(some)(0, some.size) / some.size
    if _lines(drift.rises) + OWN_PRICE + LOOK_PRICE * looks > _lines(table):
        find_nearest(block, numbers, terms, *found, *shared)
    else:
        rest = np.delete(numbers, np.s_[::SAMPLED])
        _run_chunks(block, rest, again(rest), _lines(table) * CACHE_LINE / table.itemsize)


def _lines(table: np.ndarray) -> float:
    """Lines of the cache that a non-zero takes from a table."""
    return table.shape[0] * table.shape[2] * table.itemsize / CACHE_LINE


def _run_chunks(block: Block, numbers: np.ndarray, task, width: float) -> None:
    bounds = block.bounds
    if bounds.size > 2:
        bounds = pool.coarser(bounds, block.corpus.indptr[bounds], block.n_threads, width)
        bounds = np.unique(np.searchsorted(numbers, bounds))
    else:
        bounds = np.array([0, numbers.size])
    if numbers.size:
        pool.run_chunks(task, bounds, block.n_threads, (block.n_entries + numbers.size) * float(width))
