"""One colour per cluster, readable on light and on dark ground; the same on the page and in plots."""

from __future__ import annotations

import colorsys

_FIRST = (
    "#3b7dd8", "#e0662a", "#2f9e58", "#c74b8b", "#8f6fd1", "#a98a1c", "#1fa0ae", "#c4484d", "#78808a", "#6b9c2f",
)  # fmt: skip
_GOLDEN = 0.618033988749895  # of a turn: any number of hues in a row lie well apart


def cluster_color(cluster: int) -> str:
    """The colour of a cluster as ``#rrggbb``; it depends on nothing but the cluster's number."""
    if cluster < len(_FIRST):
        return _FIRST[cluster]
    hue, lightness = (cluster * _GOLDEN) % 1.0, (0.42, 0.5, 0.58)[cluster % 3]
    red, green, blue = colorsys.hls_to_rgb(hue, lightness, 0.55)
    return f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"
