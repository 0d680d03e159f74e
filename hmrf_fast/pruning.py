"""Search for nearest centroids, E-step after E-step: keeps the table, and looks only at clusters that may be near."""

from __future__ import annotations

import numpy as np

from hmrf_fast.geometry import Geometry, Problem
from hmrf_fast.kernels import pool
from hmrf_fast.kernels.centroids import FEATURE_BLOCK, fill_columns
from hmrf_fast.kernels.distances import assign_rows, table_shape
from hmrf_fast.kernels.pruning import assign_pruned, fill_tops, pick_tops
from hmrf_fast.kernels.row_blocks import VECTOR_BYTES
from hmrf_fast.kernels.types import ClusterTerms, Tops
from hmrf_fast.rows.block import Block

CACHE_LINE = 64  # bytes
FULL_VECTOR = 5  # columns from which on a table has whole vectors
LONGEST_STRETCH = 1e30
LARGEST_MEAN = 100.0  # length of a row's mean, relative to that of what deviates from it
FEWEST_CLUSTERS = 128  # with fewer, looking at all costs about as much
HALF: dict[int, np.dtype] = {4: np.dtype(np.uint16), 8: np.dtype(np.float32)}  # kinds of bounds, by a table's item size
NO_TOPS = np.zeros((0, 0, 0))
FEW = 0.75  # of the groups: with more it does not pay to pick those that moved
SAMPLED = 64  # rows, of which one shows whether looking at few groups pays
ROW_PRICE, LOOK_PRICE = 14.0, 5.0  # of a row and of a vector looked at, in vectors that a search of all reads


def table_type(problem: Problem) -> np.dtype:
    """The precision of the data, but double where differences of large numbers need it, which is for squared Euclidean
    and for rows that deviate little from their mean; and for rows so short that single precision cannot tell what makes
    them long."""
    needs_double = problem.metric.name == "sqeuclidean" or problem.unit.max(initial=0.0) > LONGEST_STRETCH
    if problem.metric.centred:
        needs_double |= np.abs(problem.unit * problem.mean).max(initial=0.0) * problem.n_features**0.5 > LARGEST_MEAN
    return np.dtype(np.float64) if needs_double else problem.rows.dtype


def empty_table(problem: Problem, n_clusters: int) -> np.ndarray:
    """A table of zeros for the columns of that many clusters."""
    dtype = table_type(problem)
    return zeros(table_shape(n_clusters, problem.n_features, dtype), dtype)


def zeros(shape: tuple[int, int, int], dtype: np.dtype) -> np.ndarray:
    """A table that begins where a cache line does: its rows then touch as few lines as they can."""
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


