"""Coordinates in which a few rows can speak for all: the data itself where it has few features, else its low-rank
structure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from hmrf_fast.active.space import Space
from hmrf_fast.geometry import Problem
from hmrf_fast.low_rank import singular_vectors, unit_rows, usable_ranks

FEW_FEATURES = 100
SMALL_RANK = 5  # where the data has hardly any distinct rows


class Frame(NamedTuple):
    """How rows become coordinates."""

    metric: str
    axes: np.ndarray | None  # (r, d) directions, or None for the features themselves

    def coordinates(self, problem: Problem) -> np.ndarray:
        """(n, r) float64 of the rows of a problem under the same metric; of unit length (or zero) where only
        directions count. Cost: nnz times r."""
        rows = unit_rows(problem)
        plain = rows.toarray() if self.axes is None else rows @ self.axes.T
        if self.axes is None and problem.metric.centred:
            plain -= plain.mean(axis=1, keepdims=True)
        if not is_directional(self.metric):
            return plain
        norms = np.sqrt(np.einsum("ij,ij->i", plain, plain))
        return plain / np.where(norms > 0, norms, 1.0)[:, None]


def frame_of(space: Space, n_clusters: int | None, rng: np.random.Generator) -> Frame:
    """The coordinates that fit a data set.

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
    Frame
    """
    problem = space.problem._replace(n_clusters=n_clusters or 1)
    if problem.n_features <= FEW_FEATURES:
        return Frame(problem.metric.name, None)
    rank = max(usable_ranks(problem), default=min(SMALL_RANK, problem.n_rows))
    return Frame(problem.metric.name, singular_vectors(problem, rank, rng).T)


def is_directional(metric: str) -> bool:
    """Whether only the direction of coordinates counts."""
    return metric != "sqeuclidean"


def distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(a, b) float64 Euclidean distances of two sets of coordinates."""
    with threadpool_limits(1, "blas"):  # the last bits of a BLAS product depend on its number of threads
        squares = np.einsum("ij,ij->i", first, first)[:, None] + np.einsum("ij,ij->i", second, second)
        squares -= 2.0 * (first @ second.T)
    return np.sqrt(np.maximum(squares, 0.0))
