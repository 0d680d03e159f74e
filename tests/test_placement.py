"""A first labelling under hard cannot-links: each step against plain rules, and the exact search against all labels."""

from __future__ import annotations

from itertools import product

import numpy as np
from engine_helpers import examples, graph_of
from hypothesis import given
from hypothesis import strategies as st
from oracle import CANNOT_LINK
from strategies import random_states

from hmrf_fast.kernels.placement import place_by_saturation, place_exactly, repair
from hmrf_fast.kernels.rng import below


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


def repaired(partners, costs, labels, seed, n_steps):
    """The same search over sets: a label that a node has left is barred for a while."""
    labels, barred, K = labels.copy(), np.zeros(costs.shape, int), costs.shape[1]
    for step in range(1, n_steps + 1):
        conflicts = in_conflict(partners, labels)
        if not conflicts:
            break
        node = conflicts[below(seed, np.uint64(step), len(conflicts))]
        taken = held(partners[node], labels, K)
        free = [h for h in range(K) if h != labels[node] and barred[node, h] <= step]
        new = min(free, key=lambda h: (taken[h], costs[node, h], h)) if free else barred[node].argmin()
        barred[node, labels[node]], labels[node] = step + 10 + len(conflicts), new
    return labels


@examples(60)
@given(rng=random_states(), n=st.integers(4, 9), K=st.integers(2, 4), n_steps=st.integers(0, 60))
def test_a_repair_does_not_go_back_and_forth(rng, n, K, n_steps):
    graph, partners = random_graph(rng, n, 0.9)
    costs, seed = costs_of(rng, len(partners), K), np.uint64(rng.integers(2**32))
    labels = rng.integers(0, K, len(partners)).astype(np.int32)
    expected = repaired(partners, costs, labels, seed, n_steps)
    assert repair(costs, graph, labels, seed, n_steps) == len(in_conflict(partners, labels))
    assert labels.tolist() == expected.tolist()


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
    least = [max(first[:k], default=-1) + 1 for k in range(size)]  # of labels, each node has the lowest it can
    greedy = all(
        first[k] == min({*range(least[k] + 1)} - {first[j] for j in range(k) if nodes[j] in partners[nodes[k]]})
        for k in range(size)
    )
    assert place_exactly(graph, K, nodes, labels, size) == (1 if greedy else -1)
    assert place_exactly(graph, K, nodes, labels, size - 1) == -1  # a step per node is the least
