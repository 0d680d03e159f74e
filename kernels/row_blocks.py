"""The vector instructions of the innermost kernel (``rows.py``), emitted as LLVM's intermediate language.

A block of cluster sums stays in vector registers over the whole row, with two accumulator sets (even and odd non-zeros)
to hide latency. LLVM does not find this form from a plain loop; it lowers what is emitted here for any processor.

Table rows come in no order, mostly from beyond the near caches, and a processor looks only a few non-zeros ahead. So
those of later non-zeros, also of the next row, are asked for long before: wide tables are read in half the time.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from hmrf_fast.kernels.prefetch import LINE_BYTES, ask_for

VECTOR_BYTES = 32
MAX_VECTORS = 8  # that the registers of a processor hold sums of, twice
AHEAD = 32  # non-zeros between the request for a table row and its use
LEAST_AHEAD = 8  # where several lines are asked for per non-zero
_BYTES = {"float": 4, "double": 8, "i16": 2}


class RowBlock:
    """Emits out[place : place + n_vectors * lanes] = sum over the row of value * table[index, place : ...].

    Every lane adds its even and its odd non-zeros apart, whatever the width: a cluster's sum has the same bits in any
    column of any table of whole vectors, which pruning relies on (``pruning.py``). Quarter tables add four ways."""

    def __init__(self, builder, arguments, n_vectors, vector_bytes, ways):
        self.builder, self.ways = builder, ways
        self.indices, self.values, self.count, self.last, table, self.row_stride, place, out = arguments
        self.scalar, self.value_scalar, self.stored = (x.type.pointee for x in (out, self.values, table))
        self.item, item = (_BYTES[str(kind)] for kind in (self.scalar, self.stored))
        self.lanes, self.n_vectors = vector_bytes // self.item, n_vectors
        self.vector = ir.VectorType(self.scalar, self.lanes)
        self.i64, self.i32 = ir.IntType(64), ir.IntType(32)
        self.vectors_per_line = LINE_BYTES // (self.lanes * item)
        self.ahead = AHEAD if n_vectors > 1 else 0  # tables of one vector lie near enough
        self.find(table, place, out)

    def find(self, table, place, out):
        """Neighbouring columns from a place of the table on, and their sums."""
        self.base, self.target = self.builder.gep(table, [place]), self.builder.gep(out, [place])

    def _vector_pointer(self, data, position):
        return self.builder.bitcast(self.builder.gep(data, [position]), self.vector.as_pointer())

    def table_row(self, entry):
        """How far from its beginning the table row of a non-zero begins."""
        b = self.builder
        index = b.load(b.gep(self.indices, [entry]))
        column = b.zext(index, self.i64) if index.type.width < 64 else index
        return b.mul(column, self.row_stride)

    def vectors(self, entry):
        """Where the numbers that a non-zero multiplies begin, vector by vector."""
        row = self.builder.gep(self.base, [self.table_row(entry)])
        return [self.builder.gep(row, [ir.Constant(self.i64, k * self.lanes)]) for k in range(self.n_vectors)]

    def look_ahead(self, entry):
        """Ask for what a later non-zero needs."""
        if not self.ahead:
            return
        b = self.builder
        later = b.add(entry, ir.Constant(self.i64, self.ahead))
        later = b.select(b.icmp_signed("<", later, self.last), later, self.last)
        for pointer in self.vectors(later)[:: self.vectors_per_line]:
            ask_for(b, pointer)

    def load(self, pointer):
        """A vector of the table. Tables that bound others hold numbers of half the size."""
        b, kind = self.builder, ir.VectorType(self.stored, self.lanes)
        cell = b.load(b.bitcast(pointer, kind.as_pointer()), align=_BYTES[str(self.stored)])
        if self.stored == self.scalar:
            return cell
        if self.scalar == ir.DoubleType():
            return b.fpext(cell, self.vector)
        wide = ir.VectorType(self.i32, self.lanes)
        return b.bitcast(b.shl(b.zext(cell, wide), ir.Constant(wide, [16] * self.lanes)), self.vector)

    def step(self, entry, sums):
        """One non-zero: every accumulator gets value * table row. Contraction lets LLVM use a fused instruction."""
        b = self.builder
        self.look_ahead(entry)
        value = b.load(b.gep(self.values, [entry]))
        if self.value_scalar != self.scalar:
            value = b.fpext(value, self.scalar) if self.scalar == ir.DoubleType() else b.fptrunc(value, self.scalar)
        undefined = ir.Constant(self.vector, ir.Undefined)
        spread = b.insert_element(undefined, value, ir.Constant(self.i32, 0))
        lanes = ir.Constant(ir.VectorType(self.i32, self.lanes), [0] * self.lanes)
        spread = b.shuffle_vector(spread, undefined, lanes)
        result = []
        for pointer, total in zip(self.vectors(entry), sums, strict=True):
            cell = self.load(pointer)
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


class PickedBlock(RowBlock):
    """The same for vectors from anywhere in a table, whose places are listed; their sums are neighbours."""

    def find(self, table, place, out):
        b = self.builder
        places = [b.load(b.gep(place, [ir.Constant(self.i64, k)])) for k in range(self.n_vectors)]
        self.bases, self.target = [b.gep(table, [one]) for one in places], out
        self.vectors_per_line, self.ahead = 1, max(LEAST_AHEAD, AHEAD // self.n_vectors)

    def vectors(self, entry):
        row = self.table_row(entry)
        return [self.builder.gep(base, [row]) for base in self.bases]


def row_block(n_vectors: int, vector_bytes: int = VECTOR_BYTES, ways: int = 2, kind=RowBlock):
    @intrinsic
    def block(typingctx, indices, values, count, last, table, width, place, out):
        where = types.intp if kind is RowBlock else place
        signature = types.void(indices, values, types.intp, types.intp, table, types.intp, where, out)

        def codegen(context, builder, signature, arguments):
            kind(builder, arguments, n_vectors, vector_bytes, ways).emit()
            return context.get_dummy_value()

        return signature, codegen

    return block
