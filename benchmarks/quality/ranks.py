"""Which method is better over all sets: mean ranks, and whether their differences could be chance.

J. Demsar, Statistical Comparisons of Classifiers over Multiple Data Sets, JMLR 7, 2006: Friedman's test over the ranks,
then Nemenyi's critical difference for all pairs of methods, and Wilcoxon's signed ranks with Holm's correction against
one of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats


class Ranking(NamedTuple):
    """Methods compared on N sets; 1 is the best rank."""

    mean_rank: np.ndarray  # (k,)
    friedman: float  # p that all methods are alike; NaN with fewer than three
    critical_difference: float  # mean ranks that are nearer than this do not differ at 5 % (Nemenyi)
    adjusted: np.ndarray  # (k,) Holm's p of each method against the reference (Wilcoxon); NaN for itself
    gap: np.ndarray  # (k,) how far it lies behind the best method of a set, at worst
    worst: np.ndarray  # (k,) the set where


def rank(scores: np.ndarray, reference: int) -> Ranking:
    """``scores`` (N, k), higher is better."""
    n_sets, n_methods = scores.shape
    # Ties up to the third decimal share a rank: a difference of 1e-6 NMI is none.
    ranks = stats.rankdata(-np.round(scores, 3), axis=1)
    friedman = float("nan")
    if n_methods > 2 and n_sets > 1 and np.ptp(ranks, axis=1).any():
        friedman = float(stats.friedmanchisquare(*ranks.T).pvalue)
    spread = np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_sets))
    critical = float(stats.studentized_range.ppf(0.95, n_methods, np.inf) / np.sqrt(2.0) * spread)
    behind = scores.max(1, keepdims=True) - scores
    adjusted = holm(np.array([_signed_ranks(scores[:, m] - scores[:, reference]) for m in range(n_methods)]), reference)
    return Ranking(ranks.mean(0), friedman, critical, adjusted, behind.max(0), behind.argmax(0))


def _signed_ranks(difference: np.ndarray) -> float:
    return float(stats.wilcoxon(difference).pvalue) if np.any(difference) else 1.0


def holm(p: np.ndarray, reference: int) -> np.ndarray:
    """Holm's step-down adjustment of all but the reference."""
    others = np.delete(np.arange(p.size), reference)
    order = others[np.argsort(p[others])]
    adjusted = np.full(p.size, np.nan)
    factors = np.arange(order.size, 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return adjusted


def falls(means: np.ndarray) -> tuple[float, int, int]:
    """The largest fall along a curve, and from which point to which later one; 0 for a curve that only rises."""
    best = (0.0, 0, 0)
    for first in range(means.size):
        for later in range(first + 1, means.size):
            best = max(best, (float(means[first] - means[later]), first, later))
    return best
