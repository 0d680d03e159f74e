"""Parameters of an estimator -> the settings of the engine."""

from __future__ import annotations

import numbers
import os
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from hmrf_fast import inputs
from hmrf_fast.constraints import Constraints
from hmrf_fast.em import Options
from hmrf_fast.errors import InputError
from hmrf_fast.geometry import Problem
from hmrf_fast.kernels.metrics import METRICS
from hmrf_fast.label_priors import check_shares
from hmrf_fast.machine import available_threads
from hmrf_fast.start import CHOICES
from hmrf_fast.weight_step import choose_prior

SMOOTHING_FLOOR = 1e-3


class Settings(NamedTuple):
    """An algorithm of the family as settings of the one engine."""

    metric: str
    init: Any
    n_init: int
    options: Options
    penalty: str = "distance"
    infer: bool = True
    doubt: bool | str = False  # leave out pairs that are probably wrong; "auto": where given pairs contradict
    must_link_weight: float = 1.0
    cannot_link_weight: float = 1.0
    learning_rate: float | None = None
    weight_prior: float | None = None
    by_size: bool = False  # of too many neighbourhoods the largest seed, not the farthest
    fixed_labels: bool = False  # rows of known class keep their cluster
    soft_labels: float | None = None  # price of one nat of a class probability; None: labels must be certain
    scale: float = 1.0  # of published distances and J, where a paper's differ from the metric's by a factor


class Known(NamedTuple):
    """What the caller knows, as given and as the engine prices it."""

    given: Constraints
    priced: Constraints
    shares: np.ndarray | None  # (n, C) class probabilities


def given_knowledge(
    settings: Settings,
    n_clusters: int,
    must_link: Any,
    cannot_link: Any,
    partial_labels: Any,
    constraints: Constraints | None,
) -> Known:
    """The arguments of ``fit`` as one object."""
    if must_link is None and cannot_link is None and partial_labels is None and constraints is None:
        return _no_knowledge(settings.must_link_weight, settings.cannot_link_weight, settings.scale)
    if not _is_table(partial_labels):
        given = _given_constraints(must_link, cannot_link, partial_labels, constraints)
        return Known(given, priced(settings, given), None)
    if settings.soft_labels is None:
        raise InputError(
            "partial_labels must be one-dimensional here; probabilities of classes are for SeededKMeans and "
            "ConstrainedKMeans"
        )
    if any(value is not None for value in (must_link, cannot_link, constraints)):
        raise InputError("class probabilities cannot be combined with other constraints")
    return Known(Constraints(), Constraints(), check_shares(partial_labels, n_clusters))


@lru_cache(maxsize=16)
def _no_knowledge(must_link_weight: float, cannot_link_weight: float, scale: float) -> Known:
    nothing = Constraints()
    return Known(nothing, _scaled(nothing, must_link_weight / scale, cannot_link_weight / scale), None)


def _is_table(values: Any) -> bool:
    try:
        return values is not None and np.ndim(values) == 2
    except ValueError:  # ragged lists: the parser of labels explains what is wrong
        return False


def _given_constraints(
    must_link: Any, cannot_link: Any, partial_labels: Any, constraints: Constraints | None
) -> Constraints:
    pieces = {"must_link": must_link, "cannot_link": cannot_link, "partial_labels": partial_labels}
    loose = [name for name, value in pieces.items() if value is not None]
    if constraints is None:
        constraints = Constraints(must_link, cannot_link, partial_labels=partial_labels)
    elif loose:
        raise InputError(f"give either constraints or {', '.join(loose)}, not both: Constraints(...) takes them all")
    elif not isinstance(constraints, Constraints):
        raise InputError(f"constraints must be a hmrf_fast.Constraints, got {type(constraints).__name__}")
    return constraints


def priced(settings: Settings, constraints: Constraints) -> Constraints:
    """The constraints with the weights that the engine works with."""
    scale = settings.scale
    return _scaled(constraints, settings.must_link_weight / scale, settings.cannot_link_weight / scale)


