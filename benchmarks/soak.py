"""Random fits for as long as one likes: memory must stay flat, results finite.

    python benchmarks/soak.py --minutes 60

Every fit has another estimator, metric, size, precision and other constraints, a few of them refused as they should be.
Resident memory is written down after each minute; the command fails if the last third lies more than 5 % and 16 MB
above the second. (The first warms up: kernels are compiled or loaded, pools are made.)
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp

from hmrf_fast import COPKMeans, HMRFKMeans, PCKMeans, SeededKMeans, SphericalKMeans
from hmrf_fast.errors import ContradictionError, InfeasibleError, InputError
from hmrf_fast.kernels.metrics import METRICS

SHARE, LEAST = 1.05, 16.0  # of growth that is noise, and megabytes


def resident() -> float:
    """Megabytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20


def one_fit(rng: np.random.Generator) -> bool:
    """Fit something; returns whether it was refused."""
    n_rows, n_features, n_clusters = int(rng.integers(5, 3000)), int(rng.integers(2, 800)), int(rng.integers(1, 20))
    density = rng.uniform(0.01, 0.3)
    X = sp.random(n_rows, n_features, density, "csr", rng.choice([np.float32, np.float64]), rng)
    count = int(rng.integers(0, 300))
    pairs = rng.integers(n_rows, size=(count, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    known = {"must_link": pairs[::2], "cannot_link": pairs[1::2]}
    metric, kind = str(rng.choice(list(METRICS))), int(rng.integers(6))
    common = {"random_state": int(rng.integers(2**31)), "max_iter": int(rng.integers(1, 15)), "n_init": 1}
    if kind == 0:
        model = SphericalKMeans(n_clusters, **common)
        known = {}
    elif kind == 1:
        model, known = SeededKMeans(n_clusters, **common), {"partial_labels": rng.integers(-1, n_clusters, n_rows)}
    elif kind == 2:
        model = COPKMeans(n_clusters, **common)
    elif kind == 3:
        model = PCKMeans(n_clusters, metric=metric, **common)
    else:
        model = HMRFKMeans(n_clusters, metric=metric, learn_weights=bool(rng.integers(2)), **common)
    try:
        model.fit(X, **known)
    except (InputError, ContradictionError, InfeasibleError):
        return True
    assert np.isfinite(model.cluster_centers_).all() and np.isfinite(model.objective_)
    assert model.labels_.min() >= 0 and model.labels_.max() < n_clusters
    assert model.predict(X[:5]).shape == (min(5, n_rows),)
    return False


def soak(minutes: float, seed: int) -> list[float]:
    """Resident memory after each minute (or tenth of a short run)."""
    rng, started, sizes, fits, refused = np.random.default_rng(seed), time.monotonic(), [], 0, 0
    step = min(60.0, minutes * 6.0)
    while (spent := time.monotonic() - started) < minutes * 60:
        refused += one_fit(rng)
        fits += 1
        if spent > step * (len(sizes) + 1):
            gc.collect()
            sizes += [resident()] * max(1, int(spent / step) - len(sizes))
            print(f"{spent / 60:6.1f} min  {fits:7d} fits  {refused:6d} refused  {sizes[-1]:8.1f} MB", flush=True)
    return sizes


def main() -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sizes = soak(options.minutes, options.seed)
    third = max(1, len(sizes) // 3)
    before, after = max(sizes[third : 2 * third] or sizes), max(sizes[-third:])
    flat = after <= max(SHARE * before, before + LEAST)
    print(f"{'flat' if flat else 'GROWS'}: {before:.1f} MB in the second third, {after:.1f} MB in the last")
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main())
