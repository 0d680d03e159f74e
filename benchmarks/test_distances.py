"""The E-step with its choice of the nearest centroid, against scipy's product of the same matrix alone."""

from __future__ import annotations

import numpy as np
import pytest
from corpora import first_centers, load, names
from side_by_side import record

from hmrf_fast.e_step import build_table, nearest_centroids
from hmrf_fast.geometry import build_problem, measure
from hmrf_fast.inputs import as_corpus
from hmrf_fast.penalties import empty_graph


def prepare(data, n_clusters: int):
    """Everything that the E-step needs, and the K unit centroids as a dense (d, K) matrix."""
    centers = first_centers(data, n_clusters).astype(np.float64)
    problem = build_problem(as_corpus(data), "cosine", np.ones(data.shape[0]), empty_graph(), n_clusters)
    weights = np.ones(data.shape[1])
    clusters = problem.metric.cluster_terms(centers, weights, 0.0)
    query = problem, measure(problem, weights), clusters, build_table(problem, clusters)
    return query, np.ascontiguousarray(clusters.weighted.T.astype(data.dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("n_clusters", [3, 20, 100])
@pytest.mark.parametrize("corpus", names())
def test_nearest_centroids(benchmark, corpus, n_clusters, dtype):
    data = load(corpus).rows(dtype=dtype)
    query, dense = prepare(data, n_clusters)

    def ours():
        nearest_centroids(*query)

    def product():
        data @ dense

    record(benchmark, ours, product, against="csr @ dense of scipy, product alone", rounds=15, nnz=int(data.nnz))


@pytest.mark.parametrize("n_clusters", [20, 100])
@pytest.mark.parametrize("corpus", names())
def test_table(benchmark, corpus, n_clusters):
    """What an iteration pays for new centroids before any row is read."""
    query, _ = prepare(load(corpus).rows(dtype=np.float32), n_clusters)
    problem, _, clusters, _ = query

    def ours():
        build_table(problem, clusters)

    def e_step():
        nearest_centroids(*query)

    record(benchmark, ours, e_step, against="the E-step that reads the table", rounds=15)
