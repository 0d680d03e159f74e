"""Oracle, part one: prepared rows, distances, pair penalties and centroids (KDD 2004, section 3, corrected)."""

import numpy as np

METRICS = ("cosine", "i_divergence", "sqeuclidean", "pearson")
MUST_LINK = "must_link"
CANNOT_LINK = "cannot_link"


# ---------------------------------------------------------------------------------------------------------------------
# Rows


def prepare(X, metric):
    """Return the dense rows that every other formula works on.

    cosine: divided by the plain L2 norm.  i_divergence: divided by the sum.  pearson: minus the plain mean over all d
    features.  sqeuclidean: as given.  A row without direction (all zero, for pearson all equal) becomes all zero.
    """
    X = X.toarray() if hasattr(X, "toarray") else X
    X = np.array(X, dtype=np.float64)
    _check_metric(metric)
    if metric == "i_divergence" and (X < 0).any():
        raise ValueError("i_divergence needs non-negative rows")
    for i, row in enumerate(X):
        if metric == "cosine" and row.any():
            X[i] = row / np.sqrt(np.sum(row**2))
        elif metric == "i_divergence" and row.any():
            X[i] = row / np.sum(row)
        elif metric == "pearson":
            # A constant row is asked for directly: subtracting its rounded mean can leave a residue of 1e-17 per
            # feature, which a cosine would blow up into a direction.
            X[i] = 0.0 if np.ptp(row) == 0.0 else row - np.mean(row)
    return X


def weighted_norm(x, a):
    """|x|_a = sqrt(sum_m a_m x_m^2)."""
    return np.sqrt(np.sum(a * x * x))


# ---------------------------------------------------------------------------------------------------------------------
# Distances


def distance(x, mu, a, metric):
    """D_a(x, mu) of one prepared row to one centroid (KDD 2004 eqs. 10 and 12).

    i_divergence is +inf where x > 0 meets mu = 0, and 0 ln 0 = 0.  For pearson, x is centred and so is mu, being a sum
    of centred rows: it is then a cosine.
    """
    _check_metric(metric)
    if metric == "sqeuclidean":
        return np.sum(a * (x - mu) ** 2)
    if metric == "i_divergence":
        return np.sum(a * (_x_log_x_over_y(x, mu) - x + mu))
    return _cosine_distance(x, mu, a)


def distances(X, centroids, a, metric):
    """D_a of every row to every centroid, (n, K)."""
    return np.array([[distance(x, mu, a, metric) for mu in centroids] for x in X]).reshape(len(X), len(centroids))


def _cosine_distance(x, y, a):
    """1 - <a, x y> / (|x|_a |y|_a); 1 by convention when either vector is all zero."""
    if not x.any() or not y.any():
        return 1.0
    return 1.0 - np.sum(a * x * y) / (weighted_norm(x, a) * weighted_norm(y, a))


def _x_log_x_over_y(x, y):
    """x ln(x / y), elementwise, with 0 ln(0 / y) = 0 for every y >= 0 and +inf where x > 0 = y."""
    out = np.zeros(len(x))
    for m in range(len(x)):
        if x[m] > 0.0:
            out[m] = x[m] * np.log(x[m] / y[m]) if y[m] > 0.0 else np.inf
    return out


# ---------------------------------------------------------------------------------------------------------------------
# Penalties of violated pairs


def phi(x, y, a, metric):
    """phi_a(x, y), the price of a violated must-link of weight one (KDD 2004 eqs. 11 and 13).

    The distance of the metric itself, but for i_divergence its symmetric form, the divergence of both rows to their
    midpoint (Jensen-Shannon, doubled), which is finite on rows with zeros.
    """
    if metric == "i_divergence":
        middle = (x + y) / 2.0
        return distance(x, middle, a, metric) + distance(y, middle, a, metric)
    return distance(x, y, a, metric)


def phi_max(X, a, metric):
    """An upper bound of phi over the rows, so that a violated cannot-link costs phi_max - phi >= 0.

    cosine: 1 for non-negative data, otherwise 2.  pearson: 2.  i_divergence: ln 2 times the sum of the two largest
    <a, x_i>, reached by two rows with no common feature.  sqeuclidean: squared length of the bounding box's diagonal.
    """
    _check_metric(metric)
    if metric == "cosine":
        return 2.0 if (X < 0).any() else 1.0
    if metric == "pearson":
        return 2.0
    if metric == "sqeuclidean":
        return np.sum(a * (X.max(axis=0) - X.min(axis=0)) ** 2)
    return np.log(2.0) * sum(np.sum(a * X[i]) for i in two_heaviest_rows(X, a))


def two_heaviest_rows(X, a):
    """Indices of the two rows with the largest <a, x_i>, ties to the lowest index (a lone row stands alone).

    Ties are meant to 1e-12: while a = 1, every L1-normalised row has the weight 1 and only rounding would choose.
    """
    weight = np.array([np.sum(a * x) for x in X])
    first = int(np.flatnonzero(weight >= weight.max() * (1.0 - 1e-12))[0])
    rest = np.delete(np.arange(len(X)), first)
    if not len(rest):
        return [first]
    return [first, int(rest[weight[rest] >= weight[rest].max() * (1.0 - 1e-12)][0])]


# ---------------------------------------------------------------------------------------------------------------------
# Centroids


def centroids(X, labels, K, a, metric, sample_weight=None, alpha=0.0):
    """The centroids that minimise the data term, plus smoothing for i_divergence (KDD 2004 eqs. 16-17, corrected).

    cosine, pearson: sum_i s_i x_i / |x_i|_a, scaled to |mu|_a = 1.  i_divergence: (mean + alpha/d) / (1 + alpha).
    sqeuclidean: the weighted mean.  A cluster that holds no weight, or whose directions cancel, is a row of zeros.
    """
    _check_metric(metric)
    labels = np.asarray(labels)
    s = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    out = np.zeros((K, X.shape[1]))
    for h in range(K):
        members = [i for i in range(len(X)) if labels[i] == h and s[i] > 0.0]
        if members:
            out[h] = _centroid(X[members], s[members], a, metric, alpha)
    return out


def _centroid(rows, s, a, metric, alpha):
    """The centroid of one non-empty cluster of rows with positive weights s."""
    if metric in ("cosine", "pearson"):
        total = np.zeros(rows.shape[1])
        for x, weight in zip(rows, s, strict=True):
            if x.any():  # a row without direction pulls nowhere
                total += weight * x / weighted_norm(x, a)
        return total / weighted_norm(total, a) if total.any() else total
    mean = np.sum(s[:, None] * rows, axis=0) / np.sum(s)
    if metric == "i_divergence":
        return (mean + alpha / len(mean)) / (1.0 + alpha)
    return mean


def smoothing_term(mu, a, alpha):
    """alpha * D_a(u, mu) with u = (1/d, ..., 1/d): what each i_divergence row of weight one adds by joining mu.

    The smoothed mean of KDD 2004 eq. 16 minimises the data term plus this one; n in the print is d.
    """
    if alpha == 0.0:
        return 0.0  # also where D_a(u, mu) is infinite: no smoothing asked for, none paid
    uniform = np.full(len(mu), 1.0 / len(mu))
    return alpha * distance(uniform, mu, a, "i_divergence")


def _check_metric(metric):
    if metric not in METRICS:
        raise ValueError(f"unknown metric {metric!r}, expected one of {METRICS}")
