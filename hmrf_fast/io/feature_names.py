"""Names of the columns of a matrix, from a file with a name per line."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from hmrf_fast.errors import FileError
from hmrf_fast.io.sources import read_text

__all__ = ["names_beside", "read_names"]

logger = logging.getLogger(__name__)


def read_names(path: str | os.PathLike[str], n_features: int, encoding: str = "utf-8") -> list[str]:
    """Read the names of columns.

    Parameters
    ----------
    path : path-like
        A name per line, packed with gzip or not.
    n_features : int
        Number of columns.
    encoding : str, default="utf-8"

    Returns
    -------
    list of n_features str

    Raises
    ------
    FileError
        If the file cannot be read, or has another number of lines.
    """
    # Not splitlines: names may hold other characters that end lines.
    names = [line.rstrip("\r") for line in read_text(path, encoding).removesuffix("\n").split("\n")]
    if len(names) != n_features:
        raise FileError(f"{path}: has {len(names)} lines, but there are {n_features} features; give one name per line")
    return names


def names_beside(matrix: Path, n_features: int) -> list[str] | None:
    """The names in ``NAME.vocab.txt`` or ``NAME.vocab.txt.gz`` beside ``NAME.npz``; None if they do not fit it."""
    for ending in (".vocab.txt", ".vocab.txt.gz"):
        path = matrix.with_suffix(ending)
        if path.is_file():
            try:
                return read_names(path, n_features)
            except FileError as error:
                logger.info("features of %s stay without names: %s", matrix, error)
    return None
