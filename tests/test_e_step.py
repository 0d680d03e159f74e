"""The E-step on instances small enough to know the exact optimum, and hard cannot-links against graph colouring."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from engine_helpers import (
    NO_PRIOR,
    TINY_LIMITS,
    Instance,
    assert_near,
    engine_objective,
    entailed_pairs,
    examples,
    graph_of,
    instances,
    state_of,
)
from hypothesis import given
from hypothesis import strategies as st
from oracle import CANNOT_LINK, MUST_LINK
from scipy import sparse
from strategies import random_states

from hmrf_fast import e_step
from hmrf_fast.kernels.icm import ALONE, UNIT, block_moves
from hmrf_fast.kernels.sweeps import cheapest_pairs, sweeps

METHODS = ("icm", "block_icm")
penalties = st.sampled_from(["distance", "potts"])
RESTARTS = 10  # the library's default n_init


def table_of(state, case):
    """(n, K) distances plus smoothing, times sample weights: what a label costs without constraints."""
    own = oracle.distances(case.rows, state.centers, case.a, case.metric)
    own += [oracle.smoothing_term(mu, case.a, state.alpha) for mu in state.centers]
    return own * case.sample_weight[:, None]


def solve(state, seed, method, previous=None):
    return e_step.assign(state.problem, state.geometry, state.clusters, previous, np.uint64(seed), method)[0]


def priced(case, penalty, infer):
    pairs = entailed_pairs(case.X.shape[0], case.pairs) if infer else case.pairs
    return oracle.price_pairs(case.rows, case.a, case.metric, pairs, penalty)


# ---------------------------------------------------------------------------------------------------------------------
# Against each other and against the exact optimum


@examples(80)
@given(instances(n=(3, 20), K=(2, 4), max_pairs=25), penalties, st.booleans(), st.integers(0, 2**63 - 1), st.booleans())
def test_block_moves_are_never_worse_than_plain_icm(case, penalty, infer, seed, from_labels):
    state = state_of(case, infer=infer, potts=penalty == "potts")
    previous = case.labels if from_labels else None
    costs, D, pairs = {}, table_of(state, case), priced(case, penalty, infer)
    for method in METHODS:
        costs[method] = oracle.icm_cost(solve(state, seed, method, previous), D, pairs)
    assert costs["block_icm"] <= costs["icm"] + 1e-12 * abs(costs["icm"])
    if from_labels:
        assert costs["icm"] <= oracle.icm_cost(previous, D, pairs) + 1e-10


def assert_no_row_wants_to_move(labels, D, pairs):
    """A fixed point of the paper's sweep, as the oracle prices it."""
    for i in range(labels.size):
        row = oracle.icm_row_costs(i, labels, D, pairs)
        assert row[labels[i]] <= row.min() + 1e-9 * (1.0 + abs(row).max())


@examples(40)
@given(instances(n=(3, 14), K=(2, 4), max_pairs=20), penalties, st.integers(0, 2**63 - 1))
def test_icm_ends_where_no_row_wants_to_move(case, penalty, seed):
    state = state_of(case, potts=penalty == "potts")
    D, pairs = table_of(state, case), priced(case, penalty, infer=False)
    for method in METHODS:
        assert_no_row_wants_to_move(solve(state, seed, method), D, pairs)


def optimum_cases(count):
    """Mixed must- and cannot-links that are dense enough to disagree with the distances."""
    for number in range(count):
        rng = np.random.default_rng(number)
        n, K = int(rng.integers(4, 8)), int(rng.integers(2, 4))
        metric = oracle.METRICS[number % 4]
        X = rng.uniform(0.1, 3.0, (n, 5)) * (rng.random((n, 5)) < 0.7)
        X[:, 0] += 0.1
        i, j = np.triu_indices(n, 1)
        chosen = rng.choice(i.size, min(i.size, int(rng.integers(2, 10))), replace=False)
        weight = (0.1, 5.0) if number % 3 else (5.0, 50.0)
        kinds = rng.choice([MUST_LINK, CANNOT_LINK], chosen.size)
        pairs = [(int(i[p]), int(j[p]), str(kind), rng.uniform(*weight)) for p, kind in zip(chosen, kinds, strict=True)]
        labels = rng.permutation(np.concatenate([np.arange(K), rng.integers(K, size=n - K)])).astype(np.int32)
        yield Instance(sparse.csr_matrix(X), metric, K, labels, np.ones(5), np.ones(n), pairs)


def smoothed_state(case, **more):
    """Smoothed centroids keep all distances of i_divergence finite."""
    return state_of(case, 0.1 if case.metric == "i_divergence" else 0.0, **more)


