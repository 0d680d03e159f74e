"""Load a model of the family from its file."""

from __future__ import annotations

import os
from typing import Any

from hmrf_fast.copkmeans import COPKMeans
from hmrf_fast.hmrf_kmeans import HMRFKMeans
from hmrf_fast.pckmeans import PCKMeans
from hmrf_fast.persistence import load_model
from hmrf_fast.seeded import ConstrainedKMeans, SeededKMeans
from hmrf_fast.spherical import SphericalKMeans

__all__ = ["ESTIMATORS", "load"]

ESTIMATORS: dict[str, type] = {
    kind.__name__: kind for kind in (COPKMeans, ConstrainedKMeans, HMRFKMeans, PCKMeans, SeededKMeans, SphericalKMeans)
}


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model that ``model.save(path)`` wrote.

    The file holds numbers and text only; no byte of it is executed, and no more memory is taken than the file is long.
    A model is the same after loading: predictions, distances and scores are equal bit for bit, constraints and
    corrections are there. As after unpickling, the rows of the fit are not: corrections need them as ``X``.
    Parameters that were callables or random generators have their default.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    estimator
        Of the class that was saved.

    Raises
    ------
    ModelFileError
        The file is "unreadable", "foreign", "damaged" or "newer", as its ``reason`` says. Checksums find damage; they
        are no signature: whoever can write the file can also write a model that answers what they like.

    Examples
    --------
    >>> import tempfile, pathlib, hmrf_fast
    >>> X = [[1.0, 0.0], [2.0, 0.1], [0.0, 1.0], [0.1, 3.0]]
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.npz"
    >>> hmrf_fast.SphericalKMeans(2, random_state=0).fit(X).save(path)
    >>> hmrf_fast.load(path)
    SphericalKMeans(n_clusters=2, random_state=0)
    """
    return load_model(path, ESTIMATORS)
