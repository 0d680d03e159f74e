"""Exchanges of labels along hard cannot-links: never infeasible, never dearer, and optimal where chains decide."""

from __future__ import annotations

from itertools import combinations, pairwise, product

import numpy as np
from engine_helpers import examples, graph_of
from hypothesis import given
from hypothesis import strategies as st
from oracle import CANNOT_LINK, MUST_LINK
from strategies import random_states

from hmrf_fast.kernels.exchange import exchanges
from hmrf_fast.kernels.types import Links


def links_of(graph):
    """The links of a graph, and the same without hard ones."""
    price = (-graph.pair_kind * graph.pair_weight)[graph.edge_pair]
    links = Links(graph.edge_ptr, graph.edge_node, price, graph.hard_ptr, graph.hard_node)
    return links, links._replace(hard_ptr=np.zeros_like(graph.hard_ptr), hard_node=graph.hard_node[:0])


def plain_cost(labels, block, pairs, position):
    """Distances plus prices of violated soft pairs; infinite where a hard cannot-link is violated."""
    total = block[np.arange(labels.size), labels].sum()
    for i, j, kind, weight in pairs:
        if (labels[position[i]] == labels[position[j]]) != (kind == MUST_LINK):
            total += weight
    return total


@examples(80)
@given(st.integers(3, 14), st.integers(2, 4), st.floats(0.1, 0.6), random_states())
def test_exchanges_lower_the_cost_and_keep_hard_links(n, K, share, rng):
    planted, pairs = rng.integers(K, size=n), []
    for i, j in combinations(range(n), 2):
        if rng.random() < share and planted[i] != planted[j]:
            pairs.append((i, j, CANNOT_LINK, np.inf))
        elif rng.random() < 0.2:
            pairs.append((i, j, MUST_LINK if rng.random() < 0.5 else CANNOT_LINK, float(rng.uniform(0.1, 2.0))))
    graph = graph_of(n, pairs)
    if graph.rows.size == 0:
        return
    position = {int(row): int(graph.node_of_row[k]) for k, row in enumerate(graph.rows)}
    links, soft = links_of(graph)
    block = rng.random((graph.node_ptr.size - 1, K))
    labels = np.empty(graph.node_ptr.size - 1, np.int32)
    labels[graph.node_of_row] = planted[graph.rows]
    movable = np.ones(labels.size, np.uint8)
    before = plain_cost(labels, block, pairs, position)
    while exchanges(block, links, soft, labels, movable, np.uint64(rng.integers(2**32)), 200):
        after = plain_cost(labels, block, pairs, position)
        assert after < before  # and finite: no hard link is violated
        before = after


@examples(60)
@given(st.integers(2, 12), random_states())
def test_a_path_with_two_labels_ends_at_its_optimum(n, rng):
    """Along a path two labels alternate, so there are two labellings, and one chain leads from one to the other."""
    pairs = [(k, k + 1, CANNOT_LINK, np.inf) for k in range(n - 1)]
    graph = graph_of(n, pairs)
    links, soft = links_of(graph)
    block, labels = rng.random((n, 2)), (np.arange(n) % 2).astype(np.int32)
    movable = np.ones(n, np.uint8)
    exchanges(block, links, soft, labels, movable, np.uint64(0), 200)
    best = min(block[np.arange(n), np.array(one)].sum() for one in product(range(2), repeat=n) if alternates(one))
    assert np.isclose(block[np.arange(n), labels].sum(), best) and alternates(labels)
    still = labels.copy()
    assert exchanges(block, links, soft, labels, movable, np.uint64(1), 200) == 0
    labels[:] = 1 - still
    for shut in (n - 1, 200) if n > 2 else ():  # a chain that is too long, or holds a node that must not move, stays
        movable[0] = shut != 200
        assert exchanges(block, links, soft, labels, movable, np.uint64(1), shut) == 0


def alternates(labels):
    """Whether neighbours differ."""
    return all(a != b for a, b in pairwise(labels))
