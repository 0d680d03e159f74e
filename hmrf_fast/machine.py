"""What this process may use of the machine it runs on: threads and memory, limits of containers included."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from functools import cache
from math import ceil
from pathlib import Path

THREAD_VARIABLES = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
ROOT = Path("/")
UNLIMITED = 1 << 60  # bytes; systems without a limit write some number close to 2**63


def available_threads() -> int:
    """Threads this process may use: its CPU affinity, bounded by the CPU quota of its container, and by OMP_NUM_THREADS
    and NUMBA_NUM_THREADS where they are set.

    Returns
    -------
    count : int
        At least 1.
    """
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    quota = cpu_quota()
    if quota is not None:
        count = min(count, max(1, ceil(quota)))
    for name in THREAD_VARIABLES:
        text = os.environ.get(name, "").split(",")[0]
        if text.isdigit() and int(text) > 0:
            count = min(count, int(text))
    return count


@cache
def cpu_quota(root: Path = ROOT) -> float | None:
    """CPUs that the control groups of this process grant it on average, None without a limit; asked once per process.

    Parameters
    ----------
    root : Path, default="/"
        Folder that holds ``proc`` and ``sys``.

    Returns
    -------
    quota : float or None
        A fraction is possible: half a CPU is 0.5.
    """
    quotas = []
    for folder in _groups(root, "cpu"):
        quota, _, period = _text(folder / "cpu.max").partition(" ")  # version 2: "max 100000" or "150000 100000"
        if not period:
            quota, period = _text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us")
        if quota.isdigit() and period.isdigit() and int(quota) > 0 and int(period) > 0:
            quotas.append(int(quota) / int(period))
    return min(quotas, default=None)


def available_memory(root: Path = ROOT) -> int | None:
    """Bytes that this process can still take: what the system has free or can free, and what is left of the limits of
    its control groups and of its own.

    Parameters
    ----------
    root : Path, default="/"
        Folder that holds ``proc`` and ``sys``.

    Returns
    -------
    size : int or None
        None where the system does not tell.
    """
    system = _fields(root / "proc" / "meminfo", ":")
    if "MemAvailable" not in system:
        return None
    left = [1024 * (system["MemAvailable"] + system.get("SwapFree", 0))]
    for folder in _groups(root, "memory"):
        for limit, used in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
            bound, taken = _text(folder / limit), _text(folder / used)
            if bound.isdigit() and taken.isdigit() and int(bound) < UNLIMITED:
                # Files that were read stay in memory as long as nobody else needs it; they count as used.
                kept = _fields(folder / "memory.stat").get("inactive_file", 0)
                left.append(max(int(bound) - int(taken) + kept, 0))
    return min([*left, *_own_limits(root)])


def _own_limits(root: Path) -> Iterator[int]:
    """What is left of the limits of the process itself (``ulimit -v`` and ``-d``)."""
    taken = _text(root / "proc" / "self" / "statm").split()  # in pages: size, ..., data and stack
    for line in _text(root / "proc" / "self" / "limits").splitlines():
        for name, field in (("Max address space", 0), ("Max data size", 5)):
            soft = line.removeprefix(name).split()[:1] if line.startswith(name) else []
            if soft and soft[0].isdigit() and len(taken) > field:
                yield max(int(soft[0]) - int(taken[field]) * mmap.PAGESIZE, 0)


def _groups(root: Path, controller: str) -> Iterator[Path]:
    """Folders of the control groups (version 1 or 2) that this process is in, up to the root of each hierarchy."""
    for line in _text(root / "proc" / "self" / "cgroup").splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers and controller not in controllers.split(","):
            continue
        top = root / "sys" / "fs" / "cgroup" / controllers if controllers else root / "sys" / "fs" / "cgroup"
        group = top / path.strip("/")
        yield from (folder for folder in (group, *group.parents) if folder == top or top in folder.parents)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _fields(path: Path, separator: str = "") -> dict[str, int]:
    """Lines of a name and a whole number."""
    pairs = (line.replace(separator or " ", " ", 1).split()[:2] for line in _text(path).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}
