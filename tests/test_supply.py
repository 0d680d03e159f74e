"""What the package itself must be trusted with: no network, no pickles, no private parts of scikit-learn, and the same
wheel from the same source."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted([*(ROOT / "hmrf_fast").rglob("*.py"), *(ROOT / "kernels").rglob("*.py")])
LOADERS = {"pickle", "cPickle", "joblib", "dill", "cloudpickle", "marshal", "shelve", "imp"}  # can run what they load
EXECUTORS = {"eval", "exec", "compile", "__import__"}
SCIKIT_LEARN = {"validate_data", "check_array", "check_is_fitted"}  # public names of sklearn.utils.validation


def trees():
    return ((path.relative_to(ROOT), ast.parse(path.read_text(encoding="utf-8"))) for path in SOURCES)


def imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, ()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "", tuple(alias.name for alias in node.names)


def test_nothing_is_unpickled_or_executed():
    found = 0
    for path, tree in trees():
        for name, _ in imports(tree):
            assert name.partition(".")[0] not in LOADERS, f"{path} imports {name}"
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            assert called not in EXECUTORS, f"{path}:{node.lineno} calls {called}"
            if called.endswith(("np.load", "numpy.load", "format.read_array")):
                found += 1
                said = {one.arg: ast.unparse(one.value) for one in node.keywords}
                assert said.get("allow_pickle") == "False", f"{path}:{node.lineno}: {called} without allow_pickle=False"
    assert found  # else this test looks for the wrong names


def test_only_public_names_of_scikit_learn():
    for path, tree in trees():
        for module, names in imports(tree):
            if module.partition(".")[0] != "sklearn":
                continue
            parts = [*module.split("."), *names]
            assert not any(part.startswith("_") for part in parts), f"{path} imports {module}: {names}"
            if module == "sklearn.utils.validation":
                assert set(names) <= SCIKIT_LEARN, f"{path}: {names}"


OFFLINE = """
import sys
def watch(event, arguments):
    if event.startswith("socket.") or event in ("urllib.Request", "ftplib.connect", "smtplib.connect"):
        raise AssertionError(f"{event} {arguments}")
sys.addaudithook(watch)
from pathlib import Path
import hmrf_fast
from hmrf_fast import HMRFKMeans, datasets, io, rows, selection
from hmrf_fast.active import LabelOracle, SuperInstances
place = Path(sys.argv[1])
X, y = datasets.load("news_different_3", return_X_y=True)
model = HMRFKMeans(3, random_state=0, n_init=1, n_threads=2, checkpoint=str(place / "fit.ckpt"))
model.fit(X, must_link=[(0, 1)])
model.save(place / "model.npz")
assert hmrf_fast.load(place / "model.npz").predict(X).size == X.shape[0]
HMRFKMeans(3, n_init=1, max_iter=5, tol=1).fit(rows.write_matrix(place / "store", X))
io.Results(model, io.DataSet(X), {}).save(place / "results")
model.report(X).save(place / "page.html")
SuperInstances(3, budget=5, random_state=0).fit(X, oracle=LabelOracle(y))
import socket
try:
    socket.socket()
except AssertionError:
    print("watched")
"""


def test_nothing_speaks_to_a_network(tmp_path):
    call = [sys.executable, "-P", "-c", OFFLINE, tmp_path]
    done = subprocess.run(call, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "watched\n"


def build(copy, target):
    copy.mkdir(parents=True)
    for name in ("hmrf_fast", "kernels"):
        shutil.copytree(
            ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"), copy_function=shutil.copy
        )
    for path in [*ROOT.glob("*.md"), ROOT / "pyproject.toml", ROOT / "LICENSE", ROOT / "MANIFEST.in"]:
        shutil.copy(path, copy / path.name)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    call = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-q", "-w", target]
    subprocess.run([*call, copy], check=True, timeout=300, env=environment, cwd=copy)
    (wheel,) = target.glob("*.whl")
    return wheel.read_bytes()


def test_the_same_source_gives_the_same_wheel(tmp_path):
    pytest.importorskip("setuptools")
    one = build(tmp_path / "here" / "checkout", tmp_path / "one")
    other = build(tmp_path / "elsewhere" / "copy", tmp_path / "two")
    assert one == other and len(one) > 100_000
