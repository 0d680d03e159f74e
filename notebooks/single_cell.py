# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Cells by their counts
#
# A sequencer counts, for each of 240 cells, how often the transcript of each gene was seen. Cells come from three lines
# of lung cancer. How deep a cell was sequenced says nothing about what it is: one that was read twice as often has
# twice the counts. **I-divergence** compares the *shares* of the genes, so depth drops out.

# %%
import matplotlib.pyplot as plt
import numpy as np

from hmrf_fast import HMRFKMeans, PCKMeans, datasets, plotting
from hmrf_fast.protocol import draw_pairs, split_halves
from hmrf_fast.scores import normalized_mutual_information

cells = datasets.load_cells_3()
print(cells.DESCR)
depth = np.asarray(cells.data.sum(axis=1)).ravel()
print(cells.data.shape, "counts per cell:", int(depth.min()), "to", int(depth.max()))

# %% [markdown]
# ## The distance matters
#
# Squared Euclidean distance on raw counts mostly sees depth, I-divergence begins to see the lines. Scores are on one
# half of the cells; what is known of pairs will come from the other half.

# %%
training, test = split_halves(cells.target, random_state=0)


def score(model):
    """Agreement with the cell lines on the test half."""
    return normalized_mutual_information(cells.target[test], model.labels_[test])


euclidean = PCKMeans(3, metric="sqeuclidean", random_state=0).fit(cells.data)
free = HMRFKMeans(3, metric="i_divergence", random_state=0).fit(cells.data)
print(f"squared Euclidean: NMI {score(euclidean):.2f}")
print(f"I-divergence: NMI {score(free):.2f}")
assert score(free) > score(euclidean)

# %% [markdown]
# ## What a few known pairs change
#
# The groups that fit the counts best are not the lines: cells differ in other ways as well. A hundred pairs of cells
# that are known to be of one line, or not, say which structure is meant.

# %%
drawn = draw_pairs(cells.target, training, n_pairs=100, random_state=0)
must_link, cannot_link = drawn.first(100)
model = HMRFKMeans(3, metric="i_divergence", random_state=0)
model.fit(cells.data, must_link=must_link, cannot_link=cannot_link)
print(f"100 pairs: NMI {score(model):.2f}")
print(f"J without the pairs {free.objective_:.2f}, with them {model.objective_:.2f}")
assert score(model) > score(free)

# %% [markdown]
# ## Marker genes
#
# The report ranks genes by *lift*: how many times the share of a gene in a cluster exceeds its share in all cells.
# Genes have Ensembl numbers here.

# %%
report = model.report(
    cells.data, feature_names=cells.feature_names, ids=cells.ids, labels=cells.target_names[cells.target]
)
for cluster in report.facts.order:
    markers = report.facts.terms[cluster].by_lift[:4]
    print(f"cluster {cluster}:", ", ".join(f"{gene.name} ({gene.lift:.1f} times)" for gene in markers))

figure, axes = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
plotting.rows_map(report, axes[0])
plotting.top_terms(report, 0, axes[1], by="lift")
_ = plotting.confusion_matrix(report, axes[2])

# %%
report
