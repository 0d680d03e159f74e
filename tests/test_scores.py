"""Scores, compared with counting pairs one by one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrf_fast import Constraints, scores
from hmrf_fast.errors import ConstraintError, InputError


@st.composite
def two_labelings(draw):
    size = draw(st.integers(2, 12))
    labels = st.lists(st.integers(0, 3), min_size=size, max_size=size)
    ends = st.integers(0, size - 1)
    pairs = draw(st.lists(st.tuples(ends, ends).filter(lambda pair: pair[0] != pair[1]), max_size=10))
    return np.array(draw(labels)), np.array(draw(labels)), pairs


@given(two_labelings())
def test_pairwise_f_measure_counts_pairs(case):
    classes, clusters, pairs = case
    excluded = {frozenset(pair) for pair in pairs}
    counted = [pair for pair in combinations(range(classes.size), 2) if frozenset(pair) not in excluded]
    same_class = [classes[i] == classes[j] for i, j in counted]
    same_cluster = [clusters[i] == clusters[j] for i, j in counted]
    right = sum(a and b for a, b in zip(same_class, same_cluster, strict=True))
    total = sum(same_class) + sum(same_cluster)
    expected = 2 * right / total if total else 1.0
    assert scores.pairwise_f_measure(classes, clusters, excluded_pairs=pairs) == pytest.approx(expected)
    if not excluded:
        assert scores.pairwise_f_measure(classes, clusters) == pytest.approx(expected)


@given(two_labelings())
def test_normalised_and_plain_mutual_information_agree(case):
    classes, clusters, _ = case
    plain = scores.mutual_information(classes, clusters)
    entropies = scores.mutual_information(classes, classes) + scores.mutual_information(clusters, clusters)
    normalised = scores.normalized_mutual_information(classes, clusters)
    assert normalised == pytest.approx(2 * plain / entropies if entropies > 1e-12 else 1.0, abs=1e-9)


def test_mutual_information_is_in_nats():
    assert scores.mutual_information([0, 0, 1, 1], [5, 5, 3, 3]) == pytest.approx(np.log(2))
    assert scores.mutual_information([0, 0, 1, 1], [0, 1, 0, 1]) == pytest.approx(0.0)


@given(two_labelings())
def test_satisfied_constraints_are_counted(case):
    classes, clusters, pairs = case
    distinct = {tuple(sorted(pair)) for pair in pairs}
    must = [pair for pair in distinct if classes[pair[0]] == classes[pair[1]]]
    cannot = [pair for pair in distinct if classes[pair[0]] != classes[pair[1]]]
    kept = sum(clusters[i] == clusters[j] for i, j in must) + sum(clusters[i] != clusters[j] for i, j in cannot)
    expected = kept / len(distinct) if distinct else 1.0
    found = scores.constraint_satisfaction(clusters, must_link=must or None, cannot_link=cannot or None)
    assert found == pytest.approx(expected)


def test_satisfaction_counts_pairs_of_labels_and_groups():
    known = Constraints(cannot_link=[(0, 3)], partial_labels=[0, 0, 1, -1])  # 1 pair, 1 of one class, 2 of two classes
    assert scores.constraint_satisfaction([0, 0, 0, 1], constraints=known) == pytest.approx(0.5)


def test_wrong_pairs_are_told():
    with pytest.raises(ConstraintError, match="7"):
        scores.pairwise_f_measure([0, 1], [0, 1], excluded_pairs=[(0, 7)])
    with pytest.raises(ConstraintError, match="7"):
        scores.constraint_satisfaction([0, 1], must_link=[(0, 7)])
    with pytest.raises(InputError, match="not both"):
        scores.constraint_satisfaction([0, 1], must_link=[(0, 1)], constraints=Constraints())
