"""What is compared: name -> how to fit it. Ours here, other packages in ``peers.py``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from sets import Corpus


class Trial(NamedTuple):
    """What a method gets: rows, pairs and a seed."""

    corpus: Corpus
    must_link: np.ndarray
    cannot_link: np.ndarray
    seed: int

    @property
    def known(self) -> dict[str, np.ndarray]:
        return {"must_link": self.must_link, "cannot_link": self.cannot_link}


class Outcome(NamedTuple):
    """What it answers; NaN where a package does not say."""

    labels: np.ndarray
    iterations: float = np.nan
    objective: float = np.nan


def always(corpus: Corpus) -> bool:
    return True


class Method(NamedTuple):
    """A row of the comparison."""

    fit: Callable[[Trial], Outcome]
    suits: Callable[[Corpus], bool] = always  # whether it makes sense on a set at all
    constrained: bool = True  # False: constraints are not used, so one fit serves all counts
    package: str | None = None  # what must be installed


def is_installed(method: Method) -> bool:
    return method.package is None or find_spec(method.package) is not None


def has_counts(corpus: Corpus) -> bool:
    return corpus.counts is not None


def is_short(corpus: Corpus) -> bool:
    """Dense rows of so few features that a full matrix per cluster can be learned."""
    return isinstance(corpus.X, np.ndarray) and corpus.X.shape[1] <= 100


def scaled_price(corpus: Corpus) -> float:
    """A price of PCKMeans on the scale of the data: the mean of half the squared distance to the mean row.

    The published w = 1 means nothing on measurements whose squared distances are in the thousands."""
    if corpus.metric != "sqeuclidean":
        return 1.0
    return float(0.5 * np.var(corpus.X, axis=0).sum())


def neighborhood_labels(trial: Trial) -> np.ndarray:
    """(n,) the K largest must-link neighbourhoods as classes, -1 elsewhere: what seeds can know from pairs."""
    import scipy.sparse as sp

    n, pairs = trial.corpus.y.size, trial.must_link
    graph = sp.coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), (n, n))
    _, component = sp.csgraph.connected_components(graph, directed=False)
    size = np.bincount(component)
    largest = np.argsort(-size, kind="stable")[: trial.corpus.n_clusters]
    codes = np.full(size.size, -1)
    codes[largest] = np.arange(largest.size)
    codes[size < 2] = -1
    return codes[component]


def _fitted(model: Any, X: Any, known: dict[str, Any]) -> Outcome:
    model.fit(X, **known)
    return Outcome(model.labels_, model.n_iter_, model.objective_)


def _advised(trial: Trial, **settings: Any) -> Outcome:
    """`HMRFKMeans` with the metric that its documentation advises for such rows, and defaults but for the settings."""
    if is_short(trial.corpus):
        settings["metric"] = "mahalanobis"
    return _hmrf(**settings)(trial)


def _hmrf(**settings: Any) -> Callable[[Trial], Outcome]:
    """`HMRFKMeans` with settings; the metric is the set's own unless they name one."""

    def fit(trial: Trial) -> Outcome:
        from hmrf_fast import HMRFKMeans

        corpus = trial.corpus
        metric = settings.get("metric", corpus.metric)
        shared = {"random_state": trial.seed, "n_threads": 1, **settings, "metric": metric}
        X = corpus.counts if metric == "i_divergence" else corpus.X
        return _fitted(HMRFKMeans(corpus.n_clusters, **shared), X, trial.known)

    return fit


def _ablation(name: str, **settings: Any) -> Callable[[Trial], Outcome]:
    """An algorithm of KDD 2004 as printed, one start; see ``hmrf_fast.ablations``."""

    def fit(trial: Trial) -> Outcome:
        from hmrf_fast.ablations import ABLATIONS, constraints_for

        known = constraints_for(name, **trial.known) or dict.fromkeys(trial.known, np.zeros((0, 2), np.int64))
        return _hmrf(n_init=1, **{**ABLATIONS[name], **settings})(trial._replace(**known))

    return fit


def _pckmeans(trial: Trial) -> Outcome:
    from hmrf_fast import PCKMeans

    corpus = trial.corpus
    model = PCKMeans(
        corpus.n_clusters, scaled_price(corpus), metric=corpus.metric, random_state=trial.seed, n_threads=1
    )
    return _fitted(model, corpus.X, trial.known)


def _copkmeans(trial: Trial) -> Outcome:
    from hmrf_fast import COPKMeans

    corpus = trial.corpus
    model = COPKMeans(corpus.n_clusters, metric=corpus.metric, random_state=trial.seed, n_threads=1)
    return _fitted(model, corpus.X, trial.known)


def _seeded(trial: Trial) -> Outcome:
    from hmrf_fast import SeededKMeans

    corpus = trial.corpus
    model = SeededKMeans(corpus.n_clusters, metric=corpus.metric, random_state=trial.seed, n_threads=1)
    return _fitted(model, corpus.X, {"partial_labels": neighborhood_labels(trial)})


def _ours() -> dict[str, Method]:
    methods = {
        "default": Method(_advised),
        "default, doubting pairs": Method(partial(_advised, filter_constraints=True)),
        "default, sqeuclidean": Method(_hmrf(), is_short),
        "default, diagonal": Method(_hmrf(metric="mahalanobis_diagonal"), is_short),
        "default, given pairs": Method(_hmrf(infer_constraints=False)),  # what the documentation advises under noise
        "default, learned weights": Method(_hmrf(learn_weights=True)),
        "default, i_divergence": Method(_hmrf(metric="i_divergence"), has_counts),
        "PCKMeans": Method(_pckmeans),
        "COPKMeans": Method(_copkmeans),
        "SeededKMeans": Method(_seeded),
    }
    for name in ("KMeans", "KMeans-I", "KMeans-I-C", "KMeans-I-C-D"):
        constrained = name != "KMeans"
        methods[name] = Method(_ablation(name), constrained=constrained)
        methods[f"{name}, i_divergence"] = Method(_ablation(name, metric="i_divergence"), has_counts, constrained)
    return methods


OURS = _ours()
