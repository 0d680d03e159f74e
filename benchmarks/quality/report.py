"""Reads tables of ``run.py``: learning curves as figures, ranks, worst gaps, falls and times as Markdown.

    python benchmarks/quality/report.py quality.csv --out report
    python benchmarks/quality/report.py a.csv b.csv --methods default KMeans-I-C "assc PCKMeans" --no-figures

A fit without result (an error, the time limit) scores 0, so that a method gains nothing by failing where it is hard.
Ranks are over one score per set: the mean NMI over the counts of constraints above 0 that all methods have there.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ranks import falls, rank
from table import read


class Point(NamedTuple):
    """A method on a set with a number of constraints."""

    mean: float
    half_width: float  # of the 95 % band of the mean
    seconds: float  # median CPU seconds of the fits that ended
    n_runs: int
    n_failed: int


Curves = dict[str, dict[str, dict[int, Point]]]  # set -> method -> constraints -> point


def curves(rows: list[dict[str, Any]], noise: float) -> Curves:
    """All points of one noise level. Methods without constraints are the same at every count and level."""
    found: dict = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    counts = defaultdict(set)
    constrained = {row["method"] for row in rows if row["constraints"] > 0}
    for row in rows:
        if row["noise"] == noise or row["method"] not in constrained:
            found[row["set"]][row["method"]][row["constraints"]].append(row)
            counts[row["set"]].add(row["constraints"])
    result: Curves = {}
    for name, methods in found.items():
        result[name] = {}
        for method, points in methods.items():
            result[name][method] = {count: _point(points[count]) for count in sorted(points)}
            if method not in constrained:
                (point,) = result[name][method].values()
                result[name][method] = dict.fromkeys(sorted(counts[name]), point)
    return result


def _point(rows: list[dict[str, Any]]) -> Point:
    ended = [row for row in rows if row["status"] == "ok"]
    nmi = np.array([row["nmi"] if row["status"] == "ok" else 0.0 for row in rows])
    half_width = 1.96 * nmi.std(ddof=1) / np.sqrt(nmi.size) if nmi.size > 1 else 0.0
    seconds = float(np.median([row["cpu_seconds"] for row in ended])) if ended else float("nan")
    return Point(float(nmi.mean()), float(half_width), seconds, nmi.size, nmi.size - len(ended))


def learning_table(found: Curves) -> str:
    """Means with half-widths."""
    counts = sorted({count for methods in found.values() for points in methods.values() for count in points})
    lines = [_row(["set", "method", *map(str, counts), "CPU s", "failed"]), "|" + "---|" * (len(counts) + 4)]
    for name, methods in found.items():
        for method, points in methods.items():
            cells = [f"{p.mean:.3f} ± {p.half_width:.3f}" if (p := points.get(c)) else "" for c in counts]
            seconds = np.array([point.seconds for point in points.values()])
            longest = np.nanmax(seconds) if np.isfinite(seconds).any() else float("nan")
            failed = sum(point.n_failed for point in points.values())
            lines.append(_row([name, method, *cells, f"{longest:.3g}", str(failed or "")]))
    return "\n".join(lines)


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def score_table(found: Curves, methods: list[str]) -> tuple[list[str], np.ndarray]:
    """Sets that all the methods have, and one score (N, k) each."""
    names, scores = [], []
    for name, curve in found.items():
        if not all(method in curve for method in methods):
            continue
        shared = set.intersection(*(set(curve[method]) for method in methods)) - {0}
        if shared:
            names.append(name)
            scores.append([np.mean([curve[method][count].mean for count in shared]) for method in methods])
    return names, np.array(scores)


def rank_table(found: Curves, methods: list[str], reference: str) -> str:
    """Ranks, tests and worst gaps."""
    names, scores = score_table(found, methods)
    if not names or len(methods) < 2:
        return "Nothing to rank: two methods with constraints on one set are needed."
    ranking = rank(scores, methods.index(reference))
    lines = [
        f"{len(methods)} methods on {len(names)} sets: {', '.join(names)}. Friedman p = {ranking.friedman:.2g}; mean "
        f"ranks nearer than {ranking.critical_difference:.2f} do not differ at 5 % (Nemenyi).",
        "",
        _row(["method", "mean rank", "mean NMI", f"p against {reference}", "worst gap", "on"]),
        "|" + "---|" * 6,
    ]
    for m in np.argsort(ranking.mean_rank, kind="stable"):
        p = "" if np.isnan(ranking.adjusted[m]) else f"{ranking.adjusted[m]:.2g}"
        cells = [methods[m], f"{ranking.mean_rank[m]:.2f}", f"{scores[:, m].mean():.3f}", p]
        lines.append(_row([*cells, f"{ranking.gap[m]:.3f}", names[ranking.worst[m]]]))
    return "\n".join(lines)


def best_table(found: Curves, reference: str) -> str:
    """The reference beside the best of all others, set by set."""
    counts = sorted({count for methods in found.values() for count in methods.get(reference, {})})
    lines = [_row(["set", *(f"{reference}, {c}" for c in counts), *(f"best other, {c}" for c in counts)])]
    lines.append("|" + "---|" * (1 + 2 * len(counts)))
    for name, methods in found.items():
        own, best = [], []
        for count in counts:
            means = {method: points[count].mean for method, points in methods.items() if count in points}
            mine = means.pop(reference, float("nan"))
            own.append(f"{mine:.3f}")
            first = max(means, key=lambda method: means[method], default="")
            best.append(f"{means[first]:.3f} {first}" if first else "")
        lines.append(_row([name, *own, *best]))
    return "\n".join(lines)


def fall_table(found: Curves, smallest: float = 0.01) -> str:
    """Where more constraints made a method worse, by more than ``smallest``; * where the bands do not overlap."""
    lines = [_row(["set", "method", "fall", "from", "to"]), "|" + "---|" * 5]
    for name, methods in found.items():
        for method, points in methods.items():
            counts = list(points)
            fall, first, later = falls(np.array([points[count].mean for count in counts]))
            if fall > smallest:
                wide = points[counts[first]].half_width + points[counts[later]].half_width
                told = f"{fall:.3f}{'*' if fall > wide else ''}"
                lines.append(_row([name, method, told, str(counts[first]), str(counts[later])]))
    return "\n".join(lines)


def main() -> None:
    """Write and print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--methods", nargs="*", default=None)
    parser.add_argument("--reference", default="default")
    parser.add_argument("--figures", default=True, action=argparse.BooleanOptionalAction)
    parser.add_argument("--out", default="quality_report", type=Path)
    args = parser.parse_args()
    rows = [row for row in read(*args.tables) if args.methods is None or row["method"] in args.methods]
    args.out.mkdir(parents=True, exist_ok=True)
    pieces = []
    for split, noise in sorted({(row["split"], row["noise"]) for row in rows}):
        found = curves([row for row in rows if row["split"] == split], noise)
        everywhere = set.intersection(*(set(methods) for methods in found.values())) if found else set()
        methods = [m for m in dict.fromkeys(row["method"] for row in rows) if m in everywhere]
        reference = args.reference if args.reference in methods else next(iter(methods), "")
        pieces += [
            f"# Split: {split}, constraints turned round: {noise:.0%}",
            "## Methods that all sets have", rank_table(found, methods, reference),
            f"## {reference} beside the best of the others", best_table(found, reference),
            "## Test NMI by number of constraints", learning_table(found), "## Falls", fall_table(found),
        ]  # fmt: skip
        if args.figures:
            from figures import draw_curves

            for name in found:
                draw_curves(name, found[name], args.out / f"{name}_{split}_{round(100 * noise)}.svg")
    text = "\n\n".join(pieces) + "\n"
    (args.out / "report.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
