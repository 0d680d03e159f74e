"""Hypothesis strategies shared by the suite: sparse rows, labels, constraints and weights.

Shapes and switches are drawn by hypothesis, so they shrink; the numbers themselves come from a drawn seed, which keeps
each example cheap.
"""

import numpy as np
from hypothesis import strategies as st
from oracle import CANNOT_LINK, MUST_LINK
from scipy import sparse


@st.composite
def random_states(draw):
    """A NumPy generator that the example owns."""
    return np.random.default_rng(draw(st.integers(0, 2**32 - 1)))


@st.composite
def csr_matrices(draw, n=(2, 30), d=(1, 25), density=(0.05, 0.9), signed=None, zero_rows=None):
    """An (n, d) scipy CSR matrix of float64, sorted, without stored zeros.

    signed, zero_rows: True, False, or None for either.  Values have magnitude 0.1 to 3.  Without zero rows every row
    holds an entry; with them, one row or more holds none.  Rows and features may repeat or be empty by chance.
    """
    rows, columns = draw(st.integers(*n)), draw(st.integers(*d))
    share = draw(st.floats(*density))
    negative = draw(st.booleans()) if signed is None else signed
    empty = draw(st.booleans()) if zero_rows is None else zero_rows
    rng = draw(random_states())
    X = rng.uniform(0.1, 3.0, (rows, columns)) * (rng.random((rows, columns)) < share)
    for i in np.flatnonzero(~X.any(axis=1)):
        X[i, rng.integers(columns)] = rng.uniform(0.1, 3.0)
    if negative:
        X *= rng.choice([-1.0, 1.0], X.shape)
    if empty:
        X[rng.choice(rows, max(1, rows // 10), replace=False)] = 0.0
    return sparse.csr_matrix(X)


@st.composite
def label_vectors(draw, n, K):
    """(n,) int64 labels that use every one of the K <= n clusters."""
    rng = draw(random_states())
    return rng.permutation(np.concatenate([np.arange(K), rng.integers(K, size=n - K)]))


@st.composite
def pair_lists(draw, n, min_size=0, max_size=12, weight=(0.1, 5.0), truth=None):
    """Distinct unordered pairs [(i, j, kind, weight)] with i < j.

    truth: (n,) classes that decide the kinds, which are then free of contradictions; without it kinds are random.
    """
    every = n * (n - 1) // 2
    size = draw(st.integers(min(min_size, every), min(max_size, every)))
    rng = draw(random_states())
    i, j = np.triu_indices(n, k=1)
    pairs = []
    for p in rng.choice(every, size, replace=False):
        same = rng.random() < 0.5 if truth is None else truth[i[p]] == truth[j[p]]
        pairs.append((int(i[p]), int(j[p]), MUST_LINK if same else CANNOT_LINK, float(rng.uniform(*weight))))
    return pairs


@st.composite
def feature_weights(draw, d, low=0.1, high=5.0):
    """(d,) feature weights a, sometimes all ones."""
    if draw(st.booleans()):
        return np.ones(d)
    return draw(random_states()).uniform(low, high, d)


@st.composite
def sample_weights(draw, n, low=0.1, high=5.0, zeros=False):
    """(n,) sample weights; with zeros, about a quarter of them is 0 but never all."""
    rng = draw(random_states())
    weights = rng.uniform(low, high, n)
    if zeros:
        weights[1:][rng.random(n - 1) < 0.25] = 0.0
        weights = rng.permutation(weights)
    return weights


def must_and_cannot(pairs):
    """Split [(i, j, kind, weight)] into the two (n_pairs, 2) index arrays that estimators take."""
    split = ([(i, j) for i, j, kind, _ in pairs if kind == wanted] for wanted in (MUST_LINK, CANNOT_LINK))
    return tuple(np.array(chosen, dtype=np.int64).reshape(-1, 2) for chosen in split)


@st.composite
def planted(draw, n=(6, 24), K=(2, 4)):
    """Rows, a number of clusters, classes that use all of them, and pairs that agree with the classes."""
    n, K, rng = draw(st.integers(*n)), draw(st.integers(*K)), draw(random_states())
    truth = np.concatenate([np.arange(K), rng.integers(K, size=n - K)])
    X = rng.uniform(0.1, 1.0, (n, 5)) + rng.uniform(0, 3, (K, 5))[truth]
    return X, K, truth, draw(pair_lists(n, max_size=20, truth=truth))
