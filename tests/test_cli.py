"""The command line, as real processes: what it prints, writes, refuses, and with which exit code."""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import subprocess
import sys
import textwrap
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from commands import COMMAND, run_command

import hmrf_fast
from hmrf_fast import datasets

PAIRS = "i,j,type\n0,1,must\n100,101,must\n0,100,cannot\n0,200,cannot\n"


def run(*arguments: object, code: int = 0, **options) -> subprocess.CompletedProcess:
    done = run_command(*arguments, **options)
    assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def refused(*arguments: object) -> str:
    """Run a command that must fail with one sentence, and return it."""
    done = run(*arguments, code=2)
    assert done.stdout == ""
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith("Error: ")
    return sentence


@pytest.fixture
def news(tmp_path) -> Path:
    path = tmp_path / "X.npz"
    sp.save_npz(path, datasets.load("news_different_3", return_X_y=True)[0])
    return path


@pytest.fixture
def pairs(tmp_path) -> Path:
    path = tmp_path / "pairs.csv"
    path.write_text(PAIRS)
    return path


def arguments(matrix: Path, *more: object) -> tuple:
    return ("fit", matrix, "--n-clusters", 3, "--out", matrix.parent / "result", *more)


def test_help_and_version():
    assert run("--version").stdout == f"hmrf_fast {hmrf_fast.__version__}\n"
    assert "hmrf-fast fit m --n-clusters 20 --constraints pairs.csv --out res" in run("--help").stdout
    assert "3,250,cannot,inf" in run("fit", "--help").stdout
    assert "hmrf-fast demo --runs 20" in run("demo", "--help").stdout
    assert "No such command 'cluster'" in run("cluster", code=2).stderr


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_missing_extra_is_told(missing, tmp_path):
    tmp_path.joinpath("sitecustomize.py").write_text(f"import sys\nsys.modules[{missing!r}] = None\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = run("--version", code=2, env={**os.environ, "PYTHONPATH": path})
    assert done.stderr == 'The command line needs Typer and Rich: pip install "hmrf_fast[cli]"\n'


def test_metrics_are_those_of_the_estimator():
    from hmrf_fast.app.common import FitMetric, Metric
    from hmrf_fast.kernels.mahalanobis import LIFTED
    from hmrf_fast.kernels.metrics import METRICS

    assert {metric.value for metric in Metric} == set(METRICS)
    assert {metric.value for metric in FitMetric} == {*METRICS, *LIFTED}


def test_demo_quick():
    told = run("demo", "--quick").stdout
    for expected in (
        "cosine on tfidf",
        "i_divergence on counts",
        "KMeans-I-C-D",
        "default",
        "500 constraints",
        "top terms",
    ):
        assert expected in told
    assert "must-links:" in told and "seconds in all" in told


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are for POSIX")
@pytest.mark.parametrize("columns", [80, 120])
def test_paragraphs_of_the_demo_fill_the_window(columns):
    handle, other = os.openpty()
    fcntl = pytest.importorskip("fcntl")
    termios = pytest.importorskip("termios")
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    plain = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    script = (
        "from rich.console import Console; from hmrf_fast.app.demo import READING; "
        "Console().print(READING, highlight=False)"
    )
    done = subprocess.Popen([sys.executable, "-P", "-c", script], stdout=other, stderr=other, env=plain)
    assert done.wait() == 0
    lines = os.read(handle, 1 << 16).decode().split("\r\n")[:-1]
    os.close(other)
    os.close(handle)
    lines = [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", line).rstrip() for line in lines]
    assert len(lines) > 2
    for line, after in pairwise(lines):
        assert len(line) <= columns < len(line) + 1 + len(after.split()[0]), "a line that could have held more"


def test_fit_writes_all(news, pairs):
    told = run(*arguments(news, "--constraints", pairs)).stdout
    assert "300 rows in 3 clusters" in told and "must-links:     2 given" in told
    out = news.parent / "result"
    assert sorted(path.name for path in out.iterdir()) == ["data", "labels.csv", "model.npz", "summary.json"]
    assert out.joinpath("labels.csv").read_text().startswith("row,label\n0,")
    rows, labels = np.loadtxt(out / "labels.csv", delimiter=",", skiprows=1, dtype=int, unpack=True)
    np.testing.assert_array_equal(rows, np.arange(300))
    assert set(labels) <= {0, 1, 2}
    model = hmrf_fast.load(out / "model.npz")
    np.testing.assert_array_equal(model.labels_, labels)
    assert model.cluster_centers_.shape == (3, 3293) and model.metric == "cosine"
    assert model.constraints_.must_link.tolist() == [[0, 1], [100, 101]]
    summary = json.loads(out.joinpath("summary.json").read_text())
    assert summary["n_samples"] == 300 and summary["settings"]["n_clusters"] == 3
    assert summary["constraints"]["n_must_link"] == 2 and summary["constraints"]["n_cannot_link"] == 2
    assert {"hmrf_fast", "numba", "numpy", "python", "scikit-learn", "scipy"} == set(summary["versions"])
    assert summary["seconds"] > 0 and summary["n_iter"] >= 1 and isinstance(summary["converged"], bool)


def test_fit_is_the_same_as_in_python(news, pairs):
    from hmrf_fast import HMRFKMeans

    run(
        *arguments(
            news, "--constraints", pairs, "--random-state", 7, "--max-iter", 5, "--no-learn-weights", "--n-init", 2
        )
    )
    labels = np.loadtxt(news.parent / "result" / "labels.csv", delimiter=",", skiprows=1, dtype=int)[:, 1]
    model = HMRFKMeans(n_clusters=3, random_state=7, max_iter=5, learn_weights=False, n_init=2)
    model.fit(sp.load_npz(news), must_link=[(0, 1), (100, 101)], cannot_link=[(0, 100), (0, 200)])
    np.testing.assert_array_equal(labels, model.labels_)


def test_fit_takes_dense_data_and_weighted_pairs(tmp_path):
    matrix = tmp_path / "X.npz"
    np.savez(matrix, X=datasets.load_iris().data)
    table = tmp_path / "pairs.csv"
    table.write_text(
        "\ufeff# without a header\n\n0, 1, ML, 2.5\n0,149,cl,inf\n 1,50,-1,1\n51,52,+1,0\n", encoding="utf-8"
    )
    run(*arguments(matrix, "--constraints", table, "--metric", "sqeuclidean"))
    labels = np.loadtxt(tmp_path / "result" / "labels.csv", delimiter=",", skiprows=1, dtype=int)[:, 1]
    assert labels[0] != labels[149]


@pytest.mark.parametrize(("metric", "values"), [("i_divergence", None), ("cosine", None), ("cosine", "counts")])
def test_fit_takes_the_layout_of_the_bundled_files(metric, values, tmp_path):
    wanted = () if values is None else ("--values", values)
    bundled = datasets.load("news_different_3").filename
    run("fit", bundled, "-k", 3, "--out", tmp_path / "result", "--metric", metric, *wanted)


def test_results_are_not_overwritten_unasked(news, pairs):
    out = news.parent / "result"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    assert "result: is not empty" in refused(*arguments(news))
    assert [path.name for path in out.iterdir()] == ["notes.txt"]
    run(*arguments(news, "--force"))
    assert sorted(path.name for path in out.iterdir()) == [
        "data",
        "labels.csv",
        "model.npz",
        "notes.txt",
        "summary.json",
    ]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            "i,j,type\n0,1,must\n0,300,must\n",
            r"pairs.csv, line 3: row 300 is out of range, the data have rows 0 to 299",
        ),
        ("0,1,must\n-1,5,cl\n", r"line 2: row -1 is out of range"),
        ("0,1,must\n2,x,cl\n", r"line 2: row number 'x' is not an integer"),
        ("a,b,type\n0,1,must\n", r"has the columns a, b, type; expected i,j,type"),
        (
            "0,1\n",
            r"line 1: 2 columns, expected i,j,type\[,weight\] or id,label or id,must_link_group,cannot_link_group",
        ),
        ("i,j,type,weight\n0,1,must\n", r"line 2: 3 columns, expected 4"),
        ("0,1,perhaps\n", r"line 1: type 'perhaps' is none of must, cannot, ml, cl, \+1, -1"),
        ("0,1,must,-2\n", r"line 1: weight '-2' is not a number of at least 0"),
        ("0,1,must,nan\n", r"line 1: weight 'nan' is not a number of at least 0"),
        ("0,1,must\n\n4,4,cannot\n", r"line 3: row 4 is paired with itself"),
        ("0,1,must,inf\n0,1,cannot,inf\n", r"0.*1"),
        (b"\xff\xfe\x00\x01", r"pairs.csv, line 1: byte 0xff is not utf-8"),
        (None, r"pairs.csv: there is no such file"),
    ],
)
def test_bad_constraints(content, told, news):
    table = news.parent / "pairs.csv"
    if content is not None:
        table.write_bytes(content if isinstance(content, bytes) else content.encode())
    sentence = refused(*arguments(news, "--constraints", table))
    assert re.search(told, sentence), sentence


