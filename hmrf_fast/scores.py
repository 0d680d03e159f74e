"""How well a clustering agrees with known classes; thin names over :mod:`sklearn.metrics`."""

from __future__ import annotations

from numpy.typing import ArrayLike
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import pair_confusion_matrix

__all__ = ["agreement", "normalized_mutual_information", "pairwise_f_measure"]


def __dir__() -> list[str]:
    return list(__all__)


def agreement(labels_true: ArrayLike, labels_pred: ArrayLike) -> dict[str, float]:
    """Return all scores by name: "normalized_mutual_information", "pairwise_f_measure" and "adjusted_rand_index".

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Classes and clusters of the same rows.
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


def pairwise_f_measure(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Return the F-measure of the decision "these two rows belong together", over all pairs of rows.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Classes and clusters of the same rows.

    Returns
    -------
    float
        Harmonic mean of pair precision and pair recall; 1 if neither labelling puts any two rows together.
    """
    (_, wrong), (missed, right) = pair_confusion_matrix(labels_true, labels_pred).tolist()
    relevant = 2 * right + wrong + missed
    return 1.0 if relevant == 0 else 2 * right / relevant
