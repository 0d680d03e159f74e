"""The README and every page of docs/ say what is true: their code runs, in Python and in the shell."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from text_corpus import json_lines

sybil = pytest.importorskip("sybil", reason="sybil is not installed")
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
PAIRS = "i,j,type\nmsg-0,msg-3,must\nmsg-0,msg-1,cannot\n"
# Set-ups are run by continuous integration as a whole; these scripts measure a machine for minutes.
ELSEWHERE = ("python3 -m venv", "pip install", "python benchmarks/")
PRELUDE = f'hmrf-fast() {{ "{sys.executable}" -P -W error -m hmrf_fast.app.cli "$@"; }}\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the reader is: in a folder with some texts and pairs."""
    monkeypatch.chdir(tmp_path)
    Path("texts.jsonl").write_bytes(json_lines())
    Path("new.jsonl").write_bytes(json_lines())
    Path("texts.jsonl.gz").write_bytes(gzip.compress(json_lines()))
    Path("pairs.csv").write_text(PAIRS)
    yield tmp_path
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def shell(example) -> None:
    """Run a block of shell commands as one script that stops at the first error."""
    script = str(example.parsed)
    if script.startswith(ELSEWHERE):
        return
    command = ["bash", "-euo", "pipefail", "-c", PRELUDE + script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "COLUMNS": "200"})
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"


def examples(page: Path):
    parsers = [PythonCodeBlockParser(), CodeBlockParser(language="sh", evaluator=shell)]
    return list(sybil.Sybil(parsers=parsers).parse(page).examples())


@pytest.mark.parametrize("page", [page for page in PAGES[1:] if examples(page)], ids=lambda page: page.stem)
def test_code_of_page_runs(page, folder):
    for example in examples(page):
        example.evaluate()


def test_readme_leaves_what_it_says(folder, capsys):
    there = set(folder.iterdir())
    for example in examples(README):
        example.evaluate()
    told = capsys.readouterr().out
    assert "must-links:" in told and "Constraints(2 must-links, 1 cannot-link group)" in told
    made = {path.name for path in set(folder.iterdir()) - there}
    assert made == {"report.html", "map.png", "fit.ckpt", "fit.ckpt.previous", "m", "res", "labels.csv"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!\w+:|#)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links {target}"
