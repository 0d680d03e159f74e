"""A program that fits in many ways at once and prints what came out; ``test_processes.py`` runs it.

Every way must print the same: digests of the labels and of J of the fits with the seeds 0 to 3.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import sys
import threading
import warnings

import numpy as np
import scipy.sparse as sp

from hmrf_fast import HMRFKMeans

SEEDS = range(4)


def corpus():
    """Enough rows for every pass to be handed to threads."""
    rng = np.random.default_rng(0)
    group = rng.integers(6, size=3000)
    counts = rng.poisson((rng.gamma(0.2, 1.0, (6, 200)) + 0.02)[group]).astype(float)
    counts[counts.any(1) == 0, 0] = 1.0
    drawn = rng.integers(group.size, size=(300, 2))
    drawn = drawn[drawn[:, 0] != drawn[:, 1]]
    same = group[drawn[:, 0]] == group[drawn[:, 1]]
    return sp.csr_matrix(counts), {"must_link": drawn[same], "cannot_link": drawn[~same]}


def fit(seed: int) -> str:
    """One fit as a digest."""
    X, known = corpus()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = HMRFKMeans(
            9, random_state=seed, init="auto" if seed == SEEDS[-1] else "k-means++", n_threads=2, max_iter=5, n_init=1,
            learn_weights=seed % 2 == 1,
        )  # fmt: skip
        model.fit(X, **known)
    bits = model.labels_.tobytes() + model.objective_history_.tobytes() + model.cluster_centers_.tobytes()
    return hashlib.sha256(bits).hexdigest()


def serial() -> list[str]:
    """One after the other."""
    return [fit(seed) for seed in SEEDS]


def threads() -> list[str]:
    """All at the same time, twice each."""
    found: dict[int, str] = {}

    def work(number: int) -> None:
        found[number] = fit(number % len(SEEDS))

    workers = [threading.Thread(target=work, args=(number,)) for number in range(2 * len(SEEDS))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(found[seed] == found[seed + len(SEEDS)] for seed in SEEDS)
    return [found[seed] for seed in SEEDS]


def fork() -> list[str]:
    """In children, after the parent has fitted and has threads of its own."""
    expected = [fit(SEEDS[0])]
    for seed in SEEDS[1:]:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, fit(seed).encode())
            os._exit(0)
        os.close(write)
        _, status = os.waitpid(child, 0)
        assert status == 0
        expected.append(os.read(read, 100).decode())
    return expected


def pool(method: str) -> list[str]:
    """In a pool of processes."""
    fit(SEEDS[0])
    with multiprocessing.get_context(method).Pool(2) as workers:
        return workers.map(fit, SEEDS)


def parallel(backend: str) -> list[str]:
    """Through joblib, as scikit-learn's searches do."""
    from joblib import Parallel, delayed

    return Parallel(n_jobs=2, backend=backend)(delayed(fit)(seed) for seed in SEEDS)


def nested() -> list[str]:
    """Threads within processes within threads."""
    from joblib import Parallel, delayed

    halves = Parallel(n_jobs=2, backend="loky")(delayed(_half)(first) for first in (0, 2))
    return [*halves[0], *halves[1]]


def _half(first: int) -> list[str]:
    from joblib import Parallel, delayed

    return Parallel(n_jobs=2, backend="threading")(delayed(fit)(seed) for seed in (first, first + 1))


def interrupted() -> list[str]:
    """After signals that ended fits at all kinds of places."""

    class Rung(Exception):
        pass

    def ring(*_):
        raise Rung

    fit(SEEDS[0])
    signal.signal(signal.SIGALRM, ring)
    count = 0
    for number in range(1, 21):
        # Again and again: the first may come where Python, or a cache that is being read, passes over exceptions.
        signal.setitimer(signal.ITIMER_REAL, 0.003 * number, 0.25)
        try:
            while True:
                fit(SEEDS[1])
        except Rung:
            signal.setitimer(signal.ITIMER_REAL, 0)
            count += 1
    assert count == 20
    return serial()


WAYS = {
    "serial": serial,
    "threads": threads,
    "fork": fork,
    "spawn": lambda: pool("spawn"),
    "forkserver": lambda: pool("forkserver"),
    "loky": lambda: parallel("loky"),
    "threading": lambda: parallel("threading"),
    "nested": nested,
    "interrupted": interrupted,
}

if __name__ == "__main__":
    print("\n".join(WAYS[sys.argv[1]]()))
