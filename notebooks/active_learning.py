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
# # Ask the right questions
#
# Knowledge about pairs costs somebody's time. An active learner chooses the pairs that teach most; this notebook draws
# learning curves as in the figures of Basu, Banerjee and Mooney (SDM 2004): agreement with the true classes by the
# number of questions, active against random.

# %%
import os
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from hmrf_fast import Constraints, HMRFKMeans, PCKMeans, datasets
from hmrf_fast.active import ExploreConsolidate, LabelOracle, SuperInstances
from hmrf_fast.errors import StopAsking
from hmrf_fast.protocol import draw_pairs, split_halves
from hmrf_fast.scores import normalized_mutual_information

RUNS = int(os.environ.get("ACTIVE_RUNS", "2"))  # the curves are smooth with 10
BUDGETS = (0, 20, 50, 100, 200)
news = datasets.load_news_similar_3()
print(news.data.shape, ", ".join(news.target_names))

# %% [markdown]
# ## One session
#
# The learner asks about rows of one half only, so that the other half can be scored. `LabelOracle` stands for a person
# who knows the classes. Every answer is in `pairs_` and `answers_`; what follows from them - rows that belong
# together, and sets that differ - is in `constraints_`.

# %%
training, test = split_halves(news.target, random_state=0)
queries = ExploreConsolidate(n_clusters=3, metric="cosine", budget=100, random_state=0)
queries.fit(news.data, oracle=LabelOracle(news.target), rows=training)
print(queries.n_queries_, "questions:", queries.constraints_)
print("neighbourhoods of", [len(rows) for rows in queries.neighborhoods_], "rows")

# %% [markdown]
# ## Curves
#
# Three ways to spend the questions: random pairs; *Explore* and *Consolidate*, which find one neighbourhood per
# cluster and let them grow; and *super-instances*, which ask about the rows that speak for most others. Their
# `sample_weight_` lets the rows that were placed count double.


# %%
def random_pairs(X, target, training, budget, run):
    """Constraints from pairs drawn at random, and no weights."""
    drawn = draw_pairs(target, training, max(BUDGETS), random_state=run)
    return Constraints(*drawn.first(budget)), None


def explored(X, target, training, budget, run):
    """Constraints from Explore and Consolidate."""
    learner = ExploreConsolidate(len(set(target)), budget=budget, random_state=run)
    learner.fit(X, oracle=LabelOracle(target), rows=training)
    return learner.constraints_, None


def represented(X, target, training, budget, run):
    """Constraints and weights from super-instances."""
    learner = SuperInstances(len(set(target)), budget=budget, random_state=run)
    learner.fit(X, oracle=LabelOracle(target), rows=training)
    return learner.constraints_, learner.sample_weight_


WAYS = {"random pairs": random_pairs, "Explore, Consolidate": explored, "super-instances": represented}


def curve(way, estimator, data):
    """Mean agreement on the test half for every budget."""
    scores = np.zeros((RUNS, len(BUDGETS)))
    for run in range(RUNS):
        training, test = split_halves(data.target, random_state=run)
        for k, budget in enumerate(BUDGETS):
            known, weight = WAYS[way](data.data, data.target, training, budget, run)
            model = estimator(len(data.target_names), random_state=run)
            model.fit(data.data, constraints=known, sample_weight=weight)
            scores[run, k] = normalized_mutual_information(data.target[test], model.labels_[test])
    return scores.mean(axis=0)


# %%
sets = {"similar topics": news, "different topics": datasets.load_news_different_3()}
figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), sharey=True)
for axis, (title, data) in zip(axes, sets.items(), strict=True):
    for way in WAYS:
        axis.plot(BUDGETS, curve(way, HMRFKMeans, data), marker="o", label=way)
    axis.set(title=title, xlabel="questions")
axes[0].set(ylabel="NMI on the test half")
_ = axes[0].legend()

# %% [markdown]
# The same with `PCKMeans` from its own start, the algorithm of the paper. Without constraints it knows nothing about
# where to begin, so questions matter even more.


# %%
def spherical_pckmeans(n_clusters, random_state):
    """Constant prices, cosine distance, the printed start."""
    return PCKMeans(n_clusters, metric="cosine", init="printed", n_init=1, random_state=random_state)


figure, axis = plt.subplots(figsize=(5, 3.5))
for way in ("random pairs", "Explore, Consolidate"):
    axis.plot(BUDGETS, curve(way, spherical_pckmeans, sets["different topics"]), marker="o", label=way)
axis.set(title="PCKMeans, different topics", xlabel="questions", ylabel="NMI on the test half")
_ = axis.legend()

# %% [markdown]
# ## People stop, and come back
#
# A session file keeps every answer as soon as it is given. Here somebody answers ten questions and quits; the next
# day the session goes on, and no question is put twice.

# %%
answer = LabelOracle(news.target)
left = iter(range(10))


def tired(i, j):
    """Ten answers, then a break."""
    if next(left, None) is None:
        raise StopAsking("enough for today")
    return answer(i, j)


with tempfile.TemporaryDirectory() as folder:
    session = Path(folder) / "answers.jsonl"
    learner = ExploreConsolidate(n_clusters=3, budget=30, random_state=0)
    learner.fit(news.data, oracle=tired, session=session)
    print(learner.n_queries_, "answers, stopped:", learner.stop_reason_)
    learner.fit(news.data, oracle=answer, session=session)
    print(learner.n_queries_, "answers, stopped:", learner.stop_reason_)
    asked = {tuple(sorted(pair)) for pair in learner.pairs_.tolist()}
    assert len(asked) == len(learner.pairs_)

# %% [markdown]
# ## Ask, answer, refit
#
# With `warm_start=True` a further fit begins where the last one ended, and cluster ids stay.

# %%
learner = SuperInstances(n_clusters=3, budget=60, random_state=0).start(news.data)
model = HMRFKMeans(3, random_state=0, warm_start=True)
while len(pairs := learner.ask(5)):
    learner.tell(pairs, [answer(i, j) for i, j in pairs])
    if learner.n_queries_ % 20 == 0:
        model.fit(news.data, constraints=learner.constraints_)
        print(f"{learner.n_queries_} answers: {model.n_iter_} iterations, J = {model.objective_:.2f}")
