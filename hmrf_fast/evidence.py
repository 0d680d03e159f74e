"""Which of two labellings explains the rows better: the choice between starts whose objectives mislead.

On a few hundred sparse rows the lowest of several objectives a thousandth apart is chance: each row is part of its
centroid and brings most of its likeness to it along. Matrices per cluster fit small clusters as closely as their rows
are few. The probability of the rows given the labels, with the unknown parameters of each cluster integrated out,
charges for both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, multigammaln
from threadpoolctl import threadpool_limits

from hmrf_fast.geometry import Problem
from hmrf_fast.kernels import pool
from hmrf_fast.kernels.evidence import word_evidence
from hmrf_fast.kernels.mahalanobis import plain_width
from hmrf_fast.kernels.types import Sums

ROOM = 2e-3  # share of the lowest objective within which words choose
PRIOR_ROWS = 10.0  # that the prior of a covariance is worth
PRIOR_VARIANCE = 3.0  # ridges; by default a third of the variance within clusters
PRIOR_MEAN_ROWS = 0.1  # that the prior of a mean is worth
# Beyond so many features no density of this form held: optdigits, 64 pixels most of which are blank, falls to .70 NMI.
MOST_FEATURES = 32


class Judge(NamedTuple):
    """What chooses between the results of several starts."""

    kind: str = "objective"  # or "words", "matrices"

    def weigh(self, problem: Problem, sums: Sums, penalty: float) -> tuple[float, float]:
        """Evidence, and how far above the lowest objective it may choose; ``penalty`` is the objective's part that
        constraints make."""
        if self.kind == "objective":
            return 0.0, 0.0
        scale = rows_per_weight(problem.sample_weight)
        inverse = sums.inverse if sums.inverse.size else np.ones(1)
        sums = sums._replace(inverse=scale * inverse, mass=scale * sums.mass)
        if self.kind == "words":
            return word_probability(problem, sums), ROOM
        return row_probability(problem, sums) - scale * penalty / 2.0, np.inf  # the objective is in halves of a nat


def rows_per_weight(sample_weight: np.ndarray) -> float:
    """What turns weights into numbers of rows, as which evidence takes them: the more rows, the less its priors say.

    Weights that average less than one, such as shares of one, are no such numbers: they are taken relative to their
    mean. Under any others a row of weight 2 is two rows.
    """
    return max(1.0, np.count_nonzero(sample_weight) / float(sample_weight.sum()))


def word_probability(problem: Problem, sums: Sums) -> float:
    """Log probability of words and cluster sizes, but for what is the same for all labellings of these rows; cost K d.

    Words of a cluster are multinomial with Dirichlet frequencies (as in the mixtures of Nigam, McCallum, Thrun and
    Mitchell, 2000, but with the frequencies integrated out). A row of unit length stands for as many words as its
    entries sum to, times the mean of that over the rows: about the number of words that matter in it. The prior expects
    one word per feature, shared out as in all rows.
    """
    inverse = sums.inverse if sums.inverse.size else np.ones(problem.n_features)
    inverse = np.broadcast_to(inverse, problem.n_features) * abs(problem.metric.pull)
    share = sums.linear.sum(axis=0) * inverse
    if not share.sum() > 0:
        return 0.0
    count = share.sum() / sums.mass.sum()
    prior = share / share.sum() * np.count_nonzero(share)
    found = np.empty(problem.n_clusters)
    work = 20.0 * problem.n_features * problem.n_clusters
    pool.run_chunks(
        lambda first, last: word_evidence(sums.linear, inverse, count, prior, first, last, found),
        pool.even_chunks(problem.n_clusters, problem.n_clusters, work),
        problem.n_threads,
        work,
    )
    return float(found.sum() + _size_probability(sums))


def row_probability(problem: Problem, sums: Sums) -> float:
    """Log probability of rows and cluster sizes, but for what is the same for all labellings of these rows; cost K d^3.

    The rows of a cluster are normal; mean and covariance have the conjugate prior (Murphy, Conjugate Bayesian analysis
    of the Gaussian distribution, 2007, eq. 266), a covariance is believed to be a few times the ridge, which is the
    identity in the coordinates of lifted rows.
    """
    size = plain_width(problem.n_features)
    upper = np.triu_indices(size)
    table = sums.linear * (sums.inverse if sums.inverse.size else 1.0) * problem.metric.pull
    freedom = size + 1.0 + PRIOR_ROWS
    total = _size_probability(sums)
    with threadpool_limits(1, "blas"):  # the last bits depend on the number of threads
        for mass, row in zip(sums.mass, table, strict=True):
            if mass == 0:
                continue
            scatter = PRIOR_ROWS * PRIOR_VARIANCE * np.eye(size)
            scatter[upper] += row[size:]
            scatter[upper] -= np.outer(row[:size], row[:size])[upper] / (PRIOR_MEAN_ROWS + mass)
            scatter.T[upper] = scatter[upper]
            total += multigammaln((freedom + mass) / 2.0, size) - multigammaln(freedom / 2.0, size)
            total += freedom / 2.0 * size * np.log(PRIOR_ROWS * PRIOR_VARIANCE)
            # No direction varies less than the prior says, but far from 0 rounding may tell so.
            sizes = np.maximum(np.linalg.eigvalsh(scatter), PRIOR_ROWS * PRIOR_VARIANCE)
            total -= (freedom + mass) / 2.0 * np.log(sizes).sum()
            total -= size / 2.0 * np.log1p(mass / PRIOR_MEAN_ROWS)
    return float(total)


def _size_probability(sums: Sums) -> float:
    return float(gammaln(sums.mass + 1.0).sum())
