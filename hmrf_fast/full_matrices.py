"""Matrices per cluster: rows lifted to products (or squares) of features, and the labels that such fits start from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from hmrf_fast.chunklets import Lesson, deviations, turned
from hmrf_fast.em import Options, Start, run
from hmrf_fast.errors import InputError
from hmrf_fast.geometry import Problem, build_problem, content_keys
from hmrf_fast.inputs import as_corpus
from hmrf_fast.kernels.mahalanobis import invert_positive, lifted_width
from hmrf_fast.low_rank import lift
from hmrf_fast.neighborhood_seeds import matrix_of
from hmrf_fast.outcomes import EMResult, keep_best

RIDGE = 0.1
MOST_NUMBERS = 1 << 27  # of all lifted rows together
ROUNDS = 10  # of labels and one matrix for all clusters
ROUND_ITERATIONS = 10
FAR = 1e3  # times its extent that a feature may lie from 0 before squares of it lose too many digits
LEAST_SHARE = 1e-3  # of a feature's variance that counts as within clusters even where these explain it all


class Frame(NamedTuple):
    """Coordinates u = (x - mean) turn, in which the ridge of every covariance is the identity."""

    mean: np.ndarray  # (d,)
    # (d, d): diagonal, 1 / sqrt(ridge * variance within clusters), unless must-links taught more; or the diagonal (d,)
    turn: np.ndarray
    price: float  # of one unit of squared length of u in phi
    full: bool  # whether matrices are, else diagonal

    @property
    def weights(self) -> np.ndarray:
        """Feature weights of lifted rows: phi is the squared distance, variances within clusters being 1."""
        weights = np.zeros(lifted_width(self.mean.size) if self.full else 2 * self.mean.size)
        weights[: self.mean.size] = self.price
        return weights

    def coordinates(self, matrix: sp.csr_matrix) -> np.ndarray:
        """(n, d) float64."""
        return turned(matrix.toarray().astype(np.float64) - self.mean, self.turn)

    def lift(self, matrix: sp.csr_matrix) -> sp.csr_matrix:
        """(n, d (d + 3) / 2): u and the upper triangle of u u'; or (n, 2 d): u and its squares."""
        refuse_long(matrix, self.full)
        rows = self.coordinates(matrix)
        if not self.full:
            return sp.csr_matrix(np.hstack([rows, rows**2]))
        first, second = np.triu_indices(rows.shape[1])
        return sp.csr_matrix(np.hstack([rows, rows[:, first] * rows[:, second]]))

    def matrices(self, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means (K, d) and matrices A, (K, d, d) or their diagonals (K, d), in the features of X, from means of lifted
        rows."""
        size = self.mean.size
        if not self.full:
            mean, square = np.split(centers, 2, axis=1)
            back = np.divide(1.0, self.turn, out=np.zeros(size), where=self.turn > 0)
            return mean * back + self.mean, self.turn**2 / (np.maximum(square - mean**2, 0.0) + 1.0)
        upper = np.triu_indices(size)
        matrices = np.zeros((len(centers), size, size))
        back, usable = np.zeros((size, size)), self.turn.any(axis=1)  # constant features have rows and columns of 0
        back[np.ix_(usable, usable)] = np.linalg.inv(self.turn[np.ix_(usable, usable)])
        for matrix, center in zip(matrices, centers, strict=True):
            matrix[upper[1], upper[0]] = center[size:] - np.outer(center[:size], center[:size])[upper]
            matrix[np.diag_indices(size)] += 1.0
            invert_positive(matrix)
            matrix[upper] = matrix.T[upper]
        with threadpool_limits(1, "blas"):
            matrices = self.turn @ matrices @ self.turn.T
        return turned(centers[:, :size], back) + self.mean, (matrices + matrices.transpose(0, 2, 1)) / 2.0


def refuse_long(matrix: sp.csr_matrix, full: bool) -> None:
    """Lifted rows must fit into memory."""
    n_rows, n_features = matrix.shape
    name, kept, numbers, other = "_diagonal", "features and their squares", 2 * n_rows * n_features, "sqeuclidean"
    if full:
        name, kept, other = "", "products of two features", "mahalanobis_diagonal"
        numbers = n_rows * lifted_width(n_features)
    if numbers > MOST_NUMBERS:
        raise InputError(
            f"metric='mahalanobis{name}' keeps all {kept}: {n_rows} rows of {n_features} features make {numbers} "
            f"numbers, the limit is {MOST_NUMBERS}; use fewer features (a PCA) or metric={other!r}"
        )


def near_origin(matrix: sp.csr_matrix) -> tuple[sp.csr_matrix, np.ndarray]:
    """The matrix with all features that lie far from 0 moved there, and by how much (d,) float64.

    Exact but for the last bit, and the same for rows in any order.
    """
    low, high = (side.toarray().ravel().astype(np.float64) for side in (matrix.min(axis=0), matrix.max(axis=0)))
    shift = np.where(np.maximum(low, -high) > FAR * (high - low), low, 0.0)
    return (sp.csr_matrix(matrix.toarray().astype(np.float64) - shift) if shift.any() else matrix), shift


def learn_frame(
    problem: Problem, starts: Iterable[Start], lesson: Lesson, options: Options, ridge: float | None, seed: int,
    full: bool,
) -> tuple[Frame, Iterator[np.ndarray]]:  # fmt: skip
    """Coordinates, and labels (n,) to start from, one by one and all different.

    Labels of squared Euclidean k-means under the same constraints; then one matrix for all clusters, the inverse of the
    pooled covariance within them plus the ridge, and labels under it, in turns: a matrix per cluster is too free to
    begin with. The coordinates follow from the best of the k-means. Where must-links teach a matrix, it turns the
    coordinates, the variances are those within the clusters under it, and these clusters are the starts, as they are
    and improved. Cost n d^2 per turn.
    """
    ridge = RIDGE if ridge is None else ridge
    plain = options._replace(learn_weights=False, callback=None)
    best: list[EMResult] = []
    found = []
    for number, start in enumerate(() if lesson.taught else starts):
        result = run(problem, start, plain, seed + number)
        best = keep_best(best, result)
        found.append(result.labels)
    labels = lesson.labels[0] if lesson.taught else best[0].labels
    rows, weight = matrix_of(problem).toarray().astype(np.float64), problem.sample_weight
    turn: np.ndarray = np.eye(problem.n_features) if full else np.ones(problem.n_features)
    if lesson.turn is not None:
        turn = lesson.turn
    with threadpool_limits(1, "blas"):  # the last bits of a BLAS product depend on its number of threads
        mean = weight @ rows / weight.sum()
        rows = turned(rows - mean, turn)
        total = weight @ rows**2 / weight.sum()
        within = weight @ deviations(rows, labels, weight) ** 2 / weight.sum()
    variance = ridge * np.maximum(within, LEAST_SHARE * total)
    # Not of rounding alone, nor of rows that weigh next to nothing and would lie too far out to be squared.
    size = np.maximum(turned(np.abs(mean[None]), np.abs(turn))[0], np.abs(rows).max(axis=0))
    usable = total > 1e-24 * np.maximum(size**2, np.finfo(float).tiny)
    factor = np.where(usable, 1.0 / np.sqrt(np.where(usable, variance, 1.0)), 0.0)
    frame = Frame(mean, turn * factor, ridge, full)
    first, more = (lesson.labels, lesson.labels) if lesson.taught else ([], [*found, *lesson.labels])
    return frame, chain(first, _improved(problem, rows * factor, more, plain, seed, full))


def _improved(
    problem: Problem, rows: np.ndarray, found: list[np.ndarray], options: Options, seed: int, full: bool
) -> Iterator[np.ndarray]:
    """Each of the labellings improved under a pooled matrix, without repetitions."""
    seen = set()
    for number, labels in enumerate(found):
        for pooled in (False, True):
            if pooled:
                labels = _pooled_labels(problem, rows, labels, options, seed + ROUNDS * number, full)
            _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
            key = (pooled, first[inverse].tobytes())  # clusters named by their first row: numbers do not matter
            if key in seen:
                break
            seen.add(key)
        else:
            yield labels


def _pooled_labels(
    problem: Problem, rows: np.ndarray, labels: np.ndarray, options: Options, seed: int, full: bool
) -> np.ndarray:
    """Labels and one matrix in turns, until the labels rest."""
    keys, weight = content_keys(problem), problem.sample_weight
    options = options._replace(max_iter=min(ROUND_ITERATIONS, options.max_iter))
    for number in range(ROUNDS):
        own = deviations(rows, labels, weight) * np.sqrt(weight / weight.sum())[:, None]
        white = as_corpus(sp.csr_matrix(_whitened(rows, own, full)))
        part = build_problem(
            white, "sqeuclidean", weight, problem.graph, problem.n_clusters,
            potts=problem.potts, n_threads=problem.n_threads, keys=keys,
        )._replace(priors=problem.priors, merged=problem.merged)  # fmt: skip
        found = run(part, lift(part, labels), options, seed + number).labels
        if np.array_equal(found, labels):
            break
        labels = found
    return labels


def _whitened(rows: np.ndarray, own: np.ndarray, full: bool) -> np.ndarray:
    """Rows (n, d) in coordinates in which the covariance own' own (d, d) plus the identity is the identity."""
    if not full:
        return rows / np.sqrt(np.einsum("ij,ij->j", own, own) + 1.0)
    with threadpool_limits(1, "blas"):
        lower = np.linalg.cholesky(own.T @ own + np.eye(rows.shape[1]))
        return np.linalg.solve(lower, rows.T).T
