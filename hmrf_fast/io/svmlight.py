"""Rows with classes in svmlight files; scikit-learn parses them."""

from __future__ import annotations

import io
import os
import re

import numpy as np
from sklearn.datasets import load_svmlight_file

from hmrf_fast.errors import FileError, in_short
from hmrf_fast.io.blocks import Reader
from hmrf_fast.io.sources import line_pieces

__all__ = ["svmlight_blocks"]

_ZERO = re.compile(rb"^[^#\n]*\s\+?0+:", re.M)


def svmlight_blocks(path: str | os.PathLike[str], piecewise: bool) -> Reader:
    """Rows in float64 and their classes; columns count from 0 if one of them has that number, else from 1."""
    base: bool | str = "auto"  # scikit-learn sees by itself, if it sees all
    piecewise = piecewise and os.path.isfile(path)  # pipes cannot be read twice
    if piecewise:
        base = any(b"0:" in piece and _ZERO.search(piece) is not None for piece in line_pieces(path, True))
    found = []
    for piece in line_pieces(path, piecewise):
        try:
            matrix, classes = load_svmlight_file(io.BytesIO(piece), zero_based=base)
        except (ValueError, TypeError, OverflowError) as error:
            raise FileError(f"{path}: cannot be read as svmlight ({in_short(error)}); write it anew") from error
        found.append(classes)
        yield matrix
    told: list[str | None] = [f"{one:g}" for one in np.concatenate(found).tolist()] if found else []
    return {"labels": told if len(set(told)) > 1 else None}
