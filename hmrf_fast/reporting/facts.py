"""Every number of a report, gathered once from a fitted model and its rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from hmrf_fast import inputs
from hmrf_fast.errors import InputError
from hmrf_fast.geometry import build_problem
from hmrf_fast.kernels.metrics import METRICS
from hmrf_fast.low_rank import unit_rows
from hmrf_fast.neighborhoods import resolve
from hmrf_fast.penalties import empty_graph
from hmrf_fast.reporting.agreement import Agreement, agreement
from hmrf_fast.reporting.links import ConstraintFacts, constraint_facts
from hmrf_fast.reporting.names import Names, check_names
from hmrf_fast.reporting.projection import RowsMap, map_rows
from hmrf_fast.reporting.terms import ClusterTerms, membership, top_terms
from hmrf_fast.settings import priced, thread_count

EXAMPLES = 3
WEIGHTS = 15
_ROWS_AT_ONCE = 8192


class Example(NamedTuple):
    """A row of a cluster."""

    row: int
    distance: float  # to the centroid of its cluster
    nearest: int  # the cluster whose centroid is nearest


class Examples(NamedTuple):
    """Rows that show what a cluster is, and where it ends."""

    near: tuple[Example, ...]  # nearest first
    far: tuple[Example, ...]  # farthest first


class FeatureWeights(NamedTuple):
    """Learned feature weights, of features that occur."""

    learned: bool  # False: all are equal
    highest: tuple[tuple[str, float], ...]  # name and weight, highest first
    lowest: tuple[tuple[str, float], ...]  # lowest first
    values: np.ndarray  # (d,) all of them


class Facts(NamedTuple):
    """What a report shows.

    Attributes
    ----------
    summary : tuple of (str, str)
        Name and value, as told in words.
    n_clusters : int
    labels : ndarray of shape (n,), int32
        Cluster of each row.
    sizes : ndarray of shape (K,), int64
        Rows per cluster.
    order : ndarray of int64
        Clusters that hold rows, largest first.
    terms : tuple of ClusterTerms
        Of every cluster, ``by_weight`` and ``by_lift``: terms with ``feature``, ``name``, ``salience``, ``lift`` and
        ``share``.
    examples : tuple of Examples
        Of every cluster, rows ``near`` its centroid, nearest first, and ``far`` from it, farthest first; each with
        ``row``, ``distance`` and ``nearest``, the cluster whose centroid is nearest.
    history : ndarray of float64
        J after every sub-step.
    steps : tuple of str
        The kind of every sub-step.
    weights : FeatureWeights
        ``learned``, and the ``highest`` and ``lowest`` feature weights by name.
    constraints : ConstraintFacts
        ``report``, ``violated`` pairs, ``suspects``, ``contradictions``.
    map : RowsMap
        ``xy``, positions of a sample of rows; ``labels``, their clusters; ``links`` between them.
    agreement : Agreement or None
        With known classes: ``table`` of clusters and ``classes``, and scores.
    names : Names
        How rows and features are called.
    centred : bool
        Whether terms are told as differences from the mean.
    """

    summary: tuple[tuple[str, str], ...]
    n_clusters: int
    labels: np.ndarray
    sizes: np.ndarray
    order: np.ndarray
    terms: tuple[ClusterTerms, ...]
    examples: tuple[Examples, ...]
    history: np.ndarray
    steps: tuple[str, ...]
    weights: FeatureWeights
    constraints: ConstraintFacts
    map: RowsMap
    agreement: Agreement | None
    names: Names
    centred: bool


def summarize(model: Any) -> tuple[tuple[str, str], ...]:
    """A fitted model in a few names and values; needs no rows."""
    sizes = np.bincount(model.labels_, minlength=model.merged_into_.size)
    held = sizes[sizes > 0]
    report = model.constraint_report_
    told = [
        ("rows", f"{model.labels_.size:,}"),
        ("features", f"{model.n_features_in_:,}"),
        ("clusters", f"{held.size:,} ({held.min():,} to {held.max():,} rows, median {np.median(held):,.0f})"),
        ("metric", model._fitted.metric + (", learned weights" if model._fitted.options.learn_weights else "")),
        ("objective J", f"{model.objective_:.6g}"),
        ("iterations", f"{model.n_iter_}, {'converged' if model.converged_ else 'stopped at max_iter'}"),
    ]
    for name, given, broken in (
        ("must-links", report.n_must_link + report.n_must_link_in_groups,
         report.n_must_link_violated + report.n_must_link_in_groups_violated),
        ("cannot-links", report.n_cannot_link + report.n_cannot_link_in_groups,
         report.n_cannot_link_violated + report.n_cannot_link_in_groups_violated),
    ):  # fmt: skip
        if given:
            told.append((name, f"{given:,}, {broken:,} violated"))
    if report.n_contradictions:
        told.append(("contradictions", f"{report.n_contradictions:,}"))
    return tuple(told)


def gather(
    model: Any, X: Any = None, feature_names: Any = None, texts: Any = None, ids: Any = None, labels: Any = None
) -> Facts:
    """Collect what a report shows.

    Parameters
    ----------
    model : fitted estimator
    X : {array-like, sparse matrix} of shape (n, d), optional
        The rows of the fit; left out, those that the model still holds.
    feature_names, texts, ids, labels : see ``report``

    Returns
    -------
    Facts
        Cost: a prediction, a few passes over the non-zeros, and what is named.

    Raises
    ------
    InputError
        If the rows are not those of the fit, or names and data do not fit.
    """
    matrix = _rows_of(model, X)
    names = check_names(model, matrix.shape, feature_names, texts, ids, labels)
    n_clusters = model.merged_into_.size
    clusters, member = model.labels_, membership(model.labels_, n_clusters)
    rows, shares, centred = seen_by_metric(matrix, model._fitted.metric, model.n_threads)
    resolved = resolve(priced(model._fitted, model.constraints_), clusters.size, infer=model._fitted.infer)
    constraints = constraint_facts(resolved, clusters, lambda some: _distances(model, matrix[some]))
    sizes = np.bincount(clusters, minlength=n_clusters)
    order = np.argsort(-sizes, kind="stable")
    return Facts(
        summary=summarize(model),
        n_clusters=n_clusters,
        labels=clusters,
        sizes=sizes,
        order=order[sizes[order] > 0],
        terms=top_terms(shares, member, model.feature_weights_, centred, names.feature),
        examples=_examples(model, matrix, sizes),
        history=model.objective_history_,
        steps=model.history_steps_,
        weights=_weights(model, matrix, names),
        constraints=constraints,
        map=map_rows(rows, member, clusters, constraints.given),
        agreement=agreement(clusters, names.classes, constraints.constrained, n_clusters),
        names=names,
        centred=centred,
    )


def _rows_of(model: Any, X: Any) -> sp.csr_matrix:
    check_is_fitted(model)
    if X is None:
        X = model._training.X
    if X is None:
        raise InputError("this model was unpickled or copied and its rows stayed behind: pass them as X")
    matrix = inputs.check_matrix(model, X, reset=False, dtype=model.dtype)
    if matrix.shape[0] != model.labels_.size:
        raise InputError(f"X has {matrix.shape[0]} rows, but the model was fitted to {model.labels_.size}")
    return matrix


def seen_by_metric(
    matrix: sp.csr_matrix, metric: str, n_threads: int | None
) -> tuple[sp.csr_matrix, sp.csr_matrix, bool]:
    """Rows whose inner products fit the metric, rows whose means are its centroids, and whether values are told as
    differences from the mean."""
    name: Any = metric if metric in METRICS else "sqeuclidean"
    problem = build_problem(
        inputs.as_corpus(matrix), name, np.ones(matrix.shape[0]), empty_graph(), 1, n_threads=thread_count(n_threads)
    )
    rows = unit_rows(problem)
    centred = name in ("sqeuclidean", "pearson") or problem.signed
    return rows, rows.multiply(rows).tocsr() if problem.metric.entropic else rows, centred


def _distances(model: Any, matrix: sp.csr_matrix) -> np.ndarray:
    """(r, K) distances to all centroids, infinite where a cluster was merged into another."""
    table = model._distances(matrix)
    gone = model.merged_into_ != np.arange(model.merged_into_.size)
    table[:, gone[: table.shape[1]]] = np.inf
    return table


def _examples(model: Any, matrix: sp.csr_matrix, sizes: np.ndarray) -> tuple[Examples, ...]:
    n_rows, labels = matrix.shape[0], model.labels_
    own, nearest = np.empty(n_rows), np.empty(n_rows, np.int64)
    for first in range(0, n_rows, _ROWS_AT_ONCE):
        span = slice(first, min(first + _ROWS_AT_ONCE, n_rows))
        table = _distances(model, matrix[span])
        own[span] = table[np.arange(len(table)), labels[span]]
        nearest[span] = table.argmin(axis=1)
    order = np.lexsort((np.arange(n_rows), own, labels))
    ends = np.concatenate([[0], np.cumsum(sizes)])

    def told(rows: np.ndarray) -> tuple[Example, ...]:
        return tuple(Example(int(row), float(own[row]), int(nearest[row])) for row in rows)

    found = []
    for cluster, size in enumerate(sizes):
        members = order[ends[cluster] : ends[cluster + 1]]
        near = min(EXAMPLES, -(-size // 2))
        far = min(EXAMPLES, size - near)
        found.append(Examples(told(members[:near]), told(members[::-1][:far])))
    return tuple(found)


def _weights(model: Any, matrix: sp.csr_matrix, names: Names) -> FeatureWeights:
    values = model.feature_weights_
    present = np.flatnonzero(np.bincount(matrix.indices, minlength=matrix.shape[1]))
    learned = bool(np.any(values != values[:1]))
    if not learned:
        return FeatureWeights(False, (), (), values)
    order = present[np.argsort(-values[present], kind="stable")]
    count = min(WEIGHTS, -(-order.size // 2))
    low = order[::-1][: min(WEIGHTS, order.size - count)]
    highest, lowest = (tuple((names.feature(int(k)), float(values[k])) for k in some) for some in (order[:count], low))
    return FeatureWeights(True, highest, lowest, values)
