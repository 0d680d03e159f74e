"""Parameters of an estimator -> the settings of the engine."""

from __future__ import annotations

import numbers
from typing import Any, NamedTuple

import numpy as np

from hmrf_fast import inputs
from hmrf_fast.constraints import Constraints
from hmrf_fast.em import Options
from hmrf_fast.errors import InputError
from hmrf_fast.geometry import Problem
from hmrf_fast.kernels.pool import available_threads
from hmrf_fast.weight_step import choose_prior


class Settings(NamedTuple):
    """An algorithm of the family as settings of the one engine."""

    metric: str
    penalty: str
    infer: bool
    must_link_weight: float
    cannot_link_weight: float
    init: Any
    n_init: int
    options: Options
    learning_rate: float | None
    weight_prior: float | None


def given_constraints(settings: Settings, must_link, cannot_link, partial_labels, constraints) -> Constraints:
    pieces = {"must_link": must_link, "cannot_link": cannot_link, "partial_labels": partial_labels}
    loose = [name for name, value in pieces.items() if value is not None]
    if constraints is None:
        constraints = Constraints(must_link, cannot_link, partial_labels=partial_labels)
    elif loose:
        raise InputError(f"give either constraints or {', '.join(loose)}, not both: Constraints(...) takes them all")
    elif not isinstance(constraints, Constraints):
        raise InputError(f"constraints must be a hmrf_fast.Constraints, got {type(constraints).__name__}")
    scaled = constraints.scaled(settings.must_link_weight, settings.cannot_link_weight)
    for kind in ("must_link", "cannot_link"):
        weights = np.append(getattr(scaled, f"{kind}_weight"), getattr(scaled, f"{kind}_group_weight"))
        soft = weights[np.isfinite(weights) & (weights > 0)]
        if soft.size and not (soft.min() >= 1 / inputs.LARGEST and soft.max() <= inputs.LARGEST):
            raise InputError(
                f"{kind} weights span {soft.min():g} to {soft.max():g}: they must be 0, inf (hard) or lie within "
                f"{1 / inputs.LARGEST:g} to {inputs.LARGEST:g}"
            )
    return scaled


def finish_options(settings: Settings, problem: Problem) -> Options:
    """Options whose automatic values depend on the data."""
    options = settings.options
    if not options.learn_weights:
        return options
    rate = settings.learning_rate
    if rate is None:
        rate = problem.corpus.n_features / problem.sample_weight.sum()
    return options._replace(learning_rate=rate, prior=choose_prior(problem, settings.weight_prior))


def thread_count(n_threads) -> int:
    return available_threads() if n_threads in (None, -1) else int(n_threads)


def is_array(init) -> bool:
    return not isinstance(init, str) and not callable(init)


def check_parameters(estimator) -> None:
    """Types and bounds of the parameters that all estimators share."""
    inputs.check_number("n_clusters", estimator.n_clusters, numbers.Integral, 1)
    inputs.check_number("n_init", estimator.n_init, numbers.Integral, 1)
    inputs.check_number("max_iter", estimator.max_iter, numbers.Integral, 1)
    inputs.check_number("tol", estimator.tol, numbers.Real, 0)
    if estimator.n_threads is not None and estimator.n_threads != -1:
        inputs.check_number("n_threads", estimator.n_threads, numbers.Integral, 1)
    if estimator.dtype is not None and np.dtype(estimator.dtype) not in (np.dtype("f4"), np.dtype("f8")):
        raise InputError(f"dtype must be None, float32 or float64, got {estimator.dtype!r}")
    if estimator.callback is not None and not callable(estimator.callback):
        raise InputError(f"callback must be callable, got {estimator.callback!r}")
