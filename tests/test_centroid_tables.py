"""What is written of centroids: their columns of the table, their logarithms, and first ones made admissible."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrf_fast.kernels.centroids import center_logs, fill_columns, guarded_products
from hmrf_fast.kernels.metrics import METRICS
from hmrf_fast.kernels.types import Sums

SEEDS = st.integers(0, 2**32 - 1)


def columns(table: np.ndarray, count: int) -> np.ndarray:
    """(d, count) of a table in tiles: the column of each cluster."""
    return table.transpose(1, 0, 2).reshape(table.shape[1], -1)[:, :count]


@given(seed=SEEDS, K=st.integers(1, 21), width=st.sampled_from((4, 6, 8)), share=st.sampled_from((0.3, 0.8, 1.0)))
def test_columns_of_the_table_are_the_plain_products(seed, K, width, share):
    rng, d = np.random.default_rng(seed), 7
    clusters = np.flatnonzero(rng.random(K) < share)
    content, inverse = rng.normal(size=(K, d)), rng.uniform(0.5, 2.0, K)
    weights = rng.uniform(0.5, 2.0, d)
    weights[2], content[:, 2] = 0.0, -np.inf  # no weight: counts nothing, whatever its value
    table = rng.normal(size=(-(-K // width), d, width))
    expected, inside = columns(table, K).copy(), slice(1, d - 1)
    fill_columns(content, inverse, weights, clusters, inside.start, inside.stop, table)
    finite = np.where(weights > 0, content, 0.0)
    expected[inside, clusters] = (weights * (finite * inverse[:, None])).T[inside, clusters]
    np.testing.assert_array_equal(columns(table, K), expected)


@given(seed=SEEDS)
def test_logarithms_count_nothing_where_there_is_no_weight(seed):
    rng, K, d = np.random.default_rng(seed), 4, 6
    centers, weights = rng.choice([0.0, 0.25, 1.0, 3.0], (K, d)), rng.uniform(0.5, 2.0, d)
    weights[1], centers[:, 1], centers[0] = 0.0, 0.0, rng.uniform(0.1, 1.0, d)
    centers[0, 1] = 0.0
    clusters, content, total = np.array([0, 2, 3]), np.full((K, d), 7.0), np.empty(3)
    center_logs(centers, weights, clusters, content, total)
    with np.errstate(divide="ignore"):
        logs = np.log(centers)
    np.testing.assert_array_equal(content[clusters], logs[clusters])
    assert (content[1] == 7.0).all()
    weighed = weights > 0
    np.testing.assert_allclose(total, (weights[weighed] * logs[clusters][:, weighed]).sum(axis=1))
    assert np.isfinite(total[0])


@given(seed=SEEDS, scaled=st.booleans())
def test_products_with_infinite_logarithms(seed, scaled):
    """A feature without mass or without weight adds nothing."""
    rng, K, d = np.random.default_rng(seed), 3, 6
    linear, weights, content = rng.uniform(1.0, 2.0, (K, d)), rng.uniform(0.5, 2.0, d), rng.normal(size=(K, d))
    linear[:, 0], content[:, 0] = 0.0, -np.inf
    weights[1], content[:, 1] = 0.0, -np.inf
    inverse = rng.uniform(0.5, 2.0, d) if scaled else np.zeros(0)
    product = np.empty(2)
    guarded_products(linear, inverse, content, weights, np.array([0, 2]), product)
    plain = linear[:, 2:] * (inverse[2:] if scaled else 1.0) * weights[2:] * content[:, 2:]
    np.testing.assert_allclose(product, plain.sum(axis=1)[[0, 2]])


@pytest.mark.parametrize("size", [1e-60, 1.0, 1e60])
def test_sums_of_any_size_keep_their_digits(size):
    linear = size * np.array([[3.0, 1.0, -2.0], [0.5, 0.0, 7.0]])
    mass = np.array([4.0, 2.0])
    centers = METRICS["sqeuclidean"].centers(Sums(linear, np.zeros(2), mass), np.ones(3), 0.0)
    np.testing.assert_allclose(centers, linear / mass[:, None], rtol=1e-15)


@given(seed=SEEDS, alpha=st.sampled_from((0.0, 0.25, 1.0, 10.0)))
def test_first_centroids_of_the_divergence_are_mixed_with_the_even_distribution(seed, alpha):
    rng, d = np.random.default_rng(seed), 5
    counts = rng.poisson(1.5, (3, d)) - 1.0  # negative values count as none
    counts[:, 0] += 2.0
    found = METRICS["i_divergence"].admissible(counts.copy(), alpha)
    raw = np.maximum(counts, 0.0)
    shares = raw / raw.sum(axis=1, keepdims=True)
    even = np.full(d, 1.0 / d)
    np.testing.assert_allclose(found, shares * (1 / (1 + alpha)) + even * (alpha / (1 + alpha)))
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
