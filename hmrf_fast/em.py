"""The one EM loop: E-step, centroids, feature weights, with J after every sub-step (KDD 2004, figure 2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hmrf_fast.convergence import Rest
from hmrf_fast.e_step import assign, free_search, violations
from hmrf_fast.evidence import Judge
from hmrf_fast.geometry import Geometry, Problem, measure
from hmrf_fast.kernels.metrics import data_cost
from hmrf_fast.kernels.rng import mix
from hmrf_fast.kernels.types import ClusterTerms
from hmrf_fast.listed_pairs import shared_by_pairs
from hmrf_fast.m_step import SumTable, center_clusters, statistics, sum_rows, table_products, update_sums
from hmrf_fast.outcomes import EMResult, Progress, Revision
from hmrf_fast.relocation import refill
from hmrf_fast.weight_step import Prior, learn, prior_cost


class Options(NamedTuple):
    """What the loop needs to know besides the problem."""

    max_iter: int = 100
    tol: float = 1e-4
    e_step: str = "block_icm"
    learn_weights: bool = False
    prior: Prior = Prior("none", 0.0)
    learning_rate: float = 0.0
    smoothing: tuple[float, float] = (0.0, 0.0)  # first and smallest value; halved in between
    callback: Callable[[dict[str, Any]], None] | None = None
    judge: Judge = Judge()
    watch: Callable[[Callable[[], Progress]], None] | None = None  # called between sub-steps, with the way to see where


class Start(NamedTuple):
    """Where a fit begins: centroids (K, d), labels (n,) int32 if a start comes with them, and what an earlier fit had
    learned: feature weights (d,) and smoothing. A run moves the centroids where they are, if they are float64."""

    centers: np.ndarray
    labels: np.ndarray | None = None
    weights: np.ndarray | None = None
    alpha: float | None = None


def run(
    problem: Problem, start: Start | Progress, options: Options, seed: int, geometry: Geometry | None = None
) -> EMResult:
    """Iterate until labels and J rest, or ``max_iter``; labels, centroids and J agree at the end.

    From the ``Progress`` of an earlier run with the same arguments it goes on to the same bits.
    """
    if options.learn_weights:
        shared_by_pairs(problem)  # before distances of pairs are wanted, so that these take no merging of their own
    if geometry is None:
        geometry = measure(problem, np.ones(problem.n_features) if start.weights is None else start.weights)
    return _Loop(problem, options, seed, geometry).run(start)


def revise(problem: Problem, start: Start, changed: np.ndarray, options: Options) -> Revision:
    """New centroids of the changed clusters, for labels set by hand; all others are left as they are."""
    weights = np.ones(problem.n_features) if start.weights is None else start.weights
    return _Loop(problem, options, 0, measure(problem, weights)).revise(start, changed)


class _Loop:
    """State of one run. Sub-steps are methods so that each reads as one line of the algorithm."""

    def __init__(self, problem: Problem, options: Options, seed: int, geometry: Geometry):
        self.problem, self.options, self.seed = problem, options, np.uint64(seed)
        self.geometry = geometry
        self.alpha = options.smoothing[0] if problem.metric.smoothed else 0.0
        self.labels: np.ndarray
        self.labelled = False
        self.nearest = np.zeros(problem.n_rows)
        self.search = free_search(problem, prune=True)
        self.priced: tuple[Any, Any, float] = (None, None, 0.0)  # labels, geometry and what they violate
        self.sums: SumTable | None = None
        self.trial: SumTable | None = None
        self.product, self.square = np.zeros((2, problem.n_clusters))
        # Clusters whose centroid does not follow from their sums (any more); what is known of all others still holds.
        self.stale = np.ones(problem.n_clusters, bool)
        self.history: list[float] = []
        self.steps: list[str] = []
        self.rate = options.learning_rate
        self.phase, self.iteration, self.changed = "E", 1, 0
        self.rest, self.converged = Rest(), False

    def run(self, start: Start | Progress) -> EMResult:
        if isinstance(start, Progress):
            self._resume(start)
        else:
            self._begin(start)
        while True:
            if self.options.watch is not None:
                self.options.watch(self.progress)
            if self.phase == "end":
                return self._finish()
            self._take_step()

    def _begin(self, start: Start) -> None:
        if start.alpha is not None:
            self.alpha = start.alpha
        admissible = self.problem.metric.admissible(start.centers, self.alpha)
        self.centers = self._share_merged(np.ascontiguousarray(admissible, dtype=np.float64))
        self.clusters = self._cluster_terms()
        if start.labels is not None:
            self.labels, self.labelled = start.labels, True

    def _take_step(self) -> None:
        """One sub-step, and what comes after it: ``phase`` is "E", "M", "W" or "end"."""
        if self.phase == "E":
            before = self.history[-1] if self.history else np.inf
            self.changed = self.expect(self.iteration)
            # Centroids move in all iterations but the last, whose labels answer them.
            self.phase = "end" if self._is_over(before) or self.iteration > self.options.max_iter else "M"
            return
        if self.phase == "M":
            self.maximize_centers()
        else:
            self.maximize_weights()
        self.phase = "W" if self.phase == "M" and self.options.learn_weights else "E"
        if self.phase == "E":
            self._notify(self.iteration, self.changed)
            self.iteration += 1

    def _is_over(self, before: float) -> bool:
        """Whether labels and J rest after an E-step."""
        options, base = self.options, self.geometry.base
        self.rest = self.rest.after(self.changed, self.history[-1], base)
        annealing = self.problem.metric.smoothed and self.alpha > options.smoothing[1]
        self.converged = not annealing and self.rest.is_over(before, options.tol, base, options.learn_weights)
        return self.converged

    def progress(self) -> Progress:
        """All that a further run needs to go on from here; shared with the loop, so good until its next sub-step."""
        return Progress(
            self.labels if self.labelled else np.zeros(0, np.int32), self.centers, self.geometry.weights,
            np.stack([self.clusters.inverse, self.clusters.offset, self.clusters.cross]),
            np.stack([self.product, self.square]), self.stale, self.alpha, self.rate, self.history, self.steps,
            self.phase, self.iteration, self.changed, *self.rest, self.converged,
        )  # fmt: skip

    def _resume(self, past: Progress) -> None:
        """Sums follow from labels, tables from centroids, bit for bit; their products depend on how they came about."""
        self.centers, self.alpha, self.rate = past.centers, past.alpha, past.rate
        self.clusters = self._cluster_terms()
        self.clusters.inverse[:], self.clusters.offset[:], self.clusters.cross[:] = past.terms
        self.history, self.steps = list(past.history), list(past.steps)
        self.phase, self.iteration, self.changed = past.phase, past.iteration, past.changed
        self.rest, self.converged = Rest(past.quiet, past.standing, past.reached), past.converged
        if past.labels.size:
            self.labels, self.labelled = past.labels, True
        if self.steps:
            self.sums = sum_rows(self.problem, self.geometry, self.labels)
            self.statistic = statistics(self.problem, self.geometry, self.sums)
            self.product[:], self.square[:] = past.products
            self.stale[:] = past.stale

    def revise(self, start: Start, changed: np.ndarray) -> Revision:
        assert start.labels is not None
        self.alpha = self.alpha if start.alpha is None else start.alpha
        self.labels, self.centers = start.labels, start.centers
        self.clusters = self._cluster_terms()
        self._sum()
        self.centers[changed] = self.problem.metric.centers(self.statistic, self.geometry.weights, self.alpha)[changed]
        self.centers = self._share_merged(self.centers)
        self.clusters = self._cluster_terms()
        self._multiply()
        self._record("edit")
        return Revision(self.centers, self._data(), self.history[-1])

    def expect(self, iteration: int) -> int:
        """E-step; returns the number of rows whose label changed."""
        previous = self.labels if self.labelled else None
        seed = np.uint64(mix(self.seed, np.uint64(iteration)))
        labels, self.nearest = assign(
            self.problem, self.geometry, self.clusters, previous, seed, self.options.e_step, self.search
        )
        self.labels, self.labelled = labels, True
        self._sum()
        self._record("E")
        self._refill()
        return self.problem.n_rows if previous is None else int(np.count_nonzero(previous != self.labels))

    def maximize_centers(self) -> None:
        """M-step (A), and the next stage of the smoothing schedule."""
        if self.problem.metric.smoothed:
            before = self.alpha
            self.alpha = max(0.5 * self.alpha, min(self.alpha, self.options.smoothing[1]))
            self.stale[:] |= self.alpha != before
        self._settle(self.stale.nonzero()[0])
        self.stale[:] = self.problem.merged.size > 0
        self._record("M")

    def maximize_weights(self) -> None:
        """M-step (B)."""
        geometry, self.clusters, objective = learn(
            self.problem, self.geometry, self.centers, self.clusters, self.statistic, self.labels, self.alpha,
            self.options.prior, self.rate, self.history[-1], self._objective_under,
        )  # fmt: skip
        if geometry is not self.geometry:
            self.geometry, self.sums, self.trial = geometry, self.trial, self.sums
            self.stale[:] = True
        self.rate *= 0.9
        self.history.append(objective)
        self.steps.append("W")

    def _refill(self) -> None:
        """Fill emptied clusters; labels, sums and centroids change together: J stays the objective of all three."""
        if self.statistic.mass.all():
            return
        labels, filled = refill(self.problem, self.geometry, self.labels, self.nearest)
        if filled.size == 0:
            return
        merged = self.problem.merged
        touched = np.flatnonzero(np.isin(merged, filled)) if merged.size else filled
        before = self.labels, self.centers[touched]
        self.labels = labels
        self._sum()
        self._settle(filled)
        self._record("refill")
        if not self.history[-1] < self.history[-2] - 1e-12 * abs(self.history[-2]):
            # Nothing gained (a smoothed centroid is at a distance even from its own row): the next tie would undo it.
            self.labels, self.centers[touched] = before
            self.problem.metric.write_terms(self.centers, self.alpha, touched, self.clusters)
            self._sum()
            del self.history[-1], self.steps[-1]

    def _settle(self, which: np.ndarray) -> None:
        """Move the given clusters' centroids to where their sums say."""
        self.product[which] = center_clusters(
            self.problem, self.statistic, self.square, self.alpha, which, self.centers, self.clusters
        )
        self.search.moved[which if not self.problem.merged.size else slice(None)] = True

    def _share_merged(self, centers: np.ndarray) -> np.ndarray:
        """Clusters that were merged into others share their centroids."""
        return centers[self.problem.merged] if self.problem.merged.size else centers

    def _cluster_terms(self) -> ClusterTerms:
        return self.problem.metric.cluster_terms(self.centers, self.geometry.weights, self.alpha)

    def _sum(self) -> None:
        if self.sums is None:
            self.sums = sum_rows(self.problem, self.geometry, self.labels)
            self.stale[:] = True
        else:
            self.sums, touched = update_sums(self.problem, self.geometry, self.sums, self.labels)
            self.stale |= touched
        self.statistic = statistics(self.problem, self.geometry, self.sums)
        self._multiply()

    def _multiply(self) -> None:
        """Sums times centroids, from which J follows; cost d per stale cluster."""
        which = self.stale.nonzero()[0]
        self.product[which], self.square[which] = table_products(self.problem, self.statistic, self.clusters, which)

    def _objective_under(self, geometry: Geometry, clusters: ClusterTerms) -> float:
        """J under other weights; the sums that it takes are kept for the next E-step, if the weights are accepted."""
        problem, sums = self.problem, self.sums
        if sums is None or problem.metric.directional:  # whose rows change length
            sums = sum_rows(problem, geometry, self.labels, self.trial)
        self.trial, statistic = sums, statistics(problem, geometry, sums)
        product, _ = table_products(problem, statistic, clusters, np.arange(problem.n_clusters))
        return self._add_rest(data_cost(problem.metric, geometry.base, product, statistic, clusters), geometry)

    def _add_rest(self, data: float, geometry: Geometry) -> float:
        if self.priced[0] is not self.labels or self.priced[1] is not geometry:
            self.priced = self.labels, geometry, violations(self.problem, geometry, self.labels)[0]
        broken = self.priced[2]
        return data + broken + self.problem.priors.total(self.labels) + prior_cost(self.options.prior, geometry.weights)

    def _data(self) -> float:
        return data_cost(self.problem.metric, self.geometry.base, self.product, self.statistic, self.clusters)

    def _record(self, step: str) -> None:
        self.history.append(self._add_rest(self._data(), self.geometry))
        self.steps.append(step)

    def _notify(self, iteration: int, changed: int) -> None:
        if self.options.callback is not None:
            self.options.callback({"iteration": iteration, "objective": self.history[-1], "changed": changed})

    def _finish(self) -> EMResult:
        """If the last E-step had to refill a cluster, its labels no longer answer the centroids: repeat it."""
        for extra in range(self.problem.n_clusters):
            if self.steps[-1] != "refill":
                break
            self.expect(self.iteration + 2 + extra)
        empty = np.bincount(self.labels, minlength=self.problem.n_clusters) == 0
        n_empty = int(empty.sum()) - int(np.count_nonzero(self.problem.merged != np.arange(self.problem.merged.size)))
        return EMResult(
            self.labels, self.centers, self.geometry.weights, self.alpha, self._data(), self.history[-1], self.history,
            self.steps, min(self.iteration, self.options.max_iter), self.converged, n_empty,
            *self.options.judge.weigh(self.problem, self.statistic, self.history[-1] - self._data()),
        )  # fmt: skip
