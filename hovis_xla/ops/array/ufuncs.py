"""NumPy's elementwise functions: dtype resolution (by NumPy itself) around the operations that ``elementwise`` emits.

Compiled code gives no floating-point warnings; and under ``np.errstate(all="raise")`` it is not used at all (``api``).
"""

import math
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis.ir.model import Op
from hovis.lattice import AbstractValue, Partial
from hovis.lattice.inspection import is_a
from hovis.library.numpy.rules.ufuncs import IN_PLACE, OPERATORS, operator_result, resolved, ufunc_result
from hovis_xla.emit import builder
from hovis_xla.emit.block_slots import tensor
from hovis_xla.emit.builder import T, compare, like, or_, select
from hovis_xla.emit.values import (
    ARRAY,
    BOOL,
    NONE,
    PYTHON,
    SCALAR,
    TRUE,
    ZERO,
    Known,
    NotLowerable,
    Num,
    Operand,
    Struct,
    Val,
    abstract,
    is_numpy,
    num_of_dtype,
    num_of_type,
)
from hovis_xla.ops.array.elementwise import PAIRS, REAL_ONLY, UFUNCS, Make, conjugate, reciprocal
from hovis_xla.ops.scalar import arithmetic
from hovis_xla.ops.scalar.complex_functions import OF_NUMBERS
from hovis_xla.ops.scalar.python_numbers import L, Row, class_of, known


def cast(low: L, operand: Operand, dtype: "np.dtype[Any]") -> T:
    """Return the operand in the dtype of the loop. A Python int that does not fit, which raises in NumPy, is not lowered or bails out."""
    if class_of(operand) is int and dtype.kind in "iu":
        least, most = arithmetic.integer_range(dtype)
        if isinstance(operand, Known):
            if not least <= operand.value <= most:
                raise NotLowerable(f"the integer {operand.value} does not fit {dtype}")
            return builder.constant(operand.value, dtype)
        x = tensor(low.val(operand))
        if dtype.itemsize < 8 or dtype.kind == "u":
            low.bail_if(or_(compare("LT", x, like(least, x)), compare("GT", x, like(min(most, 2**63 - 1), x))))
        return builder.convert(x, dtype)
    if isinstance(operand, Known) and class_of(operand) is not None:
        return builder.constant(operand.value, dtype)
    return builder.convert(tensor(low.val(operand)), dtype)


def loop_dtypes(u: np.ufunc, args: tuple[Operand, ...], dtype: Any = None, casting: Any = None) -> "tuple[np.dtype[Any], ...] | None":
    """Return the dtypes of inputs and outputs as NumPy resolves them (Python numbers are weak), or None if there is no such loop."""
    loops: list[Any] = []
    for arg in args:
        cls = class_of(arg)
        if cls is not None:
            loops.append(np.dtype(bool) if cls is bool else cls)
        elif isinstance(arg, Val):
            loops.append(arg.num.dtype)
        elif isinstance(arg, Known) and is_a(arg.value, np.ndarray | np.generic):
            loops.append(arg.value.dtype)
        else:
            return None
    try:
        return resolved(u, loops, dtype, casting)
    except (TypeError, ValueError):
        return None


def shape_of(operand: Operand) -> tuple[int, ...]:
    if isinstance(operand, Val):
        return operand.num.shape
    return np.shape(operand.value) if isinstance(operand, Known) and is_a(operand.value, np.ndarray) else ()


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise NotLowerable(f"shapes {shapes} can't be broadcast together: NumPy raises an exception") from None


def _loop(u: np.ufunc, dtypes: "tuple[np.dtype[Any], ...]") -> Make | None:
    """Return the function that emits a ufunc in the loop of these dtypes, or None if it is not supported."""
    if any(d.kind not in "biufc" or d.itemsize > (16 if d.kind == "c" else 8) for d in dtypes):
        return None
    if (dtypes[0].kind == "c" and u in REAL_ONLY) or (dtypes[0] == np.float16 and u in (np.ldexp, np.nextafter)):
        return None
    return UFUNCS.get(u)


