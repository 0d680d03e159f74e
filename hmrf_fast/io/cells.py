"""Cells by genes in AnnData files, with their names and classes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from hmrf_fast.errors import FileError, HMRFError, in_short
from hmrf_fast.io.blocks import ENTRIES, Reader, row_spans
from hmrf_fast.io.sources import missing, no_such_file

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
            kind = file["X"].attrs.get("encoding-type")
            if isinstance(file["X"], h5py.Dataset):
                blocks = _dense(file["X"], piecewise)
            elif kind == "csr_matrix":
                blocks = _sparse(file["X"], piecewise)
            else:
                blocks = iter([read_elem(file["X"])])
            size = (0, 0)
            for block in blocks:
                _refuse_damaged(block)
                size = size[0] + block.shape[0], block.shape[1]
                yield block
            rows, columns = read_elem(file["obs"]), read_elem(file["var"])
            if (len(rows), len(columns)) != size:
                raise FileError(
                    f"{path}: X is {size[0]} x {size[1]}, but obs has {len(rows)} and var {len(columns)} names"
                )
            ids, names = rows.index.astype(str).tolist(), columns.index.astype(str).tolist()
            told = [None if one != one else str(one) for one in rows["label"]] if "label" in rows else None
    except HMRFError:
        raise
    except Exception as error:  # whatever HDF5 and anndata raise between them
        raise FileError(f"{path}: cannot be read as .h5ad ({in_short(error)}); write it anew") from error
    return {"ids": ids if len(set(ids)) == len(ids) else None, "labels": told, "feature_names": names}


def _refuse_damaged(block: Any) -> None:
    """ValueError for numbers that are none, and for entries outside of the matrix."""
    if block.dtype.kind not in "biuf":
        raise ValueError(f"X holds {block.dtype}, not real numbers")
    if sp.issparse(block):
        block.check_format(full_check=True)


def _dense(array: Any, piecewise: bool) -> Iterator[np.ndarray]:
    n_rows, n_columns = array.shape
    step = max(1, ENTRIES // max(n_columns, 1)) if piecewise else max(n_rows, 1)
    for first in range(0, max(n_rows, 1), step):
        yield array[first : first + step]


def _sparse(group: Any, piecewise: bool) -> Iterator[sp.csr_matrix]:
    indptr, (n_rows, n_columns) = group["indptr"][:], map(int, group.attrs["shape"])
    if indptr.size != n_rows + 1:
        raise ValueError(f"X is said to have {n_rows} rows and has {indptr.size - 1}")
    for first, last in row_spans(indptr, piecewise):
        span = slice(int(indptr[first]), int(indptr[last]))
        numbers = group["data"][span], group["indices"][span], indptr[first : last + 1] - indptr[first]
        yield sp.csr_matrix(numbers, (last - first, n_columns))
