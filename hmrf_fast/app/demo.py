"""The command ``hmrf-fast demo``: the paper's experiment in small, on the bundled newsgroup messages."""

from __future__ import annotations

from time import perf_counter
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from hmrf_fast.app.common import NThreads, RandomState, exit_codes

__all__ = ["HELP", "demo"]

HELP = """Show on 300 bundled newsgroup messages what constraints are worth.

For the four algorithms of the KDD 2004 paper and this library's default: how well the clusters agree with the
newsgroups (normalised mutual information, on messages that no constraint touches) when 0, 100 and 500 pairs are known.

\b
    hmrf-fast demo --runs 20
"""

# One line for each paragraph: the console breaks it where the window ends.
READING = (
    "Test-half NMI: agreement of the clusters with the newsgroups (1 = the same, 0 = chance), on messages that no "
    "constraint touches. KMeans is the paper's unsupervised baseline from its printed start; -I starts from the "
    "constraints, -C also weighs them in every assignment, -D also learns the distance; default is this library with "
    "nothing set."
)
COUNTS = (0, 100, 500)
METRICS = (("cosine", "tfidf"), ("i_divergence", "counts"))
N_TERMS = 8


class Outcome(NamedTuple):
    """Scores of one metric, and the default algorithm's fit of the first run with the most constraints."""

    scores: dict[str, np.ndarray]  # algorithm -> (n_runs, n_counts) normalised mutual information
    model: Any
    seconds: float


def demo(
    runs: Annotated[int, typer.Option(min=1, help="Random splits and draws to average over.")] = 5,
    quick: Annotated[bool, typer.Option("--quick", help="One run only.")] = False,
    random_state: RandomState = 0,
    n_threads: NThreads = None,
) -> None:
    """Run the command."""
    runs = 1 if quick else runs
    console = Console()
    with exit_codes():
        from hmrf_fast import datasets

        started = perf_counter()
        console.print(f"Clustering 300 newsgroup messages, {runs} run(s); the first one ever compiles the kernels.")
        console.print(READING, highlight=False)
        for metric, values in METRICS:
            corpus = datasets.load("news_different_3", values=values)
            with console.status(f"{metric} on {values}: {runs} run(s)"):
                outcome = _measure(corpus, metric, runs, random_state, n_threads)
            console.print(_score_table(metric, values, outcome, runs))
            if metric == METRICS[0][0]:
                shown = outcome.model
                terms = _term_table(shown, corpus)
        console.print(terms)
        console.print(f"\nThe constraints of that fit ({METRICS[0][0]}, {COUNTS[-1]} pairs):", highlight=False)
        console.print(str(shown.constraint_report_), highlight=False, markup=False)
        console.print(f"\n{perf_counter() - started:.1f} seconds in all, compiling included", highlight=False)


def _measure(corpus: Any, metric: str, runs: int, random_state: int, n_threads: int | None) -> Outcome:
    """Cluster all rows of each split under pairs from one half, and score the other half."""
    from hmrf_fast.ablations import ABLATIONS
    from hmrf_fast.protocol import draw_pairs, split_halves
    from hmrf_fast.scores import normalized_mutual_information

    started = perf_counter()
    scores = {name: np.zeros((runs, len(COUNTS))) for name in ABLATIONS}
    shown = None
    for run in range(runs):
        rng = np.random.default_rng((random_state, run))
        training, test = split_halves(corpus.target, rng)
        drawn = draw_pairs(corpus.target, training, max(COUNTS), rng)
        for name in ABLATIONS:
            model = None
            for column, count in enumerate(COUNTS):
                # Plain k-means never sees a constraint: one fit serves all columns.
                if model is None or name != "KMeans":
                    model = _fitted(name, corpus.data, metric, drawn.first(count), random_state + run, n_threads)
                scores[name][run, column] = normalized_mutual_information(corpus.target[test], model.labels_[test])
            if run == 0 and name == "default":
                shown = model
    return Outcome(scores, shown, perf_counter() - started)


def _fitted(name: str, data: Any, metric: str, pairs: Any, random_state: int, n_threads: int | None) -> Any:
    from hmrf_fast import HMRFKMeans
    from hmrf_fast.ablations import ABLATIONS, constraints_for

    common: dict[str, Any] = {"n_clusters": 3, "metric": metric, "random_state": random_state, "n_threads": n_threads}
    return HMRFKMeans(**common, **ABLATIONS[name]).fit(data, **constraints_for(name, *pairs))


def _score_table(metric: str, values: str, outcome: Outcome, runs: int) -> Table:
    table = Table(title=f"{metric} on {values}: test-half NMI, mean of {runs} run(s), {outcome.seconds:.1f} s")
    table.add_column("algorithm")
    for count in COUNTS:
        table.add_column(f"{count} constraints", justify="right")
    for name, scores in outcome.scores.items():
        table.add_row(name, *(f"{mean:.3f}" for mean in scores.mean(axis=0)))
    return table


def _term_table(model: Any, corpus: Any) -> Table:
    """Return the heaviest terms of every centroid, and the newsgroup that most of the cluster's messages come from."""
    table = Table(title=f"Clusters of the default algorithm with {COUNTS[-1]} constraints, first run")
    for heading in ("cluster", "messages", "mostly from", "top terms"):
        table.add_column(heading)
    for cluster, centroid in enumerate(model.cluster_centers_):
        members = corpus.target[model.labels_ == cluster]
        groups = np.bincount(members, minlength=len(corpus.target_names))
        mostly = f"{corpus.target_names[groups.argmax()]} ({groups.max()})" if members.size else "nothing"
        top = corpus.feature_names[np.argsort(-centroid, kind="stable")[:N_TERMS]]
        table.add_row(str(cluster), str(members.size), mostly, ", ".join(top))
    return table
