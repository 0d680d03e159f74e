"""What the reference is made of: every public name has a docstring that says what goes in and what comes out."""

from __future__ import annotations

import dataclasses
import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest
from public_names import MODULES, RETURNED, documented, found, public_names

validation = pytest.importorskip("numpydoc.validate", reason="numpydoc is not installed")
docscrape = pytest.importorskip("numpydoc.docscrape")

ROOT = Path(__file__).resolve().parents[1]
CHECKED = {
    "GL03", "GL05", "GL06", "GL07", "GL08", "GL09", "GL10",  # there, with known sections in the usual order
    "PR01", "PR02", "PR03", "PR05", "PR06", "PR10",  # all parameters and no others, in order
    "RT01", "RT04", "YD01",  # what comes back
    "SS01", "SS02", "SS03", "SS04",  # a sentence that sums it up
}  # fmt: skip
# Beside records, whose fields are attributes: a formatter and a bunch take whatever their base classes take.
FOREIGN_PARAMETERS = {"hmrf_fast.json_logs.JSONLines", "hmrf_fast.datasets.DataSet"}
# The passes over rows are an interface for engines, not for callers; what the writers share, write_blocks describes.
PASSES = re.compile(r"hmrf_fast\.rows\.(\w+Rows|Rows|write_\w+|stream_texts)")
OTHERS = {"hmrf_fast.errors.ConvergenceWarning"}  # scikit-learn's own


def fields(kind: object) -> set[str]:
    """Names of the fields of a named tuple or dataclass; empty for everything else."""
    if dataclasses.is_dataclass(kind):
        return {field.name for field in dataclasses.fields(kind)}
    return set(getattr(kind, "_fields", ()))


@pytest.mark.parametrize("public", [name for name in public_names() if name not in OTHERS])
def test_docstrings_are_complete(public):
    wrong = []
    for name in documented(public):
        ignored = {"PR01"} if name in FOREIGN_PARAMETERS or (fields(found(public)) and name == public) else set()
        ignored |= {"PR01", "RT01", "YD01"} if PASSES.match(name) else set()
        wrong += [(name, *error) for error in validation.validate(name)["errors"] if error[0] in CHECKED - ignored]
    assert not wrong


@pytest.mark.parametrize("public", [name for name in public_names() if fields(found(name))])
def test_fields_of_records_are_described(public):
    described = docscrape.ClassDoc(found(public))["Attributes"]
    names = {name for attribute in described for name in attribute.name.replace(" ", "").split(",")}
    assert fields(found(public)) <= names


@pytest.mark.parametrize("module", sorted({found(name).__module__ for name in public_names() if name not in OTHERS}))
def test_examples_run(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(import_module(module), optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


def test_reference_shows_every_public_name():
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "api").glob("*.md"))
    shown = set(re.findall(r"automodule:: (\S+)", pages))
    assert shown == set(MODULES)
    short = re.findall(r"auto(?:class|function):: (\S+)", pages)
    named = {name if name.startswith("hmrf_fast.") else f"hmrf_fast.{name}" for name in short}
    wanted = {name for name in public_names() if name.rpartition(".")[0] not in MODULES}
    assert named == wanted and set(RETURNED) <= wanted
