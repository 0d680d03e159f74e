"""Tables with named columns as X: what pandas, polars and AnnData hold, and what of it can be clustered.

scikit-learn reads data frames; this adds AnnData, and errors that name the column. No library is imported here: an
object of one can only come from a caller who has done so.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from hmrf_fast.errors import InputError, InputTypeError

# How pandas and polars call the types of dates and durations.
DATES = ("datetime", "timedelta", "period", "Datetime", "Date", "Time", "Duration")


def matrix_of(estimator: Any, X: Any, *, reset: bool) -> Any:
    """The matrix of an AnnData object, its variables' names checked or kept as those of features; else X as it is.

    Raises
    ------
    InputError
        If X is an AnnData object without a matrix in memory, or a polars LazyFrame.
    InputTypeError
        If a column holds dates or durations, which would count in nanoseconds or days.
    """
    if _is_a(X, "polars", "LazyFrame"):
        raise InputError("X is a polars LazyFrame, which holds no rows yet: give X.collect()")
    if not _is_a(X, "anndata", "AnnData"):
        _refuse_dates(X)
        return X
    if X.X is None:
        raise InputError("this AnnData object has no X; give one of its layers, adata.layers[...], as the matrix")
    if X.isbacked:
        raise InputError(
            "this AnnData object is backed by a file: give adata.to_memory(), or a store that "
            "hmrf_fast.io.read(file, store=...) makes of the file"
        )
    validate_data(estimator, X.var[[]].T, reset=reset, skip_check_array=True)  # names only, in a frame without rows
    return X.X


def _refuse_dates(X: Any) -> None:
    for name, kind in zip(getattr(X, "columns", ()), getattr(X, "dtypes", ()), strict=False):
        if str(kind).startswith(DATES):
            raise InputTypeError(
                f"column {name!r} of X holds {kind}, no numbers: say in which unit, such as days since the first"
            )


def refuse_words(X: Any) -> None:
    """Raise for the first column of a data frame that holds no numbers."""
    for name in getattr(X, "columns", ()):
        column = X[name]
        if getattr(column.dtype, "kind", "") == "c":
            continue  # refused in words of scikit-learn's
        try:
            np.asarray(column, dtype=np.float64)
        except (TypeError, ValueError):
            example = next((value for value in np.asarray(column, dtype=object) if isinstance(value, str)), None)
            told = f"of type {column.dtype}" if example is None else f"such as {example!r}"
            raise InputError(
                f"column {name!r} of X holds no numbers, but values {told}: leave it out, or encode it with "
                "sklearn.compose.make_column_transformer"
            ) from None


def _is_a(X: Any, module: str, name: str) -> bool:
    """Whether X is an instance of a class of a library that may not be installed."""
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(X, kind)
