"""A cost model of a fit, and the script that measures fits and finds its coefficients.

    python benchmarks/cost_model.py measure FILE     # fits of many shapes, seconds of each: about four minutes
    python benchmarks/cost_model.py fit FILE         # coefficients from them, errors of the model, as JSON
    python benchmarks/cost_model.py predict FILE --n 1000000 --d 100000 --nnz 100000000 --k 100

Seconds are a sum of what a fit reads and writes, each with a coefficient of the machine: ``TERMS``, some per iteration,
some once. Lanes are the clusters rounded up to whole vectors, r the constrained rows. Coefficients are non-negative and
make the squared logarithms of predicted / measured smallest. Bytes follow from ``hmrf_fast.estimate_memory`` and the
input itself.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares, nnls

sys.path.insert(0, str(Path(__file__).parent))

TERMS = (
    "nnz",
    "nnz * lanes",
    "nnz * lanes beyond the cache",
    "d * K",
    "n",
    "pairs",
    "r * lanes * nnz / n",
    "r * K",
    "1",
    "once: nnz",
    "once: nnz * lanes beyond the cache",
    "once: d * K",
    "once: pairs",
    "once: pairs * nnz / n",
    "once: 1",
)
CACHE = 1 << 19  # bytes of table that the nearest large cache of a core holds
# rows, features, non-zeros per row, clusters, constraints
SHAPES = [
    (n, d, per, k, m)
    for n, d, per in ((5_000, 3_000, 30), (20_000, 10_000, 75), (20_000, 40_000, 75), (100_000, 20_000, 20))
    for k in (3, 20, 100)
    for m in (0, 20_000)
] + [(200_000, 50_000, 50, 20, 0), (20_000, 20_000, 200, 50, 0), (10_000, 10_000, 50, 400, 0)]
FEW, MANY, ROUNDS = 2, 7, 3


def terms(iterations: int, n: int, d: int, nnz: int, k: int, constraints: int = 0, itemsize: int = 4) -> np.ndarray:
    """What a fit's seconds are a weighted sum of, in the order of ``TERMS``."""
    from hmrf_fast.kernels.distances import table_shape

    tiles, _, width = table_shape(k, d, np.dtype(f"f{itemsize}"))
    lanes = tiles * width
    beyond = 1.0 / (1.0 + CACHE / (d * width * itemsize))
    touched = n * -np.expm1(-2.0 * constraints / n)  # rows, if pairs are random
    mean = nnz / n
    each = [nnz, nnz * lanes, nnz * lanes * beyond, d * k, n, constraints, touched * lanes * mean, touched * k, 1.0]
    once = [nnz, nnz * lanes * beyond, d * k, constraints, constraints * mean, 1.0]
    return np.array([*(iterations * one for one in each), *once], dtype=np.float64)


def predict(coefficients, **shape: int) -> tuple[float, int]:
    """Seconds and bytes (input included) of a cosine fit of float32 rows on one thread, from given centroids.

    ``coefficients`` as ``fit`` finds them, ``shape`` as of ``terms``. Rows that no constraint touches are searched by
    moved centroids only once a fit settles, so long fits take less. Starts cost extra: k-means++ a pass over the data
    per cluster, "auto" some hundred passes.
    """
    from hmrf_fast import estimate_memory

    n, d, nnz, k = (shape[name] for name in ("n", "d", "nnz", "k"))
    m = shape.get("constraints", 0)
    estimate = estimate_memory(n, d, nnz, k, dtype="f4", init=None, n_constrained=min(2 * m, n), n_pairs=m)
    return float(terms(**shape) @ coefficients), estimate.total + 8 * nnz + 4 * n


def fit(measured: list[dict]) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients, and the model's relative error at every measured fit."""
    rows = np.array([terms(**one["shape"]) for one in measured])
    seconds = np.array([one["seconds"] for one in measured])
    scaled = rows / seconds[:, None]
    size = scaled.max(0)
    solution, _ = nnls(scaled / size, np.ones(seconds.size))

    def misses(roots: np.ndarray) -> np.ndarray:
        return np.log(scaled @ (roots**2 / size))

    coefficients = least_squares(misses, np.sqrt(solution + 1e-3)).x ** 2 / size
    return coefficients, rows @ coefficients / seconds - 1.0


def measure_one(n: int, d: int, per_row: int, k: int, m: int) -> list[dict]:
    """Processor seconds of a short and of a longer fit, the fastest of several each."""
    from corpora import first_centers, uniform

    from hmrf_fast import HMRFKMeans

    data = uniform(n, d, per_row)
    pairs = np.random.default_rng(0).integers(n, size=(m, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    fixed = {"init": first_centers(data, k), "tol": 0, "n_threads": 1, "random_state": 0, "infer_constraints": False}
    spent = {FEW: (np.inf, 0), MANY: (np.inf, 0)}
    for _ in range(ROUNDS):
        for count, best in spent.items():
            model = HMRFKMeans(k, max_iter=count, **fixed)
            begin = time.process_time()
            model.fit(data, must_link=pairs[::2], cannot_link=pairs[1::2])
            spent[count] = min(best, (time.process_time() - begin, model.n_iter_))
    uniform.cache_clear()
    shape = {"n": n, "d": d, "nnz": int(data.nnz), "k": k, "constraints": m}
    return [{"shape": shape | {"iterations": done}, "seconds": seconds} for seconds, done in spent.values()]


def measure() -> list[dict]:
    warnings.simplefilter("ignore")
    measure_one(2_000, 500, 10, 20, 100)  # compiles
    measure_one(2_000, 500, 10, 3, 100)
    return [one for shape in SHAPES for one in measure_one(*shape)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("measure", "fit", "predict"))
    parser.add_argument("file", type=Path)
    for name in ("n", "d", "nnz", "k", "constraints"):
        parser.add_argument(f"--{name}", type=int, default=0)
    parser.add_argument("--iterations", type=int, default=20)
    given = parser.parse_args()
    if given.what == "measure":
        given.file.write_text(json.dumps(measure(), indent=1), encoding="utf-8")
        return
    coefficients, errors = fit(json.loads(given.file.read_text(encoding="utf-8")))
    if given.what == "fit":
        told = {
            "coefficients": dict(zip(TERMS, coefficients.tolist(), strict=True)),
            "relative error": {"median": float(np.median(np.abs(errors))), "largest": float(np.abs(errors).max())},
            "within 30 %": float(np.mean(np.abs(errors) <= 0.3)),
        }
    else:
        shape = {name: getattr(given, name) for name in ("n", "d", "nnz", "k", "constraints")}
        seconds, size = predict(coefficients, iterations=given.iterations, **shape)
        told = {"seconds": round(seconds, 3), "GiB": round(size / 2**30, 3)}
    sys.stdout.write(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
