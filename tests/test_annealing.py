"""Annealing: what moves as one, what it costs to share a cluster, and that labels only ever change as whole nodes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from strategies import random_states

from hmrf_fast.annealing import NATS_PER_CANNOT_LINK, Annealer, nodes_of
from hmrf_fast.constraints import Constraints
from hmrf_fast.geometry import build_problem
from hmrf_fast.inputs import as_corpus
from hmrf_fast.low_rank import unit_rows
from hmrf_fast.neighborhoods import resolve
from hmrf_fast.penalties import plan


def problem_of(X, constraints, n_clusters, weight=None):
    weight = np.ones(len(X)) if weight is None else weight
    graph = plan(resolve(constraints, len(X)))
    return build_problem(as_corpus(sp.csr_matrix(X)), "cosine", weight, graph, n_clusters)


@pytest.mark.parametrize("price", [1.0, np.inf])
def test_components_move_as_one_and_cannot_links_join_them(price):
    X = np.random.default_rng(0).random((7, 4)) + 0.1
    known = Constraints([(0, 2), (2, 4)], [(4, 5)], must_link_weight=[price, price], cannot_link_weight=[price])
    nodes = nodes_of(problem_of(X, known, 2))
    assert nodes.of_row[0] == nodes.of_row[2] == nodes.of_row[4]
    assert np.unique(nodes.of_row).size == 5
    expected = np.zeros((5, 5))
    pair = nodes.of_row[[4, 5]]
    expected[pair, pair[::-1]] = NATS_PER_CANNOT_LINK
    np.testing.assert_array_equal(nodes.apart.toarray(), expected)


@given(rng=random_states(), n_clusters=st.integers(1, 4))
def test_components_keep_together_and_no_cluster_is_lost(rng, n_clusters):
    X = rng.random((20, 6)) + 0.01
    pairs = [(0, 1), (1, 2), (5, 6)]
    weight = rng.integers(0, 3, 20).astype(np.float64) + (np.arange(20) < 3)
    problem = problem_of(X, Constraints(pairs, [(0, 5)]), n_clusters, weight)
    labels = rng.integers(0, n_clusters, 20).astype(np.int32)
    labels[[1, 2, 6]] = labels[[0, 0, 5]]
    found = Annealer(problem, unit_rows(problem)).anneal(labels)
    assert found[0] == found[1] == found[2] and found[5] == found[6]
    assert np.unique(found).size >= np.unique(labels).size


def test_misplaced_rows_of_clear_clusters_come_home():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(3), 20).astype(np.int32)
    X = 0.1 * rng.random((60, 9)) + np.repeat(np.eye(3), 3, axis=1)[truth]
    start = truth.copy()
    start[::6] = (start[::6] + 1) % 3
    problem = problem_of(X, Constraints(), 3)
    np.testing.assert_array_equal(Annealer(problem, unit_rows(problem)).anneal(start), truth)
