"""The formulas of the four metrics, and nothing else: no loop over rows, no sparse structure.

Each metric fills the same contract (``Metric``), so that every algorithm and every kernel is written once. All of
them are affine in the product of a sparse row with one table, which is what makes one distance kernel serve all
(``distances.py``). Notation as in Basu, Bilenko and Mooney (KDD 2004): feature weights a, rows x, centroids mu; |x|_a
= sqrt(sum a x^2).
"""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels.centroids import (
    add_entropic_slopes,
    add_slopes,
    center_logs,
    center_moments,
    guarded_products,
    products,
    write_centers,
)
from hmrf_fast.kernels.types import ClusterTerms, Moments, PairTerms, RowTerms, Sums

NONE = np.zeros(0)
LN2 = float(np.log(2.0))


def _invert(values: np.ndarray) -> np.ndarray:
    """1 / values with 1/0 = 0: an empty row has no direction and contributes nothing. Below 1e-153 counts as 0, since
    the inverse would overflow."""
    return np.divide(1.0, values, out=np.zeros(values.shape), where=values > 1e-153)


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

    def gain(self, square, mass, alpha: float, n_features: int) -> tuple[np.ndarray, float]:
        """(k,) and a number: the centroids gain * raw + even minimise the objective for given labels.

        ``square`` (k,) are the sums a raw^2 of the summed rows ``raw``, ``mass`` (k,) the summed sample weights. A
        cluster without mass gets zeros."""
        raise NotImplementedError

    def offsets(self, square, total, logs, alpha: float, weights) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(k,) each: inverse, offset and cross of ``ClusterTerms``, from the sums a c^2, a c and a ln c of centroids
        c."""
        raise NotImplementedError

    def settle(self, sums: Sums, square, alpha: float, clusters, centers, terms: ClusterTerms) -> np.ndarray:
        """Move the given clusters' (k,) centroids (K, d) INOUT to where their sums say, and ``terms`` INOUT with them.

        Returns the new products (k,); ``square`` (k,) as ``products`` gives it. Cost k d."""
        gain, even = self.gain(square, sums.mass[clusters], alpha, terms.weights.size)
        write_centers(sums.linear, sums.inverse, sums.lean, gain, even, clusters, centers)
        self.write_terms(centers, alpha, clusters, terms)
        return self.products(sums, terms, clusters)[0]

    def centers(self, sums: Sums, weights, alpha: float) -> np.ndarray:
        """(K, d) centroids that minimise the objective for given labels; a cluster without mass gets zeros."""
        sums = _fixed_point(sums)
        clusters, centers = np.arange(len(sums.linear)), np.zeros(sums.linear.shape)
        product, square = np.zeros((2, clusters.size))
        if self.directional:
            products(sums.linear, sums.inverse, sums.lean, centers, weights, clusters, product, square)
        gain, even = self.gain(square, sums.mass, alpha, weights.size)
        write_centers(sums.linear, sums.inverse, sums.lean, gain, even, clusters, centers)
        return centers

    def write_terms(self, centers, alpha: float, clusters, terms: ClusterTerms) -> None:
        """The given clusters' (k,) parts of ``terms`` OUT from their centroids; cost k d."""
        square, total, logs = np.empty((3, clusters.size))
        center_moments(centers, terms.weights, clusters, square, total)
        if self.entropic:
            center_logs(centers, terms.weights, clusters, terms.content, logs)
        found = self.offsets(square, total, logs, alpha, terms.weights)
        for whole, part in zip((terms.inverse, terms.offset, terms.cross), found, strict=True):
            whole[clusters] = part

    def cluster_terms(self, centers, weights, alpha: float) -> ClusterTerms:
        """The centroids' parts of D. They share the memory of the centroids where these enter D as they are."""
        content = np.empty_like(centers) if self.entropic else centers
        terms = ClusterTerms(content, *np.empty((3, len(centers))), weights)
        self.write_terms(centers, alpha, np.arange(len(centers)), terms)
        return terms

    def products(self, sums: Sums, terms: ClusterTerms, clusters) -> tuple[np.ndarray, np.ndarray]:
        """(k,) each: the sums of linear * table and of a raw^2 of the given clusters; cost k d."""
        product, square = np.zeros((2, clusters.size))
        if self.entropic:
            guarded_products(sums.linear, sums.inverse, terms.content, terms.weights, clusters, product)
        else:
            products(sums.linear, sums.inverse, sums.lean, terms.content, terms.weights, clusters, product, square)
        return product * terms.inverse[clusters], square

    def centroid_gradient(self, terms: ClusterTerms, centers, sums: Sums, alpha: float) -> np.ndarray:
        """(d,) the part of dJ/da that needs no pass over the rows, for metrics that are linear in the weights."""
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

    def gain(self, square, mass, alpha, n_features):
        return _invert(np.sqrt(square)), 0.0

    def offsets(self, square, total, logs, alpha, weights):
        # 1 but for rounding after an M-step, which takes it as 1 (not once the weights have moved): it must be the same
        # number here, or `predict` would break ties between equal centroids in another way than the fit.
        inverse = np.where(np.abs(square - 1.0) <= 1e-12, 1.0, _invert(np.sqrt(square)))
        return inverse, np.zeros_like(square), inverse * total if self.centred else np.zeros_like(square)

    def row_coefficients(self, strength, terms):
        square = 0.5 * strength * terms.scale**2
        return square, 2.0 * square * terms.shift if self.centred else NONE


