"""Where the rows of X live: in memory, on disk, or on the machines of a cluster.

`DiskRows`, or the path of its folder, may stand for X in ``fit`` and ``predict``; the ``write_`` functions make one,
and `hmrf_fast.io.read` makes one of a file.
"""

from hmrf_fast.rows.cluster import DaskRows
from hmrf_fast.rows.convert import write_blocks, write_matrix, write_texts
from hmrf_fast.rows.disk import DiskRows
from hmrf_fast.rows.interface import Rows

__all__ = [
    "DaskRows",
    "DiskRows",
    "Rows",
    "write_blocks",
    "write_matrix",
    "write_texts",
]
