"""The penalty graph against a plain enumeration of the rules, and its set-up at scale."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
import pytest
from constraint_oracle import Oracle, graph_total
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from hmrf_fast.constraints import Constraints
from hmrf_fast.errors import ConstraintError, ContradictionError, InfeasibleError, SampledConstraintsWarning
from hmrf_fast.kernels.types import PenaltyGraph
from hmrf_fast.neighborhoods import resolve
from hmrf_fast.penalties import Limits, empty_graph, plan

HARD = np.inf
# Limits at which even the smallest sets become blocks and links.
TINY = (Limits(), Limits(block_rows=2, link_factor=1), Limits(block_rows=1, link_factor=0))

DTYPES = PenaltyGraph(
    **dict.fromkeys(
        ("rows", "node_ptr", "edge_ptr", "edge_pair", "hard_ptr", "unit_ptr", "block_ptr", "link_ptr"), "int64"
    ),
    **dict.fromkeys(
        ("node_of_row", "node_rows", "pair_first", "pair_second", "edge_node", "hard_node", "unit_nodes", "block_rows"),
        "int32",
    ),
    **dict.fromkeys(("link_block", "node_block"), "int32"),
    **dict.fromkeys(("pair_weight", "block_weight", "link_weight"), "float64"),
    pair_kind="int8",
)


def check_graph(graph):
    """What the kernels rely on."""
    for name, array, dtype in zip(graph._fields, graph, DTYPES, strict=True):
        assert array.dtype == np.dtype(dtype), name
        assert array.flags.c_contiguous, name
    r, u, m = graph.rows.size, graph.node_ptr.size - 1, graph.pair_first.size
    assert (np.diff(graph.rows) > 0).all()
    owner = np.repeat(np.arange(u), np.diff(graph.node_ptr))
    assert (graph.node_of_row[graph.node_rows] == owner).all()
    assert sorted(graph.node_rows) == list(range(r))
    assert (graph.pair_first < graph.pair_second).all()
    assert len(set(zip(graph.pair_first, graph.pair_second, graph.pair_kind, strict=True))) == m
    assert np.isfinite(graph.pair_weight).all()
    assert (graph.pair_weight != 0).all()
    ends = graph.node_of_row[graph.pair_first], graph.node_of_row[graph.pair_second]
    listed = [
        (a, b, k)
        for a in range(u)
        for b, k in zip(
            graph.edge_node[graph.edge_ptr[a] : graph.edge_ptr[a + 1]],
            graph.edge_pair[graph.edge_ptr[a] : graph.edge_ptr[a + 1]],
            strict=True,
        )
    ]
    expected = [(a, b, k) for k, (a, b) in enumerate(zip(*ends, strict=True)) if a != b]
    assert sorted(listed) == sorted(expected + [(b, a, k) for a, b, k in expected])
    check_symmetric(graph.hard_ptr, graph.hard_node)
    check_symmetric(graph.link_ptr, graph.link_block)
    assert (graph.link_weight > 0).all()
    assert (np.diff(graph.unit_ptr) > 1).all()
    assert len(set(graph.unit_nodes)) == graph.unit_nodes.size
    check_blocks(graph)


def check_symmetric(ptr, ends):
    pairs = {(a, b) for a in range(ptr.size - 1) for b in ends[ptr[a] : ptr[a + 1]]}
    assert len(pairs) == ends.size
    assert all((b, a) in pairs and a != b for a, b in pairs)


def check_blocks(graph):
    assert len(set(graph.block_rows)) == graph.block_rows.size
    block = np.full(graph.node_block.size, -1)
    for b in range(graph.block_weight.size):
        nodes = graph.node_of_row[graph.block_rows[graph.block_ptr[b] : graph.block_ptr[b + 1]]]
        assert (np.diff(nodes) >= 0).all()
        block[nodes] = b
    assert (graph.node_block == block).all()
    inside = graph.node_block[graph.node_of_row] >= 0
    assert inside.sum() == graph.block_rows.size  # whole nodes only


weights = st.sampled_from([0.0, 0.5, 1.0, 1.0, 2.0, 3.0, HARD])


@st.composite
def problems(draw):
    n = draw(st.integers(2, 9))
    steps = st.tuples(st.integers(0, n - 1), st.integers(1, n - 1), weights)
    pair = steps.map(lambda step: (step[0], (step[0] + step[1]) % n, step[2]))
    some = st.one_of(st.none(), st.lists(st.sampled_from([None, "a", "b", "c"]), min_size=n, max_size=n))
    return {
        "n": n,
        "must": draw(st.lists(pair, max_size=7)),
        "cannot": draw(st.lists(pair, max_size=7)),
        "labels": draw(some),
        "must_groups": draw(some),
        "cannot_groups": draw(some),
        "group_weights": (draw(weights), draw(weights)),
        "infer": draw(st.booleans()),
    }


def build(problem, order=lambda pairs: pairs):
    must, cannot = order(problem["must"]), order(problem["cannot"])
    given_ = Constraints(
        [p[:2] for p in must],
        [p[:2] for p in cannot],
        must_link_weight=[p[2] for p in must],
        cannot_link_weight=[p[2] for p in cannot],
        partial_labels=problem["labels"],
        must_link_groups=problem["must_groups"],
        cannot_link_groups=problem["cannot_groups"],
    )
    # Pair weights and group weights at once, in any mixture, are more than the public constructor offers.
    given_.__dict__["must_link_group_weight"], given_.__dict__["cannot_link_group_weight"] = problem["group_weights"]
    return given_


def oracle_of(problem):
    return Oracle(**{key: value for key, value in problem.items() if key != "n"}, n=problem["n"])


@settings(deadline=None, max_examples=400)
@given(problems(), st.sampled_from(TINY), st.booleans(), st.data())
def test_total_penalty_equals_plain_enumeration(problem, limits, enumerate_all, data):
    oracle = oracle_of(problem)
    if oracle.contradiction:
        with pytest.raises(ContradictionError, match="hard cannot-link"):
            resolve(build(problem), problem["n"])
        return
    resolved = resolve(build(problem), problem["n"])
    graph = plan(resolved, infer=problem["infer"], enumerate_all=enumerate_all, limits=limits)
    check_graph(graph)
    event(f"blocks: {graph.block_weight.size > 0}, links: {graph.link_weight.size > 0}")
    if enumerate_all:
        assert graph.block_rows.size == 0
    # Labels drawn per node meet the hard must-links; plain ones mostly do not.
    free = data.draw(st.lists(st.integers(0, 4), min_size=problem["n"], max_size=problem["n"]))
    for labels in (free, [free[node] for node in oracle.node]):
        assert graph_total(graph, labels) == pytest.approx(oracle.total(labels), abs=1e-9)


@settings(deadline=None, max_examples=100)
@given(problems(), st.sampled_from(TINY), st.randoms(use_true_random=False))
def test_order_and_orientation_do_not_matter(problem, limits, random):
    assume(not oracle_of(problem).contradiction)

    def shuffled(pairs):
        pairs = [(j, i, w) if random.random() < 0.5 else (i, j, w) for i, j, w in pairs]
        random.shuffle(pairs)
        return pairs

    first, second = (
        plan(resolve(build(problem, order), problem["n"], infer=problem["infer"]), limits=limits)
        for order in (lambda pairs: pairs, shuffled)
    )
    for a, b in zip(first, second, strict=True):
        assert np.array_equal(a, b)


def test_empty():
    for graph in (empty_graph(), plan(resolve(Constraints([(0, 1)], must_link_weight=0), 3))):
        check_graph(graph)
        assert all(array.size == (1 if name.endswith("ptr") else 0) for name, array in graph._asdict().items())


def test_contradicting_triangle_every_labelling():
    resolved = resolve(Constraints([(0, 1), (1, 2)], [(0, 2)], must_link_weight=10), 5)
    graph = plan(resolved)
    assert graph.rows.tolist() == [0, 1, 2]
    assert graph_total(graph, [0, 0, 0, 1, 1]) == 1
    assert graph_total(graph, [0, 0, 1, 1, 1]) == 20  # 1-2 given and 0-2 entailed; the cannot-link is satisfied
    oracle = Oracle(5, [(0, 1, 10), (1, 2, 10)], [(0, 2, 1)])
    for labels in product(range(2), repeat=5):
        assert graph_total(graph, labels) == oracle.total(labels)


def test_weakest_link_decides_and_given_pairs_keep_their_weight():
    constraints = Constraints([(0, 1), (1, 2)], [(2, 3)], must_link_weight=[5, 2], cannot_link_weight=9)
    graph = plan(resolve(constraints, 4))
    found = {
        (int(i), int(j), int(kind)): float(weight)
        for i, j, kind, weight in zip(
            graph.pair_first, graph.pair_second, graph.pair_kind, graph.pair_weight, strict=True
        )
    }
    assert found == {(0, 1, 1): 5, (1, 2, 1): 2, (0, 2, 1): 2, (0, 3, -1): 2, (1, 3, -1): 2, (2, 3, -1): 9}
    plain = plan(resolve(constraints, 4), infer=False)
    assert plain.pair_weight.tolist() == [5, 2, 9]


def test_hard_links_contract_and_forbid():
    constraints = Constraints([(0, 1), (2, 3)], [(1, 2)], must_link_weight=HARD, cannot_link_weight=HARD)
    graph = plan(resolve(constraints, 5))
    check_graph(graph)
    assert graph.node_of_row.tolist() == [0, 0, 1, 1]
    assert graph.hard_node.tolist() == [1, 0]
    assert graph.pair_first.size == graph.unit_nodes.size == 0


def test_units_are_components_of_several_nodes():
    constraints = Constraints([(0, 1), (1, 2), (3, 4)], must_link_weight=[HARD, 1, HARD])
    for infer in (True, False):
        graph = plan(resolve(constraints, 6), infer=infer)
        assert graph.unit_ptr.tolist() == [0, 2]
        assert graph.unit_nodes.tolist() == [0, 1]


def test_infeasible_is_refused_when_the_number_of_clusters_is_known():
    resolved = resolve(Constraints(partial_labels=[0, 1, 2]), 3)
    with pytest.raises(InfeasibleError, match="3 classes, more than n_clusters=2"):
        plan(resolved, n_clusters=2)


def test_too_many_hard_edges_between_classes():
    labels = np.arange(10_000) % 2
    soft = Constraints(partial_labels=labels, cannot_link_weight=HARD)
    with pytest.raises(ConstraintError, match="25000000 hard cannot-links"):
        plan(resolve(soft, 10_000))
    hard = Constraints(partial_labels=labels, cannot_link_weight=HARD, must_link_weight=HARD)
    assert plan(resolve(hard, 10_000)).hard_node.tolist() == [1, 0]


class TestLarge:
    def test_long_chains(self):
        links = np.concatenate(
            [np.column_stack([np.arange(s, s + 9_999), np.arange(s + 1, s + 10_000)]) for s in (0, 10_000)]
        )
        graph = plan(resolve(Constraints(links), 20_000))
        assert graph.pair_first.size == 0
        assert np.diff(graph.block_ptr).tolist() == [10_000, 10_000]
        assert graph.block_weight.tolist() == [1, 1]
        assert np.diff(graph.unit_ptr).tolist() == [10_000, 10_000]

    def test_star(self):
        spokes = np.arange(1, 50_000)
        graph = plan(resolve(Constraints((np.zeros_like(spokes), spokes)), 50_000))
        assert graph.block_rows.size == 50_000
        assert graph.pair_first.size == 0

    def test_million_random_cannot_links(self):
        n = 100_000
        rng = np.random.default_rng(0)
        first = rng.integers(0, n, 1_000_000)
        pairs = np.column_stack([first, (first + rng.integers(1, n, first.size)) % n])
        graph = plan(resolve(Constraints(cannot_link=pairs), n))
        assert graph.pair_first.size == len(np.unique(np.sort(pairs, axis=1) @ [n, 1]))
        assert (graph.pair_weight == 1).all()
        assert graph.block_rows.size == 0

    def test_sources_as_cannot_link_groups_list_no_pairs(self):
        graph = plan(resolve(Constraints(cannot_link_groups=np.arange(100_000) % 10, cannot_link_weight=3), 100_000))
        assert graph.pair_first.size == 0
        assert graph.block_weight.tolist() == [-3] * 10

    def test_labels_are_blocks_joined_by_links(self):
        labels = np.arange(3_000) % 3
        constraints = Constraints(partial_labels=labels, must_link_weight=1, cannot_link_weight=5)
        for infer in (True, False):
            graph = plan(resolve(constraints, 3_000), infer=infer)
            assert graph.pair_first.size == 0
            assert graph.block_weight.tolist() == [1] * 3
            assert graph.link_weight.tolist() == [5] * 6

    def test_group_across_a_block_is_cut(self):
        # Rows 0-99 must link; rows 50-299 are one source. The 200 rows outside the neighbourhood stay implicit.
        chain = np.column_stack([np.arange(99), np.arange(1, 100)])
        source = np.where(np.arange(300) >= 50, 1, -1)
        graph = plan(resolve(Constraints(chain, cannot_link_groups=source), 300))
        check_graph(graph)
        assert np.diff(graph.block_ptr).tolist() == [100, 200]
        assert graph.block_weight.tolist() == [1, -1]
        assert graph.pair_first.size == 50 * 49 // 2 + 50 * 200


class TestSample:
    LIMITS = Limits(pairs_per_row=10, pairs_base=0)

    @pytest.mark.parametrize("seed", [0, 1])
    def test_same_total_weight(self, seed):
        labels = np.arange(300) % 3
        constraints = Constraints(partial_labels=labels, must_link_weight=2, cannot_link_weight=0.5)
        resolved = resolve(constraints, 300)
        make = partial(plan, resolved, enumerate_all=True, random_state_seed=seed)
        full = make()
        assert full.pair_first.size == 300 * 299 // 2
        with pytest.warns(SampledConstraintsWarning, match=r"44850 entailed pairs are too many to list: 300\d of them"):
            graph = make(limits=self.LIMITS)
        check_graph(graph)
        for kind in (1, -1):
            totals = [g.pair_weight[g.pair_kind == kind].sum() for g in (full, graph)]
            assert totals[1] == pytest.approx(totals[0])
        degree = np.bincount(np.concatenate([graph.pair_first, graph.pair_second]), minlength=300)
        assert degree.min() > 0

    def test_seed_decides(self):
        resolved = resolve(Constraints(must_link_groups=np.zeros(200, int)), 200)
        graphs = []
        for seed in (3, 3, 4):
            with pytest.warns(SampledConstraintsWarning, match="19900"):
                graphs.append(plan(resolved, enumerate_all=True, limits=self.LIMITS, random_state_seed=seed))
        assert np.array_equal(graphs[0].pair_first, graphs[1].pair_first)
        assert not np.array_equal(graphs[0].pair_first, graphs[2].pair_first)

    def test_many_lone_partners_of_one_neighbourhood(self):
        # Every cannot-link to a lone row entails 3000 more: quadratic, hence sampled.
        n = 3_000
        ring = np.column_stack([np.arange(n - 1), np.arange(1, n)])
        across = np.column_stack([np.arange(n), np.arange(n) + n])
        with pytest.warns(SampledConstraintsWarning, match="8757000 entailed pairs"):
            graph = plan(resolve(Constraints(ring, across), 2 * n))
        assert graph.block_weight.tolist() == [1]
        assert graph.pair_first.size < 64 * 2 * n + 100_000 + 2 * n
        assert graph.pair_weight.sum() == pytest.approx(n * n)
