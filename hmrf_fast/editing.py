"""Corrections by hand: move a row, merge two clusters, split one, and keep everything else as it is.

Each correction changes labels and the centroids of the clusters it names, bit for bit nothing else, and is recorded
as hard constraints between representative rows (the row nearest to its centroid stands for a cluster), so that a
later fit with ``constraints=model.constraints_`` honours it. Earlier corrections that a later one undoes are
forgotten.
"""

from __future__ import annotations

import numbers
import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from hmrf_fast import inputs
from hmrf_fast.constraint_report import ConstraintReport, build_report
from hmrf_fast.constraints import Constraints
from hmrf_fast.edits import Edit
from hmrf_fast.em import Start, revise
from hmrf_fast.errors import ConstraintError, HMRFWarning, InputError
from hmrf_fast.kernels.mahalanobis import LIFTED
from hmrf_fast.label_priors import LabelPriors
from hmrf_fast.neighborhoods import Resolved, hard_nodes, resolve
from hmrf_fast.settings import Known, Settings, finish_options, priced
from hmrf_fast.violations import violations


class Training(NamedTuple):
    """What a fit was given. The rows are held by reference, and never pickled or copied with the model."""

    X: Any
    sample_weight: Any
    shares: np.ndarray | None  # class probabilities


class Editable(BaseEstimator):
    """The corrections of a fitted estimator."""

    labels_: np.ndarray
    cluster_centers_: np.ndarray
    merged_into_: np.ndarray
    edits_: tuple[Edit, ...]
    _training: Training
    constraint_report_: ConstraintReport
    _fitted: Settings
    _n_features_out: int

    def move(self, row: int, cluster: int, *, X: Any = None) -> Self:
        """Put a row into a cluster, together with the rows that hard must-links tie to it.

        Parameters
        ----------
        row : int
        cluster : int
            Id of the cluster it belongs to.
        X : {array-like, sparse matrix} of shape (n, d), optional
            The rows of the fit, for a model that was unpickled or copied: its rows stay behind.

        Returns
        -------
        self

        Raises
        ------
        InputError
            There is no such row or cluster, or nothing would be left of the row's own cluster.
        ConstraintError
            A hard constraint forbids it. Nothing is changed then.
        """
        matrix = self._rows(X)
        inputs.check_number("row", row, numbers.Integral, 0, len(self.labels_) - 1)
        row, cluster, source = int(row), self._cluster(cluster), int(self.labels_[row])
        nodes = hard_nodes(resolve(priced(self._fitted, self._given), len(self.labels_)))
        group = np.array([row]) if nodes[row] < 0 else np.flatnonzero(nodes == nodes[row])
        if cluster != source and np.count_nonzero(self.labels_ == source) == group.size:
            raise InputError(f"moving row {row} would leave nothing of cluster {source}: merge {source} and {cluster}")
        labels = self.labels_.copy()
        labels[group] = cluster
        others = np.setdiff1d(np.arange(labels.size), group)
        friend = self._nearest_row(matrix, others[self.labels_[others] == cluster], cluster)
        pairs = [((row, friend),) if friend >= 0 else (), ()]
        if cluster != source:
            pairs[1] = ((row, self._nearest_row(matrix, others[self.labels_[others] == source], source)),)
        return self._apply(matrix, Edit("move", (cluster,), *pairs), labels, [cluster, source], self.merged_into_)

    def merge(self, first: int, second: int, *, X: Any = None) -> Self:
        """Make two clusters one. The lower id survives; the other holds no rows from now on; all other ids stay.

        Parameters
        ----------
        first, second : int
            Ids of the clusters.
        X : {array-like, sparse matrix} of shape (n, d), optional
            See `move`.

        Returns
        -------
        self

        Raises
        ------
        InputError, ConstraintError
            See `move`.
        """
        matrix = self._rows(X)
        kept, gone = sorted((self._cluster(first), self._cluster(second)))
        if kept == gone:
            raise InputError(f"cluster {kept} cannot be merged with itself")
        friends = [self._nearest_row(matrix, np.flatnonzero(self.labels_ == c), c) for c in (kept, gone)]
        labels = np.where(self.labels_ == gone, kept, self.labels_).astype(np.int32)
        merged_into = np.where(self.merged_into_ == gone, kept, self.merged_into_).astype(np.int32)
        pairs = ((friends[0], friends[1]),) if min(friends) >= 0 else ()
        edit = Edit("merge", (kept, gone), pairs, ())
        return self._apply(matrix, edit, labels, [kept], merged_into)

    def split(self, cluster: int, n_parts: int = 2, *, X: Any = None) -> Self:
        """Cluster the rows of one cluster anew into parts, under the constraints among them.

        The largest part (or the one that holds rows of known class, where the algorithm keeps those) keeps the id; the
        others get ids that merging has freed, then new ones, for which ``n_clusters`` grows.

        Parameters
        ----------
        cluster : int
        n_parts : int, default=2
        X : {array-like, sparse matrix} of shape (n, d), optional
            See `move`.

        Returns
        -------
        self

        Raises
        ------
        InputError
            There is no such cluster, or it holds fewer rows than parts.
        ConstraintError
            A hard constraint forbids it.
        """
        matrix, cluster = self._rows(X), self._cluster(cluster)
        inputs.check_number("n_parts", n_parts, numbers.Integral, 2)
        rows = np.flatnonzero(self.labels_ == cluster)
        if rows.size < n_parts:
            raise InputError(f"cluster {cluster} holds {rows.size} rows, too few for {n_parts} parts")
        parts, friends = self._parts(matrix, rows, int(n_parts))
        n_clusters = self.merged_into_.size
        free = np.flatnonzero(self.merged_into_ != np.arange(n_clusters))
        ids = np.concatenate([[cluster], free, np.arange(n_clusters, n_clusters + n_parts)])[:n_parts].astype(np.int32)
        labels = self.labels_.copy()
        labels[rows] = ids[parts]
        merged_into = np.concatenate([self.merged_into_, ids[ids >= n_clusters]])
        merged_into[ids] = ids
        pairs = tuple((a, b) for i, a in enumerate(friends) for b in friends[:i])
        return self._apply(matrix, Edit("split", tuple(ids.tolist()), (), pairs), labels, ids, merged_into)

    def _parts(self, matrix: Any, rows: np.ndarray, n_parts: int) -> tuple[np.ndarray, list[int]]:
        """The part of each of the rows, and the representative row of each part."""
        within = clone(self).set_params(
            n_clusters=n_parts, init="k-means++", warm_start=False, callback=None, checkpoint=None
        )
        known, shares = self._given.restricted(rows), self._training.shares
        if shares is not None and self._fitted.fixed_labels:  # rows that are certain of a class keep it here as well
            known = Constraints(partial_labels=np.where(shares.max(1) == 1.0, shares.argmax(1), -1)[rows])
        weight = self._training.sample_weight
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HMRFWarning)  # what is worth saying was said by the fit of all rows
            within._fit(matrix[rows], None, None, None, known, None if weight is None else np.asarray(weight)[rows])
        sizes = np.bincount(within.labels_, minlength=n_parts)
        if not sizes.all():
            raise InputError(
                f"the {rows.size} rows of cluster {self.labels_[rows[0]]} fall into {np.count_nonzero(sizes)} parts at "
                f"most, not {n_parts}: they are alike or tied together"
            )
        if self._fitted.fixed_labels and known.codes is not None and known.classes.size:
            sizes[within.labels_[np.argmax(known.codes >= 0)]] = rows.size + 1  # known rows keep their cluster
        order = np.argsort(-sizes, kind="stable")
        distances, friends = within._distances(matrix[rows]), []
        for part in order:
            members = np.flatnonzero(within.labels_ == part)
            friends.append(int(rows[members[np.argmin(distances[members, part])]]))
        return np.argsort(order)[within.labels_], friends

    def _rows(self, X: Any) -> Any:
        """The checked rows of the fit."""
        check_is_fitted(self)
        now = self._settings()
        if self._fitted.metric in LIFTED:
            raise InputError(
                f"a model with metric={self._fitted.metric!r} cannot be corrected by hand: add constraints and fit "
                "again"
            )
        if getattr(self, "_running", None) is not None:
            raise InputError("a model of partial_fit cannot be corrected by hand: it has only seen its last batch; fit")
        for name in ("metric", "penalty", "infer", "must_link_weight", "cannot_link_weight", "soft_labels"):
            if getattr(now, name) != getattr(self._fitted, name):
                raise InputError(
                    f"parameters were changed since the fit ({name} {getattr(self._fitted, name)!r} to "
                    f"{getattr(now, name)!r}): fit again before correcting"
                )
        if X is None and self._training.X is None:
            raise InputError("this model was unpickled or copied and its rows stayed behind: pass them as X")
        matrix = inputs.check_matrix(self, self._training.X if X is None else X, reset=False, dtype=self.dtype)
        if matrix.shape[0] != len(self.labels_):
            raise InputError(f"X has {matrix.shape[0]} rows, but the model was fitted to {len(self.labels_)}")
        return matrix

    def _cluster(self, cluster: int) -> int:
        inputs.check_number("cluster", cluster, numbers.Integral, 0, self.merged_into_.size - 1)
        if self.merged_into_[cluster] != cluster:
            raise InputError(f"cluster {cluster} was merged into cluster {self.merged_into_[cluster]}")
        return int(cluster)

    def _nearest_row(self, matrix: Any, rows: np.ndarray, cluster: int) -> int:
        """The row that represents a cluster, or -1 if it has none."""
        return int(rows[np.argmin(self._distances(matrix[rows])[:, cluster])]) if rows.size else -1

    def _apply(self, matrix: Any, edit: Edit, labels: np.ndarray, changed: Any, merged_into: np.ndarray) -> Self:
        """Check the outcome as a fit would, then change everything at once."""
        edits = (*(earlier.kept(labels) for earlier in self.edits_), edit)
        constraints = self._given.with_pairs(
            [pair for one in edits for pair in one.must_link],
            [pair for one in edits for pair in one.cannot_link],
            np.inf,
        )
        settings, n_clusters = self._fitted, merged_into.size
        _refuse_broken(resolve(priced(settings, self._given), labels.size), labels)
        known = Known(constraints, priced(settings, constraints), self._training.shares)
        task = self._assemble(settings, matrix, known, self._training.sample_weight, n_clusters, merged_into)
        _refuse_moved(task.problem.priors, labels)
        centers = np.zeros((n_clusters, self.cluster_centers_.shape[1]))
        centers[: len(self.cluster_centers_)] = self.cluster_centers_
        start = Start(centers, labels, self.feature_weights_, self.smoothing_)
        result = revise(task.problem, start, np.asarray(changed), finish_options(settings, task.problem))
        self.labels_, self.cluster_centers_, self.merged_into_ = labels, result.centers, merged_into
        self.inertia_, self.objective_ = settings.scale * result.inertia, settings.scale * result.objective
        self.constraints_, self.edits_ = constraints, edits
        self.constraint_report_ = build_report(task.resolved, labels, self.constraint_report_.suspects)
        if n_clusters > self._n_features_out:
            self.n_clusters = self._n_features_out = n_clusters
        return self

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_training" in state:
            state["_training"] = state["_training"]._replace(X=None)
        return state


