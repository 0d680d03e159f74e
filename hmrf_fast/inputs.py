"""User input -> checked arrays. The only file that may import scikit-learn's private helpers."""

from __future__ import annotations

import numbers
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, validate_data

from hmrf_fast.errors import InputError, InputTypeError, in_short
from hmrf_fast.frames import matrix_of, refuse_words
from hmrf_fast.kernels.types import Corpus

# of float64 and float32 values, weights and prices: their squares and sums stay finite
LARGEST, LARGEST32 = 1e100, 1e15
NOTHING = np.empty(0)
MOST_FEATURES = 2**31 - 1
CHECKED_AT_ONCE = 1 << 20  # values; a mask of all would be a good part of the matrix itself


def check_matrix(estimator: Any, X: Any, *, reset: bool, dtype: Any = None, copy: bool = True) -> sp.csr_matrix:
    """Any sparse or dense (n, d) input as canonical CSR: sorted indices, no duplicates, no stored zeros, finite values.

    The caller's buffers are never changed (with ``copy=False`` a non-canonical CSR input is put in order in place).
    """
    if hasattr(X, "spans"):
        raise InputError(f"this needs X in memory, as a matrix, not as {type(X).__name__}")
    kinds = [np.float64, np.float32] if dtype is None else [np.dtype(dtype)]
    _refuse_other_kinds(X)
    table, X = X, matrix_of(estimator, X, reset=reset)
    parameters: dict[str, Any] = {"accept_sparse": "csr", "dtype": kinds if dtype is None else kinds[0]}
    parameters |= {"ensure_all_finite": False, "accept_large_sparse": True}
    try:
        with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite, and is refused below
            if X is table:
                plain = _is_plain(X, kinds)
                if plain and reset:
                    checked = _counted(estimator, X)
                else:
                    checked = validate_data(estimator, X, reset=reset, skip_check_array=plain, **parameters)
            else:
                checked = check_array(X, estimator=estimator, input_name="X", **parameters)
    except (ValueError, TypeError) as error:
        refuse_words(X)
        kind = InputTypeError if isinstance(error, TypeError) else InputError
        raise kind(_without_content(error) + _about_texts(error)) from error
    if isinstance(checked, np.ndarray):
        matrix = _compressed(checked)
        _refuse_extreme(matrix)
        return matrix
    matrix = sp.csr_matrix(checked, copy=False)
    return canonical(
        matrix, copy=copy and sp.issparse(X) and np.shares_memory(matrix.data, getattr(X, "data", NOTHING))
    )


def _refuse_other_kinds(X: Any) -> None:
    """What numpy would turn into numbers that mean something else."""
    if isinstance(X, np.ma.MaskedArray):
        raise InputTypeError(
            "X is a masked array, and what is masked would count: fill or drop it first, X.filled(0.0)"
        )
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM":
        raise InputTypeError(f"X holds {X.dtype}, no numbers: say in which unit, such as X / np.timedelta64(1, 'D')")


def _without_content(error: Exception) -> str:
    """scikit-learn's message in one line, without the array that it may repeat."""
    told = re.sub(r"array=.*(?=Reshape your data)", "", str(error), flags=re.DOTALL)
    return in_short(told.partition("\n[")[0])


def _about_texts(error: Exception) -> str:
    """What to do with texts, which numpy cannot read as numbers."""
    if "could not convert string to float" not in str(error):
        return ""
    return (
        "; where X holds texts, make numbers of them with hmrf_fast.io.dataset_of_texts or scikit-learn's "
        "TfidfVectorizer first"
    )


def canonical(matrix: sp.csr_matrix, *, copy: bool) -> sp.csr_matrix:
    """A CSR matrix, checked, with sorted indices and neither duplicates nor stored zeros; where it is not so already,
    it is put in order in place, or a copy of it is."""
    if matrix.shape[1] > MOST_FEATURES:
        raise InputError(
            f"X has {matrix.shape[1]} features; there may be {MOST_FEATURES}, since kernels number them so"
        )
    _refuse_malformed(matrix)
    _refuse_extreme(matrix)
    in_order = matrix.has_canonical_format and (
        matrix.nnz == 0 or _offenders(matrix.data[: matrix.nnz], lambda part: part == 0)[1] == 0
    )
    if not in_order:
        if copy:
            matrix = matrix.copy()
        try:
            matrix.sum_duplicates()
            matrix.eliminate_zeros()
        except ValueError:  # read-only buffers and mixed index types cannot be put in order in place
            indices, indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
            matrix = sp.csr_matrix((matrix.data.copy(), indices, indptr), matrix.shape)
            matrix.sum_duplicates()
            matrix.eliminate_zeros()
    return matrix


