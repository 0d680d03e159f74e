"""A row's keys, by which it chooses among the centroids, and the two lowest of them, in vector instructions.

After the products with the table this is all that a row costs; loops with branches would take as long as the products.
As in ``rows.py`` LLVM does not find these forms itself, so intrinsics emit them.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from hmrf_fast.kernels._jit import JIT_DISABLED, inlined
from hmrf_fast.kernels.row_blocks import VECTOR_BYTES

I32, I64 = ir.IntType(32), ir.IntType(64)


class _Sweep:
    """Emits a loop over the vectors of an array; what it carries from vector to vector is a list of values."""

    def __init__(self, builder, size, scalar):
        self.b, self.scalar = builder, scalar
        self.item = 4 if scalar == ir.FloatType() else 8
        self.lanes = VECTOR_BYTES // self.item
        self.vector = ir.VectorType(scalar, self.lanes)
        self.number = ir.IntType(8 * self.item)  # as many of these in a vector as there are keys
        self.numbers = ir.VectorType(self.number, self.lanes)
        self.count = builder.sdiv(size, ir.Constant(I64, self.lanes))

    def spread(self, value, vector):
        undefined = ir.Constant(vector, ir.Undefined)
        filled = self.b.insert_element(undefined, value, ir.Constant(I32, 0))
        return self.b.shuffle_vector(filled, undefined, ir.Constant(ir.VectorType(I32, self.lanes), [0] * self.lanes))

    def pointer(self, data, position):
        address = self.b.gep(data, [self.b.mul(position, ir.Constant(I64, self.lanes))])
        return self.b.bitcast(address, self.vector.as_pointer())

    def load(self, data, position):
        return self.b.load(self.pointer(data, position), align=self.item)

    def run(self, step, start=()):
        """``step(position, carried)`` gives what is carried on; the result is what the last vector left."""
        b = self.b
        before = b.block
        body, after = (b.function.append_basic_block(f"sweep.{part}") for part in ("body", "after"))
        b.branch(body)
        b.position_at_end(body)
        position = b.phi(I64)
        position.add_incoming(ir.Constant(I64, 0), before)
        carried = [b.phi(value.type) for value in start]
        for phi, value in zip(carried, start, strict=True):
            phi.add_incoming(value, before)
        following = step(position, carried)
        next_position = b.add(position, ir.Constant(I64, 1))
        for phi, value in zip([position, *carried], [next_position, *following], strict=True):
            phi.add_incoming(value, body)
        b.cbranch(b.icmp_signed("<", next_position, self.count), body, after)
        b.position_at_end(after)
        return following


def _write_keys(builder, sums, size, offset, scale, keys):
    sweep = _Sweep(builder, size, scale.type)
    factor = sweep.spread(scale, sweep.vector)

    def step(position, _):
        product = builder.fmul(sweep.load(sums, position), factor, flags=("contract",))
        key = builder.fadd(product, sweep.load(offset, position), flags=("contract",))
        builder.store(key, sweep.pointer(keys, position), align=sweep.item)
        return ()

    sweep.run(step)


def _smaller(b, x, y):
    return b.select(b.fcmp_ordered("<", y, x), y, x)


def _find_two_lowest(b, keys, size, scalar):
    """Every lane keeps its own two lowest and the vector number of the first; the lanes are compared at the end."""
    sweep = _Sweep(b, size, scalar)

    def step(position, carried):
        low, second, place = carried
        key = sweep.load(keys, position)
        less = b.fcmp_ordered("<", key, low)
        here = position if sweep.item == 8 else b.trunc(position, sweep.number)
        second = _smaller(b, second, b.select(less, low, key))
        return b.select(less, key, low), second, b.select(less, sweep.spread(here, sweep.numbers), place)

    infinite = ir.Constant(sweep.vector, [float("inf")] * sweep.lanes)
    low, second, place = sweep.run(step, [infinite, infinite, ir.Constant(sweep.numbers, [0] * sweep.lanes)])
    lanes = ir.Constant(sweep.numbers, [sweep.lanes] * sweep.lanes)
    place = b.add(b.mul(place, lanes), ir.Constant(sweep.numbers, list(range(sweep.lanes))))
    low, second, place = _fold(b, low, second, place, sweep.lanes)
    return low, second, place if sweep.item == 8 else b.sext(place, I64)


def _fold(b, low, second, place, lanes):
    """The two lowest over all lanes: each upper half is compared with the lower one until one lane is left."""
    while lanes > 1:
        lanes //= 2
        halves = []
        for first in (0, lanes):
            mask = ir.Constant(ir.VectorType(I32, lanes), list(range(first, first + lanes)))
            halves.append([b.shuffle_vector(x, ir.Constant(x.type, ir.Undefined), mask) for x in (low, second, place)])
        (low, second, place), (key, other, mine) = halves
        earlier = b.and_(b.fcmp_ordered("==", key, low), b.icmp_signed("<", mine, place))
        wins = b.or_(b.fcmp_ordered("<", key, low), earlier)
        second = _smaller(b, _smaller(b, second, other), b.select(wins, low, key))
        low, place = b.select(wins, key, low), b.select(wins, mine, place)
    return [b.extract_element(x, ir.Constant(I32, 0)) for x in (low, second, place)]


@intrinsic
def _compiled_write_keys(typingctx, sums, offset, begin, scale, keys):
    signature = types.void(sums, offset, types.intp, sums.dtype, keys)

    def codegen(context, builder, signature, arguments):
        arrays = [context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 1, 4)]
        size = builder.extract_value(arrays[0].shape, 0)
        offset = builder.gep(arrays[1].data, [arguments[2]])
        _write_keys(builder, arrays[0].data, size, offset, arguments[3], arrays[2].data)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def _compiled_two_lowest(typingctx, keys):
    signature = types.Tuple((keys.dtype, keys.dtype, types.int64))(keys)

    def codegen(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        size, scalar = builder.extract_value(array.shape, 0), context.get_data_type(signature.args[0].dtype)
        found = _find_two_lowest(builder, array.data, size, scalar)
        return context.make_tuple(builder, signature.return_type, found)

    return signature, codegen


def _plain_write_keys(sums, offset, begin, scale, keys):
    keys[:] = offset[begin : begin + keys.size] + scale * sums


def _plain_two_lowest(keys):
    place = int(np.argmin(keys))
    return keys[place], np.delete(keys, place).min(), place


write_keys = _plain_write_keys if JIT_DISABLED else _compiled_write_keys
write_keys.__doc__ = """keys[h] OUT = offset[begin + h] + scale * sums[h]; all of one type and of whole vectors."""
two_lowest = _plain_two_lowest if JIT_DISABLED else _compiled_two_lowest
two_lowest.__doc__ = (
    """(lowest, second lowest, first place of the lowest) of keys (width,) without NaN, of whole vectors."""
)


@inlined
def vector_buffer(width, table, value):
    """``value`` in every lane of a tile of that width, and up to whole vectors."""
    return np.full(max(width, VECTOR_BYTES // table.itemsize), table.dtype.type(value))
