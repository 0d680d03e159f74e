"""Oracle, part two: the objective J, its gradient in the feature weights, and the closed-form weight steps.

The gradient shares no arithmetic with the objective: it is written out one scalar feature at a time, so that central
differences of the objective are a real check of it.
"""

from math import log, sqrt

import numpy as np
from oracle_formulas import CANNOT_LINK, MUST_LINK, distance, phi, phi_max, smoothing_term, two_heaviest_rows

# ---------------------------------------------------------------------------------------------------------------------
# The objective


def objective(X, labels, centroids, a, metric, pairs=(), sample_weight=None, alpha=0.0, penalty="distance", prior=None):
    """J = data term + smoothing + costs of violated pairs + prior term (KDD 2004 eq. 9: each pair counts once)."""
    return (
        data_term(X, labels, centroids, a, metric, sample_weight, alpha)
        + pair_term(labels, price_pairs(X, a, metric, pairs, penalty))
        + prior_term(a, prior)
    )


def data_term(X, labels, centroids, a, metric, sample_weight=None, alpha=0.0):
    """sum_i s_i (D_a(x_i, mu_{l_i}) + smoothing of mu_{l_i}), the smoothing for i_divergence only."""
    s = np.ones(len(X)) if sample_weight is None else sample_weight
    total = 0.0
    for i in range(len(X)):
        if s[i] == 0.0:
            continue  # a row without weight costs nothing, not 0 * inf
        mu = centroids[labels[i]]
        smoothing = smoothing_term(mu, a, alpha) if metric == "i_divergence" else 0.0
        total += s[i] * (distance(X[i], mu, a, metric) + smoothing)
    return total


def price_pairs(X, a, metric, pairs, penalty="distance"):
    """Turn (i, j, kind, weight) into (i, j, kind, cost), the cost due if the pair is violated.

    penalty "distance": must-link w * phi, cannot-link w * (phi_max - phi).  "potts": w for both kinds.
    An infinite weight (a hard pair) costs inf, also where its penalty is 0.
    """
    if penalty not in ("distance", "potts"):
        raise ValueError(f"unknown penalty {penalty!r}")
    top = phi_max(X, a, metric)
    priced = []
    for i, j, kind, weight in pairs:
        if penalty == "potts" or np.isinf(weight):
            price = 1.0
        elif kind == MUST_LINK:
            price = phi(X[i], X[j], a, metric)
        else:
            price = top - phi(X[i], X[j], a, metric)
        priced.append((i, j, kind, weight * price))
    return priced


def pair_term(labels, pairs_cost):
    """Sum of the costs of the violated pairs: must-links whose labels differ, cannot-links whose labels agree."""
    return sum(cost for i, j, kind, cost in pairs_cost if is_violated(labels[i], labels[j], kind))


def is_violated(label_i, label_j, kind):
    """Whether two labels break a pair of this kind."""
    if kind not in (MUST_LINK, CANNOT_LINK):
        raise ValueError(f"unknown kind of pair {kind!r}")
    return label_i != label_j if kind == MUST_LINK else label_i == label_j


def prior_term(a, prior):
    """Minus the log of the weights' prior.

    ("rayleigh", r, s=1): -r * sum_m ln(a_m exp(-a_m^2 / (2 s^2)) / s^2).  ("log_det", n): -n * sum_m ln a_m.
    """
    if prior is None:
        return 0.0
    name, strength, *rest = prior
    if name == "rayleigh":
        scale = rest[0] if rest else 1.0
        return -strength * np.sum(np.log(a) - a**2 / (2.0 * scale**2) - 2.0 * np.log(scale))
    if name == "log_det":
        return -strength * np.sum(np.log(a))
    raise ValueError(f"unknown prior {name!r}")


# ---------------------------------------------------------------------------------------------------------------------
# Its gradient in a, centroids held fixed


