"""Given pairs that are probably wrong are found, listed and left out."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmrf_fast import Constraints, HMRFKMeans, datasets
from hmrf_fast.errors import ContradictionWarning, InputError
from hmrf_fast.protocol import draw_pairs
from hmrf_fast.scores import normalized_mutual_information


def turned_round(labels, n_pairs: int, share: float, seed: int):
    """Must-links, cannot-links, and the set of those pairs that are wrong."""
    drawn = draw_pairs(labels, np.arange(labels.size), n_pairs, seed)
    wrong = np.random.default_rng(seed).random(n_pairs) < share
    same = drawn.same_class ^ wrong
    return drawn.pairs[same], drawn.pairs[~same], set(map(tuple, drawn.pairs[wrong].tolist()))


@pytest.fixture(scope="module")
def classic():
    return datasets.load_classic400(return_X_y=True)


def test_wrong_pairs_are_found_and_do_no_harm(classic):
    X, y = classic
    must_link, cannot_link, wrong = turned_round(y, 500, 0.2, 0)
    model = HMRFKMeans(3, random_state=0, filter_constraints="auto")
    with pytest.warns(ContradictionWarning, match="suspects"):
        model.fit(X, must_link=must_link, cannot_link=cannot_link)
    report = model.constraint_report_
    found = {suspect.pair for suspect in report.suspects}
    assert len(found & wrong) >= 0.9 * len(found) and len(found & wrong) > 0.6 * len(wrong)
    misled = HMRFKMeans(3, random_state=0)
    with pytest.warns(ContradictionWarning):
        misled.fit(X, must_link=must_link, cannot_link=cannot_link)
    agreement = [normalized_mutual_information(y, fitted.labels_) for fitted in (model, misled)]
    assert agreement[0] > agreement[1] + 0.3
    assert report.n_must_link + report.n_cannot_link + len(found) == 500
    assert f"{len(found)} given pairs were left out" in str(report)
    chances = [suspect.probability for suspect in report.suspects]
    assert chances == sorted(chances, reverse=True)
    kept = set(map(tuple, np.concatenate([model.constraints_.must_link, model.constraints_.cannot_link]).tolist()))
    assert len(kept) == 500 - len(found) and not kept & found
    assert report.n_contradictions > 0  # of what was given
    assert {suspect.kind for suspect in report.suspects} <= {"must_link", "cannot_link"}


def test_pairs_that_do_not_contradict_are_left_alone(classic):
    X, y = classic
    must_link, cannot_link, _ = turned_round(y, 100, 0.0, 1)
    known = {"must_link": must_link, "cannot_link": cannot_link}
    auto = HMRFKMeans(3, random_state=0, filter_constraints="auto").fit(X, **known)
    never = HMRFKMeans(3, random_state=0).fit(X, **known)
    assert auto.constraint_report_.suspects == ()
    np.testing.assert_array_equal(auto.labels_, never.labels_)
    assert auto.objective_ == never.objective_
    always = HMRFKMeans(3, random_state=0, filter_constraints=True).fit(X, **known)
    assert len(always.constraint_report_.suspects) <= 5


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["cosine", "sqeuclidean", "i_divergence", "pearson"]))
def test_hard_pairs_are_never_doubted(seed, metric):
    rng = np.random.default_rng(seed)
    X = rng.random((30, 8))
    pairs = np.array([(i, j) for i in range(30) for j in range(i)])[rng.permutation(435)[:40]]
    weight = np.where(np.arange(20) < 3, np.inf, 1.0)
    known = Constraints(pairs[:20], pairs[20:], must_link_weight=weight)
    model = HMRFKMeans(3, metric=metric, filter_constraints=True, n_init=2, random_state=0, max_iter=300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContradictionWarning)
        model.fit(X, constraints=known)
    hard = set(map(tuple, np.sort(pairs[:3], axis=1).tolist()))
    suspects = model.constraint_report_.suspects
    assert not hard & {suspect.pair for suspect in suspects if suspect.kind == "must_link"}
    assert all(0.0 <= suspect.probability <= 1.0 for suspect in suspects)
    assert hard <= set(map(tuple, model.constraints_.must_link.tolist()))


def test_corrections_keep_the_list_of_suspects(classic):
    X, y = classic
    must_link, cannot_link, _ = turned_round(y, 500, 0.2, 2)
    model = HMRFKMeans(3, random_state=0)
    with pytest.warns(ContradictionWarning):
        model.fit(X, must_link=must_link, cannot_link=cannot_link)
    before = model.constraint_report_.suspects
    free = np.setdiff1d(np.arange(y.size), np.concatenate([must_link, cannot_link]))
    row = int(free[0]) if free.size else 0
    model.move(row, int(model.labels_[row]))
    assert model.constraint_report_.suspects == before


def test_wrong_parameter_is_told():
    with pytest.raises(InputError, match="filter_constraints must be"):
        HMRFKMeans(2, filter_constraints="always").fit(np.eye(4))
