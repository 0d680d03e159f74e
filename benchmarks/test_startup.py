"""What a process pays before and in its first fit. Every run is a process of its own."""

from __future__ import annotations

import json

import pytest
from children import child
from corpora import SMALL
from side_by_side import note, record

BASELINE = "import numba; from sklearn.cluster import KMeans"

FIRST_FIT = """
import json, sys, time
begin = time.perf_counter()
from hmrf_fast import HMRFKMeans, datasets
loaded = time.perf_counter()
news = datasets.load_news_different_3()
init = news.data[[0, 100, 200]].toarray() if sys.argv[1] == "given" else "auto"
pairs = {"must_link": [(0, 1), (100, 101)], "cannot_link": [(0, 100), (0, 200)]}
seconds = []
for _ in range(2):
    start = time.perf_counter()
    HMRFKMeans(3, init=init, random_state=0).fit(news.data, **pairs)
    seconds.append(time.perf_counter() - start)
print(json.dumps({"import": loaded - begin, "first fit": seconds[0], "second fit": seconds[1]}))
"""


@pytest.mark.parametrize("code", ["import hmrf_fast", "from hmrf_fast import HMRFKMeans"], ids=["package", "estimator"])
def test_import(benchmark, code):
    def ours():
        child(code)

    def libraries():
        child(BASELINE)

    record(benchmark, ours, {f"process with '{BASELINE}'": libraries}, rounds=5, warm=False)


@pytest.mark.skipif(SMALL, reason="compiling everything takes as long as all other tiny benchmarks")
@pytest.mark.parametrize("start", ["given", "auto"])
def test_first_fit(benchmark, start, tmp_path):
    """The first fit with nothing compiled yet, then with all kernels on disk; seconds are in ``extra_info``."""
    settings = {"NUMBA_CACHE_DIR": str(tmp_path)}
    cold, warm = (json.loads(child(FIRST_FIT, start, **settings)) for _ in range(2))
    if benchmark.enabled:
        note(benchmark, "ratio", "cold / warm", cold["first fit"] / warm["first fit"], cold=cold, warm=warm)
    benchmark.pedantic(child, (FIRST_FIT, start), settings, rounds=1)


def test_warm_fit(benchmark):
    """The first fit with the usual cache, against the second one in the same process."""
    child(FIRST_FIT, "given")
    warm = json.loads(child(FIRST_FIT, "given"))
    if benchmark.enabled:
        note(benchmark, "ratio", "first / second fit, warm cache", warm["first fit"] / warm["second fit"], **warm)
    benchmark.pedantic(child, (FIRST_FIT, "given"), rounds=1)
