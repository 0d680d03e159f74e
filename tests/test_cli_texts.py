"""From texts to labels on the command line, as real processes, on terminals and elsewhere."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from commands import COMMAND, run_command
from test_cli import refused, run
from text_corpus import json_lines, records

import hmrf_fast
from hmrf_fast import io as files
from hmrf_fast.io.results import load_results
from hmrf_fast.scores import agreement

PAIRS = "i,j,type,weight\r\nmsg-0,msg-3,must,1\r\nmsg-0,msg-1,cannot,inf\r\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder in which texts were vectorized into m and clustered into res, by the commands of the README."""
    folder = tmp_path_factory.mktemp("texts")
    (folder / "texts.jsonl").write_bytes(json_lines("\r\n"))
    (folder / "pairs.csv").write_text(PAIRS, newline="")
    told = run("vectorize", "texts.jsonl", "--out", "m", cwd=folder).stdout
    assert re.fullmatch(r"60 texts, \d+ words, \d+ counts other than 0; written to m\n", told)
    fit = ("fit", "m", "--n-clusters", 3, "--constraints", "pairs.csv", "--out", "res")
    told = run(*fit, cwd=folder).stdout
    assert "60 rows in 3 clusters" in told and "must-links:     1 given, 0 violated" in told
    return folder


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_labels_have_ids(place):
    rows = table(place / "res" / "labels.csv")
    assert [row["id"] for row in rows] == [record["id"] for record in records()]
    assert rows[0]["label"] == rows[3]["label"] != rows[1]["label"]


def test_results_are_complete_without_the_folder_they_came_from(place, tmp_path):
    results = load_results(place / "res")
    assert results.data.texts == [record["text"] for record in records()]
    assert results.summary["files"] == {"data": "m", "constraints": ["pairs.csv"], "sample_weight": None}
    assert sum(results.summary["cluster_sizes"]) == 60
    data = files.read(place / "m")
    known = files.read_constraints(place / "pairs.csv", data.n_rows, data.ids)
    model = hmrf_fast.HMRFKMeans(3, random_state=0).fit(data.matrix, constraints=known)
    np.testing.assert_array_equal(model.labels_, results.model.labels_)


def test_predict(place):
    (place / "new.jsonl.gz").write_bytes(gzip.compress(json_lines()))
    told = run("predict", "res", "new.jsonl.gz", "--out", "labels.csv", cwd=place).stdout
    assert told == "60 rows, 3 clusters; written to labels.csv\n"
    model = hmrf_fast.load(place / "res" / "model.npz")
    rows = table(place / "labels.csv")
    assert [int(row["label"]) for row in rows] == model.predict(files.read(place / "m").matrix).tolist()
    assert all(0 <= float(row["distance"]) <= 1 for row in rows)
    (place / "other.csv").write_text("a,b\n1,2\n")
    assert "these rows have 2 features, the model 24" in refused(
        "predict", place / "res", place / "other.csv", "--out", place / "x.csv"
    )
    assert "is no folder of results" in refused("predict", place / "m", place / "other.csv", "--out", place / "x.csv")
    assert not (place / "x.csv").exists()


def test_texts_without_any_known_word_are_warned_of(place):
    lines = [{"id": "a", "text": records()[0]["text"]}, {"id": "b", "text": "??"}, {"id": "c", "text": ""}]
    (place / "strange.jsonl").write_text("\n".join(map(json.dumps, lines)))
    command = [part for part in COMMAND if part not in ("-W", "error")]
    command += ["predict", "res", "strange.jsonl", "--out", "strange.csv"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True, cwd=place)
    assert done.stderr.startswith("Warning: 2 of 3 rows (row b, c) say nothing under metric='cosine': their clusters ")
    assert done.stderr.count("\n") == 1 and [row["id"] for row in table(place / "strange.csv")] == ["a", "b", "c"]


def test_evaluate(place):
    scores = json.loads(run("evaluate", "res", "--json", cwd=place).stdout)
    (place / "truth.csv").write_text("id,label\n" + "".join(f"{r['id']},{r['label']}\n" for r in records()[:30]))
    told = run("evaluate", "res", "--truth", "truth.csv", cwd=place).stdout
    assert scores["n_rows"] == 60 and 0.5 < scores["normalized_mutual_information"] <= 1
    assert "n rows:                        30" in told and "adjusted rand index:" in told
    (place / "truth.csv").write_text("id,label\nnobody,x\n")
    assert "row number 'nobody'" in refused("evaluate", place / "res", "--truth", place / "truth.csv")


