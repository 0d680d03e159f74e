"""Block-ICM: what constraints add to an E-step, listed one by one or as whole neighbourhoods."""

from __future__ import annotations

import numpy as np
import pytest
from corpora import SMALL, films, load, uniform
from engine import fit_ours, state
from side_by_side import growth, note, record

from hmrf_fast import Constraints
from hmrf_fast.protocol import draw_pairs

pytestmark = pytest.mark.filterwarnings("ignore:not converged")

N_ROWS = 2_000 if SMALL else 100_000
K = 20
FREE = "the same without constraints"
SIZES = [10, 100, 400] if SMALL else [10, 100, 1_000, 10_000, 50_000]


def classes(n_rows: int) -> np.ndarray:
    return np.random.default_rng(0).integers(K, size=n_rows)


def random_pairs(n_rows: int, n_pairs: int):
    return draw_pairs(classes(n_rows), np.arange(n_rows), n_pairs, 1).first(n_pairs)


@pytest.mark.parametrize("learn", [False, True], ids=["fixed", "learning"])
def test_as_many_pairs_as_rows(benchmark, learn):
    """An iteration with 100,000 given pairs on 100,000 rows; it may add one E-step, two while learning."""
    data = uniform(N_ROWS, 20_000 if not SMALL else 500, 75 if not SMALL else 10)
    must_link, cannot_link = random_pairs(N_ROWS, N_ROWS)
    options = {"infer_constraints": False, "learn_weights": learn}
    known = {"must_link": must_link, "cannot_link": cannot_link}
    bound, free = (fit_ours(data, K, known=given, **options) for given in (known, None))
    e_step = state(data, K).e_step()
    rivals = {FREE: free, "an E-step without constraints": e_step}
    record(benchmark, bound, rivals, rounds=3)
    if benchmark.enabled:
        added, whole = (one["value"] for one in benchmark.extra_info["figures"])  # bound / free, bound / E-step
        extra = whole - whole / added
        note(benchmark, "E-steps", "added per iteration", extra, None if SMALL else 2.0 if learn else 1.0)


@pytest.mark.parametrize("kind", ["cosine", "sqeuclidean", "potts"])
@pytest.mark.parametrize("linked", [False, True], ids=["one", "two cannot-linked"])
def test_neighborhood_size(benchmark, kind, linked):
    """An E-step over neighbourhoods of 10 to 100,000 rows, each tied by a star of must-links: all pairs count, none is
    listed."""
    data = uniform(2 * SIZES[-1], 2_000, 20)
    tasks = []
    for size in SIZES:
        heads = [0, size] if linked else [0]
        total = size * 2  # as many rows either way
        members = [np.arange(head + 1, head + (size if linked else total)) for head in heads]
        must_link = np.concatenate([np.column_stack([np.full(m.size, m[0] - 1), m]) for m in members])
        cannot_link = np.array([[0, size]]) if linked else np.zeros((0, 2), int)
        constraints = Constraints(must_link, cannot_link)
        metric = "cosine" if kind == "potts" else kind
        at = state(data[:total], 5, metric=metric, constraints=constraints, potts=kind == "potts")
        tasks.append(at.constrained_e_step())
    growth(benchmark, f"rows in neighbourhoods, {kind}", [2 * size for size in SIZES], tasks)


@pytest.mark.skipif(SMALL, reason="needs the reviews")
def test_films(benchmark):
    """Reviews of one film as must-links: 14,127 natural groups."""
    data, film = load("imdb").rows(dtype=np.float32), films()
    known = {"constraints": Constraints(must_link_groups=film)}
    free, bound = (fit_ours(data, K, known=given) for given in (None, known))
    record(benchmark, bound, {FREE: free}, rounds=3)
