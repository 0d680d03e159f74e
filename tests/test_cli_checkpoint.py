"""A command that is told to end saves, says so by its exit code, and goes on when it is called again."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp
from commands import COMMAND

from hmrf_fast import datasets


def labels(folder):
    return (folder / "labels.csv").read_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="signals work differently there")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ended_and_called_again(tmp_path, number):
    sp.save_npz(tmp_path / "X.npz", datasets.load("news_different_3", return_X_y=True)[0])
    fit = [
        *COMMAND,
        "fit",
        tmp_path / "X.npz",
        "-k",
        "3",
        "--init",
        "k-means++",
        "--n-init",
        "600",
        "--progress",
        "none",
    ]
    call = [*fit, "--out", tmp_path / "out", "--checkpoint", tmp_path / "fit.ckpt", "--checkpoint-every", "1000"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(call, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    while not (tmp_path / "fit.ckpt").exists() and process.poll() is None:
        time.sleep(0.01)
    time.sleep(0.5)
    process.send_signal(number)
    _, told = process.communicate(timeout=100)
    assert process.returncode == 75, told
    assert told.splitlines()[-1].startswith("Interrupted; the same command goes on from")
    assert b'"drawn": 0' not in np.load(tmp_path / "fit.ckpt")["header"].tobytes()
    again = subprocess.run(call, check=True, timeout=300, capture_output=True, text=True)
    assert " s since it was resumed" in again.stdout
    subprocess.run([*fit, "--out", tmp_path / "whole"], check=True, timeout=300)
    assert labels(tmp_path / "out") == labels(tmp_path / "whole")
