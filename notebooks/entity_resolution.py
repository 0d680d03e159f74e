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
# # The same thing in several catalogues
#
# Five shops sell the same gadgets, each under a title of its own: abbreviated, reordered, misspelt. Which titles mean
# the same product? No shop lists a product twice, so **two titles of one shop never belong together**: one column,
# the shop, gives thousands of cannot-links for nothing.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from hmrf_fast import Constraints, HMRFKMeans, plotting
from hmrf_fast.scores import pairwise_f_measure

# %% [markdown]
# ## The titles
#
# They are made up, so that we know the truth: brands, kinds and models, and what shops do to them. Of every model there
# are two, last year's and this year's, that differ in one digit: twins that titles alone hardly tell apart.

# %%
BRANDS = ("Nordlys", "Kestrel", "Umbra", "Velox", "Åkerman")
KINDS = ("headphones wireless", "camera compact", "keyboard mechanical", "monitor 27 inch", "router dual band")
SHOPS = 6
rng = np.random.default_rng(8)


def misspelt(word):
    """A letter lost, now and then."""
    if len(word) < 5 or rng.random() > 0.2:
        return word
    place = rng.integers(1, len(word))
    return word[:place] + word[place + 1 :]


def title(product):
    """How a shop writes a product: words in any order, some left out, some short, some wrong."""
    brand, kind, series = product
    words = [brand, *kind.split(), series, rng.choice(["new", "offer", "black", "2025", "free shipping"])]
    kept = [misspelt(word) for word in words if word in (brand, series) or rng.random() > 0.1]
    return " ".join(kept[k] for k in rng.permutation(len(kept)))


products = []
for brand in BRANDS:
    for kind in KINDS[: rng.integers(2, 6)]:
        name = "".join(rng.choice(list("BCDFGHKLMPRSTVX"), 3)) + str(rng.integers(10, 99))
        products += [(brand, kind, name + "0"), (brand, kind, name + "5")]  # last year's and this year's
rows = [(shop, number) for shop in range(SHOPS) for number in range(len(products)) if rng.random() > 0.15]
shop, truth = np.array(rows).T
texts = [title(products[number]) for number in truth]
print(len(texts), "titles of", len(products), "products, for instance:", *texts[:4], sep="\n  ")

# %%
vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4))
X = vectorizer.fit_transform(texts)

# %% [markdown]
# ## One per source
#
# `cannot_link_groups` takes the shop of every title. An infinite weight makes the links hard: no two titles of one shop
# share a cluster. The pairs themselves are never listed. (How much is gained varies with the titles: from 0.04 to 0.17
# in pairwise F for the two seeds we tried.)

# %%
settings = {"n_clusters": len(products), "init": "k-means++", "n_init": 10, "random_state": 0}
one_per_shop = Constraints(cannot_link_groups=shop, cannot_link_weight=np.inf)
models = {
    "titles alone": HMRFKMeans(**settings).fit(X),
    "one per shop": HMRFKMeans(**settings).fit(X, constraints=one_per_shop),
}
scores = {}
for name, model in models.items():
    scores[name] = pairwise_f_measure(truth, model.labels_)
    twice = sum(np.sum(np.unique(model.labels_[shop == s], return_counts=True)[1] - 1) for s in range(SHOPS))
    print(f"{name}: pairwise F {scores[name]:.2f}, titles beside another one of their shop: {twice}")
assert scores["one per shop"] > scores["titles alone"]
print(models["one per shop"].constraint_report_)

# %% [markdown]
# ## Look at the doubtful ones
#
# Somebody checks the titles that lie farthest from their cluster's middle against its most typical title, and says
# whether they are the same product. We play that person here.

# %%
model = models["one per shop"]
clusters = model.report(X).facts.examples
pairs = {(rows.near[0].row, row.row): row.distance for rows in clusters for row in rows.far}
pairs = sorted(pairs, key=lambda pair: -pairs[pair])[:40]
same = [pair for pair in pairs if truth[pair[0]] == truth[pair[1]]]
different = [pair for pair in pairs if truth[pair[0]] != truth[pair[1]]]
checked = HMRFKMeans(**settings).fit(X, constraints=one_per_shop.with_pairs(same, different, weight=np.inf))
print(f"{len(same)} are the same, {len(different)} are not")
print(f"pairwise F {pairwise_f_measure(truth, checked.labels_):.2f}")

# %% [markdown]
# ## The report
#
# Everything on one page: `report.save("report.html")` writes it. The same numbers as plots:

# %%
terms = vectorizer.get_feature_names_out()
report = checked.report(X, feature_names=terms, texts=texts, labels=truth)
print(report)
figure, axes = plt.subplots(1, 2, figsize=(11, 4))
plotting.rows_map(report, axes[0])
_ = plotting.objective(report, axes[1])

# %%
report
