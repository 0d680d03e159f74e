"""Sessions on disk: whatever happens, no answer is lost and none is asked again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from active_helpers import HALVES, LINE, Placing, check_session, tasks
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from strategies import random_states

from hmrf_fast import Constraints
from hmrf_fast.active import ExploreConsolidate, LabelOracle, SuperInstances
from hmrf_fast.errors import ContradictionError, ContradictionWarning, SessionError, StopAsking, TornSessionWarning


class Stopping:
    """A true oracle that stops after so many answers."""

    def __init__(self, truth, count):
        self.truth, self.left = truth, count

    def __call__(self, i, j):
        self.left -= 1
        if self.left < 0:
            raise StopAsking
        return bool(self.truth[i] == self.truth[j])


def same_state(first, second):
    assert first.pairs_.tolist() == second.pairs_.tolist()
    assert first.answers_.tolist() == second.answers_.tolist()
    assert [rows.tolist() for rows in first.neighborhoods_] == [rows.tolist() for rows in second.neighborhoods_]
    for kind in ("must_link", "cannot_link"):
        assert np.array_equal(getattr(first.constraints_, kind), getattr(second.constraints_, kind))


@given(tasks(), st.lists(st.integers(0, 5), max_size=3))
def test_resumed_sessions_equal_an_uninterrupted_one(task, stops):
    X, truth, learner = task
    whole = clone(learner).fit(X, oracle=LabelOracle(truth))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        for count in stops:
            clone(learner).fit(X, oracle=Stopping(truth, count), session=path)
        last = Stopping(truth, 10**6)
        learner.fit(X, oracle=last, session=path)
        same_state(learner, whole)
        assert len(path.read_bytes().splitlines()) == 1 + learner.n_queries_
        again = clone(learner).fit(X, oracle=Stopping(truth, 0), session=path)
        same_state(again, whole)


@given(tasks(), st.data())
def test_a_file_cut_anywhere_is_a_shorter_session(task, data):
    X, truth, learner = task
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        learner.fit(X, oracle=LabelOracle(truth), session=path)
        content = path.read_bytes()
        cut = data.draw(st.integers(content.index(b"\n") + 1, len(content)))
        path.write_bytes(content[:cut])
        resumed = clone(learner)
        if content[:cut].endswith(b"\n"):
            resumed.fit(X, oracle=LabelOracle(truth), session=path)
        else:
            with pytest.warns(TornSessionWarning, match="cut short"):
                resumed.fit(X, oracle=LabelOracle(truth), session=path)
        same_state(resumed, learner)
        assert path.read_bytes() == content


@given(tasks(), st.integers(1, 4))
def test_neighbourhood_answers_are_saved(task, count):
    X, truth, learner = task
    learner.set_params(budget=None)

    class Interrupted(Placing):
        def neighborhood(self, row, rows):
            if self.asked == count:
                raise StopAsking
            return super().neighborhood(row, rows)

    whole = clone(learner).fit(X, oracle=Placing(truth))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        learner.fit(X, oracle=Interrupted(truth), session=path)
        resumed = clone(learner).fit(X, oracle=Placing(truth), session=path)
        same_state(resumed, whole)
        assert resumed.n_queries_ == whole.n_queries_


def test_undo_is_saved(tmp_path):
    path = tmp_path / "session.jsonl"
    learner = ExploreConsolidate(2, random_state=0).start(LINE, session=path)
    first = learner.ask()
    learner.tell(first, [None])
    learner.tell(learner.ask(), [True]).undo().undo()
    resumed = ExploreConsolidate(2, random_state=0).start(LINE, session=path)
    assert resumed.n_queries_ == 0 and resumed.ask().tolist() == first.tolist()


def test_a_session_without_a_seed_keeps_its_own(tmp_path):
    path, truth = tmp_path / "session.jsonl", np.arange(30) % 3
    X = np.random.default_rng(0).random((30, 4))
    parts = [ExploreConsolidate(3).fit(X, oracle=Stopping(truth, 4), session=path) for _ in range(5)]
    for first, second in pairwise(parts):
        assert second.pairs_.tolist()[: first.n_queries_] == first.pairs_.tolist()
    check_session(parts[-1], 30, truth)
    assert parts[-1].n_queries_ == 20


def test_a_larger_budget_goes_on(tmp_path):
    path = tmp_path / "session.jsonl"
    ExploreConsolidate(2, budget=2, random_state=0).fit(LINE, oracle=LabelOracle(HALVES), session=path)
    learner = ExploreConsolidate(2, budget=4, random_state=0).fit(LINE, oracle=Stopping(HALVES, 2), session=path)
    assert learner.n_queries_ == 4 and learner.stop_reason_ in ("budget", "exhausted")


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / "session.jsonl"
    learner = ExploreConsolidate(2, random_state=0).start(LINE, session=path)
    content = path.read_bytes()
    changed = LINE.copy()
    changed[3] += 1
    for other, X, arguments, message in (
        (learner, changed, {}, "data = "),
        (learner, LINE[:5], {}, "n_rows = 6, here it is 5"),
        (learner, LINE, {"rows": [1, 2]}, "rows = "),
        (learner, LINE, {"constraints": Constraints([(0, 1)])}, "constraints = None"),
        (clone(learner).set_params(n_clusters=3), LINE, {}, "parameters = .*'n_clusters': 2"),
        (clone(learner).set_params(random_state=1), LINE, {}, "seed = "),
    ):
        with pytest.raises(SessionError, match=message):
            clone(other).start(X, session=path, **arguments)
    with pytest.raises(SessionError, match="placements = False, here it is True"):
        clone(learner).fit(LINE, oracle=Placing(HALVES), session=path)
    assert path.read_bytes() == content
    for text, message in (
        (b"i,j,type\n0,1,must\n", "line 1: .* is not a JSON object"),
        (b"{}\n", "not a session file"),
        (b"no end", "first line has no end"),
        (content + b'{"pair":[0,9],"answer":1}\n', 'line 2: {"pair": \\[0, 9\\]'),
        (content + b'{"pair":[0,1],"answer":"same"}\n', "line 2: .* is no answer"),
        (content + b"nonsense\n", "line 2: .* is not a JSON object"),
        (content + b"[" * 100_000 + b"\n", "line 2: .* is not a JSON object"),
        (content + b'{"pair":[3,3],"answer":1}\n', "line 2: .* is no answer"),
        (content + b'{"pair":[0,1],"answer":true}\n', "line 2: .* is no answer"),
        (content + b'{"pair":[0,1],"answer":1.0}\n', "line 2: .* is no answer"),
        (content + b'{"row":3,"among":[],"answer":-1}\n', "line 2: .* is no answer"),
        (content + b'{"row":3,"among":[4,5],"answer":0}\n', "line 2: .* is no answer"),  # this session asks pairs
    ):
        path.write_bytes(text)
        with pytest.raises(SessionError, match=message):
            clone(learner).start(LINE, session=path)
        assert path.read_bytes() == text
    with pytest.raises(SessionError, match="No such file"):
        clone(learner).start(LINE, session=tmp_path / "nowhere" / "session.jsonl")


def test_two_writers_do_not_mix(tmp_path):
    path = tmp_path / "session.jsonl"
    first = ExploreConsolidate(2, random_state=0).start(LINE, session=path)
    second = ExploreConsolidate(2, random_state=0).start(LINE, session=path)
    first.tell(first.ask(), [True])
    with pytest.raises(SessionError, match="changed by somebody else"):
        second.tell(second.ask(), [True])
    assert second.n_queries_ == 0 and first.n_queries_ == 1


def test_contradicting_answers_are_saved_where_they_are_kept(tmp_path):
    path = tmp_path / "session.jsonl"
    learner = ExploreConsolidate(2, random_state=0, on_contradiction="warn").start(LINE, session=path)
    learner.tell([(0, 1), (1, 2)], [True, True])
    with pytest.warns(ContradictionWarning):
        learner.tell([(0, 2)], [False])
    with pytest.raises(ContradictionError):
        clone(learner).set_params(on_contradiction="raise").start(LINE, session=path)
    with pytest.warns(ContradictionWarning):
        resumed = clone(learner).start(LINE, session=path)
    same_state(resumed, learner)


WORKER = """
import sys, time
import numpy as np
from hmrf_fast.active import ExploreConsolidate
X, truth = np.random.default_rng(0).random((40, 5)), np.arange(40) % 3
answered = 0
def oracle(i, j):
    global answered
    if answered == int(sys.argv[2]):
        print("ready", flush=True)
        time.sleep(600)
    answered += 1
    return truth[i] == truth[j]
