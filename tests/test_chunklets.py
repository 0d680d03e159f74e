"""The matrix that must-links teach, against its formula, and what it is worth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrf_fast import HMRFKMeans
from hmrf_fast.chunklets import (
    FOLDS,
    PRIOR_COUNT,
    PRIOR_VARIANCE,
    deviations,
    held_out_gain,
    scale_free_keys,
    whitening,
)
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


def brute_gain(rows, component, weight, taught, order):
    """As ``held_out_gain``, pair by pair."""
    position = {row: place for place, row in enumerate(order)}
    first = {c: min(position[i] for i in np.flatnonzero(component == c)) for c in set(component)}
    chosen = sorted(np.flatnonzero(taught), key=lambda i: (first[component[i]], position[i]))
    partner = [order[(position[i] + len(order) // 2) % len(order)] for i in range(len(order))]
    gains = []
    for fold in range(FOLDS):
        learned = [i for place, i in enumerate(chosen) if place % FOLDS != fold]
        white = rows @ whitening(rows[learned], component[learned], weight[learned])
        for tried in chosen[fold::FOLDS]:
            others = [i for i in learned if component[i] == component[tried]]
            if others:
                nearer = []
                for each in (white, rows):
                    own = np.mean([np.sum((each[tried] - each[i]) ** 2) for i in others])
                    nearer.append(np.mean([np.sum((each[i] - each[partner[i]]) ** 2) >= own for i in range(len(rows))]))
                gains.append(nearer[0] - nearer[1])
    return np.mean(gains), len(gains)


@pytest.mark.parametrize("seed", range(5))
def test_gain_equals_its_definition_whatever_the_numbers_of_rows(seed):
    rng = np.random.default_rng(seed)
    rows, weight = rng.standard_normal((40, 3)), rng.uniform(0.5, 2.0, 40)
    component, order = rng.integers(5, size=40), rng.permutation(40)
    taught = (np.bincount(component)[component] > 1) & (rng.random(40) < 0.9)
    gain, count = held_out_gain(rows, component, weight, taught, order)
    expected, tried = brute_gain(rows, component, weight, taught, order)
    assert count == tried
    assert gain == pytest.approx(expected, abs=1e-9)
    new = rng.permutation(40)  # row new[i] becomes row i
    moved = held_out_gain(rows[new], component[new], weight[new], taught[new], np.argsort(new)[order])
    assert moved == (pytest.approx(gain, abs=1e-9), count)


def test_keys_follow_from_the_rows_alone():
    rng = np.random.default_rng(0)
    rows, new = rng.standard_normal((30, 3))[rng.integers(20, size=30)], rng.permutation(30)
    keys = scale_free_keys(rows)
    assert np.array_equal(scale_free_keys(rows[new]), keys[new])
    assert np.array_equal(np.unique(scale_free_keys(np.repeat(rows, 2, axis=0))), np.unique(keys))
    assert np.array_equal(keys[:, None] == keys, np.all(rows[:, None] == rows, axis=2))


def test_few_must_links_teach_nothing():
    taught = np.array([True, True, False, False, False])
    rows = np.arange(5.0)[:, None]
    assert held_out_gain(rows, np.array([0, 0, 1, 2, 3]), np.ones(5), taught, np.arange(5)) == (0.0, 0)


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
