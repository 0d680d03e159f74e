"""Features renumbered by document frequency: what most rows read lies together, and stays near the processor."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from hmrf_fast.geometry import Problem
from hmrf_fast.kernels.sums import feature_chunks
from hmrf_fast.kernels.types import Corpus

# Below these the table is read fast enough anyway, and sorting the rows (about 40 ns per non-zero) costs more than a
# run gains. The rule knows the data and K only: the order of a row's non-zeros decides the last bits of its distances.
FEWEST_CLUSTERS = 40
SMALLEST_TABLE = 1 << 20  # numbers
DENSEST = 0.1


def renumbered(problem: Problem) -> tuple[Problem, np.ndarray] | None:
    """The same problem with its features by falling document frequency, and which feature each of them was (d,).

    None where that does not pay. Cost nnz log(nnz per row), once for all runs on a problem.
    """
    corpus = problem.corpus
    size, n_features = corpus.indices.size, corpus.n_features
    sparse = size < DENSEST * problem.n_rows * n_features
    if problem.n_clusters < FEWEST_CLUSTERS or n_features * problem.n_clusters < SMALLEST_TABLE or not sparse:
        return None
    if "renumbered" not in problem.memo:
        order = np.argsort(-np.bincount(corpus.indices, minlength=n_features), kind="stable")
        rank = np.empty(n_features, np.int32)
        rank[order] = np.arange(n_features)
        shape = problem.n_rows, n_features
        matrix = sp.csr_matrix((corpus.values.copy(), rank[corpus.indices], corpus.indptr), shape)
        matrix.has_sorted_indices = False
        matrix.sort_indices()
        indices = matrix.indices.astype(np.int32, copy=False)
        inner = problem._replace(
            corpus=Corpus(corpus.indptr, indices, matrix.data, n_features),
            feature_bounds=feature_chunks(indices, n_features, problem.n_threads),
            memo={},
        )
        problem.memo["renumbered"] = inner, order
    return problem.memo["renumbered"]
