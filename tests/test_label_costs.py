"""What labels cost a node, and what a block move leaves to be looked at, on links made by hand."""

from __future__ import annotations

import numpy as np
from engine_helpers import examples
from hypothesis import given
from hypothesis import strategies as st
from strategies import random_states

from hmrf_fast.kernels.icm import ALONE, UNIT, UNLABELLED, block_moves, label_costs
from hmrf_fast.kernels.types import Links


def links_of(n, soft, hard):
    """Links of pairs {(i, j): price} and of hard cannot-links [(i, j)], each from both ends."""
    arrays = []
    for pairs in (soft, hard):
        ends = sorted([(i, j, (i, j)) for i, j in pairs] + [(j, i, (i, j)) for i, j in pairs])
        ptr = np.searchsorted([i for i, *_ in ends], np.arange(n + 1))
        arrays.append((ptr.astype(np.int64), np.array([j for _, j, _ in ends], np.int64), [pair for *_, pair in ends]))
    (edge_ptr, edge_node, edges), (hard_ptr, hard_node, _) = arrays
    return Links(edge_ptr, edge_node, np.array([soft[pair] for pair in edges], float), hard_ptr, hard_node)


@examples(60)
@given(rng=random_states(), n=st.integers(2, 7), K=st.integers(1, 4), mark=st.integers(-1, 2))
def test_costs_are_distances_and_prices_of_all_partners_that_count(rng, n, K, mark):
    pairs = [(i, j) for j in range(n) for i in range(j)]
    soft = {pair: rng.normal() for pair in pairs if rng.random() < 0.6}
    hard = [pair for pair in pairs if rng.random() < 0.2]
    block, labels = rng.normal(size=(n, K)), rng.integers(UNLABELLED, K, n).astype(np.int32)
    stamp, links = rng.integers(-1, 3, n), links_of(n, soft, hard)
    for node in range(n):
        costs = np.full(K, 9.0)
        label_costs(np.int64(node), block, links, labels, stamp, mark, costs)
        counts = {k for k in range(n) if labels[k] != UNLABELLED and not (mark >= 0 and stamp[k] == mark)}
        expected = block[node].copy()
        for (i, j), price in soft.items():
            if node in (i, j) and (other := i + j - node) in counts:
                expected[labels[other]] += price
        for i, j in hard:
            if node in (i, j) and (other := i + j - node) in counts:
                expected[labels[other]] = np.inf
        np.testing.assert_allclose(costs, expected)


def test_a_component_that_moved_rests_and_its_partners_do_not():
    """Nodes 0 and 1 are tied and nearer to cluster 1, node 2 is a partner of node 1; the first component has number 0,
    which leaves its own nodes out of what they pay to others."""
    links = links_of(3, {(0, 1): -50.0, (1, 2): 0.25}, [])
    block = np.array([[9.0, 1.0], [9.0, 1.0], [0.0, 5.0]])
    labels, stirred = np.zeros(3, np.int32), np.array([ALONE | UNIT, ALONE | UNIT, 0], np.uint8)
    unit_ptr, unit_nodes = np.array([0, 2, 3]), np.array([0, 1, 2])
    moves = block_moves(block, links, unit_ptr, unit_nodes, labels, np.ones(3, np.uint8), stirred, np.uint64(0))
    assert moves == 1 and labels.tolist() == [1, 1, 0]
    assert stirred[:2].tolist() == [ALONE, ALONE]  # single rows may want to leave it
    assert stirred[2] & ALONE
