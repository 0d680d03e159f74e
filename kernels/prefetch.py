"""Asking for memory before it is needed.

A pass that visits rows label after label jumps through memory, and the processor sees no pattern that it could run
ahead of: each row begins with a wait. Named one row ahead, its lines arrive while the row before is worked on; passes
over large matrices take half the time. So do products with tables that no near cache holds (``rows.py``).
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from hmrf_fast.kernels._jit import JIT_DISABLED, inlined

LINE_BYTES = 64
VISITS_AHEAD = 2  # rows


def ask_for(builder, pointer) -> None:
    """Emits the request for the cache line of an address; one that is not mapped does no harm."""
    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    ask = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
    read, keep, not_code = number(0), number(3), number(1)
    builder.call(ask, [builder.bitcast(pointer, byte), read, keep, not_code])


def _ask_for_all(builder, data, first, last, bits) -> None:
    """Emits the requests for entries [first, last), of that many bits each."""
    i64 = ir.IntType(64)
    step = i64(LINE_BYTES * 8 // bits)
    before = builder.block
    head, body, after = (builder.function.append_basic_block(f"prefetch.{part}") for part in ("head", "body", "after"))
    builder.branch(head)
    builder.position_at_end(head)
    entry = builder.phi(i64)
    entry.add_incoming(first, before)
    builder.cbranch(builder.icmp_signed("<", entry, last), body, after)
    builder.position_at_end(body)
    ask_for(builder, builder.gep(data, [entry]))
    entry.add_incoming(builder.add(entry, step), body)
    builder.branch(head)
    builder.position_at_end(after)


@intrinsic
def _prefetch(typingctx, array, first, last):
    """Ask for the cache lines of array[first:last], which must lie within the array."""
    signature = types.void(array, types.intp, types.intp)

    def codegen(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        _ask_for_all(builder, data, arguments[1], arguments[2], array.dtype.bitwidth)
        return context.get_dummy_value()

    return signature, codegen


@inlined
def _compiled_prefetch_row(corpus, order, position):
    if position < order.size:
        row = order[position]
        begin, end = corpus.indptr[row], corpus.indptr[row + 1]
        _prefetch(corpus.indices, begin, end)
        _prefetch(corpus.values, begin, end)


@inlined
def _compiled_prefetch_visit(corpus, visits, position):
    later = position + VISITS_AHEAD
    if later < visits.begin.size:
        _prefetch(corpus.indices, visits.begin[later], visits.end[later])
        _prefetch(corpus.values, visits.begin[later], visits.end[later])


@intrinsic
def _compiled_prefetch_line(typingctx, table, line, first, last):
    """See ``prefetch_line``."""
    signature = types.void(table, types.intp, types.intp, types.intp)

    def codegen(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        start = builder.mul(arguments[1], builder.extract_value(array.shape, 1))
        data = builder.gep(array.data, [start])
        _ask_for_all(builder, data, arguments[2], arguments[3], signature.args[0].dtype.bitwidth)
        return context.get_dummy_value()

    return signature, codegen


def _plain_prefetch_row(corpus, order, position):
    pass


def _plain_prefetch_visit(corpus, visits, position):
    pass


def _plain_prefetch_line(table, line, first, last):
    pass


def _plain_prefetch_span(array, first, last):
    pass


prefetch_row = _plain_prefetch_row if JIT_DISABLED else _compiled_prefetch_row
prefetch_visit = _plain_prefetch_visit if JIT_DISABLED else _compiled_prefetch_visit
prefetch_visit.__doc__ = """Ask for the non-zeros that a visit (``Visits``) soon after the one at ``position`` reads."""
prefetch_line = _plain_prefetch_line if JIT_DISABLED else _compiled_prefetch_line
prefetch_line.__doc__ = """Ask for table[line, first:last] of a contiguous table."""
prefetch_span = _plain_prefetch_span if JIT_DISABLED else _prefetch
prefetch_span.__doc__ = """Ask for array[first:last]."""
prefetch_row.__doc__ = """Ask for the non-zeros of the row at ``position`` of order (r,), if there is one."""
