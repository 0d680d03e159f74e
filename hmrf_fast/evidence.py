"""Which of two labellings explains the words better: the choice between starts whose objectives are as good as equal.

On a few hundred sparse rows the lowest of several objectives a thousandth apart is chance: each row is part of its
centroid and brings most of its likeness to it along. The probability of the words given the labels, with the unknown
word frequencies of each cluster integrated out (a multinomial with a Dirichlet prior; Minka, Estimating a Dirichlet
distribution, 2000; as in the naive Bayes mixtures of Nigam, McCallum, Thrun and Mitchell, 2000), charges for that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln

from hmrf_fast.geometry import Problem
from hmrf_fast.kernels import pool
from hmrf_fast.kernels.evidence import word_evidence
from hmrf_fast.kernels.types import Sums
from hmrf_fast.low_rank import usable_ranks


def words_decide(problem: Problem, settings: Any) -> bool:
    """Whether rows can be taken for texts and starts come from their low-rank structure: cosine, no negative value, no
    learned weights, under which objectives of starts are not on one scale."""
    metric = problem.metric
    directional = metric.directional and not metric.centred and not problem.signed
    named = isinstance(settings.init, str) and settings.init in ("auto", "low_rank")
    return directional and named and not settings.options.learn_weights and bool(usable_ranks(problem))


def evidence(problem: Problem, sums: Sums) -> float:
    """Log probability of words and cluster sizes, but for what is the same for all labellings of these rows; cost K d.

    A row of unit length stands for as many words as its entries sum to, times the mean of that over the rows: about
    the number of words that matter in it. The prior expects one word per feature, shared out as in all rows.
    """
    inverse = sums.inverse if sums.inverse.size else np.ones(problem.n_features)
    inverse = np.broadcast_to(inverse, problem.n_features) * abs(problem.metric.pull)
    share = sums.linear.sum(axis=0) * inverse
    if not share.sum() > 0:
        return 0.0
    count = share.sum() / problem.sample_weight.sum()
    prior = share / share.sum() * np.count_nonzero(share)
    found = np.empty(problem.n_clusters)
    work = 20.0 * problem.n_features * problem.n_clusters
    pool.run_chunks(
        lambda first, last: word_evidence(sums.linear, inverse, count, prior, first, last, found),
        pool.even_chunks(problem.n_clusters, problem.n_clusters, work),
        problem.n_threads,
        work,
    )
    return float(found.sum() + gammaln(sums.mass + 1.0).sum())
