"""Full disks, missing rights and too little memory: one sentence, and what was there before is still there."""

from __future__ import annotations

import subprocess
import sys

import pytest

if sys.platform == "win32":
    pytest.skip("limits of resources are of POSIX", allow_module_level=True)

PRELUDE = """
import resource, signal, sys, warnings
from pathlib import Path
import numpy as np
import scipy.sparse as sp
import hmrf_fast
from hmrf_fast import HMRFKMeans, datasets, errors, io, rows
warnings.simplefilter("ignore")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # what writes past the limit gets an error, as from a full disk
place = Path(sys.argv[1])
X, y = datasets.load("news_different_3", return_X_y=True)
model = HMRFKMeans(3, random_state=0, n_init=1, max_iter=3).fit(X)

def fill_disk(size=3000):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

def refused(kind, task):
    try:
        task()
    except kind as error:
        told = str(error)
        assert "\\n" not in told and len(told) > 20, told
        print(told)
    else:
        raise AssertionError("it went through")

def free_disk():
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""


def run(code, place, *, error=""):
    done = subprocess.run(
        [sys.executable, "-P", "-c", PRELUDE + code, place], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert error in done.stdout
    return done.stdout


def test_a_full_disk_keeps_the_model_that_was_there(tmp_path):
    run(
        """
model.save(place / "model.npz")
before = (place / "model.npz").read_bytes()
other = HMRFKMeans(3, random_state=1, n_init=1, max_iter=3).fit(X)
fill_disk()
refused(errors.FileError, lambda: other.save(place / "model.npz"))
assert (place / "model.npz").read_bytes() == before
assert np.array_equal(hmrf_fast.load(place / "model.npz").labels_, model.labels_)
assert [one.name for one in place.iterdir()] == ["model.npz"]
""",
        tmp_path,
        error="model.npz cannot be written: File too large",
    )


def test_a_full_disk_keeps_the_results_that_were_there(tmp_path):
    run(
        """
data = io.DataSet(X)
io.Results(model, data, {"seed": 0}).save(place)
before = {one: one.read_bytes() for one in place.rglob("*") if one.is_file()}
other = HMRFKMeans(4, random_state=1, n_init=1, max_iter=3).fit(X)
fill_disk()
refused(errors.FileError, lambda: io.Results(other, io.DataSet(X), {"seed": 1}).save(place))
refused(errors.FileError, lambda: io.write(data, place / "X.npz"))
assert {one: one.read_bytes() for one in place.rglob("*") if one.is_file()} == before
assert np.array_equal(io.load_results(place).model.labels_, model.labels_)
""",
        tmp_path,
        error="File too large",
    )


def test_a_full_disk_leaves_no_store_behind(tmp_path):
    run(
        """
kept = rows.write_matrix(place / "kept", X)
fill_disk()
refused(errors.FileError, lambda: rows.write_matrix(place / "store", X))
fill_disk(200)
refused(errors.FileError, lambda: rows.write_matrix(place / "store", X[:2]))
free_disk()
assert [one.name for one in place.iterdir()] == ["kept"]
assert (rows.DiskRows(place / "kept").to_csr() != X).nnz == 0
rows.write_matrix(place / "store", X)
""",
        tmp_path,
        error="store cannot be written: File too large",
    )


def test_places_that_nobody_may_write_to(tmp_path):
    """A file where a folder should be stops root as well."""
    (tmp_path / "file").write_text("")
    run(
        """
below = place / "file" / "x"
refused(errors.FileError, lambda: model.save(below))
refused(errors.FileError, lambda: rows.write_matrix(below, X))
refused(errors.FileError, lambda: io.write(io.DataSet(X), below))
refused(errors.FileError, lambda: io.Results(model, io.DataSet(X), {}).save(below))
refused(errors.CheckpointError, lambda: HMRFKMeans(3, checkpoint=str(below)).fit(X))
assert (place / "file").read_text() == ""
""",
        tmp_path,
        error="Not a directory",
    )


def test_too_little_memory_is_said_before_the_work(tmp_path):
    """Not by a kill, and not after an hour: nothing of the size of the tables is allocated before."""
    told = run(
        """
wide = sp.csr_matrix((np.ones(3000), (np.arange(3000), np.arange(3000) * 3333)), (3000, 10_000_000))
taken = int(open("/proc/self/statm").read().split()[0]) * 4096 if sys.platform == "linux" else 2**31
resource.setrlimit(resource.RLIMIT_AS, (taken + 2**30, taken + 2**30))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
refused(errors.NotEnoughMemoryError, lambda: HMRFKMeans(50, init="k-means++").fit(wide))
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 500_000
HMRFKMeans(3, n_init=1).fit(X)
""",
        tmp_path,
    )
    assert "GiB of memory" in told and "10000000 features times 50 clusters" in told
