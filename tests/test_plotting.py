"""The drawings hold the numbers of the report."""

from __future__ import annotations

import numpy as np
import pytest
from reporting_helpers import fitted

from hmrf_fast import plotting
from hmrf_fast.errors import InputError

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402

from hmrf_fast.reporting.colors import cluster_color  # noqa: E402


@pytest.fixture(scope="module")
def report():
    model, X = fitted(learn_weights=True, n_pairs=30)
    names = [f"$x_{k}$ {'long ' * 20}" if k == 0 else f"term{k}" for k in range(12)]
    return model.report(X, names, labels=np.array(["$a", "b"])[np.arange(60) % 2])


@pytest.fixture
def ax():
    figure, axes = plt.subplots()
    yield axes
    figure.canvas.draw()  # names with dollar signs must not be read as mathematics
    plt.close(figure)


def widths(axes) -> list[float]:
    return [bar.get_width() for bar in axes.patches]


def names(axis) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels()]


def test_cluster_sizes(report, ax):
    assert plotting.cluster_sizes(report, ax) is ax
    assert widths(ax) == report.facts.sizes[report.facts.order].tolist()
    assert [to_hex(bar.get_facecolor()) for bar in ax.patches] == [cluster_color(int(c)) for c in report.facts.order]


@pytest.mark.parametrize("by", ["weight", "lift"])
def test_top_terms(report, ax, by):
    assert plotting.top_terms(report, 1, ax, by=by) is ax
    told = report.facts.terms[1]
    terms = told.by_weight if by == "weight" else told.by_lift
    assert widths(ax) == pytest.approx([term.salience if by == "weight" else term.lift for term in terms])
    assert [name[:4] for name in names(ax.yaxis)] == [term.name.replace("$", r"\$")[:4] for term in terms]
    assert max(map(len, names(ax.yaxis))) <= 42


def test_objective(report, ax):
    assert plotting.objective(report, ax) is ax
    line, *points = ax.lines
    np.testing.assert_array_equal(line.get_ydata(), report.facts.history)
    assert sum(one.get_ydata().size for one in points) == len(report.facts.steps)
    assert [one.get_label() for one in points] == ["rows assigned", "centroids moved", "weights learned"]


def test_feature_weights(report, ax):
    assert plotting.feature_weights(report, ax) is ax
    weights = report.facts.weights
    assert widths(ax) == pytest.approx([v for _, v in weights.highest] + [v for _, v in weights.lowest][::-1])
    assert widths(ax) == sorted(widths(ax), reverse=True)


def test_no_feature_weights(ax):
    model, X = fitted()
    assert plotting.feature_weights(model.report(X), ax).get_xlabel() == "no weights were learned"


def test_rows_map(report, ax):
    assert plotting.rows_map(report, ax) is ax
    drawn = report.facts.map
    assert len(ax.lines) == len(drawn.links)
    assert sum(line.get_linewidth() > 1 for line in ax.lines) == sum(link.violated for _, _, link in drawn.links)
    for points, cluster in zip(ax.collections, report.facts.order, strict=True):
        np.testing.assert_array_equal(points.get_offsets(), drawn.xy[drawn.labels == cluster])
        assert to_hex(points.get_facecolor()[0]) == cluster_color(int(cluster))
    assert [text.get_text() for text in ax.texts] == [str(cluster) for cluster in report.facts.order]


def test_confusion_matrix(report, ax):
    assert plotting.confusion_matrix(report, ax) is ax
    table = report.facts.agreement.table[report.facts.order]
    assert [text.get_text() for text in ax.texts] == [str(count) for count in table.ravel()]
    np.testing.assert_allclose(ax.images[0].get_array(), table / table.sum(axis=1, keepdims=True))
    assert names(ax.xaxis) == [r"\$a", "b"]


def test_axes_of_their_own(report):
    drawn = plotting.cluster_sizes(report)
    assert drawn.figure.axes == [drawn]
    plt.close(drawn.figure)


def test_what_cannot_be_drawn_is_refused(report, ax):
    with pytest.raises(InputError, match="cluster must lie within 0 to 2, got 3"):
        plotting.top_terms(report, 3, ax)
    with pytest.raises(InputError, match="by must be 'weight' or 'lift', got 'size'"):
        plotting.top_terms(report, 0, ax, by="size")
    model, X = fitted()
    with pytest.raises(InputError, match="knows no classes"):
        plotting.confusion_matrix(model.report(X), ax)


def test_many_clusters_and_classes_stay_legible(ax):
    """Numbers that would lie on one another are left out; what they stand for is drawn all the same."""
    model, X = fitted(n_rows=120, n_clusters=45, n_pairs=0)
    report = model.report(X, labels=np.array([f"class {k}" for k in range(21)])[np.arange(120) % 21])
    drawn = report.facts.map
    shown = [cluster for cluster in report.facts.order.tolist() if np.any(drawn.labels == cluster)]
    plotting.rows_map(report, ax)
    assert len(ax.collections) == len(shown) > len(ax.texts) == 40
    ax.clear()
    plotting.confusion_matrix(report, ax)
    assert not ax.texts and ax.images[0].get_array().shape == (45, 21)