def test_constraints_check(place):
    good = run("constraints", "check", "pairs.csv", "m", "--n-clusters", 3, cwd=place).stdout
    assert "60, 3 of them (5.0 %) under constraints" in good and "contradictions: 0" in good
    (place / "bad.csv").write_text("msg-0,msg-3,must\nmsg-3,msg-6,must\nmsg-0,msg-6,cannot\n")
    bad = run("constraints", "check", "bad.csv", "m", cwd=place, code=3).stdout
    assert "cannot-link (msg-0, msg-6) contradicts the must-links msg-0 - msg-3 - msg-6" in bad
    soft = ("fit", "m", "-k", "3", "--constraints", "bad.csv", "--out", "res-bad", "--progress", "none")
    warning = [part for part in COMMAND if part not in ("-W", "error")]
    done = subprocess.run([*warning, *soft], capture_output=True, text=True, timeout=300, cwd=place, check=True)
    assert "contradicts the must-links msg-0 - msg-3 - msg-6" in done.stdout
    assert "hmrf-fast constraints check FILE DATA names the chains" in done.stderr and "report_" not in done.stderr
    (place / "hard.csv").write_text("msg-4,msg-5,cannot,inf\nmsg-5,msg-7,cannot,inf\nmsg-4,msg-7,cannot,inf\n")
    assert "rows msg-4, msg-5, msg-7 are mutually hard cannot-linked" in refused(
        "fit", place / "m", "-k", 2, "--constraints", place / "hard.csv", "--out", place / "none"
    )
    assert not (place / "none").exists()
    (place / "worse.csv").write_text("msg-0,msg-99,must\n")
    assert "line 1: the data have no row with the id 'msg-99'" in refused(
        "constraints", "check", place / "worse.csv", place / "m"
    )


def answering(*arguments, keys, cwd):
    """Run a command whose standard input is text."""
    return run_command(*arguments, text=keys, cwd=cwd)


def test_ask_saves_undoes_and_goes_on(place):
    question = ("ask", "m", "--n-clusters", 3, "--session", "answers.jsonl", "--out", "asked.csv")
    first = answering(*question, keys="d\nd\nu\nq\n", cwd=place)
    assert first.returncode == 0, first.stderr
    assert "1 question answered, " in first.stdout and "(stopped)" in first.stdout
    assert re.search(r"; \d+ must-links? and \d+ cannot-links? written to asked.csv", first.stdout)
    texts = [record["text"] for record in records()]
    shown = re.findall(r"\[row (\d+)\] (.*)", first.stdout)
    assert len(shown) >= 4 and all(texts[int(row)] == text for row, text in shown)
    second = answering(*question, keys="?\ns\n", cwd=place)
    assert "3 questions answered" in second.stdout
    known = files.read_constraints(place / "asked.csv", 60, [record["id"] for record in records()])
    assert len(known.cannot_link) >= 1
    again = run(*question[:-1], "again.csv", "--budget", 3, cwd=place)
    assert "(budget)" in again.stdout
    assert (place / "again.csv").read_bytes() == (place / "asked.csv").read_bytes()


def test_convert_and_fit_of_everything(place):
    run("convert", "m", "x.svm", cwd=place)
    assert "is there already" in refused("convert", place / "m", place / "x.svm")
    run("fit", "x.svm", "-k", 3, "--out", "res-svm", "--quiet", cwd=place)
    assert table(place / "res-svm" / "labels.csv")[0].keys() == {"row", "label"}
    done = answering("fit", "-", "-k", 3, "--out", "res-stdin", keys=json_lines().decode(), cwd=place)
    assert done.returncode == 0, done.stderr
    # svmlight keeps 16 digits, so that clusters may be found in another order.
    labels = [load_results(place / name).model.labels_ for name in ("res-svm", "res-stdin")]
    assert agreement(*labels)["adjusted_rand_index"] == 1.0


def test_other_estimators(place):
    (place / "classes.csv").write_text("id,label\nmsg-0,space\nmsg-1,sport\n")
    fit = ("fit", place / "m", "-k", 3, "--constraints", place / "classes.csv")
    run(*fit, "--estimator", "ConstrainedKMeans", "--metric", "cosine", "--out", place / "res-seeded", "--quiet")
    model = hmrf_fast.load(place / "res-seeded" / "model.npz")
    assert model.classes_.tolist() == ["space", "sport"] and model.labels_[:2].tolist() == [0, 1]
    assert "KMeans' is none of COPKMeans" in refused(*fit, "--estimator", "KMeans", "--out", place / "no-results")
    assert "COPKMeans has no --learn-weights" in refused(
        *fit, "--estimator", "COPKMeans", "--learn-weights", "--out", place / "no-results"
    )
    assert not (place / "no-results").exists()


