"""A fit that is killed, interrupted or out of disk goes on to the bits of an uninterrupted one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from scipy import sparse

from hmrf_fast import ConstrainedKMeans, COPKMeans, HMRFKMeans, PCKMeans, SeededKMeans, SphericalKMeans
from hmrf_fast.errors import CheckpointError, CheckpointWarning, ConvergenceWarning, HMRFWarning, InputError

STATE = ("labels_", "cluster_centers_", "feature_weights_", "objective_", "objective_history_", "n_iter_", "smoothing_")
KILLS = int(os.environ.get("HMRF_FAST_KILLS", "12"))
RNG = np.random.default_rng(4)
X = sparse.csr_matrix(RNG.random((120, 40)) * (RNG.random((120, 40)) < 0.3))
PAIRS = RNG.permutation(120)[:60].reshape(30, 2)
KNOWN = {"must_link": PAIRS[:15], "cannot_link": PAIRS[15:]}


class Enough(Exception):
    """Ends a fit from its callback, where a killed process would have ended."""


def model(path=None, metric="cosine", **more):
    given = {
        "metric": metric,
        "init": "k-means++",
        "n_init": 3,
        "max_iter": 8,
        "tol": 0.0,
        "random_state": 3,
        "checkpoint_every": 0.0,
    }
    return HMRFKMeans(4, checkpoint=path, **(given | more))


def fit(estimator, **known):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", HMRFWarning)
        return estimator.fit(X, **(known or KNOWN))


def stop_after(calls):
    """A callback that lets so many iterations pass."""
    left = [calls]

    def callback(_):
        left[0] -= 1
        if left[0] < 0:
            raise Enough

    return callback


def assert_same(first, second):
    for name in STATE:
        assert np.array_equal(getattr(first, name), getattr(second, name)), name


@pytest.mark.parametrize("learn", [False, True])
@pytest.mark.parametrize("metric", ["cosine", "i_divergence", "sqeuclidean", "pearson"])
@pytest.mark.parametrize("init", ["k-means++", "low_rank"])
def test_goes_on_to_the_same_bits(tmp_path, metric, learn, init):
    """Stopped again and again, in every second iteration."""
    more = {"metric": metric, "learn_weights": learn, "init": init}
    whole, resumed = fit(model(**more)), model(tmp_path / "fit.ckpt", **more)
    stops = 0
    while True:
        resumed.set_params(callback=stop_after(1))
        try:
            fit(resumed)
            break
        except Enough:
            stops += 1
    assert stops > 0
    assert_same(resumed, whole)


@pytest.mark.parametrize(
    "estimator, known",
    [
        (PCKMeans(4, w=0.5, init="random"), KNOWN),
        (COPKMeans(4), KNOWN),
        (SeededKMeans(4), {"partial_labels": np.where(np.arange(120) < 20, np.arange(120) % 3, -1)}),
        (ConstrainedKMeans(4), {"partial_labels": np.where(np.arange(120) < 20, np.arange(120) % 3, -1)}),
        (SphericalKMeans(4, n_init=3), {"sample_weight": None}),
        (HMRFKMeans(4, metric="mahalanobis", n_init=3), {}),
        (HMRFKMeans(4, init=lambda X, K, random_state: X[random_state % 50 :][:K].toarray(), n_init=4), KNOWN),
        (HMRFKMeans(4, init=X[:4].toarray()), KNOWN),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_estimator_goes_on(tmp_path, estimator, known):
    rows = X[:, :3].toarray() if getattr(estimator, "metric", "") == "mahalanobis" else X
    estimator.set_params(random_state=1, max_iter=6, tol=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HMRFWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        whole = {name: getattr(estimator.fit(rows, **known), name) for name in STATE}
        estimator.set_params(checkpoint=tmp_path / "fit.ckpt", checkpoint_every=0)
        stops = 0
        while True:
            estimator.set_params(callback=stop_after(1))
            try:
                estimator.fit(rows, **known)
                break
            except Enough:
                stops += 1
    assert stops > 0
    for name in STATE:
        assert np.array_equal(getattr(estimator, name), whole[name]), name


CHILD = """
import sys, warnings
sys.path.insert(0, {tests!r})
warnings.simplefilter("ignore")
from test_checkpoint import fit, model
import numpy as np
print("ready", flush=True)
found = fit(model({path!r}, learn_weights=True, init="low_rank", max_iter=30, metric={metric!r}))
np.save({out!r}, found.objective_history_)
np.save({out!r} + ".labels", found.labels_)
np.save({out!r} + ".centers", found.cluster_centers_)
"""


def child(tmp_path, metric="i_divergence"):
    """A process that fits under a checkpoint; it says "ready" when it begins."""
    names = {"tests": os.path.dirname(__file__), "path": str(tmp_path / "fit.ckpt"), "out": str(tmp_path / "out")}
    code = CHILD.format(metric=metric, **names)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    with process.stdout as told:
        assert told.readline() == "ready\n"
    return process


KILLED = """
import os, signal, sys, time, warnings
sys.path.insert(0, {tests!r})
warnings.simplefilter("ignore")
import numpy as np
from pathlib import Path
from test_checkpoint import STATE, fit, model
more = dict(learn_weights={learn}, init={init!r}, max_iter=30, metric={metric!r}, n_threads=1)
path, rng, kills, trials = Path({path!r}), np.random.default_rng(0), 0, 0
fit(model(**more))
whole = fit(model(path, **more))
path.unlink()
began = time.monotonic()
fit(model(path, **more))
lasts = time.monotonic() - began
path.unlink()
while kills < {kills} and trials < 100 * {kills}:
    trials += 1
    child = os.fork()
    if child == 0:
        fit(model(path, **more))
        os._exit(0)
    time.sleep(rng.random() * lasts * 0.7)
    os.kill(child, signal.SIGKILL)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
        path.unlink()  # it was faster: begin again
    else:
        kills += 1
