"""Arbitrary fits: every estimator and metric, on rows, constraints and parameters that nobody would choose."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from hmrf_fast import ConstrainedKMeans, Constraints, COPKMeans, HMRFKMeans, PCKMeans, SeededKMeans, SphericalKMeans
from hmrf_fast.errors import ConvergenceWarning, HMRFError, HMRFWarning

METRICS = ("cosine", "i_divergence", "sqeuclidean", "pearson")
WEIGHTS = (0.0, 1e-6, 0.3, 1.0, 25.0, 1e6, np.inf)
STORAGES = (np.asarray, sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix)


class Known(NamedTuple):
    """Constraints in plain terms, so that they can be given in another order."""

    must: list[tuple[int, int, float]]
    cannot: list[tuple[int, int, float]]
    labels: np.ndarray | None
    groups: np.ndarray | None

    def given(self, place=lambda i: i, order=None, flip=False) -> Constraints:
        """The public object, with rows renumbered, and pairs in another order and turned round."""
        told: dict[str, Any] = {}
        for kind, pairs in (("must_link", self.must), ("cannot_link", self.cannot)):
            pairs = pairs[::-1] if flip else pairs
            ends = [(place(j), place(i)) if flip else (place(i), place(j)) for i, j, _ in pairs]
            told[kind], told[f"{kind}_weight"] = ends or None, [w for *_, w in pairs] if pairs else 1.0
        for name, values in (("partial_labels", self.labels), ("cannot_link_groups", self.groups)):
            told[name] = values if values is None or order is None else values[order]
        return Constraints(**told)

    @property
    def is_empty(self) -> bool:
        return not (self.must or self.cannot or self.labels is not None or self.groups is not None)


class Case(NamedTuple):
    """One fit."""

    X: np.ndarray
    known: Known
    weight: np.ndarray | None
    kind: type
    parameters: dict[str, Any]
    general: bool  # whether the rows are in general position: no two sums are equal but for rounding

    def fit(self, X=None, known: Constraints | None = None, weight=None, **more):
        """The fitted model, or the typed error that says why there is none."""
        X, weight = self.X if X is None else X, self.weight if weight is None else weight
        model = self.kind(**(self.parameters | more))
        told: dict[str, Any] = {"sample_weight": weight}
        if self.kind is not SphericalKMeans and not self.known.is_empty:
            told["constraints"] = self.known.given() if known is None else known
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", HMRFWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                return model.fit(X, **told)
            except HMRFError as error:
                assert str(error) and "\n" not in str(error)
                return error


@st.composite
def matrices(draw, metric):
    """(X, whether it is in general position): random, few distinct, empty, constant, huge, tiny or shifted rows."""
    n, d = draw(st.integers(1, 24)), draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = draw(st.sampled_from(("random",) * 4 + ("few", "empty", "constant", "huge", "tiny", "shifted", "integers")))
    X = rng.uniform(0.1, 3.0, (n, d)) * (rng.random((n, d)) < draw(st.sampled_from((0.3, 0.7, 1.0))))
    if shape == "few":
        X = X[rng.integers(0, max(1, n // 3), n)]
    elif shape == "empty":
        X[:] = 0.0
    elif shape == "constant":
        X[:] = X[0]
    elif shape == "integers":
        X = rng.integers(0, 3, (n, d)).astype(float)
    elif shape != "random":
        X = X * 1e60 if shape == "huge" else X * 1e-60 if shape == "tiny" else X + 1e6
    if metric != "i_divergence" and draw(st.booleans()):
        X = X * rng.choice([-1.0, 1.0], X.shape)
    general = shape == "random" and d >= 4 and np.count_nonzero(X, axis=1).min() >= 4
    return X, bool(general)


@st.composite
def knowledge(draw, n):
    """Pairs of all weights, mostly free of contradictions, and sometimes classes and groups."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    truth = rng.integers(0, draw(st.integers(1, 4)), n) if draw(st.integers(0, 3)) else None
    must, cannot, seen = [], [], set()
    hard = draw(st.booleans())
    for _ in range(draw(st.integers(0, 14)) if n > 1 else 0):
        i, j = sorted(int(k) for k in rng.choice(n, 2, replace=False))
        if (i, j) in seen:
            continue
        seen.add((i, j))
        same = truth[i] == truth[j] if truth is not None else rng.random() < 0.5
        choice = WEIGHTS if hard else WEIGHTS[:-1]
        (must if same else cannot).append((i, j, float(choice[rng.integers(len(choice))])))
    labels = groups = None
    if draw(st.integers(0, 3)) == 0:
        classes = rng.integers(0, 3, n) if truth is None else truth
        labels = np.where(rng.random(n) < 0.3, classes, -1)
    if draw(st.integers(0, 5)) == 0:
        groups = np.where(rng.random(n) < 0.4, rng.integers(0, 3, n), -1)
    return Known(must, cannot, labels, groups)


@st.composite
def cases(draw):
    """Any fit."""
    kind = draw(
        st.sampled_from((HMRFKMeans,) * 4 + (PCKMeans, COPKMeans, SeededKMeans, ConstrainedKMeans, SphericalKMeans))
    )
    metric = "cosine" if kind is SphericalKMeans else draw(st.sampled_from(METRICS))
    X, general = draw(matrices(metric))
    parameters: dict[str, Any] = {
        "n_clusters": draw(st.integers(1, 5)),
        "n_init": draw(st.integers(1, 2)),
        "max_iter": draw(st.sampled_from((1, 3, 50))),
        "tol": draw(st.sampled_from((0.0, 1e-4))),
        "init": draw(st.sampled_from(("auto", "k-means++", "random", "printed"))),
        "dtype": draw(st.sampled_from((None, None, np.float64, np.float32))),
        "random_state": 0,
    }
    if kind is not SphericalKMeans:
        parameters |= {"metric": metric, "smoothing": draw(st.sampled_from((1.0, 1.0, 0.1, 0.0)))}
    if kind is HMRFKMeans:
        parameters |= {
            "must_link_weight": draw(st.sampled_from((1.0, 0.0, 10.0, np.inf))),
            "cannot_link_weight": draw(st.sampled_from((1.0, 0.0, 10.0, np.inf))),
            "infer_constraints": draw(st.booleans()),
            "filter_constraints": draw(st.sampled_from((False, False, False, True, "auto"))),
            "penalty": draw(st.sampled_from(("distance", "potts"))),
        }
        parameters["learn_weights"] = parameters["penalty"] == "distance" and draw(st.booleans())
    if kind in (HMRFKMeans, PCKMeans):
        parameters["e_step"] = draw(st.sampled_from(("block_icm", "icm")))
    n, weight = len(X), None
    if draw(st.booleans()):
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        weight = rng.choice([0.0, 1.0, 0.5, 3.7, 1e3], n)
    return Case(X, draw(knowledge(n)), weight, kind, parameters, general)
