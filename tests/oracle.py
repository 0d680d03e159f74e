"""The independent oracle: every formula of HMRF-KMeans in plain, dense, slow and obvious NumPy.

Nothing here imports the library it checks.  The formulas live in three files, one per question, and this one only
gathers them, so that a test says ``import oracle`` and reads ``oracle.distance(...)``:

``oracle_formulas``   how rows are prepared, distances, pair penalties, centroids
``oracle_objective``  the objective J, its gradient in the feature weights, the closed-form weight steps
``oracle_search``     what an algorithm must find: closures, seeds, exact E-steps, plain Lloyd loops

Conventions shared by all of them
---------------------------------
* ``X`` is the (n, d) array that `prepare` returned, ``a`` the (d,) feature weights, ``labels`` an (n,) integer array.
* A pair is a tuple ``(i, j, kind, weight)`` with kind `MUST_LINK` or `CANNOT_LINK`; each unordered pair is listed once.
* A priced pair is ``(i, j, kind, cost)``: the weight already multiplied by its penalty, due when the pair is violated.
  A weight or cost of inf makes a pair hard.
* References: Basu, Bilenko, Mooney, "A probabilistic framework for semi-supervised clustering", KDD 2004 (called
  "KDD 2004" below), with the corrections that finite differences demand.
"""

from oracle_formulas import (
    CANNOT_LINK,
    METRICS,
    MUST_LINK,
    centroids,
    distance,
    distances,
    phi,
    phi_max,
    prepare,
    smoothing_term,
    weighted_norm,
)
from oracle_objective import (
    data_term,
    gradient,
    log_det_step,
    objective,
    pair_term,
    price_pairs,
    prior_term,
    rayleigh_step,
)
from oracle_search import (
    closure,
    farthest_first,
    icm_cost,
    icm_optimum,
    icm_row_costs,
    milp_optimum,
    partition_optimum,
    plain_icm_sweep,
    plain_kmeans,
    plain_spherical_kmeans,
)

__all__ = [
    "CANNOT_LINK",
    "METRICS",
    "MUST_LINK",
    "centroids",
    "closure",
    "data_term",
    "distance",
    "distances",
    "farthest_first",
    "gradient",
    "icm_cost",
    "icm_optimum",
    "icm_row_costs",
    "log_det_step",
    "milp_optimum",
    "objective",
    "pair_term",
    "partition_optimum",
    "phi",
    "phi_max",
    "plain_icm_sweep",
    "plain_kmeans",
    "plain_spherical_kmeans",
    "prepare",
    "price_pairs",
    "prior_term",
    "rayleigh_step",
    "smoothing_term",
    "weighted_norm",
]
