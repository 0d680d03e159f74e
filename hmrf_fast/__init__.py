"""Constrained clustering of sparse data with hidden Markov random fields.

``import hmrf_fast`` is cheap on purpose: the public names below are loaded when they are first used, so that neither
numba nor scikit-learn is imported, and nothing is compiled, before it is needed.

Attributes
----------
HMRFKMeans : class
    K-means with must-link and cannot-link constraints, priced by distance, and a learned distance.
PCKMeans : class
    The same with a constant price per violated pair.
SeededKMeans, ConstrainedKMeans : class
    K-means from rows of known class, which it may reassign, or keeps.
COPKMeans : class
    K-means under hard constraints.
SphericalKMeans : class
    Cosine k-means without constraints.
Constraints : class
    Pairs, groups and partial labels as one validated object.
estimate_memory : function
    How much memory a fit of given size will take.
active : module
    Strategies that choose which pairs to ask a person about.
load : function
    A model from the file that its ``save`` wrote.
datasets : module
    Small bundled corpora.
io : module
    Texts, matrices, constraints and results <-> files.
errors : module
    Everything this library raises or warns with.
plotting : module
    The drawings of a report with matplotlib.
rows : module
    Rows on disk or on a cluster, as X.
scores : module
    How clusters agree with known classes and with constraints.
selection : module
    The number of clusters.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hmrf_fast.version import __version__

if TYPE_CHECKING:
    from hmrf_fast import active, datasets, errors, io, plotting, rows, scores, selection
    from hmrf_fast.constraints import Constraints
    from hmrf_fast.copkmeans import COPKMeans
    from hmrf_fast.hmrf_kmeans import HMRFKMeans
    from hmrf_fast.loading import load
    from hmrf_fast.memory import estimate_memory
    from hmrf_fast.pckmeans import PCKMeans
    from hmrf_fast.seeded import ConstrainedKMeans, SeededKMeans
    from hmrf_fast.spherical import SphericalKMeans

# In a source checkout the kernels lie beside this folder, not in it: let Python started there find them as well, where
# this folder hides an installed package.
if not (Path(__path__[0]) / "kernels").is_dir() and (Path(__path__[0]).parent / "kernels" / "_jit.py").is_file():
    __path__.append(str(Path(__path__[0]).parent))

__all__ = [
    "COPKMeans",
    "ConstrainedKMeans",
    "Constraints",
    "HMRFKMeans",
    "PCKMeans",
    "SeededKMeans",
    "SphericalKMeans",
    "__version__",
    "active",
    "datasets",
    "errors",
    "estimate_memory",
    "io",
    "load",
    "plotting",
    "rows",
    "scores",
    "selection",
]

_HOME_OF_NAME = {
    "COPKMeans": "hmrf_fast.copkmeans",
    "ConstrainedKMeans": "hmrf_fast.seeded",
    "Constraints": "hmrf_fast.constraints",
    "HMRFKMeans": "hmrf_fast.hmrf_kmeans",
    "PCKMeans": "hmrf_fast.pckmeans",
    "SeededKMeans": "hmrf_fast.seeded",
    "SphericalKMeans": "hmrf_fast.spherical",
    "estimate_memory": "hmrf_fast.memory",
    "load": "hmrf_fast.loading",
}
_MODULES = ("active", "datasets", "errors", "io", "plotting", "rows", "scores", "selection")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"hmrf_fast.{name}")  # the import itself binds the attribute for the next time
    if name in _HOME_OF_NAME:
        value = getattr(import_module(_HOME_OF_NAME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
