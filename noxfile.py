"""Checks that CI does not run on every change: other versions, coverage, mutants, audits, long runs.

    nox -l                 what there is
    nox -s oldest_versions one of them
    nox -s "tests-3.13"    tests under one Python

Sessions for Pythons that are not installed are skipped.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import nox

PROJECT = tomllib.loads((Path(__file__).parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = ["3.11", "3.12", "3.13"]
# Every layer once, without what needs optional packages or minutes.
CORE = [
    f"tests/test_{name}.py"
    for name in (
        "kernels", "sums", "ties", "objective", "constraints", "neighborhoods", "penalties", "seeding", "e_step", "em",
        "estimator", "family", "scores", "persistence", "checkpoint", "rows", "rows_writers", "reporting_facts",
        "active_strategies", "selection", "supply",
    )
]  # fmt: skip

nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = False
nox.options.sessions = ["tests", "oldest_versions", "newest_versions"]


def oldest(*extras: str) -> list[str]:
    """The lowest versions that the requirements allow."""
    needs = [*PROJECT["dependencies"], *(one for extra in extras for one in PROJECT["optional-dependencies"][extra])]
    return [re.sub(r">=([\d.]+).*", r"==\1", one) for one in needs if not one.startswith("hmrf_fast")]


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """The whole suite, each Python with the newest packages that there are for it."""
    session.install(".[test]")
    session.run("pytest", "-n", "auto", *session.posargs)


@nox.session(python=PYTHONS[0])
def oldest_versions(session: nox.Session) -> None:
    """The core of the suite with the oldest packages that the ranges promise."""
    # scikit-learn 1.6 makes its checks in a way that pytest 9 warns of.
    session.install("pytest<9", "hypothesis", "pytest-benchmark>=4", "setuptools>=77", *oldest("cli"))
    session.install("--no-deps", ".")
    session.run("pytest", "-p", "no:cacheprovider", *(session.posargs or CORE))


@nox.session(python=PYTHONS[-1])
def newest_versions(session: nox.Session) -> None:
    """The whole suite with the newest packages, releases before their time included."""
    session.install("--pre", "--upgrade", "numpy", "scipy", "scikit-learn", "numba", ".[test]")
    session.run("pytest", "-n", "auto", *session.posargs)


@nox.session
def coverage(session: nox.Session) -> None:
    """Lines and branches of the Python layer, then of the kernels with the compiler off."""
    session.install("-e", ".[test]", "coverage[toml]>=7.10")
    session.run("coverage", "run", "-m", "pytest", *session.posargs)
    session.run("coverage", "combine", success_codes=[0, 1])
    session.run("coverage", "report", "--fail-under=95", "--include=hmrf_fast/*")
    names = (
        "kernels", "sums", "ties", "e_step", "oracle", "exchange", "pruning", "objective", "evidence", "feasibility",
    )  # fmt: skip
    kernels = [f"tests/test_{name}.py" for name in names]
    plain = "tests/test_import.py::test_kernels_as_plain_python_warn_of_nothing_and_find_the_same"
    session.run("coverage", "run", "-m", "pytest", *kernels, plain, env={"NUMBA_DISABLE_JIT": "1"})
    session.run("coverage", "combine", "--append", success_codes=[0, 1])
    session.run("coverage", "report", "--include=kernels/*")


@nox.session
def mutants(session: nox.Session) -> None:
    """Are the formulas and the constraint logic held in place by the tests?"""
    session.install("-e", ".[test]")
    session.run("python", "tests/mutation/run.py", *session.posargs)


@nox.session
def audit(session: nox.Session) -> None:
    """Known vulnerabilities of what is installed with the package; asks a database on the network."""
    session.install(".[cli,parquet,anndata,plot,dask]", "pip-audit>=2.7")
    session.run("pip-audit", "--strict", "--skip-editable", *session.posargs)


@nox.session
def soak(session: nox.Session) -> None:
    """An hour of random fits with flat memory."""
    session.install(".")
    session.run("python", "benchmarks/soak.py", *(session.posargs or ["--minutes", "60"]))
