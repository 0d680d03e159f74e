"""How much memory a fit takes beside its input, and a refusal before the work where that is more than there is."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hmrf_fast.annealing import LARGEST
from hmrf_fast.errors import InputError, NotEnoughMemoryError
from hmrf_fast.geometry import Problem
from hmrf_fast.kernels.distances import table_shape
from hmrf_fast.kernels.metrics import METRICS
from hmrf_fast.low_rank import OVERSAMPLES, RANKS
from hmrf_fast.machine import available_memory
from hmrf_fast.neighborhood_seeds import BLOCKS
from hmrf_fast.pruning import tops_shape

# Bytes per row, feature and pair that the many short arrays of a fit add up to, as traced on long data sets.
ROW, LEARNING_ROW, CENTRED_ROW, DRAWN_ROW, REDUCED_ROW = 135, 90, 35, 40, 130
FEATURE, LEARNING_FEATURE, PAIR = 100, 150, 250
GIB = 2.0**30

NEGLIGIBLE = 1 << 25  # bytes; to ask the system costs more than a fit of that size


class MemoryEstimate(NamedTuple):
    """Bytes that a fit takes beside its input, at most, by what they hold.

    Attributes
    ----------
    tables : int
        Centroids, their sums and what distances read of them: cost of the features times the clusters.
    rows : int
        Norms, labels and distances of the rows.
    constraints : int
        Distances of the constrained rows to all centroids, and the pairs.
    start : int
        What the search for first centroids takes beyond all these, before any of the tables is needed.
    """

    tables: int
    rows: int
    constraints: int
    start: int

    @property
    def total(self) -> int:
        """Bytes in all."""
        return sum(self)


def estimate_memory(
    n_rows: int,
    n_features: int,
    n_entries: int,
    n_clusters: int,
    *,
    metric: str = "cosine",
    dtype: Any = np.float64,
    learn_weights: bool = False,
    init: str = "auto",
    n_constrained: int = 0,
    n_pairs: int = 0,
    implicit: bool = False,
) -> MemoryEstimate:
    """Memory that a fit will take, beside the CSR matrix that it is given.

    About right (within a third) where the matrix or the tables are large; small fits take some megabytes more. A matrix
    of another kind or precision than the fit needs is converted first, which takes a copy that is not counted here.

    Parameters
    ----------
    n_rows, n_features, n_entries : int
        Of the matrix; ``n_entries`` are its stored values.
    n_clusters : int
    metric
        As for :class:`hmrf_fast.HMRFKMeans`.
    dtype : {numpy.float64, numpy.float32}
        Precision of the values.
    learn_weights, init
        As for :class:`hmrf_fast.HMRFKMeans`; an array of centroids counts as any other ``init`` that is no name.
    n_constrained : int, default=0
        Rows that a constraint touches.
    n_pairs : int, default=0
        Pairs that are penalised one by one.
    implicit : bool, default=False
        Whether entailed constraints are too many to be listed, see ``infer_constraints``.

    Returns
    -------
    MemoryEstimate

    Raises
    ------
    InputError
        If a metric has no such name.

    Examples
    --------
    >>> from hmrf_fast import estimate_memory
    >>> estimate_memory(1_000_000, 100_000, 100_000_000, 100).total < 5e9
    True
    """
    if metric not in METRICS:
        raise InputError(f"metric must be one of {', '.join(map(repr, METRICS))}, got {metric!r}")
    kind, item = METRICS[metric], np.dtype(dtype).itemsize
    cells, learned = n_features * n_clusters, learn_weights and kind.directional
    table = np.dtype(np.float64 if metric == "sqeuclidean" or item == 8 else np.float32)
    shape = table_shape(n_clusters, n_features, table)
    tops = int(np.prod(tops_shape(n_clusters, shape, table)))
    tables = (16 + 8 * (int(kind.entropic) + int(learned) + 2 * int(implicit))) * cells
    tables += (
        int(np.prod(shape)) * table.itemsize + tops * table.itemsize
    )  # of half the size, and once more those that moved
    tables += n_features * (FEATURE + LEARNING_FEATURE * learn_weights)
    rows = n_rows * (ROW + LEARNING_ROW * learned + CENTRED_ROW * kind.centred)
    # While weights are learned, what the rows of each pair share is listed, unless that is more than X itself holds.
    shared = 12 * n_entries if learn_weights and n_pairs else 0
    constraints = 24 * n_constrained * n_clusters + PAIR * n_pairs + shared
    start = _start(n_rows, n_features, n_entries, n_clusters, init)
    return MemoryEstimate(tables, rows, constraints, max(0, start - tables))


def _start(n_rows: int, n_features: int, n_entries: int, n_clusters: int, init: Any) -> int:
    """Bytes of the search for first centroids, besides those that rows and constraints take all the time."""
    if not isinstance(init, str):
        return 0
    block = 36 * n_entries // BLOCKS
    drawn = DRAWN_ROW * n_rows + 16 * n_features * n_clusters
    if init not in ("auto", "low_rank"):
        return drawn + (0 if init == "k-means++" else block)
    rank = max(*RANKS, min(n_clusters, 100))
    sketch = 8 * n_features * 2 * (rank + OVERSAMPLES)
    annealed = 40 * n_entries + 32 * n_rows * n_clusters if max(n_entries, n_rows * n_clusters) <= LARGEST else 0
    return max(sketch, n_rows * (20 * rank + REDUCED_ROW) + 8 * n_features * rank + drawn + annealed)


def memory_of(problem: Problem, init: Any, learn_weights: bool) -> MemoryEstimate:
    """What a fit of a problem takes."""
    graph = problem.graph
    return estimate_memory(
        problem.n_rows,
        problem.n_features,
        problem.n_entries,
        problem.n_clusters,
        metric=problem.metric.name,
        dtype=problem.rows.dtype,
        learn_weights=learn_weights,
        init=init,
        n_constrained=graph.rows.size,
        n_pairs=graph.pair_first.size,
        implicit=graph.block_ptr.size > 1,
    )


def refuse_too_large(problem: Problem, init: Any, learn_weights: bool) -> None:
    """Raise if a fit of a problem will not find the memory that it needs.

    Raises
    ------
    NotEnoughMemoryError
        Naming both numbers.
    """
    graph, estimate = problem.graph, memory_of(problem, init, learn_weights)
    parts = [
        (estimate.tables, f"{problem.n_features} features times {problem.n_clusters} clusters"),
        (estimate.constraints, f"{graph.rows.size} constrained rows times {problem.n_clusters} clusters"),
        (estimate.rows + estimate.start, f"{problem.n_rows} rows and the search for a start"),
    ]
    refuse_without("this fit", estimate.total, max(parts)[1])


def refuse_without(what: str, needed: int, most: str) -> None:
    """Raise if ``needed`` bytes are more than this process can get; ``most`` says what takes most of them."""
    if needed < NEGLIGIBLE:
        return
    found = available_memory()
    if found is not None and needed > found:
        raise NotEnoughMemoryError(
            f"{what} needs about {needed / GIB:.1f} GiB of memory, {found / GIB:.1f} GiB are available; most of it is "
            f"for {most}"
        )
