"""Many clusters in the plane: centroids laid out by their distances, every row between the centroids it resembles.

No plane through the data shows more than a few clusters. Here distances between centroids are kept as well as two
dimensions allow (least squares, by majorisation: de Leeuw 1977), and a row lies at the mean of all centroids' places,
weighted by how much it resembles each.
"""

from __future__ import annotations

import numpy as np

SWEEPS = 200
OWN_SHARE = 0.6  # of its own centroid in a typical row's place: at 1 clusters would shrink to points


def spread_out(distances: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Places (K, 2) whose distances come near to the given ones (K, K), from a start; cost 200 K²."""
    count = len(distances)
    turn = np.arange(count) * 2.399963  # a spiral: centroids that start in one place would never part
    spiral = np.column_stack([np.cos(turn), np.sin(turn)]) * np.sqrt(np.arange(count) / count)[:, None]
    places = start / max(np.abs(start).max(initial=0.0), 1e-300) * distances.mean() + 0.5 * distances.mean() * spiral
    for _ in range(SWEEPS):
        apart = np.sqrt(((places[:, None, :] - places[None, :, :]) ** 2).sum(axis=2))
        ratio = np.divide(distances, apart, out=np.zeros_like(distances), where=apart > 0)
        places = (ratio.sum(axis=1)[:, None] * places - ratio @ places) / count
    return places


def between(similarity: np.ndarray, own: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Places (p, 2) of rows by their similarities (p, K) to the centroids, and their own clusters (p,)."""
    shifted = similarity - similarity.max(axis=1, keepdims=True)
    low, high = 0.0, 1.0 / max(float(np.median(-shifted[shifted < 0])) if np.any(shifted < 0) else 1.0, 1e-300)
    rows = np.arange(len(similarity))
    for _ in range(60):  # the larger the sharpness, the larger the share of the own centroid
        share = _shares(shifted, high)
        if np.median(share[rows, own]) >= OWN_SHARE:
            break
        low, high = high, 2.0 * high
    for _ in range(30):
        middle = 0.5 * (low + high)
        if np.median(_shares(shifted, middle)[rows, own]) < OWN_SHARE:
            low = middle
        else:
            high = middle
    return _shares(shifted, high) @ places


def _shares(shifted: np.ndarray, sharpness: float) -> np.ndarray:
    share = np.exp(sharpness * shifted)
    return share / share.sum(axis=1, keepdims=True)
