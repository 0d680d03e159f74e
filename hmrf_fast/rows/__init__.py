"""Where the rows of X live: in memory, on disk, or on the machines of a cluster.

`DiskRows`, or the path of its folder, may stand for X in ``fit`` and ``predict``; the ``write_`` functions make one.
"""

from hmrf_fast.rows.cluster import DaskRows
from hmrf_fast.rows.convert import (
    write_blocks,
    write_h5ad,
    write_matrix,
    write_matrix_market,
    write_npz,
    write_svmlight,
)
from hmrf_fast.rows.disk import DiskRows
from hmrf_fast.rows.interface import Rows
from hmrf_fast.rows.texts import stream_texts, write_texts

__all__ = [
    "DaskRows",
    "DiskRows",
    "Rows",
    "stream_texts",
    "write_blocks",
    "write_h5ad",
    "write_matrix",
    "write_matrix_market",
    "write_npz",
    "write_svmlight",
    "write_texts",
]