def _refuse_broken(resolved: Resolved, labels: np.ndarray) -> None:
    """Name a hard constraint that a labelling would violate."""
    found = violations(resolved, labels)
    for name, pairs, weight, broken in (
        ("must-link", resolved.must_link, resolved.must_link_weight, found.must_link),
        ("cannot-link", resolved.cannot_link, resolved.cannot_link_weight, found.cannot_link),
    ):
        hard = np.flatnonzero(broken & np.isinf(weight))
        if hard.size:
            raise ConstraintError(
                f"the hard {name} between rows {pairs[hard[0], 0]} and {pairs[hard[0], 1]} forbids it"
            )
    must, cannot = np.isinf(resolved.must_link_group_weight), np.isinf(resolved.cannot_link_group_weight)
    if (must and (found.must_link_group_pairs or found.same_class_pairs)) or (
        cannot and (found.cannot_link_group_pairs or found.different_class_pairs)
    ):
        raise ConstraintError("hard groups or known classes of the rows forbid it")


def _refuse_moved(priors: LabelPriors, labels: np.ndarray) -> None:
    kept = (priors.fixed < 0) | (labels[priors.rows] == priors.fixed)
    if not np.all(kept):
        row = int(np.argmin(kept))
        raise ConstraintError(
            f"row {priors.rows[row]} is known to be of class {priors.fixed[row]} and keeps its cluster"
        )
