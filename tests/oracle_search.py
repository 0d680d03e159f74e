"""Oracle, part three: what the algorithms must find - closures, seeds, exact E-steps, plain Lloyd loops."""

from itertools import combinations, product
from math import sqrt

import numpy as np
from oracle_formulas import CANNOT_LINK, MUST_LINK, centroids, distance
from oracle_objective import data_term, is_violated, pair_term, price_pairs
from scipy.optimize import Bounds, LinearConstraint, milp

# ---------------------------------------------------------------------------------------------------------------------
# Constraints


def closure(n, must_link, cannot_link, w_ml=1.0, w_cl=1.0):
    """All pairs entailed by the given ones, sorted list of (i, j, kind, weight) with i < j (KDD 2004 section 3.3).

    Must-links between all members of a component; cannot-links between all members of two components joined by at
    least one.  A cannot-link inside a component is a contradiction: it entails nothing and stays as the given pair.
    """
    component = _components(n, must_link)
    must = {(i, j) for i, j in combinations(range(n), 2) if component[i] == component[j]}
    cannot = set()
    for i, j in cannot_link:
        if i == j:
            raise ValueError(f"row {i} cannot-linked to itself")
        if component[i] == component[j]:
            cannot.add((min(i, j), max(i, j)))
            continue
        left = [p for p in range(n) if component[p] == component[i]]
        right = [q for q in range(n) if component[q] == component[j]]
        cannot.update((min(p, q), max(p, q)) for p in left for q in right)
    return sorted([(i, j, MUST_LINK, w_ml) for i, j in must] + [(i, j, CANNOT_LINK, w_cl) for i, j in cannot])


def _components(n, must_link):
    """Name each row by the lowest row that a chain of must-links reaches: spread lower names until none is left."""
    name = list(range(n))
    changed = True
    while changed:
        changed = False
        for i, j in must_link:
            if name[i] != name[j]:
                name[i] = name[j] = min(name[i], name[j])
                changed = True
    return name


# ---------------------------------------------------------------------------------------------------------------------
# Seeds


def farthest_first(neighborhood_centroids, sizes, K, metric, a, global_centroid):
    """Order in which weighted farthest-first visits min(K, lambda) neighbourhoods (KDD 2004 section 3.3).

    First the largest; then the unvisited p with the largest minimum over visited q of sqrt(n_p n_q) * D_a(p, q), for
    cosine and pearson the smallest maximum of similarity / sqrt(n_p n_q), the similarity being the inner product of the
    centroids as given: means of unit rows.  Ties (to 1e-12) go to the one farthest from the global centroid, then to
    the lowest index.
    """
    mu = np.asarray(neighborhood_centroids, dtype=np.float64)
    depth = [distance(row, global_centroid, a, metric) for row in mu]

    def score(p, visited):
        scale = [sqrt(sizes[p] * sizes[q]) for q in visited]
        if metric in ("cosine", "pearson"):
            return min(-sum(a * mu[p] * mu[q]) / c for q, c in zip(visited, scale, strict=True))
        return min(c * distance(mu[p], mu[q], a, metric) for q, c in zip(visited, scale, strict=True))

    visited = [_best(range(len(mu)), list(sizes), depth)] if K > 0 and len(mu) else []
    while len(visited) < min(K, len(mu)):
        rest = [p for p in range(len(mu)) if p not in visited]
        visited.append(_best(rest, {p: score(p, visited) for p in rest}, depth))
    return visited


def _best(candidates, score, depth):
    """The candidate of the highest score, ties to the greatest depth, then to the lowest index."""
    candidates = list(candidates)
    for value in (score, depth):
        top = max(value[p] for p in candidates)
        candidates = [p for p in candidates if np.isclose(value[p], top, rtol=1e-12, atol=1e-12)]
    return min(candidates)


# ---------------------------------------------------------------------------------------------------------------------
# The E-step: distances D (n, K) and priced pairs are fixed, labels are sought


def icm_cost(labels, D, pairs_cost):
    """sum_i D[i, l_i] + costs of the violated pairs.  D carries whatever sample weight and smoothing there is."""
    return sum(D[i, label] for i, label in enumerate(labels)) + pair_term(labels, pairs_cost)


def icm_optimum(D, pairs_cost):
    """(labels, cost) of the exact optimum over all K^n labellings; ties to the lexicographically first."""
    n, K = D.shape
    best, best_cost = None, np.inf
    for labels in product(range(K), repeat=n):
        cost = icm_cost(labels, D, pairs_cost)
        if best is None or cost < best_cost:
            best, best_cost = labels, cost
    return np.array(best, dtype=np.int64), best_cost


