"""What constraints cost before the first iteration."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from corpora import SMALL, films
from scipy.sparse.csgraph import connected_components
from side_by_side import growth, record

from hmrf_fast import Constraints
from hmrf_fast.neighborhoods import resolve
from hmrf_fast.penalties import plan
from hmrf_fast.protocol import draw_pairs

N_ROWS = 2_000 if SMALL else 200_000
LEAST = "sorting the pairs and scipy's connected_components"


def drawn(target: np.ndarray, n_pairs: int):
    """Must-links and cannot-links among that many random pairs of all rows."""
    return draw_pairs(target, np.arange(target.size), n_pairs, 0).first(n_pairs)


def least_work(n_rows: int, must_link: np.ndarray, cannot_link: np.ndarray):
    """A callable: sort the pairs once and find the components of the must-links, which any set-up has to do."""

    def work():
        for pairs in (must_link, cannot_link):
            np.unique(pairs[:, 0] * n_rows + pairs[:, 1])
        ends = must_link[:, 0], must_link[:, 1]
        graph = sp.csr_matrix((np.ones(len(must_link), np.int8), ends), shape=(n_rows, n_rows))
        connected_components(graph, directed=False)

    return work


def set_up(n_rows: int, must_link: np.ndarray, cannot_link: np.ndarray, **weights):
    """A callable: all that a fit does with constraints before its first iteration."""
    return lambda: plan(resolve(Constraints(must_link, cannot_link, **weights), n_rows)) and None


@pytest.mark.parametrize("n_classes", [20, 2_000])
@pytest.mark.parametrize("n_pairs", [1_000, 10_000] if SMALL else [100_000, 1_000_000])
def test_set_up_pairs(benchmark, n_pairs, n_classes):
    """Few classes make large neighbourhoods, many make small ones."""
    target = np.random.default_rng(0).integers(n_classes, size=N_ROWS)
    pairs = drawn(target, n_pairs)
    record(
        benchmark,
        set_up(N_ROWS, *pairs),
        {LEAST: least_work(N_ROWS, *pairs)},
        rounds=3,
        must_links=len(pairs[0]),
    )


@pytest.mark.parametrize("length", [100, N_ROWS], ids=["many", "one"])
@pytest.mark.parametrize("kind", ["soft", "hard"])
def test_set_up_chains(benchmark, length, kind):
    """Every row tied to the next one in its chain, and a cannot-link from each chain's head to the next head."""
    rows = np.arange(N_ROWS)
    must_link = np.column_stack([rows[:-1], rows[1:]])[(rows[1:] % length) != 0]
    heads = rows[::length]
    cannot_link = np.column_stack([heads[:-1], heads[1:]])
    weight = np.inf if kind == "hard" else 1.0
    record(
        benchmark,
        set_up(N_ROWS, must_link, cannot_link, must_link_weight=weight, cannot_link_weight=weight),
        {LEAST: least_work(N_ROWS, must_link, cannot_link)},
        rounds=3,
    )


@pytest.mark.parametrize("cannot", [False, True], ids=["one", "two cannot-linked"])
def test_set_up_stars(benchmark, cannot):
    """Stars of must-links, alone or two whose heads are cannot-linked: time by their rows, not by their pairs."""
    sizes = [100, 1_000] if SMALL else [1_000, 10_000, 50_000]
    tasks = []
    for size in sizes:
        spokes = np.column_stack([np.zeros(size - 1, int), np.arange(1, size)])
        must_link = np.concatenate([spokes, spokes + size])
        tasks.append(set_up(2 * size, must_link, np.array([[0, size]]) if cannot else np.zeros((0, 2), int)))
    growth(benchmark, "rows in stars", sizes, tasks, most_seconds=1.0)


@pytest.mark.skipif(SMALL, reason="needs the reviews")
def test_set_up_films(benchmark):
    """Reviews of one film as must-link groups."""
    film = films()
    given = Constraints(must_link_groups=film)
    work = lambda: plan(resolve(given, film.size)) and None  # noqa: E731
    record(benchmark, work, {"sorting the rows by film": lambda: np.argsort(film, kind="stable") is None}, rounds=3)