def _scaled(constraints: Constraints, must_link_factor: float, cannot_link_factor: float) -> Constraints:
    scaled = constraints.scaled(must_link_factor, cannot_link_factor)
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
        rate = problem.n_features / problem.sample_weight.sum()
    return options._replace(learning_rate=rate, prior=choose_prior(problem, settings.weight_prior))


def thread_count(n_threads: int | None) -> int:
    return available_threads() if n_threads in (None, -1) else int(n_threads)


def is_array(init: Any) -> bool:
    return not isinstance(init, str) and not callable(init)


def settings_of(
    estimator: Any,
    *,
    metric: str | None = None,
    learn_weights: bool = False,
    n_init: Any = None,
    metrics: tuple[str, ...] = tuple(METRICS),
    **more: Any,
) -> Settings:
    """Check the parameters that estimators share, where they have them, and make settings of them and of ``more``;
    ``metrics`` are those that the estimator knows."""
    check_parameters(estimator)
    n_init = estimator.n_init if n_init is None else n_init
    inputs.check_number("n_init", n_init, numbers.Integral, 1)
    metric = estimator.metric if metric is None else metric
    inputs.check_choice("metric", metric, metrics)
    e_step, smoothing = getattr(estimator, "e_step", "block_icm"), getattr(estimator, "smoothing", 1.0)
    inputs.check_choice("e_step", e_step, ("block_icm", "icm"))
    inputs.check_number("smoothing", smoothing, numbers.Real, 0, inputs.LARGEST)
    for name in ("must_link_weight", "cannot_link_weight"):
        inputs.check_number(name, more.get(name, 1.0), numbers.Real, 0)
        more[name] = float(more.get(name, 1.0))
    options = Options(
        max_iter=int(estimator.max_iter),
        tol=float(estimator.tol),
        e_step=e_step,
        learn_weights=learn_weights,
        smoothing=(float(smoothing), min(float(smoothing), SMOOTHING_FLOOR)),
    )
    infer = bool(getattr(estimator, "infer_constraints", True))
    return Settings(metric, estimator.init, int(n_init), options, infer=infer, **more)


def check_parameters(estimator: Any) -> None:
    """Types and bounds of the parameters that all estimators share."""
    inputs.check_number("n_clusters", estimator.n_clusters, numbers.Integral, 1)
    if estimator.n_clusters > np.iinfo(np.int32).max:
        raise InputError(f"n_clusters must be at most {np.iinfo(np.int32).max}, got {estimator.n_clusters}")
    inputs.check_number("max_iter", estimator.max_iter, numbers.Integral, 1)
    inputs.check_number("tol", estimator.tol, numbers.Real, 0)
    if estimator.n_threads is not None and estimator.n_threads != -1:
        inputs.check_number("n_threads", estimator.n_threads, numbers.Integral, 1)
    if estimator.dtype is not None and not _is_float(estimator.dtype):
        raise InputError(f"dtype must be None, float32 or float64, got {estimator.dtype!r}")
    if not isinstance(estimator.warm_start, (bool, np.bool_)):
        raise InputError(f"warm_start must be True or False, got {estimator.warm_start!r}")
    if isinstance(estimator.init, str):
        inputs.check_choice("init", estimator.init, CHOICES)
    if estimator.callback is not None and not callable(estimator.callback):
        raise InputError(f"callback must be callable, got {estimator.callback!r}")
    if estimator.checkpoint is not None and not isinstance(estimator.checkpoint, (str, os.PathLike)):
        raise InputError(f"checkpoint must be the path of a file or None, got {estimator.checkpoint!r}")
    inputs.check_number("checkpoint_every", estimator.checkpoint_every, numbers.Real, 0)


def _is_float(dtype: Any) -> bool:
    try:
        return np.dtype(dtype) in (np.dtype("f4"), np.dtype("f8"))
    except TypeError:
        return False
