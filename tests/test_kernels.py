"""Rows, distances and pair penalties of the kernels against the oracle's formulas; row products and random numbers."""

from __future__ import annotations

import threading

import numpy as np
import oracle
import pytest
from engine_helpers import Instance, assert_near, busy_threads, examples, instances, own_costs, problem_of, state_of
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from strategies import csr_matrices, feature_weights, random_states

from hmrf_fast.e_step import build_table, distances_of, nearest_centroids
from hmrf_fast.geometry import measure
from hmrf_fast.kernels.distances import TILE_BYTES, table_shape
from hmrf_fast.kernels.rng import below, mix, shuffle
from hmrf_fast.kernels.rows import padded_width, row_dots

DTYPES = (np.float64, np.float32)
CLUSTERS = (1, 2, 4, 5, 20, 70, 130)  # quarter vectors, whole ones, remainders, and tiles above 64 or 128


@st.composite
def centroid_cases(draw):
    """Rows (as the data type holds them), feature weights and K centroids that belong to no labelling."""
    metric, K = draw(st.sampled_from(oracle.METRICS)), draw(st.sampled_from(CLUSTERS))
    dtype = draw(st.sampled_from(DTYPES))
    X = draw(csr_matrices(n=(2, 6), d=(2, 12), signed=False if metric == "i_divergence" else None))
    X = X.astype(dtype).astype(np.float64)
    rng = draw(random_states())
    centers = rng.uniform(0.1, 2.0, (K, X.shape[1]))
    if metric == "i_divergence":
        centers /= centers.sum(axis=1, keepdims=True)
        if draw(st.booleans()):  # centroids that lack features: infinitely far from rows that have them
            centers[rng.random(centers.shape) < 0.1] = 0.0
    else:
        centers *= rng.choice([-1.0, 1.0], centers.shape)
    if metric == "pearson":
        centers -= centers.mean(axis=1, keepdims=True)
    n = X.shape[0]
    case = Instance(X, metric, K, np.zeros(n, np.int32), draw(feature_weights(X.shape[1])), np.ones(n), [])
    return case, dtype, centers


