"""The session behind the page: one question at a time, answers saved at once, a model that follows them."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hmrf_fast import inputs
from hmrf_fast.active import SuperInstances
from hmrf_fast.active.knowledge import DIFFERENT, SAME, UNKNOWN
from hmrf_fast.constraints import Constraints
from hmrf_fast.errors import AnswerError, StaleError
from hmrf_fast.io import DataSet, write_constraints, write_weights
from hmrf_fast.labeling.refit import Finding, Refit, Snapshot
from hmrf_fast.reporting.colors import cluster_color
from hmrf_fast.reporting.facts import seen_by_metric
from hmrf_fast.reporting.names import Names
from hmrf_fast.reporting.pair_terms import PairExplainer

VALUES = 12  # shown of a row without a text
WORDS = {"same": True, "different": False, "unknown": None}
_NAMED = {SAME: "same", DIFFERENT: "different", UNKNOWN: "unknown"}


class Desk:
    """A labelling session that several requests may share: every method takes its turn.

    Parameters
    ----------
    data : DataSet
        The rows, with texts and names where there are any.
    n_clusters : int, optional
        If it is known; saves questions.
    session : path-like
        File that keeps the answers. ``hmrf-fast ask`` and `SuperInstances` with the same parameters go on with it, and
        it with theirs.
    out, weights : path-like, optional
        CSV files for the pairs that follow from the answers, and for the weights of the rows: written at the start and
        after every answer.
    metric : {"cosine", "i_divergence", "sqeuclidean", "pearson"}, default="cosine"
    budget : int or None, default=100
        Most questions.
    constraints : Constraints, optional
        What is known already.
    random_state : int, default=0
    n_threads : int, optional
    width : int, default=2000
        Characters shown of a text.

    Attributes
    ----------
    learner : SuperInstances
        Its ``constraints_``, ``sample_weight_`` and so on are true after every answer.

    Raises
    ------
    InputError, ConstraintError, SessionError, FileError
        As for `SuperInstances.start`; or a file cannot be written.
    """

    def __init__(
        self,
        data: DataSet,
        n_clusters: int | None = None,
        *,
        session: str | os.PathLike[str],
        out: str | os.PathLike[str] | None = None,
        weights: str | os.PathLike[str] | None = None,
        metric: str = "cosine",
        budget: int | None = 100,
        constraints: Constraints | None = None,
        random_state: int = 0,
        n_threads: int | None = None,
        width: int = 2000,
    ) -> None:
        self.learner = SuperInstances(
            n_clusters, metric=metric, budget=budget, random_state=random_state, n_threads=n_threads
        )
        self.learner.start(data.matrix, constraints=constraints, session=session)
        self._lock, self._revision = threading.Lock(), 0
        self._data, self._width = data, width
        self._files = {
            name: None if path is None else Path(path)
            for name, path in (("session", session), ("pairs", out), ("weights", weights))
        }
        self._names = Names(data.feature_names, data.texts, data.ids, None)
        self._matrix = inputs.check_matrix(self.learner, data.matrix, reset=False)
        rows, shares, centred = seen_by_metric(self._matrix, metric, n_threads)
        self._explain = PairExplainer(rows, centred, self._names.feature)
        settings = {"metric": metric, "random_state": random_state, "n_threads": n_threads}
        self._save()
        self._refit = Refit(data.matrix, (shares, centred), self._names.feature, n_clusters, **settings)
        self._follow()

    def state(self) -> dict[str, Any]:
        """Everything that the page shows.

        Returns
        -------
        dict of JSON values
        """
        with self._lock:
            return self._state()

    def answer(self, revision: int, pair: Sequence[int], word: str) -> dict[str, Any]:
        """Take an answer to the question that is open, save it, and return the state after it.

        Parameters
        ----------
        revision : int
            That of the state in which the question was seen.
        pair : (int, int)
            The question.
        word : {"same", "different", "unknown"}

        Returns
        -------
        dict
            See `state`.

        Raises
        ------
        StaleError
            The question is not open any more: a second key, or another window, was faster.
        AnswerError
            It is none of these words.
        SessionError, ContradictionError, FileError
            Nothing was taken, or, with `FileError`, only the copy of the pairs could not be written.
        """
        if word not in WORDS:
            raise AnswerError(f"the answer is {word!r}; it must be one of {', '.join(WORDS)}")
        with self._lock:
            open_now = self._question()
            if revision != self._revision or open_now is None or tuple(pair) != open_now:
                raise StaleError("this question is answered already; the page shows the one that is open now")
            self.learner.tell([open_now], [WORDS[word]])
            return self._changed()

    def undo(self, revision: int) -> dict[str, Any]:
        """Take the last answer back, and return the state after it.

        Parameters
        ----------
        revision : int
            That of the state in which it was seen.

        Returns
        -------
        dict
            See `state`.

        Raises
        ------
        StaleError
            Something else happened since the state of that revision.
        InputError
            There is no answer.
        SessionError, FileError
        """
        with self._lock:
            if revision != self._revision:
                raise StaleError("something else was answered or taken back since; the page shows where things stand")
            self.learner.undo()
            return self._changed()

    def close(self) -> None:
        """End the fit in the background."""
        self._refit.close()

    def _changed(self) -> dict[str, Any]:
        self._revision += 1
        self._follow()
        self._save()
        return self._state()

    def _follow(self) -> None:
        learner = self.learner
        known = learner.constraints_, learner.sample_weight_, learner.neighborhoods_
        self._refit.put(Snapshot(learner.n_queries_, *known))

    def _save(self) -> None:
        if self._files["pairs"]:
            write_constraints(self._files["pairs"], self.learner.constraints_, self._data.ids)
        if self._files["weights"]:
            write_weights(self._files["weights"], self.learner.sample_weight_, self._data.ids)

    def _question(self) -> tuple[int, int] | None:
        asked = self.learner.ask(1).tolist()
        return (asked[0][0], asked[0][1]) if asked else None

    def _state(self) -> dict[str, Any]:
        learner, question = self.learner, self._question()
        sizes = [rows.size for rows in learner.neighborhoods_]
        return {
            "revision": self._revision,
            "n_rows": self._data.n_rows,
            "answered": learner.n_queries_,
            "budget": learner.budget,
            "stop": learner.stop_reason_,
            "neighborhoods": len(sizes),
            "placed": sum(sizes),
            "question": None if question is None else self._told(*question),
            "last": self._last(),
            "fit": _of_finding(self._refit.finding),
            "fitting": self._refit.is_busy,
            "files": {name: path and path.name for name, path in self._files.items()},
        }

    def _told(self, i: int, j: int) -> dict[str, Any]:
        found = self._explain(i, j)
        return {
            "pair": [i, j],
            "rows": [{"name": self._names.row(row), "text": self._text(row)} for row in (i, j)],
            "shared": found.shared,
            "alone": [found.first, found.second],
            "similarity": found.similarity,
        }

    def _text(self, row: int) -> str:
        told = self._names.text(row)
        if not told and self._names.texts is None:
            values = self._matrix[[row]]
            largest = np.argsort(-np.abs(values.data), kind="stable")[:VALUES]
            told = ", ".join(f"{self._names.feature(values.indices[k])} {values.data[k]:.4g}" for k in largest)
        return told if len(told) <= self._width else told[: self._width].rstrip() + " \N{HORIZONTAL ELLIPSIS}"

    def _last(self) -> dict[str, Any] | None:
        """The last answer, and what it means for its two rows."""
        if not self.learner.n_queries_:
            return None
        (i, j), answer = self.learner.pairs_[-1].tolist(), int(self.learner.answers_[-1])
        homes = {int(row): rows.size for rows in self.learner.neighborhoods_ for row in np.intersect1d(rows, [i, j])}
        return {
            "answer": _NAMED[answer],
            "rows": [self._names.row(row) for row in (i, j)],
            "sizes": [homes.get(row, 1) for row in (i, j)],
        }


def _of_finding(found: Finding | None) -> dict[str, Any] | None:
    if found is None:
        return None
    clusters = [
        {"size": size, "known": known, "terms": terms, "color": cluster_color(number)}
        for number, (size, known, terms) in enumerate(zip(found.sizes, found.known, found.terms, strict=True))
    ]
    return {
        "answered": found.answered,
        "seconds": round(found.seconds, 2),
        "moved": found.n_moved,
        "flows": found.flows,
        "clusters": clusters,
        "error": found.error,
    }
