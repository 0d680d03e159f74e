"""Cells by genes in AnnData files, with their names and classes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from hmrf_fast.errors import FileError, HMRFError, in_short
from hmrf_fast.io.blocks import ENTRIES, Reader, row_spans
from hmrf_fast.io.matrix_file import refuse_shape
from hmrf_fast.io.sources import missing, no_such_file
from hmrf_fast.memory import refuse_without

__all__ = ["cell_blocks"]


def cell_blocks(path: Path, piecewise: bool) -> Reader:
    """X, names of rows and columns, and the column "label" of the rows; layers and the like are not looked at."""
    try:
        import h5py

        try:
            from anndata.io import read_elem
        except ImportError:  # before anndata 0.11
            from anndata.experimental import read_elem
    except ModuleNotFoundError:
        raise missing("anndata", "anndata", path) from None
    if not path.is_file():
        raise no_such_file(path)
    try:
        with h5py.File(path, "r") as file:
            if "X" not in file:
                raise FileError(f"{path}: has no matrix X")
            X = file["X"]
            _refuse_foreign(X)
            shape = _shape(X)
            refuse_shape(path, shape)
            if isinstance(X, h5py.Dataset):
                _refuse_damaged(X)
                blocks = _dense(path, X, piecewise)
            elif X.attrs.get("encoding-type") == "csr_matrix":
                blocks = _sparse(path, X, piecewise)
            else:
                _refuse_large(path, X)
                blocks = iter([read_elem(X)])
            # Names first: they are as many as the file holds, and X may be larger in words alone.
            _refuse_large(path, file["obs"], file["var"])
            rows, columns = read_elem(file["obs"]), read_elem(file["var"])
            if (len(rows), len(columns)) != shape:
                raise FileError(
                    f"{path}: X is {shape[0]} x {shape[1]}, but obs has {len(rows)} and var {len(columns)} names"
                )
            for block in blocks:
                _refuse_damaged(block)
                yield block
            ids, names = rows.index.astype(str).tolist(), columns.index.astype(str).tolist()
            told = [None if one != one else str(one) for one in rows["label"]] if "label" in rows else None
    except HMRFError:
        raise
    except Exception as error:  # whatever HDF5 and anndata raise between them
        raise FileError(f"{path}: cannot be read as .h5ad ({in_short(error)}); write it anew") from error
    return {"ids": ids if len(set(ids)) == len(ids) else None, "labels": told, "feature_names": names}


def _shape(X: Any) -> tuple[int, int]:
    sizes = np.asarray(X.shape if hasattr(X, "dtype") else X.attrs["shape"])
    if sizes.size != 2:
        raise ValueError(f"X has {sizes.size} axes, not rows and columns")
    if sizes.dtype.kind not in "iu":
        raise ValueError(f"X is said to be {sizes[0]:g} x {sizes[1]:g}")
    return int(sizes[0]), int(sizes[1])


def _refuse_foreign(X: Any) -> None:
    """ValueError for numbers that another file holds: whoever gives a file away decides what is in it, not what this
    machine has besides."""
    for one in [X] if hasattr(X, "dtype") else list(X.values()):
        if getattr(one, "is_virtual", False) or getattr(one, "external", None):
            raise ValueError(f"{one.name} lies in another file")


def _refuse_damaged(block: Any) -> None:
    """ValueError for numbers that are none, and for entries outside of the matrix."""
    if block.dtype.kind not in "biuf":
        raise ValueError(f"X holds {block.dtype}, not real numbers")
    if sp.issparse(block):
        block.check_format(full_check=True)


def _refuse_large(path: Path, *elements: Any) -> None:
    """Raise if what is said to lie in groups and arrays does not fit into memory: HDF5 need not hold it to say so."""
    sizes: list[int] = []

    def add(name: str, one: Any) -> None:
        if hasattr(one, "dtype"):
            sizes.append(int(one.size or 0) * one.dtype.itemsize)

    for element in elements:
        add("", element)
        if hasattr(element, "visititems"):
            element.visititems(add)
    names = " and ".join(element.name for element in elements)
    refuse_without(f"{path}", sum(sizes), names)


def _dense(path: Path, array: Any, piecewise: bool) -> Iterator[np.ndarray]:
    n_rows, n_columns = array.shape
    step = max(1, ENTRIES // max(n_columns, 1)) if piecewise else max(n_rows, 1)
    refuse_without(f"{path}", step * n_columns * array.dtype.itemsize, f"{step} rows of {n_columns} columns")
    for first in range(0, max(n_rows, 1), step):
        yield array[first : first + step]


def _sparse(path: Path, group: Any, piecewise: bool) -> Iterator[sp.csr_matrix]:
    _refuse_large(path, group["indptr"])
    indptr, (n_rows, n_columns) = group["indptr"][:], map(int, group.attrs["shape"])
    if indptr.size != n_rows + 1:
        raise ValueError(f"X is said to have {n_rows} rows and has {indptr.size - 1}")
    data, indices = group["data"], group["indices"]
    if indptr.dtype.kind not in "iu" or indices.dtype.kind not in "iu":
        raise ValueError(f"X counts its entries in {indptr.dtype} and {indices.dtype}, not in whole numbers")
    # Before anything is made of as many pieces as it claims.
    if not 0 <= int(indptr[-1]) <= min(data.shape[0], indices.shape[0]):
        raise ValueError(f"X is said to have {indptr[-1]} entries and has {min(data.shape[0], indices.shape[0])}")
    for first, last in row_spans(indptr, piecewise):
        span = slice(int(indptr[first]), int(indptr[last]))
        size = (span.stop - span.start) * (data.dtype.itemsize + indices.dtype.itemsize)
        refuse_without(f"{path}", size, f"the values of rows {first} to {last - 1}")
        yield sp.csr_matrix(
            (data[span], indices[span], indptr[first : last + 1] - indptr[first]), (last - first, n_columns)
        )
