"""Single steps of a fit as callables, for benchmarks that look below the estimators."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from corpora import SMALL, first_centers

from hmrf_fast import Constraints, HMRFKMeans, pruning
from hmrf_fast.e_step import assign, build_table, free_search, nearest_centroids
from hmrf_fast.geometry import Geometry, Problem, build_problem, measure
from hmrf_fast.inputs import as_corpus
from hmrf_fast.kernels.types import ClusterTerms
from hmrf_fast.m_step import statistics, sum_rows
from hmrf_fast.neighborhoods import resolve
from hmrf_fast.penalties import empty_graph, plan
from hmrf_fast.weight_step import gradient

ITERATIONS = 2 if SMALL else 10


class State(NamedTuple):
    """Where a fit stands before an E-step."""

    problem: Problem
    geometry: Geometry
    centers: np.ndarray  # (K, d)
    clusters: ClusterTerms
    labels: np.ndarray  # (n,) of the nearest centroids

    def e_step(self) -> Callable:
        """Distances to all centroids and the choice of the nearest, without constraints."""
        query = self.problem, self.geometry, self.clusters, build_table(self.problem, self.clusters)
        return lambda: nearest_centroids(*query) and None

    def constrained_e_step(self) -> Callable:
        """The same, and the moves of the constrained rows until none wants to move."""
        search = free_search(self.problem, prune=False)

        def run():
            search.moved[:] = True
            assign(self.problem, self.geometry, self.clusters, self.labels, np.uint64(0), "block_icm", search) and None

        return run

    def gradient(self) -> Callable:
        """The slope of J by the feature weights."""
        sums = statistics(self.problem, self.geometry, sum_rows(self.problem, self.geometry, self.labels))
        query = self.problem, self.geometry, self.centers, self.clusters, sums, self.labels, 0.0
        return lambda: gradient(*query) is None


def state(data, n_clusters: int, *, metric="cosine", constraints: Constraints | None = None, potts=False, n_threads=1):
    """Data, centroids drawn from its rows, and the labels of the nearest of them."""
    graph = empty_graph() if constraints is None else plan(resolve(constraints, data.shape[0]))
    weight = np.ones(data.shape[0])
    problem = build_problem(as_corpus(data), metric, weight, graph, n_clusters, potts=potts, n_threads=n_threads)
    alpha = 1.0 if problem.metric.smoothed else 0.0
    geometry = measure(problem, np.ones(data.shape[1]))
    centers = problem.metric.admissible(first_centers(data, n_clusters).astype(np.float64), alpha)
    clusters = problem.metric.cluster_terms(centers, geometry.weights, alpha)
    labels, _ = nearest_centroids(problem, geometry, clusters, build_table(problem, clusters))
    return State(problem, geometry, centers, clusters, labels)


def fit_ours(
    data, n_clusters: int, *, known: dict | None = None, n_threads: int = 1, max_iter=ITERATIONS, **parameters
):
    """A callable that fits from given centroids and returns the number of iterations."""
    fixed = {"init": first_centers(data, n_clusters), "n_init": 1, "tol": 0, "max_iter": max_iter, "random_state": 0}
    model = HMRFKMeans(n_clusters, n_threads=n_threads, **(fixed | parameters))
    return lambda: model.fit(data, **(known or {})).n_iter_


def unpruned(task: Callable) -> Callable:
    """A fit whose searches look at all centroids every time."""

    def run():
        with _fewest_clusters(1 << 60):
            return task()

    return run


@contextlib.contextmanager
def _fewest_clusters(count: int):
    usual, pruning.FEWEST_CLUSTERS = pruning.FEWEST_CLUSTERS, count
    try:
        yield
    finally:
        pruning.FEWEST_CLUSTERS = usual
