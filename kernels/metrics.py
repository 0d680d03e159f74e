"""The formulas of the four metrics, and nothing else: no loop over rows, no sparse structure.

Each metric fills the same contract (``Metric``), so that every algorithm and every kernel is written once. All of
them are affine in the product of a sparse row with one table, which is what makes one distance kernel serve all
(``distances.py``). Notation as in Basu, Bilenko and Mooney (KDD 2004): feature weights a, rows x, centroids mu; |x|_a
= sqrt(sum a x^2).
"""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels.types import ClusterTerms, Moments, PairTerms, RowTerms, Sums

NONE = np.zeros(0)
LN2 = float(np.log(2.0))


def _invert(values: np.ndarray) -> np.ndarray:
    """1 / values with 1/0 = 0: an empty row has no direction and contributes nothing. Below 1e-153 counts as 0, since
    the inverse would overflow."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 1e-153)


def _squares(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(K,) sum a x^2 of each row. einsum, not BLAS, here and below: its result does not depend on the number of BLAS
    threads."""
    return np.einsum("hm,hm->h", rows * weights, rows)


def _mix(shares: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(d,) shares @ rows."""
    return np.einsum("h,hm->m", shares, rows)


class Metric:
    """The contract. ``pull`` and ``degree`` are the factors of the product in D and phi; ``entropic`` picks the
    logarithmic overlap; ``centred`` asks for row means; ``smoothed`` for annealed smoothing of centroids."""

    name: str
    pull: float = -1.0
    degree: float = 1.0
    entropic = False
    centred = False
    smoothed = False
    directional = False

    def unit(self, largest, square, absolute, total, n_features) -> np.ndarray:
        """(n,) factor that normalises each row before anything else, from its norms (``row_norms``)."""
        raise NotImplementedError

    def row_terms(self, moments: Moments, unit: np.ndarray, weights: np.ndarray) -> RowTerms:
        """The row's parts of D."""
        raise NotImplementedError

    def pair_terms(self, moments: Moments, unit: np.ndarray, weights: np.ndarray) -> PairTerms:
        """The row's parts of phi."""
        raise NotImplementedError

    def admissible(self, centers: np.ndarray, alpha: float) -> np.ndarray:
        """First centroids (K, d) from anywhere, as this metric needs them."""
        return centers

    def centers(self, sums: Sums, weights: np.ndarray, alpha: float) -> np.ndarray:
        """(K, d) centroids that minimise the objective for given labels; a cluster without mass gets zeros."""
        raise NotImplementedError

    def cluster_terms(self, centers: np.ndarray, weights: np.ndarray, alpha: float) -> ClusterTerms:
        """The centroids' parts of D."""
        raise NotImplementedError

    def centroid_gradient(self, centers, sums: Sums, agreement: np.ndarray, alpha: float) -> np.ndarray:
        """(d,) the part of dJ/da that needs no pass over the rows; ``agreement`` = summed s_i (1 - D_i) per cluster."""
        raise NotImplementedError

    def row_coefficients(self, strength: np.ndarray, terms: RowTerms) -> tuple[np.ndarray, np.ndarray]:
        """(square, linear) coefficients of ``scatter_rows`` for rows that enter dJ/da with the given strength."""
        raise NotImplementedError


class _Directional(Metric):
    """Cosine of the angle between rows, D = phi = 1 - <a, z nu> / (|z|_a |nu|_a); z is the row, centred or not."""

    directional = True

    def _inverse_length(self, moments: Moments, unit: np.ndarray, weights: np.ndarray) -> np.ndarray:
        square = moments.square
        if self.centred:
            mean = moments.mean * unit
            centred = square - 2.0 * mean * moments.total + mean * mean * weights.sum()
            square = np.where(centred > 1e-12 * square, centred, 0.0)  # a constant row has no direction
        return _invert(np.sqrt(square)) * unit

    def row_terms(self, moments, unit, weights):
        inverse = self._inverse_length(moments, unit, weights)
        return RowTerms(np.ones_like(inverse), -inverse, -moments.mean)

    def pair_terms(self, moments, unit, weights):
        inverse = self._inverse_length(moments, unit, weights)
        half = np.full_like(inverse, 0.5)
        if not self.centred:
            return PairTerms(half, inverse, NONE, NONE, self.degree)
        lean = -moments.mean
        total = np.divide(moments.total, unit, out=np.zeros_like(unit), where=unit > 0)
        return PairTerms(half, inverse, lean, total + 0.5 * weights.sum() * lean, self.degree)

    def centers(self, sums, weights, alpha):
        raw = sums.linear + sums.lean[:, None]
        return raw * _invert(np.sqrt(_squares(raw, weights)))[:, None]

    def cluster_terms(self, centers, weights, alpha):
        length = np.sqrt(_squares(centers, weights))  # 1 after an M-step, but not once the weights have moved
        weighted = centers * weights * _invert(length)[:, None]
        return ClusterTerms(
            weighted, np.zeros(len(centers)), weighted.sum(1) if self.centred else np.zeros(len(centers))
        )

    def centroid_gradient(self, centers, sums, agreement, alpha):
        raw = sums.linear + sums.lean[:, None]
        return 0.5 * _mix(agreement, centers**2) - np.einsum("hm,hm->m", centers, raw)

    def row_coefficients(self, strength, terms):
        square = 0.5 * strength * terms.scale**2
        return square, 2.0 * square * terms.shift if self.centred else NONE


class Cosine(_Directional):
    """Weighted cosine distance (KDD 2004, eq. 10)."""

    name = "cosine"

    def unit(self, largest, square, absolute, total, n_features):
        return _invert(largest) * _invert(np.sqrt(square))


class Pearson(_Directional):
    """One minus Pearson's correlation: the cosine of rows minus their mean over all features, without densifying."""

    name = "pearson"
    centred = True

    def unit(self, largest, square, absolute, total, n_features):
        centred = square - total**2 / n_features
        return _invert(largest) * _invert(np.sqrt(np.where(centred > 1e-12 * square, centred, 0.0)))


class SquaredEuclidean(Metric):
    """D = phi = sum a (x - mu)^2."""

    name = "sqeuclidean"
    pull = -2.0
    degree = 2.0

    def unit(self, largest, square, absolute, total, n_features):
        return np.ones_like(largest)

    def row_terms(self, moments, unit, weights):
        return RowTerms(moments.square, np.full_like(unit, self.pull), NONE)

    def pair_terms(self, moments, unit, weights):
        return PairTerms(moments.square, unit, NONE, NONE, self.degree)

    def centers(self, sums, weights, alpha):
        return sums.linear * _invert(sums.mass)[:, None]

    def cluster_terms(self, centers, weights, alpha):
        weighted = centers * weights
        return ClusterTerms(weighted, np.einsum("hm,hm->h", weighted, centers), np.zeros(len(centers)))

    def centroid_gradient(self, centers, sums, agreement, alpha):
        return _mix(sums.mass, centers**2) - 2.0 * np.einsum("hm,hm->m", centers, sums.linear)

    def row_coefficients(self, strength, terms):
        return strength, NONE


class IDivergence(Metric):
    """Weighted I-divergence of L1-normalised rows (KDD 2004, eq. 12), phi the I-divergence to the mean (eq. 13)."""

    name = "i_divergence"
    degree = -1.0
    entropic = True
    smoothed = True

    def unit(self, largest, square, absolute, total, n_features):
        return _invert(largest) * _invert(absolute)

    def row_terms(self, moments, unit, weights):
        return RowTerms(moments.entropy - moments.total, -unit, NONE)

    def pair_terms(self, moments, unit, weights):
        return PairTerms(LN2 * moments.total, np.ones_like(unit), NONE, NONE, self.degree)

    def admissible(self, centers, alpha):
        centers = np.maximum(centers, 0.0)
        centers = centers * _invert(centers.sum(1))[:, None]
        return (centers + alpha / centers.shape[1]) / (1.0 + alpha)

    def centers(self, sums, weights, alpha):
        mean = sums.linear * _invert(sums.mass)[:, None]
        return (mean + alpha / mean.shape[1]) / (1.0 + alpha)

    def cluster_terms(self, centers, weights, alpha):
        positive = centers > 0
        logs = np.log(centers, out=np.full_like(centers, -np.inf), where=positive)
        weighted = np.multiply(weights, logs, out=np.zeros_like(logs), where=np.broadcast_to(weights > 0, logs.shape))
        offset = np.einsum("hm,m->h", centers, weights)
        if alpha > 0:
            offset = offset + alpha * np.einsum("hm,m->h", self._smoothing_cost(centers), weights)
        return ClusterTerms(weighted, offset, np.zeros(len(centers)))

    def _smoothing_cost(self, centers):
        """Feature by feature D(1/d, mu): the objective that the smoothed centroid minimises adds alpha times it per
        row."""
        even = 1.0 / centers.shape[1]
        return even * (np.log(even) - np.log(centers)) - even + centers

    def centroid_gradient(self, centers, sums, agreement, alpha):
        logs = np.log(centers, out=np.zeros_like(centers), where=sums.linear > 0)
        gradient = _mix(sums.mass, centers) - np.einsum("hm,hm->m", sums.linear, logs) - sums.linear.sum(0)
        if alpha > 0:
            gradient = gradient + alpha * _mix(sums.mass, self._smoothing_cost(centers))
        return gradient

    def row_coefficients(self, strength, terms):
        return NONE, strength * -terms.scale  # on linear terms: d phi / da of features only one row has is x ln 2


METRICS: dict[str, Metric] = {
    metric.name: metric for metric in (Cosine(), IDivergence(), SquaredEuclidean(), Pearson())
}


def data_cost(base: float, pull: float, sums: Sums, clusters: ClusterTerms) -> float:
    """sum_i s_i D(x_i, mu_label) from the sums alone, cost K d; ``base`` is sum_i s_i base_i."""
    product = np.einsum("hm,hm->", sums.linear, clusters.weighted)
    if np.isnan(product):  # 0 times the infinite logarithm of a feature that neither rows nor centroid have
        product = np.multiply(
            sums.linear, clusters.weighted, where=sums.linear != 0, out=np.zeros_like(sums.linear)
        ).sum()
    rest = np.einsum("h,h->", sums.mass, clusters.offset) + pull * np.einsum("h,h->", sums.lean, clusters.cross)
    return float(base + rest + pull * product)
