"""The E-step with its choice of the nearest centroid, against sparse-dense products of the same matrix alone."""

from __future__ import annotations

import numpy as np
import opponents
import pytest
from corpora import SMALL, load, names
from engine import state
from side_by_side import record

from hmrf_fast.e_step import build_table

FEW, USUAL, MANY = (3, 20, 5) if SMALL else (3, 20, 100)
TARGETS = {
    (3, "float32"): 0.8,
    (20, "float32"): 0.55,
    (100, "float32"): 0.35,
    (1000, "float32"): 0.25,
    (20, "float64"): 0.6,
}


def against_products(benchmark, corpus: str, n_clusters: int, dtype, rounds: int) -> None:
    data = load(corpus).rows(dtype=dtype)
    at = state(data, n_clusters)
    dense = np.ascontiguousarray(at.clusters.weighted.T.astype(dtype))
    target = TARGETS.get((n_clusters, np.dtype(dtype).name)) if corpus == "20news" else None
    rivals = {opponents.MKL: opponents.mkl_product(data, dense), opponents.SCIPY: opponents.scipy_product(data, dense)}
    record(benchmark, at.e_step(), rivals, targets={opponents.MKL: target}, rounds=rounds, nnz=int(data.nnz))


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("n_clusters", [FEW, USUAL, MANY])
@pytest.mark.parametrize("corpus", names())
def test_nearest_centroids(benchmark, corpus, n_clusters, dtype):
    against_products(benchmark, corpus, n_clusters, dtype, rounds=11)


@pytest.mark.skipif(SMALL, reason="large by design")
def test_a_thousand_clusters(benchmark):
    against_products(benchmark, "20news", 1000, np.float32, rounds=3)


@pytest.mark.parametrize("metric", ["i_divergence", "sqeuclidean", "pearson"])
@pytest.mark.parametrize("n_clusters", [USUAL, MANY])
@pytest.mark.parametrize("corpus", names())
def test_metrics(benchmark, corpus, n_clusters, metric):
    """The tables of other metrics are read by the same kernel."""
    text = load(corpus)
    cosine = state(text.rows(), n_clusters).e_step()
    other = state(text.rows("counts" if metric == "i_divergence" else "tfidf"), n_clusters, metric=metric).e_step()
    target = None if metric == "pearson" else 1.1
    record(benchmark, other, {"metric='cosine'": cosine}, targets={"metric='cosine'": target})


@pytest.mark.parametrize("n_clusters", [USUAL, MANY])
@pytest.mark.parametrize("corpus", names())
def test_table(benchmark, corpus, n_clusters):
    """What an iteration pays for new centroids before any row is read."""
    at = state(load(corpus).rows(dtype=np.float32), n_clusters)
    record(benchmark, lambda: build_table(at.problem, at.clusters) is None, {"the E-step that reads it": at.e_step()})
