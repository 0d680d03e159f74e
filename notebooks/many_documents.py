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
# # 100,000 documents, with checkpoints
#
# Documents stream from a file into a *store* on disk, a thousand at a time; the fit reads the store block by block and
# writes down how far it is. We break it off, begin again, and get the bits of a fit that was never broken off.
#
# A small number is set here; `HMRF_DOCUMENTS=100000` in the environment is the title's.

# %%
import gzip
import json
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.pipeline import make_pipeline

from hmrf_fast import HMRFKMeans, datasets, estimate_memory, io, rows
from hmrf_fast.protocol import draw_pairs
from hmrf_fast.scores import normalized_mutual_information

N_DOCUMENTS = int(os.environ.get("HMRF_DOCUMENTS", "3000"))
folder = Path(tempfile.mkdtemp())

# %% [markdown]
# ## The documents
#
# They are made up, so that nothing is downloaded: each takes its words from a mixture of what one newsgroup's messages
# say and what all of them say. Nine newsgroups come with the package.

# %%
rng = np.random.default_rng(0)
groups, terms = [], []
for name in ("news_different_3", "news_related_3", "news_similar_3"):
    news = datasets.load(name, values="counts")
    for group in range(3):
        groups.append(np.asarray(news.data[news.target == group].sum(axis=0)).ravel())
        terms.append(news.feature_names)

truth = rng.integers(0, len(groups), N_DOCUMENTS)


def documents():
    """One text after the other."""
    shares = [counts / counts.sum() for counts in groups]
    for group in truth:
        own, other = rng.integers(20, 60), rng.integers(0, len(groups))
        words = [*rng.choice(terms[group], own, p=shares[group]), *rng.choice(terms[other], 15, p=shares[other])]
        yield " ".join(words)


with gzip.open(folder / "documents.jsonl.gz", "wt", encoding="utf-8", compresslevel=1) as file:
    for number, text in enumerate(documents()):
        file.write(json.dumps({"id": number, "text": text}) + "\n")
print(f"{N_DOCUMENTS} documents, {(folder / 'documents.jsonl.gz').stat().st_size / 2**20:.1f} MiB")

# %% [markdown]
# ## Into a store
#
# Hashed words need no pass over the texts for a vocabulary; weights of rare words do need one, and see a sample here.

# %%
texts = folder / "documents.jsonl.gz"
sample = [text for _, text in zip(range(1000), io.stream_texts(texts), strict=False)]
vectorizer = make_pipeline(HashingVectorizer(n_features=2**16, alternate_sign=False), TfidfTransformer()).fit(sample)
store = rows.write_texts(folder / "store", io.stream_texts(texts), vectorizer, dtype="float32")
print("rows and features", store.shape, "in", store.nnz, "stored values")

# %% [markdown]
# ## What a fit will take
#
# It asks the same before it begins, and refuses where the machine has less.

# %%
K = len(groups)
estimate = estimate_memory(*store.shape, store.nnz, K, dtype=np.float32)
print(f"about {estimate.total / 2**20:.0f} MiB beside the rows, which stay on disk")

# %% [markdown]
# ## Broken off
#
# `checkpoint` names a file; it is written every `checkpoint_every` seconds, here after every sub-step. The callback
# plays the power cut.

# %%
drawn = draw_pairs(truth, np.arange(N_DOCUMENTS), n_pairs=500, random_state=0)
must_link, cannot_link = drawn.first(500)
settings = {"init": "k-means++", "n_init": 3, "random_state": 0}


def cut(state):
    """Out goes the light, in the second start."""
    if state["start"] == 1:
        raise RuntimeError("power cut")


saved = {"checkpoint": folder / "fit.ckpt", "checkpoint_every": 0}
try:
    HMRFKMeans(K, callback=cut, **saved, **settings).fit(store, must_link=must_link, cannot_link=cannot_link)
except RuntimeError as error:
    print(error, "- the checkpoint has", f"{(folder / 'fit.ckpt').stat().st_size / 2**20:.1f} MiB")

# %% [markdown]
# ## And taken up again
#
# The same call goes on from the file. The store is given by its path this time, as another process would.

# %%
begun = time.perf_counter()
model = HMRFKMeans(K, **saved, **settings).fit(folder / "store", must_link=must_link, cannot_link=cannot_link)
print(f"went on and ended in {time.perf_counter() - begun:.1f} s, {model.n_iter_} iterations in the best start")

whole = HMRFKMeans(K, **settings).fit(store, must_link=must_link, cannot_link=cannot_link)
assert np.array_equal(model.labels_, whole.labels_) and model.objective_ == whole.objective_

# %% [markdown]
# ## What came out

# %%
print(f"NMI with the newsgroups behind the documents: {normalized_mutual_information(truth, model.labels_):.2f}")
print(model.constraint_report_)

# %% [markdown]
# New documents are read the same way; nothing but centroids is needed.

# %%
print(model.predict(vectorizer.transform(sample[:5]).astype(np.float32)), model.labels_[:5])
