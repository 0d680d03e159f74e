"""Neighbourhoods: which rows the must-links tie together, and where cannot-links contradict them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hmrf_fast.components import components, must_link_edges
from hmrf_fast.constraints import Constraints
from hmrf_fast.contradictions import Contradiction, describe, find_contradictions
from hmrf_fast.errors import ContradictionError, InfeasibleError
from hmrf_fast.groups import Grouping, members_by_code

__all__ = ["Contradiction", "Resolved", "check_feasible", "describe", "resolve"]


class Resolved(NamedTuple):
    """Constraints that fit a data set of ``n_rows`` rows, with their neighbourhoods."""

    n_rows: int
    must_link: np.ndarray  # (m, 2) int64, distinct given pairs i < j, sorted
    must_link_weight: np.ndarray  # (m,) float64, inf = hard
    cannot_link: np.ndarray  # (c, 2) int64
    cannot_link_weight: np.ndarray  # (c,) float64
    labels: Grouping | None  # known classes
    must_link_groups: Grouping | None
    cannot_link_groups: Grouping | None
    must_link_group_weight: float  # of groups and of rows in one class
    cannot_link_group_weight: float  # of groups and of rows in different classes
    component: np.ndarray  # (n_rows,) int32, neighbourhood of each row by smallest row, -1 for none
    component_sizes: np.ndarray  # (number of neighbourhoods,) int64
    class_component: np.ndarray  # (number of classes,) int32, the neighbourhood that holds a class
    contradictions: tuple[Contradiction, ...]  # soft ones; the first hundred
    n_contradictions: int
    infer: bool  # whether entailed constraints are penalised too


def resolve(constraints: Constraints | None, n_rows: int, *, infer: bool = True) -> Resolved:
    """Fit constraints to a data set: neighbourhoods and contradictions.

    Neighbourhoods are the connected components of all must-links, groups and classes, whatever their weight (Basu,
    Bilenko, Mooney 2004, section 4). A class with a single known row is a neighbourhood of its own.

    Parameters
    ----------
    constraints : Constraints or None
        None means no constraint.
    n_rows : int
        Number of rows of the data.
    infer : bool, default=True
        Whether entailed constraints will be penalised; only kept for later steps.

    Returns
    -------
    Resolved

    Raises
    ------
    ConstraintError
        If the constraints name rows that do not exist.
    ContradictionError
        If hard constraints contradict one another; the message names a chain of must-links that proves it.
    """
    given = Constraints() if constraints is None else constraints
    given.check_rows(n_rows)
    labels = given.labels
    component = components(n_rows, *must_link_edges(given, "given"), None if labels is None else labels.codes >= 0)
    resolved = Resolved(
        n_rows=n_rows,
        must_link=given.must_link,
        must_link_weight=given.must_link_weight,
        cannot_link=given.cannot_link,
        cannot_link_weight=given.cannot_link_weight,
        labels=labels,
        must_link_groups=given.must_link_groups,
        cannot_link_groups=given.cannot_link_groups,
        must_link_group_weight=given.must_link_group_weight,
        cannot_link_group_weight=given.cannot_link_group_weight,
        component=component,
        component_sizes=np.bincount(component[component >= 0]),
        class_component=_class_components(labels, component),
        contradictions=(),
        n_contradictions=0,
        infer=infer,
    )
    if given.is_empty:
        return resolved
    _refuse_hard_contradictions(resolved)
    contradictions, count = find_contradictions(resolved, component, "given")
    return resolved._replace(contradictions=contradictions, n_contradictions=count)


def hard_nodes(resolved: Resolved) -> np.ndarray:
    """Components of the hard must-links alone, (n_rows,) int32, -1 for rows that none touches."""
    return components(resolved.n_rows, *must_link_edges(resolved, "hard"))


def check_feasible(resolved: Resolved, n_clusters: int) -> None:
    """Compare the constraints with the number of clusters.

    Cliques of hard cannot-link *pairs* are not looked for here.

    Parameters
    ----------
    resolved : Resolved
    n_clusters : int

    Raises
    ------
    InfeasibleError
        If there are more classes than clusters, or a hard cannot-link group needs more clusters than there are.
    """
    n_classes = resolved.class_component.size
    if n_classes > n_clusters:
        raise InfeasibleError(
            f"partial_labels holds {n_classes} classes, more than n_clusters={n_clusters}",
            _one_row_each(resolved.labels, n_clusters + 1),
        )
    groups = resolved.cannot_link_groups
    if groups is None or not np.isinf(resolved.cannot_link_group_weight):
        return
    # No two rows of such a group are hard must-linked (that is a contradiction), so rows and nodes count alike.
    sizes = np.bincount(groups.codes[groups.codes >= 0], minlength=groups.ids.size)
    if sizes.size and sizes.max() > n_clusters:
        code = int(np.argmax(sizes))
        needs = f"hard cannot-link group {groups.name(code)} needs {sizes[code]} clusters"
        rows = np.flatnonzero(groups.codes == code)[: n_clusters + 1].tolist()
        raise InfeasibleError(f"{needs}, more than n_clusters={n_clusters}", rows)


def _one_row_each(labels: Grouping | None, count: int) -> list[int]:
    """The first row of each of the first classes."""
    return [] if labels is None else [int(np.argmax(labels.codes == code)) for code in range(count)]


def _class_components(labels: Grouping | None, component: np.ndarray) -> np.ndarray:
    if labels is None:
        return np.empty(0, dtype=np.int32)
    ptr, members = members_by_code(labels.codes, labels.ids.size)
    return component[members[ptr[:-1]]]


def _refuse_hard_contradictions(resolved: Resolved) -> None:
    if not np.isinf(resolved.cannot_link_weight).any() and not np.isinf(resolved.cannot_link_group_weight):
        return
    contradictions, count = find_contradictions(resolved, hard_nodes(resolved), "hard")
    if count:
        more = f" (and {count - 1} more)" if count > 1 else ""
        raise ContradictionError(f"hard {describe(contradictions[0])}{more}", contradictions)
