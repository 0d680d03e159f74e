"""Small inputs distilled from public bug reports of constrained, spherical and sparse k-means, with the right
outcome."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from hmrf_fast import Constraints, HMRFKMeans
from hmrf_fast.errors import ContradictionError, ContradictionWarning, EmptyRowsWarning, InfeasibleError, InputError
from hmrf_fast.kernels import pool

P = np.array([[3.0, 1, 0, 0], [2, 2, 0, 0], [0, 0, 1, 3], [0, 0, 2, 2]])


def partition(labels) -> set[frozenset[int]]:
    labels = np.asarray(labels)
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}


def groups(*members) -> set[frozenset[int]]:
    return {frozenset(group) for group in members}


class TestHardCannotLinksThatTrapGreedyAssignment:
    @pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
    def test_every_seed_finds_the_only_partition(self, order):
        X = np.array([[0.0], [5.0], [10.0]])[list(order)]
        place = {row: k for k, row in enumerate(order)}
        cannot = [(place[0], place[2]), (place[1], place[2])]
        for seed in range(50):
            model = HMRFKMeans(2, metric="sqeuclidean", cannot_link_weight=np.inf, n_init=1, random_state=seed)
            model.fit(sp.csr_matrix(X), cannot_link=cannot)
            assert partition(model.labels_) == groups({place[0], place[1]}, {place[2]})
            assert model.objective_ == pytest.approx(12.5)
            assert model.constraint_report_.n_cannot_link_violated == 0


class TestContradiction:
    X = np.array([[0.0], [1], [2], [20], [21]])
    must, cannot = [(0, 1), (1, 2)], [(0, 2)]

    def test_hard_ones_are_refused_with_the_chain(self):
        model = HMRFKMeans(2, metric="sqeuclidean", must_link_weight=np.inf, cannot_link_weight=np.inf)
        with pytest.raises(ContradictionError, match="0-1-2"):
            model.fit(self.X, must_link=self.must, cannot_link=self.cannot)
        with pytest.raises(NotFittedError):
            check_is_fitted(model)

    @pytest.mark.parametrize(("must", "cannot", "objective"), [(10, 1, 3.5), (1, 10, 12.5)])
    def test_soft_ones_are_weighed(self, must, cannot, objective):
        model = HMRFKMeans(
            2, metric="sqeuclidean", penalty="potts", must_link_weight=must, cannot_link_weight=cannot, random_state=0
        )
        with pytest.warns(ContradictionWarning, match=r"1 cannot-link"):
            model.fit(self.X, must_link=self.must, cannot_link=self.cannot)
        assert partition(model.labels_) == groups({0, 1, 2}, {3, 4})
        assert model.objective_ == pytest.approx(objective)
        assert model.constraint_report_.violated_cannot_link.tolist() == [[0, 2]]
        assert model.constraint_report_.n_must_link_violated == 0
        assert "0-1-2" in model.constraint_report_.contradictions[0]


def test_long_must_link_chains():
    X = sp.csr_matrix(np.repeat(np.eye(2), 10_000, axis=0))
    chain = np.concatenate([np.arange(9_999), np.arange(10_000, 19_999)])
    for weight in (1.0, np.inf):
        model = HMRFKMeans(2, metric="sqeuclidean", must_link_weight=weight, n_init=1, random_state=0)
        model.fit(X, must_link=np.column_stack([chain, chain + 1]))
        assert partition(model.labels_) == groups(range(10_000), range(10_000, 20_000))
        assert model.objective_ == pytest.approx(0.0, abs=1e-9)
        assert model.constraint_report_.n_neighborhoods == 2


@pytest.mark.parametrize(
    ("weight", "objective", "expected"),
    [(60.0, 62.5, groups({0, 1}, {2, 3})), (1000.0, 82.0 + 2.0 / 3.0, groups({0, 2, 3}, {1}))],
)
def test_soft_must_link_threshold(weight, objective, expected):
    X = np.array([[0.0], [1], [10], [12]])
    known = Constraints(must_link=[(0, 3)], must_link_weight=np.array([weight]))
    model = HMRFKMeans(2, metric="sqeuclidean", penalty="potts", n_init=20, random_state=0).fit(X, constraints=known)
    assert model.objective_ == pytest.approx(objective)
    assert partition(model.labels_) == expected
    assert model.constraint_report_.n_must_link_violated == (1 if weight == 60 else 0)


def test_zero_row_under_cosine():
    X = np.array([[1.0, 0, 0], [2, 0, 0], [0, 3, 0], [0, 1, 0], [0, 0, 0]])
    results = []
    for _ in range(2):
        model = HMRFKMeans(2, init=X[[0, 2]], random_state=0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X)
        assert [w.category for w in caught] == [EmptyRowsWarning]
        assert "1 of 5 rows" in str(caught[0].message)
        results.append(model.labels_.tolist())
    assert results[0] == results[1] == [0, 0, 1, 1, 0]  # an empty row is as far from all centroids: the lowest label
    assert model.objective_ == pytest.approx(1.0)  # its distance is 1 by convention
    np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("max_iter", [1, 10])
def test_relocation_leaves_a_consistent_state(max_iter):
    X = np.array([[1.0], [2], [3]])
    model = HMRFKMeans(3, metric="sqeuclidean", init=[[4.0], [0.0], [1.0]], tol=0, max_iter=max_iter)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X)
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    recomputed = np.sum((X - model.cluster_centers_[model.labels_]) ** 2)
    assert model.objective_ == pytest.approx(recomputed, abs=1e-12)
    if max_iter == 10:
        assert len(set(model.labels_)) == 3
        assert model.objective_ == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("as_input", [sp.csr_matrix, np.asarray])
def test_large_values_in_float32(as_input):
    X = as_input(np.array([[100000.0], [100001], [100002], [100003]], dtype=np.float32))
    model = HMRFKMeans(2, metric="sqeuclidean", init=[[100000.5], [100002.5]]).fit(X)
    assert model.labels_.tolist() == [0, 0, 1, 1]
    assert model.objective_ == pytest.approx(1.0, abs=1e-3)
    shifted = np.hstack([np.full((4, 1), 80000.0), P]).astype(np.float32)
    model = HMRFKMeans(2, metric="sqeuclidean", init=shifted[[0, 2]]).fit(as_input(shifted))
    assert model.labels_.tolist() == [0, 0, 1, 1]
    assert model.objective_ == pytest.approx(2.0, abs=1e-3)


def _with_stored_zeros():
    indptr = np.array([0, 3, 5, 7, 10])
    indices = np.array([0, 1, 2, 0, 1, 2, 3, 0, 2, 3])
    return sp.csr_matrix((np.array([3.0, 1, 0, 2, 2, 1, 3, 0, 2, 2]), indices, indptr), shape=(4, 4))


def _unsorted():
    indices = np.array([1, 0, 1, 0, 3, 2, 3, 2])
    return sp.csr_matrix((np.array([1.0, 3, 2, 2, 3, 1, 2, 2]), indices, np.array([0, 2, 4, 6, 8])), shape=(4, 4))


def _split_entry():
    return sp.coo_matrix(
        (np.array([1.0, 2, 1, 2, 2, 1, 3, 2, 2]), ([0, 0, 0, 1, 1, 2, 2, 3, 3], [0, 0, 1, 0, 1, 2, 3, 2, 3])),
        shape=(4, 4),
    )


def _index_types(indices, indptr):
    X = sp.csr_matrix(P)
    X.indices, X.indptr = X.indices.astype(indices), X.indptr.astype(indptr)
    return X


def _read_only():
    X = sp.csr_matrix(P)
    for part in (X.data, X.indices, X.indptr):
        part.setflags(write=False)
    return X


FORMATS = {
    "csr": lambda: sp.csr_matrix(P),
    "csr_array": lambda: sp.csr_array(P),
    "csc": lambda: sp.csc_matrix(P),
    "coo_split_entry": _split_entry,
    "lil": lambda: sp.lil_matrix(P),
    "int64_indices": lambda: _index_types(np.int64, np.int64),
    "int32_indices_int64_indptr": lambda: _index_types(np.int32, np.int64),
    "unsorted": _unsorted,
    "stored_zeros": _with_stored_zeros,
    "read_only": _read_only,
    "int32_counts": lambda: sp.csr_matrix(P.astype(np.int32)),
    "float32": lambda: sp.csr_matrix(P.astype(np.float32)),
    "dense": lambda: P.copy(),
    "dense_fortran": lambda: np.asfortranarray(P),
    "lists": lambda: P.tolist(),
}


def _buffers(X):
    parts = [getattr(X, name, None) for name in ("data", "indices", "indptr", "row", "col")] if sp.issparse(X) else [X]
    return [np.array(part, copy=True) for part in parts if isinstance(part, np.ndarray) and part.dtype != object]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("metric", "objective"), [("sqeuclidean", 2.0), ("cosine", 0.107004), ("i_divergence", 0.135288)]
)
def test_storage_formats(name, metric, objective):
    reference = HMRFKMeans(2, metric=metric, init=P[[0, 2]], smoothing=0.0).fit(sp.csr_matrix(P))
    X = FORMATS[name]()
    before = _buffers(X)
    model = HMRFKMeans(2, metric=metric, init=P[[0, 2]], smoothing=0.0).fit(X)
    assert model.labels_.tolist() == [0, 0, 1, 1]
    assert model.objective_ == pytest.approx(objective, abs=1e-6)
    assert model.objective_ == pytest.approx(reference.objective_, rel=1e-6 if name == "float32" else 1e-12)
    for old, new in zip(before, _buffers(X), strict=True):
        np.testing.assert_array_equal(old, new)


class TestIDivergenceWithZeros:
    model = HMRFKMeans(2, metric="i_divergence", init=P[[0, 2]], smoothing=0.0)

    def test_missing_terms_are_infinitely_far_and_never_nan(self):
        model = self.model.fit(P)
        assert model.objective_ == pytest.approx(0.135288, abs=1e-6)
        distances = model.transform(P)
        assert np.isposinf(distances[[0, 1], 1]).all() and np.isposinf(distances[[2, 3], 0]).all()
        assert not np.isnan(distances).any()

    def test_row_length_does_not_matter(self):
        scaled = P * np.array([[1000.0], [1], [1], [1]])
        assert self.model.fit(scaled).objective_ == pytest.approx(0.135288, abs=1e-6)

    def test_negative_value_is_named(self):
        bad = P.copy()
        bad[2, 1] = -1.0
        with pytest.raises(InputError, match=r"X\[2, 1\] = -1"):
            HMRFKMeans(2, metric="i_divergence").fit(bad)

    def test_column_of_zeros_changes_nothing(self):
        wide = np.hstack([P, np.zeros((4, 1))])
        model = HMRFKMeans(2, metric="i_divergence", init=wide[[0, 2]], smoothing=0.0).fit(wide)
        assert model.objective_ == pytest.approx(0.135288, abs=1e-6)


class TestLengthInvariance:
    A = np.array([[1.0, 0], [100, 1], [0, 1], [1, 100]])

    @pytest.mark.parametrize("factor", [1.0, 1e-6, 1e6])
    @pytest.mark.parametrize("row", range(4))
    def test_cosine_ignores_length(self, row, factor):
        X = self.A.copy()
        X[row] *= factor
        model = HMRFKMeans(2, n_init=5, random_state=0).fit(X)
        assert partition(model.labels_) == groups({0, 1}, {2, 3})
        assert model.objective_ == pytest.approx(5.0e-5, abs=1e-6)

    def test_euclidean_does_not(self):
        model = HMRFKMeans(2, metric="sqeuclidean", n_init=20, random_state=0).fit(self.A)
        assert model.objective_ == pytest.approx(6601.33, abs=0.01)


def many_rows(n_rows=5000):
    rows, terms = np.repeat(np.arange(n_rows), 20), np.tile(np.arange(20), n_rows)
    values = 1.0 + (rows * terms) % 5
    return sp.csr_matrix((values, (rows, (37 * rows + 101 * terms) % 5003)), shape=(n_rows, 5003))


MUST = np.column_stack([np.arange(100), np.arange(100) + 2000])
CANNOT = np.column_stack([np.arange(0, 200, 2), np.arange(1, 201, 2)])
FRESH = """
import hashlib, sys
sys.path.insert(0, {folder!r})
from test_cases import threaded_fit
print(threaded_fit({weight!r}, 2))
"""


def threaded_fit(weight: str, n_threads: int) -> str:
    import hashlib

    model = HMRFKMeans(
        20, n_init=3, random_state=7, init="k-means++", n_threads=n_threads,
        must_link_weight=float(weight), cannot_link_weight=float(weight),
    ).fit(many_rows(), must_link=MUST, cannot_link=CANNOT)  # fmt: skip
    state = (model.labels_, model.cluster_centers_, model.objective_history_, np.array([model.n_iter_]))
    return hashlib.sha256(b"".join(part.tobytes() for part in state)).hexdigest()


@pytest.mark.parametrize("weight", ["1.0", "inf"])
def test_results_do_not_depend_on_threads_or_process(weight, monkeypatch):
    monkeypatch.setattr(pool, "SERIAL_WORK", 0)  # so that small chunks really run on threads
    digests = {threaded_fit(weight, n_threads) for n_threads in (1, 2, 4)}
    script = FRESH.format(folder=str(__import__("pathlib").Path(__file__).parent), weight=weight)
    for _ in range(2):
        digests.add(
            subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()
        )
    assert len(digests) == 1


class TestPartialLabels:
    X = np.array([[0.0], [0.2], [5], [5.2], [5.1], [9]])

    @pytest.mark.parametrize(
        "known",
        [
            np.array([7, -1, 3, -1, -1, -1], dtype=np.int8),
            np.array([7, -1, 3, -1, -1, -1], dtype=np.int64),
            np.array([7, np.nan, 3, np.nan, np.nan, np.nan]),
            ["seven", None, "five", None, None, None],
        ],
        ids=["int8", "int64", "float", "strings"],
    )
    def test_seeds_only(self, known):
        model = HMRFKMeans(
            3, metric="sqeuclidean", init="neighborhoods", must_link_weight=0, cannot_link_weight=0, random_state=0
        ).fit(self.X, partial_labels=known)
        assert model.labels_.tolist() == [1, 1, 0, 0, 0, 2]
        assert model.objective_ == pytest.approx(0.04)
        assert list(model.classes_) == (["five", "seven"] if isinstance(known, list) else [3, 7])

    def test_constrained_rows_keep_their_label(self):
        known = [7, -1, 3, -1, 7, -1]
        hard = {"must_link_weight": np.inf, "cannot_link_weight": np.inf}
        model = HMRFKMeans(3, metric="sqeuclidean", init="neighborhoods", random_state=0, **hard)
        model.fit(self.X, partial_labels=known)
        assert partition(model.labels_) == groups({0, 1, 4}, {2, 3}, {5})
        assert model.objective_ == pytest.approx(16.7067, abs=1e-4)
        free = {"must_link_weight": 0, "cannot_link_weight": 0}
        model = HMRFKMeans(3, metric="sqeuclidean", init="neighborhoods", random_state=0, **free)
        model.fit(self.X, partial_labels=known)
        assert model.labels_[4] == model.labels_[2]

    def test_more_classes_than_clusters(self):
        with pytest.raises(InfeasibleError, match=r"3 classes.*n_clusters=2"):
            HMRFKMeans(2, metric="sqeuclidean").fit(self.X, partial_labels=[1, 2, 3, -1, -1, -1])
