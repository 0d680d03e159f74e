"""Limits of the machine: threads, memory, and what a fit takes of it."""

from __future__ import annotations

import json
import mmap
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from hmrf_fast import HMRFKMeans, estimate_memory
from hmrf_fast.errors import InputError, NotEnoughMemoryError
from hmrf_fast.machine import available_memory, available_threads, cpu_quota

GIB = 1 << 30


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize("files, quota", [
    ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "150000 100000\n"}, 1.5),
    ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "max 100000\n"}, None),
    ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "50000 100000\n",
      "sys/fs/cgroup/a/b/cpu.max": "400000 100000\n"}, 0.5),
    ({"proc/self/cgroup": "4:memory:/x\n3:cpu,cpuacct:/x\n", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "200000\n",
      "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n"}, 2.0),
    ({"proc/self/cgroup": "3:cpu:/\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
      "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}, None),
    ({}, None),
])  # fmt: skip
def test_cpu_quota(tmp_path, files, quota):
    assert cpu_quota(write(tmp_path, files)) == quota


def test_available_memory(tmp_path):
    assert available_memory(tmp_path) is None
    system = {"proc/meminfo": "MemTotal: 9000 kB\nMemAvailable:    4000 kB\nSwapFree: 500 kB\n"}
    assert available_memory(write(tmp_path, system)) == 4500 * 1024
    group = {"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "3000000\n"}
    write(tmp_path, group | {"sys/fs/cgroup/a/memory.current": "2000000\n"})
    assert available_memory(tmp_path) == 1_000_000
    write(tmp_path, {"sys/fs/cgroup/a/memory.stat": "anon 5\ninactive_file 300000\n"})
    assert available_memory(tmp_path) == 1_300_000
    limits = "Max data size   unlimited  unlimited  bytes\nMax address space   {}  unlimited  bytes\n"
    write(tmp_path, {"proc/self/statm": "20 5 2 1 0 4 0\n", "proc/self/limits": limits.format(30 * mmap.PAGESIZE)})
    assert available_memory(tmp_path) == 10 * mmap.PAGESIZE
    write(tmp_path, {"proc/self/limits": limits.format("unlimited")})
    assert available_memory(tmp_path) == 1_300_000


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "NUMBA_NUM_THREADS"])
def test_threads_heed_variables(monkeypatch, name):
    monkeypatch.setenv(name, "1")
    assert available_threads() == 1


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
def test_threads_heed_affinity():
    code = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
    code += "from hmrf_fast.machine import available_threads; print(available_threads())"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"


def test_fits_that_cannot_find_memory_are_refused():
    found = available_memory()
    if found is None:
        pytest.skip("this system does not tell")
    data = sp.csr_matrix((np.ones(600), (np.arange(600) // 2, np.arange(600))), shape=(300, 2**26))
    model = HMRFKMeans(200, init="k-means++", n_init=1)
    needed = 16 * 2**26 * 200  # of the whole estimate these are looked at first: before anything of that size is made
    assert needed < estimate_memory(300, 2**26, 600, 200, init="k-means++").total
    numbers = rf"this fit needs about {needed / GIB:.1f} GiB of memory, [\d.]+ GiB are available"
    told = numbers + rf"; most of it is for {2**26} features times 200 clusters"
    with pytest.raises(NotEnoughMemoryError, match=told):
        model.fit(data)
    assert not hasattr(model, "labels_")
    assert isinstance(NotEnoughMemoryError(), MemoryError)


def test_estimates_grow_with_everything():
    base = {"n_rows": 10_000, "n_features": 5_000, "n_entries": 300_000, "n_clusters": 20, "init": None}
    least = estimate_memory(**base)
    assert least.total == sum(least) > 0
    for more in (
        {"n_rows": 20_000}, {"n_features": 50_000}, {"n_clusters": 40}, {"learn_weights": True},
        {"metric": "i_divergence"}, {"n_constrained": 100}, {"n_pairs": 100}, {"implicit": True},
    ):  # fmt: skip
        assert estimate_memory(**(base | more)).total > least.total
    assert estimate_memory(**base, dtype=np.float32).total < least.total
    with pytest.raises(InputError, match=r"metric must be one of .*, got 'euclid'"):
        estimate_memory(**base, metric="euclid")


PEAK = """
import json, tracemalloc, warnings
import numpy as np, scipy.sparse as sp
from hmrf_fast import HMRFKMeans, estimate_memory
warnings.simplefilter("ignore")
n, d, per_row, k = 20_000, 4_000, 220, 20  # too many for an annealed start, which keeps copies
rng = np.random.default_rng(0)
columns = (np.arange(per_row) * (d // per_row) + rng.integers(0, d // per_row, (n, per_row))).astype(np.int32)
data = sp.csr_matrix((rng.random(n * per_row, np.float32) + 1, columns.ravel(), np.arange(n + 1) * per_row), (n, d))
found = {}
for init in ("k-means++", "auto", "neighborhoods"):
    tracemalloc.start()
    known = {"must_link": [(0, 1), (5, 6)]} if init == "neighborhoods" else {}
    HMRFKMeans(k, init=init, n_init=1, max_iter=2, random_state=0, n_threads=2).fit(data, **known)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    csr = data.data.nbytes + data.indices.nbytes + data.indptr.nbytes
    estimate = estimate_memory(n, d, data.nnz, k, dtype="f4", init=init).total
    found[init] = {"peak": peak, "limit": 1.25 * csr + 16 * d * k + 32 * n, "estimate": estimate}
print(json.dumps(found))
"""


def test_fits_never_copy_all_of_the_data():
    """float32 rows are never all made float64, whatever the start: peaks keep to promise and estimate."""
    small = PEAK.replace("20_000, 4_000", "400, 4_000").replace("print(", "len(")  # compiling takes memory, too
    done = subprocess.run([sys.executable, "-P", "-c", small + PEAK], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    for init, one in found.items():
        assert one["peak"] <= one["limit"], (init, one)
        assert one["peak"] <= 1.6 * one["estimate"], (init, one)
