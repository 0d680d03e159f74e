"""What makes two fits the same: digests of the rows and the knowledge, and the parameters by name."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import scipy.sparse as sp

from hmrf_fast.rows.interface import Rows
from hmrf_fast.rows.keys import row_keys
from hmrf_fast.settings import Known, Settings

IGNORED = ("callback", "watch")  # they do not change what is computed


def fingerprint(
    settings: Settings, n_clusters: int, matrix: sp.csr_matrix | Rows, known: Known, sample_weight: Any, warm: Any
) -> dict[str, str]:
    """Names and values that two fits have in common if they compute the same; cost nnz.

    A callable ``init`` counts by its name alone. The seed is compared elsewhere.
    """
    if isinstance(matrix, Rows):
        told = {"rows": digest((matrix.shape, matrix.dtype.name, row_keys(matrix)))}
    else:
        parts = matrix.shape, matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data
        told = {"rows": digest(parts)}
    given = {name: value for name, value in known.given.__getstate__().items() if not name.startswith("_")}
    told["constraints"] = digest((given, known.shares))
    told["sample_weight"] = digest(None if sample_weight is None else np.asarray(sample_weight, np.float64))
    told["model to continue"] = digest(warm)
    told["n_clusters"] = str(n_clusters)
    for name, value in {**settings.options._asdict(), **settings._asdict()}.items():
        if name not in IGNORED and name != "options":
            told[name] = _named(value)
    return told


def _named(value: Any) -> str:
    if callable(value):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__qualname__)}"
    return (
        digest(value) if hasattr(value, "__array__") or sp.issparse(value) or isinstance(value, list) else repr(value)
    )


def digest(value: Any) -> str:
    """A SHA-256 of arrays, numbers, text and containers of them."""
    running = hashlib.sha256()
    _feed(running, value)
    return running.hexdigest()


def _feed(running: Any, value: Any) -> None:
    if sp.issparse(value):
        value = (value.shape, value.tocsr().indptr, value.tocsr().indices, value.tocsr().data)
    if isinstance(value, dict):
        value = tuple(value.items())
    if isinstance(value, (tuple, list)):
        running.update(f"({len(value)}".encode())
        for one in value:
            _feed(running, one)
        return
    array = np.asarray(value)
    if array.dtype.hasobject:  # ids of any kind, or None
        running.update(repr(array.tolist()).encode())
        return
    running.update(f"{array.dtype.str}{array.shape}".encode())
    running.update(np.ascontiguousarray(array).data if array.size else b"")