def _refuse_malformed(matrix: sp.csr_matrix) -> None:
    """scipy does not look into hand-made index arrays; kernels would read whatever lies behind them."""
    steps = np.diff(matrix.indptr)
    if matrix.indptr[0] != 0 or np.any(steps < 0) or matrix.indptr[-1] > min(matrix.data.size, matrix.indices.size):
        row = int(np.argmax(steps < 0)) if np.any(steps < 0) else matrix.shape[0] - 1
        raise InputError(
            f"X.indptr is malformed near row {row}: it must rise from 0 to the number of stored values, "
            f"{matrix.data.size}, and goes from {matrix.indptr[0]} to {matrix.indptr[-1]}"
        )
    bad, _ = _offenders(matrix.indices, lambda part: (part < 0) | (part >= matrix.shape[1]))
    if bad >= 0:
        row, column = _position(matrix, bad)
        raise InputError(f"X.indices holds column {column} in row {row}, but X has {matrix.shape[1]} columns")


def _counted(estimator: Any, X: Any) -> Any:
    """X, which has neither names of features nor anything to convert: scikit-learn's checks, which take longer than a
    few iterations on few rows, would only count its features."""
    estimator.n_features_in_ = X.shape[1]
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    return X


def _is_plain(X: Any, kinds: Any) -> bool:
    """Whether there is nothing to convert: such input need not go through scikit-learn's checks of arrays, which take
    longer than a small fit."""
    return (
        type(X) in (np.ndarray, sp.csr_matrix, sp.csr_array) and X.ndim == 2 and X.dtype in kinds and 0 not in X.shape
    )


def _compressed(dense: np.ndarray) -> sp.csr_matrix:
    """A dense matrix as canonical CSR."""
    rows, columns = np.nonzero(dense)
    indptr = np.zeros(len(dense) + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=len(dense)), out=indptr[1:])
    matrix = sp.csr_matrix((dense[rows, columns], columns, indptr), dense.shape)
    matrix.has_canonical_format = True
    return matrix


def _refuse_extreme(matrix: sp.csr_matrix) -> None:
    """NaN and infinity say nothing, and squares and sums of huge values would overflow."""
    bound = LARGEST32 if matrix.dtype == np.float32 else LARGEST
    if matrix.nnz == 0 or max(matrix.data.max(), -matrix.data.min()) <= bound:
        return
    bad, count = _offenders(matrix.data, lambda part: ~np.isfinite(part))
    if bad >= 0:
        row, column = _position(matrix, bad)
        beyond = " or a value too large for float32" if matrix.dtype == np.float32 else ""
        kind = "NaN" if np.isnan(matrix.data[bad]) else f"infinity (inf){beyond}"
        raise InputError(f"Input X contains {kind} at row {row}, column {column}; {count} such values in all")
    worst = int(np.argmax(np.abs(matrix.data)))
    row, column = _position(matrix, worst)
    raise InputError(
        f"X[{row}, {column}] = {matrix.data[worst]:g}: {matrix.dtype} values must lie within +-{bound:g}; rescale X"
    )


def refuse_negative(matrix: sp.csr_matrix, metric: str, whose: str) -> None:
    """I-divergence compares distributions: raise for the first negative value."""
    bad, _ = _offenders(matrix.data, lambda part: part < 0)
    if bad >= 0:
        row, column = _position(matrix, bad)
        raise InputError(
            f"Negative values in data passed to {whose}: X[{row}, {column}] = {matrix.data[bad]:g}; "
            f"metric={metric!r} needs non-negative values"
        )


def _offenders(values: np.ndarray, bad: Callable[[np.ndarray], np.ndarray]) -> tuple[int, int]:
    """Position of the first value that is bad, -1 if none is, and the number of bad ones."""
    first, count = -1, 0
    for begin in range(0, values.size, CHECKED_AT_ONCE):
        mask = bad(values[begin : begin + CHECKED_AT_ONCE])
        found = int(np.count_nonzero(mask))
        if found and first < 0:
            first = begin + int(np.argmax(mask))
        count += found
    return first, count


def _position(matrix: sp.csr_matrix, entry: int) -> tuple[int, int]:
    return int(np.searchsorted(matrix.indptr, entry, side="right")) - 1, int(matrix.indices[entry])


