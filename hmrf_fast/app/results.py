"""Writing what a fit found into a folder, all files or none."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from hmrf_fast.app.common import BadInput

__all__ = ["open_folder", "write_results"]


def open_folder(folder: Path, force: bool) -> None:
    """Make sure that results can be put into a folder; called before the work, so that none is lost.

    Raises
    ------
    BadInput
        If the folder cannot be made or written to, or holds files and ``force`` is not set.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()) and not force:
            raise BadInput(
                f"{folder}: is not empty; choose another folder, or say --force to replace the results in it"
            )
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise BadInput(f"{folder}: cannot be written to ({error.strerror or error})") from error


def write_results(folder: Path, labels: np.ndarray, model: Mapping[str, Any], summary: Mapping[str, Any]) -> None:
    """Write ``labels.csv``, ``model.npz`` and ``summary.json``.

    Everything is first written under temporary names: an interrupted or failed run leaves no half-written result.

    Parameters
    ----------
    folder : Path
        An existing folder.
    labels : ndarray of shape (n_samples,)
        Cluster of every row.
    model : mapping of str to array-like
        Plain arrays, numbers and strings; opens with ``numpy.load(path, allow_pickle=False)``.
    summary : mapping
        Numbers and strings; values that are not finite become null.
    """
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in model.items()}
    if objects := [name for name, array in arrays.items() if array.dtype.hasobject]:
        raise TypeError(f"{', '.join(objects)} can only be stored as pickled objects")
    rows = np.column_stack((np.arange(labels.size), labels))
    text = json.dumps(_finite(summary), indent=2, allow_nan=False) + "\n"
    writers: dict[str, Callable[[BinaryIO], Any]] = {
        "labels.csv": lambda file: np.savetxt(file, rows, fmt="%d", delimiter=",", header="row,label", comments=""),
        "model.npz": lambda file: np.savez_compressed(file, **arrays),
        "summary.json": lambda file: file.write(text.encode("utf-8")),
    }
    with tempfile.TemporaryDirectory(dir=folder, prefix=".unfinished-") as place:
        for name, write in writers.items():
            with open(Path(place, name), "wb") as file:
                write(file)
        for name in writers:
            os.replace(Path(place, name), folder / name)


def _finite(value: Any) -> Any:
    """Return plain Python values for JSON, which knows neither arrays nor infinities."""
    if isinstance(value, Mapping):
        return {str(key): _finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
