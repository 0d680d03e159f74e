"""What a correction by hand leaves behind."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Edit(NamedTuple):
    """One correction.

    Attributes
    ----------
    kind : {"move", "merge", "split"}
    clusters : tuple of int
        Where rows went; the survivor and the cluster that joined it; the ids of the parts.
    must_link, cannot_link : tuple of (int, int)
        The pairs that record it.
    """

    kind: str
    clusters: tuple[int, ...]
    must_link: tuple[tuple[int, int], ...]
    cannot_link: tuple[tuple[int, int], ...]

    def kept(self, labels: np.ndarray) -> Edit:
        """The correction without the pairs that a labelling violates.

        Parameters
        ----------
        labels : ndarray of shape (n,), int

        Returns
        -------
        Edit
        """
        must_link = tuple(pair for pair in self.must_link if labels[pair[0]] == labels[pair[1]])
        return self._replace(
            must_link=must_link, cannot_link=tuple(p for p in self.cannot_link if labels[p[0]] != labels[p[1]])
        )
