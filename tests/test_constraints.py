"""Constraints as callers write them."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from hmrf_fast.constraints import Constraints
from hmrf_fast.errors import ConstraintError, HMRFError

PAIRS = [[0, 3], [1, 2]]
HARD = np.inf


def test_what_has_no_weight_weighs_one():
    known = Constraints([(0, 1)], [(1, 2)], must_link_groups=[0, 0, 1], cannot_link_groups=[0, 0, 1])
    assert known.must_link_weight.tolist() == known.cannot_link_weight.tolist() == [1.0]
    assert known.must_link_group_weight == known.cannot_link_group_weight == 1.0


@pytest.mark.parametrize(
    "given",
    [
        [(3, 0), (1, 2), (2, 1)],
        [[0, 3], [2, 1]],
        ((0, 3), (1, 2)),
        {(0, 3), (1, 2)},
        iter([(0, 3), (1, 2)]),
        np.array([[0, 3], [1, 2]], dtype=np.int8),
        np.array([[0, 3], [1, 2]], dtype=np.uint64),
        np.asfortranarray([[1, 2], [3, 0]]),
        (np.array([0, 1]), np.array([3, 2])),
        ([1, 3], [2, 0]),
        [np.array([0, 3]), np.array([1, 2])],
    ],
)
def test_pairs_in_every_form(given):
    constraints = Constraints(given, given if not hasattr(given, "__next__") else PAIRS)
    assert constraints.must_link.tolist() == PAIRS
    assert constraints.cannot_link.tolist() == PAIRS
    assert constraints.must_link.dtype == np.int64
    assert constraints.must_link_weight.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "empty", [None, [], (), set(), np.empty(0), np.empty((0, 2)), ([], []), (np.empty(0, int), np.empty(0, int)), [[]]]
)
def test_empty_in_every_form(empty):
    constraints = Constraints(empty, empty)
    assert constraints.must_link.shape == (0, 2)
    assert constraints.is_empty
    assert repr(constraints) == "Constraints()"


def test_two_pairs_as_tuple_of_lists_are_index_arrays():
    assert Constraints(([0, 1], [2, 3])).must_link.tolist() == [[0, 2], [1, 3]]
    assert Constraints([[0, 1], [2, 3]]).must_link.tolist() == [[0, 1], [2, 3]]


def test_repeated_pairs_count_with_the_largest_weight():
    constraints = Constraints([(0, 1), (1, 0), (4, 2)], must_link_weight=[1.0, 3.0, 0.5])
    assert constraints.must_link.tolist() == [[0, 1], [2, 4]]
    assert constraints.must_link_weight.tolist() == [3.0, 0.5]


@pytest.mark.parametrize(
    ("weight", "group_weight"), [(2.5, 2.5), (np.inf, np.inf), ([2.0], 1.0), ([np.inf], np.inf), (np.float32(3), 3.0)]
)
def test_weights_of_groups(weight, group_weight):
    constraints = Constraints([(0, 1)], must_link_weight=weight, must_link_groups=[0, 0])
    assert constraints.must_link_group_weight == group_weight


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"must_link": [(0, 1), (2, 2)]}, "must_link pair 1 joins row 2 with itself"),
        ({"cannot_link": [(5, 5)]}, "cannot_link pair 0 joins row 5 with itself"),
        ({"must_link": [(0, 1), (2, -3)]}, "must_link pair 1 holds the negative row number -3"),
        ({"must_link": [(0.0, 1.0)]}, "got dtype float64"),
        ({"must_link": [(True, False)]}, "got dtype bool"),
        ({"must_link": [("a", "b")]}, "got dtype <U1"),
        ({"must_link": ([0.0], [1.0])}, "got dtype float64"),
        ({"must_link": (0, 1)}, r"got shape \(2,\)"),
        ({"must_link": [(0, 1, 2)]}, r"got shape \(1, 3\)"),
        ({"must_link": [(0, 1), (1, 2, 3)]}, r"pair 1 is \(1, 2, 3\)"),
        ({"must_link": ([0, 1], [1])}, "differ in length, 2 and 1"),
        ({"must_link": ([[0]], [[1]])}, r"one-dimensional, got \(1, 1\)"),
        ({"must_link": 3}, "got int"),
        ({"must_link": np.array([[0, 2**63]], dtype=np.uint64)}, "9223372036854775808"),
        ({"must_link": [(0, 1)], "must_link_weight": -1}, "must_link_weight must be >= 0, got -1.0"),
        ({"must_link": [(0, 1)], "must_link_weight": np.nan}, "got nan"),
        ({"must_link": [(0, 1), (4, 2)], "must_link_weight": [1, -2]}, r"\[1\] = -2.0 for pair \(4, 2\)"),
        ({"cannot_link": [(0, 1)], "cannot_link_weight": [np.nan]}, r"cannot_link_weight\[0\] = nan for pair \(0, 1\)"),
        ({"must_link": [(0, 1)], "must_link_weight": [1, 2]}, r"shape \(2,\) for 1 pairs"),
        ({"must_link": [(0, 1)], "must_link_weight": "heavy"}, "got dtype <U5"),
        ({"partial_labels": [0.5, 1]}, r"partial_labels\[0\] = 0.5 is not an integer"),
        ({"partial_labels": [1, np.inf]}, r"partial_labels\[1\] = inf is not an integer"),
        ({"partial_labels": [[0, 1]]}, r"shape \(1, 2\)"),
        ({"partial_labels": [True, False]}, "got dtype bool"),
        ({"partial_labels": [1, "a"]}, r"partial_labels\[1\] = 'a' is of type str"),
        ({"partial_labels": [None, True]}, r"partial_labels\[1\] = True is of type bool"),
        ({"partial_labels": [None, 1.5]}, r"partial_labels\[1\] = 1.5 is not an integer"),
        ({"partial_labels": [None, (1,)]}, "partial_labels must hold one integer or string per row"),
        ({"partial_labels": np.array([None, {1}])}, r"partial_labels\[1\] = \{1\} is of type set"),
        ({"partial_labels": [None, 2**70]}, "does not fit 64 bits"),
        ({"partial_labels": [0, 1], "must_link_groups": [0, 1, 1]}, r"2 \(partial_labels\) and 3 \(must_link_groups\)"),
        ({"row_ids": ["a", "b", "a"]}, "id 'a' twice, at rows 0 and 2"),
        ({"row_ids": ["a", "b"], "must_link": [("a", "b"), ("b", "z")]}, "must_link pair 1 names the id 'z', which"),
        ({"row_ids": ["a"], "must_link": [("z", "a"), ("y", "z")]}, r"pair 0 names the id 'z' \(1 more: 'y'\), which"),
        ({"row_ids": ["a", "b"], "must_link": ["ab"]}, "pair 0 is 'ab'"),
        ({"row_ids": ["a", "b"], "must_link": [("a", "a")]}, "pair 0 joins row 0 with itself"),
    ],
)
def test_refused(arguments, message):
    with pytest.raises(ConstraintError, match=message) as caught:
        Constraints(**arguments)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, HMRFError)


def test_rows_out_of_range_are_named_by_the_first_given_pair():
    constraints = Constraints([(0, 1), (7, 2), (9, 0)])
    with pytest.raises(ConstraintError, match="must_link pair 1 names row 7, but there are 5 rows"):
        constraints.check_rows(5)
    constraints.check_rows(10)


def test_length_is_compared_with_the_data():
    with pytest.raises(ConstraintError, match="for 3 rows, the data has 4"):
        Constraints(partial_labels=[0, 1, -1]).check_rows(4)


@pytest.mark.parametrize(
    "pairs", [[("c", "a")], np.array([["c", "a"]]), (np.array(["a"]), np.array(["c"])), ([("c")], ["a"])]
)
@pytest.mark.parametrize("ids", [["a", "b", "c"], np.array(["a", "b", "c"]), np.array(["a", "b", "c"], dtype=object)])
def test_row_ids(pairs, ids):
    constraints = Constraints(pairs, row_ids=ids)
    assert constraints.must_link.tolist() == [[0, 2]]
    assert constraints.n_rows == 3


def test_row_ids_may_be_any_hashable():
    assert Constraints([((1, "x"), 7)], row_ids=[7, 8, (1, "x")]).must_link.tolist() == [[0, 2]]


LABELS = [
    np.array([7, -1, 3, -1, 7, -1], dtype=np.int8),
    np.array([7, -1, 3, -1, 7, -1], dtype=np.int64),
    np.array([7, np.nan, 3, -1, 7, np.nan]),
    np.array([7, np.nan, 3, np.nan, 7, np.nan], dtype=np.float32),
    [7, None, 3, np.nan, 7.0, -1],
    ["b", None, "a", np.nan, "b", None],
    ["b", float("nan"), "a", -1, "b", None],
    np.array(["b", None, "a", None, "b", None], dtype=object),
]


@pytest.mark.parametrize("labels", LABELS)
def test_partial_labels_of_every_type(labels):
    constraints = Constraints(partial_labels=labels)
    assert constraints.codes.tolist() == [1, -1, 0, -1, 1, -1]
    assert constraints.codes.dtype == np.int32
    assert constraints.classes.tolist() in ([3, 7], ["a", "b"])


def test_minus_one_is_never_a_class():
    assert Constraints(partial_labels=[-1, -2, 0]).classes.tolist() == [-2, 0]
    assert Constraints(partial_labels=[-1.0, -2.0, 0.0]).classes.tolist() == [-2, 0]


def test_unsigned_and_all_unknown():
    top = 2**64 - 1
    assert Constraints(must_link_groups=np.array([top, 1], dtype=np.uint64)).must_link_groups.ids.tolist() == [1, top]
    unknown = Constraints(partial_labels=[None, None])
    assert unknown.is_empty
    assert unknown.classes.size == 0


class TestAdjacency:
    MATRIX = np.array([[0, 2.0, 0], [0, 0, -np.inf], [0, 0, 0]])

    @pytest.mark.parametrize("matrix", [MATRIX, MATRIX.T, MATRIX + MATRIX.T])
    @pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, sp.csc_matrix, sp.coo_array, sp.lil_array])
    def test_orientation_and_storage(self, matrix, storage):
        constraints = Constraints.from_adjacency(storage(matrix))
        assert constraints.must_link.tolist() == [[0, 1]]
        assert constraints.must_link_weight.tolist() == [2.0]
        assert constraints.cannot_link.tolist() == [[1, 2]]
        assert constraints.cannot_link_weight.tolist() == [np.inf]
        assert constraints.n_rows == 3

    def test_larger_orientation_counts_and_duplicates_add_up(self):
        given = sp.coo_array(([1.0, 2.0, 2.5, 0.0], ([0, 0, 1, 2], [1, 1, 0, 2])), shape=(3, 3))
        assert Constraints.from_adjacency(given).must_link_weight.tolist() == [3.0]
        assert given.nnz == 4

    @pytest.mark.parametrize(
        ("matrix", "message"),
        [
            (np.ones((2, 3)), r"shape \(2, 3\)"),
            (np.eye(2), r"A\[0, 0\] = 1.0 links a row with itself"),
            (np.array([[0, np.nan], [0, 0]]), r"A\[0, 1\] is NaN"),
            (np.array([[0, 1], [-1, 0]]), r"pair \(0, 1\)"),
            (np.array([[False, True], [True, False]]), "dtype bool"),
        ],
    )
    def test_refused(self, matrix, message):
        with pytest.raises(ConstraintError, match=message):
            Constraints.from_adjacency(matrix)


def test_scaled_weights():
    given = Constraints([(0, 1), (1, 2)], [(0, 2)], must_link_weight=[0.0, 2.0], cannot_link_weight=HARD)
    scaled = given.scaled(3, 0)
    assert scaled.must_link_weight.tolist() == [0, 6]
    assert scaled.must_link_group_weight == 3
    assert scaled.cannot_link_weight.tolist() == [0]
    assert scaled.cannot_link_group_weight == 0
    assert given.scaled(HARD, 1).must_link_weight.tolist() == [0, HARD]
    assert given.must_link_weight.tolist() == [0, 2]


class TestImmutable:
    def test_never_aliases_or_changes_the_input(self):
        pairs = np.array([[3, 0], [1, 2]])
        weights = np.array([2.0, 1.0])
        labels = np.array([0, 1, -1, 0], dtype=np.int32)
        before = pairs.copy(), weights.copy(), labels.copy()
        constraints = Constraints(pairs, must_link_weight=weights, partial_labels=labels)
        for array, old in zip((pairs, weights, labels), before, strict=True):
            assert np.array_equal(array, old)
            assert array.flags.writeable
            assert not np.shares_memory(array, constraints.must_link)
        pairs[:] = 0
        assert constraints.must_link.tolist() == PAIRS

    @pytest.mark.parametrize("remake", [lambda c: c, lambda c: pickle.loads(pickle.dumps(c)), copy.deepcopy])
    def test_read_only_also_after_a_copy(self, remake):
        constraints = remake(Constraints([(0, 1)], partial_labels=[0, 1]))
        with pytest.raises(ValueError, match="read-only"):
            constraints.must_link[0, 0] = 5
        with pytest.raises(ValueError, match="read-only"):
            constraints.codes[0] = 5
        with pytest.raises(AttributeError, match="must_link"):
            constraints.must_link = None
        with pytest.raises(AttributeError, match="must_link"):
            del constraints.must_link
        assert constraints.must_link.tolist() == [[0, 1]]

    def test_read_only_input(self):
        pairs = np.array([[0, 3], [1, 2]])
        pairs.setflags(write=False)
        assert Constraints(pairs).must_link.tolist() == PAIRS

    def test_repr(self):
        constraints = Constraints(
            [(0, 1)],
            [(0, 2), (1, 2)],
            partial_labels=[0, -1, 1],
            must_link_groups=[0, 0, 1],
            cannot_link_groups=[4] * 3,
        )
        assert repr(constraints) == (
            "Constraints(1 must-link, 2 cannot-links, 2 labelled rows, 2 must-link groups, 1 cannot-link group)"
        )


class TestFurtherPairsAndParts:
    known = Constraints(
        [(0, 1), (4, 2)], [(1, 3)], must_link_weight=[2.0, 0.5], partial_labels=[7, -1, 3, -1, 9],
        cannot_link_groups=["a", None, "a", "b", "b"],
    )  # fmt: skip

    def test_pairs_join_and_the_larger_weight_counts(self):
        priced = self.known.with_pairs([(1, 0), (3, 4)], weight=[9.0, 2.0])
        assert dict(zip(map(tuple, priced.must_link.tolist()), priced.must_link_weight, strict=True))[3, 4] == 2.0
        assert priced.cannot_link.tolist() == self.known.cannot_link.tolist()
        more = self.known.with_pairs([(1, 0), (3, 4)], [(0, 4)], 1.0)
        assert more.must_link.tolist() == [[0, 1], [2, 4], [3, 4]] and more.must_link_weight.tolist() == [2.0, 0.5, 1.0]
        assert more.cannot_link.tolist() == [[0, 4], [1, 3]]
        assert self.known.must_link.tolist() == [[0, 1], [2, 4]]  # the old object is as it was
        np.testing.assert_array_equal(more.codes, self.known.codes)
        with pytest.raises(ConstraintError, match="must_link pair 1 joins row 2 with itself"):
            self.known.with_pairs([(0, 1), (2, 2)])
        with pytest.raises(ConstraintError, match="names row 9, but there are 5 rows"):
            self.known.with_pairs(cannot_link=[(0, 9)]).check_rows(5)

    def test_a_part_speaks_of_its_rows_only(self):
        part = self.known.restricted([2, 3, 4])
        assert part.must_link.tolist() == [[0, 2]] and part.must_link_weight.tolist() == [0.5]
        assert part.cannot_link.tolist() == [] and part.n_rows == 3
        assert part.classes.tolist() == [3, 9] and part.codes.tolist() == [0, -1, 1]
        assert part.cannot_link_groups.codes.tolist() == [0, 1, 1] and part.cannot_link_groups.ids.tolist() == [
            "a",
            "b",
        ]
        assert self.known.restricted([1, 3]).classes.size == 0
        assert self.known.restricted([]).is_empty

    @given(
        st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda p: p[0] != p[1])),
        st.sets(st.integers(0, 9)),
    )
    def test_the_pairs_of_a_part_are_those_inside_it(self, pairs, rows):
        rows = sorted(rows)
        part = Constraints(pairs).restricted(rows)
        inside = {tuple(sorted(pair)) for pair in pairs if set(pair) <= set(rows)}
        assert {(rows[i], rows[j]) for i, j in part.must_link} == inside
