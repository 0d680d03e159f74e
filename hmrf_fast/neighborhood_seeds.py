"""Neighbourhoods of must-linked rows as first centroids, chosen by weighted farthest-first where there are too many.

Distances between candidate centroids are those of the scaling function phi: it is the distance itself for cosine and
squared Euclidean, and stays finite for I-divergence where one row lacks the other's features.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from hmrf_fast.geometry import Problem, build_problem, measure, one_row
from hmrf_fast.inputs import as_corpus
from hmrf_fast.kernels import pool
from hmrf_fast.kernels.pairs import pair_distances
from hmrf_fast.kernels.types import PairSide, Sums
from hmrf_fast.penalties import empty_graph
from hmrf_fast.rows.block import Block
from hmrf_fast.seeds import Seeds, hard_seeds

BLOCKS = 16
SMALLEST_BLOCK, LARGEST_BLOCK = 1 << 17, 1 << 20  # non-zeros


class Neighborhoods(NamedTuple):
    """Must-link neighbourhoods as rows of their own: the summed rows of each, whose centroid they are up to scale."""

    problem: Problem
    sizes: np.ndarray  # (L,) float64
    first: np.ndarray  # neighbourhoods that must seed the first clusters, in order (the classes of partial labels)


def matrix_of(problem: Problem) -> sp.csr_matrix:
    """The corpus as a scipy matrix; nothing is copied."""
    corpus = problem.corpus
    return sp.csr_matrix(
        (corpus.values, corpus.indices, corpus.indptr), shape=(problem.n_rows, corpus.n_features), copy=False
    )


def row_blocks(problem: Problem) -> Iterator[tuple[int, int, sp.csr_matrix]]:
    """Consecutive rows [first, last) as float64 matrices, small beside the corpus, so that what is made of one does not
    fill the memory; the blocks depend on the row pointers alone."""
    largest = min(max(-(-problem.n_entries // BLOCKS), SMALLEST_BLOCK), LARGEST_BLOCK)
    for block in problem.rows.spans(pool.even_pieces(problem.rows.indptr, largest)):
        part, shape = block.corpus, (block.n_rows, problem.n_features)
        values = part.values.astype(np.float64, copy=False)
        yield block.first, block.first + block.n_rows, sp.csr_matrix((values, part.indices, part.indptr), shape)


def gather(problem: Problem, seeds: Seeds) -> Neighborhoods:
    """Sum the rows of each group, as far as they belong to it. Cost nnz.

    Mean for I-divergence and squared Euclidean, sum of unit rows for the directional metrics.
    """
    count = seeds.share.shape[0]
    sizes = seeds.share @ problem.sample_weight
    share = seeds.share @ sp.diags_array(problem.unit * problem.sample_weight)
    if not problem.metric.directional:
        share = sp.diags_array(1.0 / np.maximum(sizes, 1e-300)) @ share
    summed = sp.csr_matrix((count, problem.n_features))
    for first, last, rows in row_blocks(problem):
        summed = summed + share[:, first:last] @ rows
    summed.sort_indices()
    summed.eliminate_zeros()
    part = build_problem(
        as_corpus(summed),
        problem.metric,
        np.ones(count),
        empty_graph(),
        problem.n_clusters,
        n_threads=problem.n_threads,
    )
    return Neighborhoods(part, sizes, seeds.first)


def distances_to(problem: Problem, pairs, weights: np.ndarray, row: int) -> np.ndarray:
    """(n,) phi between one row and all rows; cost nnz."""
    few = problem.rows.take(np.array([row]))
    side = PairSide(few.corpus, few.of(pairs), few.of(problem.unit))
    return _distances_to(problem, pairs, weights, side, int(few.numbers[0]))


def _distances_to(problem: Problem, pairs, weights: np.ndarray, other: PairSide, number: int) -> np.ndarray:
    """(n,) phi between a row of another corpus and all rows."""
    phi = np.empty(problem.n_rows)
    problem.fill(_find_phi, (pairs, problem.unit), (phi,), (other, number, weights, problem.metric.entropic))
    return np.maximum(phi, 0.0)


def _find_phi(block: Block, _, pairs, unit, phi: np.ndarray, other: PairSide, row: int, weights, entropic) -> None:
    one, every, same = PairSide(block.corpus, pairs, unit), np.arange(block.n_rows), np.full(block.n_rows, row)
    block.over_rows(
        lambda first, last: pair_distances(one, other, weights, entropic, every, same, first, last, phi), 4.0
    )


def farthest_first(neighborhoods: Neighborhoods, n_wanted: int, to_global: np.ndarray) -> np.ndarray:
    """Weighted farthest-first over neighbourhood centroids (KDD 2004, section 3.3, with square-root weights).

    Begins with the largest (or with those that must come first); next is the one whose smallest sqrt(n_p n_q) D to
    the chosen is largest; for directional metrics whose largest similarity / sqrt(n_p n_q) is smallest, where the
    similarity is the inner product of the means of the unit rows. A mean of few rows is long, so small neighbourhoods
    are not mistaken for distant ones. Ties go to the one farthest from the global centroid (``to_global``), then to
    the first. Cost: non-zeros of the centroids per choice.
    """
    problem, sizes = neighborhoods.problem, neighborhoods.sizes
    weights = np.ones(problem.n_features)
    pairs = measure(problem, weights).pairs
    length = np.divide(1.0, problem.unit * sizes, out=np.zeros_like(sizes), where=problem.unit > 0)
    chosen = neighborhoods.first.tolist() or [_first_best(sizes, to_global, np.zeros(sizes.size, bool))]
    score = np.full(sizes.size, np.inf)
    for step in range(n_wanted):
        if step >= len(chosen):
            chosen.append(_first_best(score, to_global, np.isin(np.arange(sizes.size), chosen)))
        latest = chosen[step]
        distance = distances_to(problem, pairs, weights, latest)
        scale = np.sqrt(sizes * sizes[latest])
        similarity = (1.0 - distance) * length * length[latest]
        score = np.minimum(score, -similarity / scale if problem.metric.directional else distance * scale)
    return np.array(chosen[:n_wanted])


def _first_best(score: np.ndarray, tie: np.ndarray, barred: np.ndarray) -> int:
    score = np.where(barred, -np.inf, score)
    best = np.flatnonzero(score >= score.max() - 1e-12 * abs(score.max()))
    return int(best[tie[best] >= tie[best].max() * (1.0 - 1e-12)][0])


def distances_to_center(problem: Problem, center: np.ndarray) -> np.ndarray:
    """(n,) phi between a dense centroid and all rows; cost nnz."""
    weights, plain = np.ones(problem.n_features), problem._replace(graph=empty_graph(), potts=False)
    head = build_problem(as_corpus(sp.csr_matrix(center[None, :])), problem.metric, np.ones(1), empty_graph(), 1)
    side = PairSide(head.corpus, measure(head, weights).pairs, head.unit)
    return _distances_to(problem, measure(plain, weights).pairs, weights, side, 0)


def row_center(problem: Problem, row: int) -> np.ndarray:
    """A row as a centroid (d,)."""
    columns, values = one_row(problem, row)
    linear = np.zeros((1, problem.n_features))
    linear[0, columns] = values * problem.unit[row]
    lean = -problem.mean[row] * problem.unit[row] if problem.metric.centred else 0.0
    return problem.metric.centers(Sums(linear, np.array([lean]), np.ones(1)), np.ones(problem.n_features), 0.0)[0]


def global_center(problem: Problem) -> np.ndarray:
    """(d,) centroid of all rows."""
    none = np.zeros(0, np.int64)
    everything = gather(problem, hard_seeds(np.zeros(problem.n_rows, np.int32), none, none))
    return row_center(everything.problem, 0)


def neighborhood_centers(problem: Problem, seeds: Seeds) -> np.ndarray:
    """(c, d) centroids of at most K groups, those of the classes first. Cost nnz + K non-zeros."""
    if seeds.share.shape[0] == 0:
        return np.zeros((0, problem.n_features))
    neighborhoods = gather(problem, seeds)
    count = min(neighborhoods.sizes.size, problem.n_clusters)
    if seeds.by_size:
        chosen = _largest_first(neighborhoods)[:count]
    else:
        to_global = distances_to_center(neighborhoods.problem, global_center(problem))
        chosen = farthest_first(neighborhoods, count, to_global)
    return np.array([row_center(neighborhoods.problem, int(which)) for which in chosen])


def _largest_first(neighborhoods: Neighborhoods) -> np.ndarray:
    """All groups: those of the classes in their order, then the others by falling weight, ties to the lowest number."""
    order = np.argsort(-neighborhoods.sizes, kind="stable")
    return np.concatenate([neighborhoods.first, order[~np.isin(order, neighborhoods.first)]])
