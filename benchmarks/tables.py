"""The tables of docs/performance.md from saved benchmarks and the measurements of the cost model.

python benchmarks/tables.py BENCHMARKS.json [...] [--costs COSTS.json] [--into docs/performance.md]

Without ``--into`` the tables are printed; with it they replace what stands between the page's two marks.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import cost_model
import numpy as np

BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
TITLES = {
    "test_distances": "E-step with its choice of the nearest centroid",
    "test_centroids": "Centroid sums",
    "test_weight_gradient": "Learned feature weights",
    "test_icm": "Constraints within iterations",
    "test_iteration": "One iteration",
    "test_fits": "Whole fits",
    "test_constraints": "Set-up of constraints",
    "test_predict": "New rows",
    "test_startup": "Import and compilation",
    "test_scaling": "Growth",
    "test_memory": "Peak memory",
}


def tables(files: list[dict], costs: list[dict] | None) -> Iterator[str]:
    """Lines of Markdown."""
    yield from machine(files[0])
    every = [one for file in files for one in file["benchmarks"]]
    for name, title in TITLES.items():
        lines = [line for one in every if Path(one["fullname"].split("::")[0]).stem == name for line in rows(one)]
        if lines:
            yield from ("", f"### {title}", "", "| benchmark | against | figure | value | target | lowest-highest |")
            yield from ("|---|---|---|---:|---:|---:|", *lines)
    if costs:
        yield from ("", "### Cost model", "", *model(costs))


def machine(file: dict) -> Iterator[str]:
    info = file["machine_info"]
    brand = info.get("cpu", {}).get("brand_raw", info.get("machine", "unknown processor"))
    count = info.get("cpu", {}).get("count", "?")
    yield f"Measured {file['datetime'][:10]} on {brand}, {count} logical processors, {info['system']},"
    yield f"Python {info['python_version']}."


def rows(one: dict) -> Iterator[str]:
    for figure in one["extra_info"].get("figures", ()):
        value, target = figure["value"], figure["target"]
        spread = f"{figure['lowest']:.3g}-{figure['highest']:.3g}" if "lowest" in figure else ""
        goal = "" if target is None else f"{target:.3g}"
        shown = f"**{value:.3g}**" if target is not None and value > target else f"{value:.3g}"
        yield f"| `{one['name']}` | {figure['against']} | {figure['kind']} | {shown} | {goal} | {spread} |"


def model(costs: list[dict]) -> Iterator[str]:
    coefficients, errors = cost_model.fit(costs)
    yield from ("| term | seconds per unit |", "|---|---:|")
    for name, value in zip(cost_model.TERMS, coefficients, strict=True):
        yield f"| {name} | {value:.3g} |"
    within = 100 * np.mean(np.abs(errors) <= 0.3)
    yield ""
    yield (
        f"{len(costs)} fits: {within:.0f} % predicted within 30 %; median error "
        f"{100 * np.median(np.abs(errors)):.0f} %, largest {100 * np.abs(errors).max():.0f} %."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--costs", type=Path)
    parser.add_argument("--into", type=Path)
    given = parser.parse_args()
    costs = None if given.costs is None else json.loads(given.costs.read_text(encoding="utf-8"))
    text = "\n".join(tables([json.loads(file.read_text(encoding="utf-8")) for file in given.files], costs))
    if given.into is None:
        sys.stdout.write(text + "\n")
        return
    page = given.into.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    given.into.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