def test_config_file(place):
    (place / "run.toml").write_text(
        '[fit]\ndata = "m"\nout = "res-toml"\nn-clusters = 3\nmust_link_weight = 2.0\ninfer = false\nquiet = true\n'
        '[constraints.check]\nconstraints = "pairs.csv"\ndata = "m"\n'
    )
    assert run("fit", "--config", "run.toml", "--n-init", 2, cwd=place).stdout == ""
    summary = json.loads((place / "res-toml" / "summary.json").read_text())
    assert summary["settings"] == {
        "n_clusters": 3, "must_link_weight": 2.0, "infer_constraints": False, "n_init": 2, "random_state": 0
    }  # fmt: skip
    assert "1 must-links" in run("constraints", "check", "--config", "run.toml", cwd=place).stdout
    for content, told in (
        ("[fit]\nclusters = 3\n", "[fit] has no option 'clusters'; there are"),
        ("[predict]\nout = 'x'\n", "has no table [fit]"),
        ("[fit\n", "is not TOML"),
        ("fit = 3\n", "has no"),
    ):
        (place / "bad.toml").write_text(content)
        stderr = run("fit", "--config", "bad.toml", cwd=place, code=2).stderr
        assert told in " ".join(stderr.replace("│", " ").split()), stderr
    assert "No such file" in run("fit", "--config", "none.toml", cwd=place, code=2).stderr


def test_progress_lines(place):
    fit = ("fit", "m", "-k", 3, "--force", "--out", "res-json", "--n-init", 3)
    lines = [json.loads(line) for line in run(*fit, "--progress", "json", cwd=place).stderr.splitlines()]
    steps = [line for line in lines if "iteration" in line]
    assert steps and {"start", "iteration", "objective", "changed", "rate", "seconds_left"} == set(steps[0])
    assert run(*fit, "--progress", "none", cwd=place).stderr == ""
    quiet = run(*fit, "--progress", "json", "--quiet", cwd=place)
    assert quiet.stdout == quiet.stderr == ""


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are for POSIX")
def test_progress_on_a_terminal(place):
    handle, other = os.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "160", "NO_COLOR": "1"}
    command = [*COMMAND, "fit", "m", "-k", "3", "--force", "--out", "res-bar"]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=other, cwd=place, env=environment
    )
    os.close(other)
    shown = b""
    while True:
        try:
            piece = os.read(handle, 4096)
        except OSError:  # the other end was closed
            break
        if not piece:
            break
        shown += piece
    os.close(handle)
    assert process.wait(timeout=60) == 0
    process.stdout.close()
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())
    assert re.search(r"start \d+, iteration \d+", text) and re.search(r"J = [\d.]+, \d+ moved, [\d.]+/s", text), text


def test_bad_input_leaves_nothing_behind(tmp_path):
    for name, content, told in (
        ("empty.jsonl", b"", "empty.jsonl: holds no rows"),
        ("latin.csv", b"id,text\n1,caf\xe9\n", "latin.csv, line 2: byte 0xe9 is not utf-8"),
        ("cut.jsonl.gz", gzip.compress(json_lines())[:-5], "damaged or cut short"),
        ("twice.csv", b"id,text\r\na,x\r\na,y\r\n", "line 3: id 'a' was used before"),
        ("words.jsonl", b'{"words": "a"}\n', "has no column text"),
        ("short.jsonl", b'{"text": "one"}\n{"text": "two"}\n', "no word is left of 2 texts"),
    ):
        (tmp_path / name).write_bytes(content)
        assert told in refused("vectorize", tmp_path / name, "--out", tmp_path / "m")
        assert not (tmp_path / "m").exists() or not any((tmp_path / "m").iterdir())


def test_shell_completion():
    environment = {
        **os.environ,
        "_HMRF_FAST_COMPLETE": "complete_bash",
        "COMP_WORDS": "hmrf-fast vec",
        "COMP_CWORD": "1",
    }
    script = "import sys; sys.argv[0] = 'hmrf-fast'; from hmrf_fast.app.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script], capture_output=True, text=True, env=environment, timeout=120
    )
    assert done.stdout.split() == ["vectorize"], done.stdout + done.stderr


def test_empty_texts_have_one_fate(tmp_path):
    (tmp_path / "t.csv").write_text("text\nred moon\nred moon\nblue\nblue\n??\n")
    told = run("vectorize", tmp_path / "t.csv", "--out", tmp_path / "m").stdout.splitlines()[-1]
    fit = [part for part in COMMAND if part not in ("-W", "error")]
    fit += ["fit", str(tmp_path / "m"), "-k", "2", "--out", str(tmp_path / "res"), "--progress", "none"]
    warned = subprocess.run(fit, capture_output=True, text=True, timeout=300, check=True).stderr
    assert told.startswith("1 texts hold none of the words; ") and told.partition("; ")[2] in warned
    told = run("vectorize", tmp_path / "t.csv", "--out", tmp_path / "n", "--drop-empty").stdout.splitlines()
    assert told[0].startswith("4 texts, ") and told[1] == "1 texts hold none of the words and were left out"
    found = files.read(tmp_path / "n")
    assert found.ids == ["0", "1", "2", "3"] and found.texts[3] == "blue" and found.matrix.getnnz(axis=1).all()