def fill_table(problem: Problem, clusters: ClusterTerms, which: np.ndarray, table: np.ndarray, tops=NO_TOPS) -> None:
    """Lay out the given clusters (k,) as their columns of a term-major table (tiles, d, width) INOUT, and the largest
    entries of their groups as columns of ``tops`` (tiles, d, width) INOUT; cost k d."""
    n_features, work = problem.n_features, 4.0 * problem.n_features * which.size
    groups = np.unique(which * table.itemsize // VECTOR_BYTES) if tops.size else which

    def fill(first: int, last: int) -> None:
        # Block by block, so that what is looked at for the largest entries is still in the cache.
        step = FEATURE_BLOCK if tops.size else n_features
        for begin in range(first, last, step):
            span = begin, min(begin + step, last)
            fill_columns(clusters.content, clusters.inverse, clusters.weights, which, *span, table)
            if tops.size:
                fill_tops(table, clusters.offset.size, groups, *span, tops)

    bounds = pool.even_chunks(n_features, 16 if problem.n_threads > 1 else 1, work)
    pool.run_chunks(fill, bounds, problem.n_threads, work)


def tops_shape(n_clusters: int, shape: tuple[int, int, int], dtype: np.dtype) -> tuple[int, int, int]:
    """The shape of the table of bounds that goes with a table; of no tiles where it does not pay."""
    tiles, n_features, width = shape
    if n_clusters < FEWEST_CLUSTERS:
        return 0, n_features, width
    return table_shape(max(tiles * width * dtype.itemsize // VECTOR_BYTES, FULL_VECTOR), n_features, dtype)


class Search:
    """Nearest centroids of the rows (r,) of a problem.

    The answers are the same bits as of a search among all: ``kernels/pruning.py`` says why.
    """

    def __init__(self, problem: Problem, rows: np.ndarray, *, prune: bool):
        self.problem, self.rows = problem, rows
        n_clusters = problem.n_clusters
        self.table = empty_table(problem, n_clusters)
        self.moved = np.ones(n_clusters, bool)  # since the last search; whoever moves centroids sets it
        self.geometry: Geometry | None = None  # of the last search
        self.labels = np.full(problem.n_rows, -1, np.int32)
        self.nearest = np.full(problem.n_rows, -np.inf)  # without the row's base
        shape = tops_shape(n_clusters, self.table.shape, self.table.dtype)
        # Bounds hold for rows without negative values, and for metrics whose keys fall as products rise.
        bounded = not problem.signed and problem.metric.pull < 0
        self.tops = zeros(shape, HALF[self.table.itemsize]) if prune and bounded and shape[0] else NO_TOPS

    def find(self, geometry: Geometry, clusters: ClusterTerms) -> tuple[np.ndarray, np.ndarray]:
        """Labels (n,) int32 and distances (n,) float64; of other rows than those searched for, anything."""
        if geometry is not self.geometry:
            self.moved[:] = True
        self.geometry = None  # a search that is broken off leaves nothing to rely on
        fill_table(self.problem, clusters, np.flatnonzero(self.moved), self.table, self.tops)
        lanes = lane_terms(clusters, self.table, self.problem.metric.centred)
        if self.tops.size:
            self._run(find_again, geometry, self.table, *lanes, *self._bounding(*lanes), self.moved)
        else:
            self._run(find_nearest, geometry, self.table, *lanes)
        self.geometry, self.moved[:] = geometry, False
        return self.labels.copy(), self.nearest + geometry.rows.base

    def _bounding(self, offset: np.ndarray, cross: np.ndarray) -> tuple[Tops, Tops]:
        """Bounds of all groups, and of those that hold a centroid that moved, if these are few."""
        (tiles, n_features, width), step = self.table.shape, VECTOR_BYTES // self.table.itemsize
        groups = np.arange(tiles * width // step)
        first = groups * step
        every = Tops(
            groups=groups,
            places=first // width * (n_features * width) + first % width,
            table=self.tops,
            offset=offset.reshape(-1, step).min(1),
            lowest=cross.reshape(-1, step).min(1) if cross.size else cross,
            highest=cross.reshape(-1, step).max(1) if cross.size else cross,
        )
        moved = np.unique(np.flatnonzero(self.moved) // step)
        whole = _padded(every)
        if moved.size > FEW * groups.size:
            return whole, whole
        return whole, _padded(_picked(every, moved, self.problem.n_threads))

    def _run(self, task, geometry: Geometry, *shared) -> None:
        found = self.labels, self.nearest
        self.problem.fill(task, (geometry.rows,), found, shared, wanted=self.rows, stays=True)


def _picked(tops: Tops, which: np.ndarray, n_threads: int) -> Tops:
    """Bounds of some of the groups."""
    _, n_features, width = tops.table.shape
    table = zeros(table_shape(max(which.size, FULL_VECTOR), n_features, tops.table.dtype), tops.table.dtype)
    tiles, columns, work = which // width, which % width, float(n_features * which.size)
    pool.run_chunks(
        lambda first, last: pick_tops(tops.table, tiles, columns, first, last, table),
        pool.even_chunks(n_features, 16 if n_threads > 1 else 1, work),
        n_threads,
        work,
    )
    lean = (each[which] if each.size else each for each in (tops.lowest, tops.highest))
    return Tops(tops.groups[which], tops.places[which], table, tops.offset[which], *lean)


def _padded(tops: Tops) -> Tops:
    """The same with terms for all lanes of the table of bounds, infinite in lanes without a group."""
    rest = tops.table.shape[0] * tops.table.shape[2] - tops.groups.size
    lowest, highest = (np.pad(each, (0, rest if each.size else 0)) for each in (tops.lowest, tops.highest))
    return tops._replace(offset=np.pad(tops.offset, (0, rest), constant_values=np.inf), lowest=lowest, highest=highest)


def find_nearest(block: Block, numbers, terms, labels, nearest, table, offset, cross) -> None:
    """Nearest centroids of the rows with the given numbers, or of all rows of a block."""
    numbers, width = np.arange(block.n_rows) if numbers is None else numbers, table.shape[0] * table.shape[2]
    _run_chunks(
        block,
        numbers,
        lambda first, last: assign_rows(
            block.corpus, terms, table, offset, cross, numbers, first, last, labels, nearest
        ),
        width,
    )


def find_again(block: Block, numbers, terms, labels, nearest, table, offset, cross, tops, few, moved) -> None:
    """The same by bounds, given what was found for other centroids; see ``Search._bounding``."""
    given = terms, labels, nearest, table, offset, cross
    if few.groups.size < tops.groups.size:
        quiet = ~moved[labels[numbers]]
        _find_by_bounds(block, numbers[quiet], *given, few, known=True)
        numbers = numbers[~quiet]
    _find_by_bounds(block, numbers, *given, tops, known=False)


def _find_by_bounds(block: Block, numbers, terms, labels, nearest, table, offset, cross, tops, *, known) -> None:
    """Looks only where bounds ask for it, if a sample of the rows shows that this pays."""
    shared, found = (table, offset, cross), (labels, nearest)

    def look(rows: np.ndarray):
        return lambda first, last: assign_pruned(block.corpus, terms, *shared, tops, known, rows, first, last, *found)

    some = numbers[::SAMPLED].copy()
    if not some.size:
        return
    looks = look(some)(0, some.size) / some.size
    if _vectors(tops.table) + ROW_PRICE + LOOK_PRICE * looks > _vectors(table):
        find_nearest(block, numbers, terms, *found, *shared)
    else:
        rest = np.delete(numbers, np.s_[::SAMPLED])
        _run_chunks(block, rest, look(rest), table.shape[0] * table.shape[2])


def _vectors(table: np.ndarray) -> float:
    """Vectors that a non-zero takes from a table."""
    return table.shape[0] * table.shape[2] * table.itemsize / VECTOR_BYTES


def _run_chunks(block: Block, numbers: np.ndarray, task, width: float) -> None:
    bounds = block.bounds
    if bounds.size > 2:
        bounds = pool.coarser(bounds, block.corpus.indptr[bounds], block.n_threads, width)
        bounds = np.unique(np.searchsorted(numbers, bounds))
    else:
        bounds = np.array([0, numbers.size])
    if numbers.size:
        pool.run_chunks(task, bounds, block.n_threads, (block.n_entries + numbers.size) * float(width))
