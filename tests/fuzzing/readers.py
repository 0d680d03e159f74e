"""What is fuzzed: every reader of files, each with files to begin with and the errors that it may raise.

A reader either returns or raises a typed error with one sentence. It never runs code, opens connections, or takes
memory out of proportion to the file.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.io
import scipy.sparse as sp
from fuzzing.mutations import Choices, mutated, repacked, rewritten
from fuzzing.pieces import read_both_ways

from hmrf_fast import HMRFKMeans, load
from hmrf_fast.active.session import SessionFile
from hmrf_fast.archive import read_archive, write_archive
from hmrf_fast.checkpoint_file import FORMAT as CHECKPOINT_FORMAT
from hmrf_fast.checkpoint_file import read_place
from hmrf_fast.errors import HMRFError
from hmrf_fast.io import DataSet, read, write
from hmrf_fast.io.constraints import read_constraints
from hmrf_fast.io.tables import write_table
from hmrf_fast.io.weights import read_weights
from hmrf_fast.persistence import FORMAT as MODEL_FORMAT
from hmrf_fast.rows.disk import DiskRows
from hmrf_fast.rows.store import StoreWriter

ROWS = 12
IDS = [f"row {number}" for number in range(ROWS)]
HEADER = {"format": "fuzzed", "n_rows": ROWS, "seed": 7}
STORE_FILES = ("header.json", "indptr.npy", "indices.npy", "values.npy")
FORBIDDEN = (
    "pickle.find_class",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "subprocess.Popen",
    "socket.connect",
    "exec",
)


class Reader(NamedTuple):
    """A way to read a file."""

    suffix: str
    read: Callable[[Path], object]
    seeds: Callable[[], list[bytes]]


class Escape(Exception):
    """A reader did what no reader may do."""


def watch(event: str, arguments: tuple) -> None:
    """An audit hook that refuses code, processes and connections while ``watch.on``."""
    imported = event == "exec" and "encodings" in Path(getattr(arguments[0], "co_filename", "")).parts
    if watch.on and event in FORBIDDEN and not imported:  # Python imports encodings when they are first used
        raise Escape(f"{event} {arguments!r}")


watch.on = False
sys.addaudithook(watch)


def run(name: str, content: bytes, folder: Path) -> None:
    """Read the content as the reader of that name would; an error that it may not raise goes through."""
    reader = READERS[name]
    path = folder / f"fuzzed{reader.suffix}"
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        watch.on = True
        try:
            reader.read(path)
        except HMRFError as error:
            assert str(error) and len(str(error)) < 2000 and str(error).isprintable(), repr(error)
        finally:
            watch.on = False


def _matrix() -> sp.csr_matrix:
    rng = np.random.default_rng(0)
    dense = np.round(rng.uniform(0.1, 3.0, (ROWS, 6)), 2) * (rng.random((ROWS, 6)) < 0.6)
    dense[:, 0] = 1.0
    return sp.csr_matrix(dense)


def _written(write: Callable[[Path], object], name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path)
        return path.read_bytes()


def _npz_seeds() -> list[bytes]:
    X = _matrix()
    arrays = {"indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape), "counts": X.data}
    return [
        _written(lambda path: sp.save_npz(path, X, compressed=False), "a.npz"),
        _written(lambda path: sp.save_npz(path, X), "a.npz"),
        _written(lambda path: sp.save_npz(path, X.tocoo(), compressed=False), "a.npz"),
        _written(lambda path: np.savez(path, X=X.toarray(), labels=np.arange(ROWS) % 3), "a.npz"),
        _written(lambda path: np.savez(path, ids=np.array(IDS), **arrays), "a.npz"),
    ]


def _mtx_seeds() -> list[bytes]:
    return [
        _written(lambda path: scipy.io.mmwrite(path, _matrix()), "a.mtx"),
        _written(lambda path: scipy.io.mmwrite(path, _matrix().toarray()), "a.mtx"),
        gzip.compress(b"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n1 1\n2 1\n"),
        b"%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 1 1.0 2.0\n",
    ]


def _cells(X: sp.spmatrix | np.ndarray) -> bytes:
    labels = ["a", "b", None] * (ROWS // 3)
    return _written(lambda path: write(DataSet(X, IDS, labels=labels, feature_names=list("uvwxyz")), path), "a.h5ad")


def _read_cells() -> Callable[[Path], object]:
    """By rows, by columns or dense, changed as the bytes of the file say."""
    kinds = [_cells(kind(_matrix())) for kind in (sp.csr_matrix, sp.csc_matrix, sp.csr_matrix.toarray)]
    for kind in kinds:  # what is imported late must be there before the watch begins
        _written(lambda path, kind=kind: (path.write_bytes(kind), read(path)), "a.h5ad")

    def reads(path: Path) -> None:
        choices = Choices(path.read_bytes())
        content = kinds[choices.of(len(kinds))]
        watch.on = False
        try:
            for _ in range(choices.of(4)):
                content = rewritten(content, choices)
        except (ValueError, TypeError, KeyError, OSError, RuntimeError):
            return  # not everything can be written
        finally:
            watch.on = True
        path.with_suffix(".h5ad").write_bytes(content)
        read_both_ways(path.with_suffix(".h5ad"))

    return reads


def _parquet_seeds() -> list[bytes]:
    tables = (
        {"id": IDS, "x": np.arange(ROWS) / 2, "y": range(ROWS), "label": ["a", None] * (ROWS // 2)},
        {"text": ["one two", "two", "one one"], "more": [[1], [], None], "id": [b"p", b"q", b"r"]},
    )
    return [_written(lambda path, table=table: write_table(path, table), "a.parquet") for table in tables]


def _model() -> HMRFKMeans:
    labels = [0, 1, *[-1] * (ROWS - 2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return HMRFKMeans(2, metric="i_divergence", random_state=0).fit(_matrix(), partial_labels=labels)


def _use_model(path: Path) -> None:
    model = load(path)
    if model.n_features_in_ < 1000:
        model.predict(np.ones((2, model.n_features_in_)))


def _archive_content(write: Callable[[Path], object], file_format: str) -> tuple[dict, dict]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        write(path)
        _, content, arrays = read_archive(path, file_format, 1)
    return content, arrays


def _read_signed(file_format: str, arrays: dict, use: Callable[[Path], object]) -> Callable[[Path], object]:
    """Read a file whose checksums are right and whose content is the fuzzed JSON."""

    def reads(path: Path) -> None:
        try:
            content = json.loads(path.read_bytes())
            write_archive(path.with_suffix(".signed"), file_format, 1, content, arrays)
        except (ValueError, RecursionError):
            return
        use(path.with_suffix(".signed"))

    return reads


def _write_checkpoint(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        HMRFKMeans(2, n_init=2, random_state=0, checkpoint=path, checkpoint_every=0.0, max_iter=3).fit(_matrix())


def _write_store(path: Path) -> None:
    with StoreWriter(path, 6) as writer:
        writer.append(_matrix())


def _store_seeds() -> list[bytes]:
    """The first byte says which file of the store the rest takes the place of."""
    with tempfile.TemporaryDirectory() as folder:
        _write_store(Path(folder) / "store")
        return [bytes([k]) + (Path(folder) / "store" / name).read_bytes() for k, name in enumerate(STORE_FILES)]


def _use_store(path: Path) -> None:
    content, folder = path.read_bytes(), path.with_suffix(".store")
    shutil.rmtree(folder, ignore_errors=True)
    _write_store(folder)
    if content:
        (folder / STORE_FILES[content[0] % 4]).write_bytes(content[1:])
    rows = DiskRows(folder)
    for block in rows.spans():
        assert block.corpus.indices.size == 0 or 0 <= block.corpus.indices.min()
        assert block.corpus.indices.size == 0 or block.corpus.indices.max() < rows.n_features


def _session_seeds() -> list[bytes]:
    line = {"kind": "question", "rows": [0, 3], "answer": "must_link"}
    return [_written(lambda path: SessionFile(path, HEADER), "s.jsonl") + json.dumps(line).encode() + b"\n"]


def _text(*lines: str) -> bytes:
    return "\n".join(lines).encode()


def _readers() -> dict[str, Reader]:
    model, checkpoint = _model(), _written(_write_checkpoint, "c")
    model_content, model_arrays = _archive_content(model.save, MODEL_FORMAT)
    place_content, place_arrays = _archive_content(lambda path: path.write_bytes(checkpoint), CHECKPOINT_FORMAT)
    pairs = [
        _text("i,j,type,weight", "0,1,must,1.5", "2,3,cannot,inf"), _text("0,1,ml", "# told", "4,5,cl"),
        _text("id,label", "row 0,a", "row 3,b"), _text("row,must_link_group", "0,x", "1,x", "2,y"),
    ]  # fmt: skip
    json_pairs = [_text('{"i": 0, "j": 1, "type": "must"}', '{"i": 2, "j": 3, "type": -1, "weight": 2}')]
    weights = [_text("row,weight", "0,2.5", "3,0"), _text("id,weight", "row 0,2.5", "row 3,")]
    svm = b"1 1:0.5 3:2 # a\n-1 2:1e3\n0\n"
    texts = [
        _text('{"id": 1, "text": "one two", "label": "a"}', '{"id": 2, "text": "two three"}'),
        b'{"x": 1}\n{"x": 2}',
    ]
    return {
        "npz": Reader(".npz", read_both_ways, _npz_seeds),
        "mtx": Reader(".mtx", read_both_ways, _mtx_seeds),
        "svmlight": Reader(".svm", read_both_ways, lambda: [svm, gzip.compress(svm), b"1 qid:3 1:2\n"]),
        "jsonl": Reader(".jsonl", read_both_ways, lambda: texts),
        "csv": Reader(".csv", read_both_ways, lambda: [b"id,x,y\na,1,2\nb,3,4\n", b'text,label\n"a, b",1\nc d,2\n']),
        "h5ad": Reader(".choices", _read_cells(), lambda: [bytes(range(k, k + 12)) for k in range(0, 240, 12)]),
        "parquet": Reader(".parquet", read_both_ways, _parquet_seeds),
        "constraints": Reader(".csv", lambda path: read_constraints(path, ROWS, IDS), lambda: pairs),
        "json_constraints": Reader(".jsonl", lambda path: read_constraints(path, ROWS, IDS), lambda: json_pairs),
        "weights": Reader(".csv", lambda path: read_weights(path, ROWS, IDS), lambda: weights),
        "model": Reader(".model", _use_model, lambda: [_written(model.save, "m")]),
        "signed_model": Reader(
            ".json", _read_signed(MODEL_FORMAT, model_arrays, _use_model), lambda: [json.dumps(model_content).encode()]
        ),
        "checkpoint": Reader(".checkpoint", read_place, lambda: [checkpoint]),
        "signed_checkpoint": Reader(
            ".json", _read_signed(CHECKPOINT_FORMAT, place_arrays, read_place),
            lambda: [json.dumps(place_content).encode()],
        ),
        "store": Reader(".bytes", _use_store, _store_seeds),
        "session": Reader(".session", lambda path: SessionFile(path, HEADER), _session_seeds),
    }  # fmt: skip


READERS = _readers()


def examples(name: str, count: int, seed: int) -> Iterator[bytes]:
    """The files to begin with, and then mutations of these."""
    seeds, rng = READERS[name].seeds(), np.random.default_rng(seed)
    yield from seeds
    for number in range(count):
        seed_file = seeds[number % len(seeds)]
        zipped = seed_file[:2] == b"PK" and rng.random() < 0.7
        yield repacked(seed_file, rng) if zipped else mutated(seed_file, rng)
