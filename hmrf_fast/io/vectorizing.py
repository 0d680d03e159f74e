"""Texts -> rows of word weights, by scikit-learn's vectorizers, and back to the same columns for further texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer, TfidfVectorizer

from hmrf_fast.errors import InputError
from hmrf_fast.inputs import check_choice

__all__ = ["TextVectorizer", "vectorize"]

WORDS = r"(?u)\b[^\W\d_]{3,}\b"
# Only those that the pattern lets through: scikit-learn warns of all others.
STOP_WORDS = sorted(word for word in ENGLISH_STOP_WORDS if re.fullmatch(WORDS, word))


@dataclass(frozen=True)
class TextVectorizer:
    """A fitted vectorizer as plain data: it can be written as JSON and gives further texts the same columns.

    Attributes
    ----------
    values : {"tfidf", "counts"}
    settings : dict
        Arguments of scikit-learn's ``TfidfVectorizer`` or ``CountVectorizer``.
    terms : list of d str
        In column order.
    idf : list of d float, or None for counts
    """

    values: str
    settings: dict[str, Any]
    terms: list[str]
    idf: list[float] | None

    def transform(self, texts: Sequence[str]) -> sp.csr_matrix:
        """Further texts as rows; words that the vocabulary lacks count for nothing.

        Parameters
        ----------
        texts : sequence of n str

        Returns
        -------
        csr_matrix of shape (n, d), float64
        """
        vectorizer = _vectorizer(self.values, self.settings | {"vocabulary": self.terms})
        if self.idf is not None:
            vectorizer.idf_ = np.array(self.idf)
        return sp.csr_matrix(vectorizer.transform(texts))


def vectorize(
    texts: Sequence[str],
    *,
    values: str = "tfidf",
    min_df: int | float = 2,
    max_df: int | float = 0.5,
    max_features: int | None = None,
    ngram_max: int = 1,
    stop_words: str | Sequence[str] | None = "english",
    token_pattern: str = WORDS,
    sublinear_tf: bool = False,
) -> tuple[sp.csr_matrix, TextVectorizer]:
    """Count the words of texts.

    The defaults are those of the papers' text: lower-case words of three letters or more, without stop words, that
    occur in two texts and in no more than half of them; not stemmed.

    Parameters
    ----------
    texts : sequence of n str
    values : {"tfidf", "counts"}, default="tfidf"
        Rows of length 1 for the cosine distance, or counts for the I-divergence.
    min_df, max_df : int or float
        Least and largest number (int) or share (float) of texts that a word occurs in.
    max_features : int, optional
        Keep the most frequent words only.
    ngram_max : int, default=1
        Count runs of up to so many words.
    stop_words : "english", list of str or None
    token_pattern : str
        What is a word, as a regular expression.
    sublinear_tf : bool, default=False
        1 + ln(tf) in place of tf.

    Returns
    -------
    matrix : csr_matrix of shape (n, d), float64
    vectorizer : TextVectorizer

    Raises
    ------
    InputError
        If no word is left.
    """
    check_choice("values", values, ("tfidf", "counts"))
    settings: dict[str, Any] = {
        "token_pattern": token_pattern,
        "ngram_range": [1, ngram_max],
        "stop_words": STOP_WORDS if stop_words == "english" else None if stop_words is None else list(stop_words),
    }
    if values == "tfidf":
        settings["sublinear_tf"] = sublinear_tf
    limits = {"min_df": min_df, "max_df": max_df, "max_features": max_features}
    vectorizer = _vectorizer(values, settings | limits)
    try:
        matrix = sp.csr_matrix(vectorizer.fit_transform(texts), dtype=np.float64)
    except (ValueError, re.error) as error:
        raise InputError(
            f"no word is left of {len(texts)} texts ({error}): lower min_df ({min_df}), raise max_df ({max_df}), or "
            "change what is a word"
        ) from None
    terms = vectorizer.get_feature_names_out().tolist()
    idf = vectorizer.idf_.tolist() if values == "tfidf" else None
    return matrix, TextVectorizer(values, settings, terms, idf)


def _vectorizer(values: str, settings: dict[str, Any]) -> Any:
    settings = settings | {"ngram_range": tuple(settings["ngram_range"])}
    return TfidfVectorizer(**settings) if values == "tfidf" else CountVectorizer(**settings)
