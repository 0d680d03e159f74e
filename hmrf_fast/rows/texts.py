"""Streams of texts -> stores: any vectorizer in the manner of scikit-learn's that has ``transform``."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from hmrf_fast.errors import InputError, in_short
from hmrf_fast.rows.convert import write_blocks
from hmrf_fast.rows.disk import DiskRows

AT_ONCE = 1000  # texts


def write_texts(path, texts: Iterable[str], vectorizer: Any, *, dtype=np.float64) -> DiskRows:
    """Store one row per text; at most a thousand texts are in memory.

    Parameters
    ----------
    path : path-like
        The folder to make.
    texts : iterable of str
        See `stream_texts` for those in files.
    vectorizer : object with ``transform``
        A ``HashingVectorizer``, which needs no fit, or a fitted ``TfidfVectorizer`` or pipeline: a vocabulary and
        document frequencies take a pass of their own over the texts.
    dtype : {numpy.float32, numpy.float64}

    Returns
    -------
    DiskRows
    """
    stream = iter(texts)
    batches = iter(lambda: list(islice(stream, AT_ONCE)), [])
    return write_blocks(path, (vectorizer.transform(batch) for batch in batches), dtype=dtype)


def stream_texts(source, field: str = "text") -> Iterator[str]:
    """Texts of a file of JSON lines, CSV with a header (both may be gzipped) or Parquet, one by one.

    For corpora that do not fit into memory; `hmrf_fast.io.read_texts` reads all at once, with ids and classes.

    Parameters
    ----------
    source : path-like
        Its ending tells the kind: .jsonl, .csv, .parquet, the first two also with .gz behind.
    field : str
        The key or column.

    Raises
    ------
    InputError
        If the ending is none of these, or a record has no such field.
    """
    path = Path(source)
    kind = path.suffixes[-2] if path.suffix == ".gz" and len(path.suffixes) > 1 else path.suffix
    readers = {".jsonl": _json_lines, ".csv": _csv_lines, ".parquet": _parquet}
    if kind not in readers:
        raise InputError(f"{path}: texts are read from .jsonl, .csv and .parquet")
    for number, record in enumerate(readers[kind](path)):
        if not isinstance(record, dict) or not isinstance(record.get(field), str):
            raise InputError(f"{path}: record {number} has no text named {field!r}")
        yield record[field]


def _open(path: Path) -> Any:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="")
    return path.open(encoding="utf-8", newline="")


def _json_lines(path: Path) -> Iterator[Any]:
    with _open(path) as file:
        for number, line in enumerate(file):
            try:
                yield json.loads(line)
            except ValueError as error:
                raise InputError(f"{path}: line {number + 1} is no JSON ({in_short(error)})") from None


def _csv_lines(path: Path) -> Iterator[Any]:
    with _open(path) as file:
        yield from csv.DictReader(file)


def _parquet(path: Path) -> Iterator[Any]:
    try:
        import pyarrow.parquet
    except ImportError:
        raise InputError("reading .parquet needs pyarrow: pip install pyarrow") from None
    with pyarrow.parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=AT_ONCE):
            yield from batch.to_pylist()
