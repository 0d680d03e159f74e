"""Whole iterations, as a fit from a given start does them: seconds of the fit / number of iterations."""

from __future__ import annotations

import numpy as np
import opponents
import pytest
from corpora import SMALL, first_centers, load, names
from engine import ITERATIONS, fit_ours
from side_by_side import record

# The number of iterations is given, so hardly any fit converges, here or there.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:not converged")

LLOYD = {3: 1 / 2, 20: 1 / 6, 100: 1 / 25}
LLOYD_TWO_THREADS = {3: 1 / 1.3, 20: 1 / 4, 100: 1 / 25}
ONE = "one thread"


def measure(benchmark, ours, rivals, targets, n_clusters: int) -> None:
    """Rivals take half a minute per fit with many clusters: once must do."""
    many = n_clusters > 20
    if many:
        ours()  # compiles
    record(benchmark, ours, rivals, targets=targets, rounds=1 if many else 3, warm=not many)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("n_clusters", [3, 20] if SMALL else [3, 20, 100])
@pytest.mark.parametrize("corpus", names())
def test_one_thread(benchmark, corpus, n_clusters, dtype):
    if n_clusters == 100 and not (corpus == "20news" and dtype is np.float32):
        pytest.skip("the rivals take minutes and say nothing more")
    data = load(corpus).rows(dtype=dtype)
    start = first_centers(data, n_clusters)
    aimed = corpus == "20news" and dtype is np.float32
    rivals = {
        opponents.LLOYD: opponents.sklearn_fit(data, start, ITERATIONS),
        opponents.ELKAN: opponents.sklearn_fit(data, start, ITERATIONS, "elkan"),
        opponents.SPARSEKMEANS: opponents.sparsekmeans_fit(data, start, ITERATIONS),
    }
    targets = {opponents.LLOYD: LLOYD[n_clusters], opponents.SPARSEKMEANS: 1 / 4} if aimed else {}
    measure(benchmark, fit_ours(data, n_clusters), rivals, targets, n_clusters)


@pytest.mark.parametrize("n_clusters", [3, 20] if SMALL else [3, 20, 100])
@pytest.mark.parametrize("corpus", names())
def test_two_threads(benchmark, corpus, n_clusters):
    if n_clusters == 100 and corpus != "20news":
        pytest.skip("the rival takes minutes and says nothing more")
    data = load(corpus).rows(dtype=np.float32)
    two, one = (fit_ours(data, n_clusters, n_threads=count) for count in (2, 1))
    rivals = {
        ONE: one,
        opponents.LLOYD: opponents.sklearn_fit(data, first_centers(data, n_clusters), ITERATIONS, n_threads=2),
    }
    aimed = corpus == "20news"
    targets = (
        {ONE: 1 / 1.5 if n_clusters > 3 else None, opponents.LLOYD: LLOYD_TWO_THREADS[n_clusters]} if aimed else {}
    )
    measure(benchmark, two, rivals, targets, n_clusters)


@pytest.mark.parametrize("metric", ["i_divergence", "sqeuclidean", "pearson"])
@pytest.mark.parametrize("n_clusters", [20] if SMALL else [20, 100])
@pytest.mark.parametrize("corpus", names())
def test_metric(benchmark, corpus, n_clusters, metric):
    text = load(corpus)
    cosine = fit_ours(text.rows(), n_clusters)
    other = fit_ours(text.rows("counts" if metric == "i_divergence" else "tfidf"), n_clusters, metric=metric)
    record(benchmark, other, {"metric='cosine'": cosine}, rounds=3)
