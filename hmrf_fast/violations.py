"""Which constraints a labelling violates; groups and classes are counted by histograms, never as pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hmrf_fast.groups import Grouping
from hmrf_fast.neighborhoods import Resolved


class Violations(NamedTuple):
    """Violated constraints of one labelling."""

    must_link: np.ndarray  # (m,) bool, for each given must-link
    cannot_link: np.ndarray  # (c,) bool, for each given cannot-link
    must_link_group_pairs: int  # violated pairs inside must-link groups
    cannot_link_group_pairs: int  # violated pairs inside cannot-link groups
    same_class_pairs: int  # pairs of one class in different clusters
    different_class_pairs: int  # pairs of different classes in one cluster
    all_must_link_group_pairs: int  # violated or not: inside must-link groups and of one class
    all_cannot_link_group_pairs: int  # inside cannot-link groups and of different classes


def violations(resolved: Resolved, labels: np.ndarray) -> Violations:
    """Find the violated constraints.

    Parameters
    ----------
    resolved : Resolved
    labels : ndarray of shape (n_rows,), int
        The cluster of each row.

    Returns
    -------
    Violations
    """
    labels = np.asarray(labels)
    if labels.shape != (resolved.n_rows,):
        raise ValueError(f"labels has shape {labels.shape}, expected ({resolved.n_rows},)")
    first, second = resolved.must_link.T
    apart = labels[first] != labels[second]
    first, second = resolved.cannot_link.T
    together = labels[first] == labels[second]
    all_must, same_must = _pairs_inside(resolved.must_link_groups, labels)
    all_cannot, same_cannot = _pairs_inside(resolved.cannot_link_groups, labels)
    all_class, same_class = _pairs_inside(resolved.labels, labels)
    different = all_different = 0
    if resolved.labels is not None:
        known = int(np.count_nonzero(resolved.labels.codes >= 0))
        different = _n_pairs(labels[resolved.labels.codes >= 0]) - same_class
        all_different = known * (known - 1) // 2 - all_class
    return Violations(
        apart, together, all_must - same_must, same_cannot, all_class - same_class, different, all_must + all_class,
        all_cannot + all_different,
    )  # fmt: skip


def _n_pairs(codes: np.ndarray) -> int:
    """Pairs of equal entries."""
    counts = np.unique(codes, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


def _pairs_inside(grouping: Grouping | None, labels: np.ndarray) -> tuple[int, int]:
    """Pairs of rows inside the groups, and how many of them share a cluster."""
    if grouping is None:
        return 0, 0
    known = grouping.codes >= 0
    codes = grouping.codes[known].astype(np.int64)
    values, clusters = np.unique(labels[known], return_inverse=True)
    return _n_pairs(codes), _n_pairs(codes * max(values.size, 1) + clusters)
