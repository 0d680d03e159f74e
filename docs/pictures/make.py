"""Draw the picture of the README, from bundled messages: ``python docs/pictures/make.py``; needs the extra ``plot``."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from hmrf_fast import HMRFKMeans, datasets, plotting
from hmrf_fast.protocol import draw_pairs, split_halves

TARGET = Path(__file__).with_name("news.png")


def main() -> None:
    """Messages on guns, the Middle East and other politics, clustered with 200 pairs drawn from one half of them."""
    news = datasets.load_news_related_3()
    training, _ = split_halves(news.target, random_state=0)
    must_link, cannot_link = draw_pairs(news.target, training, n_pairs=200, random_state=0).first(200)
    model = HMRFKMeans(3, random_state=0).fit(news.data, must_link=must_link, cannot_link=cannot_link)
    report = model.report(news.data, feature_names=news.feature_names, labels=news.target_names[news.target])
    figure, axes = plt.subplots(1, 3, figsize=(13, 4), width_ratios=(1.5, 1, 1.2), layout="constrained")
    plotting.rows_map(report, axes[0]).set_title("messages, must-links green, cannot-links red")
    plotting.top_terms(report, int(report.facts.order[-1]), axes[1], by="lift")
    plotting.confusion_matrix(report, axes[2]).set_title("clusters and newsgroups")
    figure.savefig(TARGET, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
