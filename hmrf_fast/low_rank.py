"""Starts from the low-rank structure of the data: cluster a truncated SVD many times, polish the best in the full
space.

On sparse text plain starts end in poor local optima (little relocation happens in a high-dimensional space); in the
span of a few singular vectors the same algorithm, under the same constraints, finds much better labels at a fraction
of the cost.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr
from threadpoolctl import threadpool_limits

from hmrf_fast.annealing import Annealer, affordable
from hmrf_fast.draws import NO_DRAWS, Draws
from hmrf_fast.em import Options, Start, run
from hmrf_fast.geometry import Problem, build_problem, content_keys, measure, moments
from hmrf_fast.kernels import pool
from hmrf_fast.kernels.sketch import add_square_product, product_scale, row_products
from hmrf_fast.kernels.types import Corpus
from hmrf_fast.m_step import statistics, sum_rows
from hmrf_fast.neighborhood_seeds import row_blocks
from hmrf_fast.outcomes import EMResult, keep_best
from hmrf_fast.rows.block import Block
from hmrf_fast.seeding import restarts, useful_restarts
from hmrf_fast.seeds import Seeds, no_seeds

RANKS = (5, 10, 20, 30)
RESTART_ITERATIONS = 30
OVERSAMPLES, PASSES = 10, 4  # of the subspace iteration
COLUMNS = 8  # of a table that at least go to one thread
ROWS = 1 << 14  # of a table that are turned into floating point at a time
logger = logging.getLogger("hmrf_fast")

NEGLIGIBLE = 1e-12  # share of the largest squared singular value; rounding leaves about as much


def usable_ranks(problem: Problem) -> list[int]:
    """Ranks well below the numbers of distinct rows and of features, and one that just tells the clusters apart.

    Empty where the data is too small for it. Repeated rows and rows of weight 0 do not count.
    """
    n_distinct = np.unique(content_keys(problem)[problem.sample_weight > 0]).size
    largest = (min(n_distinct, problem.n_features) - 1) // 2
    if largest < min(RANKS):
        return []
    return [rank for rank in sorted({*RANKS, min(problem.n_clusters + 1, 100)}) if rank <= largest]


def project(problem: Problem, rank: int, rng: np.random.Generator) -> np.ndarray:
    """(n, rank) coordinates of the rows on the leading right singular vectors of the weighted matrix."""
    return coordinates(problem, singular_vectors(problem, rank, rng))


def coordinates(problem: Problem, right: np.ndarray) -> np.ndarray:
    """(n, r) products of the rows with given directions (d, r); cost nnz times r."""
    result = np.empty((problem.n_rows, right.shape[1]))
    shared = problem.metric.entropic, np.ascontiguousarray(right)
    problem.fill(_multiply, (problem.unit,), (result,), shared)
    return result


def _multiply(block: Block, _: Any, unit: np.ndarray, result: np.ndarray, root: bool, right: np.ndarray) -> None:
    block.over_rows(
        lambda first, last: row_products(block.corpus, unit, root, right, first, last, result), float(right.shape[1])
    )


def singular_vectors(problem: Problem, rank: int, rng: np.random.Generator) -> np.ndarray:
    """(d, rank) leading right singular vectors of the weighted rows A, by subspace iteration on A'A (Halko, Martinsson
    and Tropp 2011), which needs nothing of the size of the rows but the rows.

    The random test vectors live on the feature side, so neither the order of the rows nor whether a row is repeated or
    weighted changes the result. Columns without information are zero. Cost: nnz times rank per pass.
    """
    n_features = problem.n_features
    basis = rng.standard_normal((n_features, min(rank + OVERSAMPLES, n_features)))
    energy = problem.sample_weight * _lengths(problem)
    with threadpool_limits(1, "blas"):  # the last bits of a BLAS product depend on its number of threads
        for _ in range(PASSES):
            image = np.asfortranarray(_square_product(problem, basis, energy))
            del basis  # two such tables at a time are enough
            image, _ = qr(image, overwrite_a=True, mode="economic", check_finite=False)
            basis = np.ascontiguousarray(image)
            del image
        image = _square_product(problem, basis, energy)
        gram = basis.T @ image
        del basis
        # With Y = A basis and Y'Y = gram, Q = Y gram^(-1/2) spans the image; A's right vectors are the left ones of A'Q
        size, turn = np.linalg.eigh(gram)
        kept = size > size[-1] * NEGLIGIBLE
        image = image @ (turn[:, kept] / np.sqrt(size[kept]))
        size, turn = np.linalg.eigh(image.T @ image)
        largest = np.flatnonzero(size > size.max(initial=0.0) * NEGLIGIBLE)[::-1][:rank]
        right = np.zeros((n_features, rank))
        right[:, : largest.size] = image @ (turn[:, largest] / np.sqrt(size[largest]))
    return right


def _lengths(problem: Problem) -> np.ndarray:
    """(n,) squared lengths of the rows of A."""
    found = moments(problem, np.ones(problem.n_features))
    return found.total if problem.metric.entropic else found.square


def _square_product(problem: Problem, basis: np.ndarray, energy: np.ndarray) -> np.ndarray:
    """A'A basis (d, l), rows weighted; summed in integers, to the same bits wherever the rows are."""
    scale = product_scale(energy, float(np.sqrt(np.einsum("ij,ij->j", basis, basis).max())))
    total = np.zeros(basis.shape, np.int64)
    width = basis.shape[1]
    bounds = np.minimum(COLUMNS * pool.even_chunks(-(-width // COLUMNS), problem.n_threads), width)
    inputs = problem.unit, problem.sample_weight * scale
    problem.add(_add_product, inputs, (problem.metric.entropic, basis, bounds), total)
    image = total.view(np.float64)
    for first in range(0, len(total), ROWS):
        image[first : first + ROWS] = total[first : first + ROWS] / scale
    return image


def _add_product(
    block: Block, _: Any, unit: np.ndarray, factor: np.ndarray, root: bool, basis: np.ndarray, bounds: np.ndarray,
    total: np.ndarray, fresh: bool,
) -> None:  # fmt: skip
    """Threads share the columns: each sum belongs to one of them."""
    if fresh:
        total[:] = 0
    pool.run_chunks(
        lambda first, last: add_square_product(block.corpus, unit, factor, root, basis, first, last, total),
        bounds,
        block.n_threads,
        2.0 * basis.shape[1] * block.n_entries,
    )


def unit_blocks(problem: Problem) -> Iterator[tuple[int, int, sp.csr_matrix]]:
    """Blocks of ``row_blocks`` with rows of unit length whose inner products fit the metric: square roots of
    distributions (Hellinger) for I-divergence, rows as given for squared Euclidean."""
    for first, last, rows in row_blocks(problem):
        values = rows.data
        if problem.metric.name != "sqeuclidean":
            values = values * np.repeat(problem.unit[first:last], np.diff(rows.indptr))
        if problem.metric.entropic:
            values = np.sqrt(values)
        yield first, last, sp.csr_matrix((values, rows.indices, rows.indptr), shape=rows.shape)


def unit_rows(problem: Problem) -> sp.csr_matrix:
    """All of ``unit_blocks`` as one matrix."""
    return sp.vstack([rows for _, _, rows in unit_blocks(problem)], format="csr")


def low_rank_starts(
    problem: Problem, seeds: Seeds, options: Options, n_init: int, rng: np.random.Generator, explore: bool = False,
    past: Draws = NO_DRAWS,
) -> Iterator[Start]:  # fmt: skip
    """The starts of each rank not drawn yet: the labels of the lowest objective among ``n_init`` constrained runs in
    that many dimensions, annealed in the full space where the direction of rows is what counts.

    With ``explore``, half of the runs ignore the neighbourhoods as first centroids, and the best of either half is a
    start, so that the objective of the full space, not that of the few dimensions, chooses between them. A handful of
    pairs makes neighbourhoods of which several lie in one class (0.73 in place of 0.84 NMI on yeast_galactose with 50
    pairs), many make better starts than drawn rows do; in few dimensions the objective would favour the latter.
    """
    ranks = usable_ranks(problem)
    halves = [(seeds, n_init)]
    if explore and seeds.share.shape[0] > 0 and n_init > 1:
        halves = [(seeds, n_init - n_init // 2), (no_seeds(problem.n_rows), n_init // 2)]
    wanted = [(rank, *half) for rank in ranks for half in halves]
    if past.drawn >= len(wanted):
        return
    right, keys = singular_vectors(problem, max(ranks), rng), content_keys(problem)
    metric = "sqeuclidean" if problem.metric.name == "sqeuclidean" else "cosine"
    annealer = Annealer(problem, unit_rows(problem)) if problem.metric.directional and affordable(problem) else None
    past.go_on(rng)
    for number, (rank, chosen, count) in enumerate(wanted[past.drawn :], start=past.drawn):
        short = coordinates(problem, right[:, :rank])
        labels = best_labels(problem, short, metric, chosen, options, count, rng, keys, number)
        yield lift(problem, labels if annealer is None else annealer.anneal(labels))


def best_labels(
    problem: Problem, rows: np.ndarray, metric: str, seeds: Seeds, options: Options, n_init: int,
    rng: np.random.Generator, keys: np.ndarray | None, number: int,
) -> np.ndarray:  # fmt: skip
    """(n,) labels of the lowest objective among ``n_init`` runs under the same constraints on other ``rows`` (n, r);
    ``number`` names the start in the log."""
    reduced = build_problem(
        _full_rows(rows), metric, problem.sample_weight, problem.graph, problem.n_clusters,
        potts=problem.potts, n_threads=problem.n_threads, keys=keys,
    )._replace(priors=problem.priors, merged=problem.merged)  # fmt: skip
    plain = Options(max_iter=RESTART_ITERATIONS, tol=options.tol, e_step=options.e_step)
    geometry = measure(reduced, np.ones(reduced.n_features))
    best: list[EMResult] = []
    n_init = useful_restarts(reduced, seeds, n_init)
    for tried, centers in enumerate(restarts(reduced, seeds, "k-means++", n_init, rng, explore=False), start=1):
        result = run(reduced, Start(centers), plain, int(rng.integers(2**63)), geometry)
        best = keep_best(best, result)
        told = {"start": number, "rank": rows.shape[1], "run": tried, "runs": n_init, "objective": result.objective}
        logger.debug("start %(start)d in %(rank)d dimensions, run %(run)d of %(runs)d: J = %(objective).10g", told)
    return best[0].labels


def _full_rows(dense: np.ndarray) -> Corpus:
    """A dense matrix (n, r) as a corpus without gaps; a way through scipy would make several copies."""
    n_rows, rank = dense.shape
    indices = np.tile(np.arange(rank, dtype=np.int32), n_rows)
    return Corpus(rank * np.arange(n_rows + 1), indices, dense.reshape(-1), rank)


def lift(problem: Problem, labels: np.ndarray, weights: np.ndarray | None = None) -> Start:
    """Labels as a start in the full space: their centroids there, and the labels themselves for the first E-step."""
    geometry = measure(problem, np.ones(problem.n_features) if weights is None else weights)
    statistic = statistics(problem, geometry, sum_rows(problem, geometry, labels))
    return Start(problem.metric.centers(statistic, geometry.weights, 1.0 if problem.metric.smoothed else 0.0), labels)
