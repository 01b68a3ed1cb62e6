"""Five instructions that numba does not offer by itself, as LLVM writes them: portable, and as wide as the processor allows.

Loads read beyond the byte they are given: the caller sees to it that as many bytes follow.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from udfs.dedup.mix import TOKEN_BASE

#: Bytes that ``word_bits`` looks at.
BLOCK = 64

_BYTE, _WORD = ir.IntType(8), ir.IntType(64)
#: Weight of each of eight bytes, the last of which counts once: Horner's rule written as a sum.
_WEIGHTS = [pow(int(TOKEN_BASE), 7 - i, 1 << 64) for i in range(8)]


def _load(context: Any, builder: Any, sig: Any, args: Any, kind: Any) -> Any:
    array = context.make_array(sig.args[0])(context, builder, args[0])
    address = builder.bitcast(builder.gep(array.data, [args[1]]), ir.PointerType(kind))
    return builder.load(address, align=1)


@intrinsic
def load64(_context, data, at):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, ARG001 -- numba calls it with types
    """Eight bytes of ``data`` from ``at`` on, the first one lowest."""
    return types.uint64(data, types.intp), lambda context, builder, sig, args: _load(context, builder, sig, args, _WORD)


@intrinsic
def word_bits(_context, data, at):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, ARG001
    """Bit i: whether byte ``at + i`` is an ASCII letter or digit, of ``BLOCK`` bytes."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        lanes = ir.VectorType(_BYTE, BLOCK)

        def all_of(value: int) -> Any:
            return ir.Constant(lanes, [value] * BLOCK)

        found = _load(context, builder, sig, args, lanes)
        letter = builder.icmp_unsigned("<", builder.sub(builder.or_(found, all_of(0x20)), all_of(ord("a"))), all_of(26))
        digit = builder.icmp_unsigned("<", builder.sub(found, all_of(ord("0"))), all_of(10))
        return builder.bitcast(builder.or_(letter, digit), _WORD)

    return types.uint64(data, types.intp), generate


@intrinsic
def trailing_zeros(_context, bits):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, ARG001
    """Ordinal of the lowest bit that is set; ``bits`` is not 0."""
    return types.intp(types.uint64), lambda _context, builder, _sig, args: builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))


@intrinsic
def ones(_context, bits):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, ARG001
    """How many bits are set."""
    return types.int64(types.uint64), lambda _context, builder, _sig, args: builder.ctpop(args[0])


@intrinsic
def horner8(_context, eight):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, ARG001
    """Horner's rule with ``TOKEN_BASE`` over the eight bytes of ``eight``, lowest first: leading zero bytes count nothing."""

    def generate(_context: Any, builder: Any, _sig: Any, args: Any) -> Any:
        lanes = ir.VectorType(_WORD, 8)
        spread = builder.zext(builder.bitcast(args[0], ir.VectorType(_BYTE, 8)), lanes)
        weights = ir.Constant(lanes, [w - (1 << 64) if w >> 63 else w for w in _WEIGHTS])  # llvmlite writes signed constants
        total = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_WORD, [lanes]), "llvm.vector.reduce.add.v8i64")
        return builder.call(total, [builder.mul(spread, weights)])

    return types.uint64(types.uint64), generate
