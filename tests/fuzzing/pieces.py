"""Every file is read twice, as one block and in pieces of a few bytes: both refuse it, or both read the same bits."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from hmrf_fast.errors import HMRFError
from hmrf_fast.inputs import canonical
from hmrf_fast.io import DataSet, read
from hmrf_fast.io.vectorizing import TextVectorizer

SIZES = {
    "rows.convert.ENTRIES": 5, "io.cells.ENTRIES": 5, "io.blocks.ENTRIES": 5, "io.matrix_file.ENTRIES": 5,
    "io.matrix_market.ENTRIES": 5, "io.sources.BYTES": 20, "io.sources.TEXT": 20, "io.reading.ROWS": 2,
}  # fmt: skip
SETTINGS = {"token_pattern": r"\w+", "ngram_range": [1, 1], "stop_words": None}
WORDS = TextVectorizer("counts", SETTINGS, ["one", "two"], None)  # texts are cut only where their vocabulary is known


def read_both_ways(path: Path) -> DataSet:
    """What a file holds; AssertionError if that depends on how it is read."""
    store = path.with_suffix(".pieces")
    shutil.rmtree(store, ignore_errors=True)
    whole = _outcome(path, None)
    with pytest.MonkeyPatch.context() as small:
        for name, size in SIZES.items():
            small.setattr(f"hmrf_fast.{name}", size)
        pieces = _outcome(path, store)
    if isinstance(whole, HMRFError) or isinstance(pieces, HMRFError):
        assert isinstance(whole, HMRFError) and isinstance(pieces, HMRFError), (whole, pieces)
        raise whole
    ours, theirs = whole.matrix, pieces.in_memory()
    assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
    for name in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)), (ours.toarray(), theirs.toarray())
    for name in ("ids", "labels", "feature_names"):
        assert getattr(whole, name) == getattr(pieces, name), (name, getattr(whole, name), getattr(pieces, name))
    return whole


def _outcome(path: Path, store: Path | None) -> DataSet | HMRFError:
    try:
        found = read(path, vectorizer=WORDS, store=store)
        if store is None:
            found.matrix = canonical(sp.csr_matrix(found.matrix, dtype=np.float64), copy=True)
    except HMRFError as error:
        return error
    return found
