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
# # Clustering with hints
#
# 300 newsgroup messages, 100 from each of three groups. We cluster them without help, then tell the algorithm of some
# pairs of messages whether they belong together, and watch the clusters follow.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline

from hmrf_fast import Constraints, HMRFKMeans, datasets
from hmrf_fast.protocol import draw_pairs, split_halves
from hmrf_fast.scores import normalized_mutual_information

news = datasets.load_news_related_3()
print(news.DESCR)
print(news.data.shape, ", ".join(news.target_names))

# %% [markdown]
# ## Without constraints
#
# Rows are tf-idf vectors, so the cosine distance is the right one. The score is normalised mutual information with the
# true groups: 1 is perfect, 0 is chance. Constraints will come from one half of the messages; we score the other half,
# which no constraint ever touches.

# %%
training, test = split_halves(news.target, random_state=0)


def score(model):
    """Agreement with the newsgroups on the test half."""
    return normalized_mutual_information(news.target[test], model.labels_[test])


free = HMRFKMeans(n_clusters=3, metric="cosine", random_state=0).fit(news.data)
print(f"no constraints: NMI {score(free):.2f}")

# %% [markdown]
# ## With pairs
#
# Draw pairs of training messages at random. Two messages of the same group make a *must-link*, others a
# *cannot-link*. A violated pair costs something, so pairs are hints, not orders.

# %%
drawn = draw_pairs(news.target, training, n_pairs=500, random_state=0)
models = {0: free}
for count in (100, 500):
    must_link, cannot_link = drawn.first(count)
    models[count] = HMRFKMeans(n_clusters=3, metric="cosine", random_state=0)
    models[count].fit(news.data, must_link=must_link, cannot_link=cannot_link)

for count, model in models.items():
    print(f"{count:3d} pairs: NMI {score(model):.2f}")

# %% [markdown]
# The report tells what became of the constraints. A *neighbourhood* is a set of rows that must-links tie together.

# %%
print(models[500].constraint_report_)

# %% [markdown]
# ## What is in a cluster?
#
# The largest coordinates of a centroid are the terms that make the cluster.

# %%
for number, center in enumerate(models[500].cluster_centers_):
    terms = news.feature_names[np.argsort(-center)[:10]]
    print(f"cluster {number}, {np.sum(models[500].labels_ == number)} messages: {', '.join(terms)}")

# %% [markdown]
# ## The objective never rises
#
# Every iteration assigns rows (E), then moves the centroids (M), and with `learn_weights=True` also changes the weight
# of every term (W). No sub-step may raise the objective.

# %%
must_link, cannot_link = drawn.first(500)
learned = HMRFKMeans(n_clusters=3, init="k-means++", n_init=1, learn_weights=True, random_state=0)
learned.fit(news.data, must_link=must_link, cannot_link=cannot_link)

history, steps = learned.objective_history_, np.array(learned.history_steps_)
assert np.all(np.diff(history) <= 1e-9 * abs(history[0]))

figure, axes = plt.subplots(figsize=(6, 3))
axes.plot(history, color="lightgray")
for step in dict.fromkeys(learned.history_steps_):
    axes.plot(np.flatnonzero(steps == step), history[steps == step], ".", label=step)
axes.set(xlabel="sub-step", ylabel="objective J")
_ = axes.legend()

# %% [markdown]
# ## Hard constraints
#
# A constraint of infinite weight must hold. `Constraints` takes weights for all pairs of a kind, or one per pair.

# %%
must_link, cannot_link = drawn.first(100)
orders = Constraints(must_link, cannot_link, must_link_weight=np.inf, cannot_link_weight=np.inf)
hard = HMRFKMeans(n_clusters=3, random_state=0).fit(news.data, constraints=orders)

report = hard.constraint_report_
print(report)
assert report.n_must_link_violated == report.n_cannot_link_violated == 0

# %% [markdown]
# ## Partial labels
#
# If the classes of some rows are known, give those: -1 stands for unknown. Cluster numbers then follow the classes.

# %%
partial = np.full(news.target.size, -1)
known = training[::2]
partial[known] = news.target[known]

labelled = HMRFKMeans(n_clusters=3, random_state=0).fit(news.data, partial_labels=partial)
print(f"{known.size} known labels: NMI {score(labelled):.2f}")
print(f"test messages in the cluster of their class: {np.mean(labelled.labels_[test] == news.target[test]):.0%}")

# %% [markdown]
# ## In a scikit-learn pipeline
#
# `predict` gives the nearest centroid of new rows, `transform` the distances to all centroids. Constraints reach the
# step under its name; they count the rows that `fit` gets.

# %%
counts = datasets.load_news_related_3(values="counts").data
seen, unseen = counts[training], counts[test]
pairs = draw_pairs(news.target[training], np.arange(training.size), n_pairs=500, random_state=0)
must_link, cannot_link = pairs.first(500)

pipeline = make_pipeline(TfidfTransformer(), HMRFKMeans(n_clusters=3, random_state=0))
pipeline.fit(seen, hmrfkmeans__must_link=must_link, hmrfkmeans__cannot_link=cannot_link)

labels = pipeline.predict(unseen)
print(f"messages never seen: NMI {normalized_mutual_information(news.target[test], labels):.2f}")
print(pipeline.transform(unseen)[:3].round(2))
