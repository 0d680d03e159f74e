"""How probable the words of each cluster are: the Dirichlet-multinomial (Polya) distribution of its summed counts."""

from __future__ import annotations

import math

from hmrf_fast.kernels._jit import kernel


@kernel
def word_evidence(sums, inverse, count, prior, first, last, found):
    """Log probabilities of the clusters' words, up to what all labellings of the same rows share.

    IN sums (K, d) int64 or float64, inverse (d,) float64: one over their scale; count: what a sum is multiplied by to
    be a number of words; prior (d,) float64: the parameters of the Dirichlet distribution, 0 for features that no row
    has.
    OUT found[first:last]: ln G(B) - ln G(B + M) + sum of ln G(b + m) - ln G(b), with m the words of a cluster, M and B
    the sums of m and of b = prior. Cost: d per cluster.
    """
    strength = 0.0
    for feature in range(prior.size):
        strength += prior[feature]
    for h in range(first, last):
        total, words = 0.0, 0.0
        for feature in range(prior.size):
            seen = count * inverse[feature] * sums[h, feature]
            if seen > 0.0:
                words += seen
                total += math.lgamma(prior[feature] + seen) - math.lgamma(prior[feature])
        found[h] = total + math.lgamma(strength) - math.lgamma(strength + words)
