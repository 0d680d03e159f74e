"""Rows made up to measure with: texts of Zipf words and topics."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

__all__ = ["Text", "tfidf", "zipf_texts"]

BACKGROUND_SHARE = 0.55  # of a row's words; the others come from its topic
TOKENS_PER_ENTRY = 1.3  # words repeat, so a row has fewer entries than words


class Text(NamedTuple):
    """Documents as counts and as tf-idf rows of unit length, with their classes."""

    counts: sp.csr_matrix
    tfidf: sp.csr_matrix
    target: np.ndarray  # (n,) int64

    def rows(self, values: str = "tfidf", dtype: Any = np.float64) -> sp.csr_matrix:
        """A fresh matrix of the wanted values and precision."""
        return getattr(self, values).astype(dtype)


def zipf_texts(n_rows: int, n_features: int, entries_per_row: float, n_topics: int, seed: int = 0) -> Text:
    """Documents of two kinds of words: common ones by Zipf's law, and those of one topic per row.

    Parameters
    ----------
    n_rows, n_features : int
        The columns are in random order, as alphabetical ones are.
    entries_per_row : float
        Non-zeros per row, about, on average.
    n_topics : int
    seed : int, default=0

    Returns
    -------
    Text
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


def tfidf(counts: sp.csr_matrix) -> sp.csr_matrix:
    """tf * ln(n / df), rows of unit length."""
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    weighted = counts.data * np.log(counts.shape[0] / np.maximum(frequency, 1))[counts.indices]
    result = sp.csr_matrix((weighted, counts.indices, counts.indptr), shape=counts.shape)
    length = np.sqrt(np.asarray(result.multiply(result).sum(axis=1)).ravel())
    result.data /= np.repeat(np.where(length > 0, length, 1.0), np.diff(result.indptr))
    return result
