"""Mini-batches: centroids that move towards each batch, the less the more rows they have seen."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from hmrf_fast import inputs
from hmrf_fast.assembly import Task, warn_of
from hmrf_fast.constraint_report import build_report
from hmrf_fast.e_step import assign, violations
from hmrf_fast.editing import Editable, Training
from hmrf_fast.errors import InputError
from hmrf_fast.geometry import Geometry, Problem, build_problem, measure
from hmrf_fast.kernels.mahalanobis import LIFTED
from hmrf_fast.kernels.rng import mix
from hmrf_fast.kernels.types import Sums
from hmrf_fast.m_step import statistics, sum_rows
from hmrf_fast.penalties import empty_graph
from hmrf_fast.settings import Known, Settings, finish_options, given_knowledge, thread_count
from hmrf_fast.sources import as_rows, check_source
from hmrf_fast.weight_step import prior_cost

CALMING = 2.5  # power of the weight seen with which smoothing falls
Running = tuple[np.ndarray, np.ndarray, np.ndarray]  # sums (K, d), their lean (K,), summed weights (K,)


class Answer(NamedTuple):
    """What an E-step says about a batch."""

    labels: np.ndarray
    sums: Sums
    inertia: float
    objective: float


class BatchLearner(Editable):
    """``partial_fit`` of the estimators.

    The rate of a centroid is one over the summed weight that it has ever been given (Sculley, WWW 2010), so it is the
    mean, or the direction of the sum, of all rows ever assigned to it; kept as sums, from which every metric makes its
    centroids as in the M-step.

    Smoothing falls with the weight seen as it does with the iterations of a fit: centroids of few rows lack most words
    that their cluster will see, and with little smoothing those with the most words take most further rows. The first
    batch ends at half of its first value; from there it falls with the power ``CALMING`` to the lowest.
    """

    feature_weights_: np.ndarray
    smoothing_: float
    _running: Running | None = None

    @property
    def counts_(self) -> np.ndarray:
        """(K,) float64: summed weights of the rows that each centroid has seen in ``partial_fit``."""
        if self._running is None:
            raise AttributeError("counts_ is there after partial_fit")
        return self._running[2]

    def _fit_batch(self, X: Any, *knowledge: Any) -> Self:
        """The first batch is fitted like any data; the arguments are those of ``_fit``."""
        if not hasattr(self, "cluster_centers_"):
            settings = self._settings()
            first, lowest = settings.options.smoothing
            options = settings.options._replace(smoothing=(first, max(0.5 * first, lowest)))
            self._fit(X, *knowledge, settings=settings._replace(options=options))
            self._running, self.n_steps_ = self._sums_of_fit(), 1
            return self
        settings, sample_weight = self._batch_settings(), knowledge[-1]
        running, steps = self._running or self._sums_of_fit(), 1 if self._running is None else self.n_steps_
        matrix = check_source(self, X, reset=False, dtype=self.dtype, copy=self.copy_x)
        known = given_knowledge(settings, self.n_clusters, *knowledge[:-1])
        self._refuse_other_classes(settings, known)
        task = self._assemble(settings, matrix, known, sample_weight, self.n_clusters, self.merged_into_)
        warn_of(task)
        seed = np.uint64(mix(np.uint64(inputs.draw_seed(self.random_state)), np.uint64(steps)))
        answer = self._answer(task.problem, settings, seed)
        found = answer.sums.linear * _inverse(answer.sums), answer.sums.lean, answer.sums.mass
        seen = running[2].sum()
        running = tuple(old + new for old, new in zip(running, found, strict=True))
        lowest, calmer = settings.options.smoothing[1], (seen / running[2].sum()) ** CALMING
        self.smoothing_ = max(calmer * self.smoothing_, min(self.smoothing_, lowest))
        self.cluster_centers_ = self._centers_of(task.problem, running)
        self._running, self.n_steps_ = running, steps + 1
        self._publish_batch(answer, task, known, settings.scale)
        self._training = Training(X, sample_weight, known.shares)
        return self

    def _batch_settings(self) -> Settings:
        """The parameters, if they go with the model."""
        settings = self._settings()
        if lifted := {settings.metric, self._fitted.metric} & LIFTED.keys():
            raise InputError(f"partial_fit cannot continue metric={min(lifted)!r}; use fit")
        shape = self.cluster_centers_.shape
        if (settings.metric, self.n_clusters) != (self._fitted.metric, shape[0]):
            raise InputError(
                f"partial_fit continues a model with metric={self._fitted.metric!r} and {shape[0]} clusters, but "
                f"metric={settings.metric!r} and n_clusters={self.n_clusters}; use fit"
            )
        return settings

    def _refuse_other_classes(self, settings: Settings, known: Known) -> None:
        """Class c is cluster c where labels are kept, so every batch must speak of the same classes."""
        here, there = list(known.given.classes), list(getattr(self, "classes_", ()))
        count = len(here) if known.shares is None else known.shares.shape[1]
        if settings.fixed_labels and count and (count != len(there) or (known.shares is None and here != there)):
            raise InputError(
                f"this batch speaks of {count} classes {here or ''}, the model knows {there}: give labels of all of "
                "them, or probabilities with one column per class"
            )

    def _answer(self, problem: Problem, settings: Settings, seed: np.uint64) -> Answer:
        """Labels of a batch under the centroids as they are. Cost: one E-step."""
        geometry = measure(problem, self.feature_weights_)
        clusters = problem.metric.cluster_terms(self.cluster_centers_, self.feature_weights_, self.smoothing_)
        labels, nearest = assign(problem, geometry, clusters, None, seed, settings.options.e_step)
        inertia = float(np.sum(problem.sample_weight * nearest))
        rest = violations(problem, geometry, labels)[0] + problem.priors.total(labels)
        rest += prior_cost(finish_options(settings, problem).prior, self.feature_weights_)
        return Answer(labels, _sums(problem, geometry, labels), inertia, inertia + rest)

    def _centers_of(self, problem: Problem, running: Running) -> np.ndarray:
        table, lean, mass = running
        centers = problem.metric.centers(Sums(table, lean, mass), self.feature_weights_, self.smoothing_)
        centers[mass == 0] = self.cluster_centers_[mass == 0]
        return centers[self.merged_into_]

    def _sums_of_fit(self) -> Running:
        """Sums of the rows of the last fit under its labels; cost nnz."""
        if self._training.X is None:
            raise InputError("this model was loaded or copied and the rows of its fit stayed behind: fit anew")
        matrix = check_source(self, self._training.X, reset=False, dtype=self.dtype)
        problem = build_problem(
            as_rows(matrix), self._fitted.metric,
            inputs.check_sample_weight(self._training.sample_weight, matrix), empty_graph(), self.n_clusters,
            n_threads=thread_count(self.n_threads),
        )  # fmt: skip
        sums = _sums(problem, measure(problem, self.feature_weights_), self.labels_)
        return sums.linear * _inverse(sums), sums.lean, sums.mass

    def _publish_batch(self, answer: Answer, task: Task, known: Known, scale: float) -> None:
        """Attributes that speak of rows speak of this batch from now on."""
        self.labels_ = answer.labels
        self.inertia_, self.objective_ = scale * answer.inertia, scale * answer.objective
        self.objective_history_ = np.array([self.objective_])
        self.history_steps_: tuple[str, ...] = ("E",)
        self.constraint_report_ = build_report(task.resolved, answer.labels)
        self.constraints_ = self._given = known.given
        self.edits_ = ()


def _sums(problem: Problem, geometry: Geometry, labels: np.ndarray) -> Sums:
    return statistics(problem, geometry, sum_rows(problem, geometry, labels))


def _inverse(sums: Sums) -> Any:
    return sums.inverse if sums.inverse.size else 1.0
