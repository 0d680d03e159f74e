"""``hmrf-fast report`` on a folder that ``hmrf-fast fit`` wrote, in processes of their own."""

from __future__ import annotations

import json

import pytest
from commands import run_command

TEXTS = [("cats purr and cats sleep", "cat"), ("cats <b>sleep</b> & purr", "cat"), ("a cat and its purr sleep", "cat")]
TEXTS += [("stocks fell as markets fell", "money"), ("markets and stocks rose", "money"), ("stocks rose", "money")]


def run(folder, *arguments, code=0):
    done = run_command(*arguments, cwd=folder)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    lines = [json.dumps({"id": f"t{k}", "text": text, "label": label}) for k, (text, label) in enumerate(TEXTS)]
    (folder / "texts.jsonl").write_text("\n".join(lines), encoding="utf-8")
    run(folder, "vectorize", "texts.jsonl", "--out", "m", "--min-df", "1")
    run(folder, "fit", "m", "--n-clusters", "2", "--out", "res")
    return folder


def test_the_page_shows_ids_texts_and_classes(fitted):
    done = run(fitted, "report", "res")
    assert "res/report.html" in done.stdout and "6 rows in 2 clusters" in done.stdout
    page = (fitted / "res" / "report.html").read_text(encoding="utf-8")
    assert "cats &lt;b&gt;sleep&lt;/b&gt; &amp; purr" in page and "<b>sleep" not in page
    assert "money" in page and "https://" not in page and "src=" not in page


def test_the_page_may_lie_elsewhere(fitted):
    run(fitted, "report", "res", "--out", "page.html")
    assert (fitted / "page.html").stat().st_size > 1000


def test_a_folder_without_results_is_refused_in_one_sentence(fitted):
    done = run(fitted, "report", "m", code=2)
    assert "summary.json" in done.stderr and "Traceback" not in done.stderr


def test_a_page_that_cannot_be_written_is_named(fitted):
    done = run(fitted, "report", "res", "--out", "nowhere/page.html", code=2)
    assert "nowhere/page.html" in done.stderr and "Traceback" not in done.stderr