def apply(low: L, u: np.ufunc, *args: Operand, of_operator: bool = False) -> T | None:
    """Return the result of a ufunc with one output as a tensor, or None if it is not supported. With of_operator, it is the result of its
    operator, which has C code of its own between NumPy scalars.
    """
    dtypes = loop_dtypes(u, args)
    make = None if dtypes is None else _loop(u, dtypes)
    if dtypes is None or make is None:
        return None
    if of_operator and dtypes[0].kind == "c" and not any(map(_is_array, args)):
        make = OF_NUMBERS.get(u, make)
    beyond = _beyond(u, args, dtypes)
    if beyond is not None:
        return beyond
    operands = _operands(low, args, dtypes)
    result = _rooted(args, operands, of_operator) if u is np.power else make(*operands)
    return builder.convert(result, dtypes[-1]) if result.dtype != dtypes[-1] else result


def _beyond(u: np.ufunc, args: tuple[Operand, ...], dtypes: "tuple[np.dtype[Any], ...]") -> T | None:
    """Fold a comparison of integers with a known Python int that their dtype cannot hold: all are less, or none is. None for any other call."""
    for k, (arg, dtype) in enumerate(zip(args, dtypes, strict=False)):
        if u in _COMPARISONS and isinstance(arg, Known) and class_of(arg) is int and dtype.kind in "iu":
            least, most = arithmetic.integer_range(dtype)
            if not least <= arg.value <= most:
                side = -1 if arg.value < least else 1
                return builder.broadcast(builder.constant(bool(u(side, 0) if k == 0 else u(0, side))), shape_of(args[1 - k]))
    return None


_COMPARISONS: Final = frozenset({np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal})


def _rooted(args: tuple[Operand, ...], operands: list[T], of_operator: bool) -> T:
    """Emit a power. For a single exponent of 0.5 NumPy takes the square root, which differs for -0.0 and -inf."""
    (x, y), exponent = operands, args[1]
    one_for_all = math.prod(shape_of(exponent)) == 1 and (math.prod(x.shape) > 1 or not shape_of(exponent))
    plain = x.dtype in (np.float32, np.float64) or (of_operator and class_of(exponent) is float)
    scalars = of_operator and not any(map(_is_array, args))
    if not one_for_all or not plain or scalars or x.dtype.kind != "f" or class_of(exponent) is int:
        return UFUNCS[np.power](x, y)
    if isinstance(exponent, Known):
        return UFUNCS[np.sqrt](x) if np.all(exponent.value == 0.5) else UFUNCS[np.power](x, y)
    return select(compare("EQ", y, like(0.5, y)), UFUNCS[np.sqrt](x), UFUNCS[np.power](x, y))


def _operands(low: L, args: tuple[Operand, ...], dtypes: Any) -> list[T]:
    """Return the operands in the dtypes of the loop, broadcast to a common shape."""
    shape = broadcast_shapes(*map(shape_of, args))
    return [builder.broadcast(cast(low, a, d), shape) for a, d in zip(args, dtypes, strict=False)]


def _pair(low: L, u: np.ufunc, x: Operand) -> Operand | None:
    dtypes = loop_dtypes(u, (x,))
    if dtypes is None or dtypes[0].kind != "f" or dtypes[0].itemsize not in (4, 8):
        return None
    parts = PAIRS[u](_operands(low, (x,), dtypes)[0])
    vals = tuple(Val(num_of_dtype(p.dtype, p.shape), p.ir) for p in parts)
    return Struct(operations.make_tuple, vals, Op(operations.make_tuple, ()))


def _of_result(t: AbstractValue | None, result: T) -> Val | None:
    """Return the result with the kind and dtype of t, the type that NumPy gives it; None if t is not a supported number."""
    num = num_of_type(t, result.shape) if t is not None and not isinstance(t, Partial) else None
    if num is None:
        return None
    return Val(Num(num.kind, num.dtype, result.shape), builder.convert(result, num.dtype).ir)


