"""Centroid sums: of all rows, and brought up to date where a few rows moved."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from corpora import SMALL, load, names
from engine import state
from side_by_side import record

from hmrf_fast.m_step import sum_rows, update_sums

E_STEP, PRODUCT = "the E-step", "scipy indicator @ csr"


@pytest.mark.parametrize("n_clusters", [20] if SMALL else [20, 100])
@pytest.mark.parametrize("corpus", names())
def test_all_rows(benchmark, corpus, n_clusters):
    data = load(corpus).rows(dtype=np.float32)
    at = state(data, n_clusters)
    n_rows = data.shape[0]
    cells = np.ones(n_rows, np.float32), (at.labels, np.arange(n_rows))
    member = sp.csr_matrix(cells, shape=(n_clusters, n_rows))
    rivals = {PRODUCT: lambda: (member @ data) is None, E_STEP: at.e_step()}
    record(benchmark, lambda: sum_rows(at.problem, at.geometry, at.labels) is None, rivals)


@pytest.mark.parametrize("n_clusters", [20] if SMALL else [20, 100])
@pytest.mark.parametrize("corpus", names())
def test_a_twentieth_moved(benchmark, corpus, n_clusters):
    at = state(load(corpus).rows(dtype=np.float32), n_clusters)
    n_rows, rng = at.labels.size, np.random.default_rng(0)
    moved = at.labels.copy()
    chosen = rng.choice(n_rows, n_rows // 20, replace=False)
    moved[chosen] = rng.integers(n_clusters, size=chosen.size)
    sums = sum_rows(at.problem, at.geometry, at.labels)

    def there_and_back() -> int:
        for labels in (moved, at.labels):
            update_sums(at.problem, at.geometry, sums, labels)
        return 2

    record(benchmark, there_and_back, {"all rows anew": lambda: sum_rows(at.problem, at.geometry, at.labels) is None})
