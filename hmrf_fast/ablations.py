"""The four algorithms that the paper compares, and the library's default, as settings of one estimator.

Basu, Bilenko and Mooney, A Probabilistic Framework for Semi-Supervised Clustering, KDD 2004, section 4.4 takes parts of
HMRF-KMeans away one at a time: I stands for constraints in the initialisation, C for constraints in the assignment of
rows to clusters, D for the learned distance. All four start as the paper prints it.
"""

from __future__ import annotations

from typing import Any

__all__ = ["ABLATIONS", "constraints_for"]


def __dir__() -> list[str]:
    return list(__all__)


ABLATIONS: dict[str, dict[str, Any]] = {
    # Unsupervised: no constraint is given at all, see `constraints_for`.
    "KMeans": {"init": "printed", "learn_weights": False},
    # Constraints that cost nothing when violated still say where the clusters begin.
    "KMeans-I": {"init": "printed", "learn_weights": False, "must_link_weight": 0.0, "cannot_link_weight": 0.0},
    "KMeans-I-C": {"init": "printed", "learn_weights": False, "must_link_weight": 1.0, "cannot_link_weight": 1.0},
    "KMeans-I-C-D": {"init": "printed", "learn_weights": True, "must_link_weight": 1.0, "cannot_link_weight": 1.0},
    "default": {},
}


def constraints_for(name: str, must_link: Any, cannot_link: Any) -> dict[str, Any]:
    """Return the constraint arguments of ``fit`` for an ablation: none for plain KMeans, all for the others.

    Parameters
    ----------
    name : str
        A key of :data:`ABLATIONS`.
    must_link, cannot_link : array-like of shape (n, 2)
        The pairs of the experiment.

    Returns
    -------
    dict
        Keyword arguments for :meth:`hmrf_fast.HMRFKMeans.fit`.
    """
    if name not in ABLATIONS:
        raise ValueError(f"no ablation {name!r}; there are {', '.join(ABLATIONS)}")
    return {} if name == "KMeans" else {"must_link": must_link, "cannot_link": cannot_link}
