"""A script: iterations on a local cluster of two worker processes against iterations in memory, with one thread and
with two.

    python benchmarks/cluster.py                 # 100,000 film reviews, if the data is there, else uniform rows
    python benchmarks/cluster.py --k 100 --learn

The sides run by turns from the same start. Of every iteration the shortest of all rounds counts, so that what else the
machine does in between counts little; processor seconds are those of all processes of a side.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parent))

from corpora import first_centers, uniform

from hmrf_fast import HMRFKMeans, rows

REVIEWS = Path(__file__).resolve().parents[2] / "shared" / "data" / "large" / "imdb100k.npz"
N_WORKERS = 2


def corpus() -> sp.csr_matrix:
    """Counts of words, float32."""
    if not REVIEWS.exists():
        return uniform(100_000, 35_000, 75, "float32")
    with np.load(REVIEWS) as file:
        return sp.csr_matrix((file["counts"].astype("f4"), file["indices"], file["indptr"]), tuple(file["shape"]))


class Side:
    """Fits of one kind of rows, and what they took."""

    def __init__(self, X, processes, n_threads):
        self.X, self.processes, self.n_threads = X, processes, n_threads
        self.seconds: list[np.ndarray] = []
        self.cpu: list[float] = []

    def fit(self, start: np.ndarray, n_iter: int, learn: bool) -> np.ndarray:
        """Labels; notes the seconds of every iteration but the first, and processor seconds per iteration."""
        marks = []
        model = HMRFKMeans(
            len(start), init=start, max_iter=n_iter, tol=0, random_state=0, n_threads=self.n_threads,
            learn_weights=learn,
            callback=lambda _: marks.append(time.perf_counter()),
        )  # fmt: skip
        before = self.processes()
        labels = model.fit(self.X).labels_
        self.cpu.append((self.processes() - before) / n_iter)
        self.seconds.append(np.diff(marks))
        return labels


def main() -> None:
    """Run the command."""
    import dask
    import distributed

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--k", type=int, default=20)
    parser.add_argument("--iterations", type=int, default=25)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--learn", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    X = corpus()
    start = first_centers(X, options.k)
    with (
        distributed.LocalCluster(
            n_workers=N_WORKERS, processes=True, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, direct_to_workers=True) as client,
    ):
        bounds = np.linspace(0, X.shape[0], N_WORKERS + 1).astype(int)
        parts = [dask.delayed(X[first:last]) for first, last in itertools.pairwise(bounds)]
        sides = {
            "1 thread": Side(X, time.process_time, 1),
            f"{N_WORKERS} threads": Side(X, time.process_time, N_WORKERS),
            "cluster": Side(
                rows.DaskRows(parts, client),
                lambda: time.process_time() + sum(client.run(time.process_time).values()),
                1,
            ),
        }
        for _ in range(options.rounds + 1):  # the first compiles
            first, *others = (side.fit(start, options.iterations, options.learn) for side in sides.values())
            assert all(np.array_equal(first, other) for other in others)
    for name, side in sides.items():
        wall, cpu = np.min(side.seconds[1:], axis=0).mean(), min(side.cpu[1:])
        print(f"{name:9} {1e3 * wall:7.1f} ms, {1e3 * cpu:7.1f} ms of processors, per iteration")


if __name__ == "__main__":
    main()