def write_pickled(path):
    np.savez(path, X=np.array([{}, []], dtype=object))


def write_out_of_bounds(path):
    np.savez(path, indices=[0, 9], indptr=[0, 1, 2], shape=[2, 3], counts=[1, 1])


BAD_MATRICES = {
    "missing": (lambda path: None, "there is no such file"),
    "folder": (lambda path: path.mkdir(), "holds no files"),
    "empty": (lambda path: path.write_bytes(b""), "cannot be read as a matrix"),
    "text": (lambda path: path.write_text("1,2,3\n"), "cannot be read as a matrix"),
    "truncated": (lambda path: path.write_bytes(b"PK\x03\x04 and then nothing"), "cannot be read as a matrix"),
    "one array": (lambda path: path.with_suffix(".npy").rename(path), "cannot be read as a matrix"),
    "other arrays": (lambda path: np.savez(path, y=[1]), "holds y, but neither"),
    "pickled": (write_pickled, "cannot be read as a matrix"),
    "out of bounds": (write_out_of_bounds, "cannot be read as a matrix"),
    "no values": (lambda path: np.savez(path, indices=[0], indptr=[0, 1], shape=[1, 1]), "has no values named"),
    "not finite": (lambda path: np.savez(path, X=[[1.0, np.nan], [2.0, 1.0], [0.0, 1.0]]), "NaN"),
    "too few rows": (lambda path: np.savez(path, X=[[1.0, 2.0], [2.0, 1.0]]), "3"),
    "one axis": (lambda path: np.savez(path, X=[1.0, 2.0]), "an array of 1 axes, expected rows and columns"),
}


