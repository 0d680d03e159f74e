"""What became of the constraints: counts, the violated pairs, the contradictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hmrf_fast.neighborhoods import Resolved, describe
from hmrf_fast.violations import violations

_SENTENCES_SHOWN = 10


class Suspect(NamedTuple):
    """A given pair that is probably wrong.

    Attributes
    ----------
    pair : (int, int)
        Rows i < j.
    kind : {"must_link", "cannot_link"}
    probability : float
        Of being wrong, given the rows and the other pairs.
    """

    pair: tuple[int, int]
    kind: str
    probability: float


@dataclass(frozen=True, eq=False)
class ConstraintReport:
    """Satisfied and violated constraints of a fitted model.

    Attributes
    ----------
    n_must_link, n_cannot_link : int
        Given distinct pairs, without the suspects.
    violated_must_link, violated_cannot_link : ndarray of shape (v, 2), int64
        Violated given pairs, as rows i < j.
    n_must_link_in_groups, n_cannot_link_in_groups : int
        Pairs of rows that groups and known classes make; a pair that is given as well counts twice.
    n_must_link_in_groups_violated, n_cannot_link_in_groups_violated : int
    n_neighborhoods, smallest_neighborhood, largest_neighborhood : int
        How many neighbourhoods the must-links form, and their smallest and largest size (0 without any).
    median_neighborhood : float
    contradictions : tuple of str
        One sentence for each contradiction whose proof was worked out.
    n_contradictions : int
        All contradictions of what was given, suspects included.
    suspects : tuple of Suspect
        Given pairs that were left out as probably wrong, each with ``pair``, ``kind`` ("must_link" or "cannot_link")
        and ``probability``, the most probable first.
    """

    n_must_link: int
    n_cannot_link: int
    violated_must_link: np.ndarray
    violated_cannot_link: np.ndarray
    n_must_link_in_groups: int
    n_cannot_link_in_groups: int
    n_must_link_in_groups_violated: int
    n_cannot_link_in_groups_violated: int
    n_neighborhoods: int
    smallest_neighborhood: int
    median_neighborhood: float
    largest_neighborhood: int
    contradictions: tuple[str, ...]
    n_contradictions: int
    suspects: tuple[Suspect, ...] = ()

    @property
    def n_must_link_violated(self) -> int:
        """Violated given must-links."""
        return len(self.violated_must_link)

    @property
    def n_cannot_link_violated(self) -> int:
        """Violated given cannot-links."""
        return len(self.violated_cannot_link)

    @property
    def n_must_link_satisfied(self) -> int:
        """Satisfied given must-links."""
        return self.n_must_link - self.n_must_link_violated

    @property
    def n_cannot_link_satisfied(self) -> int:
        """Satisfied given cannot-links."""
        return self.n_cannot_link - self.n_cannot_link_violated

    @property
    def n_group_pairs_violated(self) -> int:
        """Violated pairs inside groups and between labelled rows."""
        return self.n_must_link_in_groups_violated + self.n_cannot_link_in_groups_violated

    def summary(self) -> str:
        """Tell the report in a few lines of text.

        Returns
        -------
        str
        """
        lines = [
            f"must-links:     {self.n_must_link} given, {self.n_must_link_violated} violated",
            f"cannot-links:   {self.n_cannot_link} given, {self.n_cannot_link_violated} violated",
        ]
        if self.n_must_link_in_groups:
            lines[0] += f"; {self.n_must_link_in_groups} in groups, {self.n_must_link_in_groups_violated} violated"
        if self.n_cannot_link_in_groups:
            lines[1] += f"; {self.n_cannot_link_in_groups} in groups, {self.n_cannot_link_in_groups_violated} violated"
        sizes = ""
        if self.n_neighborhoods:
            sizes = (
                f", sizes {self.smallest_neighborhood} to {self.largest_neighborhood},"
                f" median {self.median_neighborhood:g}"
            )
        lines.append(f"neighbourhoods: {self.n_neighborhoods}{sizes}")
        lines.append(f"contradictions: {self.n_contradictions}")
        lines += [f"  {sentence}" for sentence in self.contradictions[:_SENTENCES_SHOWN]]
        hidden = self.n_contradictions - min(len(self.contradictions), _SENTENCES_SHOWN)
        if hidden:
            lines.append(f"  and {hidden} more")
        if self.suspects:
            lines.append(f"suspects:       {len(self.suspects)} given pairs were left out as probably wrong")
            lines += [
                f"  {kind} {pair}, {probability:.0%}" for pair, kind, probability in self.suspects[:_SENTENCES_SHOWN]
            ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()


def build_report(resolved: Resolved, labels: np.ndarray, suspects: tuple[Suspect, ...] = ()) -> ConstraintReport:
    """Compare a labelling with the constraints.

    Parameters
    ----------
    resolved : Resolved
    labels : ndarray of shape (n_rows,), int
        The cluster of each row.
    suspects : tuple of Suspect
        Pairs that were left out of ``resolved``.

    Returns
    -------
    ConstraintReport
    """
    found = violations(resolved, labels)
    sizes = resolved.component_sizes
    return ConstraintReport(
        n_must_link=len(resolved.must_link),
        n_cannot_link=len(resolved.cannot_link),
        violated_must_link=resolved.must_link[found.must_link],
        violated_cannot_link=resolved.cannot_link[found.cannot_link],
        n_must_link_in_groups=found.all_must_link_group_pairs,
        n_cannot_link_in_groups=found.all_cannot_link_group_pairs,
        n_must_link_in_groups_violated=found.must_link_group_pairs + found.same_class_pairs,
        n_cannot_link_in_groups_violated=found.cannot_link_group_pairs + found.different_class_pairs,
        n_neighborhoods=int(sizes.size),
        smallest_neighborhood=int(sizes.min()) if sizes.size else 0,
        median_neighborhood=float(np.median(sizes)) if sizes.size else 0.0,
        largest_neighborhood=int(sizes.max(initial=0)),
        contradictions=tuple(map(describe, resolved.contradictions)),
        n_contradictions=resolved.n_contradictions,
        suspects=suspects,
    )
