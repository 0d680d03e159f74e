"""Rows on the worker processes of a Dask cluster give the labels of rows in memory, also when a worker is lost."""

from __future__ import annotations

import itertools
import os
import signal
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from hmrf_fast import HMRFKMeans, rows
from hmrf_fast.errors import ConvergenceWarning, InputError
from hmrf_fast.geometry import build_problem
from hmrf_fast.inputs import as_corpus
from hmrf_fast.kernels.metrics import METRICS
from hmrf_fast.low_rank import coordinates, singular_vectors
from hmrf_fast.penalties import empty_graph
from hmrf_fast.rows import window
from hmrf_fast.rows.crew import FEW
from hmrf_fast.rows.memory import MemoryRows

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
array = pytest.importorskip("dask.array")

# Dask's own warnings, of sockets and event loops that it leaves to be collected.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def client():
    with (
        warnings.catch_warnings(),
        distributed.LocalCluster(n_workers=2, processes=True, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def corpus(n_rows=400, n_features=80):
    rng = np.random.default_rng(1)
    group = rng.integers(4, size=n_rows)
    counts = rng.poisson((rng.gamma(0.3, 1.0, (4, n_features)) + 0.05)[group]).astype(float)
    counts[counts.any(1) == 0, 0] = 1.0
    drawn = rng.integers(n_rows, size=(150, 2))
    drawn = drawn[drawn[:, 0] != drawn[:, 1]]
    same = group[drawn[:, 0]] == group[drawn[:, 1]]
    return sp.csr_matrix(counts), {"must_link": drawn[same], "cannot_link": drawn[~same]}


def pieces(X, bounds):
    return [dask.delayed(X[first:last]) for first, last in itertools.pairwise(bounds)]


def fit(X, known, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return HMRFKMeans(4, random_state=3, max_iter=8, n_init=1, **parameters).fit(X, **known)


def assert_same(one, other):
    assert np.array_equal(one.labels_, other.labels_)
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-9)


@pytest.mark.parametrize("learn_weights", [False, True], ids=["plain", "learned"])
@pytest.mark.parametrize("metric", METRICS)
def test_labels_are_those_of_memory(client, metric, learn_weights):
    X, known = corpus()
    settings = {"metric": metric, "learn_weights": learn_weights, "init": "k-means++"}
    expected = fit(X, known, **settings)
    there = rows.DaskRows(pieces(X, [0, 10, 150, 151, 400]), client)
    found = fit(there, known, **settings)
    assert_same(found, expected)
    assert np.array_equal(found.predict(there), expected.predict(X))


def test_many_clusters_of_which_most_are_left_out(client):
    X, _ = corpus(1500)
    model = HMRFKMeans(140, init="k-means++", n_init=1, max_iter=6, random_state=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        expected = clone(model).fit(X)
        found = clone(model).fit(rows.DaskRows(pieces(X, [0, 10, 700, 701, 1500]), client))
    assert_same(found, expected)


def test_the_low_rank_start_leaves_rows_where_they_are(client, monkeypatch):
    X, known = corpus()
    partitions = ([0, 10, 150, 151, 400], [0, 400])
    for metric in METRICS:
        found = []
        for there in (MemoryRows(as_corpus(X)), *(rows.DaskRows(pieces(X, bounds), client) for bounds in partitions)):
            monkeypatch.setattr(there, "spans", None) if isinstance(there, rows.DaskRows) else None
            problem = build_problem(there, metric, np.arange(400) % 3 + 0.5, empty_graph(), 4)
            right = singular_vectors(problem, 10, np.random.default_rng(0))
            found.append((right, coordinates(problem, right)))
        for other in found[1:]:
            assert all(np.array_equal(one, two) for one, two in zip(found[0], other, strict=True))
        monkeypatch.undo()
    settings = {"init": "low_rank", "learn_weights": True}
    assert_same(fit(rows.DaskRows(pieces(X, [0, 10, 400]), client), known, **settings), fit(X, known, **settings))


@pytest.mark.parametrize("init", ["auto", "neighborhoods"])
def test_every_kind_of_source(client, tmp_path, init):
    X, known = corpus()
    expected = fit(X, known, init=init)
    store = rows.DiskRows(rows.write_matrix(tmp_path / "store", X).path, 0.01)
    chunked = array.from_array(X.toarray(), chunks=(130, 80)).map_blocks(sp.csr_matrix)
    for source in (rows.DaskRows(store), chunked, pieces(X, [0, 200, 400])):
        assert_same(fit(source, known, init=init), expected)


def test_partitions_that_do_not_fit_are_refused(client):
    X, _ = corpus()
    with pytest.raises(InputError, match=r"\[70, 80\] features"):
        rows.DaskRows([dask.delayed(X[:5]), dask.delayed(X[5:, :70])])
    with pytest.raises(InputError, match="whole rows"):
        rows.DaskRows(array.from_array(X.toarray(), chunks=(200, 40)))
    with pytest.raises(InputError, match="NaN at row 0"):
        rows.DaskRows([dask.delayed(sp.csr_matrix([[np.nan]]))])


@pytest.mark.parametrize("together", [True, False], ids=["one machine", "many machines"])
def test_many_workers_hand_tables_on(monkeypatch, together):
    X, known = corpus()
    expected = fit(X, known, init="k-means++")
    if not together:
        monkeypatch.setattr(window, "FOLDER", "/nowhere")  # as if the workers were on other machines
    with (
        distributed.LocalCluster(
            n_workers=FEW + 2, processes=False, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as many,
    ):
        there = rows.DaskRows(pieces(X, np.linspace(0, 400, 2 * FEW + 4).astype(int)), many)
        assert_same(fit(there, known, init="k-means++"), expected)
        assert len({min(each) for each in many.who_has(there._parts).values()}) > FEW  # else no table was handed on
        learned = {"init": "k-means++", "learn_weights": True, "metric": "i_divergence"}
        assert_same(fit(there, known, **learned), fit(X, known, **learned))


def test_a_killed_worker_costs_only_its_blocks(client):
    X, known = corpus()
    settings = {"init": "k-means++", "tol": 0.0}
    expected, killed = fit(X, known, **settings), []

    def kill(state):
        if state["iteration"] == 2:
            pid = next(iter(client.run(os.getpid).values()))
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    found = fit(rows.DaskRows(pieces(X, [0, 100, 200, 300, 400]), client), known, callback=kill, **settings)
    assert killed and killed[0] not in client.run(os.getpid).values()
    assert_same(found, expected)


def test_rows_come_back_as_they_were_sent(client):
    X, _ = corpus()
    there = rows.DaskRows(pieces(X, [0, 10, 150, 150, 400]), client)
    wanted = np.array([3, 160, 399])
    for chosen, expected in ((None, [0, 10, 150]), (wanted, [0, 150]), (np.array([12]), [10])):
        blocks = list(there.spans(wanted=chosen))
        assert [one.first for one in blocks] == expected
        for one in blocks:
            part = X[one.first : one.first + one.n_rows]
            assert np.array_equal(one.corpus.indptr, part.indptr) and np.array_equal(one.corpus.indices, part.indices)
            assert np.array_equal(one.corpus.values, part.data)
    assert there.take(np.empty(0, np.int64)).corpus.indptr.tolist() == [0]


def test_an_error_of_the_work_is_no_lost_worker(client):
    """It is told as it is, once, and the next fit starts from keepers that hold nothing of it."""
    X, known = corpus()
    there = rows.DaskRows(pieces(X, [0, 200, 400]), client)

    def divide(block, numbers, shares):
        shares[:] = 1.0
        raise ZeroDivisionError(f"block of row {block.first}")

    shares = np.zeros(400)
    with pytest.raises(ZeroDivisionError, match="block of row"):
        list(there.map(divide, outputs=(shares,)))
    assert not shares.any()
    assert_same(fit(there, known, init="k-means++"), fit(X, known, init="k-means++"))


def test_an_interrupted_pass_is_left_alone(client, tmp_path):
    """Its keeper may go on for a while, and must not find what the next pass is about in the memory they share."""
    X, _ = corpus()
    there = rows.DaskRows(pieces(X, [0, 400]), client)

    def add_late(block, numbers, told, table):
        if told:
            os.kill(int(told), signal.SIGINT)
            time.sleep(1.0)
            (tmp_path / "late").write_text(str(table.sum()))
        return table.sum()

    with pytest.raises(KeyboardInterrupt):
        list(there.map(add_late, shared=(os.getpid(), np.ones(1000))))
    assert list(there.map(add_late, shared=(0, np.full(1000, 7.0)))) == [7000.0]
    assert (tmp_path / "late").read_text() == "1000.0"
