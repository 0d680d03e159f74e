"""Which questions teach most: test-half NMI of query strategies by number of questions, against random pairs.

    python benchmarks/active.py --runs 8 --jobs 2 --out active.csv
    python benchmarks/active.py --runs 3 --data ../shared/data --sets tr23 tr41 k1 optdigits1797

Questions are about rows of one half, all rows are clustered, the other half is scored. With ``--data FOLDER`` the
further sets and fixed draws are read from there (``quality/sets.py``). Answers come from the true classes. "random",
"explore" and "super" give their constraints to a `HMRFKMeans` that knows the number of clusters; "super, weighted"
also gives it ``sample_weight_``; "labels" are those of the super-instances themselves, which do not know that number.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from time import perf_counter

import numpy as np
from quality.sets import BUNDLED, FOLDERS, draw, is_available, load

STRATEGIES = ("random", "explore", "super", "super, weighted", "labels")
BUDGETS = (20, 50, 100, 200, 500)
FIELDS = ("set", "strategy", "budget", "run", "nmi", "asked", "placed", "seconds")


def measure(job) -> dict:
    """One session and one fit."""
    name, strategy, budget, run, data = job
    from hmrf_fast import Constraints, HMRFKMeans
    from hmrf_fast.active import ExploreConsolidate, LabelOracle, SuperInstances
    from hmrf_fast.scores import normalized_mutual_information

    corpus = load(name, data)
    X, y, metric, n_clusters = corpus.X, corpus.y, corpus.metric, corpus.n_clusters
    drawn, started = draw(corpus, run, max(BUDGETS), data, halves=True), perf_counter()
    shared = {"metric": metric, "budget": budget, "random_state": run, "n_threads": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if strategy == "random":
            known = Constraints(*drawn.first(budget))
            asked, n_placed = budget, 0
        else:
            learner = ExploreConsolidate if strategy == "explore" else SuperInstances
            learner = learner(None if strategy == "labels" else n_clusters, **shared)
            learner.fit(X, oracle=LabelOracle(y), rows=drawn.training)
            known, asked = learner.constraints_, learner.n_queries_
            n_placed = sum(map(len, learner.neighborhoods_))
        if strategy == "labels":
            labels = learner.labels_
        else:
            weight = learner.sample_weight_ if strategy == "super, weighted" else None
            model = HMRFKMeans(n_clusters, metric=metric, random_state=run, n_threads=1)
            labels = model.fit(X, constraints=known, sample_weight=weight).labels_
    nmi = normalized_mutual_information(y[drawn.test], labels[drawn.test])
    values = (*job[:4], nmi, asked, n_placed, perf_counter() - started)
    return dict(zip(FIELDS, values, strict=True))


def table(rows: list[dict]) -> str:
    """Means over runs with 95 % half-widths, as Markdown."""
    budgets = list(dict.fromkeys(row["budget"] for row in rows))
    lines = ["| set | strategy | " + " | ".join(map(str, budgets)) + " |", "|" + "---|" * (len(budgets) + 2)]
    for name, strategy in dict.fromkeys((row["set"], row["strategy"]) for row in rows):
        cells = []
        for budget in budgets:
            key = (name, strategy, budget)
            nmi = np.array([row["nmi"] for row in rows if (row["set"], row["strategy"], row["budget"]) == key])
            half_width = 1.96 * nmi.std(ddof=1) / np.sqrt(nmi.size) if nmi.size > 1 else 0.0
            cells.append(f"{nmi.mean():.3f} ± {half_width:.3f}")
        lines.append(f"| {name} | {strategy} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--data", default=None)
    parser.add_argument("--sets", nargs="*", default=list(BUNDLED), choices=tuple(FOLDERS))
    parser.add_argument("--strategies", nargs="*", default=list(STRATEGIES), choices=STRATEGIES)
    parser.add_argument("--budgets", nargs="*", type=int, default=list(BUDGETS))
    parser.add_argument("--out", default="active.csv")
    args = parser.parse_args()
    absent = [name for name in args.sets if not is_available(name, args.data)]
    if absent:
        parser.error(f"--data FOLDER must hold {', '.join(absent)}")
    if args.budgets and max(args.budgets) > max(BUDGETS):
        parser.error(f"budgets go up to {max(BUDGETS)}")
    jobs = list(product(args.sets, args.strategies, args.budgets, range(args.runs), [args.data]))
    with ProcessPoolExecutor(args.jobs) as executor:
        rows = list(executor.map(measure, jobs, chunksize=4))
    with open(args.out, "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(rows)
    print(table(rows))


if __name__ == "__main__":
    main()
