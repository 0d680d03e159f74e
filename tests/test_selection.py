"""Choosing the number of clusters."""

from __future__ import annotations

import numpy as np
import pytest

from hmrf_fast import Constraints, HMRFKMeans, datasets, selection
from hmrf_fast.errors import ConstraintError, EmptyRowsWarning, InputError
from hmrf_fast.protocol import draw_pairs
from hmrf_fast.selection import select_n_clusters

EUCLIDEAN = HMRFKMeans(metric="sqeuclidean", n_init=4)


def blobs(n_blobs: int, seed: int):
    rng = np.random.default_rng(seed)
    classes = np.repeat(np.arange(n_blobs), 20)
    angle = 2 * np.pi * classes / n_blobs
    return 10 * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(size=(classes.size, 2)), classes


@pytest.mark.parametrize("n_blobs", [3, 5])
def test_separate_blobs_are_counted_without_constraints(n_blobs):
    X, _ = blobs(n_blobs, 0)
    chosen = select_n_clusters(X, range(2, 8), estimator=EUCLIDEAN, n_resamples=4, random_state=0)
    assert chosen.n_clusters == n_blobs
    assert np.isnan(chosen.agreement).all()
    assert chosen.candidates.tolist() == list(range(2, 8))
    np.testing.assert_array_equal(chosen.score, chosen.stability)


def test_constraints_decide_what_a_cluster_is():
    X, classes = blobs(6, 1)
    pairs = draw_pairs(classes // 2, np.arange(classes.size), 300, 0)  # two neighbouring blobs are one class
    must_link, cannot_link = pairs.first(300)
    told = select_n_clusters(
        X, range(2, 8), must_link=must_link, cannot_link=cannot_link, estimator=EUCLIDEAN, n_resamples=4, random_state=0
    )
    assert told.n_clusters == 3
    assert told.agreement.max() == told.agreement[1]


def test_the_same_seed_gives_the_same_answer():
    X, y = datasets.load_news_different_3(return_X_y=True)
    must_link, cannot_link = draw_pairs(y, np.arange(y.size), 60, 0).first(60)
    known = Constraints(must_link, cannot_link)
    estimator = HMRFKMeans(n_init=2, random_state=5)
    one, other = (
        select_n_clusters(X, [3, 2], constraints=known, estimator=estimator, n_resamples=2, random_state=0)
        for _ in range(2)
    )
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert estimator.n_clusters == 8 and not hasattr(estimator, "labels_")


@pytest.mark.parametrize("candidates", [[], [1, 2], [2, 49], [2.5], "3"])
def test_wrong_candidates_are_told(candidates):
    with pytest.raises(InputError, match="candidates must"):
        select_n_clusters(blobs(3, 0)[0], candidates)


def test_what_does_not_fit_is_told():
    X = blobs(3, 0)[0]
    with pytest.raises(InputError, match="not both"):
        select_n_clusters(X, [2], must_link=[(0, 1)], constraints=Constraints())
    with pytest.raises(ConstraintError, match="row 60"):
        select_n_clusters(X, [2], must_link=[(0, 60)])


def test_public_names():
    assert dir(selection) == ["Selection", "select_n_clusters"]


def test_rows_that_say_nothing_are_told_of_once_by_their_own_numbers():
    X = np.vstack([np.eye(3).repeat(20, 0) + 0.1, np.zeros((2, 3))])
    with pytest.warns(EmptyRowsWarning) as told:
        select_n_clusters(X, [2, 3], n_resamples=2, random_state=0)
    assert len(told) == 1 and "2 of 62 rows (row 60, 61)" in str(told[0].message)
    assert told[0].filename == __file__


def test_fewer_clusters_than_classes_are_refused_before_the_work():
    X, classes = blobs(4, 0)
    fits = []
    with pytest.raises(InputError, match="no fewer than the 4 classes of partial_labels, got 2: begin at 4"):
        select_n_clusters(X, range(2, 6), constraints=Constraints(partial_labels=classes), callback=fits.append)
    assert not fits
