"""A map of rows in two dimensions: of few clusters the plane in which the centroids lie farthest apart; of many, which
no plane can show, the picture of ``layout``.

In the plane, coordinates are inner products with the leading directions of the scatter between centroids, clusters
weighted by their sizes (the between-class part of Fisher's discriminant analysis). Where fewer than two such directions
exist, the leading principal directions of what is left of the rows take their place. Cost: one pass over the non-zeros
of all rows, and for the sampled rows their products with the K centroids.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh
from threadpoolctl import threadpool_limits

from hmrf_fast.reporting.layout import between, spread_out
from hmrf_fast.reporting.links import Link

POINTS = 2000
LINKS = 300
PLANE = 5  # clusters that a plane shows well enough
LAID_OUT = 1000  # clusters that can be laid out: cost grows with their square
_TINY = 1e-9  # share of the scatter below which a direction is rounding


class RowsMap(NamedTuple):
    """Sampled rows in the plane."""

    rows: np.ndarray  # (p,) int64 row numbers, ascending
    xy: np.ndarray  # (p, 2) float64
    labels: np.ndarray  # (p,) the cluster of each
    links: tuple[tuple[int, int, Link], ...]  # places of both rows in `rows`, and the constraint
    n_links: int  # drawn or not
    plane: bool  # a plane through the data; else rows lie between centroids


def map_rows(
    rows: sp.csr_matrix, member: sp.csr_matrix, labels: np.ndarray, links: tuple[Link, ...], points: int = POINTS
) -> RowsMap:
    """Draw a sample of the rows, the ends of constraints first.

    Parameters
    ----------
    rows : csr_matrix of shape (n, d)
        Rows whose inner products fit the metric.
    member : csr_matrix of shape (K, n)
    labels : ndarray of shape (n,)
    links : tuple of Link
        Constraints, those to draw first.
    points : int, default=2000

    Returns
    -------
    RowsMap
    """
    sample, drawn = _sample(rows.shape[0], links, points)
    with threadpool_limits(1, "blas"):  # the last bits of a product depend on the number of threads
        xy, plane = _coordinates(rows, member, labels, sample)
    ends = {int(row): place for place, row in enumerate(sample)}
    told = tuple((ends[link.first], ends[link.second], link) for link in drawn)
    return RowsMap(sample, xy, labels[sample], told, len(links), plane)


def _sample(n_rows: int, links: tuple[Link, ...], points: int) -> tuple[np.ndarray, tuple[Link, ...]]:
    links = links[: min(LINKS, points // 4)]
    ends = np.unique([row for link in links for row in (link.first, link.second)]).astype(np.int64)
    others = np.setdiff1d(np.arange(n_rows), ends)
    count = min(points - ends.size, others.size)
    chosen = np.random.default_rng(0).choice(others, count, replace=False)
    return np.sort(np.concatenate([ends, chosen])), links


def _coordinates(
    rows: sp.csr_matrix, member: sp.csr_matrix, labels: np.ndarray, sample: np.ndarray
) -> tuple[np.ndarray, bool]:
    sizes = np.asarray(member.sum(axis=1)).ravel()
    live = sizes > 0
    share = np.sqrt(sizes[live] / sizes.sum())
    means = sp.csr_matrix(sp.diags_array(1.0 / sizes[live]) @ (member[live] @ rows))
    mean = np.asarray(rows.mean(axis=0)).ravel()
    # Inner products of centred centroids, without making them dense.
    to_mean = means @ mean
    scatter = (means @ means.T).toarray() - to_mean[:, None] - to_mean[None, :] + mean @ mean
    values, vectors = np.linalg.eigh(share[:, None] * scatter * share[None, :])
    values, vectors = values[::-1][:2], _signed(vectors[:, ::-1][:, :2])
    kept = values > _TINY * max(float(mean @ mean), float(np.trace(scatter)), 1e-300)
    drawn = rows[sample]
    products = (drawn @ means.T).toarray() - (drawn @ mean)[:, None] - to_mean[None, :] + mean @ mean
    xy = (products * share) @ (vectors[:, kept] / np.sqrt(values[kept]))
    if PLANE < len(share) <= LAID_OUT and kept.all():
        lengths = np.diag(scatter)
        distances = np.sqrt(np.maximum(lengths[:, None] + lengths[None, :] - 2 * scatter, 0.0))
        places = spread_out(distances, (scatter * share) @ vectors)
        own = np.cumsum(live)[labels[sample]] - 1
        return between(products - 0.5 * lengths, own, places), False
    return (xy if xy.shape[1] == 2 else np.column_stack([xy, _rest(drawn, xy, 2 - xy.shape[1])])), True


def _rest(drawn: sp.csr_matrix, xy: np.ndarray, count: int) -> np.ndarray:
    """Leading principal coordinates of what given directions leave of the rows; zeros where nothing is left."""
    size = drawn.shape[0]
    gram = (drawn @ drawn.T).toarray()
    centred = xy - xy.mean(axis=0)
    gram = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean() - centred @ centred.T
    found = np.zeros((size, count))
    if size > count + 1 and np.trace(gram) > _TINY:
        values, vectors = eigsh(gram, count, v0=np.linspace(1.0, 2.0, size))
        found = _signed(vectors[:, ::-1]) * np.sqrt(np.maximum(values[::-1], 0.0))
    return found


def _signed(vectors: np.ndarray) -> np.ndarray:
    """Eigenvectors with their largest entry positive: their signs are arbitrary."""
    largest = np.argmax(np.abs(vectors), axis=0)
    return vectors * np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
