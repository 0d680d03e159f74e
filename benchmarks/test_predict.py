"""Rows that a model has not seen: labels, and distances to all centroids."""

from __future__ import annotations

import numpy as np
import pytest
from corpora import SMALL, first_centers, load, names
from side_by_side import record
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from hmrf_fast import HMRFKMeans

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:not converged")


def fitted(data, n_clusters: int):
    """Ours and scikit-learn's, after an iteration from the same start."""
    start = first_centers(data, n_clusters)
    ours = HMRFKMeans(n_clusters, init=start, max_iter=1, n_threads=1, random_state=0).fit(data)
    return ours, KMeans(n_clusters, init=start, n_init=1, max_iter=1).fit(data)


@pytest.mark.parametrize("method", ["predict", "transform"])
@pytest.mark.parametrize("n_clusters", [20] if SMALL else [20, 100])
@pytest.mark.parametrize("corpus", names())
def test_new_rows(benchmark, corpus, n_clusters, method):
    data = load(corpus).rows(dtype=np.float32)
    ours, theirs = fitted(data, n_clusters)

    def rival():
        with threadpool_limits(1):
            getattr(theirs, method)(data)

    record(benchmark, lambda: getattr(ours, method)(data) is None, {f"sklearn KMeans.{method}": rival}, rounds=5)


@pytest.mark.parametrize("corpus", names())
def test_one_row(benchmark, corpus):
    """A call for a single row pays for the table of centroids."""
    data = load(corpus).rows(dtype=np.float32)
    ours, theirs = fitted(data, 20)
    row = data[:1]
    record(
        benchmark, lambda: ours.predict(row) is None, {"sklearn KMeans.predict": lambda: theirs.predict(row) is None}
    )
