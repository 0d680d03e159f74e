"""What a fit will take, told before it begins."""

from __future__ import annotations

from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from hmrf_fast.assembly import assemble
from hmrf_fast.e_step import build_table, nearest_centroids
from hmrf_fast.geometry import Problem, build_problem, measure
from hmrf_fast.kernels.mahalanobis import LIFTED
from hmrf_fast.machine import available_memory
from hmrf_fast.memory import MemoryEstimate, memory_of
from hmrf_fast.penalties import empty_graph
from hmrf_fast.settings import given_knowledge, thread_count
from hmrf_fast.sources import check_source

SAMPLE = 1 << 20  # non-zeros that are timed


class FitEstimate(NamedTuple):
    """What a fit will take.

    Attributes
    ----------
    shape : tuple of int
        Rows and features.
    n_entries : int
        Stored values.
    n_pairs, n_constrained : int
        Constraints that are priced one by one, given or inferred, and the rows that any of them touches.
    memory : MemoryEstimate or None
        Bytes beside the input; None for metrics with a matrix per cluster, which `estimate_memory` does not know.
    available : int or None
        Bytes that this process can still get, as far as the operating system tells.
    seconds : float or None
        Of one search for the nearest centroids among all rows, by far the most of an iteration without learned weights
        and with few constraints: timed with some of the rows. None where the tables do not fit into memory.
    """

    shape: tuple[int, int]
    n_entries: int
    n_pairs: int
    n_constrained: int
    memory: MemoryEstimate | None
    available: int | None
    seconds: float | None

    @property
    def fits(self) -> bool:
        """Whether the fit will find its memory, as far as is known."""
        return self.memory is None or self.available is None or self.memory.total <= self.available


def estimate_fit(model: Any, X: Any, constraints: Any = None) -> FitEstimate:
    """Check everything as ``model.fit(X, constraints=constraints)`` does, and tell what it would take; the model stays
    as it is.

    Parameters
    ----------
    model : estimator
    X : {sparse matrix, array-like, Rows} of shape (n, d)
    constraints : Constraints, optional

    Returns
    -------
    FitEstimate

    Raises
    ------
    InputError, InfeasibleError
        As a fit would.
    """
    model = type(model)(**model.get_params())
    settings = model._settings()
    rows = check_source(model, X, reset=True, dtype=model.dtype, copy=model.copy_x)
    known = given_knowledge(settings, model.n_clusters, None, None, None, constraints)
    lifted = settings.metric in LIFTED
    plain = settings._replace(metric="sqeuclidean") if lifted else settings
    merged = np.arange(model.n_clusters, dtype=np.int32)
    threads = thread_count(model.n_threads)
    problem = assemble(plain, rows, known, None, model.n_clusters, threads, type(model).__name__, merged).problem
    memory = None if lifted else memory_of(problem, settings.init, settings.options.learn_weights)
    estimate = FitEstimate(
        (problem.n_rows, problem.n_features), problem.n_entries, problem.graph.pair_first.size,
        problem.graph.rows.size, memory, available_memory(), None,
    )  # fmt: skip
    return estimate._replace(seconds=_time_search(problem)) if estimate.fits and not lifted else estimate


def _time_search(problem: Problem) -> float:
    """Seconds of one search among all rows, from the best of three among the first ones, compiled before."""
    count = max(1, int(np.searchsorted(problem.rows.indptr, SAMPLE)))
    block = next(problem.rows.spans(np.array([0, min(count, problem.n_rows)])))
    size = block.n_rows
    part = build_problem(
        block.corpus, problem.metric, np.ones(size), empty_graph(), problem.n_clusters, n_threads=problem.n_threads
    )
    geometry = measure(part, np.ones(part.n_features))
    centers = np.random.default_rng(0).random((part.n_clusters, part.n_features)) + 0.5
    clusters = part.metric.cluster_terms(part.metric.admissible(centers, 0.0), geometry.weights, 0.0)
    table, seconds = build_table(part, clusters), []
    for _ in range(4):
        started = perf_counter()
        nearest_centroids(part, geometry, clusters, table)
        seconds.append(perf_counter() - started)
    work = block.n_entries + size, problem.n_entries + problem.n_rows
    return min(seconds[1:]) * work[1] / work[0]
