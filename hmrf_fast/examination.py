"""Constraints looked at before any fit: how much they say, and whether they agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hmrf_fast.constraints import Constraints
from hmrf_fast.errors import ContradictionError, InfeasibleError
from hmrf_fast.neighborhoods import Resolved, check_feasible, describe, resolve

__all__ = ["Examination", "examine"]


@dataclass(frozen=True, eq=False)
class Examination:
    """What constraints say about the rows of a data set.

    Attributes
    ----------
    n_rows, n_constrained : int
        Rows, and rows that any constraint names.
    n_must_link, n_cannot_link : int
        Distinct given pairs.
    n_must_link_groups, n_cannot_link_groups, n_labels : int
        Groups, and rows of known class.
    neighborhood_sizes : ndarray of int64
        Rows of each set that must-links, groups and classes tie together, largest first.
    n_contradictions : int
    contradictions : tuple of str
        One sentence for each of the first hundred, with the chain of must-links that proves it.
    refused : str or None
        Why a fit would refuse them: hard constraints that contradict one another or need more clusters.
    """

    n_rows: int
    n_constrained: int
    n_must_link: int
    n_cannot_link: int
    n_must_link_groups: int
    n_cannot_link_groups: int
    n_labels: int
    neighborhood_sizes: np.ndarray
    n_contradictions: int
    contradictions: tuple[str, ...]
    refused: str | None

    @property
    def is_consistent(self) -> bool:
        """Whether nothing contradicts."""
        return self.n_contradictions == 0 and self.refused is None

    def __str__(self) -> str:
        sizes = self.neighborhood_sizes
        share = 100 * self.n_constrained / max(self.n_rows, 1)
        lines = [
            f"rows:           {self.n_rows}, {self.n_constrained} of them ({share:.1f} %) under constraints",
            f"pairs:          {self.n_must_link} must-links, {self.n_cannot_link} cannot-links",
            f"groups:         {self.n_must_link_groups} must-link, {self.n_cannot_link_groups} cannot-link",
            f"labelled rows:  {self.n_labels}",
            f"neighbourhoods: {sizes.size}"
            + (f", sizes {sizes[-1]} to {sizes[0]}, median {np.median(sizes):g}" if sizes.size else ""),
            f"contradictions: {self.n_contradictions}",
            *(f"  {sentence}" for sentence in self.contradictions),
        ]
        return "\n".join(lines + ([f"a fit refuses them: {self.refused}"] if self.refused else []))


def examine(constraints: Constraints, n_rows: int, n_clusters: int | None = None) -> Examination:
    """Look at constraints without fitting.

    Parameters
    ----------
    constraints : Constraints
    n_rows : int
        Rows of the data.
    n_clusters : int, optional
        Also compare with the number of clusters. Whether hard cannot-link *pairs* can be kept is known only to a fit.

    Returns
    -------
    Examination

    Raises
    ------
    ConstraintError
        If they name rows that do not exist.

    Examples
    --------
    >>> from hmrf_fast import Constraints
    >>> from hmrf_fast.examination import examine
    >>> examine(Constraints([(0, 1), (1, 2)], [(0, 2)]), 5).contradictions
    ('cannot-link (0, 2) contradicts the must-links 0-1-2',)
    """
    # Without weights nothing is hard, so that all contradictions are found and none is refused.
    given = resolve(constraints.scaled(0, 0), n_rows)
    refused = None
    try:
        resolved = resolve(constraints, n_rows)
        if n_clusters is not None:
            check_feasible(resolved, n_clusters)
    except (ContradictionError, InfeasibleError) as error:
        refused = str(error)
    return Examination(
        n_rows=n_rows,
        n_constrained=int(_named(given).sum()),
        n_must_link=len(given.must_link),
        n_cannot_link=len(given.cannot_link),
        n_must_link_groups=0 if given.must_link_groups is None else given.must_link_groups.ids.size,
        n_cannot_link_groups=0 if given.cannot_link_groups is None else given.cannot_link_groups.ids.size,
        n_labels=0 if given.labels is None else int((given.labels.codes >= 0).sum()),
        neighborhood_sizes=-np.sort(-given.component_sizes),
        n_contradictions=given.n_contradictions,
        contradictions=tuple(map(describe, given.contradictions)),
        refused=refused,
    )


def _named(given: Resolved) -> np.ndarray:
    """(n,) bool: rows that any constraint names."""
    named = given.component >= 0
    named[given.cannot_link.ravel()] = True
    for groups in (given.must_link_groups, given.cannot_link_groups, given.labels):
        if groups is not None:
            named |= groups.codes >= 0
    return named
