"""The matrix that must-links teach, against its formula, and what it is worth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrf_fast import HMRFKMeans
from hmrf_fast.chunklets import PRIOR_COUNT, PRIOR_VARIANCE, deviations, whitening
from hmrf_fast.protocol import draw_pairs
from hmrf_fast.scores import normalized_mutual_information


@given(st.integers(1, 6), st.integers(2, 30), st.integers(0, 10_000))
def test_directions_whiten_what_must_links_tie(n_features, n_rows, seed):
    rng = np.random.default_rng(seed)
    rows, weight = rng.standard_normal((n_rows, n_features)), rng.uniform(0.5, 2.0, n_rows)
    component = np.arange(n_rows) // 2 % max(n_rows // 3, 1)
    scatter, free = np.zeros((n_features, n_features)), 0.0
    for c in np.unique(component):
        own = component == c
        off = rows[own] - np.average(rows[own], axis=0, weights=weight[own])
        scatter += np.einsum("n,ni,nj->ij", weight[own], off, off)
        free += weight[own].sum() * (1.0 - 1.0 / own.sum())
    prior = PRIOR_COUNT * np.sqrt(n_features)
    covariance = (scatter + prior * PRIOR_VARIANCE * np.eye(n_features)) / (free + prior)
    found = whitening(rows, component, weight)
    np.testing.assert_allclose(found.T @ covariance @ found, np.eye(n_features), atol=1e-9)
    np.testing.assert_allclose(found @ found.T, np.linalg.inv(covariance), rtol=1e-7, atol=1e-9)


def test_deviations_are_from_weighted_means():
    rows = np.array([[0.0], [4.0], [7.0]])
    found = deviations(rows, np.array([0, 0, 2]), np.array([3.0, 1.0, 1.0]))
    assert found.ravel().tolist() == [-1.0, 3.0, 0.0]


def nuisance(seed: int):
    """Two classes told apart by the faintest of six features, which a rotation hides."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=240)
    X = rng.standard_normal((240, 6)) * [1.0, 20.0, 20.0, 20.0, 20.0, 20.0]
    X[:, 0] += 6.0 * y
    return X @ np.linalg.qr(rng.standard_normal((6, 6)))[0], y


@pytest.mark.parametrize("seed", range(3))
def test_must_links_show_which_directions_do_not_matter(seed):
    X, y = nuisance(seed)
    must_link, cannot_link = draw_pairs(y, np.arange(0, 240, 2), 60, seed).first(60)
    known = {"must_link": must_link, "cannot_link": cannot_link}
    test = np.arange(1, 240, 2)
    plain = HMRFKMeans(2, metric="sqeuclidean", random_state=seed).fit(X, **known)
    taught = HMRFKMeans(2, metric="mahalanobis", random_state=seed).fit(X, **known)
    assert normalized_mutual_information(y[test], plain.labels_[test]) < 0.3
    assert normalized_mutual_information(y[test], taught.labels_[test]) > 0.9
