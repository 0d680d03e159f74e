"""How good are the clusters: sets x methods x constraint counts x runs, one row of a table per fit.

    python benchmarks/quality/run.py --data ../shared/data --sets text lowdim --runs 5 --jobs 2 --out quality.csv
    python benchmarks/quality/run.py --data ../shared/data --methods default "assc PCKMeans" --noise 0.2

Protocol of KDD 2004, section 4.3, see ``sets.draw``. Rows that the table has already are not fitted again: break off
and start again as you like, add sets, methods or runs. Rows of another version of the library are kept as well; write
a new table to compare versions. ``report.py`` reads the table.
"""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from collections import Counter
from functools import partial
from importlib.metadata import packages_distributions, version
from itertools import product
from time import perf_counter, process_time
from typing import Any

import numpy as np
import sets
from methods import OURS, Method, Trial, is_installed
from peers import PEERS
from table import Job, Writer, job_of, read
from workers import over_all

METHODS: dict[str, Method] = {**OURS, **PEERS}
COUNTS = (0, 50, 100, 200, 500, 1000)
GIVE_UP_AFTER = 2  # timeouts of one method on one set, then it is not tried there again
logger = logging.getLogger("quality")


def measure(data: str | None, most: int, job: Job) -> dict[str, Any]:
    """One fit, in a child process. A method that raises has a row that says why."""
    from sklearn.metrics import adjusted_rand_score

    from hmrf_fast.scores import normalized_mutual_information

    corpus, method = sets.load(job.set, data), METHODS[job.method]
    drawn = sets.draw(corpus, job.run, most, data, fold=job.fold, halves=job.split == "halves")
    if job.noise:
        drawn = sets.flipped(drawn, job.noise, job.run, job.fold)
    must_link, cannot_link = drawn.first(job.constraints)
    wall, cpu = perf_counter(), process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = method.fit(Trial(corpus, must_link, cannot_link, job.run))
    except Exception as error:
        told = " ".join(str(error).split())[:100]
        return {"status": f"{type(error).__name__}: {told}", "seconds": f"{perf_counter() - wall:.4f}"}
    seconds, cpu_seconds = perf_counter() - wall, process_time() - cpu
    labels, truth = np.asarray(found.labels), corpus.y
    broken = np.count_nonzero(labels[must_link[:, 0]] != labels[must_link[:, 1]])
    broken += np.count_nonzero(labels[cannot_link[:, 0]] == labels[cannot_link[:, 1]])
    return {
        "status": "ok",
        "nmi": f"{normalized_mutual_information(truth[drawn.test], labels[drawn.test]):.6f}",
        "ari": f"{adjusted_rand_score(truth[drawn.test], labels[drawn.test]):.6f}",
        "seconds": f"{seconds:.4f}",
        "cpu_seconds": f"{cpu_seconds:.4f}",
        "violated": broken,
        "iterations": found.iterations,
        "objective": found.objective,
    }


def chosen_methods(wanted: list[str] | None) -> list[str]:
    """Names of the methods that can be fitted here; the absent ones are named once."""
    names = list(METHODS) if wanted is None else wanted
    for name in names:
        if not is_installed(METHODS[name]):
            logger.warning("%s: absent, package %s is not installed", name, METHODS[name].package)
    return [name for name in names if is_installed(METHODS[name])]


def planned(args: argparse.Namespace, methods: list[str]) -> list[Job]:
    """All fits, those of one set and run together: they share what a child has loaded."""
    jobs = []
    for name in args.sets:
        if not sets.is_available(name, args.data):
            logger.warning("%s: absent, %s", name, "give its folder with --data" if args.data is None else args.data)
            continue
        corpus = sets.load(name, args.data)
        fitting = [method for method in methods if METHODS[method].suits(corpus)]
        n_pairs = len(sets.draw(corpus, 0, max(args.counts), args.data, halves=args.split == "halves").pairs)
        counts = [count for count in args.counts if count <= n_pairs]
        for run, fold, method, count in product(range(args.runs), range(args.folds), fitting, counts):
            if METHODS[method].constrained or count == min(counts):
                noise = args.noise if METHODS[method].constrained else 0.0
                count = count if METHODS[method].constrained else 0
                jobs.append(Job(name, method, count, noise, args.split, run, fold))
    return jobs


def package_version(method: Method) -> str:
    if method.package is None:
        return ""
    return version(packages_distributions()[method.package][0])


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=None, help="folder of the sets that are not bundled")
    parser.add_argument("--sets", nargs="*", default=["all"], choices=(*sets.GROUPS, *sets.FOLDERS))
    parser.add_argument("--methods", nargs="*", default=None, choices=tuple(METHODS))
    parser.add_argument("--counts", nargs="*", type=int, default=list(COUNTS))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--folds", type=int, default=1, choices=(1, 2), help="2: also with the halves swapped")
    parser.add_argument("--noise", type=float, default=0.0, help="share of the constraints that are turned round")
    parser.add_argument(
        "--split", default="fixed", choices=("fixed", "halves"), help="halves: not the stored draws that test a tenth"
    )
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one fit")
    parser.add_argument("--out", default="quality.csv")
    args = parser.parse_args()
    args.sets = list(dict.fromkeys(one for name in args.sets for one in sets.GROUPS.get(name, (name,))))
    if not args.counts or min(args.counts) < 0 or not 0 <= args.noise <= 1:
        parser.error("counts are numbers from 0, noise is a share of 1")
    return args


def main() -> None:
    """Fit what the table lacks."""
    from hmrf_fast import __version__

    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    args = parse()
    methods = chosen_methods(args.methods)
    versions = {name: package_version(METHODS[name]) for name in methods}
    known = read(args.out)
    done = {job_of(row) for row in known}
    late = Counter((row["set"], row["method"]) for row in known if row["status"] == "timeout")
    jobs = [job for job in planned(args, methods) if job not in done]
    logger.info("%d fits to do, %d in the table", len(jobs), len(done))
    most = max(args.counts)

    def wanted(job: Job) -> bool:
        return late[job.set, job.method] < GIVE_UP_AFTER

    writer = Writer(args.out)
    for number, (job, status, found) in enumerate(
        over_all(partial(measure, args.data, most), jobs, args.jobs, args.limit, wanted), 1
    ):
        late[job.set, job.method] += status == "timeout"
        row = found if status == "ok" else {"status": status, "seconds": args.limit if status == "timeout" else ""}
        writer.write({**job._asdict(), **row, "version": __version__, "package_version": versions[job.method]})
        if row["status"] != "ok":
            logger.warning("%s, %s, %d constraints: %s", job.set, job.method, job.constraints, row["status"])
        elif number % 100 == 0:
            logger.info("%d of %d", number, len(jobs))
    writer.close()


if __name__ == "__main__":
    main()