last = fit(model(path, **more))
print(kills, all(np.array_equal(getattr(last, name), getattr(whole, name)) for name in STATE))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes that need no time to begin are of POSIX")
@pytest.mark.parametrize(
    "metric, learn, init",
    [
        ("i_divergence", True, "low_rank"),
        ("cosine", True, "k-means++"),
        ("cosine", False, "low_rank"),
        ("pearson", False, "low_rank"),
    ],
)
def test_killed_at_random_moments(tmp_path, metric, learn, init):
    """kill -9 at any moment from the first write to the end; HMRF_FAST_KILLS=50 takes longer."""
    names = {"tests": os.path.dirname(__file__), "path": str(tmp_path / "fit.ckpt"), "kills": KILLS}
    code = KILLED.format(metric=metric, learn=learn, init=init, **names)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == f"{KILLS} True\n", done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_save_first(tmp_path, number):
    """The signal comes while an iteration is under way; nothing has been written since the start but by it."""
    heard = []

    def callback(state):
        if state["start"] == 1 and state["iteration"] == 2:
            signal.raise_signal(number)

    def handler(*_):
        heard.append(number)
        raise KeyboardInterrupt

    whole, resumed = fit(model()), model(tmp_path / "fit.ckpt", checkpoint_every=1e6, callback=callback)
    before = signal.signal(number, handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            fit(resumed)
        assert signal.getsignal(number) is handler and heard == [number]
    finally:
        signal.signal(number, before)
    assert not hasattr(resumed, "labels_")
    seen = []
    fit(resumed.set_params(callback=seen.append))
    assert (seen[0]["start"], seen[0]["iteration"]) == (1, 3)
    assert_same(resumed, whole)


def test_sigterm_ends_a_process_as_ever(tmp_path):
    process = child(tmp_path)
    while not (tmp_path / "fit.ckpt").exists() and process.poll() is None:
        time.sleep(0.01)
    process.terminate()
    assert process.wait() in (-signal.SIGTERM, 0)
    assert child(tmp_path).wait() == 0


@pytest.fixture
def heard():
    """SIGINT as at a terminal: what a shell starts in the background is born ignoring it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_signal_while_a_start_is_sought(tmp_path, heard):
    """The search is cut short; what was done before is saved."""
    calls = []

    def init(rows, n_clusters, random_state):
        calls.append(random_state)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        return rows[random_state % 50 :][:n_clusters].toarray()

    resumed = model(tmp_path / "fit.ckpt", init=init, checkpoint_every=1e6)
    with pytest.raises(KeyboardInterrupt):
        fit(resumed)
    fit(resumed)
    assert len(calls) == 4 and calls[1] == calls[2] != calls[3]  # the first was not repeated, the second was


def interrupted(path, calls=4, **more):
    with pytest.raises(Enough):
        fit(model(path, callback=stop_after(calls), **more))


@pytest.mark.parametrize(
    "change, named",
    [
        ({"metric": "pearson"}, "metric is 'cosine' there and 'pearson' here"),
        ({"n_clusters": 5}, "n_clusters is 4 there and 5 here"),
        ({"max_iter": 9}, "max_iter"),
        ({"learning_rate": 0.5}, "learning_rate"),
        ({"cannot_link_weight": 2.0}, "cannot_link_weight"),
        ({"random_state": 4}, "random_state"),
        ({"init": X[:4].toarray()}, "init"),
    ],
)
def test_another_fit_is_refused(tmp_path, change, named):
    path = tmp_path / "fit.ckpt"
    interrupted(path)
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=f"another fit: {named}"):
        fit(model(path).set_params(**change))
    assert path.read_bytes() == before
    assert_same(fit(model(path, n_threads=2)), fit(model()))  # threads do not make another fit


def test_other_rows_and_constraints_are_refused(tmp_path):
    interrupted(tmp_path / "fit.ckpt")
    for known, named in (
        ({"must_link": PAIRS[:14]}, "constraints"),
        ({**KNOWN, "sample_weight": RNG.random(120)}, "s"),
    ):
        with pytest.raises(CheckpointError, match=f"{named}.* is another"):
            fit(model(tmp_path / "fit.ckpt"), **known)
    other = X.copy()
    other.data[7] += 1e-9
    with pytest.raises(CheckpointError, match="rows is another"):
        model(tmp_path / "fit.ckpt").fit(other, **KNOWN)
    reversed_pairs = {"must_link": PAIRS[:15][::-1, ::-1], "cannot_link": PAIRS[15:]}
    assert_same(fit(model(tmp_path / "fit.ckpt"), **reversed_pairs), fit(model()))


def test_a_finished_fit_gives_its_result_and_then_way(tmp_path):
    path, seen = tmp_path / "fit.ckpt", []
    first = fit(model(path))
    assert_same(fit(model(path, callback=seen.append)), first)
    assert not seen
    assert_same(fit(model(path, max_iter=5)), fit(model(max_iter=5)))


def test_without_a_seed_the_file_tells_it(tmp_path):
    path = tmp_path / "fit.ckpt"
    interrupted(path, random_state=None)
    seed = json.loads(np.load(path)["header"].tobytes())["content"]["seed"]
    fit(model(path, random_state=None))
    assert json.loads(np.load(path)["header"].tobytes())["content"]["seed"] == seed


@pytest.mark.parametrize("damage", ["torn", "changed", "foreign"])
def test_a_damaged_file_gives_way_to_the_one_before(tmp_path, damage):
    path = tmp_path / "fit.ckpt"
    interrupted(path)
    content = bytearray(path.read_bytes())
    if damage == "torn":
        del content[len(content) // 2 :]
    elif damage == "changed":
        content[len(content) // 2] ^= 1
    else:
        content[:] = b"something else"
    path.write_bytes(content)
    with warnings.catch_warnings(), pytest.warns(CheckpointWarning, match="the one before"):
        warnings.simplefilter("ignore", ConvergenceWarning)
        resumed = model(path).fit(X, **KNOWN)
    assert_same(resumed, fit(model()))
    for name in (path, tmp_path / "fit.ckpt.previous"):
        name.write_bytes(content)
    with pytest.raises(CheckpointError, match="another file"):
        fit(model(path))
    assert path.read_bytes() == content


def test_lost_between_two_names(tmp_path):
    interrupted(tmp_path / "fit.ckpt")
    shutil.move(tmp_path / "fit.ckpt", tmp_path / "fit.ckpt.previous")
    assert_same(fit(model(tmp_path / "fit.ckpt")), fit(model()))


FULL = """
import resource, sys, warnings
sys.path.insert(0, {tests!r})
from test_checkpoint import X, KNOWN, fit, model
def callback(state):
    if state["start"] == 1 and state["iteration"] == 2:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
warnings.simplefilter("ignore")
warnings.filterwarnings("always", "the checkpoint cannot")
model({path!r}, callback=callback).fit(X, **KNOWN)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of file sizes are of POSIX")
def test_a_full_disk(tmp_path):
    """The fit goes on and warns; what was written last still loads."""
    path = tmp_path / "fit.ckpt"
    code = FULL.format(tests=os.path.dirname(__file__), path=str(path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "cannot be written" in done.stderr and "the fit goes on" in done.stderr
    assert sorted(one.name for one in tmp_path.iterdir()) == ["fit.ckpt", "fit.ckpt.previous"]
    seen = []
    assert_same(fit(model(path, callback=seen.append)), fit(model()))
    assert (seen[0]["start"], seen[0]["iteration"]) in ((1, 2), (1, 3))


def test_no_place_to_write_is_told_before_the_work(tmp_path):
    seen = []
    with pytest.raises(CheckpointError, match="cannot be written"):
        fit(model(tmp_path / "no" / "folder", callback=seen.append))
    assert not seen


@pytest.mark.parametrize("change", [{"checkpoint": 3}, {"checkpoint_every": -1}, {"checkpoint_every": "often"}])
def test_bad_parameters(change):
    with pytest.raises(InputError, match=next(iter(change))):
        fit(model().set_params(**change))
