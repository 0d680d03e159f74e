"""Which questions teach most: test-half NMI of query strategies by number of questions, against random pairs.

    python benchmarks/active.py --runs 8 --jobs 2 --out active.csv
    python benchmarks/active.py --runs 3 --data ../shared/data --sets tr23 tr41 k1 optdigits1797

Questions are about rows of one half, all rows are clustered, the other half is scored. With ``--data FOLDER`` the
further sets are read from there, and the halves and random pairs of the news sets are the fixed draws stored under
``constraints/``. Answers come from the true classes. "random", "explore" and "super" give their constraints to a
`HMRFKMeans` that knows the number of clusters; "super, weighted" also gives it ``sample_weight_``; "labels" are those
of the super-instances themselves, which do not know that number.
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

BUNDLED = ("news_different_3", "news_related_3", "news_similar_3", "classic400", "iris")
FOLDERS = {
    "cstr": "classic", "k1": "karypis", "re0": "karypis", "tr11": "karypis", "tr23": "karypis", "tr41": "karypis",
    "optdigits1797": "lowdim",
}  # fmt: skip
STRATEGIES = ("random", "explore", "super", "super, weighted", "labels")
BUDGETS = (20, 50, 100, 200, 500)
FIELDS = ("set", "strategy", "budget", "run", "nmi", "asked", "placed", "seconds")


def load(name: str, data: str | None):
    """Rows, classes and metric of a set."""
    import scipy.sparse as sp
    from sklearn.feature_extraction.text import TfidfTransformer

    from hmrf_fast import datasets

    if name in BUNDLED:
        X, y = datasets.load(name, return_X_y=True)
        return X, y, "sqeuclidean" if name == "iris" else "cosine"
    with np.load(Path(data or ".") / FOLDERS[name] / f"{name}.npz") as stored:
        y = stored["labels"].astype(np.int64)
        if "X" in stored:
            return stored["X"].astype(np.float64), y, "sqeuclidean"
        values = "tfidf" if "tfidf" in stored else "counts"
        X = datasets.sparse_from_arrays(stored, values)
    if values == "counts":
        # ln(N / df) without smoothing, as in the bundled sets.
        frequency = np.maximum(np.bincount(X.indices, minlength=X.shape[1]), 1)
        weighted = X @ sp.diags_array(np.log(X.shape[0] / frequency))
        X = TfidfTransformer(use_idf=False).fit_transform(weighted)
    return X, y, "cosine"


def draw(name: str, y: np.ndarray, run: int, data: str | None):
    """Training rows, test rows, random pairs of the former, and whether each joins rows of one class."""
    from hmrf_fast.protocol import draw_pairs, split_halves

    stored = Path(data or ".") / "constraints" / f"pairs_{name}.npz"
    if data and name.startswith("news") and stored.exists():
        with np.load(stored) as fixed:
            held_out = fixed["test"][run].astype(bool)
            pairs = np.column_stack([fixed["i"][run], fixed["j"][run]]).astype(np.int64)
            return np.flatnonzero(~held_out), np.flatnonzero(held_out), pairs, fixed["type"][run] > 0
    training, test = split_halves(y, run)
    drawn = draw_pairs(y, training, max(BUDGETS), (run, 0))
    return training, test, drawn.pairs, drawn.same_class


def measure(job) -> dict:
    """One session and one fit."""
    name, strategy, budget, run, data = job
    from hmrf_fast import Constraints, HMRFKMeans
    from hmrf_fast.active import ExploreConsolidate, LabelOracle, SuperInstances
    from hmrf_fast.scores import normalized_mutual_information

    X, y, metric = load(name, data)
    training, test, pairs, same = draw(name, y, run, data)
    n_clusters, started = np.unique(y).size, perf_counter()
    shared = {"metric": metric, "budget": budget, "random_state": run, "n_threads": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if strategy == "random":
            known = Constraints(pairs[:budget][same[:budget]], pairs[:budget][~same[:budget]])
            asked, n_placed = budget, 0
        else:
            learner = ExploreConsolidate if strategy == "explore" else SuperInstances
            learner = learner(None if strategy == "labels" else n_clusters, **shared)
            learner.fit(X, oracle=LabelOracle(y), rows=training)
            known, asked = learner.constraints_, learner.n_queries_
            n_placed = sum(map(len, learner.neighborhoods_))
        if strategy == "labels":
            labels = learner.labels_
        else:
            weight = learner.sample_weight_ if strategy == "super, weighted" else None
            model = HMRFKMeans(n_clusters, metric=metric, random_state=run, n_threads=1)
            labels = model.fit(X, constraints=known, sample_weight=weight).labels_
    nmi = normalized_mutual_information(y[test], labels[test])
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
    parser.add_argument("--sets", nargs="*", default=list(BUNDLED), choices=(*BUNDLED, *FOLDERS))
    parser.add_argument("--strategies", nargs="*", default=list(STRATEGIES), choices=STRATEGIES)
    parser.add_argument("--budgets", nargs="*", type=int, default=list(BUDGETS))
    parser.add_argument("--out", default="active.csv")
    args = parser.parse_args()
    if args.data is None and set(args.sets) - set(BUNDLED):
        parser.error(f"--data FOLDER is needed for {', '.join(sorted(set(args.sets) - set(BUNDLED)))}")
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
