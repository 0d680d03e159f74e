"""What each row's own evidence says about its cluster: fixed labels, and probabilities of classes.

In the terms of hidden Markov random fields these are unary potentials: a cost per row and label, beside the distances
and the pairwise constraints. A known label costs nothing where it is kept and more than anything else elsewhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hmrf_fast.errors import ConstraintError, InfeasibleError

FORBIDDEN = 1e290  # above every finite cost of the engine, and still finite: infinity is what hard cannot-links use
LEAST_PROBABILITY = 1e-12  # a class that is called impossible for a row costs as much as one in a trillion


class LabelPriors(NamedTuple):
    """Costs of labels for the rows that have any."""

    rows: np.ndarray  # (r,) int64, ascending
    cost: np.ndarray  # (r, K) float64
    fixed: np.ndarray  # (r,) int32, the label a row must keep, or -1

    @property
    def fixed_rows(self) -> np.ndarray:
        """Rows whose label is decided."""
        return self.rows[self.fixed >= 0]

    def total(self, labels: np.ndarray) -> float:
        """Summed cost of a labelling (n,)."""
        if not self.rows.size:
            return 0.0
        return float(self.cost[np.arange(self.rows.size), labels[self.rows]].sum())


NO_PRIORS = LabelPriors(np.zeros(0, np.int64), np.zeros((0, 0)), np.zeros(0, np.int32))


def fixed_labels(codes: np.ndarray, n_clusters: int) -> LabelPriors:
    """Rows of class c keep cluster c; ``codes`` (n,) int32 with -1 for unknown."""
    rows = np.flatnonzero(codes >= 0)
    return LabelPriors(rows, _kept(codes[rows], n_clusters), codes[rows].astype(np.int32))


def class_probabilities(shares: np.ndarray, weight: np.ndarray, strength: float, n_clusters: int) -> LabelPriors:
    """-strength * weight * ln p(class) for rows with probabilities; rows that are certain of one class keep it.

    Parameters
    ----------
    shares : ndarray of shape (n, C), float64
        Probabilities of the classes; rows of zeros say nothing. Clusters beyond the classes cost what the likeliest
        class costs: the evidence is about classes, and says nothing about further clusters.
    weight : ndarray of shape (n,), float64
        Sample weights.
    strength : float
        What one nat is worth in units of distance.
    n_clusters : int
    """
    rows = np.flatnonzero(shares.sum(axis=1) > 0)
    known = shares[rows]
    nats = -np.log(np.maximum(known, LEAST_PROBABILITY))
    cost = np.repeat(nats.min(axis=1, keepdims=True), n_clusters, axis=1)
    cost[:, : known.shape[1]] = nats
    cost *= strength * weight[rows][:, None]
    certain = known.max(axis=1) == 1.0
    fixed = np.where(certain, known.argmax(axis=1), -1).astype(np.int32)
    cost[certain] = _kept(fixed[certain], n_clusters)
    return LabelPriors(rows, cost, fixed)


def _kept(labels: np.ndarray, n_clusters: int) -> np.ndarray:
    cost = np.full((labels.size, n_clusters), FORBIDDEN)
    cost[np.arange(labels.size), labels] = 0.0
    return cost


def check_shares(values: ArrayLike, n_clusters: int) -> np.ndarray:
    """Class probabilities as callers write them -> (n, C) float64 with rows that sum to 1, or to 0 where unknown.

    Raises
    ------
    ConstraintError
        If a value is no probability, a row does not sum to 1, or there are more classes than clusters.
    """
    try:
        shares = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ConstraintError("partial_labels as probabilities must be numbers, one row per row and class") from None
    if shares.shape[1] == 0:
        raise ConstraintError("partial_labels as probabilities has no column: one per class is needed")
    if shares.shape[1] > n_clusters:
        raise InfeasibleError(f"partial_labels holds {shares.shape[1]} classes, more than n_clusters={n_clusters}")
    shares[np.isnan(shares).all(axis=1)] = 0.0
    wrong = np.argwhere(~((shares >= 0) & (shares <= 1 + 1e-6)))
    if wrong.size:
        row, column = wrong[0]
        raise ConstraintError(f"partial_labels[{row}, {column}] = {shares[row, column]:g} is no probability")
    total = shares.sum(axis=1)
    bad = np.flatnonzero((np.abs(total - 1.0) > 1e-6) & (total != 0))
    if bad.size:
        raise ConstraintError(
            f"the probabilities in row {bad[0]} of partial_labels sum to {total[bad[0]]:g}: they must sum to 1, or be "
            "all 0 or NaN where nothing is known"
        )
    known = total > 0
    shares[known] /= total[known, None]
    return shares
