"""Corpora to measure on: one made of Zipf words and topics, the bundled news, and larger real ones where they are at
hand. ``HMRF_BENCH_SMALL=1`` makes everything tiny: it then only shows that the benchmarks run. ``HMRF_BENCH_LONG=1``
adds what takes minutes a piece."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from hmrf_fast import datasets

SMALL = os.environ.get("HMRF_BENCH_SMALL", "") not in ("", "0")
LONG = os.environ.get("HMRF_BENCH_LONG", "") not in ("", "0") and not SMALL
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
FILES = {
    "20news": "news/20news_full.npz",
    "imdb": "large/imdb100k.npz",
    "k1": "karypis/k1.npz",
    "ohscal": "karypis/ohscal.npz",
}

BACKGROUND_SHARE = 0.55  # of a row's words; the others come from its topic
TOKENS_PER_ENTRY = 1.3  # words repeat, so a row has fewer entries than words


class Text(NamedTuple):
    """Documents as counts and as tf-idf rows of unit length, with their classes."""

    counts: sp.csr_matrix
    tfidf: sp.csr_matrix
    target: np.ndarray  # (n,) int64

    def rows(self, values: str = "tfidf", dtype=np.float64) -> sp.csr_matrix:
        """A fresh matrix of the wanted values and precision."""
        return getattr(self, values).astype(dtype)


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
    return generate(600, 2000, 30, 5) if SMALL else generate(20_000, 50_000, 100, 20)


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


def generate(n_rows: int, n_features: int, entries_per_row: float, n_topics: int, seed: int = 0) -> Text:
    """Documents of two kinds of words: common ones by Zipf's law, and those of one topic per row.

    The columns are in random order, as alphabetical ones are. About ``entries_per_row`` non-zeros per row on average.
    """
    rng = np.random.default_rng(seed)
    topic = rng.integers(n_topics, size=n_rows)
    lengths = rng.lognormal(np.log(entries_per_row * TOKENS_PER_ENTRY) - 0.18, 0.6, n_rows)
    row = np.repeat(np.arange(n_rows), np.maximum(lengths, 5).astype(np.int64))
    common = _draw(1.0 / (np.arange(n_features) + 15.0) ** 1.05, row.size, rng)
    special = _topic_words(n_features, n_topics, topic[row], rng)
    word = np.where(rng.random(row.size) < BACKGROUND_SHARE, common, special)
    column = rng.permutation(n_features)[word]
    counts = sp.csr_matrix((np.ones(row.size), (row, column)), shape=(n_rows, n_features))
    return Text(counts, tfidf(counts), topic.astype(np.int64))


def _draw(weights: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Positions with probability proportional to their weights."""
    cumulated = np.cumsum(weights)
    return np.minimum(np.searchsorted(cumulated, rng.random(size) * cumulated[-1]), weights.size - 1)


def _topic_words(n_features: int, n_topics: int, topic: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One word of each given topic: a topic has its own list of words, the first of them the most frequent."""
    size = min(1500, n_features // 4)
    lists = np.stack([rng.permutation(n_features)[:size] for _ in range(n_topics)])
    return lists[topic, _draw(1.0 / (np.arange(size) + 5.0), topic.size, rng)]


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


def tfidf(counts: sp.csr_matrix) -> sp.csr_matrix:
    """tf * ln(n / df), rows of unit length."""
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    weighted = counts.data * np.log(counts.shape[0] / np.maximum(frequency, 1))[counts.indices]
    result = sp.csr_matrix((weighted, counts.indices, counts.indptr), shape=counts.shape)
    length = np.sqrt(np.asarray(result.multiply(result).sum(axis=1)).ravel())
    result.data /= np.repeat(np.where(length > 0, length, 1.0), np.diff(result.indptr))
    return result


def first_centers(data: sp.csr_matrix, n_clusters: int, seed: int = 0) -> np.ndarray:
    """(K, d) distinct rows of the data as a start."""
    chosen = np.random.default_rng(seed).choice(data.shape[0], n_clusters, replace=False)
    return data[np.sort(chosen)].toarray()