def best_of_restarts(state, case, D, pairs):
    """The library's restarts in miniature: one from nothing, the others from random labels."""
    rng = np.random.default_rng(0)
    starts = [None, *(rng.integers(case.K, size=case.labels.size).astype(np.int32) for _ in range(RESTARTS - 1))]
    return min(oracle.icm_cost(solve(state, k, "block_icm", start), D, pairs) for k, start in enumerate(starts))


def test_restarts_of_block_icm_find_the_exact_optimum():
    found, count = 0, 240
    for number, case in enumerate(optimum_cases(count)):
        penalty, infer = ("distance", "potts")[number % 2], number % 8 < 4
        state = smoothed_state(case, infer=infer, potts=penalty == "potts")
        D, pairs = table_of(state, case), priced(case, penalty, infer)
        best = best_of_restarts(state, case, D, pairs)
        exact = oracle.milp_optimum(D, pairs)[1] if number % 10 == 0 else oracle.icm_optimum(D, pairs)[1]
        assert best >= exact - 1e-9 * (1.0 + abs(exact))
        found += best <= exact + 1e-9 * (1.0 + abs(exact))
    print(f"exact optimum found in {found} of {count} instances ({found / count:.1%})")
    assert found / count >= 0.95


def test_sweeps_follow_block_moves_until_both_rest():
    """From bad labels under heavy links, block moves leave single rows that now want to move."""
    for number, case in enumerate(optimum_cases(150)):
        case = case._replace(pairs=[(i, j, kind, 10.0 * w) for i, j, kind, w in case.pairs])
        state = smoothed_state(case)
        D, pairs = table_of(state, case), priced(case, "distance", infer=False)
        for seed in range(3):
            start = np.random.default_rng(seed).integers(case.K, size=case.labels.size).astype(np.int32)
            labels = solve(state, number, "block_icm", start)
            assert_no_row_wants_to_move(labels, D, pairs)
            assert np.array_equal(solve(state, number + 1, "block_icm", labels), labels)


def four_points(weight):
    """X = 0, 1, 10, 12 with one must-link between the ends."""
    X = sparse.csr_matrix([[0.0], [1.0], [10.0], [12.0]])
    pairs = [(0, 3, MUST_LINK, weight)]
    return Instance(X, "sqeuclidean", 2, np.array([0, 0, 1, 1], np.int32), np.ones(1), np.ones(4), pairs)


def test_block_moves_leave_the_trap_of_single_moves():
    """Between 0|1 and 2|3 a heavy must-link (0, 3) holds both ends; only moving them together pays.

    From labels that keep the must-link at a dear place, no single row can leave: sweeps are stuck, block moves are not.
    """
    case = four_points(1000.0)
    state = state_of(case, potts=True)._replace(centers=np.array([[22.0 / 3.0], [1.0]]))
    stuck = np.array([1, 1, 0, 1], np.int32)
    assert np.array_equal(solve(state, 0, "icm", stuck), stuck)
    assert np.array_equal(solve(state, 0, "block_icm", stuck), [0, 1, 0, 0])


def test_every_accepted_move_lowers_the_cost():
    """One sweep or one pass of block moves at a time: the cost falls whenever either reports a move, else it rests."""
    moved = [0, 0]
    for number, case in enumerate(optimum_cases(60)):
        state = smoothed_state(case, infer=True)
        graph, links = state.problem.graph, state.geometry.links
        D, pairs = table_of(state, case), priced(case, "distance", infer=True)
        D = np.ascontiguousarray(D)
        nodes = np.random.default_rng(number).integers(case.K, size=graph.rows.size).astype(np.int32)
        block, movable = D[graph.rows][graph.node_rows], np.ones(nodes.size, np.uint8)
        near, labels = np.empty((nodes.size, 2), np.int32), case.labels.copy()
        cheapest_pairs(block, near)

        def cost(nodes=nodes, labels=labels, graph=graph, D=D, pairs=pairs):
            labels[graph.rows] = nodes[graph.node_of_row]
            return oracle.icm_cost(labels, D, pairs)

        before = cost()
        for step in range(6):
            one, stirred = np.uint64(step), np.full(nodes.size, ALONE | UNIT)
            if step % 2:
                moves = block_moves(block, links, graph.unit_ptr, graph.unit_nodes, nodes, movable, stirred, one)
            else:
                moves = sweeps(block, near, links, nodes, movable, stirred, one, 1)
            after = cost()
            assert after < before if moves else after == before
            moved[step % 2] += moves
            before = after
    assert min(moved) > 10  # both kinds of moves were put to the test


# ---------------------------------------------------------------------------------------------------------------------
# Implicit constraints


