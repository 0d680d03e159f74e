"""Rows on disk give what rows in memory give, to the last bit, and refuse what they cannot trust."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from hmrf_fast import HMRFKMeans, rows
from hmrf_fast.constraints import Constraints
from hmrf_fast.errors import ConvergenceWarning, InputError
from hmrf_fast.geometry import build_problem, measure
from hmrf_fast.inputs import as_corpus
from hmrf_fast.kernels.metrics import METRICS
from hmrf_fast.penalties import empty_graph
from hmrf_fast.rows.store import ARRAYS, StoreWriter

TINY, SMALL, ONE = 0.002, 0.02, 64  # megabytes: some hundred blocks, a dozen, a single one


def topics(n_rows=300, n_features=90, n_groups=4, seed=0, signed=False):
    """Counts of words, some topics, and which topic each row is of."""
    rng = np.random.default_rng(seed)
    group = rng.integers(n_groups, size=n_rows)
    rate = rng.gamma(0.3, 1.0, (n_groups, n_features)) + 0.05
    counts = rng.poisson(rate[group]).astype(float)
    if signed:
        counts *= rng.choice([-1.0, 1.0], (1, n_features))
    counts[counts.any(1) == 0, 0] = 1.0
    return sp.csr_matrix(counts), group


def pairs(group, count, seed=0):
    rng = np.random.default_rng(seed)
    drawn = rng.integers(group.size, size=(count, 2))
    drawn = drawn[drawn[:, 0] != drawn[:, 1]]
    same = group[drawn[:, 0]] == group[drawn[:, 1]]
    return {"must_link": drawn[same], "cannot_link": drawn[~same]}


def fit(X, known, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return HMRFKMeans(4, random_state=3, max_iter=15, **parameters).fit(X, **known)


def assert_same(one, other):
    assert np.array_equal(one.labels_, other.labels_)
    assert np.array_equal(one.objective_history_, other.objective_history_)
    assert np.array_equal(one.cluster_centers_, other.cluster_centers_)
    assert np.array_equal(one.feature_weights_, other.feature_weights_)


@pytest.mark.parametrize("learn_weights", [False, True], ids=["plain", "learned"])
@pytest.mark.parametrize("metric", METRICS)
def test_disk_gives_the_bits_of_memory(tmp_path, metric, learn_weights):
    X, group = topics()
    known = pairs(group, 120)
    rows.write_matrix(tmp_path / "store", X)
    for init in ("k-means++", "neighborhoods", "auto"):
        settings = {"metric": metric, "learn_weights": learn_weights, "init": init, "n_init": 2}
        expected = fit(X, known, **settings)
        for block_mb in (TINY, SMALL, ONE):
            there = rows.DiskRows(tmp_path / "store", block_mb)
            assert (len(list(there.spans())) > 1) == (block_mb < ONE)
            found = fit(there, known, **settings)
            assert_same(found, expected)
            assert np.array_equal(found.predict(there), expected.predict(X))
            assert np.array_equal(found.transform(there), expected.transform(X))


@pytest.mark.parametrize("metric", METRICS)
def test_implicit_blocks_and_hard_links_on_disk(tmp_path, metric):
    X, group = topics(seed=5)
    groups = np.where(np.arange(group.size) % 2 == 0, group, -1)
    known = {"partial_labels": groups}
    there = rows.write_matrix(tmp_path / "store", X)
    there = rows.DiskRows(there.path, TINY)
    assert_same(fit(there, known, metric=metric), fit(X, known, metric=metric))
    hard = Constraints(**pairs(group, 30), must_link_weight=np.inf, cannot_link_weight=np.inf)
    known = {"constraints": hard}
    assert_same(fit(there, known, metric=metric), fit(X, known, metric=metric))


@given(st.integers(0, 2**20), st.integers(1, 60), st.sampled_from(["float32", "float64"]))
def test_any_cut_gives_the_same_parts(tmp_path_factory, seed, n_rows, dtype):
    rng = np.random.default_rng(seed)
    X = sp.random(n_rows, 7, 0.4, format="csr", dtype=dtype, random_state=rng)
    there = rows.write_matrix(tmp_path_factory.mktemp("store") / "x", X, dtype=dtype)
    bounds = np.unique(np.concatenate([[0, n_rows], rng.integers(0, n_rows + 1, 3)]))
    parts = list(there.spans(bounds))
    assert [part.first for part in parts] == bounds[:-1].tolist()
    whole = [np.concatenate([getattr(part.corpus, name) for part in parts]) for name in ("indices", "values")]
    assert np.array_equal(whole[0], X.indices) and np.array_equal(whole[1], X.data)
    ids = np.flatnonzero(rng.random(n_rows) < 0.5)
    few = there.take(ids)
    taken = sp.csr_matrix((few.corpus.values, few.corpus.indices, few.corpus.indptr), (ids.size, 7))
    assert (taken != X[ids]).nnz == 0
    assert there.take(ids) is few or ids.size < 2
    weights, mass = rng.random(7), np.ones(n_rows)
    here = build_problem(as_corpus(X), "sqeuclidean", mass, empty_graph(), 2)
    away = build_problem(rows.DiskRows(there.path, 1e-4), "sqeuclidean", mass, empty_graph(), 2)
    for one, other in zip(measure(here, weights).rows, measure(away, weights).rows, strict=True):
        assert np.array_equal(one, other)


def test_only_blocks_that_matter_are_read(tmp_path):
    X, _ = topics()
    there = rows.DiskRows(rows.write_matrix(tmp_path / "store", X).path, SMALL)
    wanted = np.array([0, 1, 299])
    parts = list(there.spans(wanted=wanted))
    assert len(parts) == 2 < len(list(there.spans()))
    assert parts[0].first == 0 and parts[1].first + parts[1].n_rows == 300


def test_a_path_stands_for_the_rows(tmp_path):
    X, group = topics()
    rows.write_matrix(tmp_path / "store", X)
    expected = fit(X, pairs(group, 50))
    for path in (tmp_path / "store", str(tmp_path / "store")):
        assert_same(fit(path, pairs(group, 50)), expected)


def test_what_needs_a_matrix_says_so(tmp_path):
    X, _ = topics()
    there = rows.write_matrix(tmp_path / "store", X)
    with pytest.raises(InputError, match=r"mahalanobis.*in memory"):
        fit(there, {}, metric="mahalanobis")
    with pytest.raises(InputError, match="float32, but the rows of X are float64"):
        fit(there, {}, dtype=np.float32)
    with pytest.raises(InputError, match="in memory"):
        fit(there, {}, init=lambda X, k, random_state: X[:k].toarray())
    negative = rows.write_matrix(tmp_path / "negative", topics(signed=True)[0])
    with pytest.raises(InputError, match="Negative values"):
        fit(negative, {}, metric="i_divergence")
    model = fit(X, {})
    narrow = rows.write_matrix(tmp_path / "narrow", X[:, :5])
    with pytest.raises(InputError, match=r"5 features.*expecting 90"):
        model.predict(narrow)
    with pytest.raises(InputError, match="in memory"):
        fit(there, {}).move(0, 1)


def test_arrays_are_plain_npy_files(tmp_path):
    X, _ = topics()
    rows.write_matrix(tmp_path / "store", X)
    found = [np.load(tmp_path / "store" / f"{name}.npy", mmap_mode="r") for name in ARRAYS]
    assert all(np.array_equal(one, other) for one, other in zip(found, (X.indptr, X.indices, X.data), strict=True))


def test_damage_is_found(tmp_path):
    X, _ = topics()

    def fresh(name):
        return rows.write_matrix(tmp_path / name, X).path

    path = fresh("flipped") / "values.npy"
    data = bytearray(path.read_bytes())
    data[-9] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"values\.npy is damaged"):
        fit(path.parent, {})
    path = fresh("torn") / "values.npy"
    os.truncate(path, path.stat().st_size - 8)
    with pytest.raises(InputError, match="torn"):
        rows.DiskRows(path.parent)
    for key, value, told in (("version", 2, "version 2"), ("format", "x", "format 'x'"), ("shape", [3], "header")):
        path = fresh(key) / "header.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
        with pytest.raises(InputError, match=told):
            rows.DiskRows(path.parent)
    with pytest.raises(InputError, match="no store"):
        rows.DiskRows(tmp_path)


def test_a_failed_writer_leaves_nothing(tmp_path):
    bad = sp.csr_matrix(np.array([[1.0, np.nan]]))
    with pytest.raises(InputError, match="NaN at row 0"):
        rows.write_blocks(tmp_path / "store", [bad])
    with pytest.raises(InputError, match="3 features do not fit a store of 2"), StoreWriter(tmp_path / "x", 2) as one:
        one.append(sp.csr_matrix((1, 3)))
    assert not list(tmp_path.iterdir())
    rows.write_matrix(tmp_path / "store", np.eye(3))
    with pytest.raises(InputError, match="never written over"):
        rows.write_matrix(tmp_path / "store", np.eye(3))


CHILD = """
import os, resource, sys
import numpy as np, scipy.sparse as sp
from hmrf_fast import HMRFKMeans, rows

