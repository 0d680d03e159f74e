"""What a fit found, as a folder: labels for other programs, and all that later commands need.

A folder of results holds

- ``labels.csv``: the cluster of every row, under its id, or its number if it has none;
- ``model.npz``: the model, for :func:`hmrf_fast.load`;
- ``summary.json``: settings, sizes, J, what became of the constraints, versions, seconds;
- ``data/``: the rows themselves, a folder of `DataSet.save` (a second name of the same files where the disk allows it):
  matrix, ids, texts, classes for comparison, vocabulary and vectorizer. With it the folder needs nothing else to
  predict or to report.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hmrf_fast.atomic import replace_file
from hmrf_fast.errors import FileError, in_short
from hmrf_fast.io.dataset import DataSet, load_folder
from hmrf_fast.io.sources import read_bytes
from hmrf_fast.io.tables import write_table

__all__ = ["Results", "load_results", "open_folder", "write_labels"]

LABELS, MODEL, SUMMARY, DATA = "labels.csv", "model.npz", "summary.json", "data"


@dataclass(eq=False)
class Results:
    """A fitted model with its rows.

    Attributes
    ----------
    model : estimator
        Constraints are ``model.constraints_``, what became of them ``model.constraint_report_``.
    data : DataSet
        The rows of the fit.
    summary : dict
        Of JSON values.
    """

    model: Any
    data: DataSet
    summary: dict[str, Any]

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the folder. The summary comes last: a folder that has one is complete.

        Parameters
        ----------
        folder : path-like

        Raises
        ------
        FileError
            If it cannot be written.
        """
        folder = Path(folder)
        text = json.dumps(_plain(self.summary), indent=2, allow_nan=False) + "\n"
        self.data.save(folder / DATA)
        self.model.save(folder / MODEL)
        write_labels(folder / LABELS, self.model.labels_, self.data.ids)
        try:
            replace_file(folder / SUMMARY, lambda file: file.write(text.encode("ascii")))
        except OSError as error:
            raise FileError(
                f"{folder}: cannot be written to ({error.strerror or error}); choose another place"
            ) from error


def load_results(folder: str | os.PathLike[str]) -> Results:
    """Read a folder that `Results.save` wrote.

    Parameters
    ----------
    folder : path-like

    Returns
    -------
    Results

    Raises
    ------
    FileError
        If it is none, or something in it is missing or damaged.
    """
    from hmrf_fast.loading import load  # and with it the engine, which only this function needs

    folder = Path(folder)
    if not (folder / SUMMARY).is_file():
        raise FileError(f"{folder}: is no folder of results (it has no {SUMMARY}); hmrf-fast fit makes one")
    try:
        summary = json.loads(read_bytes(folder / SUMMARY))
    except ValueError as error:
        raise FileError(f"{folder / SUMMARY}: is damaged ({in_short(error)}); fit again") from error
    model, data = load(folder / MODEL), load_folder(folder / DATA)
    if model.labels_.size != data.n_rows:
        raise FileError(f"{folder}: the model has {model.labels_.size} rows, the data {data.n_rows}; fit again")
    return Results(model, data, summary)


@contextmanager
def open_folder(folder: str | os.PathLike[str], force: bool = False) -> Iterator[None]:
    """Make sure that results can be put into a folder, before the work whose results these are, so that none is lost;
    work that fails leaves no empty folder.

    Raises
    ------
    FileError
        If the folder cannot be made or written to, or holds files and ``force`` is not set.
    """
    folder = Path(folder)
    made = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()) and not force:
            raise FileError(
                f"{folder}: is not empty; choose another folder, or say --force to replace the results in it"
            )
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise FileError(f"{folder}: cannot be written to ({error.strerror or error}); choose another place") from error
    try:
        yield
    except BaseException:
        if made:
            with suppress(OSError):  # something was put there
                folder.rmdir()
        raise


def write_labels(
    path: str | os.PathLike[str],
    labels: np.ndarray,
    ids: Sequence[str] | None = None,
    distance: np.ndarray | None = None,
) -> None:
    """Write the cluster of every row as CSV, or as Parquet if the name ends so.

    Parameters
    ----------
    path : path-like
    labels : ndarray of shape (n,), int
    ids : sequence of n str, optional
        The column ``id``; without them there is a column ``row``, counted from 0.
    distance : ndarray of shape (n,), optional
        A further column.

    Raises
    ------
    FileError
        If it cannot be written.
    """
    columns: dict[str, Any] = {"row": range(len(labels))} if ids is None else {"id": ids}
    columns["label"] = labels.tolist()
    if distance is not None:
        columns["distance"] = distance.tolist()
    write_table(path, columns)


def _plain(value: Any) -> Any:
    """Plain Python values for JSON, which knows neither arrays nor infinities."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
