"""The paper's comparison: test-half NMI of four ablations and the default, on three news sets, two metrics, several
counts.

    python benchmarks/ablations.py --runs 20 --jobs 2 --out ablations.csv

Protocol of KDD 2004, section 4.3: pairs are drawn from one half of the rows, all rows are clustered, the other half is
scored; each run has two folds. With ``--draws FOLDER`` the first fold of every run uses the fixed draws stored there
(``pairs_<set>.npz`` with test, i, j, type); the second swaps the halves and draws its own pairs.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from time import perf_counter

import numpy as np

SETS = ("news_different_3", "news_related_3", "news_similar_3")
VALUES = {"cosine": "tfidf", "i_divergence": "counts"}
COUNTS = (0, 100, 500)
FIELDS = (
    "set",
    "metric",
    "algorithm",
    "constraints",
    "run",
    "fold",
    "nmi",
    "seconds",
    "violated",
    "iterations",
    "objective",
)


def draw(name: str, labels: np.ndarray, run: int, fold: int, folder: str | None):
    """Test rows, pairs (m, 2) in order of drawing, and whether each joins rows of one class."""
    from hmrf_fast.protocol import draw_pairs, split_halves

    training, test = split_halves(labels, run)
    if folder:
        with np.load(Path(folder) / f"pairs_{name}.npz") as stored:
            held_out = stored["test"][run].astype(bool)
            if fold == 0:
                pairs = np.column_stack([stored["i"][run], stored["j"][run]]).astype(np.int64)
                return np.flatnonzero(held_out), pairs, stored["type"][run] > 0
            training, test = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    if fold == 1:
        training, test = test, training
    drawn = draw_pairs(labels, training, max(COUNTS), (run, fold))
    return test, drawn.pairs, drawn.same_class


def measure(job) -> dict:
    """One fit."""
    name, metric, algorithm, count, run, fold, folder = job
    from hmrf_fast import HMRFKMeans, datasets
    from hmrf_fast.ablations import ABLATIONS, constraints_for
    from hmrf_fast.scores import normalized_mutual_information

    corpus = datasets.load(name, values=VALUES[metric])
    test, pairs, same = draw(name, corpus.target, run, fold, folder)
    known = constraints_for(algorithm, pairs[:count][same[:count]], pairs[:count][~same[:count]])
    settings = ABLATIONS[algorithm] if algorithm == "default" else {**ABLATIONS[algorithm], "n_init": 1}
    model = HMRFKMeans(3, metric=metric, random_state=run, n_threads=1, **settings)
    started = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(corpus.data, **known)
    seconds, report = perf_counter() - started, model.constraint_report_
    violated = report.n_must_link_violated + report.n_cannot_link_violated
    nmi = normalized_mutual_information(corpus.target[test], model.labels_[test])
    values = (*job[:6], nmi, seconds, violated, model.n_iter_, model.objective_)
    return dict(zip(FIELDS, values, strict=True))


def table(rows: list[dict]) -> str:
    """Means over runs and folds with 95 % half-widths, as Markdown."""
    lines = ["| metric | algorithm | " + " | ".join(f"{s[5:-2]} {c}" for s in SETS for c in COUNTS) + " | seconds |"]
    lines.append("|" + "---|" * (len(SETS) * len(COUNTS) + 3))
    for metric, algorithm in dict.fromkeys((row["metric"], row["algorithm"]) for row in rows):
        cells, times = [], []
        for name, count in product(SETS, COUNTS):
            mine = [
                row
                for row in rows
                if (row["metric"], row["algorithm"], row["set"], row["constraints"]) == (metric, algorithm, name, count)
            ]
            nmi = np.array([row["nmi"] for row in mine])
            half_width = 1.96 * nmi.std(ddof=1) / np.sqrt(nmi.size) if nmi.size > 1 else 0.0
            cells.append(f"{nmi.mean():.3f} ± {half_width:.3f}")
            times += [row["seconds"] for row in mine]
        lines.append(f"| {metric} | {algorithm} | " + " | ".join(cells) + f" | {np.median(times):.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Run all fits and print the table."""
    from hmrf_fast.ablations import ABLATIONS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--folds", type=int, default=2, choices=(1, 2))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--draws", default=None)
    parser.add_argument("--algorithms", nargs="*", default=list(ABLATIONS))
    parser.add_argument("--out", default="ablations.csv")
    args = parser.parse_args()
    jobs = list(product(SETS, VALUES, args.algorithms, COUNTS, range(args.runs), range(args.folds), [args.draws]))
    with ProcessPoolExecutor(args.jobs) as executor:
        rows = list(executor.map(measure, jobs, chunksize=8))
    rows.sort(key=lambda row: (list(VALUES).index(row["metric"]), args.algorithms.index(row["algorithm"])))
    with open(args.out, "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(rows)
    print(table(rows))


if __name__ == "__main__":
    main()
