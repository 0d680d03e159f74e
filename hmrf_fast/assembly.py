"""Checked input and settings -> the problem that the engine solves."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from hmrf_fast import inputs
from hmrf_fast.canonical import canonical_order, in_order, neighborhoods_in_order
from hmrf_fast.contradictions import describe
from hmrf_fast.errors import ContradictionWarning, EmptyRowsWarning, InfeasibleError, InputError
from hmrf_fast.geometry import Problem, build_problem, content_keys, metric_named
from hmrf_fast.label_priors import class_probabilities, fixed_labels
from hmrf_fast.memory import refuse_without
from hmrf_fast.neighborhoods import Resolved, check_feasible, resolve
from hmrf_fast.penalties import empty_graph, plan
from hmrf_fast.seeds import Seeds, probable_seeds, seeds_of
from hmrf_fast.settings import Known, Settings
from hmrf_fast.sources import as_rows, refuse_negative

# What becomes of rows that say nothing, by whether the metric is for counts.
FATES = {
    False: "equally far from every centroid, they join the first cluster unless constrained; better leave them out",
    True: "without mass they only dilute a centroid; better leave them out",
}
STACK_LEVEL = 6  # from the warnings below to the caller of ``fit``


class Task(NamedTuple):
    """A problem, the constraints behind it, and what may seed its clusters."""

    problem: Problem
    resolved: Resolved
    seeds: Seeds
    order: np.ndarray  # (n,) int64: rows as constraints are gone through, see ``canonical``; length 0 without any


def assemble(
    settings: Settings, matrix: Any, known: Known, sample_weight: Any, n_clusters: int, n_threads: int, whose: str,
    merged_into: np.ndarray, same: Task | None = None,
) -> Task:  # fmt: skip
    """Refuse what does not fit together and build the problem; cost nnz plus constraints.

    ``same`` is an earlier task of the same rows and constraints in another view, whose content has been hashed.
    """
    (n_rows, n_features), metric = matrix.shape, metric_named(settings.metric)
    refuse_without("this fit", 16 * n_features * n_clusters, f"{n_features} features times {n_clusters} clusters")
    if metric.entropic:
        refuse_negative(matrix, settings.metric, whose)
    weight = inputs.check_sample_weight(sample_weight, matrix)
    if known.shares is not None and len(known.shares) != n_rows:
        raise InputError(f"partial_labels has {len(known.shares)} rows of probabilities, X has {n_rows} rows")
    resolved = resolve(known.priced, n_rows, infer=settings.infer)
    entropic = metric.entropic and settings.penalty != "potts"
    rows, graph, order, numbered = as_rows(matrix), empty_graph(), np.zeros(0, np.int64), resolved
    if not known.priced.is_empty:
        check_feasible(resolved, n_clusters)
        order = canonical_order(rows, resolved, weight, n_threads) if same is None else same.order
        graph = plan(in_order(resolved, order), enumerate_all=entropic)
        graph = graph._replace(rows=order[graph.rows])
        numbered = neighborhoods_in_order(resolved, order)
    problem = build_problem(
        rows, metric, weight, graph, n_clusters, potts=settings.penalty == "potts", n_threads=n_threads,
        keys=None if same is None else content_keys(same.problem),
    )  # fmt: skip
    if np.any(merged_into != np.arange(merged_into.size)):
        problem = problem._replace(merged=merged_into)
    seeds = seeds_of(problem, numbered, settings.by_size, order)
    return _with_labels(Task(problem, resolved, seeds, order), settings, known)


def _with_labels(task: Task, settings: Settings, known: Known) -> Task:
    """Known classes as prices of labels, where the algorithm keeps them, and probabilities as seeds."""
    problem, labels = task.problem, task.resolved.labels
    if known.shares is not None:
        task = task._replace(seeds=probable_seeds(problem, known.shares))
        if settings.fixed_labels:
            shares = _share_merged(known.shares, problem.merged)
            priors = class_probabilities(shares, problem.sample_weight, settings.soft_labels or 0.0, problem.n_clusters)
            return task._replace(problem=problem._replace(priors=priors))
    elif settings.fixed_labels and labels is not None and labels.ids.size:
        _refuse_loose_labels(task.resolved, problem.merged)
        codes = labels.codes
        if problem.merged.size:
            codes = np.where(codes >= 0, problem.merged[codes], -1)
        return task._replace(problem=problem._replace(priors=fixed_labels(codes, problem.n_clusters)))
    return task


def _share_merged(shares: np.ndarray, merged: np.ndarray) -> np.ndarray:
    """A class whose cluster was merged into another adds its probability to that one."""
    if not merged.size:
        return shares
    added = np.zeros((len(shares), merged.size))
    for code in range(shares.shape[1]):
        added[:, merged[code]] += shares[:, code]
    return added


def _refuse_loose_labels(resolved: Resolved, merged: np.ndarray) -> None:
    """Labels that are kept tie the rows of a class together and hold classes apart."""
    if not np.isinf([resolved.must_link_group_weight, resolved.cannot_link_group_weight]).all():
        raise InputError(
            "weight 0 switches labels off, but here they are kept: leave both weights of the "
            "constraints positive, or use SeededKMeans"
        )
    homes = merged[: resolved.class_component.size]
    _, first, count = np.unique(homes, return_index=True, return_counts=True)
    if np.any(count > 1):
        home = homes[first[np.argmax(count > 1)]]
        codes = np.flatnonzero(homes == home)[:2]
        names = [resolved.labels.name(int(code)) for code in codes]  # type: ignore[union-attr]
        raise InfeasibleError(
            f"classes {names[0]} and {names[1]} are kept apart, but both are cluster {home} since merging"
        )


def warn_of(task: Task) -> None:
    """Warn of what is dubious."""
    _warn_of_contradictions(task.resolved)
    warn_of_empty_rows(task.problem, FATES[task.problem.metric.entropic], STACK_LEVEL)


def _warn_of_contradictions(resolved: Resolved) -> None:
    if resolved.n_contradictions:
        warnings.warn(
            f"{resolved.n_contradictions} cannot-link(s) contradict the must-links and cannot all be satisfied; the "
            f"first: {describe(resolved.contradictions[0])}; see constraint_report_.contradictions for the chains, and "
            ".suspects for pairs that were left out",
            ContradictionWarning,
            stacklevel=STACK_LEVEL,
        )


def named_rows(rows: np.ndarray) -> str:
    """Some numbers of rows, the first five of them named."""
    return f"row {', '.join(map(str, rows[:5]))}{', ...' if rows.size > 5 else ''}"


def warn_of_empty_rows(problem: Problem, fate: str, stacklevel: int) -> None:
    """Warn of rows that say nothing, and of what becomes of them."""
    empty = np.flatnonzero(problem.unit == 0)
    if empty.size:
        warnings.warn(
            f"{empty.size} of {problem.n_rows} rows ({named_rows(empty)}) say nothing under "
            f"metric={problem.metric.name!r}: {fate}",
            EmptyRowsWarning,
            stacklevel=stacklevel,
        )
