"""Other libraries on the same data. Each is optional (``pip install -e ".[peers]"``): without it its comparisons are
left out. Every function returns a callable that does the work once, and None where the library is missing."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
from collections.abc import Callable
from importlib import metadata

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

MKL, SCIPY, SPARSEKMEANS = "MKL csr @ dense", "scipy csr @ dense", "sparsekmeans lloyd"
LLOYD, ELKAN = "sklearn lloyd", "sklearn elkan"
PCKMEANS, MPCKMEANS = "active-semi-supervised PCKMeans", "active-semi-supervised MPCKMeans"


def mkl_product(data, dense: np.ndarray, n_threads: int = 1) -> Callable | None:
    """The product alone, without any choice of the nearest: a floor for libraries that make it."""
    _show_mkl()
    library = _import("sparse_dot_mkl")
    if library is None:
        return None
    with contextlib.suppress(AttributeError):
        library.mkl_set_num_threads(n_threads)
    return lambda: library.dot_product_mkl(data, dense) is None


def scipy_product(data, dense: np.ndarray) -> Callable:
    return lambda: (data @ dense) is None


def sklearn_fit(data, start: np.ndarray, iterations: int, algorithm: str = "lloyd", n_threads: int = 1) -> Callable:
    """A fit from given centroids; returns the number of iterations."""
    model = KMeans(len(start), init=start, n_init=1, tol=0, max_iter=iterations, algorithm=algorithm)

    def fit() -> int:
        with threadpool_limits(n_threads):
            return model.fit(data).n_iter_

    return fit


def sparsekmeans_fit(data, start: np.ndarray, iterations: int, n_threads: int = 1) -> Callable | None:
    """The same of sparsekmeans, which knows float64 only; its matrix is made before."""
    library, graphblas = _import("sparsekmeans"), _import("graphblas")
    if library is None or graphblas is None:
        return None
    matrix = graphblas.io.from_scipy_sparse(data.astype(np.float64))
    centers = graphblas.Matrix.from_dense(start.astype(np.float64), missing_value=0.0)
    done = []

    class FromGiven(library.LloydKmeans):
        def _initialize_centroids(self, X):
            return centers.dup()

        def _update_centroids(self, X):
            done.append(None)
            return super()._update_centroids(X)

    def fit() -> int:
        done.clear()
        with contextlib.redirect_stdout(io.StringIO()):
            FromGiven(n_clusters=len(start), n_threads=n_threads, max_iter=iterations, tol=0).fit(matrix)
        return len(done)

    return fit


def pckmeans_fit(data: np.ndarray, n_clusters: int, must_link, cannot_link, name: str = "PCKMeans") -> Callable | None:
    """A whole fit of dense rows by active-semi-supervised-clustering, from its own start."""
    before = np.geterr()
    library = _import("active_semi_clustering.semi_supervised.pairwise_constraints")
    np.seterr(**before)  # importing it makes every overflow of the process an error
    if library is None:
        return None
    links = {"ml": [tuple(pair) for pair in must_link.tolist()], "cl": [tuple(pair) for pair in cannot_link.tolist()]}

    def fit() -> int:
        np.random.seed(0)  # noqa: NPY002  (the only source it knows)
        with np.errstate(all="ignore"):
            getattr(library, name)(n_clusters=n_clusters).fit(data, **links)
        return 1

    return fit


def _import(name: str):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _show_mkl() -> None:
    """The wheel of MKL puts its library where the loader does not look."""
    if "MKL_RT" in os.environ:
        return
    with contextlib.suppress(metadata.PackageNotFoundError):
        for file in metadata.files("mkl") or ():
            if file.name.startswith("libmkl_rt.so"):
                os.environ["MKL_RT"] = str(file.locate().resolve())
