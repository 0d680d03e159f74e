"""COPKMeans against published results: adjusted Rand index on small sets with few to very many hard pairs.

    python benchmarks/published.py ../shared/data --runs 5

FOLDER holds ``lowdim/*.npz`` (X and labels) and ``constraints/published_ari_pccc_col1.tsv``, the table of P. Baumann
and D. S. Hochbaum (PCCC, 2022) on the constraint sets of G. Gonzalez-Almagro et al. (DILS, 2020): random pairs of
rows typed by class, all hard, as many as 5 to 20 % of the rows have; ARI over all rows. Their draws are not ours, so
a set can differ by luck; NA means that the published COP-KMeans found no assignment. Columns are standardised.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

SETS = {
    "Breast Cancer": "wdbc", "Circles": "dils_circles", "Ecoli": "ecoli", "Glass": "glass", "Haberman": "haberman",
    "Heart": "heart_statlog", "Ionosphere": "ionosphere", "Iris": "iris", "Moons": "dils_moons",
    "Newthyroid": "newthyroid", "Sonar": "sonar", "Spiral": "dils_spiral", "Vehicle": "vehicle", "Wine": "wine",
    "Zoo": "zoo",
}  # fmt: skip
PERCENT = (5, 10, 15, 20)


def draw(y: np.ndarray, percent: int, run: int) -> dict[str, np.ndarray]:
    """As many pairs as that share of the rows has, drawn from all rows."""
    from hmrf_fast.protocol import draw_pairs

    size = max(2, round(y.size * percent / 100))
    drawn = draw_pairs(y, np.arange(y.size), size * (size - 1) // 2, (run, percent))
    must_link, cannot_link = drawn.first(len(drawn.pairs))
    return {"must_link": must_link, "cannot_link": cannot_link}


def main() -> None:
    """Print one line per set and share, and the means."""
    from hmrf_fast import COPKMeans, HMRFKMeans
    from hmrf_fast.errors import HMRFWarning

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore", HMRFWarning)
    table = options.folder / "constraints" / "published_ari_pccc_col1.tsv"
    with table.open(encoding="utf-8") as file:
        published = {(line["dataset"], line["percent_cs"]): line for line in csv.DictReader(file, delimiter="\t")}
    methods = ("ours", "no constraint", "COPKM", "PCCC", "KMEANS")
    print("set            %  " + "".join(f"{name:>14}" for name in methods))
    collected: dict[int, list[list[float]]] = {percent: [] for percent in PERCENT}
    for name, stem in SETS.items():
        with np.load(options.folder / "lowdim" / f"{stem}.npz") as stored:
            X, (_, y) = StandardScaler().fit_transform(stored["X"]), np.unique(stored["labels"], return_inverse=True)
        K = int(y.max()) + 1
        for percent in PERCENT:
            ours, free = [], []
            for run in range(options.runs):
                known = draw(y, percent, run)
                ours.append(adjusted_rand_score(y, COPKMeans(K, random_state=run).fit_predict(X, **known)))
                model = HMRFKMeans(K, metric="sqeuclidean", init="k-means++", random_state=run)
                free.append(adjusted_rand_score(y, model.fit_predict(X)))
            line = published[name, str(percent)]
            told = [float("nan") if line[m] == "NA" else float(line[m]) for m in methods[2:]]
            collected[percent].append([float(np.mean(ours)), float(np.mean(free)), *told])
            print(f"{name:14}{percent:3}  " + "".join(f"{value:14.3f}" for value in collected[percent][-1]), flush=True)
    for percent, rows in collected.items():
        found = np.array(rows)
        print(f"mean          {percent:3}  " + "".join(f"{value:14.3f}" for value in np.nanmean(found, axis=0)))
        both = found[~np.isnan(found[:, 2])]
        print(f"  where COP-KMeans was published ({len(both)} sets): {both[:, 0].mean():.3f} / {both[:, 2].mean():.3f}")


if __name__ == "__main__":
    main()
