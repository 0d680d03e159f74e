"""Options of a command -> an estimator; what is left out keeps its default."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from hmrf_fast.app.common import FitMetric

__all__ = ["EstimatorName", "MetricOption", "estimator_of"]

EstimatorName = Annotated[
    str,
    typer.Option(
        "--estimator",
        help="HMRFKMeans, PCKMeans (a constant price per pair), COPKMeans (hard pairs), SeededKMeans, "
        "ConstrainedKMeans (labels), SphericalKMeans (nothing known).",
    ),
]
MetricOption = Annotated[
    FitMetric | None,
    typer.Option(
        "--metric",
        help="Distance; mahalanobis, of HMRFKMeans, is for few features. [default: the estimator's, cosine for "
        "HMRFKMeans]",
    ),
]


def estimator_of(name: str, settings: dict[str, Any]) -> Any:
    """An estimator by its name, with the settings that are not None.

    Raises
    ------
    InputError
        If there is no such estimator, or it has no such parameter.
    """
    from hmrf_fast.errors import InputError
    from hmrf_fast.loading import ESTIMATORS

    if name not in ESTIMATORS:
        raise InputError(f"--estimator {name!r} is none of {', '.join(ESTIMATORS)}")
    model: Any = ESTIMATORS[name]()
    given = {parameter: value for parameter, value in settings.items() if value is not None}
    for parameter in given:
        if parameter not in model.get_params():
            raise InputError(f"{name} has no --{parameter.replace('_', '-')}; leave it out or choose another estimator")
    return model.set_params(**given)
