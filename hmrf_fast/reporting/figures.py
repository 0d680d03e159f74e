"""Drawings of the page: the objective by sub-step, the map of rows. SVG inside HTML, coloured by its style sheet."""

from __future__ import annotations

import math

import numpy as np

from hmrf_fast.reporting.colors import cluster_color
from hmrf_fast.reporting.facts import Facts
from hmrf_fast.reporting.markup import escaped
from hmrf_fast.reporting.projection import RowsMap

STEP_NAMES = {"E": "rows assigned", "M": "centroids moved", "W": "weights learned", "refill": "empty cluster refilled"}
_WIDE, _HIGH = 640.0, 260.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 84.0, 12.0, 12.0, 36.0
_MAP_HIGH, _MAP_EDGE = 460.0, 14.0
_NUMBERED = 40  # clusters whose number stands on the map
_TOLD = 90  # characters of a row's text under the pointer


def step_names(steps: tuple[str, ...]) -> dict[str, str]:
    """The kinds of sub-steps that occur, in order of their first, with what they do."""
    return {step: STEP_NAMES.get(step, step) for step in dict.fromkeys(steps)}


def objective(facts: Facts) -> str:
    """J after every sub-step."""
    values = np.asarray(facts.history, dtype=np.float64)
    finite = np.isfinite(values)
    if not finite.any():
        return "<p>No finite value of the objective was recorded.</p>"
    low, high = float(values[finite].min()), float(values[finite].max())
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    low, high = low - margin, high + margin
    x = _LEFT + (np.arange(values.size) + 0.5) / values.size * (_WIDE - _LEFT - _RIGHT)
    y = _TOP + (high - values) / (high - low) * (_HIGH - _TOP - _BOTTOM)
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x[finite], y[finite], strict=True))
    parts = [f'<polyline class="line" points="{path}"/>']
    for tick in _ticks(low, high):
        height = _TOP + (high - tick) / (high - low) * (_HIGH - _TOP - _BOTTOM)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDE - _RIGHT}" y1="{height:.1f}" y2="{height:.1f}"/>')
        parts.append(f'<text class="tick end" x="{_LEFT - 8}" y="{height + 4:.1f}">{_round(tick)}</text>')
    kinds = list(step_names(facts.steps))
    for k in np.flatnonzero(finite):
        kind = facts.steps[k]
        tip = f"{STEP_NAMES.get(kind, kind)}: J = {values[k]:.10g}"
        parts.append(
            f'<circle class="step{kinds.index(kind) % 4}" cx="{x[k]:.1f}" cy="{y[k]:.1f}" r="3.5">'
            f"<title>{k + 1}. {escaped(tip)}</title></circle>"
        )
    middle = (_LEFT + _WIDE - _RIGHT) / 2
    parts.append(f'<text class="tick middle" x="{middle}" y="{_HIGH - 8}">sub-steps, 1 to {values.size}</text>')
    keys = "".join(f'<span class="key"><i class="step{k % 4}"></i>{escaped(told)}</span>'
                   for k, told in enumerate(step_names(facts.steps).values()))  # fmt: skip
    return _drawing("Objective J after every sub-step", _HIGH, parts) + f'<p class="keys">{keys}</p>'


def rows_map(facts: Facts) -> str:
    """Rows in the plane, constraints as lines."""
    drawn: RowsMap = facts.map
    if drawn.rows.size == 0:
        return "<p>There are no rows.</p>"
    place = _placed(drawn.xy)
    parts = []
    for first, second, link in sorted(drawn.links, key=lambda one: one[2].violated):
        style = ("must" if link.kind == "must-link" else "cannot") + (" violated" if link.violated else "")
        (a, b), (c, d) = place[first], place[second]
        parts.append(f'<line class="{style}" x1="{a:.1f}" y1="{b:.1f}" x2="{c:.1f}" y2="{d:.1f}"/>')
    radius = 2.4 if drawn.rows.size > 600 else 3.6
    for cluster in facts.order:
        inside = np.flatnonzero(drawn.labels == cluster)
        dots = "".join(_dot(facts, int(drawn.rows[k]), place[k], radius) for k in inside)
        parts.append(f'<g fill="{cluster_color(int(cluster))}">{dots}</g>')
    for cluster in facts.order[:_NUMBERED]:
        inside = drawn.labels == cluster
        if inside.any():
            a, b = np.median(place[inside], axis=0)
            parts.append(f'<text class="number middle" x="{a:.1f}" y="{b + 5:.1f}">{cluster}</text>')
    return _drawing("Map of rows, coloured by cluster", _MAP_HIGH, parts, "map")


def _dot(facts: Facts, row: int, place: np.ndarray, radius: float) -> str:
    tip = escaped(facts.names.row(row), _TOLD)
    text = escaped(facts.names.text(row), _TOLD)
    told = f"{tip}: {text}" if text else tip
    return f'<circle cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="{radius}"><title>{told}</title></circle>'


def _placed(xy: np.ndarray) -> np.ndarray:
    """Coordinates on the drawing, upwards; each axis fills it, and a few far rows may not squeeze all others."""
    low, high = np.quantile(xy, 0.005, axis=0), np.quantile(xy, 0.995, axis=0)
    extent = np.where(high - low > 0, high - low, 1.0)
    inside = np.clip((xy - low) / extent, -0.05, 1.05)
    inside = np.where(high - low > 0, (inside + 0.05) / 1.1, 0.5)
    side = np.array([_WIDE, _MAP_HIGH]) - 2 * _MAP_EDGE
    return np.column_stack([_MAP_EDGE + inside[:, 0] * side[0], _MAP_HIGH - _MAP_EDGE - inside[:, 1] * side[1]])


def _ticks(low: float, high: float) -> list[float]:
    """About four round numbers between two."""
    step = 10.0 ** math.floor(math.log10((high - low) / 4))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= 5)
    first = math.ceil(low / step)
    return [k * step for k in range(first, math.floor(high / step) + 1)]


def _round(tick: float) -> str:
    return f"{tick:.6g}".replace("-", "\u2212")


def _drawing(title: str, height: float, parts: list[str], style: str = "") -> str:
    return (
        f'<svg class="{style}" viewBox="0 0 {_WIDE:g} {height:g}" role="img" aria-label="{escaped(title)}">'
        f"<title>{escaped(title)}</title>{''.join(parts)}</svg>"
    )
