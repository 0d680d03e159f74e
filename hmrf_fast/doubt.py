"""Which given pairs are probably wrong: those that a fit which may break any of them does break.

Wrong pairs do most harm by what they entail: a few wrong must-links tie most neighbourhoods into one, and every
must-link inside it is then taken for granted. So pairs are judged without entailed constraints, from starts that no
neighbourhood seeds, at a constant price on the scale of the data: the margin by which rows prefer their centroid when
nothing is known. What the best labels under these prices violate is suspect; the rest holds together, since one
labelling satisfies it.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from hmrf_fast.assembly import Task, assemble
from hmrf_fast.constraint_report import Suspect
from hmrf_fast.constraints import Constraints
from hmrf_fast.draws import generator
from hmrf_fast.e_step import build_table, distances_of
from hmrf_fast.em import Start, run
from hmrf_fast.geometry import Problem, measure
from hmrf_fast.kernels.mahalanobis import LIFTED
from hmrf_fast.neighborhoods import Resolved, resolve
from hmrf_fast.outcomes import EMResult, keep_best
from hmrf_fast.seeds import no_seeds
from hmrf_fast.settings import Known, Settings, priced
from hmrf_fast.start import starts
from hmrf_fast.violations import violations

# Price of a pair, in mean margins. Dear pairs hide behind one another, cheap ones lose against rows that lie badly: of
# 88 pairs in 500 that were turned round, prices 0.5 / 1 / 2 find 75 / 58 / 38 on classic400 (and accuse 0 / 1 / 4 that
# are right), 77 / 72 / 67 on iris (7 / 8 / 10), 62 / 56 / 54 on related news (33 / 26 / 23).
PRICE = 0.5
LOWEST_SHARE = 0.01  # of wrong pairs, where few or none are found


class Setting(NamedTuple):
    """What all fits here share."""

    settings: Settings
    matrix: sp.csr_matrix
    sample_weight: np.ndarray | None
    n_clusters: int
    merged_into: np.ndarray
    n_threads: int
    whose: str
    seed: int

    def task(self, known: Known, settings: Settings) -> Task:
        return assemble(
            settings, self.matrix, known, self.sample_weight, self.n_clusters, self.n_threads, self.whose,
            self.merged_into,
        )  # fmt: skip

    def best(self, task: Task, settings: Settings, also: Iterable[Start] = ()) -> EMResult:
        """The best of all starts that constraints do not seed, and of further ones."""
        unseeded, rng = no_seeds(task.problem.n_rows), generator(self.seed)
        tried = chain(starts(task.problem, unseeded, settings, rng, self.matrix), also)
        best: list[EMResult] = []
        for number, start in enumerate(tried):
            best = keep_best(best, run(task.problem, start, settings.options, self.seed + number))
        return best[0]


class Doubted(NamedTuple):
    """What was found, and what the given pairs had said before the suspects were left out."""

    suspects: tuple[Suspect, ...]
    whole: Resolved | None

    def mark(self, resolved: Resolved) -> Resolved:
        """The kept constraints with the contradictions of all that was given."""
        assert self.whole is not None
        return resolved._replace(contradictions=self.whole.contradictions, n_contradictions=self.whole.n_contradictions)


def doubt(setting: Setting, known: Known) -> Doubted:
    """Look for wrong pairs where the settings say so; with "auto" where given pairs contradict one another."""
    settings, n_pairs = setting.settings, len(known.priced.must_link) + len(known.priced.cannot_link)
    if not settings.doubt or n_pairs == 0:
        return Doubted((), None)
    whole = resolve(known.priced, setting.matrix.shape[0], infer=settings.infer)
    if settings.doubt == "auto" and whole.n_contradictions == 0:
        return Doubted((), None)
    return Doubted(find_suspects(setting, known.given), whole)


def find_suspects(setting: Setting, given: Constraints) -> tuple[Suspect, ...]:
    """The given soft pairs that are probably wrong, the most probable first; two further fits.

    Hard pairs, groups and labels are not doubted.
    """
    options = setting.settings.options._replace(learn_weights=False, callback=None, watch=None)
    metric = "sqeuclidean" if setting.settings.metric in LIFTED else setting.settings.metric
    simple = setting.settings._replace(metric=metric, init="auto", options=options, penalty="potts", infer=False)
    free = setting.task(Known(Constraints(), Constraints(), None), simple)
    first = setting.best(free, simple)
    margin = _margin(_distances(free.problem, first, np.arange(free.problem.n_rows)), free.problem.sample_weight)
    if not margin > 0:
        return ()
    price = PRICE * margin
    weights = {kind: price * getattr(setting.settings, kind) for kind in ("must_link_weight", "cannot_link_weight")}
    doubting = simple._replace(**weights)
    task = setting.task(Known(given, priced(doubting, given), None), doubting)
    result = setting.best(task, doubting, [Start(first.centers, first.labels)])
    found = violations(task.resolved, result.labels)
    pairs = np.concatenate([given.must_link, given.cannot_link])
    kind = np.repeat([1, -1], [len(given.must_link), len(given.cannot_link)])
    weight = np.concatenate([task.resolved.must_link_weight, task.resolved.cannot_link_weight])
    broken = np.concatenate([found.must_link, found.cannot_link])
    chance = _chances(task.problem, result, pairs, kind, weight, broken, price)
    listed = np.flatnonzero(broken & np.isfinite(weight) & (weight > 0))
    listed = listed[np.argsort(-chance[listed], kind="stable")]
    return tuple(
        Suspect((int(pairs[k, 0]), int(pairs[k, 1])), "must_link" if kind[k] > 0 else "cannot_link", float(chance[k]))
        for k in listed
    )


def without(given: Constraints, suspects: tuple[Suspect, ...]) -> Constraints:
    """The constraints but for the suspects."""
    named = {(suspect.kind, suspect.pair) for suspect in suspects}

    def keep(kind: str) -> np.ndarray:
        return np.array([(kind, (i, j)) not in named for i, j in getattr(given, kind).tolist()], dtype=bool)

    return given.kept(keep("must_link"), keep("cannot_link"))


def _distances(problem: Problem, result: EMResult, rows: np.ndarray) -> np.ndarray:
    """(r, K) distances to the centroids of a fit."""
    clusters = problem.metric.cluster_terms(result.centers, result.weights, result.alpha)
    table, few = build_table(problem, clusters), problem.rows.take(rows)
    return distances_of(problem, measure(problem, result.weights), clusters, table, few)


def _margin(distances: np.ndarray, weight: np.ndarray) -> float:
    """How much farther the second-nearest centroid is than the nearest, on average."""
    if distances.shape[1] < 2 or not weight.any():
        return 0.0
    nearest = np.partition(distances, 1, axis=1)[:, :2]
    gap = nearest[:, 1] - nearest[:, 0]
    usable = np.isfinite(gap)
    return float(np.average(gap[usable], weights=weight[usable])) if weight[usable].any() else 0.0


def _chances(
    problem: Problem, result: EMResult, pairs: np.ndarray, kind: np.ndarray, weight: np.ndarray, broken: np.ndarray,
    price: float,
) -> np.ndarray:  # fmt: skip
    """(m,) probability that each pair is wrong, given the rows, the labels and all other pairs.

    Of either end the memberships follow from its distances and from the labels at the other ends of its other pairs;
    the prices are log-odds of a share of wrong pairs, that of the broken ones. A pair is then right or wrong by Bayes'
    rule.
    """
    share = float(np.clip(np.mean(broken), LOWEST_SHARE, 0.5 - LOWEST_SHARE)) if broken.size else LOWEST_SHARE
    rows, ends = np.unique(pairs, return_inverse=True)
    ends = ends.reshape(-1, 2)
    pull = kind * np.where(np.isfinite(weight), weight, 0.0)
    here = np.eye(problem.n_clusters)[result.labels[rows]]
    links = sp.coo_matrix((pull, (ends[:, 0], ends[:, 1])), shape=(rows.size, rows.size)).tocsr()
    energy = _distances(problem, result, rows) - (links + links.T) @ here
    sharpness = np.log((1.0 - share) / share) / price
    member = []
    for side in (0, 1):
        own = energy[ends[:, side]] + pull[:, None] * here[ends[:, 1 - side]]
        odds = np.exp(-sharpness * (own - own.min(axis=1, keepdims=True)))
        member.append(odds / odds.sum(axis=1, keepdims=True))
    together = np.einsum("ij,ij->i", *member)
    agrees = np.where(kind > 0, together, 1.0 - together)
    return share * (1.0 - agrees) / (share * (1.0 - agrees) + (1.0 - share) * agrees)
