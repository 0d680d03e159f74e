"""Every notebook exists twice, as a script to read and review and as a notebook to open: both must say the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

jupytext = pytest.importorskip("jupytext", reason="jupytext is not installed")

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
SCRIPTS = sorted(FOLDER.glob("*.py"))
LARGEST = 200_000  # bytes; stored outputs would soon pass it


def cells(path: Path) -> list[tuple[str, str]]:
    """Kind and text of every cell."""
    return [(cell["cell_type"], cell["source"].rstrip()) for cell in jupytext.read(path)["cells"]]


def test_both_forms_exist():
    assert SCRIPTS
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == [path.stem for path in SCRIPTS]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_and_notebook_agree(script):
    assert cells(script) == cells(script.with_suffix(".ipynb")), f"run: jupytext --sync notebooks/{script.name}"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_notebook_is_small_and_without_outputs(script):
    text = script.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert len(text) < LARGEST
    assert not any(cell.get("outputs") for cell in json.loads(text)["cells"])
