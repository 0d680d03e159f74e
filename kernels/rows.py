"""One sparse row times a dense table: the innermost kernel, on which the speed of every distance rests.

The table is term-major (one contiguous stretch of cluster values per feature). ``row_blocks.py`` says how its vectors
are multiplied and added; here they are chosen.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import intrinsic

from hmrf_fast.kernels._jit import JIT_DISABLED, inlined, kernel, lean_kernel
from hmrf_fast.kernels.row_blocks import MAX_VECTORS, VECTOR_BYTES, PickedBlock, row_block

_block1, _block2, _block3, _block4 = (row_block(n) for n in (1, 2, 3, 4))
_block5, _block6, _block7, _block8 = (row_block(n) for n in (5, 6, 7, 8))
_quarter = row_block(1, 16, 4)  # float32 with at most four clusters
_picked1, _picked2, _picked3, _picked4 = (row_block(n, kind=PickedBlock) for n in (1, 2, 3, 4))
_picked5, _picked6, _picked7, _picked8 = (row_block(n, kind=PickedBlock) for n in (5, 6, 7, 8))


@intrinsic
def _address(typingctx, array, entry):
    """Pointer to an entry of a contiguous array. Pointers pass from kernel to kernel in registers and without the
    counting of references that arrays take with every row."""
    signature = types.CPointer(array.dtype)(array, types.intp)

    def codegen(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.gep(data, [arguments[1]])

    return signature, codegen


@intrinsic
def _compiled_lanes_of(typingctx, sums):
    lanes = VECTOR_BYTES // (sums.dtype.bitwidth // 8)

    def codegen(context, builder, signature, arguments):
        return context.get_constant(types.intp, lanes)

    return types.intp(sums), codegen


@kernel
def _row_products(indices, values, count, last, table, width, span, out):
    lanes = _compiled_lanes_of(out)
    if width < lanes:
        _quarter(indices, values, count, last, table, width, 0, out)
        return
    offset = 0
    while offset < span:
        n_vectors = min((span - offset) // lanes, MAX_VECTORS)
        if n_vectors == 8:
            _block8(indices, values, count, last, table, width, offset, out)
        elif n_vectors == 7:
            _block7(indices, values, count, last, table, width, offset, out)
        elif n_vectors == 6:
            _block6(indices, values, count, last, table, width, offset, out)
        elif n_vectors == 5:
            _block5(indices, values, count, last, table, width, offset, out)
        elif n_vectors == 4:
            _block4(indices, values, count, last, table, width, offset, out)
        elif n_vectors == 3:
            _block3(indices, values, count, last, table, width, offset, out)
        elif n_vectors == 2:
            _block2(indices, values, count, last, table, width, offset, out)
        else:
            _block1(indices, values, count, last, table, width, offset, out)
        offset += n_vectors * lanes


@inlined
def _compiled_row_dots(indices, values, start, end, table, out):
    _row_products(
        _address(indices, start),
        _address(values, start),
        end - start,
        indices.size - 1 - start,
        _address(table, 0),
        table.shape[1],
        table.shape[1],
        _address(out, 0),
    )


@lean_kernel
def _compiled_picked_dots(indices, values, start, end, table, places, count, out):
    shared = (
        _address(indices, start), _address(values, start), end - start, max(end - start - 1, 0),
        _address(table, 0), table.shape[2], _address(places, 0), _address(out, 0),
    )  # fmt: skip
    if count == 1:
        _picked1(*shared)
    elif count == 2:
        _picked2(*shared)
    elif count == 3:
        _picked3(*shared)
    elif count == 4:
        _picked4(*shared)
    elif count == 5:
        _picked5(*shared)
    elif count == 6:
        _picked6(*shared)
    elif count == 7:
        _picked7(*shared)
    else:
        _picked8(*shared)


def _plain_row_dots(indices, values, start, end, table, out):
    # Row after row, so that a column's sum is the same bits in any table.
    cells = table[indices[start:end]]
    if cells.dtype == np.uint16:
        cells = (cells.astype(np.uint32) << 16).view(np.float32)
    np.add.reduce(values[start:end].astype(out.dtype)[:, None] * cells, axis=0, out=out[: table.shape[1]])


def _plain_picked_dots(indices, values, start, end, table, places, count, out):
    lanes = VECTOR_BYTES // table.itemsize
    columns = places[:count, None] + np.arange(lanes)
    rows = table.reshape(-1)[indices[start:end].astype(np.int64)[:, None] * table.shape[2] + columns.ravel()]
    np.add.reduce(values[start:end].astype(table.dtype)[:, None] * rows, axis=0, out=out[: count * lanes])


row_dots = _plain_row_dots if JIT_DISABLED else _compiled_row_dots
row_dots.__doc__ = """out[h] = sum over the row of value * table[index, h], for all h at once.

IN indices (nnz,) int32, values (nnz,) float, start, end: the row's entries; table (d, width) contiguous, of padded
width; OUT out (width,) or longer, of the table's dtype. Cost: width multiply-adds per non-zero. The table may also hold
numbers of half the size: float32 for float64, and uint16 for float32, of which it has the upper half.
"""


def _plain_lanes_of(sums):
    return VECTOR_BYTES // sums.itemsize


lanes_of = _plain_lanes_of if JIT_DISABLED else _compiled_lanes_of
lanes_of.__doc__ = """Numbers per vector of an array like sums, known when compiled."""

picked_dots = _plain_picked_dots if JIT_DISABLED else _compiled_picked_dots
picked_dots.__doc__ = """The same bits for a few vectors of the columns of a table (tiles, d, width) alone.

IN places (count,) int64: where in the flat table they begin for feature 0, count at most ``MAX_VECTORS``; OUT out
(count * lanes,) or longer. Rows may come in any order: nothing that lies behind the row is asked for."""


def padded_width(n_clusters: int, dtype: np.dtype) -> int:
    """Width of a table: clusters rounded up to whole vectors, so that no kernel needs a scalar tail."""
    item = np.dtype(dtype).itemsize
    if item == 4 and n_clusters <= 4:
        return 4
    lanes = VECTOR_BYTES // item
    return -(-n_clusters // lanes) * lanes
