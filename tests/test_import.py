"""Importing the package costs next to nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def run(code: str, **variables: str) -> str:
    # -P: the working directory, maybe a checkout without hmrf_fast.kernels, must not come before the installed package.
    command = [sys.executable, "-P", "-W", "error", "-c", code]
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


def test_kernels_as_plain_python_warn_of_nothing_and_find_the_same():
    """NUMBA_DISABLE_JIT=1; the command line makes every warning an error."""
    code = (
        "import numpy as np\n"
        "from hmrf_fast import HMRFKMeans\n"
        "X = np.abs(np.random.default_rng(0).normal(size=(20, 5)))\n"
        "for metric in ('cosine', 'sqeuclidean', 'i_divergence', 'pearson'):\n"
        "    model = HMRFKMeans(2, metric=metric, init='k-means++', n_init=1, random_state=0)\n"
        "    model.fit(X, must_link=[(0, 1)], cannot_link=[(0, 2), (4, 5)])\n"
        "    print(metric, model.labels_.tolist(), f'{model.objective_:.6g}')\n"
    )
    assert run(code, NUMBA_DISABLE_JIT="1") == run(code, NUMBA_DISABLE_JIT="0")
