"""The drawings of a report with matplotlib: every function takes a report and axes, and returns the axes.

They show the numbers of ``report.facts`` and compute none of their own. matplotlib comes with the extra ``plot``; it is
imported when the first drawing is made.

Examples
--------
>>> from hmrf_fast import HMRFKMeans, datasets, plotting
>>> news = datasets.load_news_different_3()
>>> model = HMRFKMeans(3, random_state=0).fit(news.data)
>>> report = model.report(news.data, feature_names=news.feature_names)
>>> ax = plotting.rows_map(report)  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hmrf_fast.errors import InputError
from hmrf_fast.reporting.colors import cluster_color
from hmrf_fast.reporting.figures import step_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hmrf_fast.reporting.page import Report

__all__ = ["cluster_sizes", "confusion_matrix", "feature_weights", "objective", "rows_map", "top_terms"]

_LINE_COLORS = {"must-link": "#2f8f57", "cannot-link": "#c4484d"}
_NUMBERED = 40  # clusters whose number stands on the map


def _axes(ax: Axes | None) -> Axes:
    """The given axes, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('plotting needs matplotlib: pip install "hmrf_fast[plot]"') from error
    return plt.subplots(layout="constrained")[1]


def cluster_sizes(report: Report, ax: Axes | None = None) -> Axes:
    """Draw the number of rows of every cluster that holds any, the largest on top.

    Parameters
    ----------
    report : Report
        What ``model.report(X)`` returns.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if left out.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax, facts = _axes(ax), report.facts
    names = [str(cluster) for cluster in facts.order]
    ax.barh(names, facts.sizes[facts.order], color=[cluster_color(int(cluster)) for cluster in facts.order])
    ax.invert_yaxis()
    ax.set(xlabel="rows", ylabel="cluster")
    return ax


def top_terms(report: Report, cluster: int, ax: Axes | None = None, by: str = "weight") -> Axes:
    """Draw the leading terms of one cluster, the first on top.

    Parameters
    ----------
    report : Report
    cluster : int
    ax : matplotlib.axes.Axes, optional
    by : {"weight", "lift"}, default="weight"
        The order, and what is drawn: the term's mean in the cluster (times its weight, where weights were learned), or
        how many times as much of it the cluster has as all rows. (For squared Euclidean, Mahalanobis and Pearson
        distances and for negative values: weight times the difference of the means, and this difference in standard
        deviations.)

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        If there is no such cluster or order.
    """
    facts = report.facts
    if by not in ("weight", "lift"):
        raise InputError(f"by must be 'weight' or 'lift', got {by!r}")
    if not 0 <= cluster < facts.n_clusters:
        raise InputError(f"cluster must lie within 0 to {facts.n_clusters - 1}, got {cluster}")
    ax, told = _axes(ax), facts.terms[cluster]
    terms = told.by_weight if by == "weight" else told.by_lift
    places = np.arange(len(terms))
    values = [term.salience if by == "weight" else term.lift for term in terms]
    ax.barh(places, values, color=cluster_color(cluster))
    ax.set_yticks(places, [_plain(term.name) for term in terms])
    ax.invert_yaxis()
    by_weight = "learned weight × mean" if facts.weights.learned else "mean"
    ax.set(title=f"cluster {cluster}", xlabel=by_weight if by == "weight" else "lift")
    return ax


def objective(report: Report, ax: Axes | None = None) -> Axes:
    """Draw the objective J after every sub-step of the winning start, one series of points per kind of sub-step.

    Parameters
    ----------
    report : Report
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax, facts = _axes(ax), report.facts
    number = np.arange(1, len(facts.history) + 1)
    ax.plot(number, facts.history, color="0.6", linewidth=1, zorder=1)
    kinds = np.array(facts.steps)
    for kind, name in step_names(facts.steps).items():
        ax.plot(number[kinds == kind], facts.history[kinds == kind], ".", label=name, zorder=2)
    ax.set(xlabel="sub-step", ylabel="objective J")
    ax.legend()
    return ax


def feature_weights(report: Report, ax: Axes | None = None) -> Axes:
    """Draw the highest and the lowest learned feature weights; nothing where all are equal.

    Parameters
    ----------
    report : Report
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax, weights = _axes(ax), report.facts.weights
    listed = [*weights.highest, *reversed(weights.lowest)]
    places = np.arange(len(listed))
    ax.barh(places, [value for _, value in listed], color="#2463b4")
    ax.set_yticks(places, [_plain(name) for name, _ in listed])
    ax.invert_yaxis()
    ax.set(xlabel="weight" if weights.learned else "no weights were learned")
    return ax


def rows_map(report: Report, ax: Axes | None = None) -> Axes:
    """Draw rows in the plane in which the centroids lie farthest apart, with constraints as lines.

    Must-links are green, cannot-links red and dashed, violated ones bold. Of many rows and constraints a sample is
    drawn.

    Parameters
    ----------
    report : Report
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax, drawn = _axes(ax), report.facts.map
    for first, second, link in drawn.links:
        style: dict[str, Any] = {"color": _LINE_COLORS[link.kind], "linestyle": "-"}
        if link.kind == "cannot-link":
            style["linestyle"] = "--"
        ax.plot(
            *drawn.xy[[first, second]].T, zorder=1, linewidth=1.6 if link.violated else 0.6,
            alpha=1.0 if link.violated else 0.35, **style,
        )  # fmt: skip
    for number, cluster in enumerate(report.facts.order.tolist()):
        inside = drawn.labels == cluster
        if not inside.any():
            continue
        x, y = drawn.xy[inside].T
        ax.scatter(x, y, s=12, color=cluster_color(cluster), zorder=2, label=f"cluster {cluster}")
        if number < _NUMBERED:
            ax.text(np.median(x), np.median(y), str(cluster), weight="bold", ha="center", va="center")
    ax.set(xticks=[], yticks=[])
    return ax


def confusion_matrix(report: Report, ax: Axes | None = None) -> Axes:
    """Draw how many rows of each cluster belong to each known class, shaded by their share of the cluster.

    Parameters
    ----------
    report : Report
        Made with ``labels``.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        If the report was made without labels.
    """
    facts = report.facts
    if facts.agreement is None:
        raise InputError("this report knows no classes: make it with model.report(..., labels=...)")
    ax, table = _axes(ax), facts.agreement.table[facts.order]
    ax.imshow(table / np.maximum(table.sum(axis=1, keepdims=True), 1), cmap="Blues", vmin=0, vmax=1.6, aspect="auto")
    if table.size <= 400:
        for (row, column), count in np.ndenumerate(table):
            ax.text(column, row, f"{count:,}", ha="center", va="center", color="black")
    ax.set_xticks(
        np.arange(table.shape[1]), [_plain(name) for name in facts.agreement.classes], rotation=30, ha="right"
    )
    ax.set_yticks(np.arange(table.shape[0]), [str(cluster) for cluster in facts.order])
    ax.set(xlabel="class", ylabel="cluster")
    return ax


def _plain(name: str, longest: int = 40) -> str:
    """A name that matplotlib takes as it stands: no mathematics between dollar signs."""
    return (name if len(name) <= longest else name[: longest - 1] + "…").replace("$", r"\$")