def status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name)) / 1024

folder, settings = sys.argv[1], dict(metric="cosine", init="k-means++", n_init=1, max_iter=4, n_threads=1, tol=0.5,
                                     random_state=0)
known = dict(must_link=[(0, 5), (7, 30)], cannot_link=[(0, 7)])

def blocks(count):
    rng = np.random.default_rng(0)
    for _ in range(count):
        columns = np.sort(rng.integers(0, 100, (2000, 200)) + 100 * np.arange(200), axis=1)
        columns.sort(axis=1)
        values = rng.random(columns.size).astype("f4")
        yield sp.csr_matrix((values, columns.ravel(), np.arange(2001) * 200), (2000, 20000))

small = rows.write_blocks(folder + "/small", blocks(1), dtype="f4")
HMRFKMeans(3, **settings).fit(small, **known)
large = rows.write_blocks(folder + "/large", blocks(130), dtype="f4")
size = large.nnz * 8 / 2**20
limit = int((status("VmSize") + 0.2 * size) * 2**20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
before = status("VmHWM")
HMRFKMeans(3, **settings).fit(rows.DiskRows(folder + "/large", 8), **known)
print(size, before, status("VmHWM"))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
@pytest.mark.filterwarnings("ignore")
def test_a_corpus_five_times_the_memory_allowed(tmp_path):
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHILD, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    size, before, peak = map(float, run.stdout.split())
    assert size > 390
    assert peak - before < 0.2 * size
