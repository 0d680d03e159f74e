"""Imports go one way, and the kernels stand alone."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
KERNEL_FILES = sorted((ROOT / "kernels").rglob("*.py"))
API_FILES = sorted((ROOT / "hmrf_fast").rglob("*.py"))

# From right to left: a module may import from its own layer and from those above it in this list, never from below.
LAYERS = (
    {"kernels"},
    {"version", "errors", "machine", "atomic", "archive", "json_logs", "signals", "sorting"},
    {"groups", "pairs", "label_priors", "inputs", "frames", "rows"},
    {"geometry", "listed_pairs", "feasibility"},
    {"e_step", "m_step", "weight_step", "relocation", "pruning", "evidence"},
    {
        "constraints",
        "components",
        "contradictions",
        "neighborhoods",
        "violations",
        "constraint_report",
        "scores",
        "examination",
    },
    {"penalties", "canonical", "closure", "enumeration", "implicit"},
    {
        "seeds",
        "neighborhood_seeds",
        "seeding",
        "annealing",
        "low_rank",
        "chunklets",
        "full_matrices",
        "start",
        "em",
        "outcomes",
        "convergence",
        "draws",
        "memory",
    },
    {
        "settings",
        "sources",
        "assembly",
        "prediction",
        "editing",
        "edits",
        "doubt",
        "model_state",
        "persistence",
        "checkpoint_file",
        "checkpoint",
        "fingerprint",
        "resources",
        "batches",
        "constrained",
        "base",
        "reporting",
    },
    {"hmrf_kmeans", "pckmeans", "seeded", "copkmeans", "spherical", "active", "loading"},
    {"datasets", "artificial", "timing", "selection", "protocol", "plotting", "ablations", "compiling"},
    {"io"},
    {"labeling"},
    {"app"},
)
# Data without code, and the package itself, whose public names are loaded lazily.
OUTSIDE = {"__init__", "data"}
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def imported_modules(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and absolute name of everything that a file imports, also inside functions and for type checking."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            if node.module == "hmrf_fast":
                yield from ((node.lineno, f"hmrf_fast.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, node.module or ""


def part(name: str) -> str:
    """Return which file or folder of the package a module name belongs to."""
    return name.split(".")[1]


@pytest.mark.parametrize("path", KERNEL_FILES, ids=lambda path: path.name)
def test_kernels_import_numpy_and_numba_only(path):
    # llvmlite is numba's own compiler layer; the vector intrinsic is written in it.
    allowed = sys.stdlib_module_names | {"numpy", "numba", "llvmlite"}
    for line, name in imported_modules(path):
        own = name == "hmrf_fast.kernels" or name.startswith("hmrf_fast.kernels.")
        assert own or name.partition(".")[0] in allowed, f"kernels/{path.name}:{line} imports {name}"


@pytest.mark.parametrize("path", API_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path):
    here = path.relative_to(ROOT / "hmrf_fast").with_suffix("").parts[0]
    if here in OUTSIDE:
        return
    assert here in RANK, f"{here} has no layer yet: give it one in LAYERS"
    for line, name in imported_modules(path):
        # The estimators and `__version__` are public names of the package; they count as the module they come from.
        home = {"hmrf_fast.HMRFKMeans": "hmrf_fast.hmrf_kmeans", "hmrf_fast.Constraints": "hmrf_fast.constraints"}
        name = home.get(name, name)
        if not name.startswith("hmrf_fast.") or part(name) in OUTSIDE:
            continue
        assert part(name) in RANK, f"{path.name}:{line} imports {name}, which has no layer: give it one in LAYERS"
        assert RANK[part(name)] <= RANK[here], f"hmrf_fast/{here}:{line} imports {name}, which stands to its left"


@pytest.mark.parametrize("path", KERNEL_FILES + API_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_stay_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300
