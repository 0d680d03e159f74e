"""Small bundled data: the news and abstract collections of the papers, single cells, and iris.

Nothing is downloaded and nothing is unpickled. Origin and licence of every file: ``hmrf_fast/data/README.md``.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike
from sklearn.utils import Bunch

__all__ = [
    "DataSet",
    "available",
    "load",
    "load_cells_3",
    "load_classic400",
    "load_iris",
    "load_news_different_3",
    "load_news_related_3",
    "load_news_similar_3",
    "sparse_from_arrays",
]


def __dir__() -> list[str]:
    return list(__all__)


_NEWS = (
    "300 messages of 1993, 100 from each of three newsgroups ({groups}), a sample of the 20 Newsgroups collection\n"
    "made after the set {name} of Basu, Bilenko and Mooney, A Probabilistic Framework for Semi-Supervised\n"
    "Clustering, KDD 2004. Subject and body without quotes and signatures; words of three or more letters, no stop\n"
    "words, not stemmed."
)
_DESCRIPTIONS = {
    "news_different_3": _NEWS.format(groups="alt.atheism, rec.sport.baseball, sci.space", name="News-Different-3"),
    "news_related_3": _NEWS.format(groups="talk.politics.guns, .mideast and .misc", name="News-Related-3"),
    "news_similar_3": _NEWS.format(
        groups="comp.graphics, comp.os.ms-windows.misc, comp.windows.x", name="News-Similar-3"
    ),
    "classic400": (
        "400 abstracts of the SMART collections: 100 Medline, 100 CISI, 200 Cranfield, as prepared for Basu, Banerjee\n"
        "and Mooney, Active Semi-Supervision for Pairwise Constrained Clustering, SDM 2004. The label column of the\n"
        "original file does not fit its rows: `target` names the collection each row really comes from, `file_labels`\n"
        "is the column as it was shipped."
    ),
    "cells_3": (
        "240 cells of three human lung cancer cell lines, sequenced one by one with CEL-seq2 (Tian and others, Nature\n"
        "Methods 2019; GSE118767): counts of the 600 genes that vary most, by variance over mean (of at least 0.2) of\n"
        "counts per 10,000."
    ),
    "iris": "150 iris flowers, three species, four lengths in centimetres (Fisher 1936; UCI repository, CC BY 4.0).",
}


class DataSet(Bunch):
    """What `load` returns: a mapping whose keys are attributes, too; shown in one line."""

    def __repr__(self) -> str:
        n_samples, n_features = self.data.shape
        held = f"{n_samples} x {n_features} {type(self.data).__name__}, {len(self.target_names)} classes"
        return f"<{Path(self.filename).stem}: {held}; {', '.join(self)}>"


def available() -> tuple[str, ...]:
    """Return the names that :func:`load` knows.

    Returns
    -------
    tuple of str
    """
    return tuple(_DESCRIPTIONS)


def sparse_from_arrays(arrays: Mapping[str, Any], values: str, dtype: DTypeLike = np.float64) -> sp.csr_matrix:
    """Build the CSR matrix that is stored as ``indices``, ``indptr``, ``shape`` and an array of values.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        For instance an open ``.npz`` file.
    values : str
        Name of the array that holds the stored values, such as ``"counts"`` or ``"tfidf"``.
    dtype : dtype, default=float64
        Type of the matrix.

    Returns
    -------
    scipy.sparse.csr_matrix of shape (n_samples, n_features)
    """
    shape = tuple(int(side) for side in arrays["shape"])
    return sp.csr_matrix((arrays[values].astype(dtype), arrays["indices"], arrays["indptr"]), shape=shape)


def load(
    name: str, *, values: str | None = None, dtype: DTypeLike = np.float64, return_X_y: bool = False
) -> DataSet | tuple[Any, np.ndarray]:
    """Load a bundled data set by name.

    Parameters
    ----------
    name : {"news_different_3", "news_related_3", "news_similar_3", "classic400", "cells_3", "iris"}
        The data set.
    values : {"tfidf", "counts"}, default="tfidf"
        For text: unit-length tf-idf rows (for the cosine distance), or word counts (for I-divergence). Of cells there
        are counts only.
    dtype : dtype, default=float64
        Type of the data.
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.

    Returns
    -------
    DataSet
        A `sklearn.utils.Bunch`: ``data`` (csr_matrix, or ndarray for iris) of shape (n_samples, n_features), ``target``
        (int64 class of each row), ``target_names``, ``feature_names`` (terms, in column order), ``DESCR``,
        ``filename``; the news sets also have ``ids``, classic400 has ``file_labels``.

    Raises
    ------
    ValueError
        If the name or the kind of values is unknown.

    Examples
    --------
    >>> from hmrf_fast import datasets
    >>> datasets.load("news_different_3").data.shape
    (300, 3293)
    """
    if name not in _DESCRIPTIONS:
        raise ValueError(f"no bundled data set {name!r}; there are {', '.join(_DESCRIPTIONS)}")
    folder = files("hmrf_fast.data")
    with as_file(folder / f"{name}.npz") as path, np.load(path, allow_pickle=False) as archive:
        arrays = dict(archive)
        filename = str(path)
    data, feature_names = _values(name, arrays, values, dtype)
    target = arrays["labels"].astype(np.int64)
    if return_X_y:
        return data, target
    extras = {key: arrays[key] for key in ("ids", "file_labels") if key in arrays}
    return DataSet(
        data=data,
        target=target,
        target_names=arrays["label_names"],
        feature_names=feature_names,
        DESCR=_DESCRIPTIONS[name],
        filename=filename,
        **extras,
    )


def _values(name: str, arrays: dict[str, Any], values: str | None, dtype: DTypeLike) -> tuple[Any, np.ndarray]:
    """Return the data in the wanted kind of values, and the names of its columns."""
    if "X" in arrays:
        if values is not None:
            raise ValueError(f"{name} is dense and has one kind of values; leave out values={values!r}")
        return arrays["X"].astype(dtype), arrays["feature_names"]
    there = [kind for kind in ("tfidf", "counts") if kind in arrays]
    values = there[0] if values is None else values
    if values not in there:
        raise ValueError(f"values must be {' or '.join(map(repr, there))}, not {values!r}")
    packed = (files("hmrf_fast.data") / f"{name}.vocab.txt.gz").read_bytes()
    terms = np.array(gzip.decompress(packed).decode("utf-8").split())
    return sparse_from_arrays(arrays, values, dtype), terms


def load_news_different_3(
    values: str = "tfidf", *, dtype: DTypeLike = np.float64, return_X_y: bool = False
) -> DataSet | tuple[Any, np.ndarray]:
    """Load 300 messages on atheism, baseball and space (300 x 3293).

    Parameters
    ----------
    values : {"tfidf", "counts"}, default="tfidf"
        Unit-length tf-idf rows, or word counts.
    dtype : dtype, default=float64
        Type of the data.
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.

    Returns
    -------
    DataSet
        See :func:`load`.
    """
    return load("news_different_3", values=values, dtype=dtype, return_X_y=return_X_y)


def load_news_related_3(
    values: str = "tfidf", *, dtype: DTypeLike = np.float64, return_X_y: bool = False
) -> DataSet | tuple[Any, np.ndarray]:
    """Load 300 messages on guns, the Middle East and other politics (300 x 3425).

    Parameters
    ----------
    values : {"tfidf", "counts"}, default="tfidf"
        Unit-length tf-idf rows, or word counts.
    dtype : dtype, default=float64
        Type of the data.
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.

    Returns
    -------
    DataSet
        See :func:`load`.
    """
    return load("news_related_3", values=values, dtype=dtype, return_X_y=return_X_y)


def load_news_similar_3(
    values: str = "tfidf", *, dtype: DTypeLike = np.float64, return_X_y: bool = False
) -> DataSet | tuple[Any, np.ndarray]:
    """Load 300 messages on graphics, Windows and the X Window System (300 x 1898).

    Parameters
    ----------
    values : {"tfidf", "counts"}, default="tfidf"
        Unit-length tf-idf rows, or word counts.
    dtype : dtype, default=float64
        Type of the data.
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.

    Returns
    -------
    DataSet
        See :func:`load`.
    """
    return load("news_similar_3", values=values, dtype=dtype, return_X_y=return_X_y)


def load_classic400(
    values: str = "tfidf", *, dtype: DTypeLike = np.float64, return_X_y: bool = False
) -> DataSet | tuple[Any, np.ndarray]:
    """Load 400 abstracts from Medline, CISI and Cranfield (400 x 2897), with corrected labels.

    Parameters
    ----------
    values : {"tfidf", "counts"}, default="tfidf"
        Unit-length tf-idf rows, or word counts.
    dtype : dtype, default=float64
        Type of the data.
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.

    Returns
    -------
    DataSet
        See :func:`load`.
    """
    return load("classic400", values=values, dtype=dtype, return_X_y=return_X_y)


def load_cells_3(*, dtype: DTypeLike = np.float64, return_X_y: bool = False) -> DataSet | tuple[Any, np.ndarray]:
    """Load gene counts of 240 cells of three cell lines (240 x 600).

    Parameters
    ----------
    dtype : dtype, default=float64
        Type of the data.
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.

    Returns
    -------
    DataSet
        See :func:`load`.
    """
    return load("cells_3", dtype=dtype, return_X_y=return_X_y)


def load_iris(*, dtype: DTypeLike = np.float64, return_X_y: bool = False) -> DataSet | tuple[Any, np.ndarray]:
    """Load Fisher's 150 iris flowers (150 x 4, dense).

    Parameters
    ----------
    dtype : dtype, default=float64
        Type of the data.
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.

    Returns
    -------
    DataSet
        See :func:`load`.
    """
    return load("iris", dtype=dtype, return_X_y=return_X_y)
