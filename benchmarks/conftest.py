"""The benchmarks' folder on the import path, and a table of all ratios at the end of a run."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))


def pytest_terminal_summary(terminalreporter):
    from side_by_side import RECORDED

    if not RECORDED:
        return
    terminalreporter.section("ratios: ours / baseline, below 1 = ours is faster")
    terminalreporter.write_line(f"{'wall':>8} {'(lowest-highest)':>18} {'cpu':>8}   benchmark: baseline")
    for name, info in RECORDED:
        spread = f"({info['lowest']:.3f}-{info['highest']:.3f})" if "lowest" in info else ""
        cpu = f"{info['cpu_ratio']:.3f}" if "cpu_ratio" in info else ""
        terminalreporter.write_line(f"{info['ratio']:8.3f} {spread:>18} {cpu:>8}   {name}: {info['against']}")