def _types(args: tuple[Operand, ...]) -> list[AbstractValue] | None:
    found = [abstract(a) for a in args]
    return None if any(t is None for t in found) else found  # type: ignore[return-value]


def ufunc_row(u: np.ufunc) -> Row:
    def row(low: L, *args: Operand, where: Operand = TRUE, dtype: Operand = NONE, casting: Operand = NONE) -> Operand | None:
        types = _types(args)
        if types is None or len(args) != u.nin or not (isinstance(dtype, Known) and isinstance(casting, Known)):
            return None
        if dtype.value is not None or casting.value is not None or not (isinstance(where, Known) and where.value is True):
            return _with_options(low, u, args, where, dtype, casting)
        if u is np.divmod:
            return _divmod(low, *args)
        if u in PAIRS:
            return _pair(low, u, args[0])
        if u is np.power:
            _refuse_negative(low, *args)
        result = apply(low, u, *args)
        return None if result is None else _of_result(ufunc_result(u, *types), result)

    return row


def _with_options(low: L, u: np.ufunc, args: tuple[Operand, ...], where: Operand, dtype: Operand, casting: Operand) -> Operand | None:
    """Lower a ufunc with ``where=``, whose masked-out elements are those of ``np.empty`` (here zeros), or ``dtype=``, which chooses the loop."""
    assert isinstance(dtype, Known)
    options = {} if dtype.value is None else {"dtype": dtype}
    if isinstance(casting, Known) and casting.value is not None:
        options["casting"] = casting
    dtypes = loop_dtypes(u, args, **{k: v.value for k, v in options.items()})
    make = None if dtypes is None else _loop(u, dtypes)
    mask = tensor(low.val(where)) if is_numpy(where) or isinstance(where, Known) else None
    if dtypes is None or make is None or mask is None or mask.dtype != BOOL or u is np.power:
        return None
    shape = broadcast_shapes(mask.shape, *map(shape_of, args))
    xs = [builder.broadcast(cast(low, a, d), shape) for a, d in zip(args, dtypes, strict=False)]
    result = builder.convert(make(*xs), dtypes[-1])
    result = select(builder.broadcast(mask, shape), result, like(0, result))
    return Val(num_of_dtype(result.dtype, result.shape), result.ir)


def _divmod(low: L, a: Operand, b: Operand) -> Operand | None:
    parts = [apply(low, u, a, b) for u in (np.floor_divide, np.remainder)]
    if any(p is None for p in parts):
        return None
    vals = tuple(Val(num_of_dtype(p.dtype, p.shape), p.ir) for p in parts if p is not None)
    return Struct(operations.make_tuple, vals, object())


def _refuse_negative(low: L, a: Operand, b: Operand) -> None:
    """Bail out for integers to negative integer powers, which raise."""
    dtypes = loop_dtypes(np.power, (a, b))
    if dtypes is None or dtypes[1].kind != "i":
        return
    if isinstance(b, Known) and not is_a(b.value, np.ndarray):
        if b.value < 0:
            low.give_up()
        return
    y = tensor(low.val(b))
    low.bail_if(arithmetic.any_of(compare("LT", y, like(0, y))))


def operator_row(fn: Callable[..., Any], u: np.ufunc) -> Row:
    """Make the lowering of an operator that has an array or a NumPy scalar among its operands."""
    plain = ufunc_row(u)

    def row(low: L, *args: Operand) -> Operand | None:
        if not any(map(is_numpy, args)):
            return None
        if u is np.power:
            short = _short_power(low, *args)
            if short is not None:
                return short
        if u in (np.divmod,):
            return plain(low, *args)
        types = _types(args)
        if types is None:
            return _unlike(fn, args)
        if u is np.power:
            _refuse_negative(low, *args)
        result = apply(low, u, *args, of_operator=True)
        return None if result is None else _of_result(operator_result(fn, u, *types), result)

    return row