@examples(80)
@given(
    instances(metrics=("cosine", "pearson", "sqeuclidean"), n=(4, 16), K=(2, 4), max_pairs=10),
    penalties,
    st.sampled_from(TINY_LIMITS),
    st.integers(0, 100),
)
def test_implicit_plans_answer_like_listed_ones(case, penalty, limits, seed):
    """Where each ends, neither wants to move on, priced by the other: both reach the same local optima."""
    n, potts = case.X.shape[0], penalty == "potts"
    graphs = [graph_of(n, case.pairs, infer=True, limits=one) for one in (None, limits)]
    states = [state_of(case, graph=graph, potts=potts) for graph in graphs]
    D, pairs = table_of(states[0], case), priced(case, penalty, infer=True)
    for mine, other in (states, states[::-1]):
        labels = solve(mine, seed, "block_icm", case.labels)
        cost = oracle.icm_cost(labels, D, pairs)
        again = oracle.icm_cost(solve(other, seed, "block_icm", labels), D, pairs)
        assert again == pytest.approx(cost, rel=1e-10, abs=1e-10)
        at = [engine_objective(state._replace(labels=labels), prior=NO_PRIOR) for state in states]
        assert_near(at[1], at[0])
        assert_near(at[0], cost)


def test_implicit_and_listed_plans_reach_the_same_objective():
    """Best of restarts: blocks and links cost nothing in quality (either may be luckier on a few instances)."""
    cases = [case for case in optimum_cases(120) if case.metric != "i_divergence"]
    equal, wins = 0, [0, 0]
    for number, case in enumerate(cases):
        potts = bool(number % 2)
        pairs = priced(case, "potts" if potts else "distance", infer=True)
        best = []
        for limits in (None, TINY_LIMITS[number % 4 // 2]):
            graph = graph_of(case.X.shape[0], case.pairs, infer=True, limits=limits)
            state = state_of(case, graph=graph, potts=potts)
            best.append(best_of_restarts(state, case, table_of(state, case), pairs))
        if best[1] == pytest.approx(best[0], rel=1e-9, abs=1e-9):
            equal += 1
        else:
            wins[int(best[1] < best[0])] += 1
    print(f"equal {equal}, listed better {wins[0]}, implicit better {wins[1]} of {len(cases)}")
    assert equal >= 0.9 * len(cases)


# ---------------------------------------------------------------------------------------------------------------------
# Rows under no constraint


@examples(40)
@given(instances(n=(3, 20), K=(1, 4), max_pairs=5), random_states())
def test_untouched_rows_take_the_nearest_centroid(case, rng):
    state = state_of(case)
    free = np.setdiff1d(np.arange(case.X.shape[0]), state.problem.graph.rows)
    labels = solve(state, rng.integers(2**32), "block_icm")
    D = oracle.distances(case.rows, state.centers, case.a, case.metric)
    assert_near(D[free, labels[free]], D[free].min(axis=1))


@examples(40)
@given(instances(n=(3, 20), K=(2, 4)), st.sampled_from(METHODS), st.booleans())
def test_reported_distances_belong_to_the_labels(case, method, infer):
    state = state_of(case, infer=infer)
    labels, nearest = e_step.assign(state.problem, state.geometry, state.clusters, None, np.uint64(1), method)
    D = oracle.distances(case.rows, state.centers, case.a, case.metric)
    assert_near(nearest, D[np.arange(labels.size), labels])


def test_sweeps_find_the_cheapest_label_of_every_node():
    """Where sweeps end, no node has a cheaper label: looking at partners' labels and the two nearest is enough."""
    for number, case in enumerate(optimum_cases(60)):
        state = smoothed_state(case, infer=True)
        graph, links = state.problem.graph, state.geometry.links
        block = np.ascontiguousarray(np.ascontiguousarray(table_of(state, case))[graph.rows][graph.node_rows])
        nodes = np.random.default_rng(number).integers(case.K, size=graph.rows.size).astype(np.int32)
        near, movable = np.empty((nodes.size, 2), np.int32), np.ones(nodes.size, np.uint8)
        cheapest_pairs(block, near)
        order = np.argsort(block, axis=1, kind="stable")
        assert np.array_equal(near, order[:, :2])
        sweeps(block, near, links, nodes, movable, np.full(nodes.size, ALONE | UNIT), np.uint64(number), 1000)
        for node in range(nodes.size):
            costs = block[node].copy()
            edges = slice(links.edge_ptr[node], links.edge_ptr[node + 1])
            np.add.at(costs, nodes[links.edge_node[edges]], links.edge_price[edges])
            assert costs[nodes[node]] <= costs.min() + 1e-9 * (1 + np.abs(costs).max())
