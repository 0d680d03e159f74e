"""A first labelling under hard cannot-links: each step against plain rules, and the exact search against all labels."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
from engine_helpers import examples, graph_of
from hypothesis import given
from hypothesis import strategies as st
from oracle import CANNOT_LINK
from strategies import random_states

from hmrf_fast.kernels.placement import place_by_saturation, place_exactly, repair


def random_graph(rng, n, density):
    """A graph of hard cannot-links with at least one, and the sets of each node's partners."""
    edges = [(i, j) for j in range(n) for i in range(j) if rng.random() < density] or [(0, 1)]
    graph = graph_of(n, [(i, j, CANNOT_LINK, np.inf) for i, j in edges])
    ptr = graph.hard_ptr
    return graph, [graph.hard_node[ptr[k] : ptr[k + 1]].tolist() for k in range(ptr.size - 1)]


def costs_of(rng, n, K):
    """Costs among which some are equal."""
    return rng.integers(0, 4, (n, K)).astype(float)


def held(partners, labels, K):
    """How many partners have each label."""
    return [sum(labels[other] == h for other in partners) for h in range(K)]


def in_conflict(partners, labels):
    return [k for k, others in enumerate(partners) if any(labels[other] == labels[k] for other in others)]


def by_saturation(partners, costs, labels):
    """The rule of Brelaz by looking at all nodes every time."""
    labels, stuck, K = labels.copy(), 0, costs.shape[1]
    while True:
        waiting = [k for k, others in enumerate(partners) if others and labels[k] < 0]
        if not waiting:
            return labels, stuck
        taken = {k: held(partners[k], labels, K) for k in waiting}
        node = min(waiting, key=lambda k: (-np.count_nonzero(taken[k]), -len(partners[k]), k))
        labels[node] = min(range(K), key=lambda h: (taken[node][h], costs[node, h], h))
        stuck += taken[node][labels[node]] > 0


@examples(60)
@given(rng=random_states(), n=st.integers(2, 9), K=st.integers(1, 4), density=st.sampled_from((0.3, 0.6, 1.0)))
def test_the_most_restricted_node_goes_first(rng, n, K, density):
    graph, partners = random_graph(rng, n, density)
    costs, labels = costs_of(rng, len(partners), K), np.full(len(partners), -1, np.int32)
    expected, stuck = by_saturation(partners, costs, labels)
    assert place_by_saturation(costs, graph, labels) == stuck
    assert labels.tolist() == expected.tolist()


@examples(60)
@given(rng=random_states(), n=st.integers(2, 9), K=st.integers(2, 4), density=st.sampled_from((0.3, 0.6, 1.0)))
def test_a_repair_moves_a_node_in_conflict_to_where_it_has_fewest(rng, n, K, density):
    graph, partners = random_graph(rng, n, density)
    costs = costs_of(rng, len(partners), K)
    before = rng.integers(0, K, len(partners)).astype(np.int32)
    labels, conflicts = before.copy(), in_conflict(partners, before)
    assert repair(costs, graph, labels, np.uint64(rng.integers(2**32)), 1) == len(in_conflict(partners, labels))
    moved = np.flatnonzero(labels != before)
    if not conflicts:
        assert moved.size == 0
        return
    [node] = moved
    assert node in conflicts
    taken = held(partners[node], before, K)
    others = [h for h in range(K) if h != before[node]]
    assert labels[node] == min(others, key=lambda h: (taken[h], costs[node, h], h))


def test_a_repair_does_not_go_back_and_forth():
    """Two tied nodes and one label too few for all: each label is barred for a while after it was left."""
    graph, partners = random_graph(np.random.default_rng(0), 5, 1.0)
    costs, seed = np.zeros((5, 4)), np.uint64(3)
    states = []
    for steps in range(60):
        labels = np.zeros(5, np.int32)
        left = repair(costs, graph, labels, seed, steps)
        assert left == len(in_conflict(partners, labels)) > 0
        states.append(labels)
    last_left: dict[tuple[int, int], int] = {}
    for step, (one, other) in enumerate(pairwise(states), start=1):
        changed = np.flatnonzero(one != other)
        assert changed.size <= 1  # none where a node got back the label that was barred for longest
        for node in changed:
            conflicts = len(in_conflict(partners, one))
            until = last_left.get((node, other[node]), 0)
            free = [h for h in range(4) if h != one[node] and last_left.get((node, h), 0) <= step]
            assert until <= step or not free
            last_left[node, one[node]] = step + 10 + conflicts


@examples(60)
@given(rng=random_states(), n=st.integers(2, 7), K=st.integers(1, 4), density=st.sampled_from((0.4, 0.7, 1.0)))
def test_the_exact_search_finds_a_labelling_where_there_is_one(rng, n, K, density):
    graph, partners = random_graph(rng, n, density)
    size = len(partners)
    nodes = rng.permutation(size)
    labels = np.full(size, 7, np.int32)
    possible = [one for one in product(range(K), repeat=size) if not in_conflict(partners, one)]
    assert place_exactly(graph, K, nodes, labels, 10**6) == bool(possible)
    if not possible:
        return
    assert tuple(labels.tolist()) in possible
    told = labels[nodes]  # the first of them in the order of the nodes, labels numbered as they appear
    first = min(one for one in (tuple(one[k] for k in nodes) for one in possible))
    assert tuple(told.tolist()) == first
    assert place_exactly(graph, K, nodes, labels, size) in (1, -1)
    assert place_exactly(graph, K, nodes, labels, size - 1) == -1  # a step per node is the least