class Cosine(_Directional):
    """Weighted cosine distance (KDD 2004, eq. 10)."""

    name = "cosine"

    def settle(self, sums, square, alpha, clusters, centers, terms):
        gain, even = self.gain(square, sums.mass[clusters], alpha, terms.weights.size)
        write_centers(sums.linear, sums.inverse, sums.lean, gain, even, clusters, centers)
        terms.inverse[clusters] = gain > 0  # the centroids have length 1, and their products follow from the sums'
        return gain * square

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

    def gain(self, square, mass, alpha, n_features):
        return _invert(mass), 0.0

    def offsets(self, square, total, logs, alpha, weights):
        return np.ones(square.size), square, np.zeros(square.size)

    def centroid_gradient(self, terms, centers, sums, alpha):
        result = np.zeros(centers.shape[1])
        add_slopes(sums.linear, sums.inverse, sums.lean, centers, sums.mass, 2.0, 0, result.size, result)
        return result

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

    def gain(self, square, mass, alpha, n_features):
        return _invert(mass) / (1.0 + alpha), alpha / n_features / (1.0 + alpha)

    def offsets(self, square, total, logs, alpha, weights):
        offset = total
        if alpha > 0:  # the objective that a smoothed centroid minimises adds alpha D(1/d, mu) per row
            even = 1.0 / weights.size
            offset = offset + alpha * (even * (np.log(even) - 1.0) * weights.sum() - even * logs + total)
        return np.ones_like(square), offset, np.zeros_like(square)

    def centroid_gradient(self, terms, centers, sums, alpha):
        result = np.zeros(centers.shape[1])
        add_entropic_slopes(sums.linear, sums.inverse, centers, terms.content, sums.mass, alpha, 0, result.size, result)
        return result

    def row_coefficients(self, strength, terms):
        return NONE, strength * -terms.scale  # on linear terms: d phi / da of features only one row has is x ln 2


def _fixed_point(sums: Sums) -> Sums:
    """Sums of few rows, made by hand, in the form of all others: kernels need not be compiled for both."""
    if sums.linear.dtype == np.int64 or sums.inverse.size:
        return sums
    _, exponent = np.frexp(np.abs(sums.linear).max(axis=0, initial=0.0))
    exponent = np.clip(62 - exponent, -1000, 1000)
    return sums._replace(linear=np.ldexp(sums.linear, exponent).astype(np.int64), inverse=np.ldexp(1.0, -exponent))


METRICS: dict[str, Metric] = {
    metric.name: metric for metric in (Cosine(), IDivergence(), SquaredEuclidean(), Pearson())
}


def data_cost(metric: Metric, base: float, product: np.ndarray, sums: Sums, terms: ClusterTerms) -> float:
    """sum_i s_i D(x_i, mu_label) from the sums alone; ``base`` is sum_i s_i base_i, ``product`` (K,) from
    ``Metric.products``."""
    # einsum, not BLAS: its result does not depend on the number of BLAS threads
    rest = np.einsum("h,h->", sums.mass, terms.offset)
    if metric.centred:
        rest += metric.pull * np.einsum("h,h->", sums.lean, terms.cross)
    return float(base + rest + metric.pull * product.sum())
