"""How fast a fit is on this machine, step by step, beside scikit-learn's k-means on the same rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from hmrf_fast import inputs
from hmrf_fast.assembly import assemble
from hmrf_fast.constraints import Constraints
from hmrf_fast.em import Start, run
from hmrf_fast.errors import InputError
from hmrf_fast.hmrf_kmeans import HMRFKMeans
from hmrf_fast.memory import estimate_memory
from hmrf_fast.outcomes import EMResult, Progress
from hmrf_fast.settings import finish_options, given_knowledge, thread_count
from hmrf_fast.start import starts

__all__ = ["Step", "Timing", "time_fit"]

NAMES = {"E": "assign rows", "M": "centroids", "W": "feature weights"}
WARM_UP = 400  # rows whose fit compiles the kernels, or loads them


class Step(NamedTuple):
    """Seconds of one kind of step.

    Attributes
    ----------
    name : str
    first : float
        In the first iteration, when nothing is known yet.
    later : float
        Median of the later ones; NaN without any.
    """

    name: str
    first: float
    later: float


class Timing(NamedTuple):
    """What `time_fit` measured; seconds are wall-clock.

    Attributes
    ----------
    n_rows, n_features, n_entries, n_clusters, n_threads : int
    metric : str
    compiling : float
        And loading of compiled kernels, before anything below.
    preparing : float
        Checks, norms, constraints.
    seeding : float
        First centroids by k-means++.
    n_iter : int
    per_iteration : float
        Mean.
    steps : tuple of Step
    rival : float or None
        Seconds per iteration of scikit-learn's KMeans from the same centroids; None if not measured.
    rival_n_iter : int
    memory : int
        Bytes that a fit is estimated to take beside the rows, with the default search for a start.
    """

    n_rows: int
    n_features: int
    n_entries: int
    n_clusters: int
    n_threads: int
    metric: str
    compiling: float
    preparing: float
    seeding: float
    n_iter: int
    per_iteration: float
    steps: tuple[Step, ...]
    rival: float | None
    rival_n_iter: int
    memory: int

    @property
    def rows_per_second(self) -> float:
        """Rows per second of an average iteration."""
        return self.n_rows / self.per_iteration

    @property
    def entries_per_second(self) -> float:
        """Non-zeros per second of an average iteration."""
        return self.n_entries / self.per_iteration


def time_fit(
    X: Any,
    n_clusters: int = 100,
    *,
    metric: str = "cosine",
    learn_weights: bool = False,
    constraints: Constraints | None = None,
    max_iter: int = 10,
    n_threads: int | None = None,
    random_state: int = 0,
    rival: bool = True,
) -> Timing:
    """Time one run of the EM loop from one k-means++ start, and Lloyd's algorithm of scikit-learn from the same one.

    Both stop at the same number of iterations, or when nothing moves. The other has rows of length 1 where the metric
    is cosine, computes in the same precision, and may use as many threads. It knows no constraints.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n, d)
    n_clusters : int, default=100
    metric, learn_weights
        As for `HMRFKMeans`.
    constraints : Constraints, optional
    max_iter : int, default=10
    n_threads : int, optional
        As for `HMRFKMeans`.
    random_state : int, default=0
    rival : bool, default=True
        Whether to time the other as well.

    Returns
    -------
    Timing

    Raises
    ------
    InputError, ConstraintError
        As for `HMRFKMeans.fit`.
    """
    model = HMRFKMeans(
        n_clusters, metric=metric, learn_weights=learn_weights, init="k-means++", n_init=1, max_iter=max_iter, tol=0.0,
        n_threads=n_threads, random_state=random_state,
    )  # fmt: skip
    matrix = inputs.check_matrix(model, X, reset=True, dtype=None)
    n_rows, n_features = matrix.shape
    if n_rows < n_clusters:
        raise InputError(f"n_samples={n_rows} should be >= n_clusters={n_clusters}: ask for fewer")
    compiling = _seconds(lambda: _compile(model, matrix))
    began = perf_counter()
    settings, threads = model._settings(), thread_count(n_threads)
    known = given_knowledge(settings, n_clusters, None, None, None, constraints)
    task = assemble(
        settings, matrix, known, None, n_clusters, threads, type(model).__name__, np.arange(n_clusters, dtype=np.int32)
    )
    preparing = perf_counter() - began
    began = perf_counter()
    start = next(starts(task.problem, task.seeds, settings, np.random.default_rng(random_state), matrix))
    seeding, centers = perf_counter() - began, start.centers.copy()
    watch = _Watch()
    options = finish_options(settings, task.problem)._replace(watch=watch)
    began = perf_counter()
    result: EMResult = run(task.problem, Start(start.centers), options, random_state)
    per_iteration = (perf_counter() - began) / result.n_iter
    other, other_n_iter = _rival(matrix, centers, metric, max_iter, threads) if rival else (None, 0)
    graph = task.problem.graph
    memory = estimate_memory(
        n_rows, n_features, int(matrix.nnz), n_clusters, metric=metric, dtype=matrix.dtype, learn_weights=learn_weights,
        n_constrained=graph.rows.size, n_pairs=graph.pair_first.size,
    )  # fmt: skip
    return Timing(
        n_rows, n_features, int(matrix.nnz), n_clusters, threads, metric, compiling, preparing, seeding, result.n_iter,
        per_iteration, watch.steps(), other, other_n_iter, memory.total,
    )  # fmt: skip


class _Watch:
    """Times every sub-step of the loop, which calls it between them."""

    def __init__(self) -> None:
        self._seconds: dict[str, list[float]] = {}
        self._phase, self._began = "", 0.0

    def __call__(self, progress: Callable[[], Progress]) -> None:
        now = perf_counter()
        if self._phase:
            self._seconds.setdefault(self._phase, []).append(now - self._began)
        self._phase = progress().phase
        self._began = perf_counter()

    def steps(self) -> tuple[Step, ...]:
        return tuple(
            Step(NAMES[phase], values[0], float(np.median(values[1:])) if values[1:] else float("nan"))
            for phase, values in self._seconds.items()
        )


def _compile(model: HMRFKMeans, matrix: sp.csr_matrix) -> None:
    """The same steps on a few rows; what they find does not matter."""
    few = matrix[np.linspace(0, matrix.shape[0] - 1, min(WARM_UP, matrix.shape[0])).astype(int)]
    small = HMRFKMeans(**model.get_params()).set_params(n_clusters=min(model.n_clusters, 8, few.shape[0]), max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small.fit(few)


def _rival(matrix: sp.csr_matrix, centers: np.ndarray, metric: str, max_iter: int, threads: int) -> tuple[float, int]:
    """Seconds per iteration of scikit-learn's k-means, and the number of iterations."""
    rows = normalize(matrix) if metric == "cosine" else matrix
    model = KMeans(len(centers), init=normalize(centers) if metric == "cosine" else centers, n_init=1, tol=0.0)
    model.set_params(max_iter=max_iter, algorithm="lloyd")
    with threadpool_limits(threads), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        seconds = _seconds(lambda: model.fit(rows))
    return seconds / model.n_iter_, int(model.n_iter_)


def _seconds(do: Callable[[], Any]) -> float:
    began = perf_counter()
    do()
    return perf_counter() - began
