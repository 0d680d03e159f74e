"""Peak memory of fits, each in a process of its own: what it takes beyond the loaded input, against the promise
1.25 times the input's CSR bytes (0.25 with copy_x=False) + 16 d K + 32 n, and against the estimate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from children import child
from corpora import LONG, SMALL
from side_by_side import note

MEASURE = (Path(__file__).parent / "peak_memory.py").read_text(encoding="utf-8")

# rows, features, non-zeros per row, clusters
SHAPES = [(2_000, 2_000, 20, 5)] if SMALL else [(100_000, 20_000, 75, 20), (20_000, 38_000, 75, 100)]
KINDS = {
    "given": {"init": "given"},
    "given, not copied": {"init": "given", "copy_x": False},
    "k-means++": {"init": "k-means++"},
    "auto": {"init": "auto"},
    "learning": {"init": "given", "learn_weights": True},
    "i_divergence": {"init": "given", "metric": "i_divergence"},
    "constraints": {"init": "neighborhoods", "n_pairs": 2_000},
}


def measure(**wanted) -> dict[str, float]:
    """Bytes: peak, csr, promised and estimated."""
    return json.loads(child(MEASURE, json.dumps(wanted), PYTHONPATH=str(Path(__file__).parent)))


def check(benchmark, shape, wanted) -> None:
    names = ("n_rows", "n_features", "entries_per_row", "n_clusters")
    found = measure(**dict(zip(names, shape, strict=True)), **wanted)
    if benchmark.enabled:
        note(benchmark, "bytes", "promise", found["peak"] / found["promised"], None if SMALL else 1.0, **found)
        note(benchmark, "bytes", "estimate_memory", found["peak"] / found["estimated"], None if SMALL else 1.3)
    benchmark.pedantic(lambda: None, rounds=1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
def test_peak(benchmark, shape, kind, dtype):
    if dtype == "float64" and kind not in ("given", "auto"):
        pytest.skip("says nothing more")
    check(benchmark, shape, KINDS[kind] | {"dtype": dtype})


@pytest.mark.skipif(not LONG, reason="takes minutes")
@pytest.mark.parametrize("kind", ["given", "auto"])
def test_a_million_rows(benchmark, kind):
    check(benchmark, (1_000_000, 50_000, 100, 20), KINDS[kind] | {"dtype": "float32"})
