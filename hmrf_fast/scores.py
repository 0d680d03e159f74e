"""How well a clustering agrees with known classes and with constraints; thin names over :mod:`sklearn.metrics`."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import adjusted_rand_score, mutual_info_score, normalized_mutual_info_score
from sklearn.metrics.cluster import pair_confusion_matrix

from hmrf_fast.constraint_report import build_report
from hmrf_fast.constraints import Constraints
from hmrf_fast.errors import InputError
from hmrf_fast.neighborhoods import resolve

__all__ = [
    "agreement",
    "constraint_satisfaction",
    "mutual_information",
    "normalized_mutual_information",
    "pairwise_f_measure",
]


def __dir__() -> list[str]:
    return list(__all__)


def agreement(labels_true: ArrayLike, labels_pred: ArrayLike) -> dict[str, float]:
    """Return all scores by name: "normalized_mutual_information", "pairwise_f_measure" and "adjusted_rand_index".

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Classes and clusters of the same rows.

    Returns
    -------
    dict of str to float
    """
    return {
        "normalized_mutual_information": normalized_mutual_information(labels_true, labels_pred),
        "pairwise_f_measure": pairwise_f_measure(labels_true, labels_pred),
        "adjusted_rand_index": float(adjusted_rand_score(labels_true, labels_pred)),
    }


def normalized_mutual_information(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Return 2 I(C; K) / (H(C) + H(K)), the score of Basu, Bilenko and Mooney, KDD 2004, eq. 21.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Classes and clusters of the same rows; only which rows share a label matters.

    Returns
    -------
    float
        1 for equal partitions, 0 for independent ones.
    """
    return float(normalized_mutual_info_score(labels_true, labels_pred, average_method="arithmetic"))


def mutual_information(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Return I(C; K), what knowing the cluster of a row tells about its class.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Classes and clusters of the same rows; only which rows share a label matters.

    Returns
    -------
    float
        In nats; 0 for independent partitions, the entropy of the classes where every cluster is pure.
    """
    return float(mutual_info_score(labels_true, labels_pred))


def pairwise_f_measure(
    labels_true: ArrayLike, labels_pred: ArrayLike, *, excluded_pairs: ArrayLike | None = None
) -> float:
    """Return the F-measure of the decision "these two rows belong together", over pairs of rows.

    The score of Basu, Banerjee and Mooney, SDM 2004, section 5.2, which leaves out the pairs that were constraints.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Classes and clusters of the same rows.
    excluded_pairs : array-like of shape (m, 2), optional
        Pairs of positions in the labels that do not count, must-links and cannot-links alike; their order, orientation
        and repetition do not matter. None: all pairs count.

    Returns
    -------
    float
        Harmonic mean of pair precision and pair recall; 1 if neither labelling puts any two of the counted rows
        together.

    Raises
    ------
    InputError, ConstraintError
        If a pair names a row that the labels do not have, or is none.
    """
    confusion = pair_confusion_matrix(labels_true, labels_pred)  # of ordered pairs: each counts twice
    if excluded_pairs is not None:
        confusion = confusion - 2 * _confusion_of(excluded_pairs, np.asarray(labels_true), np.asarray(labels_pred))
    (_, wrong), (missed, right) = confusion.tolist()
    relevant = 2 * right + wrong + missed
    return 1.0 if relevant == 0 else 2 * right / relevant


def _confusion_of(pairs: ArrayLike, labels_true: np.ndarray, labels_pred: np.ndarray) -> np.ndarray:
    """(2, 2) counts of distinct pairs by "same class" and "same cluster"."""
    distinct = Constraints(must_link=pairs)
    distinct.check_rows(labels_true.size)
    first, second = distinct.must_link.T
    same_class = (labels_true[first] == labels_true[second]).astype(np.int64)
    same_cluster = (labels_pred[first] == labels_pred[second]).astype(np.int64)
    return np.bincount(2 * same_class + same_cluster, minlength=4).reshape(2, 2)


def constraint_satisfaction(
    labels: ArrayLike,
    *,
    must_link: ArrayLike | None = None,
    cannot_link: ArrayLike | None = None,
    constraints: Constraints | None = None,
) -> float:
    """Return the share of constraints that a clustering satisfies; weights do not matter.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Cluster of every row.
    must_link, cannot_link : array-like of shape (m, 2), optional
        Pairs of row numbers.
    constraints : Constraints, optional
        Instead of the two above. Groups and partial labels count as all the pairs that they make.

    Returns
    -------
    float
        1 if there are no constraints.

    Raises
    ------
    InputError
        If `constraints` come with further pairs.
    ConstraintError
        If the constraints do not fit the labels; ``ContradictionError`` is a kind of it.
    """
    if constraints is not None and not (must_link is None and cannot_link is None):
        raise InputError("give either constraints or pairs, not both")
    labels = np.asarray(labels)
    report = build_report(resolve(constraints or Constraints(must_link, cannot_link), labels.size), labels)
    given = report.n_must_link + report.n_cannot_link + report.n_must_link_in_groups + report.n_cannot_link_in_groups
    violated = report.n_must_link_violated + report.n_cannot_link_violated + report.n_group_pairs_violated
    return 1.0 if given == 0 else 1.0 - violated / given
