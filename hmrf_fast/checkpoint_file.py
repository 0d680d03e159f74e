"""Where a fit stands <-> a file without pickles; the container is described in ``archive.py``.

The header's content holds the fingerprint of the fit, its seed, the library's version, how many starts were drawn, the
state of their generator, the number of results kept, and whether the fit is finished. The arrays ``result.0.labels``,
... and ``run.labels``, ... are the fields of ``outcomes.EMResult`` and ``outcomes.Progress``. The file before the last
one is kept beside it under the same name with ``.previous`` behind it.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hmrf_fast.archive import read_archive, write_archive
from hmrf_fast.draws import NO_DRAWS, Draws
from hmrf_fast.errors import CheckpointError, CheckpointWarning, ModelFileError
from hmrf_fast.outcomes import EMResult, Progress

FORMAT, VERSION = "hmrf_fast checkpoint", 1
LISTS = {"history": float, "steps": str}


class Place(NamedTuple):
    """Where a fit stands."""

    fingerprint: dict[str, str]
    seed: int
    draws: Draws = NO_DRAWS
    best: tuple[EMResult, ...] = ()  # of the starts that are done
    progress: Progress | None = None  # of the last start drawn; None if the next is being searched for
    finished: bool = False


def write_place(path: Path, place: Place, library: str) -> None:
    """Write a file, whole or not at all, and keep the one before.

    Raises
    ------
    FileError
        The file cannot be written; the one before is still there.
    """
    arrays: dict[str, np.ndarray] = {}
    for number, result in enumerate(place.best):
        _pack(result, f"result.{number}", arrays)
    if place.progress is not None:
        _pack(place.progress, "run", arrays)
    content = {
        "library": library,
        "fingerprint": place.fingerprint,
        "seed": place.seed,
        "drawn": place.draws.drawn,
        "state": place.draws.state,
        "results": len(place.best),
        "running": place.progress is not None,
        "finished": place.finished,
    }
    _keep_previous(path)
    write_archive(path, FORMAT, VERSION, content, arrays)


def has_place(path: Path) -> bool:
    """Whether there is something to go on from, in whatever state."""
    return path.exists() or _previous(path).exists()


def read_place(path: Path) -> Place | None:
    """What was written last, or before that if the last file is damaged; None if there is neither.

    Raises
    ------
    CheckpointError
        There is a file, but none that can be used.

    Warns
    -----
    CheckpointWarning
        The last file is damaged, and the one before it is used.
    """
    previous = _previous(path)
    if not path.exists():
        return _read(previous) if previous.exists() else None
    try:
        return _read(path)
    except CheckpointError as error:
        if not (isinstance(error.__cause__, ModelFileError) and error.__cause__.reason in ("damaged", "foreign")):
            raise
        if not previous.exists():
            raise
        place = _read(previous)
        warnings.warn(f"{error}; going on from {previous}, the one before", CheckpointWarning, stacklevel=7)
        return place


def _read(path: Path) -> Place:
    try:
        _, content, arrays = read_archive(path, FORMAT, VERSION)
        progress = _unpack(Progress, "run", arrays) if content["running"] else None
        best = tuple(_unpack(EMResult, f"result.{number}", arrays) for number in range(content["results"]))
        draws = Draws(content["drawn"], content["state"])
        return Place(content["fingerprint"], content["seed"], draws, best, progress, content["finished"])
    except ModelFileError as error:
        told = str(error).removesuffix("; save it again from the original")
        advice = "delete it to begin anew, or name another file" if error.reason == "damaged" else "name another file"
        raise CheckpointError(f"{told}; {advice}") from error
    except (KeyError, TypeError) as error:
        raise CheckpointError(f"{path} lacks {error}; delete it to begin anew, or name another file") from error


def _previous(path: Path) -> Path:
    return path.with_name(path.name + ".previous")


def _keep_previous(path: Path) -> None:
    """Let the present file live on under its second name, so that there is one at every moment."""
    if not path.exists():
        return
    previous = _previous(path)
    other = path.with_name(f".{path.name}.{os.getpid()}.linked")
    try:
        os.link(path, other)
        os.replace(other, previous)
    except OSError:  # a file system without links: for the time of writing there is the second name only
        other.unlink(missing_ok=True)
        os.replace(path, previous)


def _pack(record: Any, prefix: str, arrays: dict[str, np.ndarray]) -> None:
    for name, value in record._asdict().items():
        arrays[f"{prefix}.{name}"] = np.array(value, LISTS.get(name)) if name in LISTS else np.asarray(value)


def _unpack(record: Any, prefix: str, arrays: dict[str, np.ndarray]) -> Any:
    """Lists and numbers come back as what they were."""
    found = {name: arrays[f"{prefix}.{name}"] for name in record._fields}
    return record(
        **{
            name: value.tolist() if name in LISTS else value.item() if value.ndim == 0 else value
            for name, value in found.items()
        }
    )
