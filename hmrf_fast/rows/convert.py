"""Matrices and streams of texts -> stores, in one pass and a few megabytes at a time; `hmrf_fast.io` reads files."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice, pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from hmrf_fast.errors import InputError
from hmrf_fast.inputs import canonical
from hmrf_fast.kernels import pool
from hmrf_fast.rows.disk import DiskRows
from hmrf_fast.rows.store import StoreWriter

ENTRIES = 1 << 20  # that are in memory at a time
TEXTS = 1000


def write_blocks(path, blocks: Iterable[Any], *, n_features: int | None = None, dtype=None) -> DiskRows:
    """Store the rows of matrices, one matrix after the other.

    Parameters
    ----------
    path : path-like
        The folder to make.
    blocks : iterable of {sparse matrix, array-like} of shape (., d)
        Canonical or not; at most one is in memory if they are made one by one.
    n_features : int, optional
        Default: of the widest block.
    dtype : {numpy.float32, numpy.float64}, optional
        Default: float64, unless the first block is of float32.

    Returns
    -------
    DiskRows

    Raises
    ------
    InputError
        If there is something at `path`, or a block holds NaN, infinity or column numbers that lead outside of it.
        Nothing is left behind then.
    """
    blocks = iter(blocks)
    head = list(islice(blocks, 1))
    single = dtype is None and any(getattr(one, "dtype", None) == np.float32 for one in head)
    kind, n_rows = np.dtype(np.float32 if single else dtype or np.float64), 0
    with StoreWriter(path, n_features, kind) as writer:
        for block in chain(head, blocks):
            matrix = sp.csr_matrix(block, dtype=kind)
            try:
                writer.append(canonical(matrix, copy=True))
            except InputError as error:
                if not n_rows:
                    raise
                raise InputError(f"{error} (counted from row {n_rows}, where a block begins)") from None
            n_rows += matrix.shape[0]
    return DiskRows(path)


def write_matrix(path, matrix, *, dtype=None) -> DiskRows:
    """Store a matrix (n, d) in memory, sparse or dense; other parameters as of `write_blocks`."""
    matrix = sp.csr_matrix(matrix)
    bounds = pool.even_pieces(matrix.indptr, ENTRIES).tolist()
    blocks = (matrix[first:last] for first, last in pairwise(bounds))
    return write_blocks(path, blocks, n_features=matrix.shape[1], dtype=dtype)


def write_texts(path, texts: Iterable[str], vectorizer: Any, *, dtype=None) -> DiskRows:
    """Store one row per text; at most a thousand texts are in memory.

    Parameters
    ----------
    path : path-like
        The folder to make.
    texts : iterable of str
        `hmrf_fast.io.stream_texts` reads those in files.
    vectorizer : object with ``transform``
        A ``HashingVectorizer``, which needs no fit, or a fitted ``TfidfVectorizer`` or pipeline: a vocabulary and
        document frequencies take a pass of their own over the texts.
    dtype : {numpy.float32, numpy.float64}, optional

    Returns
    -------
    DiskRows
    """
    stream = iter(texts)
    batches = iter(lambda: list(islice(stream, TEXTS)), [])
    return write_blocks(path, (vectorizer.transform(batch) for batch in batches), dtype=dtype)
