"""The slope of J by the feature weights, and iterations that learn them."""

from __future__ import annotations

import numpy as np
import pytest
from corpora import SMALL, load, names
from engine import fit_ours, state
from side_by_side import record

pytestmark = pytest.mark.filterwarnings("ignore:not converged")
FIXED = "the same with fixed weights"


@pytest.mark.parametrize("metric", ["cosine", "i_divergence", "sqeuclidean"])
@pytest.mark.parametrize("n_clusters", [20] if SMALL else [20, 100])
@pytest.mark.parametrize("corpus", names())
def test_gradient(benchmark, corpus, n_clusters, metric):
    at = state(
        load(corpus).rows("counts" if metric == "i_divergence" else "tfidf", np.float32), n_clusters, metric=metric
    )
    record(benchmark, at.gradient(), {"the E-step": at.e_step()})


@pytest.mark.parametrize("n_clusters", [20] if SMALL else [20, 100])
@pytest.mark.parametrize("corpus", names())
def test_learning_iteration(benchmark, corpus, n_clusters):
    data = load(corpus).rows(dtype=np.float32)
    learned, fixed = (fit_ours(data, n_clusters, learn_weights=learn) for learn in (True, False))
    target = {20: 1.6, 100: 1.35}[n_clusters] if corpus == "20news" else None
    record(benchmark, learned, {FIXED: fixed}, targets={FIXED: target}, rounds=5)
