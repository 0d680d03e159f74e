"""First centroids: those of neighbourhoods, and rows drawn by distance, farthest rows, any rows or the printed rest for
the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from hmrf_fast.geometry import Problem, measure
from hmrf_fast.kernels.types import PairTerms
from hmrf_fast.neighborhood_seeds import (
    distances_to,
    distances_to_center,
    global_center,
    neighborhood_centers,
    row_center,
)
from hmrf_fast.penalties import empty_graph
from hmrf_fast.seeds import Seeds


class Field(NamedTuple):
    """What all starts of a fit share when they choose rows."""

    problem: Problem
    pairs: PairTerms
    weights: np.ndarray  # (d,) ones: no weight is learned yet
    usable: np.ndarray  # (n,) sample weights of rows that can be a centroid
    order: np.ndarray  # (n,) rows by content

    def distances_to(self, row: int) -> np.ndarray:
        """(n,) phi between one row and all rows."""
        return distances_to(self.problem, self.pairs, self.weights, row)


def build_field(problem: Problem) -> Field:
    """Cost nnz."""
    weights = np.ones(problem.n_features)
    usable = np.where(problem.unit > 0, problem.sample_weight, 0.0)
    usable = usable if usable.any() else np.ones(problem.n_rows)
    # Starts are chosen by distance, whatever a violated constraint costs.
    pairs = measure(problem._replace(graph=empty_graph(), potts=False), weights).pairs
    return Field(problem, pairs, weights, usable, problem.order)


def restarts(
    problem: Problem, seeds: Seeds, rest: str, n_init: int, rng: np.random.Generator, explore: bool, first: int = 0
) -> Iterator[np.ndarray]:
    """First centroids (K, d) of ``n_init`` runs, from the one numbered ``first`` on.

    Groups of rows seed the first clusters (classes their own); ``rest`` ("farthest", "k-means++", "random", "printed")
    fills the others. With ``explore``, where violations have a price, every second start ignores the neighbourhoods:
    their centroids pull all runs into one basin, and J, which counts violations, tells which is better.
    """
    seeded = neighborhood_centers(problem, seeds)
    place = _places(seeds, problem.n_clusters)
    if rest == "printed":
        middle = global_center(problem)
        for _ in range(first, n_init):
            yield np.concatenate([seeded, _perturbed(middle, problem.n_clusters - len(seeded), rng)])[place]
        return
    field = build_field(problem)
    if rest == "random":
        for _ in range(first, n_init):
            yield _add_any(field, seeded, rng)[place]
        return
    nearest = np.full(problem.n_rows, np.inf)
    if len(seeded) < problem.n_clusters:
        for center in seeded:
            nearest = np.minimum(nearest, distances_to_center(problem, center))
    for number in range(first, n_init):
        if explore and number % 2 == 1:
            yield _complete(field, seeded[:0], np.full(problem.n_rows, np.inf), rng, False)
        else:
            yield _complete(field, seeded, nearest, rng, rest == "farthest")[place]


def useful_restarts(problem: Problem, seeds: Seeds, n_init: int) -> int:
    """One where neither drawn rows nor the order in which constrained rows are visited can make a difference."""
    return n_init if seeds.share.shape[0] < problem.n_clusters or problem.graph.rows.size else 1


def _places(seeds: Seeds, n_clusters: int) -> np.ndarray:
    """(K,) which of the seeds and rows, in the order they are chosen, each cluster starts from: class c seeds cluster
    c."""
    place = np.full(n_clusters, -1)
    place[seeds.codes] = np.arange(seeds.codes.size)
    place[place < 0] = np.arange(seeds.codes.size, n_clusters)
    return place


def _perturbed(middle: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """The global centroid with every coordinate multiplied by 1 + 0.7 (U - 0.5): the printed rest (the authors'
    program)."""
    return middle * (1.0 + 0.7 * (rng.random((count, middle.size)) - 0.5))


def _add_any(field: Field, seeded: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Add rows drawn by sample weight alone, none twice unless there are too few."""
    centers, chance = list(seeded), field.usable.copy()
    while len(centers) < field.problem.n_clusters:
        row = _draw(chance if chance.any() else field.usable, field.order, rng)
        chance[row] = 0.0
        centers.append(row_center(field.problem, row))
    return np.array(centers)


def _complete(
    field: Field, seeded: np.ndarray, nearest: np.ndarray, rng: np.random.Generator, greedy: bool
) -> np.ndarray:
    """Add rows until there are K centroids: drawn with probability weight * D to the nearest so far (k-means++,
    Arthur and Vassilvitskii 2007), or always the farthest when ``greedy``. ``nearest`` (n,) are distances to the
    seeded ones.

    Cost nnz per centroid."""
    centers = list(seeded)
    while len(centers) < field.problem.n_clusters:
        chance = field.usable * np.where(np.isinf(nearest), 1.0, nearest)
        if not chance.sum() > 0:
            chance = field.usable
        if greedy and centers:
            row = int(field.order[np.argmax((nearest * (field.usable > 0))[field.order])])
        else:
            row = _draw(chance, field.order, rng)
        centers.append(row_center(field.problem, row))
        nearest = np.minimum(nearest, field.distances_to(row))
    return np.array(centers)


def _draw(chance: np.ndarray, order: np.ndarray, rng: np.random.Generator) -> int:
    """A row with probability proportional to ``chance``; never one of chance 0, even at the very end of the range."""
    total = np.cumsum(chance[order])
    place = int(np.searchsorted(total, rng.random() * total[-1], side="right"))
    return int(order[place if place < order.size else np.flatnonzero(chance[order])[-1]])
