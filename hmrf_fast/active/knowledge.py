"""What is known about pairs of rows during a session: must-linked sets, the sets that differ, and doubtful pairs.

A union-find over the rows that were ever mentioned, with the cannot-links kept between sets: every look-up costs next
to nothing, an answer about as many steps as the smaller of two sets has neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hmrf_fast.constraints import Constraints
from hmrf_fast.groups import members_by_code
from hmrf_fast.neighborhoods import Resolved, resolve

SAME, DIFFERENT, UNKNOWN = 1, 0, -1


class Knowledge:
    """Must-links, cannot-links and everything they entail.

    Parameters
    ----------
    n_rows : int
        Rows of the data set.
    known : Constraints, optional
        What was known before; where it contradicts itself, its must-links count.

    Attributes
    ----------
    must_link, cannot_link : list of tuple of int
        What was added, in order; inferred must-links included.
    """

    def __init__(self, n_rows: int, known: Constraints | None = None) -> None:
        self.n_rows = n_rows
        self.must_link: list[tuple[int, int]] = []
        self.cannot_link: list[tuple[int, int]] = []
        self._parent: dict[int, int] = {}
        self._members: dict[int, list[int]] = {}
        self._apart: dict[int, set[int]] = {}  # root -> roots of the sets that differ
        self._groups: dict[int, set[int]] = {}  # root -> cannot-link groups that hold a row of the set
        self._doubtful: set[tuple[int, int]] = set()
        if known is not None and not known.is_empty:
            self._take_in(resolve(known, n_rows))

    def relation(self, i: int, j: int) -> int | None:
        """SAME or DIFFERENT if that is known or entailed, None if it is open (or nobody could tell)."""
        first, second = self.find(i), self.find(j)
        if first == second:
            return SAME
        if second in self._apart.get(first, ()) or self._share_group(first, second):
            return DIFFERENT
        return None

    def is_open(self, i: int, j: int) -> bool:
        """Whether asking about the pair can teach anything: not known, not entailed, and nobody was in doubt."""
        return self.relation(i, j) is None and (min(i, j), max(i, j)) not in self._doubtful

    def agrees(self, i: int, j: int, answer: int) -> bool:
        """Whether an answer fits to what is known."""
        return answer == UNKNOWN or self.relation(i, j) in (None, answer)

    def add(self, i: int, j: int, answer: int) -> None:
        """Take in an answer that agrees with what is known."""
        if answer == UNKNOWN:
            self._doubtful.add((min(i, j), max(i, j)))
        elif answer == SAME:
            self.must_link.append((i, j))
            self._unite(i, j)
        else:
            self.cannot_link.append((i, j))
            self._separate(i, j)

    def find(self, row: int) -> int:
        """The row that stands for the set of a row; a row never mentioned stands for itself."""
        parent = self._parent
        root = row
        while root in parent:
            root = parent[root]
        while row != root:
            parent[row], row = root, parent[row]
        return root

    def members(self, row: int) -> list[int]:
        """The rows must-linked to a row, itself included, in the order in which they came together."""
        root = self.find(row)
        return self._members.get(root, [root])

    def sets(self) -> Iterable[list[int]]:
        """Every set of two or more must-linked rows."""
        return self._members.values()

    def different(self, row: int) -> list[int]:
        """One row of each set that differs from the row's own; cannot-link groups are not listed."""
        return sorted(self._apart.get(self.find(row), ()))

    def _unite(self, i: int, j: int) -> None:
        kept, gone = self.find(i), self.find(j)
        if kept == gone:
            return
        if self._weight(kept) < self._weight(gone):
            kept, gone = gone, kept
        self._parent[gone] = kept
        self._members.setdefault(kept, [kept]).extend(self._members.pop(gone, [gone]))
        for other in self._apart.pop(gone, ()):
            self._apart[other].discard(gone)
            if other != kept:  # only contradictory earlier knowledge has both
                self._link_apart(kept, other)
        if gone in self._groups:
            self._groups.setdefault(kept, set()).update(self._groups.pop(gone))

    def _separate(self, i: int, j: int) -> None:
        first, second = self.find(i), self.find(j)
        if first != second:
            self._link_apart(first, second)

    def _link_apart(self, first: int, second: int) -> None:
        self._apart.setdefault(first, set()).add(second)
        self._apart.setdefault(second, set()).add(first)

    def _weight(self, root: int) -> int:
        return len(self._members.get(root, ())) + len(self._apart.get(root, ()))

    def _share_group(self, first: int, second: int) -> bool:
        return first in self._groups and not self._groups[first].isdisjoint(self._groups.get(second, ()))

    def _take_in(self, known: Resolved) -> None:
        ptr, members = members_by_code(known.component, known.component_sizes.size)
        for rows in np.split(members, ptr[1:-1]):
            for row in rows[1:].tolist():
                self._unite(int(rows[0]), row)
        for i, j in known.cannot_link.tolist():
            self._separate(i, j)
        homes = members[ptr[known.class_component]].tolist()  # classes that must-links tie together share one
        for position, home in enumerate(homes):
            for other in homes[:position]:
                self._separate(home, other)
        if known.cannot_link_groups is not None:
            codes = known.cannot_link_groups.codes
            for row in np.flatnonzero(codes >= 0).tolist():
                self._groups.setdefault(self.find(row), set()).add(int(codes[row]))
