"""The sets of the quality benchmarks, and the pairs drawn from them: the one loader of all.

Bundled sets need no folder; the others are read from ``DATA/<folder>/<name>.npz``, and fixed draws of pairs, where
there are some, from ``DATA/constraints/pairs_<name>.npz``.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

BUNDLED = ("news_different_3", "news_related_3", "news_similar_3", "classic400", "iris")
TEXT = {
    **dict.fromkeys(("news_different_3", "news_related_3", "news_similar_3", "news_all20"), "news"),
    **dict.fromkeys(("classic400", "cstr"), "classic"),
    **dict.fromkeys(("k1", "re0", "tr11", "tr23", "tr41", "la1", "hitech", "fbis"), "karypis"),
    **dict.fromkeys(("stackoverflow", "searchsnippets"), "short"),
}
LOWDIM = dict.fromkeys(
    (
        "iris", "wine", "optdigits1797", "digits_389", "letter_ijl", "pendigits_349", "protein", "ionosphere", "ecoli",
        "glass", "newthyroid", "vehicle", "wdbc", "sonar", "zoo",
    ),
    "lowdim",
)  # fmt: skip
GENES = dict.fromkeys(
    ("yeast_galactose", "golub_leukaemia", "sc_celseq2_3lines", "sc_dropseq_3lines", "worm_neurons"), "genes"
)
FOLDERS = {**TEXT, **LOWDIM, **GENES}
GROUPS = {"text": tuple(TEXT), "lowdim": tuple(LOWDIM), "genes": tuple(GENES), "all": tuple(FOLDERS)}


class Corpus(NamedTuple):
    """Rows, their classes, and the metric that suits them."""

    name: str
    X: Any  # (n, d) CSR with unit rows under "cosine", else dense
    y: np.ndarray  # (n,) int64
    metric: str
    counts: sp.csr_matrix | None  # the same rows for "i_divergence", where they are counts

    @property
    def n_clusters(self) -> int:
        return np.unique(self.y).size


class Drawn(NamedTuple):
    """One run of the protocol: pairs come from training rows, scores from test rows."""

    training: np.ndarray
    test: np.ndarray
    pairs: np.ndarray  # (m, 2) int64 in order of drawing
    same_class: np.ndarray  # (m,) bool

    def first(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Must-links and cannot-links among the first ``count`` pairs."""
        pairs, same = self.pairs[:count], self.same_class[:count]
        return pairs[same], pairs[~same]


def is_available(name: str, data: str | None) -> bool:
    """Whether a set is bundled or lies in the folder."""
    return name in BUNDLED or (data is not None and (Path(data) / FOLDERS[name] / f"{name}.npz").exists())


@lru_cache(maxsize=2)
def load(name: str, data: str | None = None) -> Corpus:
    """A set by name: tf-idf text, dense rows as given, expression counts as logarithms."""
    from hmrf_fast import datasets

    if name in BUNDLED:
        X, y = datasets.load(name, return_X_y=True)
        counts = None if name == "iris" else datasets.load(name, values="counts", return_X_y=True)[0]
        return Corpus(name, X, y, "sqeuclidean" if name == "iris" else "cosine", counts)
    with np.load(Path(data or ".") / FOLDERS[name] / f"{name}.npz") as stored:
        y = stored["labels"].astype(np.int64)
        if "X" in stored:
            return Corpus(name, stored["X"].astype(np.float64), y, _dense_metric(name), None)
        counts = datasets.sparse_from_arrays(stored, "counts") if "counts" in stored else None
        if "tfidf" in stored:
            return Corpus(name, datasets.sparse_from_arrays(stored, "tfidf"), y, "cosine", counts)
    weigh = _log_expression if name in GENES else _tfidf
    return Corpus(name, _unit_rows(weigh(counts)), y, "cosine", counts)


def _dense_metric(name: str) -> str:
    """Expression profiles are compared by their shape, measurements by their values."""
    return "pearson" if name in GENES else "sqeuclidean"


def _tfidf(counts: sp.csr_matrix) -> sp.csr_matrix:
    """tf ln(N / df) without smoothing, as in the bundled sets."""
    frequency = np.maximum(np.bincount(counts.indices, minlength=counts.shape[1]), 1)
    return sp.csr_matrix(counts @ sp.diags_array(np.log(counts.shape[0] / frequency)))


def _log_expression(counts: sp.csr_matrix) -> sp.csr_matrix:
    """ln(1 + counts per cell of 10,000), as is usual for single cells."""
    totals = np.maximum(np.asarray(counts.sum(1)).ravel(), 1.0)
    return sp.csr_matrix(sp.diags_array(1e4 / totals) @ counts).log1p()


def _unit_rows(matrix: sp.csr_matrix) -> sp.csr_matrix:
    from sklearn.preprocessing import normalize

    return normalize(matrix)


def draw(
    corpus: Corpus, run: int, n_pairs: int, data: str | None = None, *, fold: int = 0, halves: bool = False
) -> Drawn:
    """Rows and pairs of a run: the fixed draws where they exist and suffice, else the library's own protocol.

    Fold 1 swaps the halves; where the fixed test part is no half (a tenth, as in SDM 2004) it keeps the part and draws
    other pairs. Fewer pairs are a prefix of more; fewer than asked for come back where the training rows do not have as
    many. ``halves`` does without fixed draws whose test part is no half.
    """
    from hmrf_fast.protocol import draw_pairs, split_halves

    training, test = split_halves(corpus.y, run)
    held_out, pairs = _fixed(corpus.name, run, data)
    if held_out is not None and halves and abs(2 * np.count_nonzero(held_out) - held_out.size) > 1:
        held_out, pairs = None, pairs[:0]
    if held_out is not None:
        training, test = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    if fold == 1:
        pairs = pairs[:0]
        if abs(training.size - test.size) <= 1:
            training, test = test, training
    if n_pairs > len(pairs):
        # As many more as there are fixed ones, since all of these may be among the drawn.
        possible = training.size * (training.size - 1) // 2
        drawn = draw_pairs(corpus.y, training, min(n_pairs + len(pairs), possible), (run, fold)).pairs
        both = np.concatenate([pairs, drawn])
        pairs = both[np.sort(np.unique(both, axis=0, return_index=True)[1])]
    pairs = pairs[:n_pairs]
    return Drawn(training, test, pairs, corpus.y[pairs[:, 0]] == corpus.y[pairs[:, 1]])


def _fixed(name: str, run: int, data: str | None) -> tuple[np.ndarray | None, np.ndarray]:
    """The stored test rows (n,) bool, or None, and the stored pairs (m, 2) of a run."""
    path, none = Path(data or ".") / "constraints" / f"pairs_{name}.npz", np.zeros((0, 2), np.int64)
    if not (data and path.exists()):
        return None, none
    with np.load(path) as stored:
        if run >= len(stored["test"]):
            return None, none
        pairs = np.column_stack([stored["i"][run], stored["j"][run]]).astype(np.int64)
        return stored["test"][run].astype(bool), pairs


def flipped(drawn: Drawn, share: float, run: int, fold: int) -> Drawn:
    """The same pairs with the answer of about this share of them turned round; fewer pairs stay a prefix of more."""
    wrong = np.random.default_rng((run, fold, 1)).random(len(drawn.pairs)) < share
    return drawn._replace(same_class=drawn.same_class ^ wrong)
