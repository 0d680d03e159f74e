"""Whole fits: to the end, with and without exact pruning, and beside the constrained k-means that people use."""

from __future__ import annotations

import numpy as np
import opponents
import pytest
from corpora import LONG, SMALL, all_names, first_centers, load
from engine import fit_ours, unpruned
from side_by_side import record
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs
from threadpoolctl import threadpool_limits

from hmrf_fast import HMRFKMeans, PCKMeans
from hmrf_fast.protocol import draw_pairs

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:not converged")

PLAIN = "the same without pruning"
PRUNING = {5: None} if SMALL else {20: 1 / 0.97, 100: 1 / 1.5, 1000: 1 / 3} | ({10_000: 1 / 8} if LONG else {})


@pytest.mark.parametrize("n_clusters", PRUNING)
def test_pruning(benchmark, n_clusters):
    """Up to 40 iterations (15 with many clusters) from rows; labels are the same bits either way."""
    data = load("zipf" if SMALL else "imdb").rows(dtype=np.float32)
    fit = fit_ours(data, n_clusters, tol=1e-4, max_iter=40 if n_clusters < 1000 else 15)
    rounds = 1 if n_clusters > 20 else 2
    record(benchmark, fit, {PLAIN: unpruned(fit)}, targets={PLAIN: PRUNING[n_clusters]}, rounds=rounds)


@pytest.mark.parametrize("corpus", all_names())
def test_from_rows(benchmark, corpus):
    """Fits to convergence from the same rows; the two ways to get there differ."""
    data = load(corpus).rows(dtype=np.float32)
    n_clusters = int(max(load(corpus).target.max() + 1, 10))
    start = first_centers(data, n_clusters)

    def lloyd():
        with threadpool_limits(1):
            KMeans(n_clusters, init=start, n_init=1, max_iter=100).fit(data)

    ours = fit_ours(data, n_clusters, tol=1e-4, max_iter=100)
    record(benchmark, lambda: ours() and None, {f"{opponents.LLOYD}, whole fit": lloyd}, rounds=2)


@pytest.mark.parametrize("corpus", ["news"] if SMALL else ["20news", "k1", "ohscal"])
def test_defaults(benchmark, corpus):
    """All starts that a fit tries by default, against ten of scikit-learn."""
    text = load(corpus)
    data, n_clusters = text.rows(dtype=np.float32), int(text.target.max()) + 1

    def lloyd():
        with threadpool_limits(1):
            KMeans(n_clusters, n_init=10, random_state=0).fit(data)

    model = HMRFKMeans(n_clusters, random_state=0, n_threads=1)
    record(benchmark, lambda: model.fit(data) is None, {"sklearn lloyd, n_init=10": lloyd}, rounds=1, warm=False)


def blobs(n_rows: int, n_pairs: int):
    data, target = make_blobs(n_rows, 16, centers=10, cluster_std=6.0, random_state=0)
    return data, draw_pairs(target, np.arange(n_rows), n_pairs, 0).first(n_pairs)


@pytest.mark.parametrize("n_rows", [200] if SMALL else [2_000, 10_000])
def test_pairs_on_dense_rows(benchmark, n_rows):
    """500 pairs (50 of few rows), one start from the neighbourhoods on both sides."""
    data, (must_link, cannot_link) = blobs(n_rows, 50 if SMALL else 500)
    model = PCKMeans(10, init="neighborhoods", n_init=1, random_state=0, n_threads=1)
    rivals = {opponents.PCKMEANS: opponents.pckmeans_fit(data, 10, must_link, cannot_link)}
    targets = {opponents.PCKMEANS: {2_000: 1 / 500, 10_000: 1 / 2_000}.get(n_rows)}
    model.fit(data, must_link=must_link, cannot_link=cannot_link)
    fit = lambda: model.fit(data, must_link=must_link, cannot_link=cannot_link) is None  # noqa: E731
    record(benchmark, fit, rivals, targets=targets, rounds=1, warm=False)


@pytest.mark.filterwarnings("ignore:.*entailed pairs are too many to list")
def test_many_pairs_on_few_rows(benchmark):
    """10,000 pairs on 2,000 rows, which no rival finishes: seconds, which should stay below 0.1."""
    data, (must_link, cannot_link) = blobs(200 if SMALL else 2_000, 400 if SMALL else 10_000)
    model = PCKMeans(10, init="neighborhoods", n_init=1, random_state=0, n_threads=1)
    fit = lambda: model.fit(data, must_link=must_link, cannot_link=cannot_link) is None  # noqa: E731
    model.fit(data, must_link=must_link, cannot_link=cannot_link)
    record(benchmark, fit, {}, rounds=3, most_seconds=0.1)


@pytest.mark.skipif(not LONG, reason="the rival takes minutes")
def test_learned_metric_on_digits(benchmark):
    data, target = load_digits(return_X_y=True)
    must_link, cannot_link = draw_pairs(target, np.arange(target.size), 200, 0).first(200)
    model = HMRFKMeans(
        10, metric="sqeuclidean", learn_weights=True, init="neighborhoods", n_init=1, random_state=0, n_threads=1
    )
    rivals = {opponents.MPCKMEANS: opponents.pckmeans_fit(data, 10, must_link, cannot_link, "MPCKMeans")}
    model.fit(data, must_link=must_link, cannot_link=cannot_link)
    fit = lambda: model.fit(data, must_link=must_link, cannot_link=cannot_link) is None  # noqa: E731
    record(benchmark, fit, rivals, targets={opponents.MPCKMEANS: 1e-3}, rounds=1, warm=False)
