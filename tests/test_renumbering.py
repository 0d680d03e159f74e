"""Renumbered features change nothing but the last bits, and nobody sees the new numbers."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
from engine_helpers import Instance, assert_near, examples, instances, problem_of
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from hmrf_fast import em, renumbering
from hmrf_fast.renumbering import renumbered
from hmrf_fast.weight_step import choose_prior


@contextmanager
def limits(fewest, smallest=0, densest=2.0):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(renumbering, "FEWEST_CLUSTERS", fewest)
        patch.setattr(renumbering, "SMALLEST_TABLE", smallest)
        patch.setattr(renumbering, "DENSEST", densest)
        yield


@examples(40)
@given(instances(n=(3, 20), d=(2, 12)))
def test_features_come_by_falling_frequency(case):
    problem = problem_of(case)
    with limits(1):
        inner, order = renumbered(problem)
        assert renumbered(problem)[0] is inner  # once per problem
    corpus = inner.corpus
    matrix = sparse.csr_matrix((corpus.values, corpus.indices, corpus.indptr), case.X.shape)
    assert matrix.has_sorted_indices
    assert (np.diff(np.bincount(corpus.indices, minlength=order.size)) <= 0).all()
    assert np.array_equal(matrix.toarray(), case.X.toarray()[:, order])


@pytest.mark.parametrize(("fewest", "smallest", "densest"), [(5, 0, 2.0), (1, 41, 2.0), (1, 0, 0.5)])
def test_where_it_does_not_pay(fewest, smallest, densest):
    """Few clusters, a small table, dense rows: each alone is reason enough."""
    X = sparse.csr_matrix(np.ones((6, 10)))
    problem = problem_of(Instance(X, "cosine", 4, np.zeros(6, np.int32), np.ones(10), np.ones(6), []))
    with limits(1, 40):
        assert renumbered(problem) is not None
    with limits(fewest, smallest, densest):
        assert renumbered(problem) is None


@examples(40)
@given(case=instances(n=(6, 30), d=(3, 12), K=(2, 4)), learn=st.booleans())
def test_runs_agree_with_and_without(case, learn):
    problem = problem_of(case)
    smoothing = (1.0, 1e-3) if case.metric == "i_divergence" else (0.0, 0.0)
    options = em.Options(4, 0.0, "block_icm", learn, choose_prior(problem, None), 0.1, smoothing)
    start = em.Start(np.abs(case.X.toarray()[: case.K]) + 0.1, case.labels, np.linspace(0.5, 1.5, case.X.shape[1]))
    plain = em.run(problem, start, options, 0)
    with limits(1):
        other = em.run(problem, start, options, 0)
    if np.array_equal(plain.labels, other.labels):  # else a tie was decided by rounding
        assert_near(other.centers, plain.centers, 1e-6)
        assert_near(other.weights, plain.weights, 1e-6)
    assert_near(other.history[0], plain.history[0], 1e-9)
