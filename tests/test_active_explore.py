"""Active learning: what Explore visits, on outliers, on news and on many rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hmrf_fast import datasets
from hmrf_fast.active import ExploreConsolidate, LabelOracle

LARGE = Path(__file__).resolve().parents[2] / "shared" / "data" / "large" / "imdb100k.npz"


def until_all_found(X, truth, k, explore, seed):
    """Number of questions until each of the k classes has a neighbourhood."""
    learner = ExploreConsolidate(k, budget=None, explore=explore, random_state=seed).start(X)
    while len(learner.neighborhoods_) < k:
        pairs = learner.ask()
        learner.tell(pairs, [truth[i] == truth[j] for i, j in pairs])
    return learner.n_queries_


def test_density_does_not_chase_outliers():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(3), 40)
    X = rng.random((120, 30)) * np.kron(np.eye(3), np.ones((40, 10)))
    outliers = np.zeros((120, 24))
    odd = rng.choice(np.flatnonzero(truth == 0), 24, replace=False)  # all of one class, each far from everything
    X[odd], outliers[odd, np.arange(24)] = 0.0, 1.0
    X = np.hstack([X, outliers])
    counts = {e: [until_all_found(X, truth, 3, e, seed) for seed in range(5)] for e in ("farthest", "density")}
    assert max(counts["density"]) <= 5 and min(counts["farthest"]) > 20


@pytest.mark.parametrize("name", ["news_different_3", "news_related_3", "news_similar_3"])
def test_density_finds_the_news_groups_sooner(name):
    X, truth = datasets.load(name, return_X_y=True)
    counts = {e: [until_all_found(X, truth, 3, e, seed) for seed in range(5)] for e in ("farthest", "density")}
    assert 2 * np.mean(counts["density"]) < np.mean(counts["farthest"])


@pytest.mark.skipif(not LARGE.exists(), reason="needs the large data sets")
def test_a_hundred_thousand_rows():
    with np.load(LARGE) as arrays:
        X, truth = datasets.sparse_from_arrays(arrays, "counts", np.float32), arrays["labels"].astype(int)
    learner = ExploreConsolidate(3, budget=30, random_state=0).fit(X, oracle=LabelOracle(truth + 1))
    assert learner.n_queries_ == 30 and len(learner.neighborhoods_) == 3
    for i, j in learner.constraints_.must_link.tolist():
        assert truth[i] == truth[j]
