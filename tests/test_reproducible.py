"""The same answer, bit for bit: any number of threads, a fresh process, dense or sparse storage, one seed."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import warnings

import numpy as np
import oracle
import pytest
from engine_helpers import busy_threads, constraints_of, examples, instances
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from hmrf_fast.errors import ConvergenceWarning, HMRFWarning
from hmrf_fast.hmrf_kmeans import HMRFKMeans

STATE = ("labels_", "cluster_centers_", "feature_weights_", "objective_", "objective_history_", "n_iter_")

# Runs as a script in a fresh process and in this one; prints a digest of every published bit.
SCRIPT = """
import hashlib, sys
import numpy as np
from scipy import sparse
from hmrf_fast.hmrf_kmeans import HMRFKMeans
from hmrf_fast.kernels import pool

pool.SERIAL_WORK, pool.CHUNK_ENTRIES = 0, 50
rng = np.random.default_rng(3)
X = sparse.csr_matrix(rng.random((60, 25)) * (rng.random((60, 25)) < 0.4))
pairs = [tuple(int(i) for i in rng.choice(60, 2, replace=False)) for _ in range(20)]
digest = hashlib.sha256()
for metric in ("cosine", "i_divergence", "sqeuclidean", "pearson"):
    model = HMRFKMeans(4, metric=metric, learn_weights=True, n_init=2, tol=1e-2, max_iter=300, random_state=5,
                       n_threads=int(sys.argv[1]))
    model.fit(X, must_link=pairs[:10], cannot_link=pairs[10:])
    for name in STATE:
        digest.update(np.asarray(getattr(model, name)).tobytes())
print(digest.hexdigest())
"""


def fit(X, case, **parameters):
    model = HMRFKMeans(case.K, metric=case.metric, n_init=2, random_state=1, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HMRFWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, constraints=constraints_of(case.pairs), sample_weight=case.sample_weight)


def assert_same(first, second):
    for name in STATE:
        assert np.array_equal(getattr(first, name), getattr(second, name)), name


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@examples(20)
@given(
    case=instances(n=(14, 40), d=(11, 20), K=(2, 4), max_pairs=20),
    learn=st.booleans(),
    chunk=st.sampled_from([5, 40]),
    e_step=st.sampled_from(["icm", "block_icm"]),
)
def test_number_of_threads(dtype, case, learn, chunk, e_step):
    parameters = {"learn_weights": learn, "e_step": e_step, "dtype": dtype, "max_iter": 30}
    with busy_threads(chunk):
        models = [fit(case.X, case, n_threads=n_threads, **parameters) for n_threads in (1, 2, 4)]
    assert_same(models[0], models[1])
    assert_same(models[0], models[2])


def test_fresh_processes():
    script = f"STATE = {STATE!r}\n" + "import warnings\nwarnings.simplefilter('ignore')\n" + SCRIPT
    digests = set()
    for n_threads in (1, 4):
        told = subprocess.run(
            [sys.executable, "-c", script, str(n_threads)], capture_output=True, text=True, check=True, timeout=300
        )
        digests.add(told.stdout.strip())
    assert len(digests) == 1
    assert len(digests.pop()) == hashlib.sha256().digest_size * 2


@examples(10)
@given(instances(n=(8, 30), d=(3, 20), K=(2, 4)), st.booleans())
def test_storage_of_the_rows(case, learn):
    """Dense of either order, CSR, CSC, COO with a split entry, wide indices and read-only buffers."""
    X = case.X
    reference = fit(X, case, learn_weights=learn, max_iter=30)
    whole = X.tocoo(copy=True)
    whole.data[:1] /= 2.0
    twice = [np.append(part, part[:1]) for part in (whole.data, whole.row, whole.col)]
    split = sparse.coo_matrix((twice[0], (twice[1], twice[2])), shape=X.shape)
    wide = sparse.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    frozen = X.copy()
    for array in (frozen.data, frozen.indices, frozen.indptr):
        array.setflags(write=False)
    for other in (X.toarray(), np.asfortranarray(X.toarray()), X.tocsc(), split, wide, frozen, sparse.csr_array(X)):
        kept = other.copy()
        assert_same(reference, fit(other, case, learn_weights=learn, max_iter=30))
        assert (kept != other).sum() == 0


@pytest.mark.parametrize("metric", oracle.METRICS)
def test_seeds_matter_and_decide(metric):
    rng = np.random.default_rng(0)
    X = rng.random((40, 6)) + 0.01
    told = {"metric": metric, "init": "k-means++", "n_init": 1, "max_iter": 300}
    first, again = (HMRFKMeans(8, random_state=0, **told).fit(X) for _ in range(2))
    assert_same(first, again)
    others = {HMRFKMeans(8, random_state=seed, **told).fit(X).objective_ for seed in range(6)}
    assert len(others) > 1