@pytest.mark.parametrize("kind", BAD_MATRICES)
def test_bad_matrix(kind, tmp_path):
    write, told = BAD_MATRICES[kind]
    matrix = tmp_path / "X.npz"
    np.save(tmp_path / "X.npy", np.eye(3))
    write(matrix)
    assert told in refused(*arguments(matrix))


def test_bad_options(news):
    assert "line" not in run(*arguments(news, "--metric", "euclidean"), code=2).stderr
    assert "n-clusters" in run("fit", news, "--out", news.parent / "result", code=2).stderr
    news.parent.joinpath("file").write_text("")
    assert "file: cannot be written to" in refused("fit", news, "-k", 3, "--out", news.parent / "file")


@pytest.mark.skipif(sys.platform == "win32", reason="signals work differently there")
def test_interrupt():
    # A shell that starts jobs in the background lets them ignore Ctrl-C, and children inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(
            [*COMMAND, "demo", "--runs", "1000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    finally:
        signal.signal(signal.SIGINT, before)
    process.stdout.readline()
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert told.strip().splitlines()[-1] == "Interrupted."


def test_warmup_leaves_nothing_to_compile(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    warmed = subprocess.run(
        [*COMMAND, "warmup", "--metric", "cosine"], capture_output=True, text=True, env=environment, timeout=600
    )
    assert warmed.returncode == 0 and "cosine: ready" in warmed.stdout, warmed.stderr
    fits = """
        from numba.core import event
        import numpy as np
        from hmrf_fast import HMRFKMeans
        compiled = []
        class Listener(event.Listener):
            def on_start(self, one): pass
            def on_end(self, one): compiled.append(one.data["dispatcher"].py_func.__name__)
        with event.install_listener("numba:compile", Listener()):
            for dtype in ("f4", "f8"):
                X = np.random.default_rng(0).random((60, 30)).astype(dtype)
                HMRFKMeans(4, random_state=0).fit(X, must_link=[(0, 1)], cannot_link=[(1, 2)]).predict(X)
        print(len(compiled), compiled)
    """
    done = subprocess.run(
        [sys.executable, "-P", "-c", textwrap.dedent(fits)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0 and done.stdout.startswith("0 "), done.stdout + done.stderr
