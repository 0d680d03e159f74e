"""A `DataSet` -> the file format that a name asks for."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from hmrf_fast.atomic import replace_file
from hmrf_fast.errors import FileError
from hmrf_fast.io.dataset import DataSet
from hmrf_fast.io.reading import SVMLIGHT, stored
from hmrf_fast.io.sources import kind_of, missing

__all__ = ["write"]


def write(data: DataSet, path: str | os.PathLike[str]) -> None:
    """Write rows as the ending of the name says.

    Endings are ``.npz``, ``.mtx``, ``.svm`` (or ``.svmlight``, ``.libsvm``), ``.h5ad`` and ``.store`` (rows to be read
    from disk block by block); without one, a folder that keeps everything. ``.npz`` and ``.mtx`` hold the matrix alone,
    svmlight also classes as numbers, ``.h5ad`` and ``.store`` ids, classes and names of features.

    Parameters
    ----------
    data : DataSet
    path : path-like

    Raises
    ------
    FileError
        If the ending is none of these or the file cannot be written.
    """
    kind, path = kind_of(path), Path(path)
    try:
        if not kind:
            data.save(path)
        elif kind == "npz":
            replace_file(path, lambda file: sp.save_npz(file, sp.csr_matrix(data.in_memory())))
        elif kind == "mtx":
            replace_file(path, lambda file: scipy.io.mmwrite(file, sp.coo_matrix(data.in_memory())))
        elif kind in SVMLIGHT:
            replace_file(path, lambda file: file.write(_svmlight(data)))
        elif kind == "store":
            stored(data, path)
        elif kind == "h5ad":
            _h5ad(data, path)
        else:
            raise FileError(
                f"{path}: '.{kind}' is none of .npz, .mtx, .svm, .h5ad, .store, or a name without an ending"
            )
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({error.strerror or error}); choose another place") from error


def _svmlight(data: DataSet) -> bytes:
    stream = io.BytesIO()
    dump_svmlight_file(sp.csr_matrix(data.in_memory()), _classes(data), stream)
    return stream.getvalue()


def _classes(data: DataSet) -> np.ndarray:
    """Classes as svmlight has them: numbers; others are numbered in alphabetical order, -1 is unknown."""
    told: list[Any] = [-1] * data.n_rows if data.labels is None else [-1 if one is None else one for one in data.labels]
    try:
        return np.array([float(one) for one in told])
    except ValueError:
        names = {name: code for code, name in enumerate(sorted({str(one) for one in told} - {"-1"}))}
        return np.array([names.get(str(one), -1) for one in told], dtype=float)


def _h5ad(data: DataSet, path: Path) -> None:
    try:
        import anndata
        import pandas
    except ModuleNotFoundError:
        raise missing("anndata", "anndata", path) from None
    cells = anndata.AnnData(data.in_memory())
    cells.obs_names = [str(row) for row in range(data.n_rows)] if data.ids is None else data.ids
    if data.feature_names is not None:
        cells.var_names = data.feature_names
    if data.labels is not None:
        cells.obs["label"] = pandas.Categorical(data.labels)
    # AnnData writes by name only.
    partial = path.with_name(f".{path.name}.new.h5ad")
    cells.write_h5ad(partial)
    os.replace(partial, path)
