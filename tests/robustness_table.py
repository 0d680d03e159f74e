"""The table of ``docs/robustness.md``: each row is an expression, what comes of it, and what is said."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import hmrf_fast
from hmrf_fast import Constraints, HMRFKMeans
from hmrf_fast.io import read, read_constraints

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "robustness.md"
P = np.array([[3.0, 1, 0, 0], [2, 2, 0, 0], [0, 0, 1, 3], [0, 0, 2, 2]])
FIT = ("y", "must_link", "cannot_link", "partial_labels", "constraints", "sample_weight")
ROW = re.compile(r"^\| `(?P<input>.+?)` \| (?P<outcome>accepted|converted|warned|refused) \| (?P<told>.+) \|$")


class Row(NamedTuple):
    """One row of the table."""

    input: str
    outcome: str
    told: str


class Outcome(NamedTuple):
    """What evaluating an input gave."""

    result: Any
    error: Exception | None
    said: list[str]  # "Category: message"


def rows() -> list[Row]:
    """All rows of the document."""
    found = [ROW.match(line) for line in DOCUMENT.read_text(encoding="utf-8").splitlines()]
    return [Row(*(text.replace(r"\|", "|") for text in row.group("input", "outcome", "told"))) for row in found if row]


def fit(X=P, K=2, *, metric="sqeuclidean", kind=HMRFKMeans, **more):
    """A fit of small data; parameters and arguments of ``fit`` alike."""
    told = {name: more.pop(name) for name in FIT if name in more}
    return kind(K, random_state=0, **({} if kind is hmrf_fast.SphericalKMeans else {"metric": metric}), **more).fit(
        X, **told
    )


def changed(value, row=1, column=2, X=P):
    """P with one other value."""
    result = np.array(X, copy=True)
    result[row, column] = value
    return result


def csr(**parts):
    """P as CSR, some of whose arrays were exchanged behind scipy's back."""
    matrix = sp.csr_matrix(P)
    for name, array in parts.items():
        setattr(matrix, name, np.asarray(array))
    return matrix


def frozen(matrix):
    """Buffers that nobody may write."""
    for array in (matrix.data, matrix.indices, matrix.indptr) if sp.issparse(matrix) else (matrix,):
        array.setflags(write=False)
    return matrix


def mapped(folder: Path):
    """P in a file, mapped into memory and read-only."""
    np.save(folder / "P.npy", P)
    return np.load(folder / "P.npy", mmap_mode="r")


def evaluate(expression: str, folder: Path) -> Outcome:
    """The outcome of an expression over the names of this module and the package."""

    def file(name: str, content: bytes) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    names = {
        "np": np, "sp": sp, "P": P, "inf": np.inf, "nan": np.nan, "fit": fit, "changed": changed, "csr": csr,
        "frozen": frozen, "mapped": lambda: mapped(folder), "file": file, "read": read,
        "read_constraints": read_constraints, "Constraints": Constraints, "load": hmrf_fast.load,
        **{name: getattr(hmrf_fast, name) for name in (
            "HMRFKMeans", "PCKMeans", "COPKMeans", "SeededKMeans", "ConstrainedKMeans", "SphericalKMeans")},
    }  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result, error = eval(expression, names), None
        except Exception as raised:
            result, error = None, raised
    said = [f"{one.category.__name__}: {one.message}" for one in caught]
    return Outcome(result, error, said)


def matches(pattern: str, told: str) -> bool:
    """Whether a message is the one in the table, where " ... " stands for anything."""
    return re.fullmatch(re.escape(pattern).replace(r"\.\.\.", "(.|\n)*"), told) is not None
