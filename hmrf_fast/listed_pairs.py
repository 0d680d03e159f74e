"""Distances of the pairs that are listed one by one, and what they add to the gradient of the feature weights."""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels import pool
from hmrf_fast.kernels.pairs import add_leanings, add_pair_products, pair_distances
from hmrf_fast.kernels.shared import add_shared, list_shared, shared_distances
from hmrf_fast.kernels.types import PairSide, PairTerms, Shared

PAIR_CHUNK = 4096


def pair_phi(problem, pairs: PairTerms, weights: np.ndarray) -> np.ndarray:
    """(m,) scaling function of every listed pair; cost: non-zeros of both rows, or what they share if known."""
    graph = problem.graph
    if problem.potts or graph.pair_kind.size == 0:
        return np.ones(graph.pair_kind.size)
    few, phi, entropic = problem.touched, np.empty(graph.pair_kind.size), problem.metric.entropic
    first_rows, second_rows = _rows(problem, few)
    terms, shared = few.of(pairs), problem.memo.get("shared")
    if shared is not None:
        _run(
            problem,
            lambda first, last: shared_distances(shared, terms, weights, first_rows, second_rows, first, last, phi),
            shared.features.size,
        )
        return phi
    side = PairSide(few.corpus, terms, few.of(problem.unit))
    _run(
        problem,
        lambda first, last: pair_distances(side, side, weights, entropic, first_rows, second_rows, first, last, phi),
        _entries(problem),
    )
    return phi


def shared_by_pairs(problem) -> Shared | None:
    """What the rows of each pair share; they are merged at the first call only. None if there are no pairs, or if they
    share more than may be remembered."""
    if "shared" not in problem.memo:
        listed = problem.graph.pair_kind.size and not problem.potts
        problem.memo["shared"] = _list_shared(problem, problem.touched) if listed else None
    return problem.memo["shared"]


def pair_products(problem, pairs: PairTerms, strength: np.ndarray) -> np.ndarray:
    """(d,) the pairs' overlaps feature by feature, each times its strength (m,)."""
    result = np.zeros(problem.n_features)
    if not strength.any():
        return result
    few = problem.touched
    first_rows, second_rows = _rows(problem, few)
    shared = shared_by_pairs(problem)
    if shared is not None:
        add_shared(shared, strength, result)
    else:
        unit, entropic = few.of(problem.unit), problem.metric.entropic
        add_pair_products(few.corpus, unit, entropic, first_rows, second_rows, strength, result)
    lean = few.of(pairs.lean)
    if lean.size:
        add_leanings(few.corpus, lean, first_rows, second_rows, strength, result)
        result += np.sum(strength * lean[first_rows] * lean[second_rows])
    return result


def _list_shared(problem, few) -> Shared | None:
    """What the rows of each pair share, or None where that is more than the non-zeros of X."""
    first_rows, second_rows = _rows(problem, few)
    sizes = np.diff(few.corpus.indptr)
    most = np.minimum(sizes[first_rows], sizes[second_rows])
    ptr, found = np.zeros(first_rows.size + 1, np.int64), 0
    unit, entropic = few.of(problem.unit), problem.metric.entropic

    def task(first: int, last: int):
        nonlocal found
        if found > problem.n_entries:
            return None
        room = int(most[first:last].sum())
        features, parts = np.empty(room, np.int32), np.empty(room)
        size = list_shared(
            few.corpus, unit, entropic, first_rows, second_rows, first, last, ptr[1:], features, parts
        )  # fmt: skip
        found += size
        return features[:size].copy(), parts[:size].copy()

    listed = _run(problem, task, _entries(problem))
    np.cumsum(ptr, out=ptr)
    if any(part is None for part in listed) or ptr[-1] > problem.n_entries:
        return None
    features, parts = (np.concatenate(some) for some in zip(*listed, strict=True))
    return Shared(ptr, features, parts)


def _rows(problem, few) -> tuple[np.ndarray, np.ndarray]:
    return few.numbers[problem.graph.pair_first], few.numbers[problem.graph.pair_second]


def _entries(problem) -> float:
    """About as many non-zeros as the rows of all pairs have."""
    return 2.0 * problem.graph.pair_kind.size * problem.n_entries / max(problem.n_rows, 1)


def _run(problem, task, entries: float) -> list:
    count = problem.graph.pair_kind.size
    return pool.run_chunks(task, pool.even_chunks(count, -(-count // PAIR_CHUNK)), problem.n_threads, 2.0 * entries)
