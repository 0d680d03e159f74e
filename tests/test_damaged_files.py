"""Files that were cut, changed or made by others: each is refused in one sentence that names it, and nothing of it is
believed."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import warnings
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

import hmrf_fast
from hmrf_fast import PCKMeans, rows
from hmrf_fast.archive import read_archive, write_archive
from hmrf_fast.errors import FileError, InputError, ModelFileError
from hmrf_fast.io import DataSet, Results, load_results, read
from hmrf_fast.io.results import open_folder

X = np.random.default_rng(5).random((60, 8))
MODEL = PCKMeans(3, random_state=0).fit(X, must_link=[(0, 1)], cannot_link=[(0, 20)])
KIND = "hmrf_fast model"


def packed(array) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def archive(path, header, *members):
    """A file whose header has the right checksum."""
    told = np.frombuffer(header if isinstance(header, bytes) else json.dumps(header).encode(), np.uint8)
    digest = np.frombuffer(hashlib.sha256(told.tobytes()).digest(), np.uint8)
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as file:
        warnings.simplefilter("ignore", UserWarning)  # of names that are there already
        for name, content in (("header", packed(told)), ("digest", packed(digest)), *members):
            file.writestr(f"{name}.npy", content)


def refused(path, reason, told):
    with pytest.raises(ModelFileError, match=told) as caught:
        read_archive(path, KIND, 1)
    assert caught.value.reason == reason and str(path) in str(caught.value)


@pytest.mark.parametrize("header", [b"{", b"[]", b"[" * 100_000, b"\xff", {"format": KIND}, {"version": 1}, 3, None])
def test_headers_that_are_none(header, tmp_path):
    archive(tmp_path / "a", header)
    refused(tmp_path / "a", "foreign", f"is no {KIND}")


@pytest.mark.parametrize("version", ["1", 1.0, True, None])
def test_versions_that_are_none(version, tmp_path):
    archive(tmp_path / "a", {"format": KIND, "version": version, "content": 0, "arrays": {}})
    refused(tmp_path / "a", "foreign", f"is no {KIND}")


@pytest.mark.parametrize("rest", [{}, {"content": 0}, {"arrays": {}}, {"content": 0, "arrays": []}])
def test_headers_with_parts_missing(rest, tmp_path):
    archive(tmp_path / "a", {"format": KIND, "version": 1, **rest})
    refused(tmp_path / "a", "damaged", "its header is incomplete")


def test_members_twice(tmp_path):
    """Which of the two was meant, nobody knows."""
    one = packed(np.arange(3))
    archive(tmp_path / "a", {"format": KIND, "version": 1, "content": 0, "arrays": {}}, ("x", one), ("x", one))
    refused(tmp_path / "a", "damaged", "has two members 'x'")


@pytest.mark.parametrize(("shape", "dtype"), [((1 << 60, 0), "<f8"), ((5,), "<U0"), ((0, 1 << 62), "<i4")])
def test_large_arrays_of_nothing(shape, dtype, tmp_path):
    """They take no byte, and numpy could not count their rows."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    told = {"x": {"shape": list(shape), "dtype": dtype, "sha256": hashlib.sha256(b"").hexdigest()}}
    archive(tmp_path / "a", {"format": KIND, "version": 1, "content": 0, "arrays": told}, ("x", stream.getvalue()))
    refused(tmp_path / "a", "damaged", "holds nothing")


def test_only_numbers_and_texts_are_stored(tmp_path):
    for array in (np.array([{}]), np.array(["2020-01-01"], "datetime64[D]"), np.zeros(2, [("a", int)])):
        with pytest.raises(TypeError, match="are not stored"):
            write_archive(tmp_path / "a", KIND, 1, 0, {"x": array})
    assert not list(tmp_path.iterdir())


def results(folder, summary=None, data=X):
    Results(MODEL, DataSet(data), {"seed": 0} if summary is None else summary).save(folder)
    return folder


def test_summaries_are_plain_json(tmp_path):
    """Numbers as numpy has them, and those that JSON has not."""
    told = {"n": np.int64(3), "J": np.float32(0.5), "lost": np.inf, "none": float("nan"), "flag": np.True_,
            "list": (np.float64(-np.inf), [1, "a"]), 7: None}  # fmt: skip
    found = load_results(results(tmp_path / "r", told)).summary
    assert found == {"n": 3, "J": 0.5, "lost": None, "none": None, "flag": True, "list": [None, [1, "a"]], "7": None}
    assert type(found["n"]) is int and found["flag"] is True


def test_results_that_do_not_fit_together(tmp_path):
    results(tmp_path / "r", data=X[:50])
    with pytest.raises(FileError, match="the model has 60 rows, the data 50; fit again"):
        load_results(tmp_path / "r")


@pytest.mark.parametrize("content", [b"{", b"", b"\xff\xfe{"])
def test_a_damaged_summary(content, tmp_path):
    (results(tmp_path / "r") / "summary.json").write_bytes(content)
    with pytest.raises(FileError, match=r"summary\.json: is damaged .*; fit again"):
        load_results(tmp_path / "r")


def test_results_where_a_summary_cannot_stand(tmp_path):
    """A folder in its place stops root as well; without a summary the folder does not count as complete."""
    (tmp_path / "r" / "summary.json").mkdir(parents=True)
    with pytest.raises(FileError, match=r"cannot be written to .*; choose another place"):
        results(tmp_path / "r")
    with pytest.raises(FileError, match="no folder of results"):
        load_results(tmp_path / "r")


