"""What became of the constraints, with the pairs to look at: violated ones, contradictions, suspects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from hmrf_fast.constraint_report import ConstraintReport, build_report
from hmrf_fast.contradictions import Contradiction
from hmrf_fast.groups import Grouping
from hmrf_fast.neighborhoods import Resolved

SHOWN = 50
EXAMINED = 20_000  # pairs whose strain is computed; of more, violated ones first


class Link(NamedTuple):
    """A constraint between two rows."""

    kind: str  # "must-link" or "cannot-link"
    first: int
    second: int
    source: str  # "" for a given pair, else the group or the classes that say so
    violated: bool
    weight: float  # its price, as the engine has it; inf = hard
    strain: float  # what keeping it adds to the distances of its two rows, all else left aside


class ConstraintFacts(NamedTuple):
    """Constraints of a fit under its labels."""

    report: ConstraintReport
    violated: tuple[Link, ...]  # the first of them, most strained first
    suspects: tuple[Link, ...]  # constraints that the rows themselves speak against, most strained first
    n_suspects: int
    contradictions: tuple[Contradiction, ...]
    constrained: np.ndarray  # (n,) bool: rows that anything is known of
    given: tuple[Link, ...]  # pairs to draw, violated ones first


def constraint_facts(
    resolved: Resolved, labels: np.ndarray, distances: Callable[[np.ndarray], np.ndarray], shown: int = SHOWN
) -> ConstraintFacts:
    """Compare constraints with labels and with distances.

    Parameters
    ----------
    resolved : Resolved
    labels : ndarray of shape (n,), int
    distances : callable
        From row numbers (r,) to their distances (r, K) to all live centroids.
    shown : int, default=50
        How many violated pairs and suspects to name.

    Returns
    -------
    ConstraintFacts
    """
    links = [*_given(resolved, labels), *_of_groups(resolved, labels, shown)]
    links.sort(key=lambda link: not link.violated)
    strained = _strained(links[:EXAMINED], distances)
    strained.sort(key=lambda link: -link.strain)
    suspects = [link for link in strained if link.strain > 0]
    return ConstraintFacts(
        report=build_report(resolved, labels),
        violated=tuple(link for link in strained if link.violated)[:shown],
        suspects=tuple(suspects[:shown]),
        n_suspects=len(suspects),
        contradictions=resolved.contradictions[:shown],
        constrained=_constrained(resolved),
        given=tuple(sorted(strained, key=lambda link: not link.violated)),
    )


def _given(resolved: Resolved, labels: np.ndarray) -> Iterator[Link]:
    for kind, pairs, weights in (
        ("must-link", resolved.must_link, resolved.must_link_weight),
        ("cannot-link", resolved.cannot_link, resolved.cannot_link_weight),
    ):
        together = labels[pairs[:, 0]] == labels[pairs[:, 1]]
        violated = ~together if kind == "must-link" else together
        order = np.argsort(~violated, kind="stable")[:EXAMINED]
        for k in order:
            yield Link(kind, int(pairs[k, 0]), int(pairs[k, 1]), "", bool(violated[k]), float(weights[k]), 0.0)


def _of_groups(resolved: Resolved, labels: np.ndarray, shown: int) -> Iterator[Link]:
    """Violated pairs inside groups and classes: neighbours in the order of group and cluster, which prove it."""
    must, cannot = resolved.must_link_group_weight, resolved.cannot_link_group_weight
    for noun, grouping in (("group", resolved.must_link_groups), ("class", resolved.labels)):
        if grouping is not None:
            for a, b in _neighbors(grouping.codes, labels, shown):
                yield Link("must-link", a, b, f"{noun} {grouping.name(grouping.codes[a])}", True, must, 0.0)
    grouping = resolved.cannot_link_groups
    if grouping is not None:
        for a, b in _neighbors(grouping.codes, labels, shown, equal=True):
            yield Link("cannot-link", a, b, f"group {grouping.name(grouping.codes[a])}", True, cannot, 0.0)
    if resolved.labels is not None:
        known: Grouping = resolved.labels
        for a, b in _neighbors(np.where(known.codes >= 0, labels, -1), known.codes, shown):
            source = f"classes {known.name(known.codes[a])} and {known.name(known.codes[b])}"
            yield Link("cannot-link", a, b, source, True, cannot, 0.0)


def _neighbors(major: np.ndarray, minor: np.ndarray, shown: int, equal: bool = False) -> list[tuple[int, int]]:
    """Pairs of rows that follow one another by (major, minor), of one major code and of different (or equal) minor
    ones."""
    rows = np.flatnonzero(major >= 0)
    rows = rows[np.lexsort((minor[rows], major[rows]))]
    same = minor[rows[1:]] == minor[rows[:-1]]
    at = np.flatnonzero((major[rows[1:]] == major[rows[:-1]]) & (same if equal else ~same))[:shown]
    return [(int(rows[k]), int(rows[k + 1])) for k in at]


def _strained(links: list[Link], distances: Callable[[np.ndarray], np.ndarray]) -> list[Link]:
    told: list[Link] = []
    for start in range(0, len(links), 2048):
        block = links[start : start + 2048]
        rows, place = np.unique([(link.first, link.second) for link in block], return_inverse=True)
        table, place = distances(rows), place.reshape(-1, 2)
        first, second = table[place[:, 0]], table[place[:, 1]]
        must = np.array([link.kind == "must-link" for link in block])
        strain = np.where(must, _together(first, second), _apart(first, second))
        told += [link._replace(strain=float(value)) for link, value in zip(block, strain, strict=True)]
    return told


def _together(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """What two rows lose in the best common cluster, against each in its best."""
    best = first.min(axis=1) + second.min(axis=1)
    return _loss((first + second).min(axis=1), best)


def _apart(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """What two rows lose in the best two different clusters; infinite if there is one cluster only."""
    if first.shape[1] < 2:
        return np.full(len(first), np.inf)
    low, high = np.sort(first, axis=1)[:, :2], np.sort(second, axis=1)[:, :2]
    apart = np.minimum(low[:, 0] + high[:, 1], low[:, 1] + high[:, 0])
    return np.where(first.argmin(axis=1) == second.argmin(axis=1), _loss(apart, low[:, 0] + high[:, 0]), 0.0)


def _loss(cost: np.ndarray, best: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # both infinite: nothing is lost
        loss = np.nan_to_num(cost - best, nan=0.0, posinf=np.inf)
    return np.where(loss > 1e-12 * np.abs(best), loss, 0.0)


def _constrained(resolved: Resolved) -> np.ndarray:
    known = resolved.component >= 0
    known[resolved.cannot_link.ravel()] = True
    for grouping in (resolved.labels, resolved.cannot_link_groups):
        if grouping is not None:
            known |= grouping.codes >= 0
    return known
