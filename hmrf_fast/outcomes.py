"""What runs of the EM loop yield: results, the best of them, and where an unfinished run stands."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

ROUNDING = 1e-9  # share by which two sums of the same numbers may differ


class EMResult(NamedTuple):
    """A finished run; labels are the E-step's answer to the centroids."""

    labels: np.ndarray
    centers: np.ndarray
    weights: np.ndarray
    alpha: float
    inertia: float  # the part of J that distances to the own centroid make
    objective: float
    history: list[float]
    steps: list[str]
    n_iter: int
    converged: bool
    n_empty: int
    evidence: float = 0.0  # log probability that chooses, see ``evidence.py``,
    room: float = 0.0  # among results this share above the lowest objective; 0: objectives alone decide


class Progress(NamedTuple):
    """An unfinished run between two sub-steps."""

    labels: np.ndarray  # (n,) int32, or length 0 before there are any
    centers: np.ndarray  # (K, d) float64
    weights: np.ndarray  # (d,) float64
    terms: np.ndarray  # (3, K) float64: inverse, offset and cross of ``ClusterTerms``
    products: np.ndarray  # (2, K) float64, see ``Metric.products``
    stale: np.ndarray  # (K,) bool: clusters whose centroid does not follow from their sums
    alpha: float
    rate: float
    history: list[float]
    steps: list[str]
    phase: str  # the next sub-step: "E", "M", "W" or "end"
    iteration: int
    changed: int  # rows that the last E-step moved
    quiet: int
    standing: int
    reached: float
    converged: bool


class Revision(NamedTuple):
    """A state after labels were set by hand."""

    centers: np.ndarray
    inertia: float
    objective: float


def keep_best(kept: list[EMResult], result: EMResult) -> list[EMResult]:
    """The results that may be the answer once there is one more, two at most; the first of them is the best so far.

    The lowest objective wins, or, of those that lie within the ``room`` above it, the one with the most evidence; of
    results that are equal up to rounding the first, so that rounding never chooses. Evidence is about rows, so it
    never pays for constraints: who violates more than the lowest objective does is out, and the room is a share of
    what distances make of it. All others are let go, since each holds a table of centroids.
    """
    tried = [*kept, result]
    lowest = _first_lowest(tried, [one.objective for one in tried])
    if not result.room:
        return [lowest]
    bound = lowest.objective + result.room * max(abs(lowest.inertia), ROUNDING)
    broken = lowest.objective - lowest.inertia + ROUNDING * abs(lowest.objective)
    near = [one for one in tried if one.objective <= bound and one.objective - one.inertia <= broken]
    chosen = _first_lowest(near, [-one.evidence for one in near])
    return [chosen] if chosen is lowest else [chosen, lowest]


def _first_lowest(results: list[EMResult], values: list[float]) -> EMResult:
    lowest = min(values)
    return results[next(k for k, value in enumerate(values) if value <= lowest + ROUNDING * abs(lowest))]
