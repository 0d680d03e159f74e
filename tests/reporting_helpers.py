"""Fits to report on, and a reader of pages."""

from __future__ import annotations

import warnings
from html.parser import HTMLParser
from typing import Any

import numpy as np

from hmrf_fast import HMRFKMeans
from hmrf_fast.errors import HMRFWarning

VOID = {"meta", "br", "hr", "img", "link", "input", "col", "wbr"}


def fitted(n_rows=60, n_features=12, n_clusters=3, seed=0, metric="cosine", n_pairs=20, **more):
    """A model of random sparse counts under random pairs, with its rows."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.7, size=(n_rows, n_features)).astype(float)
    X[X.sum(axis=1) == 0, 0] = 1.0
    pairs = np.unique(np.sort(rng.integers(n_rows, size=(n_pairs, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    must = rng.random(len(pairs)) < 0.5
    given: dict[str, Any] = {"must_link": pairs[must], "cannot_link": pairs[~must]} if n_pairs else {}
    model = HMRFKMeans(n_clusters, metric=metric, init="k-means++", n_init=1, random_state=seed, **more)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HMRFWarning)  # random pairs contradict one another
        return model.fit(X, **given), X


class Page(HTMLParser):
    """Reads a page and refuses tags that are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)

    def values(self, attribute: str) -> list[str]:
        return [value for _, attributes in self.tags if (value := attributes.get(attribute)) is not None]
