"""How dense the data is around a row, so that Explore does not chase outliers.

Basu, Banerjee and Mooney, SDM 2004, section 6, name density-weighted farthest-first as future work and give no formula.
"""

from __future__ import annotations

import numpy as np

from hmrf_fast.active.space import Space

SAMPLE = 300  # rows that stand for all
SHARE = 15  # one in so many of them counts as near
_BLOCK = 20


def closeness(space: Space, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """How near a row's nearest neighbours are, in a sample of the rows.

    With d the mean distance to the nearest fifteenth of the sample, 1 / (1 + d / median of d): the scale of the metric
    cancels. Cost: one pass over the rows per row of the sample.

    Parameters
    ----------
    space : Space
    rows : ndarray of shape (r,), int64
    rng : Generator
        Draws the sample.

    Returns
    -------
    ndarray of shape (r,), float64
        In (0, 1]; 1/2 for a typical row.
    """
    if rows.size < 2:
        return np.ones(rows.size)
    sample = np.sort(rng.choice(rows.size, min(SAMPLE, rows.size), replace=False))
    n_near = max(1, sample.size // SHARE)
    near = np.empty((0, rows.size))
    for block in np.split(sample, range(_BLOCK, sample.size, _BLOCK)):
        distances = np.array([space.to_row(int(rows[position]))[rows] for position in block])
        distances[np.arange(block.size), block] = np.inf
        near = np.concatenate([near, distances])
        if len(near) > n_near:
            near = np.partition(near, n_near - 1, axis=0)[:n_near]
    mean = np.sort(near, axis=0).mean(axis=0)  # sorted, so that the sum does not depend on the order of the sample
    typical = float(np.median(mean))
    return 1.0 / (1.0 + mean / typical) if typical > 0 else np.ones(rows.size)
