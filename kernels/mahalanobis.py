"""Mahalanobis distances with a matrix per cluster, as one more metric: linear in a row and the products of its
features.

(x - mu)' A (x - mu) is linear in (x, x x'). Lifted rows hold x and the upper triangle of x x', row by row, so their
mean over a cluster is its centroid and its covariance at once, and the engine needs to know of neither. Where matrices
are diagonal, squares are all the products there are.
"""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels._jit import kernel
from hmrf_fast.kernels.metrics import NONE, Metric, SquaredEuclidean
from hmrf_fast.kernels.types import ClusterTerms, RowTerms


def lifted_width(n_features: int) -> int:
    """Features of a lifted row."""
    return n_features * (n_features + 3) // 2


def plain_width(n_lifted: int) -> int:
    """The number of features that a lifted row came from."""
    return round((np.sqrt(9.0 + 8.0 * n_lifted) - 3.0) / 2.0)


class Mahalanobis(SquaredEuclidean):
    """D = (x - mu)' A (x - mu) - ln det A + tr A with a matrix A per cluster; rows are lifted.

    Bilenko, Basu and Mooney (ICML 2004), with a ridge: given labels, A is the inverse of the cluster's covariance plus
    the identity, so that it always exists and D > 0. Centroids (K, d (d + 3) / 2) are means of lifted rows. phi is the
    squared Euclidean distance under the feature weights, which are 0 for products of features.
    """

    name = "mahalanobis"
    pull = 1.0

    def row_terms(self, moments, unit, weights):
        return RowTerms(np.zeros_like(unit), np.ones_like(unit), NONE)

    def cluster_terms(self, centers, weights, alpha):
        # The weights of phi are not those of the table, which holds all features.
        terms = ClusterTerms(np.empty_like(centers), *np.empty((3, len(centers))), np.ones(centers.shape[1]))
        self.write_terms(centers, alpha, np.arange(len(centers)), terms)
        return terms

    def write_terms(self, centers, alpha, clusters, terms):
        natural_parameters(centers, plain_width(centers.shape[1]), clusters, terms.content, terms.offset)
        terms.inverse[clusters], terms.cross[clusters] = 1.0, 0.0


@kernel
def natural_parameters(centers, size, clusters, content, offset):
    """What a lifted row is multiplied with, and what is added, to give D; of the given clusters (k,) int64.

    IN centers (K, size (size + 3) / 2) float64, size: number of plain features. OUT content like centers, offset (K,).
    Cost: size^3 per cluster.
    """
    matrix = np.empty((size, size))
    for k in range(clusters.size):
        h = clusters[k]
        mean = centers[h, :size]
        place = size
        for i in range(size):
            for j in range(i, size):
                matrix[j, i] = centers[h, place] - mean[i] * mean[j] + (1.0 if i == j else 0.0)
                place += 1
        log_det = invert_positive(matrix)
        out = content[h]
        total = log_det
        place = size
        out[:size] = 0.0
        for i in range(size):
            for j in range(i, size):
                value = matrix[j, i]
                out[place] = value if i == j else 2.0 * value
                place += 1
                out[i] -= 2.0 * value * mean[j]
                if i != j:
                    out[j] -= 2.0 * value * mean[i]
            total += matrix[i, i]
        for i in range(size):
            total -= 0.5 * out[i] * mean[i]
        offset[h] = total


@kernel
def invert_positive(matrix):
    """The lower triangle (d, d) INOUT of a matrix not below the identity becomes that of its inverse; returns ln det.

    By Cholesky's factor; no BLAS, whose last bits depend on its number of threads. Cost: d^3.
    """
    size = matrix.shape[0]
    log_det = 0.0
    for j in range(size):
        for i in range(j, size):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            if i == j:
                total = max(total, 1.0)  # as it is, but for rounding
                log_det += np.log(total)
                matrix[j, j] = np.sqrt(total)
            else:
                matrix[i, j] = total / matrix[j, j]
    for j in range(size):  # the inverse of the factor
        matrix[j, j] = 1.0 / matrix[j, j]
        for i in range(j + 1, size):
            total = 0.0
            for k in range(j, i):
                total -= matrix[i, k] * matrix[k, j]
            matrix[i, j] = total / matrix[i, i]
    for j in range(size):  # its transpose times itself, column by column: what is overwritten is not read again
        for i in range(j, size):
            total = 0.0
            for k in range(i, size):
                total += matrix[k, i] * matrix[k, j]
            matrix[i, j] = total
    return log_det


class DiagonalMahalanobis(Mahalanobis):
    """The same with diagonal matrices: one weight per cluster and feature, (K, 2 d) centroids."""

    name = "mahalanobis_diagonal"

    def write_terms(self, centers, alpha, clusters, terms):
        mean, square = np.split(centers[clusters], 2, axis=1)
        variance = np.maximum(square - mean**2, 0.0) + 1.0  # with the ridge
        terms.content[clusters] = np.hstack([-2.0 * mean, np.ones_like(mean)]) / np.tile(variance, 2)
        terms.offset[clusters] = ((mean**2 + 1.0) / variance + np.log(variance)).sum(axis=1)
        terms.inverse[clusters], terms.cross[clusters] = 1.0, 0.0


MAHALANOBIS: Metric = Mahalanobis()
DIAGONAL: Metric = DiagonalMahalanobis()
LIFTED: dict[str, Metric] = {metric.name: metric for metric in (MAHALANOBIS, DIAGONAL)}
