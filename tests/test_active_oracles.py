"""Who answers: known labels with noise, a person at a terminal, files."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from active_helpers import HALVES, LINE, check_session
from hypothesis import given
from hypothesis import strategies as st

from hmrf_fast import datasets
from hmrf_fast.active import ExploreConsolidate, FileOracle, LabelOracle, TerminalOracle, top_terms
from hmrf_fast.errors import AnswerError, AwaitingAnswers, ConstraintError, InputError, StopAsking, TakeBack

# ---- labels


@given(st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_noise_is_a_property_of_the_pair(seed, noise):
    truth = np.arange(20) % 3
    oracle = LabelOracle(truth, noise, seed)
    answers = {(i, j): oracle(i, j) for i in range(20) for j in range(i)}
    assert all(oracle(j, i) == answer for (i, j), answer in answers.items())


def test_noise_has_its_rate():
    truth = np.arange(200) % 4
    oracle = LabelOracle(truth, 0.2, 0)
    wrong = [oracle(i, j) != (truth[i] == truth[j]) for i in range(200) for j in range(i)]
    assert abs(np.mean(wrong) - 0.2) < 4 * np.sqrt(0.16 / len(wrong))
    assert all(LabelOracle(truth, 1.0)(i, i + 4) is False for i in range(100))


def test_unknown_labels_and_mistakes():
    oracle = LabelOracle(["a", None, "a", "b"])
    assert (oracle(0, 2), oracle(2, 3), oracle(0, 1)) == (True, False, None)
    with pytest.raises(InputError, match=r"pair \(0, 4\) was asked, but y holds 4 rows"):
        oracle(0, 4)
    with pytest.raises(InputError, match=r"noise must be at least 0 and at most 1, got 1\.5"):
        LabelOracle([0, 1], noise=1.5)
    with pytest.raises(ConstraintError, match=r"y\[1\] = 0.5 is not an integer"):
        LabelOracle([0.0, 0.5])


# ---- a person


def ask(keys, **arguments):
    output = io.StringIO()
    oracle = TerminalOracle(
        ["first text", "second\ntext", "third"], input=io.StringIO(keys), output=output, **arguments
    )
    return oracle, output


@pytest.mark.parametrize(
    ("keys", "answer"), [("s\n", True), ("SAME\n", True), ("d\n", False), (" different \n", False), ("?\n", None)]
)
def test_keys(keys, answer):
    oracle, output = ask(keys)
    assert oracle(0, 1) is answer
    assert "[row 0] first text" in output.getvalue() and "[row 1] second text" in output.getvalue()


def test_other_keys_are_asked_again():
    oracle, output = ask("maybe\n\ns\n")
    assert oracle(0, 1) is True
    assert "'maybe' is no answer" in output.getvalue() and "'' is no answer" in output.getvalue()


def test_quit_and_undo():
    with pytest.raises(InputError, match=r"pair \(0, 9\) was asked, but there are \d texts"):
        TerminalOracle(["a", "b", "c"])(0, 9)
    for keys, signal in (("q\n", StopAsking), ("", StopAsking), ("u\n", TakeBack)):
        with pytest.raises(signal):
            ask(keys)[0](0, 1)


def test_control_characters_do_not_reach_the_terminal():
    output = io.StringIO()
    TerminalOracle(["\x1b[2Jgone", "x" * 50], input=io.StringIO("s\n"), output=output, width=10)(0, 1)
    assert "\x1b" not in output.getvalue() and "x" * 10 + " ..." in output.getvalue()


def test_a_session_by_hand(tmp_path):
    path = tmp_path / "session.jsonl"
    texts = [f"number {value}" for value in range(6)]

    def fit(keys):
        oracle = TerminalOracle(texts, input=io.StringIO(keys), output=io.StringIO())
        return ExploreConsolidate(2, random_state=0).fit(LINE, oracle=oracle, session=path)

    first = fit("d\nd\nq\n")
    assert (first.answers_.tolist(), first.stop_reason_) == ([0, 0], "stopped")
    second = fit("u\nu\nu\nu\ns\nq\n")  # more undos than answers; then the very first question once more
    assert second.pairs_.tolist() == first.pairs_.tolist()[:1] and second.answers_.tolist() == [1]
    assert fit("q\n").answers_.tolist() == [1]


def test_top_terms():
    news = datasets.load_news_similar_3()
    texts = top_terms(news.data, news.feature_names, 3)
    row = news.data[[7]].toarray().ravel()
    assert len(texts) == 300 and texts[7].split(", ")[0] == news.feature_names[np.argmax(row)]
    assert top_terms([[0.0, 2.0, 2.0, 1.0], [0.0] * 4], list("abcd"), 2) == ["b, c", ""]
    with pytest.raises(InputError, match="3 feature names for 4 features"):
        top_terms(np.ones((1, 4)), list("abc"))


PERSON = """
import numpy as np
from hmrf_fast.active import ExploreConsolidate, TerminalOracle
X = np.arange(6.0)[:, None]
oracle = TerminalOracle([f"number {v}" for v in range(6)])
learner = ExploreConsolidate(2, metric="sqeuclidean", random_state=0).fit(X, oracle=oracle, session="session.jsonl")
print("RESULT", learner.n_queries_, learner.stop_reason_, sorted(rows.tolist() for rows in learner.neighborhoods_))
"""


class Terminal:
    """A process at the other end of a pseudo-terminal."""

    def __init__(self, folder):
        self.handle, other = os.openpty()
        command = [sys.executable, "-W", "error", "-c", PERSON]
        self.process = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, cwd=folder)
        os.close(other)
        self.seen = ""

    def read_until(self, text):
        while text not in self.seen:
            part = self._read()
            assert part, self.seen
            self.seen += part
        seen, _, self.seen = self.seen.partition(text)
        return seen

    def type(self, keys):
        os.write(self.handle, keys.encode())

    def close(self):
        while self._read():
            pass
        assert self.process.wait() == 0
        os.close(self.handle)

    def _read(self):
        try:
            return os.read(self.handle, 4096).decode()
        except OSError:  # the process has ended
            return ""


def shown_rows(text):
    return [int(part.split("]")[0]) for part in text.split("[row ")[1:]]


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are for POSIX")
def test_a_real_terminal(tmp_path):
    prompt = "same, different, ? > "
    terminal = Terminal(tmp_path)
    first = shown_rows(terminal.read_until(prompt))
    terminal.type("x y z\r")
    assert "is no answer" in terminal.read_until(prompt)
    terminal.type("d\r" if HALVES[first[0]] == HALVES[first[1]] else "s\r")  # a mistake
    terminal.read_until(prompt)
    terminal.type("u\r")
    assert shown_rows(terminal.read_until(prompt)) == first  # taken back
    terminal.type("q\r")
    terminal.read_until("RESULT 0 stopped")
    terminal.close()
    terminal, asked = Terminal(tmp_path), []
    for _ in range(5):
        asked.append(shown_rows(terminal.read_until(prompt)))
        terminal.type("s\r" if HALVES[asked[-1][0]] == HALVES[asked[-1][1]] else "d\r")
    assert asked[0] == first
    terminal.read_until("RESULT 5 exhausted [[0, 1, 2], [3, 4, 5]]")
    terminal.close()


# ---- files


def answer_file(oracle, truth, words=("different", "same"), limit=None):
    """A labelling tool: read the open questions, append answers."""
    lines = oracle.questions.read_text(encoding="utf-8").splitlines()
    with oracle.answers.open("a", encoding="utf-8") as file:
        for line in lines[:limit]:
            question = json.loads(line)
            question["answer"] = words[truth[question["i"]] == truth[question["j"]]]
            file.write(json.dumps(question) + "\n")
    return len(lines)


@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.parametrize("words", [("different", "same"), (False, True), (0, 1)])
def test_files_round_trip(tmp_path, batch_size, words):
    texts = [f"zwölf {value}" for value in range(6)]
    rounds, open_questions = 0, []
    while True:
        learner = ExploreConsolidate(2, metric="sqeuclidean", batch_size=batch_size, random_state=0)
        oracle = FileOracle(tmp_path, texts)
        learner.fit(LINE, oracle=oracle, session=tmp_path / "session.jsonl")
        if learner.stop_reason_ != "awaiting answers":
            break
        rounds += 1
        open_questions.append(answer_file(oracle, HALVES, words, limit=2))
    check_session(learner, 6, HALVES)
    assert learner.stop_reason_ == "exhausted" and len(learner.neighborhoods_) == 2
    assert rounds >= learner.n_queries_ / 2 and max(open_questions) == (1 if batch_size == 1 else 4)
    assert oracle.questions.read_text() == "" or open_questions
    question = json.loads(oracle.answers.read_text(encoding="utf-8").splitlines()[0])
    assert question["text_i"] == texts[question["i"]]


def test_some_answers_are_used_while_others_are_awaited(tmp_path):
    oracle = FileOracle(tmp_path)
    learner = ExploreConsolidate(2, batch_size=4, explore="farthest", random_state=0).fit(LINE, oracle=oracle)
    assert learner.n_queries_ == 0 and learner.stop_reason_ == "awaiting answers"
    (i, j), *_ = asked = learner.ask(4).tolist()
    oracle.answers.write_text(f'{{"i": {j}, "j": {i}, "answer": "don\'t know"}}\n{{"i": 0, "j": 5}}\n\n')
    learner.fit(LINE, oracle=oracle)
    assert learner.pairs_.tolist() == [[i, j]] and learner.answers_.tolist() == [-1]
    assert len(oracle.questions.read_text().splitlines()) == len(asked) - 1
    with pytest.raises(AwaitingAnswers, match="has no answer in"):
        oracle(*asked[1])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"i": 0, "j": 1, "answer": "perhaps"}', "line 2: answer 'perhaps' is none of"),
        ('{"i": 0, "j": 1, "answer": 7}', "line 2: answer 7 is none of"),
        ('{"i": 0, "j": 1, "answer": 1.0}', "line 2: answer 1.0 is none of"),
        ('{"i": "0", "j": 1, "answer": "same"}', "line 2: i = '0' is not a row number"),
        ('{"i": 0, "j": -1, "answer": "same"}', "line 2: j = -1 is not a row number"),
        ("0,1,same", "line 2: '0,1,same' is not a JSON object"),
    ],
)
def test_malformed_answers(tmp_path, line, message):
    oracle = FileOracle(tmp_path)
    oracle.answers.write_text('{"i": 0, "j": 1, "answer": "same"}\n' + line + "\n")
    learner = ExploreConsolidate(2, random_state=0)
    with pytest.raises(AnswerError, match=message):
        learner.fit(LINE, oracle=oracle)
    assert learner.n_queries_ == 0


def test_texts_with_any_line_separator_come_back(tmp_path):
    texts = [f"one\u2028two\u0085three {row}" for row in range(len(LINE))]
    oracle, learner = FileOracle(tmp_path, texts), ExploreConsolidate(2, random_state=0)
    learner.fit(LINE, oracle=oracle)
    lines = oracle.questions.read_text(encoding="utf-8").split("\n")[:-1]
    answered = [json.dumps(json.loads(line) | {"answer": "same"}, ensure_ascii=False) for line in lines]
    oracle.answers.write_text("\n".join(answered) + "\n", encoding="utf-8")
    learner.fit(LINE, oracle=oracle)
    assert learner.n_queries_ == len(lines) > 0


def test_files_that_cannot_be_read_or_written_are_named(tmp_path):
    learner = ExploreConsolidate(2, random_state=0)
    with pytest.raises(InputError, match=r"questions cannot be written to .*nowhere"):
        learner.fit(LINE, oracle=FileOracle(tmp_path / "nowhere"))
    oracle = FileOracle(tmp_path)
    oracle.answers.write_bytes(b'{"i": 0, "j": 1, "answer": "same\xff"}\n')
    with pytest.raises(AnswerError, match="is not UTF-8: byte 32"):
        learner.fit(LINE, oracle=oracle)
    oracle.answers.write_text("[" * 100_000)
    with pytest.raises(AnswerError, match=r"line 1: .* is not a JSON object"):
        learner.fit(LINE, oracle=oracle)
