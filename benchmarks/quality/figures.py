"""Learning curves as figures; needs matplotlib (extra ``plot``)."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np


def draw_curves(name: str, methods: dict, path: Path) -> None:
    """One line per method with the 95 % band of its mean; the best at the most constraints is named first."""
    figure, axes = plt.subplots(figsize=(9, 5), layout="constrained")
    colors = plt.colormaps["tab20"].colors
    order = sorted(methods, key=lambda method: -list(methods[method].values())[-1].mean)
    for number, method in enumerate(order):
        points = methods[method]
        counts, mean = np.array(list(points)), np.array([point.mean for point in points.values()])
        width = np.array([point.half_width for point in points.values()])
        style = ("-", "--", ":")[number // len(colors) % 3]
        axes.plot(counts, mean, style, color=colors[number % len(colors)], label=method, marker="o", markersize=3)
        axes.fill_between(
            counts, mean - width, mean + width, color=colors[number % len(colors)], alpha=0.12, linewidth=0
        )
    axes.set(xlabel="pairs drawn from the training rows", ylabel="NMI on the test rows", title=name)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path)
    plt.close(figure)
