"""Time per iteration against each size of the problem over two decades: nowhere more than proportional."""

from __future__ import annotations

import numpy as np
import pytest
from corpora import SMALL, uniform
from engine import fit_ours
from side_by_side import growth

from hmrf_fast.protocol import draw_pairs

pytestmark = pytest.mark.filterwarnings("ignore:not converged")

DECADES = (1, 4) if SMALL else (1, 3, 10, 30, 100)


def fits(make, **parameters):
    """Callables and sizes over two decades; ``make(factor)`` gives data, clusters, and what is known of the rows."""
    tasks = []
    for factor in DECADES:
        data, n_clusters, known = make(factor)
        tasks.append(fit_ours(data, n_clusters, known=known, max_iter=2, **parameters))
    return tasks


@pytest.mark.parametrize("learn", [False, True], ids=["fixed", "learning"])
def test_rows(benchmark, learn):
    tasks = fits(lambda factor: (uniform(2_000 * factor, 5_000, 50), 20, None), learn_weights=learn)
    growth(benchmark, "rows", DECADES, tasks)


def test_entries_per_row(benchmark):
    tasks = fits(lambda factor: (uniform(10_000, 20_000, 4 * factor), 20, None))
    growth(benchmark, "non-zeros per row", DECADES, tasks)


def test_clusters(benchmark):
    tasks = fits(lambda factor: (uniform(10_000, 5_000, 50), 10 * factor, None))
    growth(benchmark, "clusters", DECADES, tasks)


def test_features(benchmark):
    """Ever sparser tables: the non-zeros stay, the centroids grow."""
    tasks = fits(lambda factor: (uniform(20_000, 2_000 * factor, 50), 20, None))
    growth(benchmark, "features", DECADES, tasks)


@pytest.mark.parametrize("infer", [False, True], ids=["given", "inferred"])
def test_constraints(benchmark, infer):
    n_rows = 4_000 if SMALL else 100_000
    target = np.random.default_rng(0).integers(n_rows // 20, size=n_rows)

    def make(factor):
        must_link, cannot_link = draw_pairs(target, np.arange(n_rows), 1_000 * factor, 0).first(1_000 * factor)
        return uniform(n_rows, 2_000, 10), 20, {"must_link": must_link, "cannot_link": cannot_link}

    growth(benchmark, "constraints", DECADES, fits(make, infer_constraints=infer))
