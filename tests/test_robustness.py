"""Every row of the tables in ``docs/robustness.md``, which are the only place where inputs and messages stand."""

from __future__ import annotations

import json
import zlib

import numpy as np
import pytest
import robustness_table as table
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from hmrf_fast import rows as stored
from hmrf_fast.errors import HMRFError, NotEnoughMemoryError
from hmrf_fast.inputs import as_corpus, check_matrix
from hmrf_fast.rows.store import FORMAT, PIECE, PREAMBLE, VERSION

ROWS = table.rows()


def test_the_tables_are_read_whole():
    lines = [line for line in table.DOCUMENT.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert len(lines) == len(ROWS) > 150
    assert {row.outcome for row in ROWS} == {"accepted", "converted", "warned", "refused"}
    assert len({row.input for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.input)
def test_row(row, tmp_path):
    result, error, said = table.evaluate(row.input, tmp_path)
    if row.outcome == "refused":
        assert isinstance(error, HMRFError | NotFittedError), repr(error)
        assert table.matches(row.told.strip("`"), f"{type(error).__name__}: {error}"), (
            f"{type(error).__name__}: {error}"
        )
        return
    if error is not None:
        raise error
    if row.outcome == "warned":
        assert len(said) == row.told.count("Warning: ") and all(
            table.matches(expected.strip("`"), told) for expected, told in zip(row.told.split("; `"), said, strict=True)
        ), said
    else:
        assert said == []
    if hasattr(result, "labels_"):
        assert_sound(result)
    if row.outcome == "converted":
        plain = table.fit()
        np.testing.assert_array_equal(result.labels_, plain.labels_)
        np.testing.assert_allclose(result.objective_, plain.objective_, rtol=1e-12)


def assert_sound(model):
    for name in ("cluster_centers_", "feature_weights_", "objective_history_", "inertia_"):
        assert np.isfinite(getattr(model, name)).all(), name
    assert 0 <= model.labels_.min() <= model.labels_.max() < model.n_clusters


def write_holey_store(folder, n_first, columns):
    """A store whose first row holds ``n_first`` entries, all zeros that take no room on disk, and then short rows."""
    folder.mkdir()
    n_entries = n_first + len(columns)
    indptr = np.concatenate([[0], n_first + np.arange(len(columns) + 1)])
    parts = {"indptr": (indptr, "<i8"), "indices": (np.array(columns), "<i4"), "values": (np.ones(len(columns)), "<f4")}
    sums = {}
    for name, (tail, dtype) in parts.items():
        size = tail.size if name == "indptr" else n_entries
        stored_bytes = size * np.dtype(dtype).itemsize
        with (folder / f"{name}.npy").open("wb") as file:
            np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": (size,)})
            assert file.tell() == PREAMBLE
            file.truncate(PREAMBLE + stored_bytes)
            file.seek(PREAMBLE + stored_bytes - tail.size * np.dtype(dtype).itemsize)
            file.write(tail.astype(dtype).tobytes())
        sums[name] = checksums(folder / f"{name}.npy", stored_bytes)
    header = {
        "format": FORMAT, "version": VERSION, "shape": [indptr.size - 1, 10], "dtype": "float32", "lowest": 0.0,
        "piece": PIECE, "crc32": sums,
    }  # fmt: skip
    (folder / "header.json").write_text(json.dumps(header))


def checksums(path, size):
    """Of the last pieces; nobody reads the others."""
    found = [0] * (size // PIECE + 1)
    with path.open("rb") as file:
        for piece in range(max(0, len(found) - 2), len(found)):
            file.seek(PREAMBLE + piece * PIECE)
            found[piece] = zlib.crc32(file.read(min(PIECE, size - piece * PIECE)))
    return found


def test_entries_beyond_two_to_the_31(tmp_path):
    """Rows that lie more than 2^31 entries into a store are read where they are."""
    columns = [3, 1, 4, 1, 5, 9, 2, 6]
    write_holey_store(tmp_path / "store", 2**31 + 7, columns)
    rows = stored.DiskRows(tmp_path / "store")
    assert rows.nnz == 2**31 + 7 + len(columns)
    few = rows.take(np.arange(1, 9))
    assert few.corpus.indices.tolist() == columns
    block = next(rows.spans(np.array([2, 9])))
    assert block.corpus.indices.tolist() == columns[1:] and block.corpus.indptr.tolist() == list(range(8))


def test_wide_indices_are_narrowed_only_where_they_fit():
    """64-bit row pointers stay, columns become 32-bit; nothing is copied that need not be."""
    X = sp.csr_matrix(table.P)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    matrix = check_matrix(table.HMRFKMeans(2), X, reset=True)
    corpus = as_corpus(matrix)
    assert corpus.indptr.dtype == np.int64 and corpus.indices.dtype == np.int32
    assert np.shares_memory(corpus.values, X.data)
    wide = sp.csr_matrix((np.ones(2), np.array([0, 2**40]), np.array([0, 1, 2])), shape=(2, 2**40 + 1))
    with pytest.raises(HMRFError, match="1099511627777 features"):
        table.fit(wide)
    with pytest.raises(NotEnoughMemoryError, match="2147483647 features times 64 clusters"):
        table.fit(sp.csr_matrix((64, 2**31 - 1)), 64)