def milp_optimum(D, pairs_cost):
    """The same optimum as `icm_optimum` by mixed-integer programming, for up to some 40 rows; ties as the solver likes.

    Binary u[i, h] says that row i has label h; v_p >= 0 says that pair p is violated.  A must-link forces
    v_p >= u[i, h] - u[j, h], a cannot-link v_p >= u[i, h] + u[j, h] - 1, for every h.  Infinite costs fix a variable
    to 0.
    """
    n, K = D.shape
    cost = np.concatenate([D.ravel(), [_non_negative(c) for *_, c in pairs_cost]])
    size = len(cost)
    A, low = [], []
    for i in range(n):
        A.append(_sparse_row(size, {i * K + h: 1.0 for h in range(K)}))
        low.append(1.0)
    high = list(low)
    for p, (i, j, kind, _) in enumerate(pairs_cost):
        for h in range(K):
            u_i, u_j, v = i * K + h, j * K + h, n * K + p
            if kind == MUST_LINK:
                A.append(_sparse_row(size, {v: 1.0, u_i: -1.0, u_j: 1.0}))
                low.append(0.0)
            else:
                A.append(_sparse_row(size, {v: 1.0, u_i: -1.0, u_j: -1.0}))
                low.append(-1.0)
            high.append(np.inf)
    integral = np.concatenate([np.ones(n * K), np.zeros(len(pairs_cost))])
    answer = milp(
        np.where(np.isinf(cost), 0.0, cost),
        integrality=integral,
        bounds=Bounds(0.0, np.where(np.isinf(cost), 0.0, 1.0)),
        constraints=LinearConstraint(np.array(A), low, high),
        options={"mip_rel_gap": 0.0},
    )
    if answer.x is None:
        raise ValueError(f"no labelling of finite cost: {answer.message}")
    labels = np.argmax(answer.x[: n * K].reshape(n, K), axis=1)
    return labels, icm_cost(labels, D, pairs_cost)  # the sum itself, free of the solver's tolerance


def _sparse_row(size, entries):
    row = np.zeros(size)
    for column, value in entries.items():
        row[column] = value
    return row


def _non_negative(cost):
    """A pair's cost, refused when negative: v_p is bounded from below only, so it would be collected for nothing."""
    if cost < -1e-9:
        raise ValueError(f"pair with negative cost {cost}")
    return max(cost, 0.0)  # phi_max - phi may round to -1e-16


def icm_row_costs(i, labels, D, pairs_cost):
    """(K,) cost of each label of row i given all others; partners labelled -1 have no say yet."""
    out = np.array(D[i], dtype=np.float64)
    for p, q, kind, cost in pairs_cost:
        if i not in (p, q):
            continue
        other = labels[q if p == i else p]
        for h in range(len(out)):
            if other >= 0 and is_violated(h, other, kind):
                out[h] += cost
    return out


def plain_icm_sweep(labels, D, pairs_cost, order=None):
    """One sweep: each row in turn moves to its cheapest label given all others (KDD 2004 section 3.4).

    A row moves only where that is strictly cheaper than staying, then to the lowest of the cheapest labels; a row
    labelled -1 always takes one.  Returns new labels.
    """
    labels = np.array(labels)
    for i in range(len(labels)) if order is None else order:
        costs = icm_row_costs(i, labels, D, pairs_cost)
        if labels[i] < 0 or costs.min() < costs[labels[i]]:
            labels[i] = np.argmin(costs)
    return labels


def partition_optimum(X, K, a, metric, pairs=(), sample_weight=None, alpha=0.0, penalty="distance"):
    """(labels, J) of the lowest J over every labelling that uses all K labels, each with its own best centroids."""
    priced = price_pairs(X, a, metric, pairs, penalty)
    best, best_cost = None, np.inf
    for labels in product(range(K), repeat=len(X)):
        if len(set(labels)) < K:
            continue
        cost = pair_term(labels, priced)
        if cost < best_cost:
            mu = centroids(X, labels, K, a, metric, sample_weight, alpha)
            cost += data_term(X, labels, mu, a, metric, sample_weight, alpha)
        if cost < best_cost:
            best, best_cost = labels, cost
    return None if best is None else np.array(best, dtype=np.int64), best_cost


# ---------------------------------------------------------------------------------------------------------------------
# Lloyd loops, no constraint and no weight; written with matrices, apart from the formulas above


def plain_spherical_kmeans(X, start_centroids, max_iter=100):
    """Labels of spherical k-means on rows of any length (Dhillon, Modha 2001); ties to the lowest label.

    An emptied cluster keeps its centroid.  All-zero rows are similar to nothing and end with label 0.
    """
    U, mu = _unit(np.array(X, dtype=np.float64)), _unit(np.array(start_centroids, dtype=np.float64))
    return _lloyd(mu, max_iter, lambda mu: np.argmax(U @ mu.T, axis=1), lambda rows: _unit(U[rows].sum(axis=0)))


def plain_kmeans(X, start_centroids, max_iter=100):
    """Labels of Lloyd's k-means, squared Euclidean; ties to the lowest label, an emptied cluster keeps its centroid."""
    X, mu = np.array(X, dtype=np.float64), np.array(start_centroids, dtype=np.float64)

    def nearest(mu):
        return np.argmin(((X[:, None, :] - mu[None, :, :]) ** 2).sum(axis=2), axis=1)

    return _lloyd(mu, max_iter, nearest, lambda rows: X[rows].mean(axis=0))


def _lloyd(mu, max_iter, assign, centre):
    """Alternate assignment and centring until labels repeat or max_iter assignments are done."""
    labels = assign(mu)
    for _ in range(max_iter - 1):
        for h in range(len(mu)):
            if (labels == h).any():
                mu[h] = centre(labels == h)
        before, labels = labels, assign(mu)
        if (labels == before).all():
            break
    return labels


def _unit(V):
    """Rows divided by their length; zero rows stay."""
    length = np.linalg.norm(V, axis=-1, keepdims=True)
    return np.divide(V, length, out=np.zeros_like(V), where=length > 0)
