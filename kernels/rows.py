"""One sparse row times a dense table: the innermost kernel, on which the speed of every distance rests.

The table is term-major (one contiguous stretch of cluster values per feature). The kernel keeps a block of cluster sums
in vector registers over the whole row and uses two accumulator sets (even and odd non-zeros) to hide latency. LLVM does
not find this form from a plain loop, so a numba intrinsic emits it as vector IR; LLVM lowers that for any processor.

Table rows come in no order, mostly from beyond the near caches, and a processor looks only a few non-zeros ahead. So
those of later non-zeros, also of the next row, are asked for long before: wide tables are read in half the time.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from hmrf_fast.kernels._jit import JIT_DISABLED, inlined, kernel
from hmrf_fast.kernels.prefetch import LINE_BYTES, ask_for

VECTOR_BYTES = 32
MAX_VECTORS = 8
AHEAD = 32  # non-zeros between the request for a table row and its use


class _RowBlock:
    """Emits out[offset : offset + n_vectors * lanes] = sum over the row of value * table[index, offset : ...].

    Every lane adds its even and its odd non-zeros apart, whatever the width: a cluster's sum has the same bits in any
    column of any table of whole vectors, which pruning relies on (``pruning.py``). Quarter tables add four ways."""

    def __init__(self, builder, arguments, n_vectors, vector_bytes, ways):
        self.builder, self.ways = builder, ways
        self.indices, self.values, self.count, self.last, table, self.row_stride, offset, out = arguments
        self.scalar, self.value_scalar = table.type.pointee, self.values.type.pointee
        item = 4 if self.scalar == ir.FloatType() else 8
        self.item, self.lanes, self.n_vectors = item, vector_bytes // item, n_vectors
        self.vector = ir.VectorType(self.scalar, self.lanes)
        self.i64, self.i32 = ir.IntType(64), ir.IntType(32)
        self.base = builder.gep(table, [offset])
        self.target = builder.gep(out, [offset])

    def _vector_pointer(self, data, position):
        return self.builder.bitcast(self.builder.gep(data, [position]), self.vector.as_pointer())

    def table_row(self, entry):
        """Where the table row of a non-zero begins."""
        b = self.builder
        index = b.load(b.gep(self.indices, [entry]))
        column = b.zext(index, self.i64) if index.type.width < 64 else index
        return b.gep(self.base, [b.mul(column, self.row_stride)])

    def look_ahead(self, entry):
        """Ask for the table row of a later non-zero; tables of one vector lie near enough."""
        if self.n_vectors == 1:
            return
        b = self.builder
        later = b.add(entry, ir.Constant(self.i64, AHEAD))
        row = self.table_row(b.select(b.icmp_signed("<", later, self.last), later, self.last))
        for lane in range(0, self.n_vectors * self.lanes, LINE_BYTES // self.item):
            ask_for(b, b.gep(row, [ir.Constant(self.i64, lane)]))

    def step(self, entry, sums):
        """One non-zero: every accumulator gets value * table row. Contraction lets LLVM use a fused instruction."""
        b = self.builder
        self.look_ahead(entry)
        row = self.table_row(entry)
        value = b.load(b.gep(self.values, [entry]))
        if self.value_scalar != self.scalar:
            value = b.fpext(value, self.scalar) if self.scalar == ir.DoubleType() else b.fptrunc(value, self.scalar)
        undefined = ir.Constant(self.vector, ir.Undefined)
        spread = b.insert_element(undefined, value, ir.Constant(self.i32, 0))
        lanes = ir.Constant(ir.VectorType(self.i32, self.lanes), [0] * self.lanes)
        spread = b.shuffle_vector(spread, undefined, lanes)
        result = []
        for k, total in enumerate(sums):
            cell = b.load(self._vector_pointer(row, ir.Constant(self.i64, k * self.lanes)), align=self.item)
            product = b.fmul(cell, spread, flags=("contract",))
            result.append(b.fadd(total, product, flags=("contract",)))
        return result

    def loop(self, first, sums_in, stride, name):
        """Run ``stride`` non-zeros per turn while they last; returns (position, sums) at the exit block."""
        b = self.builder
        before = b.block
        head, body, after = (b.function.append_basic_block(f"{name}.{part}") for part in ("head", "body", "after"))
        b.branch(head)
        b.position_at_end(head)
        entry = b.phi(self.i64)
        entry.add_incoming(first, before)
        sums = [[b.phi(self.vector) for _ in group] for group in sums_in]
        for group, start in zip(sums, sums_in, strict=True):
            for phi, value in zip(group, start, strict=True):
                phi.add_incoming(value, before)
        last = b.add(entry, ir.Constant(self.i64, stride - 1))
        b.cbranch(b.icmp_signed("<", last, self.count), body, after)
        b.position_at_end(body)
        new = [self.step(b.add(entry, ir.Constant(self.i64, u)), group) for u, group in enumerate(sums)]
        entry.add_incoming(b.add(entry, ir.Constant(self.i64, stride)), body)
        for group, values in zip(sums, new, strict=True):
            for phi, value in zip(group, values, strict=True):
                phi.add_incoming(value, body)
        b.branch(head)
        b.position_at_end(after)
        return entry, sums

    def emit(self):
        b = self.builder
        zero = ir.Constant(self.vector, [0.0] * self.lanes)
        entry, sets = self.loop(ir.Constant(self.i64, 0), [[zero] * self.n_vectors] * self.ways, self.ways, "many")
        while len(sets) > 1:
            sets = [[b.fadd(x, y) for x, y in zip(*sets[k : k + 2], strict=True)] for k in range(0, len(sets), 2)]
        (joined,) = sets
        _, (sums,) = self.loop(entry, [joined], 1, "tail")
        for k, total in enumerate(sums):
            b.store(total, self._vector_pointer(self.target, ir.Constant(self.i64, k * self.lanes)), align=self.item)


def _row_block(n_vectors: int, vector_bytes: int = VECTOR_BYTES, ways: int = 2):
    @intrinsic
    def block(typingctx, indices, values, count, last, table, width, offset, out):
        signature = types.void(indices, values, types.intp, types.intp, table, types.intp, types.intp, out)

        def codegen(context, builder, signature, arguments):
            _RowBlock(builder, arguments, n_vectors, vector_bytes, ways).emit()
            return context.get_dummy_value()

        return signature, codegen

    return block


_block1, _block2, _block3, _block4 = (_row_block(n) for n in (1, 2, 3, 4))
_block5, _block6, _block7, _block8 = (_row_block(n) for n in (5, 6, 7, 8))
_quarter = _row_block(1, 16, 4)  # float32 with at most four clusters


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
def _lanes(typingctx, table):
    """Numbers per vector, known when compiled."""
    lanes = VECTOR_BYTES // (table.dtype.bitwidth // 8)

    def codegen(context, builder, signature, arguments):
        return context.get_constant(types.intp, lanes)

    return types.intp(table), codegen


@kernel
def _row_products(indices, values, count, last, table, width, span, out):
    lanes = _lanes(table)
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


@inlined
def _compiled_some_dots(indices, values, start, end, table, first, count, out):
    _row_products(
        _address(indices, start),
        _address(values, start),
        end - start,
        max(end - start - 1, 0),
        _address(table, first),
        table.shape[1],
        count,
        _address(out, 0),
    )


def _plain_row_dots(indices, values, start, end, table, out):
    out[: table.shape[1]] = values[start:end].astype(table.dtype) @ table[indices[start:end]]


def _plain_some_dots(indices, values, start, end, table, first, count, out):
    _plain_row_dots(indices, values, start, end, table, all_dots := np.empty(table.shape[1], table.dtype))
    out[:count] = all_dots[first : first + count]


row_dots = _plain_row_dots if JIT_DISABLED else _compiled_row_dots
row_dots.__doc__ = """out[h] = sum over the row of value * table[index, h], for all h at once.

IN indices (nnz,) int32, values (nnz,) float, start, end: the row's entries; table (d, width) contiguous, of padded
width; OUT out (width,) or longer, of the table's dtype. Cost: width multiply-adds per non-zero.
"""

some_dots = _plain_some_dots if JIT_DISABLED else _compiled_some_dots
some_dots.__doc__ = """The same bits for the columns [first, first + count) of the table alone: out (count,) or longer.

Both are whole vectors. Rows may come in any order: nothing that lies behind the row is asked for."""


def padded_width(n_clusters: int, dtype: np.dtype) -> int:
    """Width of a table: clusters rounded up to whole vectors, so that no kernel needs a scalar tail."""
    item = np.dtype(dtype).itemsize
    if item == 4 and n_clusters <= 4:
        return 4
    lanes = VECTOR_BYTES // item
    return -(-n_clusters // lanes) * lanes
