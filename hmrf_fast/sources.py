"""What estimators take as X: a matrix in memory, or rows that live elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from hmrf_fast import inputs
from hmrf_fast.errors import InputError
from hmrf_fast.rows.cluster import DaskRows, is_dask
from hmrf_fast.rows.disk import DiskRows
from hmrf_fast.rows.interface import Rows
from hmrf_fast.rows.memory import MemoryRows
from hmrf_fast.rows.store import is_store


def check_source(estimator: Any, X: Any, *, reset: bool, dtype: Any = None, copy: bool = True) -> Any:
    """X as canonical CSR, or as rows that live elsewhere, their number of features compared with the fit's.

    Raises
    ------
    InputError
        See ``inputs.check_matrix``; and if a store does not hold what the estimator needs.
    """
    X = DiskRows(X) if is_store(X) else DaskRows(X) if is_dask(X) else X
    if not isinstance(X, Rows):
        return inputs.check_matrix(estimator, X, reset=reset, dtype=dtype, copy=copy)
    if dtype is not None and np.dtype(dtype) != X.dtype:
        raise InputError(f"dtype={np.dtype(dtype).name}, but the rows of X are {X.dtype}; store them in that precision")
    if 0 in X.shape:
        raise InputError(f"X has the shape {X.shape}: nothing to cluster")
    if reset:
        estimator.n_features_in_ = X.n_features
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
    elif X.n_features != estimator.n_features_in_:
        raise InputError(
            f"X has {X.n_features} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input"
        )
    return X


def as_rows(source: Any) -> Rows:
    """Checked X as rows."""
    return source if isinstance(source, Rows) else MemoryRows(inputs.as_corpus(source))


def in_memory(source: Any, what: str) -> Any:
    """A checked matrix; raise where the rows of X live elsewhere."""
    if isinstance(source, Rows):
        raise InputError(f"{what} needs X in memory, as a matrix; the rows given are a {type(source).__name__}")
    return source


def refuse_negative(source: Any, metric: str, whose: str) -> None:
    """See ``inputs.refuse_negative``."""
    if not isinstance(source, Rows):
        inputs.refuse_negative(source, metric, whose)
    elif source.lowest < 0:
        raise InputError(
            f"Negative values in data passed to {whose}: the lowest is {source.lowest:g}; metric={metric!r} needs "
            "non-negative values"
        )
