"""The terms that decide whether two rows belong together."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from hmrf_fast.reporting.terms import moments, varying

TERMS = 8


class PairTerms(NamedTuple):
    """Leading terms of two rows, strongest first, each with its strength."""

    shared: tuple[tuple[str, float], ...]  # what speaks for "same"
    first: tuple[tuple[str, float], ...]  # what only the first row has, or has more of
    second: tuple[tuple[str, float], ...]
    similarity: float | None  # inner product of the two, where all terms can only add to it


class PairExplainer:
    """Compares two rows term by term.

    Parameters
    ----------
    rows : csr_matrix of shape (n, d)
        Rows whose inner products fit the metric, see ``facts.seen_by_metric``.
    centred : bool
        False: a shared term is as strong as what it adds to the inner product, a term of one row alone as its share of
        that row. True, for values without a natural zero: strengths are products and differences of standard scores.
    name : callable
        From the number of a feature to its name.
    """

    def __init__(self, rows: sp.csr_matrix, centred: bool, name: Callable[[int], str]) -> None:
        self._rows = rows
        self._name = name
        self._moments = moments(rows) if centred else None

    def __call__(self, i: int, j: int, count: int = TERMS) -> PairTerms:
        """Compare rows i and j; cost: their non-zeros."""
        pair = self._rows[[i, j]]
        features = np.unique(pair.indices)
        if self._moments is not None:
            features = np.intersect1d(features, varying(self._moments[1]))
        first, second = np.asarray(pair[:, features].todense())
        both = (first != 0) & (second != 0)
        if self._moments is None:
            products, alone = first * second, (first**2 * ~both, second**2 * ~both)
        else:
            mean, spread = (values[features] for values in self._moments)
            first, second = (first - mean) / spread, (second - mean) / spread
            products, alone = first * second * both, (first - second, second - first)
        shared, mine, others = (self._leading(features, strength, count) for strength in (products, *alone))
        return PairTerms(shared, mine, others, None if self._moments else float(products.sum()))

    def _leading(self, features: np.ndarray, strength: np.ndarray, count: int) -> tuple[tuple[str, float], ...]:
        places = np.flatnonzero(strength > 0)
        places = places[np.lexsort((features[places], -strength[places]))[:count]]
        return tuple((self._name(int(features[k])), float(strength[k])) for k in places)
