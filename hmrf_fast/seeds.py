"""Which groups of rows may seed clusters: must-link neighbourhoods, classes of known rows, class probabilities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from hmrf_fast.geometry import Problem
from hmrf_fast.neighborhoods import Resolved


class Seeds(NamedTuple):
    """Groups of rows that may seed clusters."""

    share: sp.csr_matrix  # (L, n) float64: how much of each row belongs to each group
    first: np.ndarray  # (f,) int64: the groups of the classes, which seed whatever their size
    codes: np.ndarray  # (f,) int64: their classes; class c seeds cluster c
    by_size: bool = False  # of too many groups take the largest (SDM 2004) instead of farthest-first (KDD 2004)


ROWS_PER_SEED = 4  # on average, from which on groups that are as many as the clusters are taken for the clusters


def are_complete(seeds: Seeds, n_clusters: int) -> bool:
    """Whether the groups stand for all clusters, as answers about neighbourhoods or known classes make them do, and not
    for a handful of pairs, several of which may lie in one cluster."""
    return seeds.share.shape[0] == n_clusters and seeds.share.nnz >= ROWS_PER_SEED * n_clusters


def hard_seeds(member: np.ndarray, first: np.ndarray, codes: np.ndarray, by_size: bool = False) -> Seeds:
    """Seeds of groups that do not overlap; ``member`` (n,) int numbers them, -1 = in none."""
    rows = np.flatnonzero(member >= 0)
    count = int(member.max(initial=-1)) + 1
    share = sp.csr_matrix((np.ones(rows.size), (member[rows], rows)), shape=(count, member.size))
    return Seeds(share, first, codes, by_size)


def no_seeds(n_rows: int) -> Seeds:
    """No group may seed."""
    none = np.zeros(0, np.int64)
    return hard_seeds(np.full(n_rows, -1, np.int32), none, none)


def seeds_of(problem: Problem, resolved: Resolved, by_size: bool, order: np.ndarray) -> Seeds:
    """Neighbourhoods with two or more rows of positive weight, and those of the classes, however small.

    With ``by_size`` also rows that are cannot-linked to all of them, while there are fewer than clusters (SDM 2004,
    section 3.2), the first in the ``order`` of rows (n,) first.
    """
    member, classes = resolved.component.astype(np.int32, copy=True), resolved.class_component.astype(np.int64)
    if member.max(initial=-1) < 0:
        return Seeds(sp.csr_matrix((0, member.size)), classes, np.zeros(0, np.int64), by_size)
    usable = _usable(problem)
    counts = np.bincount(member[(member >= 0) & usable], minlength=member.max() + 1)
    keep = (counts >= 2) | ((counts >= 1) & np.isin(np.arange(counts.size), classes))
    rank = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
    member = np.where(member >= 0, rank[member], -1).astype(np.int32)
    if by_size:
        _add_outsiders(member, resolved, np.flatnonzero(usable), problem, order)
    first = rank[classes]
    _, once = np.unique(first, return_index=True)  # tied classes share a neighbourhood, which seeds once
    once = np.sort(once[first[once] >= 0])
    return hard_seeds(member, first[once].astype(np.int64), once, by_size)


def probable_seeds(problem: Problem, shares: np.ndarray) -> Seeds:
    """Classes to which rows belong with the probabilities ``shares`` (n, C); classes of no usable row are left out."""
    usable = np.where(_usable(problem)[:, None], shares, 0.0)
    codes = np.flatnonzero(usable.sum(axis=0) > 0)
    return Seeds(sp.csr_matrix(usable[:, codes].T), np.arange(codes.size), codes)


def _usable(problem: Problem) -> np.ndarray:
    return (problem.unit > 0) & (problem.sample_weight > 0)


def _add_outsiders(
    member: np.ndarray, resolved: Resolved, usable: np.ndarray, problem: Problem, order: np.ndarray
) -> None:
    """Rows outside all groups that are cannot-linked to each of them become groups of one; ``member`` INOUT.

    The first such row joins, then the next that is cannot-linked to that one as well, and so on.
    """
    first, second = resolved.cannot_link.T
    first, second = np.concatenate([first, second]), np.concatenate([second, first])
    outside = np.zeros(member.size, bool)
    outside[usable] = member[usable] < 0
    count = int(member.max(initial=-1)) + 1
    while 0 < count < problem.n_clusters:
        links = np.flatnonzero(outside[first] & (member[second] >= 0))
        cells = np.unique(first[links] * np.int64(count) + member[second[links]])
        reached = np.bincount(cells // count, minlength=member.size)
        candidates = order[reached[order] == count]
        if candidates.size == 0:
            return
        member[candidates[0]], outside[candidates[0]] = count, False
        count += 1
