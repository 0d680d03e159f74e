"""The M-step's second half: feature weights that lower the objective, with the centroids held fixed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hmrf_fast.e_step import local_blocks, scratch_tables, violations
from hmrf_fast.geometry import Geometry, Problem, measure
from hmrf_fast.kernels import pool
from hmrf_fast.kernels.closure_energy import add_block_products
from hmrf_fast.kernels.metrics import LN2, NONE
from hmrf_fast.kernels.moments import scatter_own, scatter_rows
from hmrf_fast.kernels.types import ClusterTerms, RowTerms, Sums
from hmrf_fast.listed_pairs import pair_products
from hmrf_fast.m_step import by_label, visits_in
from hmrf_fast.rows.block import Block

FLOOR = 1e-3  # smallest weight of a directional metric, relative to the mean weight 1
HALVINGS = 8
SCATTER_CHUNKS = 8
LARGEST_PIECE = 1 << 23  # non-zeros of rows that are sorted by label together
NOISE = 1e-12  # summed deviations below this share of a feature's mass are rounding, not information


class Prior(NamedTuple):
    """The term -log p(a) of the objective."""

    kind: str  # "none", "rayleigh" or "log_det"
    strength: float


def prior_cost(prior: Prior, weights: np.ndarray) -> float:
    """-r log p(a): Rayleigh with mode 1, or -r ln det A (Bilenko, Basu and Mooney 2004); zero at all weights 1 up to
    a constant."""
    if prior.kind == "rayleigh":
        return float(prior.strength * np.sum(0.5 * weights**2 - np.log(weights)))
    if prior.kind == "log_det":
        return float(-prior.strength * np.sum(np.log(weights)))
    return 0.0


def gradient(problem: Problem, geometry: Geometry, centers, clusters, sums: Sums, labels, alpha: float) -> np.ndarray:
    """dJ/da (d,) with the centroids held fixed, without the prior; cost nnz plus K d plus violated pairs. The centroids
    of directional metrics must be those that minimise J.

    Source: KDD 2004, eqs. 18-20, corrected: cosine's is the gradient of the distance, and pairs use that of phi.
    """
    metric = problem.metric
    strength, cross, cannot = _pair_strengths(problem, geometry, labels)
    if metric.directional:
        result = _angular_part(problem, geometry, clusters, labels, strength)
    else:
        result = _constant_part(problem) + metric.centroid_gradient(clusters, centers, sums, alpha)
        if strength.any():
            square, linear = metric.row_coefficients(strength, geometry.rows)
            result = result + _scatter(problem, square, linear, NONE)
    if cross is not None:
        result += pair_products(problem, geometry.pairs, cross)
    _add_blocks(problem, geometry, labels, result)
    if geometry.phi_max_gradient.size:
        result += cannot * geometry.phi_max_gradient
    return result


def _angular_part(problem: Problem, geometry: Geometry, clusters, labels, strength) -> np.ndarray:
    """The part (d,) that rows and centroids have in a directional metric's gradient.

    The grid of chunks, added in order, does not depend on the number of threads.
    """
    square, linear = problem.metric.row_coefficients(np.ones(problem.n_rows), geometry.rows)
    own, result = np.empty(problem.n_rows), np.zeros(problem.n_features)
    inputs = geometry.rows, labels, problem.sample_weight, strength, square, linear
    pieces = pool.even_pieces(problem.rows.indptr, LARGEST_PIECE)
    n_chunks = min(SCATTER_CHUNKS, problem.row_bounds.size - 1)
    for part in problem.map(_scatter_own, inputs, (own,), (clusters, n_chunks), bounds=pieces):
        result += part
    if problem.metric.centred:
        power = strength + problem.sample_weight * (1.0 - own)
        result += (power * square) @ geometry.rows.shift**2
    return result


def _scatter_own(
    block: Block, _, terms, labels, mass, strength, square, linear, own: np.ndarray, clusters: ClusterTerms, count: int
) -> np.ndarray:
    """The part (d,) of a block, whose rows are visited label after label."""
    order, _ = by_label(labels, clusters.offset.size)
    visits, found = visits_in(order, block.corpus), np.empty(block.n_rows)
    terms = RowTerms(*(values[order] if values.size else values for values in terms))
    labels, *powers = (values[order] if values.size else values for values in (labels, mass, strength, square, linear))
    chunks = pool.even_chunks(block.n_rows, count)
    parts = np.empty((chunks.size - 1, block.corpus.n_features))
    pool.run_chunks(
        lambda first, last: scatter_own(
            block.corpus, visits, terms, clusters, labels, first, last, *powers, found,
            parts[np.searchsorted(chunks, first)],
        ),
        chunks,
        block.n_threads,
        block.n_entries * 8.0,
    )  # fmt: skip
    own[order] = found
    return parts.sum(0)


def _constant_part(problem: Problem) -> np.ndarray:
    """(d,) what the rows add to the gradient of a metric that is linear in the weights, the same for all centroids and
    weights: computed once per problem, so that learning needs no pass over the rows."""
    if "slopes" not in problem.memo:
        entropy, square = (problem.sample_weight, NONE) if problem.metric.entropic else (NONE, problem.sample_weight)
        problem.memo["slopes"] = _scatter(problem, square, NONE, entropy)
    return problem.memo["slopes"]


def _scatter(problem: Problem, square, linear, entropy) -> np.ndarray:
    """Row terms (d,) per fixed chunk, added in chunk order; the grid does not depend on the number of threads."""
    chunks = problem.row_bounds[np.unique(np.linspace(0, problem.row_bounds.size - 1, SCATTER_CHUNKS + 1).astype(int))]
    parts = np.zeros((chunks.size - 1, problem.n_features))
    problem.add(_add_scattered, (square, linear, entropy, problem.unit), (chunks,), parts)
    return parts.sum(0)


def _add_scattered(block: Block, _, square, linear, entropy, unit, chunks: np.ndarray, parts: np.ndarray, __) -> None:
    """Within a chunk rows are added in their order, whatever the blocks are."""
    bounds = np.unique(np.clip(chunks - block.first, 0, block.n_rows))

    def task(first: int, last: int) -> None:
        part = parts[np.searchsorted(chunks, block.first + first, side="right") - 1]
        scatter_rows(block.corpus, square, linear, entropy, unit, first, last, part)

    pool.run_chunks(task, bounds, block.n_threads, block.n_entries * 2.0)


def _pair_strengths(problem: Problem, geometry: Geometry, labels):
    """Per row: how strongly violated pairs weigh in the gradient; per pair: the factor of its product; summed cannot
    weights."""
    graph, metric = problem.graph, problem.metric
    strength = np.zeros(problem.n_rows)
    if graph.rows.size == 0 or problem.potts:
        return strength, None, 0.0
    row_labels = labels[graph.rows]
    same = row_labels[graph.pair_first] == row_labels[graph.pair_second]
    violated = (same != (graph.pair_kind > 0)).nonzero()[0]
    first, second, kind = graph.pair_first[violated], graph.pair_second[violated], graph.pair_kind[violated]
    signed = graph.pair_weight[violated] * kind
    cannot = -float(signed[kind < 0].sum())
    share = signed * (1.0 - geometry.phi[violated] if metric.directional else LN2 if metric.entropic else 1.0)
    touched = np.zeros(graph.rows.size)
    for ends in (first, second):
        touched += np.bincount(ends, share, graph.rows.size)
    factor, cross = geometry.pairs.factor, np.zeros(graph.pair_kind.size)
    cross[violated] = -geometry.pairs.degree * signed * factor[graph.rows[first]] * factor[graph.rows[second]]
    if graph.block_ptr.size > 1:
        _, count, phi_sum, implicit = violations(problem, geometry, labels)
        touched += count - phi_sum if metric.directional else count
        cannot += implicit
    strength[graph.rows] = touched
    return strength, cross, cannot


def _add_blocks(problem: Problem, geometry: Geometry, labels, result) -> None:
    graph = problem.graph
    if problem.potts or graph.block_ptr.size <= 1:
        return
    nodes = labels[graph.rows[graph.node_rows[graph.node_ptr[:-1]]]]
    add_block_products(*local_blocks(problem, geometry), nodes, *scratch_tables(problem), result)


def closed_form(prior: Prior, slope: np.ndarray, weights: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """The minimiser of <a, slope> + prior, for objectives that are linear in a.

    Rayleigh with mode 1: a = 2r / (G + sqrt(G^2 + 4 r^2)), written for either sign of G without cancellation.
    Log-determinant: a = r / S; a feature whose summed deviations are not positive keeps its weight. ``mass`` is the
    scale of S's terms.
    """
    r = prior.strength
    if prior.kind == "rayleigh":
        root = np.sqrt(slope**2 + 4.0 * r * r)
        return np.where(slope >= 0, 2.0 * r / (slope + root), (root - slope) / (2.0 * r))
    usable = slope > NOISE * mass
    return np.where(usable, r / np.where(usable, slope, 1.0), weights)


def descend(weights: np.ndarray, slope: np.ndarray, step: float) -> np.ndarray:
    """One gradient step of a directional metric, clipped at the floor and rescaled to mean 1, which J does not
    notice."""
    moved = np.maximum(weights - step * slope, FLOOR)
    return moved / moved.mean()


def learn(
    problem, geometry, centers, clusters, sums, labels, alpha, prior: Prior, step: float, before: float, objective
):
    """New geometry, cluster terms and J after one weight step; the old ones if no step lowers J.

    ``objective(geometry, clusters)`` gives J of the labels under other weights, ``before`` is J under the present ones;
    ``step`` is the step size for directional metrics, halved up to eight times while J rises.
    """
    slope = gradient(problem, geometry, centers, clusters, sums, labels, alpha)
    if not problem.metric.directional:
        mass = sums.mass.sum() * np.maximum(np.abs(centers).max(0) ** 2, np.finfo(float).tiny)
        best = closed_form(prior, slope, geometry.weights, mass)
        # phi_max is a maximum over rows, so J is linear in the weights only until other rows become the largest.
        # Blended as a sum of positive parts: a difference would cancel where the best weight is tiny.
        candidates = (best / 2**k + geometry.weights * (1.0 - 0.5**k) for k in range(HALVINGS))
    else:
        if prior.kind == "rayleigh":
            slope = slope + prior.strength * (geometry.weights - 1.0 / geometry.weights)
        candidates = (descend(geometry.weights, slope, step / 2**k) for k in range(HALVINGS))
    for weights in candidates:
        new_geometry = measure(problem, weights)
        new_clusters = problem.metric.cluster_terms(centers, weights, alpha)
        after = objective(new_geometry, new_clusters)
        if after <= before:
            return new_geometry, new_clusters, after
    return geometry, clusters, before


def choose_prior(problem: Problem, strength: float | None) -> Prior:
    """The prior that makes weight learning well posed: none for directional metrics unless asked for, log-determinant
    for squared Euclidean, Rayleigh for I-divergence with a strength on the scale of a feature's mean cost."""
    total = float(problem.sample_weight.sum())
    if strength is not None:
        return Prior("rayleigh", strength * total)
    if problem.metric.directional:
        return Prior("none", 0.0)
    if problem.metric.entropic:
        return Prior("rayleigh", total / problem.n_features)
    return Prior("log_det", total)
