"""Checked input -> a session, new or resumed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from hmrf_fast import inputs
from hmrf_fast.active.dialogue import Dialogue
from hmrf_fast.active.knowledge import Knowledge
from hmrf_fast.active.questions import Board, Strategy
from hmrf_fast.active.session import SessionFile, digest
from hmrf_fast.active.space import Space
from hmrf_fast.constraints import Constraints
from hmrf_fast.errors import ContradictionError, ContradictionWarning, InputError
from hmrf_fast.geometry import content_keys
from hmrf_fast.kernels.metrics import METRICS
from hmrf_fast.neighborhoods import describe, resolve
from hmrf_fast.settings import thread_count

# Parameters that do not change which question follows from which answers.
_FREE = {"budget", "on_contradiction", "n_threads", "random_state"}


def open_dialogue(
    learner: Any,
    strategy: Callable[[Board], Strategy],
    X: Any,
    rows: Any,
    known: Constraints | None,
    session: str | os.PathLike[str] | None,
    oracle: Any,
) -> Dialogue:
    """Check everything, build the distances, and take in the answers of the session file.

    The oracle may be None; of it only the number of rows and the kind of questions are looked at.

    Raises
    ------
    InputError, ConstraintError, ContradictionError, SessionError
    """
    matrix = inputs.check_matrix(learner, X, reset=True)
    if METRICS[learner.metric].entropic:
        inputs.refuse_negative(matrix, learner.metric, type(learner).__name__)
    n_known = getattr(oracle, "n_rows", None)
    if n_known is not None and n_known != matrix.shape[0]:
        raise InputError(f"the oracle knows {n_known} rows, X has {matrix.shape[0]} rows")
    placements = hasattr(oracle, "neighborhood")
    rows = _checked_rows(rows, matrix.shape[0])
    _check_known(known, matrix.shape[0], learner.on_contradiction)
    seed = inputs.draw_seed(learner.random_state)
    space = Space(matrix, learner.metric, thread_count(learner.n_threads))
    file = None
    if session is not None:
        header = _header(learner, space, matrix, rows, known, placements) | {"seed": seed}
        file = SessionFile(session, header, any_seed=not isinstance(learner.random_state, (int, np.integer)))
        seed = file.header["seed"]

    def new_board() -> Board:
        knowledge = Knowledge(space.n_rows, known)
        return Board(space, knowledge, rows, learner.n_clusters, learner.batch_size, placements, seed)

    dialogue = Dialogue(new_board, strategy, known, learner.budget, learner.on_contradiction)
    if file is not None:
        dialogue.resume(file)
    return dialogue


def checked_pairs(pairs: Any, n_rows: int) -> list[tuple[int, int]]:
    """Pairs of different rows of the data, as (q, 2) integers."""
    array = np.asarray(pairs)
    if array.size == 0:
        return []
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise InputError(f"pairs must be integers of shape (q, 2), got {array.dtype} of shape {array.shape}")
    listed = array.tolist()
    for i, j in listed:
        if i == j or not (0 <= i < n_rows and 0 <= j < n_rows):
            raise InputError(f"the pair ({i}, {j}) is not of two different rows of 0 to {n_rows - 1}")
    return [(i, j) for i, j in listed]


def _checked_rows(rows: Any, n_rows: int) -> np.ndarray:
    if rows is None:
        return np.arange(n_rows)
    array = np.asarray(rows)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise InputError(f"rows must be one-dimensional integers, got {array.dtype} of shape {array.shape}")
    array = np.unique(array.astype(np.int64))
    if array.size and not (array[0] >= 0 and array[-1] < n_rows):
        outside = array[0] if array[0] < 0 else array[-1]
        raise InputError(f"rows holds {outside}, but X has rows 0 to {n_rows - 1}")
    return array


def _check_known(known: Any, n_rows: int, on_contradiction: str) -> None:
    if known is None:
        return
    if not isinstance(known, Constraints):
        raise InputError(f"constraints must be a hmrf_fast.Constraints, got {type(known).__name__}")
    found = resolve(known, n_rows)
    if found.contradictions:
        told = f"the constraints contradict themselves: {describe(found.contradictions[0])}"
        if on_contradiction == "raise":
            raise ContradictionError(f"{told} (on_contradiction='warn' lets must-links count)", found.contradictions)
        warnings.warn(f"{told}; must-links count", ContradictionWarning, stacklevel=6)


def _header(
    learner: Any, space: Space, matrix: Any, rows: np.ndarray, known: Constraints | None, placements: bool
) -> dict[str, Any]:
    parameters = {name: value for name, value in learner.get_params().items() if name not in _FREE}
    return {
        "learner": type(learner).__name__,
        "parameters": {name: value.item() if hasattr(value, "item") else value for name, value in parameters.items()},
        "placements": placements,
        "n_rows": int(matrix.shape[0]),
        "data": digest(content_keys(space.problem), np.array(matrix.shape)),
        "rows": digest(rows),
        "constraints": None if known is None else _digest_of(known),
    }


def _digest_of(known: Constraints) -> str:
    arrays = [known.must_link, known.cannot_link]
    for grouping in (known.labels, known.must_link_groups, known.cannot_link_groups):
        arrays.append(np.empty(0) if grouping is None else grouping.codes)
    return digest(*arrays)