def test_work_that_fails_leaves_folders_as_they_were(tmp_path):
    (tmp_path / "there").mkdir()
    for name in ("there", "new"):
        with pytest.raises(ZeroDivisionError), open_folder(tmp_path / name):
            raise ZeroDivisionError
    assert [one.name for one in tmp_path.iterdir()] == ["there"]
    with pytest.raises(ZeroDivisionError), open_folder(tmp_path / "new"):
        (tmp_path / "new" / "kept").write_text("found on the way")
        raise ZeroDivisionError
    assert (tmp_path / "new" / "kept").exists()
    with pytest.raises(FileError, match="is not empty"), open_folder(tmp_path / "new"):
        pytest.fail("the work was begun")


def npz(path, method=zipfile.ZIP_STORED, **arrays):
    with zipfile.ZipFile(path, "w", method) as file:
        for name, array in arrays.items():
            file.writestr(f"{name}.npy", array if isinstance(array, bytes) else packed(array))
    return path


def parts(matrix, **changed):
    return {"indices": matrix.indices, "indptr": matrix.indptr, "shape": np.array(matrix.shape),
            "counts": matrix.data, **changed}  # fmt: skip


@pytest.mark.parametrize("store", [False, True], ids=["whole", "in pieces"])
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], ids=["stored", "deflated"])
def test_members_that_end_before_their_numbers(method, store, tmp_path):
    """The directory of the archive and the array agree on a size that the bytes do not have."""
    whole = packed(np.ones((40, 5)))
    path = npz(tmp_path / "x.npz", method, X=whole[:-80])
    content = path.read_bytes()
    for mark, place in ((b"PK\3\4", 22), (b"PK\1\2", 24)):
        at = content.index(mark) + place
        assert struct.unpack_from("<I", content, at) == (len(whole) - 80,)
        content = content[:at] + struct.pack("<I", len(whole)) + content[at + 4 :]
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"x\.npz: cannot be read as a matrix .*its member 'X' ends too early"):
        read(path, **({"store": tmp_path / "store"} if store else {}))
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"shape": np.array([-1, 3])}, "-1 rows"),
        ({"shape": np.array([4, 3])}, "6 row pointers for 4 rows"),
        ({"counts": np.ones(2)}, "2 values where there should be 5"),
        ({"indices": np.full(5, 9, np.int32)}, "ind"),
        ({"indptr": b"no array"}, "its member 'indptr' is no array"),
        ({"counts": b"no array"}, "its member 'counts' is no array"),
    ],
)
def test_matrices_whose_parts_do_not_fit(changed, told, tmp_path):
    path = npz(tmp_path / "x.npz", **parts(sp.csr_matrix(np.eye(5, 5)), **changed))
    with pytest.raises(FileError, match=told):
        read(path)


def test_ids_that_are_no_ids_are_left_aside(tmp_path):
    matrix = sp.csr_matrix(np.eye(3))
    for ids, expected in (([7, 8, 9], ["7", "8", "9"]), ([7, 7, 9], None), ([7, 8], None)):
        assert read(npz(tmp_path / "x.npz", **parts(matrix, ids=np.array(ids)))).ids == expected


def test_cells_that_hold_no_matrix(tmp_path):
    pytest.importorskip("anndata")
    h5py = pytest.importorskip("h5py")
    with pytest.raises(FileError, match=r"none\.h5ad"):
        read(tmp_path / "none.h5ad")
    with h5py.File(tmp_path / "x.h5ad", "w") as file:
        file["obs"] = np.arange(3)
    with pytest.raises(FileError, match=r"x\.h5ad: has no matrix X"):
        read(tmp_path / "x.h5ad")
    with h5py.File(tmp_path / "x.h5ad", "a") as file:
        file["X"] = np.ones((3, 2), complex)
    with pytest.raises(FileError, match="X holds complex128, not real numbers"):
        read(tmp_path / "x.h5ad")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"shape": [-1, 4]}, "the header names -1 rows, 4 features"),
        ({"dtype": "int64"}, "values of int64"),
        ({"crc32": {}}, "no checksums for all of"),
        ({"crc32": 3}, "no checksums for all of"),
    ],
)
def test_headers_of_stores(change, told, tmp_path):
    path = rows.write_matrix(tmp_path / "store", np.eye(4)).path / "header.json"
    header = json.loads(path.read_text())
    assert change.keys() <= header.keys()
    path.write_text(json.dumps({**header, **change}))
    with pytest.raises(InputError, match=told):
        rows.DiskRows(path.parent)


def test_stores_with_a_file_missing(tmp_path):
    path = rows.write_matrix(tmp_path / "store", np.eye(4)).path
    (path / "values.npy").unlink()
    with pytest.raises(InputError, match=r"values\.npy cannot be read: No such file"):
        rows.DiskRows(path)


@pytest.mark.parametrize("size", [0, -1.0, float("nan")])
def test_blocks_of_no_size(size, tmp_path):
    path = rows.write_matrix(tmp_path / "store", np.eye(4)).path
    with pytest.raises(InputError, match="block_mb must be above 0"):
        rows.DiskRows(path, size)


@pytest.mark.parametrize(("attribute", "value"), [("n_features_in_", 9), ("smoothing_", "1"), ("n_features_in_", None)])
def test_models_whose_numbers_do_not_fit(attribute, value, tmp_path):
    MODEL.save(tmp_path / "m")
    with np.load(tmp_path / "m") as file:
        header = json.loads(file["header"].tobytes())
        arrays = {name: file[name] for name in header["arrays"]}
    assert attribute in header["content"]["attributes"]
    header["content"]["attributes"][attribute] = value
    write_archive(tmp_path / "m", KIND, 1, header["content"], arrays)
    with pytest.raises(ModelFileError, match="does not fit the centroids"):
        hmrf_fast.load(tmp_path / "m")
