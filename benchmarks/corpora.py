"""Corpora to measure on: one made of Zipf words and topics, the bundled news, and larger real ones where they are at
hand. ``HMRF_BENCH_SMALL=1`` makes everything tiny: it then only shows that the benchmarks run. ``HMRF_BENCH_LONG=1``
adds what takes minutes a piece."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from hmrf_fast import datasets
from hmrf_fast.artificial import Text, tfidf, zipf_texts

SMALL = os.environ.get("HMRF_BENCH_SMALL", "") not in ("", "0")
LONG = os.environ.get("HMRF_BENCH_LONG", "") not in ("", "0") and not SMALL
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
FILES = {
    "20news": "news/20news_full.npz",
    "imdb": "large/imdb100k.npz",
    "k1": "karypis/k1.npz",
    "ohscal": "karypis/ohscal.npz",
}


def load(name: str) -> Text:
    """A corpus by name; the calling test is skipped where its file is missing."""
    return {"zipf": _zipf, "news": _news}[name]() if name not in FILES else _from_file(name)


def names() -> tuple[str, ...]:
    """The corpora of this run: large real ones take part in full runs only."""
    return ("news", "zipf") if SMALL else ("zipf", "20news")


def all_names() -> tuple[str, ...]:
    """Those of ``names`` and further real ones."""
    return names() if SMALL else (*names(), "k1", "ohscal", "imdb")


def films() -> np.ndarray:
    """(n,) the film that each review of ``imdb`` is of: 14,127 natural groups of up to 30 rows."""
    with np.load(_path("imdb"), allow_pickle=False) as archive:
        return archive["film"].astype(np.int64)[_filled_rows(archive)]


@cache
def _zipf() -> Text:
    return zipf_texts(600, 2000, 30, 5) if SMALL else zipf_texts(20_000, 50_000, 100, 20)


@cache
def _news() -> Text:
    counts, target = datasets.load("news_different_3", values="counts", return_X_y=True)
    return Text(counts, tfidf(counts), target)


@cache
def _from_file(name: str) -> Text:
    with np.load(_path(name), allow_pickle=False) as archive:
        rows = _filled_rows(archive)
        counts = datasets.sparse_from_arrays(archive, "counts")[rows]
        return Text(counts, tfidf(counts), archive["labels"].astype(np.int64)[rows])


def _path(name: str) -> Path:
    path = DATA / FILES[name]
    if not path.exists():
        pytest.skip(f"{FILES[name]} is not in ../shared/data beside the checkout")
    return path


def _filled_rows(archive) -> np.ndarray:
    return np.flatnonzero(np.diff(archive["indptr"]))


@cache
def uniform(n_rows: int, n_features: int, entries_per_row: int, dtype=np.float32) -> sp.csr_matrix:
    """Rows of exactly that many non-zeros, frequent columns first: quick to make at any size, for measurements of
    growth and of memory."""
    rng, edges = np.random.default_rng(0), np.linspace(0, n_features, entries_per_row + 1).astype(np.int32)
    indices = np.empty((n_rows, entries_per_row), np.int32)
    values = np.empty((n_rows, entries_per_row), dtype)
    for first in range(0, n_rows, 10_000):
        part = slice(first, min(first + 10_000, n_rows))
        size = indices[part].shape
        indices[part] = edges[:-1] + rng.random(size, np.float32) ** 3 * np.diff(edges)
        values[part] = 1 + rng.integers(0, 4, size, np.int8)
    indptr = np.arange(n_rows + 1, dtype=np.int32) * entries_per_row
    return sp.csr_matrix((values.ravel(), indices.ravel(), indptr), shape=(n_rows, n_features))


def first_centers(data: sp.csr_matrix, n_clusters: int, seed: int = 0) -> np.ndarray:
    """(K, d) distinct rows of the data as a start."""
    chosen = np.random.default_rng(seed).choice(data.shape[0], n_clusters, replace=False)
    return data[np.sort(chosen)].toarray()