def as_corpus(matrix: sp.csr_matrix) -> Corpus:
    """The matrix as the kernels' tuple: int64 row pointers, int32 columns; values and columns are not copied."""
    return Corpus(
        matrix.indptr.astype(np.int64, copy=False),
        matrix.indices.astype(np.int32, copy=False),
        matrix.data,
        int(matrix.shape[1]),
    )


def check_sample_weight(sample_weight: Any, matrix: sp.csr_matrix) -> np.ndarray:
    """(n,) float64, non-negative, not all zero."""
    if sample_weight is None:
        return np.ones(matrix.shape[0])
    if isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(matrix.shape[0], sample_weight, np.float64)
    try:
        weight = check_array(sample_weight, ensure_2d=False, dtype=np.float64, order="C", input_name="sample_weight")
    except (ValueError, TypeError) as error:
        raise InputError(f"sample_weight: {_without_content(error)}") from error
    if weight.ndim != 1:
        raise InputError(f"sample_weight must be one-dimensional or a number, got the shape {weight.shape}")
    if weight.size != matrix.shape[0]:
        raise InputError(f"sample_weight has {weight.size} values, X has {matrix.shape[0]} rows")
    bad = np.flatnonzero(~(weight >= 0) | ~np.isfinite(weight))
    if bad.size:
        raise InputError(f"sample_weight[{bad[0]}] = {weight[bad[0]]:g}: weights must be finite and not negative")
    positive = weight[weight > 0]
    if positive.size and not (positive.min() >= 1 / LARGEST and positive.max() <= LARGEST):
        raise InputError(
            f"sample weights span {positive.min():g} to {positive.max():g}: they must be 0 or lie within "
            f"{1 / LARGEST:g} to {LARGEST:g}; rescale them"
        )
    if not weight.any():  # older scikit-learn lets them pass
        raise InputError(f"all {weight.size} sample weights are zero: nothing to cluster")
    return weight


def check_centers(init: Any, n_clusters: int, n_features: int) -> np.ndarray:
    """User-given first centroids as (K, d) float64."""
    if type(init) is np.ndarray and init.ndim == 2 and init.dtype == np.float64 and np.isfinite(init).all():
        centers = init.copy()
    else:
        centers = _parsed_centers(init, n_clusters)
    largest = max(centers.max(initial=0.0), -centers.min(initial=0.0))  # without another array of that size
    if largest > LARGEST:
        raise InputError(f"initial centers hold {largest:g}; values must lie within +-{LARGEST:g}")
    if centers.shape != (n_clusters, n_features):
        raise InputError(
            f"The shape of the initial centers {centers.shape} does not match n_clusters={n_clusters} and "
            f"{n_features} features of the data"
        )
    return centers


def _parsed_centers(init: Any, n_clusters: int) -> np.ndarray:
    try:
        centers = check_array(init, accept_sparse="csr", dtype=np.float64, copy=True)
    except (ValueError, TypeError) as error:
        told = str(error).partition("\n")[0]
        raise InputError(
            f"init must be a name, an array of {n_clusters} centers or a function of one: {told}"
        ) from None
    return centers.toarray() if sp.issparse(centers) else centers


def draw_seed(random_state: Any) -> int:
    """One 64-bit seed from None, an int, a RandomState or a Generator; the kernels' own streams follow from it."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**63))
    try:
        generator = check_random_state(random_state)
    except (ValueError, TypeError) as error:
        raise InputError(f"random_state={random_state!r} is no seed: {error}") from None
    return int(generator.randint(0, 2**31 - 1, dtype=np.int64)) << 31 | int(
        generator.randint(0, 2**31 - 1, dtype=np.int64)
    )


def check_number(name: str, value: Any, kind: Any, low: Any, high: Any = np.inf, *, open_low: bool = False) -> None:
    """Refuse a parameter that is not a number of the kind within bounds, naming it, the value and the bounds."""
    words = "an integer" if kind is numbers.Integral else "a number"
    good = isinstance(value, kind) and not isinstance(value, (bool, np.bool_))
    if not good:
        raise InputError(f"{name} must be {words}, got {value!r}")
    if not (low < value if open_low else low <= value) or not value <= high:
        bound = f"{'above' if open_low else 'at least'} {low:g}" + (
            f" and at most {high:g}" if np.isfinite(high) else ""
        )
        raise InputError(f"{name} must be {bound}, got {value!r}")


def check_choice(name: str, value: Any, choices: Any) -> None:
    """Refuse a parameter that is not one of the named choices."""
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