def _is_array(operand: Operand) -> bool:
    return operand.num.kind == ARRAY if isinstance(operand, Val) else isinstance(operand, Known) and is_a(operand.value, np.ndarray)


def _unlike(fn: Any, args: tuple[Operand, ...]) -> Operand | None:
    """Fold ``==`` and ``!=`` between a scalar and None or a string, as for Python numbers. A comparison of an array gives an array, and is not
    folded.
    """
    scalar = all(isinstance(a, Known) or (isinstance(a, Val) and a.num.kind == SCALAR) for a in args)
    nothing = any(isinstance(a, Known) and (a.value is None or is_a(a.value, str)) for a in args)
    return Known(fn is operator.ne) if scalar and nothing and fn in (operator.eq, operator.ne) else None


def _short_power(low: L, a: Operand, b: Operand) -> Operand | None:
    """Lower ``x ** 2`` and the other powers that NumPy computes without a call of ``pow``. The square root is for arrays alone (``-0.0 ** 0.5``
    is 0.0).
    """
    n = known(b)
    if class_of(b) not in (int, float) or not isinstance(a, Val) or n is None:
        return None
    types = _types((a, b))
    result = _of_result(operator_result(operator.pow, np.power, *types), builder.zeros(a.num.dtype, a.num.shape)) if types else None
    if result is None or result.num.dtype != a.num.dtype or a.num.dtype == BOOL:
        return None
    x = tensor(a)
    if x.dtype.kind in "iu":
        return Val(result.num, arithmetic.int_power(x, n).ir) if isinstance(n, int) and 0 <= n <= 64 else None
    if n == 0.5 and a.num.kind != ARRAY:
        return None
    short = {2: lambda: builder.mul(x, x), 1: lambda: x, 0.5: lambda: UFUNCS[np.sqrt](x), -1: lambda: reciprocal(x)}.get(n)
    if short is None or x.dtype.kind not in "fc":
        return None
    found = short()
    if x.dtype.kind == "c" and a.num.kind != ARRAY and n > 0:  # NumPy's scalars compute it in C: the result for zero has no signs
        found = select(arithmetic.is_zero(x), like(0, x), found)
    return Val(result.num, found.ir)


# ------------------------------------------------------------------------------------------------- where, clip, parts, rounding


#: Stand-ins for Python's numbers in calls of ``np.result_type``.
_WEAK: Final[dict[Any, Any]] = {int: 0, float: 0.0, complex: 0j}


def where(low: L, condition: Operand, x: Operand, y: Operand) -> Operand | None:
    dtypes: list[Any] = [class_of(v) or (v.num.dtype if isinstance(v, Val) else getattr(getattr(v, "value", None), "dtype", None)) for v in (x, y)]
    if any(d is None for d in dtypes):
        return None
    dtype = np.result_type(*(np.dtype(bool) if d is bool else _WEAK.get(d, d) for d in dtypes))
    test = builder.convert(tensor(low.val(condition)), BOOL)
    shape = broadcast_shapes(test.shape, shape_of(x), shape_of(y))
    a, b = (builder.broadcast(cast(low, v, dtype), shape) for v in (x, y))
    result = select(builder.broadcast(test, shape), a, b)
    return Val(Num(ARRAY, dtype, shape), result.ir)


def _clipped(low: L, a: Val, a_min: Operand, a_max: Operand) -> Operand | None:
    """Clip an array between Python numbers; an element that equals a bound is unchanged (-0.0)."""
    x = tensor(a)
    for bound, direction in ((a_min, "LT"), (a_max, "GT")):
        if not (isinstance(bound, Known) and bound.value is None):
            limit = builder.broadcast(cast(low, bound, x.dtype), x.shape)
            x = select(or_(compare(direction, x, limit), builder.is_nan(limit)), limit, x)
    return Val(num_of_dtype(x.dtype, x.shape), x.ir)


