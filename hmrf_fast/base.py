"""The one fit() of every estimator: check -> resolve -> start -> iterate -> publish."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Self

import numpy as np
from scipy.optimize import linear_sum_assignment

from hmrf_fast import inputs
from hmrf_fast.assembly import Task, assemble, warn_of
from hmrf_fast.batches import BatchLearner
from hmrf_fast.checkpoint import Journey, start_journey
from hmrf_fast.chunklets import NOTHING_TAUGHT, learn_from_must_links
from hmrf_fast.constraint_report import Suspect, build_report
from hmrf_fast.constraints import Constraints
from hmrf_fast.doubt import Doubted, Setting, doubt, without
from hmrf_fast.draws import generator
from hmrf_fast.editing import Training
from hmrf_fast.edits import Edit
from hmrf_fast.em import Options, Start, run
from hmrf_fast.errors import ConvergenceWarning, EmptyClusterWarning, InputError
from hmrf_fast.fingerprint import fingerprint
from hmrf_fast.full_matrices import Frame, learn_frame, near_origin, refuse_long
from hmrf_fast.groups import Grouping
from hmrf_fast.kernels.mahalanobis import LIFTED, MAHALANOBIS
from hmrf_fast.low_rank import lift
from hmrf_fast.memory import refuse_too_large
from hmrf_fast.outcomes import EMResult, Progress
from hmrf_fast.persistence import save_model
from hmrf_fast.prediction import CentroidModel
from hmrf_fast.reporting.estimator import Reported
from hmrf_fast.settings import Known, Settings, finish_options, given_knowledge, is_array, priced, thread_count
from hmrf_fast.sources import check_source, in_memory
from hmrf_fast.start import judge_for, starts

logger = logging.getLogger("hmrf_fast")


class Clusterer(Reported, BatchLearner, CentroidModel):
    """What all estimators share. A subclass has parameters, documentation and ``_settings()``."""

    def _settings(self) -> Settings:
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file without pickles, whole or not at all; `hmrf_fast.load` reads it.

        Parameters
        ----------
        path : path-like
            By custom ``*.npz``; nothing is appended to the name. The rows of the fit are not part of it.

        Raises
        ------
        FileError
            The file cannot be written.
        NotFittedError
            There is nothing to save yet.
        """
        save_model(self, path)

    def _fit(self, *arguments: Any, settings: Settings | None = None) -> Self:
        """A fit that fails leaves the estimator as it was."""
        before = dict(self.__dict__)
        try:
            return self._checked_fit(self._settings() if settings is None else settings, *arguments)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _checked_fit(
        self,
        settings: Settings,
        X: Any,
        must_link: Any = None,
        cannot_link: Any = None,
        partial_labels: Any = None,
        constraints: Constraints | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """Check everything, then iterate, then publish."""
        matrix = check_source(self, X, reset=True, dtype=self.dtype, copy=self.copy_x)
        if matrix.shape[0] < self.n_clusters:
            raise InputError(f"n_samples={matrix.shape[0]} should be >= n_clusters={self.n_clusters}: ask for fewer")
        if callable(settings.init):
            in_memory(matrix, "init as a function")
        known = given_knowledge(settings, self.n_clusters, must_link, cannot_link, partial_labels, constraints)
        warm = self._previous(settings, matrix)
        merged_into = self.merged_into_ if warm else np.arange(self.n_clusters, dtype=np.int32)
        journey = start_journey(
            self.checkpoint, self.checkpoint_every, inputs.draw_seed(self.random_state), self.random_state is None,
            lambda: fingerprint(settings, self.n_clusters, matrix, known, sample_weight, warm and (warm, merged_into)),
        )  # fmt: skip
        frame = None
        known, doubted = self._trusted(settings, matrix, known, sample_weight, merged_into, journey.place.seed)
        if settings.metric in LIFTED:
            matrix = in_memory(matrix, f"metric={settings.metric!r}")
            task, chosen, frame = self._lifted(settings, matrix, known, sample_weight, merged_into, journey)
        else:
            task = self._assemble(settings, matrix, known, sample_weight, self.n_clusters, merged_into)
            refuse_too_large(task.problem, settings.init, settings.options.learn_weights)
            draws = journey.place.draws
            chosen = iter([warm][draws.drawn :]) if warm else starts(
                task.problem, task.seeds, settings, journey.rng, matrix, draws
            )  # fmt: skip
        if doubted.suspects:
            task = task._replace(resolved=doubted.mark(task.resolved))
        warn_of(task)
        options = finish_options(settings, task.problem)
        if not warm:
            options = options._replace(judge=judge_for(task.problem, settings))
        logger.log(self._level(), "%d rows, %d under constraints", task.problem.n_rows, task.problem.graph.rows.size)

        def one(number: int, start: Start | Progress) -> EMResult:
            told = options._replace(callback=self._progress(number, settings.scale), watch=journey.watch)
            result = run(task.problem, start, told, journey.place.seed + number)
            logger.log(
                self._level(), "start %d: J = %.10g after %d iterations", number, result.objective, result.n_iter
            )
            return result

        result = journey.run(chosen, one)
        if task.resolved.labels is not None and not (warm or settings.fixed_labels or is_array(settings.init)):
            result = _number_by_class(result, task.resolved.labels)
        self._publish(result, task, known, settings, doubted.suspects)
        self._publish_frame(frame, result)
        self._training = Training(X, sample_weight, known.shares)
        return self

    def _assemble(
        self,
        settings: Settings,
        matrix: Any,
        known: Known,
        sample_weight: Any,
        n_clusters: int,
        merged_into: Any,
        same: Task | None = None,
    ) -> Task:
        return assemble(
            settings, matrix, known, sample_weight, n_clusters, thread_count(self.n_threads), type(self).__name__,
            merged_into, same,
        )  # fmt: skip

    def _trusted(
        self, settings: Settings, matrix: Any, known: Known, sample_weight: Any, merged_into: Any, seed: int
    ) -> tuple[Known, Doubted]:
        """What is known without the pairs that are probably wrong, and these."""
        setting = Setting(
            settings, matrix, sample_weight, self.n_clusters, merged_into, thread_count(self.n_threads),
            type(self).__name__, seed,
        )  # fmt: skip
        doubted = doubt(setting, known)
        if doubted.suspects:
            kept = without(known.given, doubted.suspects)
            known = known._replace(given=kept, priced=priced(settings, kept))
        return known, doubted

    def _lifted(
        self, settings: Settings, matrix: Any, known: Known, sample_weight: Any, merged_into: Any, journey: Journey
    ) -> tuple[Task, Iterator[Start], Frame]:
        """The task on products of features, its starts, and the coordinates, which clustering in plain features gives.

        Contradictions are warned of by the caller. Starts that were drawn before an interruption are made again: each
        depends on those before it."""
        full = settings.metric == MAHALANOBIS.name
        refuse_long(matrix, full)
        simple = settings._replace(metric="sqeuclidean")
        near, shift = near_origin(matrix)
        plain = self._assemble(simple, near, known, sample_weight, self.n_clusters, merged_into)
        seed = journey.place.seed
        first = starts(plain.problem, plain.seeds, simple, generator(seed), matrix)
        if isinstance(settings.init, str):
            lesson = learn_from_must_links(plain.problem, plain.seeds, simple.options, settings.n_init, seed, full)
        else:  # centroids from the caller are the only start
            first = (start._replace(centers=start.centers - shift) for start in first)
            lesson = NOTHING_TAUGHT
        frame, labellings = learn_frame(plain.problem, first, lesson, simple.options, settings.weight_prior, seed, full)
        frame = frame._replace(mean=frame.mean + shift)
        task = self._assemble(settings, frame.lift(matrix), known, sample_weight, self.n_clusters, merged_into, plain)
        chosen = (lift(task.problem, labels, frame.weights)._replace(weights=frame.weights) for labels in labellings)
        return task, islice(chosen, journey.place.draws.drawn, None), frame

    def _publish_frame(self, frame: Frame | None, result: EMResult) -> None:
        """Means and matrices in the features of X, in place of what the engine works with."""
        self._frame, self._lifted_centers = frame, None
        if frame is not None:
            self._lifted_centers = result.centers
            self.cluster_centers_, self.metric_matrix_ = frame.matrices(result.centers)
            self.feature_weights_ = np.ones(frame.mean.size)
        elif hasattr(self, "metric_matrix_"):
            del self.metric_matrix_

    def _previous(self, settings: Settings, matrix: Any) -> Start | None:
        """With ``warm_start``, the state of the last fit; its metric's learned parts only while the metric is the
        same."""
        if not (self.warm_start and hasattr(self, "cluster_centers_")):
            return None
        if lifted := {settings.metric, self._fitted.metric} & LIFTED.keys():
            raise InputError(f"warm_start cannot continue metric={min(lifted)!r}; set warm_start=False to fit anew")
        shape, wanted = self.cluster_centers_.shape, (self.n_clusters, matrix.shape[1])
        if shape != wanted:
            raise InputError(
                f"warm_start continues a model of {shape[0]} clusters and {shape[1]} features, but n_clusters="
                f"{wanted[0]} and X has {wanted[1]} features; set warm_start=False to fit anew"
            )
        start = Start(self.cluster_centers_.copy(), self.labels_ if self.labels_.size == matrix.shape[0] else None)
        if self._fitted.metric == settings.metric:
            start = start._replace(weights=self.feature_weights_, alpha=self.smoothing_)
        return start

    def _level(self) -> int:
        return logging.INFO if self.verbose else logging.DEBUG

    def _progress(self, number: int, scale: float) -> Callable[[dict[str, Any]], None]:
        level, callback = self._level(), self.callback

        def notify(state: dict[str, Any]) -> None:
            state["start"] = number
            state["objective"] *= scale
            logger.log(
                level, "start %(start)d, iteration %(iteration)d: J = %(objective).10g, %(changed)d moved", state
            )
            if callback is not None:
                callback(state)

        return notify

    def _publish(
        self, result: EMResult, task: Task, known: Known, settings: Settings, suspects: tuple[Suspect, ...]
    ) -> None:
        self.labels_ = result.labels
        self.cluster_centers_ = result.centers
        self.feature_weights_ = result.weights
        self.smoothing_ = result.alpha
        self._fitted = settings._replace(init=None)  # whatever set_params says later
        self.inertia_ = settings.scale * result.inertia
        self.objective_ = settings.scale * result.objective
        self.objective_history_ = settings.scale * np.array(result.history)
        self.history_steps_ = tuple(result.steps)
        self.n_iter_ = result.n_iter
        self.converged_ = result.converged
        self.constraint_report_ = build_report(task.resolved, result.labels, suspects)
        self.constraints_ = self._given = known.given
        self.edits_: tuple[Edit, ...] = ()
        self._running = None
        self._n_features_out = result.centers.shape[0]
        merged = task.problem.merged
        self.merged_into_ = merged if merged.size else np.arange(self.n_clusters, dtype=np.int32)
        classes = known.given.classes if known.shares is None else np.arange(known.shares.shape[1])
        if len(classes):
            self.classes_ = classes
        elif hasattr(self, "classes_"):
            del self.classes_
        self._warn_of(result, settings.options)

    def _warn_of(self, result: EMResult, options: Options) -> None:
        if result.n_empty:
            warnings.warn(
                f"only {self.n_clusters - result.n_empty} of n_clusters={self.n_clusters} clusters hold rows: "
                "there are fewer distinct rows than clusters; use fewer clusters",
                EmptyClusterWarning,
                stacklevel=6,
            )
        if not result.converged:
            warnings.warn(
                f"not converged within max_iter={options.max_iter} iterations (J = {result.objective:g}); "
                "raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=6,
            )


def _number_by_class(result: EMResult, known: Grouping) -> EMResult:
    """Renumber clusters so that cluster c is the one that holds most rows of the c-th class."""
    n_clusters, labelled = result.centers.shape[0], known.codes >= 0
    table = np.zeros((known.ids.size, n_clusters))
    np.add.at(table, (known.codes[labelled], result.labels[labelled]), 1)
    _, held = linear_sum_assignment(-table)
    order = np.concatenate([held, np.setdiff1d(np.arange(n_clusters), held)])
    rank = np.empty(n_clusters, np.int32)
    rank[order] = np.arange(n_clusters)
    return result._replace(labels=rank[result.labels], centers=result.centers[order])
