"""A thin layer over the operations of StableHLO: it tracks dtypes and shapes, and does not know the semantics of Python or NumPy.

Every function emits at the current insertion point.  A :class:`T` is an MLIR value with its dtype and shape.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from hovis.base.once import once
from hovis.ir.model import Location
from hovis.ir.naming import printable
from hovis_xla.emit.fp_barriers import (
    BARRIERS_ARE_FREE,
    goes_round,
    hidden,
    is_constant,
    is_rounded,
    is_spread,
    is_zero,
    literal,
    may_turn_signed_zero,
    may_turn_zero,
    name_of,
    numbers,
    source_of,
)
from hovis_xla.emit.values import BOOL, INT32, INT64, UINT64
from hovis_xla.jaxlib.adapter import chlo, context, ir
from hovis_xla.jaxlib.adapter import stablehlo as hlo

Dtype = np.dtype[Any]


class T(NamedTuple):
    """A tensor: the MLIR value, its dtype, its shape."""

    ir: Any
    dtype: Dtype
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)


# ------------------------------------------------------------------------------------------------- types, constants


@once
def element_type(dtype: Dtype) -> Any:
    """The MLIR type of one element."""
    with context():
        if dtype == BOOL:
            return ir.IntegerType.get_signless(1)
        if dtype.kind == "i":
            return ir.IntegerType.get_signless(8 * dtype.itemsize)
        if dtype.kind == "u":
            return ir.IntegerType.get_unsigned(8 * dtype.itemsize)
        floats = {2: ir.F16Type, 4: ir.F32Type, 8: ir.F64Type}
        if dtype.kind == "f":
            return floats[dtype.itemsize].get()
        return ir.ComplexType.get(floats[dtype.itemsize // 2].get())


def tensor_type(dtype: Dtype, shape: Sequence[int] = ()) -> Any:
    """The MLIR type of a tensor."""
    return ir.RankedTensorType.get(tuple(shape), element_type(dtype))


def stablehlo_names(names: str) -> frozenset[str]:
    """Return the full names of operations of StableHLO, given their names with spaces between them."""
    return frozenset(f"stablehlo.{name}" for name in names.split())


def shape_of(value: Any) -> tuple[int, ...]:
    return tuple(ir.RankedTensorType(value.type).shape)


@once
def _dtypes() -> dict[str, Dtype]:
    return {str(element_type(np.dtype(c))): np.dtype(c) for c in "?bhilBHILefdFD"}


def tensor_of(value: Any) -> T:
    """Return a value of a module, with its dtype and shape."""
    return T(value, _dtypes()[str(ir.RankedTensorType(value.type).element_type)], shape_of(value))


def constant(value: Any, dtype: Any = None) -> T:
    """Emit an array or a number as a constant. A complex constant is built from its real and imaginary parts, because MLIR's Python bindings
    cannot read complex elements.
    """
    array = np.ascontiguousarray(np.asarray(value, dtype)).reshape(np.shape(value))
    if array.dtype.kind == "c":
        return make_complex(constant(array.real), constant(array.imag))
    attribute = ir.DenseElementsAttr.get(array, type=element_type(array.dtype), shape=array.shape)
    return T(hlo.constant(attribute), array.dtype, array.shape)


def full(value: Any, dtype: Dtype, shape: Sequence[int]) -> T:
    """Emit a tensor whose elements all equal ``value``."""
    return broadcast(constant(value, dtype), tuple(shape))


def zeros(dtype: Dtype, shape: Sequence[int]) -> T:
    return full(0, dtype, shape)


def like(value: Any, x: T) -> T:
    """Emit a tensor filled with ``value``, with the dtype and shape of x."""
    return full(value, x.dtype, x.shape)


def iota(dtype: Dtype, shape: Sequence[int], axis: int) -> T:
    return T(hlo.iota(tensor_type(dtype, shape), axis), dtype, tuple(shape))


# ------------------------------------------------------------------------------------------------- elementwise


#: Operations that XLA computes as NumPy does, so that they may be folded here: XLA itself does not fold them if a barrier hides a constant.
ARITHMETIC: Final = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "negate": np.negative}


def op(name: str, *operands: T) -> T:
    """Emit an operation whose result has the dtype and shape of its first operand; fold it if its operands are known floats and XLA computes it
    as NumPy does.
    """
    given = [x.ir for x in operands]
    if name in ARITHMETIC and operands[0].dtype.kind == "f" and (known := numbers(given)) is not None:
        with np.errstate(all="ignore"):
            return like(ARITHMETIC[name](*(operands[0].dtype.type(number) for number in known)), operands[0])
    return T(getattr(hlo, name)(*(literal(name, given) if operands[0].dtype.kind == "f" else given)), operands[0].dtype, operands[0].shape)


def fill_region(region: Any, kinds: Sequence[tuple[Dtype, Sequence[int]]], body: Callable[..., Sequence[T]]) -> None:
    """Emit the block of a region: its parameters have these dtypes and shapes, and ``body`` computes from them what it returns."""
    block = region.blocks.append(*(tensor_type(*kind) for kind in kinds))
    with ir.InsertionPoint(block):
        hlo.return_([r.ir for r in body(*(T(v, dtype, tuple(shape)) for v, (dtype, shape) in zip(block.arguments, kinds, strict=True)))])


def chlo_op(name: str, *operands: T) -> T:
    """Emit an operation of the CHLO dialect (``erf``, ``sinh`` …), which XLA also accepts; the result has the dtype and shape of the first
    operand.
    """
    return T(getattr(chlo, name)(*(x.ir for x in operands)), operands[0].dtype, operands[0].shape)


def _without_sign(x: T) -> T:
    """Emit ``x + 0.0`` as NumPy computes it, which turns -0.0 into 0.0. XLA would simplify the sum to ``x``."""
    if (known := numbers([x.ir])) is not None:
        return like(known[0] + 0.0, x)
    return select(compare("EQ", x, like(0, x)), like(0, x), x)


def begun_with_zero(total: T, *summed: tuple[T, Sequence[int]]) -> T:
    """Turn a -0.0 in ``total``, a sum along these axes that started from 0.0, into 0.0. XLA drops the initial value where it finds that all
    summands are equal.
    """
    if total.dtype.kind not in "fc" or not all(is_spread(x.ir, axes) for x, axes in summed):
        return total
    if total.dtype.kind == "c":
        return make_complex(_without_sign(real(total)), _without_sign(imag(total)))
    return _without_sign(total)


def _sum_with_zeros(a: T, b: T) -> T:
    """Emit ``a + b`` where XLA may find that one operand is a constant zero and replace the sum with the other. A sum of two zeros is -0.0 only
    if both are.
    """
    bits = np.dtype(f"i{a.dtype.itemsize}")
    zeros = and_(compare("EQ", a, like(0, a)), compare("EQ", b, like(0, b)))
    return select(zeros, bits_as(and_(bits_as(a, bits), bits_as(b, bits)), a.dtype), op("add", a, b))


def add(a: T, b: T) -> T:
    if a.dtype == BOOL:  # XLA's own add means the same, but sums of constants are folded as if it did not
        return op("or_", a, b)
    if a.dtype.kind == "c":
        return make_complex(add(real(a), real(b)), add(imag(a), imag(b)))
    if a.dtype.kind == "f":
        ways = (a, b), (b, a)
        for x, y in ways:
            if is_zero(y.ir):
                return _without_sign(x)
        for x, y in ways:
            if may_turn_signed_zero(y.ir):
                return _sum_with_zeros(x, y)
            if may_turn_zero(y.ir):
                return op("add", _without_sign(x), y)
    return op("add", a, b)


def sub(a: T, b: T) -> T:
    if a.dtype.kind == "c":
        return make_complex(sub(real(a), real(b)), sub(imag(a), imag(b)))
    if a.dtype.kind == "f" and is_zero(b.ir, negative=True):
        return _without_sign(a)
    if a.dtype.kind == "f" and may_turn_signed_zero(b.ir):
        return _sum_with_zeros(a, neg(b))
    return op("subtract", a, b)


def mul(a: T, b: T) -> T:
    """Multiply; complex numbers by their parts, because XLA simplifies ``z * 1`` to ``z``, and ``z * c * c`` to ``z * (c * c)``, without regard
    to the signs of zeros.
    """
    if a.dtype == BOOL:
        return op("and_", a, b)
    if a.dtype.kind == "c":
        ar, ai, br, bi = real(a), imag(a), real(b), imag(b)
        return make_complex(sub(mul(ar, br), mul(ai, bi)), add(mul(ar, bi), mul(ai, br)))
    return op("multiply", a, b)


def div(a: T, b: T) -> T:
    """Divide; the quotient of integers is truncated towards zero.

    XLA divides by a constant, and by a broadcast value, by multiplying with the reciprocal: 49 / 49 is less than 1 then.  A barrier prevents
    that, at no cost for scalars, and before 0.12 for arrays as well.  Since then it materializes a broadcast value as an array; therefore
    broadcast scalars are hidden by a ``select`` whose outcome XLA cannot foresee, and other divisors are not hidden.
    """
    single = b.dtype.kind in "fc" and not b.shape and is_constant(b.ir)
    if single and a.dtype.kind == "f" and not a.shape and is_constant(a.ir):
        return op("divide", a, b)
    if single or (b.dtype.kind == "f" and b.size > 1 and BARRIERS_ARE_FREE and is_rounded(b.ir)):
        b = T(hidden(b.ir), b.dtype, b.shape)
    elif b.dtype.kind == "f" and b.size > 1 and is_rounded(b.ir, numbers=True):
        nowhere = broadcast(T(hidden(constant(-1, INT64).ir), INT64, ()), b.shape)
        b = select(compare("NE", reshape(iota(INT64, (b.size,), 0), b.shape), nowhere), b, like(1, b))
    return op("divide", a, b)


#: The remainder that belongs to :func:`div`: it has the sign of the first operand.
rem: Final = partial(op, "remainder")
neg: Final = partial(op, "negate")
and_: Final = partial(op, "and_")
or_: Final = partial(op, "or_")
xor: Final = partial(op, "xor")
not_: Final = partial(op, "not_")


_COMPARE_TYPES: Final = {"b": "UNSIGNED", "u": "UNSIGNED", "i": "SIGNED", "f": "FLOAT", "c": "FLOAT"}


def compare(direction: str, a: T, b: T) -> T:
    """Compare elementwise; ``direction`` is one of EQ NE LT LE GT GE."""
    how = hlo.ComparisonTypeAttr.get(_COMPARE_TYPES[a.dtype.kind])
    x, y = literal("compare", (a.ir, b.ir)) if a.dtype.kind == "f" and direction in ("LE", "GE") else (a.ir, b.ir)
    return T(hlo.compare(x, y, hlo.ComparisonDirectionAttr.get(direction), compare_type=how), BOOL, a.shape)


def select(p: T, a: T, b: T) -> T:
    """Select elements of a where p holds, else of b; p may be a scalar for whole arrays."""
    return T(hlo.select(p.ir, a.ir, b.ir), a.dtype, a.shape)


def is_nan(a: T) -> T:
    if a.dtype.kind == "c":
        return or_(is_nan(real(a)), is_nan(imag(a)))
    return compare("NE", a, a) if a.dtype.kind == "f" else zeros(BOOL, a.shape)


def is_finite(a: T) -> T:
    if a.dtype.kind == "c":
        return and_(is_finite(real(a)), is_finite(imag(a)))
    return T(hlo.is_finite(a.ir), BOOL, a.shape) if a.dtype.kind == "f" else full(True, BOOL, a.shape)


def real(a: T) -> T:
    return _part_of(a, "real", 0) if a.dtype.kind == "c" else a


def imag(a: T) -> T:
    return _part_of(a, "imag", 1) if a.dtype.kind == "c" else like(0, a)


def _part_of(z: T, name: str, index: int) -> T:
    """Return the real or imaginary part of z: the operand from which z was built, if it is known, because more is known of that operand."""
    source, dtype = source_of(z.ir), _part(z.dtype)
    if name_of(source) == "complex" and (source == z.ir or not shape_of(source)):
        return broadcast(T(source.owner.operands[index], dtype, shape_of(source)), z.shape)
    return T(getattr(hlo, name)(z.ir), dtype, z.shape)


def make_complex(re: T, im: T) -> T:
    dtype = np.result_type(re.dtype, np.complex64)
    return T(hlo.complex(re.ir, im.ir), dtype, re.shape)


def absolute(a: T) -> T:
    if a.dtype.kind in "bu":
        return a
    if a.dtype.kind == "c":
        return T(hlo.abs(a.ir), real(a).dtype, a.shape)
    return op("abs", a)


def convert(a: T, dtype: Dtype) -> T:
    """Cast to dtype as C (and hence NumPy) does."""
    if a.dtype == dtype:
        return a
    folds = a.dtype.kind in "iuf" and dtype.kind in ("f" if a.dtype.kind == "f" else "iuf")
    if folds and (known := numbers([a.ir])) is not None:
        with np.errstate(all="ignore"):
            return full(a.dtype.type(known[0]).astype(dtype), dtype, a.shape)
    if (dtype.kind == "c" and goes_round(source_of(a.ir))) or (a.dtype.kind == "f" == dtype.kind and goes_round(a.ir)):
        # a loop-carried number that is converted to another dtype in the first iteration: XLA would find the constant 0.0 that it was initially
        a = T(hidden(a.ir), a.dtype, a.shape)
    if dtype == BOOL:
        return compare("NE", a, like(0, a))
    if a.dtype.kind == "c" and dtype.kind != "c":
        return convert(real(a), dtype)
    if dtype.kind == "c":
        return make_complex(part := convert(real(a), _part(dtype)), convert(imag(a), _part(dtype)) if a.dtype.kind == "c" else like(0, part))
    if a.dtype == BOOL and dtype.kind == "f":
        # XLA takes a product with a cast boolean for a select of the other factor or zero, which would lose nans and infinities
        return select(a, full(1, dtype, a.shape), full(0, dtype, a.shape))
    if a.dtype.kind == "f" and dtype.kind in "iu":
        return _float_to_int(_raw_convert(a, np.dtype(np.float32)) if a.dtype.itemsize == 2 else a, dtype)
    if a.dtype == np.dtype(np.uint32) and dtype.kind == "f":
        return _from_unsigned(a, dtype)
    return _raw_convert(a, dtype)


def unsigned(a: T) -> T:
    """Cast to unsigned integers of 64 bits."""
    return convert(a, UINT64)


def _part(dtype: Dtype) -> Dtype:
    return np.empty(0, dtype).real.dtype


def _raw_convert(a: T, dtype: Dtype) -> T:
    return T(hlo.convert(tensor_type(dtype, a.shape), a.ir), dtype, a.shape)


def _from_unsigned(a: T, dtype: Dtype) -> T:
    """Convert uint32 exactly, by way of a signed integer: of a value that was a float before, LLVM confuses signed and unsigned integers."""
    signed, double = bits_as(a, INT32), np.dtype(np.float64)
    found = add(_raw_convert(signed, double), select(compare("LT", signed, like(0, signed)), full(2.0**32, double, a.shape), full(0.0, double, a.shape)))
    if dtype == np.dtype(np.float16):
        found = _raw_convert(found, np.dtype(np.float32))
    return found if dtype == double else _raw_convert(found, dtype)


def _float_to_int(a: T, dtype: Dtype) -> T:
    """Convert floats to integers as the x86 instruction, and hence NumPy, does: a value out of range gives the least integer, where XLA
    saturates.
    """
    if dtype == UINT64:
        top = like(2.0**63, a)
        high = xor(_float_to_int(sub(a, top), INT64), full(-(2**63), INT64, a.shape))
        return _raw_convert(select(compare("GE", a, top), high, _float_to_int(a, INT64)), dtype)
    wide = INT32 if dtype.itemsize < 4 or dtype == INT32 else INT64
    if wide != dtype:
        return _raw_convert(_float_to_int(a, wide), dtype)
    bits = 8 * dtype.itemsize
    limit = like(float(2.0 ** (bits - 1)), a)
    fits = and_(compare("LT", a, limit), compare("GE", a, neg(limit)))
    return select(fits, _raw_convert(a, dtype), full(-(2 ** (bits - 1)), dtype, a.shape))


def bits_as(a: T, dtype: Dtype) -> T:
    """Bitcast elements to another dtype of the same size."""
    return T(hlo.bitcast_convert(tensor_type(dtype, a.shape), a.ir), dtype, a.shape)


# ------------------------------------------------------------------------------------------------- structure


def broadcast(a: T, shape: tuple[int, ...]) -> T:
    """Broadcast one operand to shape by NumPy's rules."""
    if a.shape == shape:
        return a
    offset = len(shape) - len(a.shape)
    kept = [k for k, d in enumerate(a.shape) if d == shape[k + offset]]
    squeezed = reshape(a, tuple(a.shape[k] for k in kept))
    return T(hlo.broadcast_in_dim(tensor_type(a.dtype, shape), squeezed.ir, [k + offset for k in kept]), a.dtype, shape)


def reshape(a: T, shape: tuple[int, ...]) -> T:
    return a if a.shape == shape else T(hlo.reshape(tensor_type(a.dtype, shape), a.ir), a.dtype, shape)


def transpose(a: T, order: Sequence[int]) -> T:
    if tuple(order) == tuple(range(len(a.shape))):
        return a
    return T(hlo.transpose(a.ir, list(order)), a.dtype, tuple(a.shape[k] for k in order))


# ------------------------------------------------------------------------------------------------- locations


def at(location: Location | None) -> Any:
    """Return the MLIR location for the user's file and line, with the names of the inlined functions; XLA keeps it to the end.

    In a ``with`` statement, it is the location of the operations that are emitted.
    """
    if location is None:
        return ir.Location.unknown(context())
    place = ir.Location.file(printable(location.file), location.line or 0, location.col or 0, context())
    return ir.Location.name(printable("/".join(reversed([one.function for one in location.chain()]))), place, context())
