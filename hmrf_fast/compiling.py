"""Compile what fits will need, before they need it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

from hmrf_fast.constraints import Constraints
from hmrf_fast.hmrf_kmeans import HMRFKMeans
from hmrf_fast.inputs import check_choice
from hmrf_fast.kernels.metrics import METRICS

__all__ = ["compile_kernels"]

DTYPES = ("float32", "float64")
N_ROWS = 64
MANY = 130  # clusters, of which most are left out of a search


def compile_kernels(metrics: Iterable[str] = tuple(METRICS), dtypes: Iterable[str] = DTYPES) -> None:
    """Compile the kernels of fits, with and without constraints, and leave them in numba's cache on disk.

    For batch nodes: jobs that start later load machine code instead of compiling it. The cache holds for one kind of
    processor, one version of numba and one of this library; whatever does not fit is compiled anew, never used.

    Parameters
    ----------
    metrics : iterable of str, default=all
    dtypes : iterable of {"float32", "float64"}, default=both

    Raises
    ------
    InputError
        If a name is none of those.
    """
    wanted = list(product(metrics, dtypes))
    for metric, dtype in wanted:
        check_choice("metric", metric, tuple(METRICS))
        check_choice("dtype", dtype, DTYPES)
    rows = sp.csr_matrix(np.random.default_rng(0).random((5 * N_ROWS, 24)))
    chain = [(k, k + 1) for k in range(20)]
    soft = Constraints(chain, [(0, 30), (31, 40)])
    hard = Constraints(chain, [(0, 30), (31, 40)], must_link_weight=np.inf, cannot_link_weight=np.inf)
    classes = np.arange(5 * N_ROWS) % 3
    for metric, dtype in wanted:
        many = rows.astype(dtype)
        matrix = many[:N_ROWS]
        settings: dict[str, Any] = {"metric": metric, "n_init": 1, "max_iter": 200, "tol": 0.1, "random_state": 0}
        model = HMRFKMeans(3, **settings).fit(matrix)
        model.predict(matrix)
        for known in (soft, hard):
            HMRFKMeans(3, init="neighborhoods", **settings).fit(matrix, constraints=known)
        HMRFKMeans(3, init="k-means++", learn_weights=True, **settings).fit(matrix, constraints=soft)
        for known in (Constraints(partial_labels=classes), Constraints(must_link_groups=classes)):
            HMRFKMeans(3, **settings).fit(many, constraints=known)
        HMRFKMeans(MANY, init="k-means++", **settings).fit(many)
