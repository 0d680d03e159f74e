"""The model that follows the answers: fitted anew in the background, told in clusters, terms and what moved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hmrf_fast.constraints import Constraints
from hmrf_fast.errors import HMRFError, HMRFWarning
from hmrf_fast.hmrf_kmeans import HMRFKMeans
from hmrf_fast.labeling.clusters import Flow, changes, numbered
from hmrf_fast.labeling.follower import Follower
from hmrf_fast.reporting.terms import Term, membership, top_terms

TERMS = 8
FEWEST = 2  # clusters while the answers show fewer


class Snapshot(NamedTuple):
    """What is known after so many answers."""

    answered: int
    constraints: Constraints
    sample_weight: np.ndarray
    neighborhoods: Sequence[np.ndarray]


class Finding(NamedTuple):
    """What a fit found."""

    answered: int
    seconds: float
    labels: np.ndarray  # (n,) int64
    sizes: tuple[int, ...]
    known: tuple[int, ...]  # rows of each cluster that are placed by answers
    terms: tuple[tuple[str, ...], ...]
    n_moved: int | None  # against the fit before; None for the first
    flows: tuple[Flow, ...]
    error: str = ""  # why there was no fit: then all else is that of the fit before


class Refit:
    """Fits the newest snapshot; ``finding`` is the last that is ready.

    Parameters
    ----------
    matrix : {csr_matrix, ndarray} of shape (n, d)
    seen : (csr_matrix, bool)
        The rows whose means are centroids, and whether values are centred: see ``reporting.facts.seen_by_metric``.
    name : callable
        From the number of a feature to its name.
    n_clusters : int or None
        None: as many as there are neighbourhoods.
    **settings
        Of `HMRFKMeans`.
    """

    def __init__(
        self,
        matrix: Any,
        seen: tuple[sp.csr_matrix, bool],
        name: Callable[[int], str],
        n_clusters: int | None,
        **settings: Any,
    ) -> None:
        self._matrix, self._seen, self._name = matrix, seen, name
        self._n_clusters, self._settings = n_clusters, settings
        self.finding: Finding | None = None
        self._follower = Follower(self._work)
        self.put, self.close = self._follower.put, self._follower.close

    @property
    def is_busy(self) -> bool:
        return self._follower.is_busy

    def _work(self, known: Snapshot) -> None:
        try:
            self.finding = self._fit(known)
        except (HMRFError, HMRFWarning, ValueError, MemoryError) as error:
            before = self.finding or Finding(0, 0.0, np.zeros(0, np.int64), (), (), (), None, ())
            self.finding = before._replace(answered=known.answered, error=str(error))

    def _fit(self, known: Snapshot) -> Finding:
        began = perf_counter()
        n_clusters = self._n_clusters or min(max(FEWEST, len(known.neighborhoods)), self._matrix.shape[0])
        model = HMRFKMeans(n_clusters, callback=self._follower.check, **self._settings)
        model.fit(self._matrix, constraints=known.constraints, sample_weight=known.sample_weight)
        labels = numbered(model.labels_, known.neighborhoods, n_clusters)
        rows, centred = self._seen
        told = top_terms(rows, membership(labels, n_clusters), model.feature_weights_, centred, self._name, count=TERMS)
        placed = np.concatenate([*known.neighborhoods, np.zeros(0, np.int64)])
        before = self.finding
        n_moved, flows = (None, ()) if before is None or not before.labels.size else changes(before.labels, labels)
        self._follower.check()
        return Finding(
            known.answered,
            perf_counter() - began,
            labels,
            tuple(np.bincount(labels, minlength=n_clusters).tolist()),
            tuple(np.bincount(labels[placed], minlength=n_clusters).tolist()),
            tuple(tuple(_named(term, centred) for term in one.by_weight) for one in told),
            n_moved,
            flows,
        )


def _named(term: Term, centred: bool) -> str:
    return f"{'more' if term.salience > 0 else 'less'} {term.name}" if centred else term.name
