"""Mutation testing: every formula is changed a little, and some test must notice.

    python tests/mutation/run.py                       a sample of all targets
    python tests/mutation/run.py --most 1000 scores    all mutants of targets with "scores" in their name

A mutant differs from the source in one operator, comparison or number. It lives in memory only: a child of this
process, which has all libraries loaded already, imports the changed module in place of the file and runs the target's
tests until one fails. Kernels are tested with the compiler off. The command fails if fewer than 85 % of all mutants are
killed; those that survive are listed with their lines. README.md says which of these mean nothing.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import importlib.machinery
import importlib.util
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
LEAST = 0.85
PATIENCE, LEAST_SECONDS = 5.0, 120  # a mutant may take that many times as long as the file itself


class Target(NamedTuple):
    """A file and what holds it in place."""

    file: str
    tests: tuple[str, ...]
    compiled: bool = True

    @property
    def module(self) -> str:
        """Its name when imported."""
        name = self.file.removesuffix(".py").replace("/", ".")
        return f"hmrf_fast.{name}" if name.startswith("kernels") else name


TARGETS = (
    Target(
        "kernels/metrics.py",
        ("test_centroid_tables", "test_oracle", "test_objective", "test_oracle_cases"),
        compiled=False,
    ),
    Target("kernels/mahalanobis.py", ("test_mahalanobis",), compiled=False),
    Target("kernels/pairs.py", ("test_objective", "test_kernels"), compiled=False),
    Target(
        "kernels/centroids.py", ("test_centroid_tables", "test_objective", "test_e_step", "test_oracle"), compiled=False
    ),
    Target("kernels/moments.py", ("test_objective", "test_kernels", "test_oracle"), compiled=False),
    Target("kernels/closure.py", ("test_e_step", "test_objective"), compiled=False),
    Target("kernels/closure_energy.py", ("test_e_step", "test_objective"), compiled=False),
    Target("kernels/icm.py", ("test_label_costs", "test_e_step", "test_objective"), compiled=False),
    Target("kernels/placement.py", ("test_placement", "test_feasibility", "test_e_step"), compiled=False),
    Target("kernels/evidence.py", ("test_evidence",), compiled=False),
    Target("hmrf_fast/evidence.py", ("test_evidence",)),
    Target("hmrf_fast/scores.py", ("test_scores",)),
    Target("hmrf_fast/geometry.py", ("test_objective", "test_kernels", "test_e_step")),
    Target("hmrf_fast/full_matrices.py", ("test_mahalanobis",)),
    Target("hmrf_fast/penalties.py", ("test_penalties", "test_objective")),
    Target("hmrf_fast/closure.py", ("test_penalties", "test_objective")),
    Target("hmrf_fast/enumeration.py", ("test_penalties",)),
    Target("hmrf_fast/neighborhoods.py", ("test_neighborhoods", "test_penalties")),
    Target("hmrf_fast/contradictions.py", ("test_neighborhoods",)),
    Target("hmrf_fast/constraints.py", ("test_constraints", "test_feasibility")),
    Target("hmrf_fast/feasibility.py", ("test_feasibility",)),
    Target("hmrf_fast/groups.py", ("test_constraints", "test_neighborhoods")),
)

OTHERS: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult, ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


def other(node: ast.AST) -> ast.AST | None:
    """A changed copy of a node, if there is something to change."""
    changed = copy.deepcopy(node)
    if isinstance(changed, ast.BinOp | ast.AugAssign | ast.BoolOp) and type(changed.op) in OTHERS:
        changed.op = OTHERS[type(changed.op)]()
        return changed
    if isinstance(changed, ast.Compare) and type(changed.ops[0]) in OTHERS:
        changed.ops[0] = OTHERS[type(changed.ops[0])]()
        return changed
    if isinstance(changed, ast.UnaryOp) and isinstance(changed.op, ast.USub | ast.Not | ast.Invert):
        return changed.operand
    if isinstance(changed, ast.Constant) and type(changed.value) in (int, float, bool):
        changed.value = not changed.value if isinstance(changed.value, bool) else changed.value + 1
        return changed
    return None


def places(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None]]:
    """Parent, field and position of every node of code, without annotations, decorators and texts."""
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if field in ("annotation", "returns", "decorator_list") or isinstance(parent, ast.JoinedStr | ast.Raise):
                continue
            if isinstance(value, list):
                yield from ((parent, field, k) for k, one in enumerate(value) if isinstance(one, ast.AST))
            elif isinstance(value, ast.AST):
                yield parent, field, None


def mutants(source: str) -> Iterator[tuple[int, str, ast.AST]]:
    """Line, description and tree of every mutant."""
    count = sum(1 for _ in places(ast.parse(source)))
    for number in range(count):
        tree = ast.parse(source)
        parent, field, k = next(one for n, one in enumerate(places(tree)) if n == number)
        node = getattr(parent, field) if k is None else getattr(parent, field)[k]
        changed = other(node)
        if changed is None:
            continue
        told = f"{ast.unparse(node)}  ->  {ast.unparse(changed)}"
        ast.copy_location(changed, node)
        if k is None:
            setattr(parent, field, changed)
        else:
            getattr(parent, field)[k] = changed
        yield node.lineno, told, ast.fix_missing_locations(tree)  # type: ignore[attr-defined]


class Changed(importlib.machinery.SourceFileLoader):
    """Loads a tree in place of the file."""

    tree: ast.AST

    def get_code(self, fullname):
        return compile(self.tree, self.path, "exec")  # type: ignore[arg-type]


class Finder:
    """Finds the module under change before anybody else does."""

    def __init__(self, target: Target, tree: ast.AST):
        self.target, self.tree = target, tree

    def find_spec(self, name, path=None, target=None):
        """See importlib."""
        if name != self.target.module:
            return None
        loader = Changed(name, str(ROOT / self.target.file))
        loader.tree = self.tree
        return importlib.util.spec_from_file_location(name, loader.path, loader=loader)


def survives(target: Target, tree: ast.AST | None, seconds: int = 0) -> bool:
    """Whether the tests pass in a child process, with the tree in place of the file; not if they take too long."""
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)
        sink = os.open(os.devnull, os.O_WRONLY)
        if tree is not None:
            os.dup2(sink, 1)
            os.dup2(sink, 2)
            sys.meta_path.insert(0, Finder(target, tree))
        import pytest

        paths = [str(ROOT / "tests" / f"{name}.py") for name in target.tests]
        code = pytest.main([*paths, "-x", "-q", "-p", "no:cacheprovider", "--no-header", f"--rootdir={ROOT}"])
        os._exit(int(code != 0))
    return os.waitpid(child, 0)[1] == 0


def run(target: Target, most: int) -> tuple[int, list[str]]:
    """How many mutants were made, and the survivors."""
    found = list(mutants((ROOT / target.file).read_text(encoding="utf-8")))
    if len(found) > most:
        found = [found[k] for k in sorted(random.Random(0).sample(range(len(found)), most))]
    started = time.monotonic()
    if not survives(target, None):
        raise SystemExit(f"{target.file}: its tests fail without any change")
    seconds = max(LEAST_SECONDS, int(PATIENCE * (time.monotonic() - started)))
    left = [f"{target.file}:{line}: {told}" for line, told, tree in found if survives(target, tree, seconds)]
    return len(found), left


def main() -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", help="parts of file names; all if left out")
    parser.add_argument("--most", type=int, default=40, help="mutants per file, drawn at random but always the same")
    options = parser.parse_args()
    chosen = [one for one in TARGETS if not options.targets or any(part in one.file for part in options.targets)]
    total = killed = 0
    for compiled in (True, False):
        # The compiler is switched on or off for good when numba is imported: a process for each kind.
        if [one for one in chosen if one.compiled == compiled]:
            pair = _apart([one for one in chosen if one.compiled == compiled], options.most, compiled)
            total, killed = total + pair[0], killed + pair[1]
    print(f"{killed} of {total} mutants killed: {killed / max(total, 1):.1%}")
    return int(killed < LEAST * total)


def _apart(targets: list[Target], most: int, compiled: bool) -> tuple[int, int]:
    """Numbers of all mutants and of those killed, found in a child of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child:
        os.close(write)
        with os.fdopen(read) as told:
            numbers = told.read().split()
        if os.waitpid(child, 0)[1]:
            raise SystemExit(1)
        return int(numbers[0]), int(numbers[1])
    os.environ["HYPOTHESIS_PROFILE"] = "mutants"
    if not compiled:
        os.environ["NUMBA_DISABLE_JIT"] = "1"
    os.chdir(ROOT)
    for name in ("numba", "scipy.optimize", "scipy.sparse.csgraph", "sklearn.metrics", "sklearn.utils.validation"):
        importlib.import_module(name)

    total = killed = 0
    for target in targets:
        started = time.monotonic()
        count, left = run(target, most)
        total, killed = total + count, killed + count - len(left)
        print(f"{target.file}: {count - len(left)} of {count} killed, {time.monotonic() - started:.0f} s", flush=True)
        print("".join(f"    {one}\n" for one in left), end="", flush=True)
    os.write(write, f"{total} {killed}".encode())
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