def gradient(X, labels, centroids, a, metric, pairs=(), sample_weight=None, alpha=0.0, penalty="distance"):
    """dJ/da without the prior, (d,), centroids held fixed (KDD 2004 eqs. 18-20, corrected).

    Where two rows tie for phi_max of i_divergence, J has a kink and this is one of its subgradients.
    """
    s = np.ones(len(X)) if sample_weight is None else sample_weight
    d = X.shape[1]
    out = np.zeros(d)
    for i in range(len(X)):
        if s[i] == 0.0:
            continue
        mu = centroids[labels[i]]
        for m in range(d):
            out[m] += s[i] * _slope(X[i], mu, a, m, metric)
            if metric == "i_divergence" and alpha > 0.0:
                out[m] += s[i] * alpha * _i_divergence_slope(1.0 / d, mu[m])
    if penalty == "distance":
        out += _pair_gradient(X, labels, a, metric, pairs)
    return out


def _pair_gradient(X, labels, a, metric, pairs):
    """Gradient of the violated pairs' costs; Potts costs have none."""
    out = np.zeros(X.shape[1])
    for i, j, kind, weight in pairs:
        if not is_violated(labels[i], labels[j], kind):
            continue
        for m in range(X.shape[1]):
            slope = _pair_slope(X[i], X[j], a, m, metric)
            out[m] += weight * (slope if kind == MUST_LINK else _phi_max_slope(X, a, m, metric) - slope)
    return out


def _slope(x, y, a, m, metric):
    """dD_a(x, y)/da_m."""
    if metric == "sqeuclidean":
        return (x[m] - y[m]) ** 2
    if metric == "i_divergence":
        return _i_divergence_slope(x[m], y[m])
    return _cosine_slope(x, y, a, m)


def _pair_slope(x, y, a, m, metric):
    """dphi_a(x, y)/da_m."""
    if metric == "i_divergence":
        return _midpoint_part(x[m], y[m]) + _midpoint_part(y[m], x[m])
    return _slope(x, y, a, m, metric)


def _phi_max_slope(X, a, m, metric):
    """dphi_max/da_m."""
    if metric == "sqeuclidean":
        return (max(X[:, m]) - min(X[:, m])) ** 2
    if metric == "i_divergence":
        return log(2.0) * sum(X[i, m] for i in two_heaviest_rows(X, a))
    return 0.0


def _cosine_slope(x, y, a, m):
    """(s/2)(x_m^2/q_x + y_m^2/q_y) - x_m y_m / sqrt(q_x q_y): minus the printed eq. 19, which is the similarity's."""
    q_x = sum(a[k] * x[k] * x[k] for k in range(len(a)))
    q_y = sum(a[k] * y[k] * y[k] for k in range(len(a)))
    if q_x == 0.0 or q_y == 0.0:
        return 0.0  # the distance is 1 by convention, whatever the weights
    s = sum(a[k] * x[k] * y[k] for k in range(len(a))) / sqrt(q_x * q_y)
    return s / 2.0 * (x[m] ** 2 / q_x + y[m] ** 2 / q_y) - x[m] * y[m] / sqrt(q_x * q_y)


def _i_divergence_slope(x, mu):
    """x ln(x / mu) - x + mu of scalars (eq. 20)."""
    if x == 0.0:
        return mu
    return x * log(x / mu) - x + mu if mu > 0.0 else np.inf


def _midpoint_part(x, y):
    """x ln(2x / (x + y)) of scalars: 0 for x = 0, x ln 2 for y = 0 (eq. 18 printed eq. 20 here, infinite for y = 0)."""
    return 0.0 if x == 0.0 else x * log(2.0 * x / (x + y))


# ---------------------------------------------------------------------------------------------------------------------
# Weight steps


def rayleigh_step(G, r, s=1.0):
    """The a > 0 that minimises <a, G> + prior_term(a, ("rayleigh", r, s)), for r > 0.

    Per feature the positive root of (r/s^2) a^2 + G a - r = 0, each sign of G in the form that does not cancel.
    """
    out = np.zeros(len(G))
    for m, slope in enumerate(G):
        root = sqrt(slope**2 + 4.0 * r**2 / s**2)
        out[m] = 2.0 * r / (slope + root) if slope >= 0.0 else s**2 / (2.0 * r) * (root - slope)
    return out


def log_det_step(S, n, a_old):
    """The a > 0 that minimises <a, S> - n sum_m ln a_m: n / S_m, the old weight where S_m <= 0 leaves no minimum."""
    return np.array([n / slope if slope > 0.0 else old for slope, old in zip(S, a_old, strict=True)])