# ---------------------------------------------------------------------------------------------------------------------
# Rows


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@examples(40)
@given(case=instances())
def test_unit_is_the_preparation_of_rows(scale, case):
    """Also for rows whose squares overflow or vanish."""
    if case.metric == "sqeuclidean":
        scale = 1.0
    problem = problem_of(case._replace(X=case.X * scale, pairs=[]))
    rows = case.X.toarray() * scale
    if case.metric == "pearson":
        rows = rows - problem.mean[:, None]
        expected = case.rows
        length = np.linalg.norm(expected, axis=1, keepdims=True)
        expected = np.divide(expected, length, out=np.zeros_like(expected), where=length > 0)
    else:
        expected = case.rows
    np.testing.assert_allclose(rows * problem.unit[:, None], expected, rtol=1e-9, atol=1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# Distances


@examples(80)
@given(centroid_cases())
def test_distances_equal_the_formulas(drawn):
    case, dtype, centers = drawn
    tolerance = 1e-10 if dtype == np.float64 else 1e-5
    expected = oracle.distances(case.rows, centers, case.a, case.metric)
    problem = problem_of(case, dtype=dtype)
    geometry = measure(problem, case.a)
    clusters = problem.metric.cluster_terms(centers, case.a, 0.0)
    table = build_table(problem, clusters)
    n = case.X.shape[0]
    some = np.arange(n)[::-1]
    assert_near(distances_of(problem, geometry, clusters, table, problem.rows.take(some)), expected[::-1], tolerance)
    labels, nearest = nearest_centroids(problem, geometry, clusters, table)
    assert labels.dtype == np.int32
    assert_near(nearest, expected.min(axis=1), tolerance)
    assert_near(expected[np.arange(n), labels], expected.min(axis=1), 2 * tolerance)
    # The parts are in double precision whatever the storage: no table of lower precision stands between.
    for label in (0, case.K - 1):
        own = own_costs(problem, geometry, clusters, np.full(n, label, np.int32))
        assert_near(own, expected[:, label])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("K", CLUSTERS)
def test_ties_go_to_the_lowest_label(K, dtype):
    case = Instance(sparse.csr_matrix(np.eye(3)), "cosine", K, np.zeros(3, np.int32), np.ones(3), np.ones(3), [])
    problem = problem_of(case, dtype=dtype)
    clusters = problem.metric.cluster_terms(np.ones((K, 3)), case.a, 0.0)
    labels, _ = nearest_centroids(problem, measure(problem, case.a), clusters, build_table(problem, clusters))
    assert (labels == 0).all()


@examples(40)
@given(centroid_cases(), st.integers(3, 40))
def test_distances_do_not_depend_on_threads_or_chunks(drawn, chunk):
    case, dtype, centers = drawn
    found = []
    for n_threads, entries in ((1, 1 << 16), (1, chunk), (2, chunk), (4, 5)):
        with busy_threads(entries):
            problem = problem_of(case, dtype=dtype, n_threads=n_threads)
            geometry = measure(problem, case.a)
            clusters = problem.metric.cluster_terms(centers, case.a, 0.0)
            found.append(nearest_centroids(problem, geometry, clusters, build_table(problem, clusters)))
    for labels, nearest in found[1:]:
        assert np.array_equal(labels, found[0][0])
        assert np.array_equal(nearest, found[0][1])


def test_chunks_do_run_on_threads():
    """Else the tests that compare numbers of threads would compare nothing."""
    everybody, names = threading.Barrier(3), set()

    def wait_for_others(first, last):
        if threading.current_thread().name not in names:
            names.add(threading.current_thread().name)
            everybody.wait(30)

    with busy_threads(7):
        case = Instance(
            sparse.csr_matrix(np.ones((40, 5))), "cosine", 2, np.zeros(40, np.int32), np.ones(5), np.ones(40), []
        )
        problem = problem_of(case, n_threads=3)
        assert problem.row_bounds.size > 5
        for block in problem.rows.spans():
            block.on(3).over_rows(wait_for_others)
    assert threading.current_thread().name in names
    assert sum(name.startswith("hmrf_fast") for name in names) == 2


# ---------------------------------------------------------------------------------------------------------------------
# Pairs


@pytest.mark.parametrize("dtype", DTYPES)
@examples(60)
@given(case=instances(max_pairs=20))
def test_phi_and_its_bound_equal_the_formulas(dtype, case):
    case = case._replace(X=case.X.astype(dtype).astype(np.float64))
    state = state_of(case, dtype=dtype)
    graph, rows = state.problem.graph, case.rows
    ends = list(zip(graph.rows[graph.pair_first], graph.rows[graph.pair_second], strict=True))
    phi = np.array([oracle.phi(rows[i], rows[j], case.a, case.metric) for i, j in ends])
    assert_near(state.geometry.phi, phi)
    if len(ends):
        assert_near(state.geometry.phi_max, oracle.phi_max(rows, case.a, case.metric))
    priced = {(i, j, kind): cost for i, j, kind, cost in oracle.price_pairs(rows, case.a, case.metric, case.pairs)}
    kinds = np.where(graph.pair_kind > 0, oracle.MUST_LINK, oracle.CANNOT_LINK)
    expected = [priced[int(i), int(j), str(kind)] for (i, j), kind in zip(ends, kinds, strict=True)]
    assert_near(state.geometry.pair_cost, expected)
    assert (state.geometry.pair_cost >= -1e-12).all()


@examples(20)
@given(case=instances(max_pairs=20))
def test_potts_prices_are_the_weights(case):
    state = state_of(case, potts=True)
    assert np.array_equal(state.geometry.pair_cost, state.problem.graph.pair_weight)


# ---------------------------------------------------------------------------------------------------------------------
# The innermost product


@pytest.mark.parametrize("table_type", DTYPES)
@pytest.mark.parametrize("value_type", DTYPES)
def test_row_dots_is_the_plain_product(value_type, table_type):
    rng = np.random.default_rng(0)
    widths = sorted({padded_width(k, table_type) for k in range(1, 131)})
    assert (widths[0], widths[-1]) == (4, 136 if table_type == np.float32 else 132)
    for width in widths:
        for entries in (0, 1, 2, 3, 8, 17, 75):
            indices = np.sort(rng.choice(80, entries + 2, replace=False)).astype(np.int32)
            values = rng.uniform(-3, 3, entries + 2).astype(value_type)
            table = rng.uniform(-2, 2, (80, width)).astype(table_type)
            guarded = np.full(width + 16, 7.0, table_type)
            row_dots(indices, values, 1, entries + 1, table, guarded[:width])
            part = slice(1, entries + 1)
            expected = values[part].astype(table_type).astype(np.float64) @ table[indices[part]].astype(np.float64)
            tolerance = 1e-13 if table_type == np.float64 else 1e-5
            np.testing.assert_allclose(guarded[:width], expected, rtol=tolerance, atol=tolerance * 20)
            assert (guarded[width:] == 7.0).all()  # nothing is written beyond the width


@given(st.integers(1, 20_000), st.sampled_from(DTYPES))
def test_every_tile_of_a_table_has_clusters(K, dtype):
    tiles, _, width = table_shape(K, 1, dtype)
    assert (tiles - 1) * width < K <= tiles * width
    assert width == padded_width(width, dtype)
    assert tiles == 1 or width * np.dtype(dtype).itemsize <= TILE_BYTES


# ---------------------------------------------------------------------------------------------------------------------
# Random numbers


@examples(40)
@given(st.integers(0, 200), st.integers(0, 2**64 - 1))
def test_shuffle_is_a_permutation(size, seed):
    order = np.arange(size)
    shuffle(order, np.uint64(seed))
    assert np.array_equal(np.sort(order), np.arange(size))
    again = np.arange(size)
    shuffle(again, np.uint64(seed))
    assert np.array_equal(order, again)


def test_shuffles_of_different_seeds_cover_every_order_evenly():
    counts = {}
    for seed in range(6000):
        order = np.arange(3)
        shuffle(order, np.uint64(seed))
        counts[tuple(order)] = counts.get(tuple(order), 0) + 1
    assert len(counts) == 6
    assert max(abs(count - 1000) for count in counts.values()) < 130  # 4.5 standard deviations


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 10, 1000, 2**31 - 1])
def test_below_is_in_range_and_even(bound):
    seed = np.uint64(12345)
    drawn = np.array([below(seed, np.uint64(counter), bound) for counter in range(5000)])
    assert drawn.min() >= 0
    assert drawn.max() < bound
    bins = min(bound, 10)
    counts = np.histogram(drawn, bins=bins, range=(0, bound))[0]
    edges = np.array([-(-bound * b // bins) for b in range(bins + 1)])  # the first whole number of each bin
    expected = np.diff(edges) / bound * 5000
    assert np.sum((counts - expected) ** 2 / expected) < 35  # 9 degrees of freedom: once in 16 000 seeds


def test_draws_depend_on_seed_and_counter_alone():
    words = {int(mix(np.uint64(seed), np.uint64(counter))) for seed in range(60) for counter in range(60)}
    assert len(words) > 3500  # neighbouring streams may share a word where the counters' steps meet, not more