ExploreConsolidate(3, budget=None, random_state=0).fit(X, oracle=oracle, session=sys.argv[1])
"""


@pytest.mark.skipif(os.name != "posix", reason="kill -9 is for POSIX")
def test_a_killed_process_loses_nothing(tmp_path):
    path, X, truth = tmp_path / "session.jsonl", np.random.default_rng(0).random((40, 5)), np.arange(40) % 3
    for count in (5, 3):
        command = [sys.executable, "-W", "error", "-c", WORKER, str(path), str(count)]
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert worker.stdout.readline() == "ready\n"
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        worker.stdout.close()
    assert len(path.read_text().splitlines()) == 1 + 8
    assert json.loads(path.read_text().splitlines()[0])["n_rows"] == 40
    learner = ExploreConsolidate(3, budget=None, random_state=0)
    whole = clone(learner).fit(X, oracle=LabelOracle(truth))
    same_state(learner.fit(X, oracle=LabelOracle(truth), session=path), whole)


@given(random_states(), st.sampled_from([ExploreConsolidate, SuperInstances]), st.integers(2, 6))
def test_a_session_in_pieces_asks_what_it_would_have_asked_at_once(rng, learner, batch_size):
    """Also where rounds were cut by the budget, and questions left out of a round because others could entail them."""
    X, y = rng.random((18, 2)), rng.integers(4, size=18)
    i, j = rng.integers(18, size=(2, 5))
    known = Constraints(np.c_[i, j][(y[i] == y[j]) & (i != j)], np.c_[i, j][y[i] != y[j]])
    settings = {"metric": "sqeuclidean", "batch_size": batch_size, "random_state": 0}
    told = {"oracle": LabelOracle(y), "constraints": known}
    whole = learner(4, budget=20, **settings).fit(X, **told)
    with tempfile.TemporaryDirectory() as folder:
        for budget in [*sorted(rng.integers(1, 20, size=3).tolist()), 20]:
            piece = learner(4, budget=budget, **settings).fit(X, session=Path(folder) / "session.jsonl", **told)
    np.testing.assert_array_equal(piece.pairs_, whole.pairs_)
