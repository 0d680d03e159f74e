"""Importing the package costs next to nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def run(code: str, *arguments: object, **variables: str) -> str:
    # -P: the working directory, maybe a checkout without hmrf_fast.kernels, must not come before the installed package.
    command = [sys.executable, "-P", "-W", "error", "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=os.environ | variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_loads_nothing_heavy():
    heavy = run(
        "import sys, hmrf_fast\n"
        "dir(hmrf_fast), hmrf_fast.__version__\n"
        "print(*sorted({'numba', 'numpy', 'scipy', 'sklearn'} & set(sys.modules)))"
    )
    assert heavy == ""


def test_command_line_help_loads_nothing_heavy():
    heavy = run(
        "import sys\nfrom hmrf_fast.app.application import app\nprint(*sorted({'numba', 'sklearn'} & set(sys.modules)))"
    )
    assert heavy == ""


def test_importing_every_public_name_compiles_nothing():
    compiled = run(
        "import hmrf_fast\n"
        "[getattr(hmrf_fast, name) for name in hmrf_fast.__all__]\n"
        "from numba.core.dispatcher import Dispatcher\n"
        "import gc\n"
        "found = [d for d in gc.get_objects() if isinstance(d, Dispatcher)]\n"
        "mine = [d for d in found if d.py_func.__module__.startswith('hmrf_fast')]\n"
        "assert mine\n"
        "print(sum(len(d.signatures) for d in mine))"
    )
    assert compiled == "0"


def test_public_names():
    import hmrf_fast

    assert set(hmrf_fast.__all__) <= set(dir(hmrf_fast))
    for name in hmrf_fast.__all__:
        assert getattr(hmrf_fast, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing_like_it'"):
        _ = hmrf_fast.nothing_like_it


def test_a_checkout_finds_its_own_kernels():
    """Python started in the checkout imports the folder there, not the installed package."""
    code = "import hmrf_fast.kernels; from hmrf_fast import Constraints; print(hmrf_fast.kernels.__file__)"
    root = Path(__file__).resolve().parents[1]
    found = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert Path(found.stdout.strip()).parent == root / "kernels"


PLAIN = """
import sys
import numpy as np
from hmrf_fast import COPKMeans, HMRFKMeans, PCKMeans, rows

rng = np.random.default_rng(0)
X, words = np.abs(rng.normal(size=(20, 5))), rng.poisson(0.6, size=(18, 14)) + np.eye(18, 14)
pairs = {"must_link": [(0, 1), (1, 6)], "cannot_link": [(0, 2), (4, 5)]}
knots = {"must_link": [(0, 1)], "cannot_link": [(0, 2), (2, 3), (3, 0), (4, 5), (5, 7), (7, 8), (8, 9), (9, 4)]}

def tell(model, X, **known):
    model.set_params(random_state=0).fit(X, **known)
    print(model.labels_.tolist(), f"{model.objective_:.6g}", model.n_iter_)

for metric in ("cosine", "sqeuclidean", "i_divergence", "pearson"):
    for learn_weights in (False, True):
        tell(HMRFKMeans(2, metric=metric, init="k-means++", n_init=1, learn_weights=learn_weights), X, **pairs)
hard = {"must_link_weight": np.inf, "cannot_link_weight": np.inf}
tell(HMRFKMeans(3, init="k-means++", n_init=1, **hard), X, **knots)
tell(COPKMeans(3, init="k-means++"), X, **knots)
tell(HMRFKMeans(2, metric="mahalanobis", n_init=1), X[:12, :2], **pairs)
tell(HMRFKMeans(2), words, **pairs)
tell(HMRFKMeans(2, init="low_rank"), words, **pairs)
tell(PCKMeans(2), X, partial_labels=["a"] * 6 + ["b"] * 6 + [None] * 8)
tell(HMRFKMeans(2, n_init=1), rows.DiskRows(rows.write_matrix(sys.argv[1], words).path, 0.0005), **pairs)
"""


def test_kernels_as_plain_python_warn_of_nothing_and_find_the_same(tmp_path):
    """NUMBA_DISABLE_JIT=1, for every kind of fit; the command line makes every warning an error."""
    found = [run(PLAIN, tmp_path / disabled, NUMBA_DISABLE_JIT=disabled) for disabled in "10"]
    assert found[0] == found[1] and len(found[0].splitlines()) == 15
