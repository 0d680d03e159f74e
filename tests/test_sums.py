"""Centroid sums and centroids: right, the same bits on every path, and free of drift."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from engine_helpers import Instance, assert_near, busy_threads, examples, instances, problem_of, state_of
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from strategies import label_vectors, random_states

from hmrf_fast import geometry, m_step
from hmrf_fast.kernels.sums import WIDEST_RANGE, fixed_point_fits, fixed_point_scale, move_rows

DTYPES = (np.float64, np.float32)
alphas = st.sampled_from([0.0, 0.01, 1.0])


def wide_weights(case, rng):
    """Sample weights that span more than fixed point covers."""
    weight = 10.0 ** rng.uniform(-6, 3, case.sample_weight.size)
    weight[:2] = 1e-4, 1e3
    return case._replace(sample_weight=weight)


@st.composite
def wide_instances(draw):
    return wide_weights(draw(instances(d=(3, 10), K=(2, 4), zero_rows=False)), draw(random_states()))


# ---------------------------------------------------------------------------------------------------------------------
# Against the formulas


@pytest.mark.parametrize("dtype", DTYPES)
@examples(60)
@given(case=instances(zeros=True), alpha=alphas)
def test_centroids_equal_the_formulas(dtype, case, alpha):
    """All of the arithmetic is in double precision, whatever the storage of the rows."""
    case = case._replace(X=case.X.astype(dtype).astype(np.float64))
    alpha = alpha if case.metric == "i_divergence" else 0.0
    state = state_of(case, alpha, dtype=dtype)
    held = np.bincount(case.labels, case.sample_weight, case.K) > 0
    expected = oracle.centroids(case.rows, case.labels, case.K, case.a, case.metric, case.sample_weight, alpha)
    assert_near(state.centers[held], expected[held])
    assert np.isfinite(state.centers).all()


@examples(40)
@given(wide_instances())
def test_centroids_without_fixed_point(case):
    """Sample weights too far apart for one scale are summed in float64 and still give the right centroids."""
    state = state_of(case)
    assert not fixed_point_fits(state.geometry.factor)
    assert m_step.sum_rows(state.problem, state.geometry, case.labels).table.dtype == np.float64
    expected = oracle.centroids(case.rows, case.labels, case.K, case.a, case.metric, case.sample_weight)
    assert_near(state.centers, expected, 1e-9)


def test_fixed_point_is_for_factors_within_its_range():
    assert fixed_point_fits(np.array([0.0, 1.0, WIDEST_RANGE]))
    assert not fixed_point_fits(np.array([0.0, 1.0, WIDEST_RANGE * 1.01]))
    assert fixed_point_fits(np.zeros(3))


@examples(40)
@given(random_states(), st.integers(1, 10**9))
def test_no_sum_can_overflow(rng, n_rows):
    peaks = 10.0 ** rng.uniform(-200, 200, 20)
    peaks[0] = 0.0
    scale = fixed_point_scale(peaks, n_rows)
    assert (np.log2(scale) == np.round(np.log2(scale))).all()
    total = np.log2(peaks[1:]) + np.log2(n_rows) + np.log2(scale[1:])
    assert (total <= 62).all()
    assert (total > 60).all()  # and no more bits are given away than need be


def test_sums_close_to_the_limit_do_not_wrap():
    """Equal rows of one sign fill the headroom as far as rows can."""
    n = 4097
    labels, ones = np.zeros(n, np.int32), np.full(n, 3.0)
    case = Instance(sparse.csr_matrix(np.ones((n, 1))), "sqeuclidean", 1, labels, np.ones(1), ones, [])
    sums = state_of(case).sums
    assert sums.linear[0, 0] * sums.inverse[0] == 3.0 * n
    assert sums.mass[0] == 3.0 * n


# ---------------------------------------------------------------------------------------------------------------------
# The same bits


@examples(40)
@given(instances(n=(3, 30), K=(1, 4)))
def test_moving_rows_out_leaves_exactly_nothing(case):
    """Rows that leave for a cluster of their own, in another order than they came."""
    state = state_of(case)
    sums = m_step.sum_rows(state.problem, state.geometry, case.labels)
    n, d = case.X.shape
    table = np.concatenate([sums.table, np.zeros((1, d), np.int64)])
    rows, away = np.arange(n)[::-1], np.full(n, case.K, np.int32)
    move_rows(state.problem.corpus, state.geometry.factor, sums.scale, rows, case.labels, away, 0, d, table)
    assert not table[:-1].any()
    assert np.array_equal(table[-1], sums.table.sum(axis=0))


@pytest.mark.parametrize("share", [0.0, 0.3, 2.0])
@examples(40)
@given(case=instances(n=(3, 30), K=(2, 4)), data=st.data())
def test_updated_sums_equal_fresh_ones_bit_for_bit(share, case, data):
    """Whether rows are moved or everything is summed anew (a share of 0 or 2 forces one of the two)."""
    state = state_of(case)
    sums = m_step.sum_rows(state.problem, state.geometry, case.labels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(m_step, "REBUILD_SHARE", share)
        for _ in range(3):
            labels = data.draw(label_vectors(case.labels.size, case.K)).astype(np.int32)
            changed = sums.labels != labels
            expected_touch = np.isin(np.arange(case.K), [sums.labels[changed], labels[changed]])
            sums, touched = m_step.update_sums(state.problem, state.geometry, sums, labels)
            assert np.array_equal(touched, expected_touch)
            fresh = m_step.sum_rows(state.problem, state.geometry, labels)
            for got, expected in zip(sums, fresh, strict=True):
                assert np.array_equal(got, expected)


@examples(25)
@given(st.one_of(instances(n=(3, 30)), wide_instances()))
def test_sums_do_not_depend_on_threads_or_chunks(case):
    """The float64 sums of wide weights included: threads share features, never the rows of one feature."""
    found = []
    for n_threads, entries in ((1, 1 << 16), (1, 9), (2, 9), (4, 5), (8, 3)):
        with busy_threads(entries):
            problem = problem_of(case, n_threads=n_threads)
            measured = geometry.measure(problem, case.a)
            found.append(m_step.sum_rows(problem, measured, case.labels))
    for sums in found[1:]:
        assert sums.table.dtype == found[0].table.dtype
        for got, expected in zip(sums, found[0], strict=True):
            assert np.array_equal(got, expected)


@examples(25)
@given(instances(n=(3, 30)), st.data())
def test_row_order_does_not_change_the_sums(case, data):
    order = data.draw(random_states()).permutation(case.labels.size)
    turned = case._replace(
        X=case.X[order], labels=case.labels[order], sample_weight=case.sample_weight[order], pairs=[]
    )
    tables = []
    for one in (case._replace(pairs=[]), turned):
        state = state_of(one)
        tables.append(m_step.sum_rows(state.problem, state.geometry, one.labels).table)
    assert np.array_equal(*tables)
