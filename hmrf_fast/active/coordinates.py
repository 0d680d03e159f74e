"""Coordinates in which a few rows can speak for all: the data itself where it has few features, else its low-rank
structure."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from hmrf_fast.active.space import Space
from hmrf_fast.low_rank import project, unit_rows, usable_ranks

FEW_FEATURES = 100
SMALL_RANK = 5  # where the data has hardly any distinct rows


def coordinates(space: Space, n_clusters: int | None, rng: np.random.Generator) -> np.ndarray:
    """Dense coordinates of the rows.

    Rows that share hardly a word with one another share directions: in the span of some thirty singular vectors
    (`low_rank`) near rows are alike, in the full space they are not.

    Parameters
    ----------
    space : Space
    n_clusters : int or None
        More clusters than the usual ranks can tell apart raise the rank.
    rng : Generator
        Draws the sketch.

    Returns
    -------
    ndarray of shape (n, r), float64
        Of unit length (or zero) unless the metric is squared Euclidean. Cost: nnz times r.
    """
    problem = space.problem._replace(n_clusters=n_clusters or 1)
    if problem.corpus.n_features <= FEW_FEATURES:
        plain = unit_rows(problem).toarray()
        if problem.metric.name == "pearson":
            plain -= plain.mean(axis=1, keepdims=True)
    else:
        plain = project(problem, max(usable_ranks(problem), default=min(SMALL_RANK, problem.n_rows)), rng)
    if not is_directional(space):
        return plain
    norms = np.sqrt(np.einsum("ij,ij->i", plain, plain))
    return plain / np.where(norms > 0, norms, 1.0)[:, None]


def is_directional(space: Space) -> bool:
    """Whether only the direction of coordinates counts."""
    return space.problem.metric.name != "sqeuclidean"


def distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(a, b) float64 Euclidean distances of two sets of coordinates."""
    with threadpool_limits(1, "blas"):  # the last bits of a BLAS product depend on its number of threads
        squares = np.einsum("ij,ij->i", first, first)[:, None] + np.einsum("ij,ij->i", second, second)
        squares -= 2.0 * (first @ second.T)
    return np.sqrt(np.maximum(squares, 0.0))
