"""Whole iterations, as a fit from a given start does them: seconds of the fit / number of iterations."""

from __future__ import annotations

import numpy as np
import pytest
from corpora import SMALL, first_centers, load, names
from side_by_side import record
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from hmrf_fast import HMRFKMeans

ITERATIONS = 2 if SMALL else 10

# The number of iterations is given, so hardly any fit converges, here or there.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:not converged")


def fit_ours(data, n_clusters: int, *, n_threads: int = 1, **parameters):
    """A callable that fits from a fixed start and returns the number of iterations."""
    start = first_centers(data, n_clusters)
    fixed = {"init": start, "n_init": 1, "tol": 0, "max_iter": ITERATIONS, "random_state": 0}
    model = HMRFKMeans(n_clusters, n_threads=n_threads, **fixed, **parameters)
    return lambda: model.fit(data).n_iter_


def fit_lloyd(data, n_clusters: int):
    """The same for scikit-learn."""
    model = KMeans(
        n_clusters, init=first_centers(data, n_clusters), n_init=1, tol=0, max_iter=ITERATIONS, algorithm="lloyd"
    )

    def fit():
        with threadpool_limits(1):
            return model.fit(data).n_iter_

    return fit


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("n_clusters", [3, 20, 100])
@pytest.mark.parametrize("corpus", names())
def test_against_lloyd(benchmark, corpus, n_clusters, dtype):
    data = load(corpus).rows(dtype=dtype)
    record(
        benchmark,
        fit_ours(data, n_clusters),
        fit_lloyd(data, n_clusters),
        against="iteration of scikit-learn's KMeans(algorithm='lloyd'), 1 thread",
        rounds=3 if n_clusters > 20 else 5,
        iterations=ITERATIONS,
    )


@pytest.mark.parametrize("n_clusters", [20, 100])
@pytest.mark.parametrize("corpus", names())
def test_learned_weights(benchmark, corpus, n_clusters):
    data = load(corpus).rows()
    learned, fixed = (fit_ours(data, n_clusters, learn_weights=learn) for learn in (True, False))
    record(benchmark, learned, fixed, against="the same with fixed weights", rounds=5)


@pytest.mark.parametrize("metric", ["i_divergence", "sqeuclidean", "pearson"])
@pytest.mark.parametrize("n_clusters", [20, 100])
@pytest.mark.parametrize("corpus", names())
def test_metric(benchmark, corpus, n_clusters, metric):
    text = load(corpus)
    cosine = fit_ours(text.rows(), n_clusters)
    other = fit_ours(text.rows("counts" if metric == "i_divergence" else "tfidf"), n_clusters, metric=metric)
    record(benchmark, other, cosine, against="metric='cosine'", rounds=5)


@pytest.mark.parametrize("n_clusters", [20, 100])
@pytest.mark.parametrize("corpus", names())
def test_two_threads(benchmark, corpus, n_clusters):
    data = load(corpus).rows(dtype=np.float32)
    two, one = (fit_ours(data, n_clusters, n_threads=count) for count in (2, 1))
    record(benchmark, two, one, against="one thread", rounds=5)
