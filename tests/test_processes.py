"""Threads, processes, signals and the environment: whatever a fit runs beside or under, it gives the same bits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from process_helpers import WAYS

PROGRAM = Path(__file__).with_name("process_helpers.py")


def run(way, **variables):
    environment = {**os.environ, **variables}
    call = [sys.executable, "-P", PROGRAM, way]
    done = subprocess.run(call, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture(scope="module")
def expected():
    digests = run("serial")
    assert len(digests) == 4 and len(set(digests)) > 1
    return digests


@pytest.mark.parametrize("way", [way for way in WAYS if way != "serial"])
def test_the_same_in_every_way(expected, way):
    if "fork" in way and not hasattr(os, "fork"):
        pytest.skip("no fork here")
    assert run(way) == expected


BLAS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@pytest.mark.parametrize(
    "variables",
    [
        {"PYTHONHASHSEED": "0", **dict.fromkeys(BLAS, "1")},
        {"PYTHONHASHSEED": "12345", "PYTHONOPTIMIZE": "2", **dict.fromkeys(BLAS[:-1], "5")},
    ],
    ids=["one thread", "other settings"],
)
def test_the_same_in_every_environment(expected, variables):
    assert run("serial", **variables) == expected
