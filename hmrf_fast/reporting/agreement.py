"""How clusters and known classes agree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hmrf_fast.groups import Grouping
from hmrf_fast.scores import normalized_mutual_information, pairwise_f_measure


class Scores(NamedTuple):
    """Agreement over some rows."""

    n_rows: int
    nmi: float
    f_measure: float


class Agreement(NamedTuple):
    """Clusters against classes, over the rows of known class."""

    classes: tuple[str, ...]
    table: np.ndarray  # (K, C) int64 rows in each cluster of each class
    all_rows: Scores
    free_rows: Scores | None  # rows that no constraint touches; None if there are none, or no others


def agreement(
    labels: np.ndarray, classes: Grouping | None, constrained: np.ndarray, n_clusters: int
) -> Agreement | None:
    """Compare labels (n,) with classes, if they are known; rows of unknown class do not count."""
    if classes is None:
        return None
    known = classes.codes >= 0
    table = np.zeros((n_clusters, classes.ids.size), np.int64)
    np.add.at(table, (labels[known], classes.codes[known]), 1)
    free = known & ~constrained
    some = bool(free.any()) and bool((known & constrained).any())
    return Agreement(
        classes=tuple(map(str, classes.ids.tolist())),
        table=table,
        all_rows=_scores(labels[known], classes.codes[known]),
        free_rows=_scores(labels[free], classes.codes[free]) if some else None,
    )


def _scores(labels: np.ndarray, codes: np.ndarray) -> Scores:
    if labels.size == 0:
        return Scores(0, float("nan"), float("nan"))
    return Scores(labels.size, normalized_mutual_information(codes, labels), pairwise_f_measure(codes, labels))
