"""The table of results: one CSV line per fit, appended as fits end, so that a run can be broken off and taken up."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, NamedTuple

FIELDS = (
    "set", "method", "constraints", "noise", "split", "run", "fold", "status", "nmi", "ari", "seconds", "cpu_seconds",
    "violated", "iterations", "objective", "version", "package_version",
)  # fmt: skip
NUMBERS = {"nmi", "ari", "seconds", "cpu_seconds", "violated", "iterations", "objective", "noise"}
WHOLE = {"constraints", "run", "fold"}


class Job(NamedTuple):
    """One fit; the fields by which a row of the table is found again."""

    set: str
    method: str
    constraints: int
    noise: float
    split: str  # "fixed": the stored draws where there are some; "halves"
    run: int
    fold: int


def job_of(row: dict[str, Any]) -> Job:
    return Job(*(row[field] for field in Job._fields))


def read(*paths: str | Path) -> list[dict[str, Any]]:
    """Rows of one or several tables, numbers as numbers; a later row of the same fit replaces an earlier one."""
    rows: dict[Job, dict[str, Any]] = {}
    for path in map(Path, paths):
        if not path.exists():
            continue
        with path.open(newline="", encoding="utf-8") as file:
            for line in csv.DictReader(file):
                if line["package_version"] is None:  # broken off within the line
                    continue
                row = {key: _value(key, text) for key, text in line.items()}
                rows[job_of(row)] = row
    return list(rows.values())


def _value(key: str, text: str) -> Any:
    if key in WHOLE:
        return int(text)
    return float(text or "nan") if key in NUMBERS else text


class Writer:
    """Appends rows; each is on disk before the next."""

    def __init__(self, path: str | Path):
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = not path.exists() or path.stat().st_size == 0
        broken = not fresh and not path.read_bytes().endswith(b"\n")
        self.file = path.open("a", newline="", encoding="utf-8")
        self.writer = csv.DictWriter(self.file, FIELDS, restval="", lineterminator="\n")
        if fresh:
            self.writer.writeheader()
        if broken:
            self.file.write("\n")

    def write(self, row: dict[str, Any]) -> None:
        self.writer.writerow(row)
        self.file.flush()

    def close(self) -> None:
        self.file.close()
