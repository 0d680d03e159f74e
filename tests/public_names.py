"""Everything public, as the reference in docs/api and the checks of docstrings and types go through it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import hmrf_fast

# Modules whose ``__all__`` is public, and classes that public functions return.
MODULES = (
    "hmrf_fast.ablations",
    "hmrf_fast.active",
    "hmrf_fast.compiling",
    "hmrf_fast.datasets",
    "hmrf_fast.errors",
    "hmrf_fast.examination",
    "hmrf_fast.io",
    "hmrf_fast.json_logs",
    "hmrf_fast.labeling",
    "hmrf_fast.plotting",
    "hmrf_fast.protocol",
    "hmrf_fast.rows",
    "hmrf_fast.scores",
    "hmrf_fast.selection",
    "hmrf_fast.timing",
)
RETURNED = (
    "hmrf_fast.constraint_report.ConstraintReport",
    "hmrf_fast.constraint_report.Suspect",
    "hmrf_fast.edits.Edit",
    "hmrf_fast.memory.MemoryEstimate",
    "hmrf_fast.reporting.facts.Facts",
    "hmrf_fast.reporting.page.Report",
)


def public_names() -> list[str]:
    """Full names of public classes and functions, as a reader writes them."""
    names = [f"hmrf_fast.{name}" for name in hmrf_fast.__all__ if callable(getattr(hmrf_fast, name))]
    for module in map(import_module, MODULES):
        names += [f"{module.__name__}.{name}" for name in module.__all__ if callable(getattr(module, name))]
    return [*names, *RETURNED]


def found(name: str) -> Any:
    """The object of a full name."""
    module, _, last = name.rpartition(".")
    return getattr(import_module(module), last)


def documented(name: str) -> Iterator[str]:
    """A public name and, of a class, its public methods and properties that are written in this library."""
    yield name
    kind = found(name)
    if inspect.isclass(kind):
        for member, value in inspect.getmembers(kind):
            inner = value.fget if isinstance(value, property) else value
            ours = (getattr(inner, "__module__", None) or "").startswith("hmrf_fast")
            if not member.startswith("_") and ours and not inspect.isclass(value) and callable(inner):
                yield f"{name}.{member}"
