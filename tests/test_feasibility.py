"""Hard cannot-links: never violated, solved where a colouring exists, refused with the rows that prove otherwise."""

from __future__ import annotations

import re
from itertools import combinations, product

import numpy as np
import pytest
from engine_helpers import Instance, examples, graph_of, needs_compiler, state_of
from hypothesis import given
from hypothesis import strategies as st
from oracle import CANNOT_LINK, MUST_LINK
from scipy import sparse
from strategies import random_states

from hmrf_fast import e_step
from hmrf_fast.errors import InfeasibleError
from hmrf_fast.feasibility import place

HARD = np.inf
METHODS = ("icm", "block_icm")


def links(edges):
    return [(min(i, j), max(i, j), CANNOT_LINK, HARD) for i, j in edges]


def colours(n, K, edges, rng):
    """Node labels that the library finds for random distances."""
    graph = graph_of(n, links(edges))
    nodes = np.full(graph.rows.size, -1, np.int32)
    place(graph, rng.random((graph.rows.size, K)), nodes, np.uint64(rng.integers(2**32)))
    labels = np.full(n, -1)
    labels[graph.rows] = nodes[graph.node_of_row]
    return labels


def rows_named(error):
    return [int(row) for row in re.search(r"rows \[([\d, ]+)\]", str(error.value)).group(1).split(",")]


def colourable(rows, K, edges):
    """By trying every labelling."""
    inner = [(rows.index(i), rows.index(j)) for i, j in edges if i in rows and j in rows]
    return any(all(one[i] != one[j] for i, j in inner) for one in product(range(K), repeat=len(rows)))


# ---------------------------------------------------------------------------------------------------------------------
# Infeasible


@pytest.mark.parametrize("K", [1, 2, 3, 6])
@examples(15)
@given(rng=random_states())
def test_more_mutually_linked_rows_than_clusters_are_named(K, rng):
    n = K + 10
    clique = sorted(int(row) for row in rng.choice(n, K + 1, replace=False))
    outside = [int(row) for row in np.setdiff1d(np.arange(n), clique)]
    # Further links may join the clique, as long as no second one of its size arises.
    edges = list(combinations(clique, 2)) + ([(outside[0], clique[0])] if K > 1 else [])
    with pytest.raises(InfeasibleError, match=f"mutually hard cannot-linked.*n_clusters={K}") as error:
        colours(n, K, edges, rng)
    assert rows_named(error) == clique


@examples(25)
@given(st.integers(2, 10), random_states())
def test_an_odd_cycle_needs_a_third_cluster(half, rng):
    size = 2 * half + 1
    n = size + 8
    order = [int(row) for row in rng.permutation(n)]
    ring = order[:size]
    edges = [(ring[k], ring[(k + 1) % size]) for k in range(size)]
    tail = [(order[k], order[k + 1]) for k in range(size - 1, n - 1)]  # a path, which proves nothing
    with pytest.raises(InfeasibleError, match="cannot be kept with n_clusters=2") as error:
        colours(n, 2, edges + tail, rng)
    assert rows_named(error) == sorted(ring)
    assert_proper(colours(n, 3, edges + tail, rng), edges + tail)


@examples(40)
@given(st.integers(4, 8), st.floats(0.3, 0.9), random_states())
def test_named_rows_prove_infeasibility(n, density, rng):
    """Any graph: either a proper colouring, or a set of rows that really has none."""
    edges = [pair for pair in combinations(range(n), 2) if rng.random() < density]
    for K in (2, 3):
        if colourable(list(range(n)), K, edges):
            assert_proper(colours(n, K, edges, rng), edges)
            continue
        with pytest.raises(InfeasibleError) as error:
            colours(n, K, edges, rng)
        assert not colourable(rows_named(error), K, edges)


# ---------------------------------------------------------------------------------------------------------------------
# Feasible


def assert_proper(labels, edges):
    assert all(labels[i] >= 0 and labels[i] != labels[j] for i, j in edges)


@examples(150)
@given(st.integers(3, 60), st.floats(0.02, 1.0), random_states())
def test_planted_colourings_with_three_colours_are_found(n, density, rng):
    """At every density, the hard region around 4.6 links per row included."""
    planted = rng.integers(3, size=n)
    share = density if rng.random() < 0.5 else min(1.0, 4.6 * 1.5 / n)
    edges = [(i, j) for i, j in combinations(range(n), 2) if planted[i] != planted[j] and rng.random() < share]
    assert_proper(colours(n, 3, edges, rng), edges)


@examples(60)
@given(st.integers(4, 24), st.integers(2, 4), st.floats(0.05, 0.6), random_states(), st.sampled_from(METHODS))
def test_the_e_step_never_violates_a_hard_constraint(n, K, share, rng, method):
    """Hard must- and cannot-links beside heavy soft ones that want the opposite."""
    planted = rng.integers(K, size=n)
    pairs = []
    for i, j in combinations(range(n), 2):
        if rng.random() >= share:
            continue
        same = planted[i] == planted[j]
        if rng.random() < 0.6:
            pairs.append((i, j, MUST_LINK if same else CANNOT_LINK, HARD))
        else:
            pairs.append((i, j, CANNOT_LINK if same else MUST_LINK, 100.0))
    X = sparse.csr_matrix(rng.uniform(0.1, 3.0, (n, 4)))
    case = Instance(X, "cosine", K, planted.astype(np.int32), np.ones(4), np.ones(n), pairs)
    state = state_of(case)
    for previous in (None, rng.integers(K, size=n).astype(np.int32), case.labels):
        labels = e_step.assign(state.problem, state.geometry, state.clusters, previous, np.uint64(7), method)[0]
        for i, j, kind, weight in pairs:
            if weight == HARD:
                assert (labels[i] == labels[j]) == (kind == MUST_LINK)


@needs_compiler
def test_a_small_proof_is_found_in_a_large_component():
    """A wheel with five spokes needs four labels; it hangs in a long ladder that needs two."""
    ladder = [(k, k + 2) for k in range(3000)] + [(k, k + 1) for k in range(0, 3000, 2)]
    ring, hub = [4000, 4001, 4002, 4003, 4004], 4005
    wheel = [(ring[k], ring[(k + 1) % 5]) for k in range(5)] + [(row, hub) for row in ring]
    with pytest.raises(InfeasibleError) as error:
        colours(4006, 3, [*ladder, *wheel, (0, 4000)], np.random.default_rng(0))
    assert error.value.rows == (*ring, hub)
