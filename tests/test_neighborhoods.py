"""Components, contradictions with their chains, feasibility, violations and the report."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from constraint_oracle import components, inside
from hypothesis import given
from hypothesis import strategies as st

from hmrf_fast.constraint_report import build_report
from hmrf_fast.constraints import Constraints
from hmrf_fast.contradictions import MAX_CHAINS
from hmrf_fast.errors import ConstraintError, ContradictionError, InfeasibleError
from hmrf_fast.neighborhoods import check_feasible, describe, resolve
from hmrf_fast.violations import violations

HARD = np.inf


def chain(first, last):
    return np.column_stack([np.arange(first, last), np.arange(first + 1, last + 1)])


def cells(codes, owner):
    """Rows of each group in each component."""
    found = {}
    for row, (code, component) in enumerate(zip(codes, owner, strict=True)):
        if code is not None:
            found.setdefault((component, code), []).append(row)
    return found


def firsts_of_groups(codes, owner):
    return [tuple(rows[:2]) for rows in cells(codes, owner).values() if len(rows) > 1]


def firsts_of_classes(codes, owner):
    by_component = {}
    for (component, _), rows in sorted(cells(codes, owner).items()):
        by_component.setdefault(component, []).append(rows[0])
    return [tuple(sorted(pair)) for firsts in by_component.values() for pair in pairwise(firsts)]


def test_components_are_numbered_by_smallest_row():
    resolved = resolve(Constraints([(5, 3), (1, 6), (6, 2)]), 8)
    assert resolved.component.tolist() == [-1, 0, 0, 1, -1, 1, 0, -1]
    assert resolved.component.dtype == np.int32
    assert resolved.component_sizes.tolist() == [3, 2] and resolved.class_component.size == 0


def test_no_constraints():
    resolved = resolve(None, 3)
    assert resolved.component.tolist() == [-1, -1, -1]
    assert resolved.component_sizes.size == 0
    assert resolved.contradictions == ()
    assert resolve(Constraints(), 0).component.size == 0


def test_weightless_links_groups_and_classes_tie_rows_too():
    resolved = resolve(Constraints([(0, 1)], must_link_weight=0, must_link_groups=[-1, 4, 4, -1, -1, 5]), 6)
    assert resolved.component.tolist() == [0, 0, 0, -1, -1, -1]
    resolved = resolve(Constraints([(1, 3)], partial_labels=["b", None, "a", "b", None, "c"]), 6)
    assert resolved.component.tolist() == [0, 0, 1, 0, -1, 2]
    assert resolved.class_component.tolist() == [1, 0, 2]
    assert resolved.component_sizes.tolist() == [3, 1, 1]


def test_row_out_of_range():
    with pytest.raises(ConstraintError, match="cannot_link pair 0 names row 4, but there are 4 rows"):
        resolve(Constraints(cannot_link=[(0, 4)]), 4)


def test_long_chains_need_no_recursion():
    links = np.concatenate([chain(0, 9_999), chain(10_000, 19_999)])
    resolved = resolve(Constraints(links, [(0, 9_999)], must_link_weight=2), 20_000)
    assert resolved.component_sizes.tolist() == [10_000, 10_000]
    (found,) = resolved.contradictions
    assert found.chain == tuple(range(10_000))
    assert describe(found) == (
        "cannot-link (0, 9999) contradicts the must-links 0-1-2-3-4-...-9997-9998-9999 (10000 rows)"
    )


class TestContradictions:
    def test_hard_chain_is_named(self):
        constraints = Constraints([(0, 1), (1, 2)], [(2, 0)], must_link_weight=HARD, cannot_link_weight=HARD)
        with pytest.raises(
            ContradictionError, match=r"hard cannot-link \(0, 2\) contradicts the must-links 0-1-2"
        ) as e:
            resolve(constraints, 5)
        (found,) = e.value.contradictions
        assert found.pair == (0, 2)
        assert found.chain == (0, 1, 2)
        assert found.hard
        again = pickle.loads(pickle.dumps(e.value))
        assert again.contradictions == (found,)
        assert str(again) == str(e.value)

    def test_soft_ones_are_listed(self):
        resolved = resolve(Constraints([(0, 1), (1, 2)], [(0, 2)], must_link_weight=10), 5)
        assert [describe(c) for c in resolved.contradictions] == ["cannot-link (0, 2) contradicts the must-links 0-1-2"]
        assert not resolved.contradictions[0].hard

    def test_one_soft_link_in_the_chain_makes_it_soft(self):
        constraints = Constraints([(0, 1), (1, 2)], [(0, 2)], must_link_weight=[HARD, 1], cannot_link_weight=HARD)
        assert resolve(constraints, 3).n_contradictions == 1

    def test_hard_detour_around_a_soft_shortcut(self):
        links, weights = [(0, 1), (1, 2), (2, 3), (0, 3)], [HARD, HARD, HARD, 1]
        constraints = Constraints(links, [(0, 3)], must_link_weight=weights, cannot_link_weight=HARD)
        with pytest.raises(ContradictionError, match="must-links 0-1-2-3"):
            resolve(constraints, 4)

    def test_a_pair_of_both_kinds(self):
        (found,) = resolve(Constraints([(1, 0)], [(0, 1)]), 2).contradictions
        assert found.chain == (0, 1)
        assert describe(found) == "cannot-link (0, 1) contradicts the must-link 0-1"

    def test_shortest_chain(self):
        (found,) = resolve(Constraints([(0, 1), (1, 2), (2, 3), (0, 4), (4, 3)], [(0, 3)]), 5).contradictions
        assert found.chain == (0, 4, 3)

    def test_links_of_groups_and_classes_are_told(self):
        constraints = Constraints(
            [(1, 2)], [(0, 3)], must_link_groups=["g", "g", None, None], partial_labels=[-1, -1, 7, 7]
        )
        (found,) = resolve(constraints, 4).contradictions
        assert describe(found) == (
            "cannot-link (0, 3) contradicts the must-links 0-1-2-3 (0-1 by group 'g', 2-3 by class 7)"
        )

    def test_cannot_link_group(self):
        constraints = Constraints([(0, 1), (1, 2), (2, 3)], cannot_link_groups=["s", None, "s", "s", "s"])
        (found,) = resolve(constraints, 5).contradictions
        assert describe(found) == "cannot-link (0, 2) of group 's' contradicts the must-links 0-1-2"

    def test_tied_classes(self):
        constraints = Constraints([(4, 1)], partial_labels=["x", "x", -1, -1, "y", "z"])
        (found,) = resolve(constraints, 6).contradictions
        assert describe(found) == (
            "cannot-link (0, 4) of classes 'x' and 'y' contradicts the must-links 0-1-4 (0-1 by class 'x')"
        )
        hard = Constraints(
            [(4, 1)], must_link_weight=HARD, cannot_link_weight=HARD, partial_labels=[0, 0, -1, -1, 1, 2]
        )
        with pytest.raises(ContradictionError, match="of classes 0 and 1 contradicts"):
            resolve(hard, 6)

    @given(st.integers(0, 2**32 - 1))
    def test_groups_and_classes_against_plain_enumeration(self, seed):
        """One proof per group and component, its first two rows; one per neighbouring pair of the classes in one."""
        rng, n = np.random.default_rng(seed), 14
        ends = [sorted(rng.choice(n, 2, replace=False).tolist()) for _ in range(int(rng.integers(1, 12)))]
        codes = rng.integers(-1, 3, n).tolist()
        told = [None if code < 0 else code for code in codes]
        pairs = {(i, j): 1.0 for i, j in ends}
        for labels, expected in (
            (False, firsts_of_groups(told, components(n, [pairs], lambda w: True))),
            (True, firsts_of_classes(told, components(n, [pairs, inside(told, 1.0)], lambda w: True))),
        ):
            known = Constraints(ends, **{"partial_labels" if labels else "cannot_link_groups": codes})
            resolved = resolve(known, n)
            assert sorted(found.pair for found in resolved.contradictions) == sorted(expected)
            assert resolved.n_contradictions == len(expected)
            for found in resolved.contradictions:
                own = sorted({told[row] for row in found.pair})
                assert found.cannot_link == (f"classes {own[0]} and {own[1]}" if labels else f"group {own[0]}")

    def test_all_are_counted_and_few_are_proved(self):
        n = 3 * MAX_CHAINS
        star = [(0, i) for i in range(1, n)]
        resolved = resolve(Constraints(star, chain(1, n - 1)), n)
        assert resolved.n_contradictions == n - 2
        assert len(resolved.contradictions) == MAX_CHAINS


class TestFeasible:
    def test_more_classes_than_clusters(self):
        resolved = resolve(Constraints(partial_labels=[0, 1, 2, -1]), 4)
        check_feasible(resolved, 3)
        with pytest.raises(InfeasibleError, match="3 classes, more than n_clusters=2"):
            check_feasible(resolved, 2)

    def test_hard_group_larger_than_k(self):
        groups = ["a", "a", "b", "b", "b", None]
        resolved = resolve(Constraints(cannot_link_groups=groups, cannot_link_weight=HARD), 6)
        check_feasible(resolved, 3)
        with pytest.raises(InfeasibleError, match="group 'b' needs 3 clusters, more than n_clusters=2"):
            check_feasible(resolved, 2)
        check_feasible(resolve(Constraints(cannot_link_groups=groups), 6), 2)


class TestReport:
    def test_violations_of_every_kind(self):
        constraints = Constraints(
            [(0, 1), (1, 2)],
            [(0, 2), (3, 4)],
            must_link_groups=[0, 0, 0, 1, 1],
            cannot_link_groups=[0, 0, 0, -1, -1],
            partial_labels=[0, 1, 0, 1, -1],
        )
        found = violations(resolve(constraints, 5), np.array([0, 0, 1, 1, 1]))
        assert found.must_link.tolist() == [False, True]
        assert found.cannot_link.tolist() == [False, True]
        assert found.must_link_group_pairs == 2
        assert found.cannot_link_group_pairs == 1
        assert found.same_class_pairs == 2
        assert found.different_class_pairs == 2

    def test_wrong_length(self):
        with pytest.raises(ValueError, match=r"shape \(2,\), expected \(3,\)"):
            violations(resolve(None, 3), np.zeros(2, int))

    def test_report_of_a_contradiction(self):
        report = build_report(resolve(Constraints([(0, 1), (1, 2)], [(0, 2)]), 5), np.array([0, 0, 0, 1, 1]))
        assert report.n_must_link_satisfied == 2
        assert report.n_cannot_link_satisfied == 0
        assert report.violated_must_link.tolist() == []
        assert report.violated_cannot_link.tolist() == [[0, 2]]
        assert (report.n_neighborhoods, report.smallest_neighborhood, report.largest_neighborhood) == (1, 3, 3)
        assert str(report).splitlines() == [
            "must-links:     2 given, 0 violated",
            "cannot-links:   1 given, 1 violated",
            "neighbourhoods: 1, sizes 3 to 3, median 3",
            "contradictions: 1",
            "  cannot-link (0, 2) contradicts the must-links 0-1-2",
        ]

    def test_groups_and_classes_are_counted(self):
        constraints = Constraints(
            must_link_groups=[0, 0, 0, 1, 1], cannot_link_groups=[0, 0, 0, -1, -1], partial_labels=[0, 1, 0, 1, -1]
        )
        labels = np.array([0, 0, 1, 1, 1])
        report = build_report(resolve(constraints, 5), labels)
        same = [(0, 1), (0, 2), (1, 2), (3, 4), (0, 2), (1, 3)]
        apart = [(0, 1), (0, 2), (1, 2), (0, 1), (0, 3), (1, 2), (2, 3)]
        assert (report.n_must_link_in_groups, report.n_cannot_link_in_groups) == (len(same), len(apart))
        assert report.n_must_link_in_groups_violated == sum(labels[i] != labels[j] for i, j in same)
        assert report.n_cannot_link_in_groups_violated == sum(labels[i] == labels[j] for i, j in apart)
        assert report.n_group_pairs_violated == 7
        told = str(report).splitlines()
        assert told[0] == "must-links:     0 given, 0 violated; 6 in groups, 4 violated"
        assert told[1] == "cannot-links:   0 given, 0 violated; 7 in groups, 3 violated"

    def test_empty_report(self):
        report = build_report(resolve(None, 0), np.empty(0, int))
        assert report.summary().endswith("neighbourhoods: 0\ncontradictions: 0")


@pytest.mark.parametrize(
    ("known", "rows", "told"),
    [
        ({"partial_labels": ["b", "a", None, "c", "a", "d"]}, (1, 0, 3), "4 classes"),
        ({"cannot_link_groups": ["s", "t", "s", "s", "t", None]}, (0, 2, 3), "group 's' needs 3 clusters"),
        ({"cannot_link_groups": ["s", "t", "t", "t", None, "t"]}, (1, 2, 3), "group 't' needs 4 clusters"),
    ],
)
def test_rows_that_prove_that_there_are_too_few_clusters(known, rows, told):
    resolved = resolve(Constraints(**known, cannot_link_weight=HARD), 6)
    with pytest.raises(InfeasibleError, match=told) as caught:
        check_feasible(resolved, 2)
    assert caught.value.rows == rows
    check_feasible(resolved, 4)


def test_further_contradictions_are_counted():
    links = [(0, 1), (1, 2), (3, 4)]
    for apart, end in (([(0, 2)], "0-1-2"), ([(0, 2), (3, 4)], r"0-1-2 \(and 1 more\)")):
        known = Constraints(links, apart, must_link_weight=HARD, cannot_link_weight=HARD)
        with pytest.raises(ContradictionError, match=f"must-links {end}$"):
            resolve(known, 5)
