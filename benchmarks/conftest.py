"""The benchmarks' folder on the import path, and a table of all figures at the end of a run."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# What rivals warn of is not ours to mend.
PEER_WARNINGS = ("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::SyntaxWarning")


def pytest_configure(config):
    for line in PEER_WARNINGS:
        config.addinivalue_line("filterwarnings", line)


def pytest_terminal_summary(terminalreporter):
    from side_by_side import RECORDED

    if not RECORDED:
        return
    terminalreporter.section("ours / rival (below 1 = ours is faster), slopes, and shares of limits")
    terminalreporter.write_line(
        f"{'figure':>9} {'target':>8} {'(lowest-highest)':>18} {'cpu':>8}   kind  benchmark: against"
    )
    for name, one in RECORDED:
        spread = f"({one['lowest']:.3f}-{one['highest']:.3f})" if "lowest" in one else ""
        cpu = f"{one['cpu_ratio']:.3f}" if "cpu_ratio" in one else ""
        target = "" if one["target"] is None else f"{one['target']:.3g}"
        missed = "!" if one["target"] is not None and one["value"] > one["target"] else " "
        terminalreporter.write_line(
            f"{one['value']:8.4g}{missed} {target:>8} {spread:>18} {cpu:>8}   {one['kind']:<7} {name}: {one['against']}"
        )
