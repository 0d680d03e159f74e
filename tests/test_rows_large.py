"""A large corpus with 50,000 constraints: the same labels and J wherever its rows live.

A few iterations by default; HMRF_FAST_LONG=1 runs to convergence, with more clusters, and adds a second corpus.
"""

from __future__ import annotations

import itertools
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from hmrf_fast import HMRFKMeans, rows
from hmrf_fast.errors import ConvergenceWarning
from hmrf_fast.kernels.metrics import METRICS

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
LONG = os.environ.get("HMRF_FAST_LONG") == "1"
CORPORA = {"imdb100k": ("large", "film")} | ({"20news_full": ("news", "labels")} if LONG else {})
N_PAIRS = 50_000

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # Dask's own warnings
    pytest.mark.skipif(not (DATA / "large" / "imdb100k.npz").exists(), reason="needs the shared data"),
]


def load(name):
    folder, told = CORPORA[name]
    with np.load(DATA / folder / f"{name}.npz") as file:
        X = sp.csr_matrix((file["counts"].astype(np.float32), file["indices"], file["indptr"]), tuple(file["shape"]))
        group = file[told]
    rng = np.random.default_rng(0)
    order = np.argsort(group, kind="stable")
    first = rng.integers(order.size - 1, size=N_PAIRS)
    together = np.stack([order[first], order[first + 1]], axis=1)
    together = together[group[together[:, 0]] == group[together[:, 1]]][: N_PAIRS // 2]
    apart = rng.integers(X.shape[0], size=(2 * N_PAIRS, 2))
    apart = apart[group[apart[:, 0]] != group[apart[:, 1]]][: N_PAIRS - len(together)]
    return X, {"must_link": together, "cannot_link": apart}


@pytest.fixture(scope="module", params=CORPORA)
def places(request, tmp_path_factory):
    distributed, dask = pytest.importorskip("distributed"), pytest.importorskip("dask")
    X, known = load(request.param)
    assert len(known["must_link"]) + len(known["cannot_link"]) == N_PAIRS
    store = rows.write_matrix(tmp_path_factory.mktemp("large") / "store", X)
    bounds = np.linspace(0, X.shape[0], 4).astype(int)
    with (
        warnings.catch_warnings(),
        distributed.LocalCluster(n_workers=2, processes=True, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster, direct_to_workers=True) as client,
    ):
        parts = [dask.delayed(X[first:last]) for first, last in itertools.pairwise(bounds)]
        yield X, known, rows.DiskRows(store.path, 8), rows.DaskRows(parts, client)


@pytest.mark.parametrize("metric", METRICS)
def test_same_labels_wherever_the_rows_are(places, metric):
    X, known, disk, cluster = places
    n_clusters = 20 if LONG else 6
    drawn = np.random.default_rng(1).choice(X.shape[0], n_clusters, replace=False)
    init = X[np.sort(drawn)].toarray().astype(np.float64)

    def fit(source):
        model = HMRFKMeans(
            n_clusters, metric=metric, init=init, n_init=1, learn_weights=True, max_iter=100 if LONG else 3,
            random_state=0, filter_constraints=False,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(source, **known)

    expected = fit(X)
    assert not np.all(expected.feature_weights_ == 1.0)
    for source in (disk, cluster):
        found = fit(source)
        assert np.array_equal(found.labels_, expected.labels_)
        assert found.objective_ == pytest.approx(expected.objective_, rel=1e-9)
