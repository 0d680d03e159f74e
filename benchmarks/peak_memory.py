"""A script: fit once and print, as JSON, how far the memory of this process rose above its loaded input.

Takes one argument, a JSON object: n_rows, n_features, entries_per_row, n_clusters, dtype, init ("given": rows of the
data), n_pairs, and parameters of HMRFKMeans. Everything is compiled, and all lazy imports done, by a small fit before.
"""

from __future__ import annotations

import gc
import json
import sys
import warnings
from pathlib import Path

import numpy as np
from corpora import first_centers, uniform

from hmrf_fast import HMRFKMeans, estimate_memory


def resident(name: str) -> int:
    """Bytes: VmRSS now, or VmHWM, the most since it was reset."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))


def pairs(n_rows: int, count: int) -> dict:
    """Random must-links and cannot-links, as many of each."""
    drawn = np.random.default_rng(0).integers(n_rows, size=(count, 2))
    drawn = drawn[drawn[:, 0] != drawn[:, 1]]
    return {"must_link": drawn[::2], "cannot_link": drawn[1::2]} if count else {}


def main() -> None:
    wanted = json.loads(sys.argv[1])
    shape = [wanted.pop(name) for name in ("n_rows", "n_features", "entries_per_row")]
    n_clusters, dtype, init = (wanted.pop(name) for name in ("n_clusters", "dtype", "init"))
    known = pairs(shape[0], wanted.pop("n_pairs", 0))
    warnings.simplefilter("ignore")

    def model(data, count):
        start = first_centers(data, count) if init == "given" else init
        return HMRFKMeans(count, init=start, n_init=1, max_iter=3, tol=0, random_state=0, **wanted)

    small = uniform(400, 300, 20, dtype)
    model(small, 13).fit(small, **({} if not known else pairs(400, 20)))
    data = uniform(*shape, dtype)
    prepared = model(data, n_clusters)
    uniform.cache_clear()
    gc.collect()
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    prepared.fit(data, **known)
    csr = sum(part.nbytes for part in (data.data, data.indices, data.indptr))
    rows = np.unique(np.concatenate([*known.values()])).size if known else 0
    options = {name: wanted[name] for name in ("metric", "learn_weights") if name in wanted}
    options |= {"init": None if init == "given" else init, "n_constrained": rows, "n_pairs": 2 * rows}
    estimate = estimate_memory(shape[0], shape[1], data.nnz, n_clusters, dtype=dtype, **options).total
    share = 0.25 if wanted.get("copy_x") is False else 1.25
    promised = share * csr + 16 * shape[1] * n_clusters + 32 * shape[0]
    found = {"peak": resident("VmHWM") - before, "csr": csr, "promised": promised, "estimated": estimate}
    print(json.dumps(found))


main()