def clip(low: L, a: Operand, a_min: Operand = NONE, a_max: Operand = NONE) -> Operand | None:
    if all(isinstance(b, Known) and b.value is None for b in (a_min, a_max)):
        return ufunc_row(np.positive)(low, a)
    cls = class_of(a)
    if cls is not None:  # NumPy converts the operand to an array, even a Python number
        dtype = np.asarray(cls(0)).dtype
        a = Val(Num(SCALAR, dtype), builder.convert(tensor(low.val(a)), dtype).ir)
    found: Operand = a
    plain = all(class_of(b) in (int, float) or (isinstance(b, Known) and b.value is None) for b in (a_min, a_max))
    if isinstance(a, Val) and a.num.dtype.kind == "f" and plain:
        return _clipped(low, a, a_min, a_max)
    for bound, u in ((a_min, np.maximum), (a_max, np.minimum)):
        if not (isinstance(bound, Known) and bound.value is None):
            result = ufunc_row(u)(low, found, bound)
            if result is None:
                return None
            found = result
    if isinstance(found, Val) and isinstance(a, Val) and a.num.kind == ARRAY and not a.num.shape:
        return None
    return found


def _part(name: str) -> Row:
    def row(low: L, x: Operand) -> Operand | None:
        if not isinstance(x, Val) or x.num.kind == PYTHON:
            return None
        found = getattr(builder, name)(tensor(x))
        return Val(Num(x.num.kind, found.dtype, found.shape), found.ir)

    return row


def _conjugated(low: L, x: Operand) -> Operand | None:
    return Val(x.num, conjugate(tensor(x)).ir) if isinstance(x, Val) and x.num.kind != PYTHON else None


def _round(low: L, x: Operand, decimals: Operand = ZERO) -> Operand | None:
    """Lower ``np.round`` as NumPy does it: multiply, round and divide."""
    if isinstance(x, Val) and x.num.kind == PYTHON and x.num.dtype.kind == "f":
        x = Val(Num(SCALAR, x.num.dtype), x.ir)
    if not isinstance(x, Val) or x.num.kind == PYTHON or not isinstance(decimals, Known) or type(decimals.value) is not int:
        return None
    if x.num.dtype.kind in "iu" and decimals.value >= 0:
        return Val(x.num, x.ir)
    if x.num.dtype.kind != "f":
        return None
    t, n = tensor(x), decimals.value
    factor = like(10.0 ** abs(n), t)
    scaled = t if n == 0 else builder.mul(t, factor) if n > 0 else builder.div(t, factor)
    rounded = builder.op("round_nearest_even", scaled)
    return Val(x.num, (rounded if n == 0 else builder.div(rounded, factor) if n > 0 else builder.mul(rounded, factor)).ir)


#: Operators and builtins: tried where an array or a NumPy scalar takes part, before Python's own rows.
MIXED: Final[dict[Any, Row]] = {fn: operator_row(fn, u) for fn, u in OPERATORS.items()}

ROWS: Final[dict[Any, Row]] = {
    **{u: ufunc_row(u) for u in [*UFUNCS, *PAIRS, np.divmod]},
    np.clip: clip,
    **dict.fromkeys((np.ndarray.clip, np.generic.clip), lambda low, a, min=NONE, max=NONE: clip(low, a, min, max)),
    np.real: _part("real"), np.imag: _part("imag"), np.ndarray.conj: _conjugated, np.ndarray.conjugate: _conjugated, np.generic.conj: _conjugated,
    np.generic.conjugate: _conjugated, np.round: _round, np.around: _round, np.ndarray.round: _round, np.generic.round: _round,
}  # fmt: skip

__all__ = ["IN_PLACE", "MIXED", "ROWS", "UFUNCS", "apply", "broadcast_shapes", "cast", "shape_of"]
