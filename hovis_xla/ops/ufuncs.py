"""NumPy's elementwise functions: a table of what each emits, and the rules of dtypes around it (NumPy's own, asked for).

Floating-point warnings are not given by compiled code, and a status under ``np.errstate(all="raise")`` keeps it from
being used at all (``api``).
"""

import functools
import math
import operator
import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.ir.model import Op
from hovis.lattice import AbstractValue, Partial
from hovis.library.numpy.ufuncs import IN_PLACE, OPERATORS, SCALARS, operator_result, resolved, ufunc_result
from hovis_xla import emit
from hovis_xla.emit import T, and_, compare, like, not_, or_, select
from hovis_xla.ops import arith, complexes
from hovis_xla.ops.pymath import log_base
from hovis_xla.ops.python import L, Row, class_of, known
from hovis_xla.slots import tensor
from hovis_xla.types import (
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

from hovis.ir import operations  # isort: skip

Make = Callable[..., T]


def _op(name: str) -> Make:
    return lambda *xs: emit.op(name, *xs)


def _chlo(name: str) -> Make:
    def make(*xs: T) -> T:
        if xs[0].dtype.itemsize == 2:  # CHLO's expansions want more than half precision
            wide = [emit.convert(x, np.dtype(np.float32)) for x in xs]
            return emit.convert(emit.chlo_op(name, *wide), xs[0].dtype)
        return emit.chlo_op(name, *xs)

    return make


def _compare(direction: str) -> Make:
    def make(x: T, y: T) -> T:
        if x.dtype.kind == "c" and direction not in ("EQ", "NE"):
            a, b = ((emit.real(v), emit.imag(v)) for v in (x, y))
            strict = direction[0] + "T"
            return or_(compare(strict, a[0], b[0]), and_(compare("EQ", a[0], b[0]), compare(direction, a[1], b[1])))
        return compare(direction, x, y)

    return make


def _logical(combine: Make) -> Make:
    return lambda *xs: combine(*(emit.convert(x, BOOL) for x in xs))


# ------------------------------------------------------------------------------------------------- arithmetic


def _floor_divide(x: T, y: T) -> T:
    """Integers by zero give 0, floats what ``x / y`` gives."""
    zero = arith.is_zero(y)
    if x.dtype.kind in "iu":
        return select(zero, like(0, x), arith.int_floor_div(x, select(zero, like(1, y), y)))
    return select(zero, emit.div(x, y), arith.float_divmod(x, y)[0])


def _remainder(x: T, y: T) -> T:
    zero = arith.is_zero(y)
    if x.dtype.kind in "iu":
        return select(zero, like(0, x), arith.int_floor_mod(x, select(zero, like(1, y), y)))
    return select(zero, like(math.nan, x), arith.float_divmod(x, y)[1])


def _fmod(x: T, y: T) -> T:
    if x.dtype.kind not in "iu":
        return emit.rem(x, y)
    zero = arith.is_zero(y)
    return select(zero, like(0, x), emit.rem(x, select(zero, like(1, y), y)))


def _power(x: T, y: T) -> T:
    return arith.int_power_any(x, y) if x.dtype.kind in "iu" else emit.op("power", x, y)


def _absolute(x: T) -> T:
    return emit.absolute(x)


def _sign(x: T) -> T:
    if x.dtype == BOOL:
        return x
    if x.dtype.kind == "u":
        return select(arith.is_zero(x), x, like(1, x))
    return emit.op("sign", x)


def _reciprocal(x: T) -> T:
    if x.dtype.kind in "iu":  # through a double
        wide = emit.convert(x, np.dtype(float))
        return emit.convert(emit.div(like(1, wide), wide), x.dtype)
    if x.dtype.kind == "c":  # by the larger part, as NumPy does it
        re, im = emit.real(x), emit.imag(x)
        flat = compare("LE", emit.absolute(im), emit.absolute(re))
        most, least = select(flat, re, im), select(flat, im, re)
        ratio = emit.div(least, most)
        size = emit.add(most, emit.mul(least, ratio))
        one = like(1, re)
        parts = emit.div(select(flat, one, ratio), size), emit.neg(emit.div(select(flat, ratio, one), size))
        return emit.make_complex(*parts)
    return emit.div(like(1, x), x)


def _complex_or(real: Make, complex_: Make) -> Make:
    """One way for real numbers, another one for complex ones."""
    return lambda *xs: (complex_ if xs[0].dtype.kind == "c" else real)(*xs)


def _scaled_log(base: float) -> Make:
    return lambda x: emit.div(emit.op("log", x), like(math.log(base), x))


def _by_parts(make: Make) -> Make:
    return lambda x: emit.make_complex(make(emit.real(x)), make(emit.imag(x)))


def _chosen(direction: str) -> Make:
    """The greater or the less of complex numbers: by real part, then by imaginary part; one with a nan wins."""

    def make(x: T, y: T) -> T:
        return select(or_(emit.is_nan(x), and_(not_(emit.is_nan(y)), _compare(direction)(x, y))), x, y)

    return make


def _log_add_exp2(x: T, y: T) -> T:
    most, difference = emit.op("maximum", x, y), emit.neg(emit.absolute(emit.sub(x, y)))
    power = emit.op("power", like(2, x), difference)
    found = emit.add(most, emit.mul(emit.op("log_plus_one", power), like(1 / math.log(2), x)))
    return select(compare("EQ", x, y), emit.add(x, like(1, x)), found)


def _bit_count(x: T) -> T:
    return emit.convert(emit.op("popcnt", x if x.dtype.kind == "u" else emit.absolute(x)), np.dtype(np.uint8))


def _conjugate(x: T) -> T:
    return emit.make_complex(emit.real(x), emit.neg(emit.imag(x))) if x.dtype.kind == "c" else x


def _extreme(name: str) -> Make:
    def make(x: T, y: T) -> T:
        return emit.op(name, x, y)

    return make


def _ignoring_nan(name: str) -> Make:
    def make(x: T, y: T) -> T:
        if x.dtype.kind != "f":
            return emit.op(name, x, y)
        return select(emit.is_nan(x), y, select(emit.is_nan(y), x, emit.op(name, x, y)))

    return make


def _is_inf(x: T) -> T:
    return compare("EQ", emit.absolute(x), like(math.inf, emit.absolute(x))) if x.dtype.kind in "fc" else emit.zeros(BOOL, x.shape)


def _trunc(x: T) -> T:
    if x.dtype.kind != "f":
        return x
    return select(compare("LT", x, like(0, x)), emit.op("ceil", x), emit.op("floor", x))


def _rounding(name: str) -> Make:
    return lambda x: emit.op(name, x) if x.dtype.kind == "f" else x


def _hypot(x: T, y: T) -> T:
    a, b = emit.absolute(x), emit.absolute(y)
    most, least = emit.op("maximum", a, b), emit.op("minimum", a, b)
    ratio = emit.div(least, select(arith.is_zero(most), like(1, most), most))
    found = emit.mul(most, emit.op("sqrt", emit.add(like(1, x), emit.mul(ratio, ratio))))
    return select(or_(_is_inf(x), _is_inf(y)), like(math.inf, x), found)


def _log_add_exp(x: T, y: T) -> T:
    most, difference = emit.op("maximum", x, y), emit.neg(emit.absolute(emit.sub(x, y)))
    found = emit.add(most, emit.op("log_plus_one", emit.op("exponential", difference)))
    return select(compare("EQ", x, y), emit.add(x, like(math.log(2), x)), found)


def _heaviside(x: T, y: T) -> T:
    found = select(compare("LT", x, like(0, x)), like(0, x), select(arith.is_zero(x), y, like(1, x)))
    return select(emit.is_nan(x), x, found)


def _shift(name: str) -> Make:
    """By the width or more everything is shifted out."""

    def make(x: T, y: T) -> T:
        wide = like(8 * x.dtype.itemsize, y)
        unsigned = or_(compare("GE", y, wide), compare("LT", y, like(0, y))) if y.dtype.kind == "i" else compare("GE", y, wide)
        if name == "shift_left":
            return select(unsigned, like(0, x), emit.op(name, x, y))
        signed = "shift_right_arithmetic" if x.dtype.kind == "i" else "shift_right_logical"
        rest = select(compare("LT", x, like(0, x)), like(-1, x), like(0, x)) if x.dtype.kind == "i" else like(0, x)
        return select(unsigned, rest, emit.op(signed, x, y))

    return make


def _scaled(factor: float) -> Make:
    return lambda x: emit.mul(x, like(factor, x))


def _add(x: T, y: T) -> T:
    return or_(x, y) if x.dtype == BOOL else emit.add(x, y)


def _multiply(x: T, y: T) -> T:
    return and_(x, y) if x.dtype == BOOL else emit.mul(x, y)


#: ufunc → what it emits for operands of its loop's dtype.
UFUNCS: Final[dict[np.ufunc, Make]] = {
    np.add: _add, np.subtract: emit.sub, np.multiply: _multiply, np.true_divide: emit.div, np.floor_divide: _floor_divide,
    np.remainder: _remainder, np.fmod: _fmod, np.power: _power, np.float_power: _op("power"), np.negative: emit.neg, np.positive: lambda x: x,
    np.absolute: _absolute, np.fabs: _absolute, np.sign: _sign, np.square: lambda x: _multiply(x, x), np.reciprocal: _reciprocal,
    np.conjugate: _conjugate, np.maximum: _extreme("maximum"), np.minimum: _extreme("minimum"), np.fmax: _ignoring_nan("maximum"),
    np.fmin: _ignoring_nan("minimum"), np.less: _compare("LT"), np.less_equal: _compare("LE"), np.greater: _compare("GT"),
    np.greater_equal: _compare("GE"), np.equal: _compare("EQ"), np.not_equal: _compare("NE"),
    np.logical_and: _logical(and_), np.logical_or: _logical(or_), np.logical_xor: _logical(emit.xor), np.logical_not: _logical(not_),
    np.bitwise_and: and_, np.bitwise_or: or_, np.bitwise_xor: emit.xor, np.invert: not_,
    np.left_shift: _shift("shift_left"), np.right_shift: _shift("shift_right"),
    np.exp: _op("exponential"), np.exp2: lambda x: emit.op("power", like(2, x), x), np.expm1: _op("exponential_minus_one"), np.log: _op("log"),
    np.log1p: _op("log_plus_one"), np.log2: log_base(2), np.log10: log_base(10), np.sqrt: _op("sqrt"), np.cbrt: _op("cbrt"),
    np.sin: _op("sine"), np.cos: _op("cosine"), np.tan: _op("tan"), np.tanh: _op("tanh"), np.arctan2: _op("atan2"),
    np.arcsin: _chlo("asin"), np.arccos: _chlo("acos"), np.arctan: _chlo("atan"), np.sinh: _chlo("sinh"), np.cosh: _chlo("cosh"),
    np.arcsinh: _chlo("asinh"), np.arccosh: _chlo("acosh"), np.arctanh: _chlo("atanh"),
    np.hypot: _hypot, np.logaddexp: _log_add_exp, np.heaviside: _heaviside, np.copysign: arith.copy_sign, np.signbit: arith.sign_bit,
    np.floor: _rounding("floor"), np.ceil: _rounding("ceil"), np.rint: _op("round_nearest_even"), np.trunc: _trunc,
    np.isnan: emit.is_nan, np.isfinite: emit.is_finite, np.isinf: _is_inf,
    np.deg2rad: _scaled(math.pi / 180), np.radians: _scaled(math.pi / 180), np.rad2deg: _scaled(180 / math.pi), np.degrees: _scaled(180 / math.pi),
}  # fmt: skip


UFUNCS.update({
    np.logaddexp2: _log_add_exp2, np.gcd: arith.gcd, np.lcm: arith.lcm, np.ldexp: arith.ldexp, np.nextafter: _chlo("next_after"),
    np.bitwise_count: _bit_count, np.log2: _complex_or(UFUNCS[np.log2], _scaled_log(2)), np.log10: _complex_or(UFUNCS[np.log10], _scaled_log(10)),
    np.exp2: _complex_or(UFUNCS[np.exp2], lambda x: emit.op("exponential", emit.mul(x, like(math.log(2), x)))),
    np.rint: _complex_or(UFUNCS[np.rint], _by_parts(UFUNCS[np.rint])), np.maximum: _complex_or(UFUNCS[np.maximum], _chosen("GE")),
    np.minimum: _complex_or(UFUNCS[np.minimum], _chosen("LE")),
})  # fmt: skip

UFUNCS.update({u: _complex_or(UFUNCS[u], make) for u, make in complexes.UFUNCS.items()})

#: Ufuncs with two results.
PAIRS: Final[dict[np.ufunc, Callable[[T], tuple[T, T]]]] = {np.frexp: arith.frexp, np.modf: arith.modf}

#: Functions that are written out for real numbers only here.
REAL_ONLY: Final = frozenset({
    np.log1p, np.expm1, np.arcsin, np.arccos, np.arctan, np.arcsinh, np.arccosh, np.arctanh, np.fmax, np.fmin, np.cbrt, np.logaddexp, np.logaddexp2,
})  # fmt: skip


# ------------------------------------------------------------------------------------------------- applying one


def cast(low: L, operand: Operand, dtype: "np.dtype[Any]") -> T:
    """An operand in the dtype of the loop.  A Python int that does not fit raises in NumPy."""
    if class_of(operand) is int and dtype.kind in "iu":
        least, most = arith.integer_range(dtype)
        if isinstance(operand, Known):
            if not least <= operand.value <= most:
                raise NotLowerable(f"the integer {operand.value} does not fit {dtype}")
            return emit.constant(operand.value, dtype)
        x = tensor(low.val(operand))
        if dtype.itemsize < 8 or dtype.kind == "u":
            low.bail_if(or_(compare("LT", x, like(least, x)), compare("GT", x, like(min(most, 2**63 - 1), x))))
        return emit.convert(x, dtype)
    if isinstance(operand, Known) and class_of(operand) is not None:
        return emit.constant(operand.value, dtype)
    return emit.convert(tensor(low.val(operand)), dtype)


def loop_dtypes(u: np.ufunc, args: tuple[Operand, ...], dtype: Any = None, casting: Any = None) -> "tuple[np.dtype[Any], ...] | None":
    """The dtypes of inputs and outputs, as NumPy resolves them (Python's numbers are weak)."""
    loops: list[Any] = []
    for arg in args:
        cls = class_of(arg)
        if cls is not None:
            loops.append(np.dtype(bool) if cls is bool else cls)
        elif isinstance(arg, Val):
            loops.append(arg.num.dtype)
        elif isinstance(arg, Known) and isinstance(arg.value, np.ndarray | np.generic):
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
    return np.shape(operand.value) if isinstance(operand, Known) and isinstance(operand.value, np.ndarray) else ()


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise NotLowerable(f"shapes {shapes} do not fit together: this raises") from None


def apply(low: L, u: np.ufunc, *args: Operand) -> T | None:
    """The result of a ufunc with one output, as a tensor."""
    dtypes = loop_dtypes(u, args)
    make = UFUNCS.get(u)
    if dtypes is None or make is None or any(d.kind not in "biufc" or d.itemsize > (16 if d.kind == "c" else 8) for d in dtypes):
        return None
    if (dtypes[0].kind == "c" and u in REAL_ONLY) or (dtypes[0] == np.float16 and u in (np.ldexp, np.nextafter)):
        return None
    result = make(*_operands(low, args, dtypes))
    return emit.convert(result, dtypes[-1]) if result.dtype != dtypes[-1] else result


def _operands(low: L, args: tuple[Operand, ...], dtypes: Any) -> list[T]:
    """The operands in the dtypes of the loop, and broadcast."""
    shape = broadcast_shapes(*map(shape_of, args))
    return [emit.broadcast(cast(low, a, d), shape) for a, d in zip(args, dtypes, strict=False)]


def _pair(low: L, u: np.ufunc, x: Operand) -> Operand | None:
    dtypes = loop_dtypes(u, (x,))
    if dtypes is None or dtypes[0].kind != "f" or dtypes[0].itemsize not in (4, 8):
        return None
    parts = PAIRS[u](_operands(low, (x,), dtypes)[0])
    vals = tuple(Val(num_of_dtype(p.dtype, p.shape), p.ir) for p in parts)
    return Struct(operations.make_tuple, vals, Op(operations.make_tuple, ()))


def _of_result(t: AbstractValue | None, result: T) -> Val | None:
    """The result with the kind that NumPy gives it."""
    num = num_of_type(t, result.shape) if t is not None and not isinstance(t, Partial) else None
    if num is None:
        return None
    return Val(Num(num.kind, num.dtype, result.shape), emit.convert(result, num.dtype).ir)


def _types(args: tuple[Operand, ...]) -> list[AbstractValue] | None:
    found = [abstract(a) for a in args]
    return None if any(t is None for t in found) else found  # type: ignore[return-value]


def ufunc_row(u: np.ufunc) -> Row:
    def row(low: L, *args: Operand, where: Operand = TRUE, dtype: Operand = NONE, casting: Operand = NONE) -> Operand | None:
        types = _types(args)
        if types is None or len(args) != u.nin or not (isinstance(dtype, Known) and isinstance(casting, Known)):
            return None
        if dtype.value is not None or not (isinstance(where, Known) and where.value is True):
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
    """``where=`` leaves elements as they come out of ``np.empty``, here zeros; ``dtype=`` chooses the loop."""
    assert isinstance(dtype, Known)
    options = {} if dtype.value is None else {"dtype": dtype}
    if isinstance(casting, Known) and casting.value is not None:
        options["casting"] = casting
    dtypes = loop_dtypes(u, args, **{k: v.value for k, v in options.items()})
    make = UFUNCS.get(u)
    mask = tensor(low.val(where)) if is_numpy(where) or isinstance(where, Known) else None
    if dtypes is None or make is None or mask is None or mask.dtype != BOOL or any(d.kind == "c" for d in dtypes) or u is np.power:
        return None
    shape = broadcast_shapes(mask.shape, *map(shape_of, args))
    ready = [emit.convert(tensor(low.val(a)), d) if options else cast(low, a, d) for a, d in zip(args, dtypes, strict=False)]
    xs = [emit.broadcast(x, shape) for x in ready]
    result = emit.convert(make(*xs), dtypes[-1])
    result = select(emit.broadcast(mask, shape), result, like(0, result))
    return Val(num_of_dtype(result.dtype, result.shape), result.ir)


def _divmod(low: L, a: Operand, b: Operand) -> Operand | None:
    parts = [apply(low, u, a, b) for u in (np.floor_divide, np.remainder)]
    if any(p is None for p in parts):
        return None
    vals = tuple(Val(num_of_dtype(p.dtype, p.shape), p.ir) for p in parts if p is not None)
    return Struct(operations.make_tuple, vals, object())


def _refuse_negative(low: L, a: Operand, b: Operand) -> None:
    """Integers to negative integer powers raise."""
    dtypes = loop_dtypes(np.power, (a, b))
    if dtypes is None or dtypes[1].kind != "i":
        return
    if isinstance(b, Known) and not isinstance(b.value, np.ndarray):
        if b.value < 0:
            low.give_up()
        return
    y = tensor(low.val(b))
    low.bail_if(arith.any_of(compare("LT", y, like(0, y))))


def operator_row(fn: Callable[..., Any], u: np.ufunc) -> Row:
    """An operator where an array or a NumPy scalar takes part."""
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
        result = apply(low, u, *args)
        return None if result is None else _of_result(operator_result(fn, u, *types), result)

    return row


def _unlike(fn: Any, args: tuple[Operand, ...]) -> Operand | None:
    """``scalar == None``, as for Python's numbers (of an array it is an array)."""
    scalar = all(isinstance(a, Known) or (isinstance(a, Val) and a.num.kind == SCALAR) for a in args)
    nothing = any(isinstance(a, Known) and (a.value is None or isinstance(a.value, str)) for a in args)
    return Known(fn is operator.ne) if scalar and nothing and fn in (operator.eq, operator.ne) else None


def _short_power(low: L, a: Operand, b: Operand) -> Operand | None:
    """``x ** 2`` and its like, which NumPy does by multiplying too."""
    n = known(b)
    if class_of(b) not in (int, float) or not isinstance(a, Val) or n is None:
        return None
    types = _types((a, b))
    result = _of_result(operator_result(operator.pow, np.power, *types), emit.zeros(a.num.dtype, a.num.shape)) if types else None
    if result is None or result.num.dtype != a.num.dtype or a.num.dtype == BOOL:
        return None
    x = tensor(a)
    if x.dtype.kind in "iu":
        return Val(result.num, arith.int_power(x, n).ir) if isinstance(n, int) and 0 <= n <= 64 else None
    short = {2: lambda: emit.mul(x, x), 1: lambda: x, 0.5: lambda: UFUNCS[np.sqrt](x), -1: lambda: _reciprocal(x)}.get(n)
    return None if short is None or x.dtype.kind not in "fc" else Val(result.num, short().ir)


def _truth(low: L, a: Operand) -> Operand | None:
    if not isinstance(a, Val) or a.num.kind == PYTHON or math.prod(a.num.shape) != 1:
        return None
    return Val(Num(PYTHON, BOOL), emit.convert(emit.reshape(tensor(a), ()), BOOL).ir)


def _not(low: L, a: Operand) -> Operand | None:
    found = _truth(low, a)
    return Val(Num(PYTHON, BOOL), not_(tensor(found)).ir) if isinstance(found, Val) else None


@functools.cache
def _takes_one_element(cls: type) -> bool:
    """Does this version of NumPy let an array of one element (and of some dimension) be converted?"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            cls(np.ones(1))
        except TypeError:
            return False
    return True


def _to_python(cls: type, row: Row) -> Row:
    """``int(x)``, ``float(x)`` of one element: as of the Python number that has its value."""

    def convert(low: L, a: Operand, *rest: Operand) -> Operand | None:
        if not isinstance(a, Val) or a.num.kind == PYTHON or rest or math.prod(a.num.shape) != 1:
            return None
        if a.num.shape and not _takes_one_element(cls):
            return None
        kind = {"b": bool, "i": int, "u": int, "f": float, "c": complex}[a.num.dtype.kind]
        x = emit.reshape(tensor(a), ())
        if x.dtype == np.dtype(np.uint64):
            low.bail_if(compare("GT", x, like(2**63 - 1, x)))
        carrier = np.dtype({bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}[kind])
        return row(low, Val(Num(PYTHON, carrier), emit.convert(x, carrier).ir))

    return convert


# ------------------------------------------------------------------------------------------------- casts, where, clip


def scalar_call(cls: type[np.generic]) -> Row:
    """``np.float32(x)``."""

    def row(low: L, x: Operand) -> Operand | None:
        if class_of(x) is None and not is_numpy(x):
            return None
        dtype = np.dtype(cls)
        if class_of(x) is int and isinstance(x, Val) and dtype.kind in "iu":
            result = cast(low, x, dtype)
        else:
            result = emit.convert(tensor(low.val(x)), dtype)
        return Val(num_of_dtype(dtype, result.shape), result.ir)

    return row


def astype(
    low: L, x: Operand, dtype: Operand, order: Operand = NONE, casting: Operand = NONE, subok: Operand = TRUE, copy: Operand = TRUE, *, device: Operand = NONE
) -> Operand | None:
    """Without a copy it may be the array itself; the order of the result is that of C, as everywhere."""
    options = (order, casting, copy, device)
    if not isinstance(dtype, Known) or not isinstance(x, Val) or x.num.kind == PYTHON or not all(isinstance(o, Known) for o in options):
        return None
    found = np.dtype(dtype.value)
    if not np.can_cast(x.num.dtype, found, known(casting) or "unsafe"):
        raise NotLowerable(f"a cast from {x.num.dtype} to {found} that is not allowed: this raises")
    if known(copy) is not True and found == x.num.dtype:
        return x if known(order) in (None, "K", "A") else None
    if found.kind not in "biufc" or not found.isnative or found.itemsize > (16 if found.kind == "c" else 8):
        return None
    return Val(Num(x.num.kind, found, x.num.shape), emit.convert(tensor(x), found).ir)


#: Python's numbers as ``np.result_type`` takes them.
_WEAK: Final[dict[Any, Any]] = {int: 0, float: 0.0, complex: 0j}


def where(low: L, condition: Operand, x: Operand, y: Operand) -> Operand | None:
    dtypes: list[Any] = [class_of(v) or (v.num.dtype if isinstance(v, Val) else getattr(getattr(v, "value", None), "dtype", None)) for v in (x, y)]
    if any(d is None for d in dtypes):
        return None
    dtype = np.result_type(*(np.dtype(bool) if d is bool else _WEAK.get(d, d) for d in dtypes))
    test = emit.convert(tensor(low.val(condition)), BOOL)
    shape = broadcast_shapes(test.shape, shape_of(x), shape_of(y))
    a, b = (emit.broadcast(cast(low, v, dtype), shape) for v in (x, y))
    result = select(emit.broadcast(test, shape), a, b)
    return Val(Num(ARRAY, dtype, shape), result.ir)


def _clipped(low: L, a: Val, a_min: Operand, a_max: Operand) -> Operand | None:
    """Between numbers of Python's: what is equal to a bound stays what it is (-0.0)."""
    if a.num.kind != ARRAY or not a.num.shape:
        return None
    x = tensor(a)
    for bound, direction in ((a_min, "LT"), (a_max, "GT")):
        if not (isinstance(bound, Known) and bound.value is None):
            limit = emit.broadcast(cast(low, bound, x.dtype), x.shape)
            x = select(or_(compare(direction, x, limit), emit.is_nan(limit)), limit, x)
    return Val(a.num, x.ir)


def clip(low: L, a: Operand, a_min: Operand = NONE, a_max: Operand = NONE) -> Operand | None:
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
        found = getattr(emit, name)(tensor(x))
        return Val(Num(x.num.kind, found.dtype, found.shape), found.ir)

    return row


def _conjugated(low: L, x: Operand) -> Operand | None:
    return Val(x.num, _conjugate(tensor(x)).ir) if isinstance(x, Val) and x.num.kind != PYTHON else None


def _round(low: L, x: Operand, decimals: Operand = ZERO) -> Operand | None:
    """NumPy multiplies, rounds and divides."""
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
    scaled = t if n == 0 else emit.mul(t, factor) if n > 0 else emit.div(t, factor)
    rounded = emit.op("round_nearest_even", scaled)
    return Val(x.num, (rounded if n == 0 else emit.div(rounded, factor) if n > 0 else emit.mul(rounded, factor)).ir)


#: Operators and builtins: tried where an array or a NumPy scalar takes part, before Python's own rows.
MIXED: Final[dict[Any, Row]] = {fn: operator_row(fn, u) for fn, u in OPERATORS.items()}

ROWS: Final[dict[Any, Row]] = {
    **{u: ufunc_row(u) for u in [*UFUNCS, *PAIRS, np.divmod]},
    **{cls: scalar_call(cls) for cls in SCALARS},
    np.ndarray.astype: astype, np.generic.astype: astype, np.where: where, np.clip: clip,
    np.ndarray.clip: lambda low, a, min=NONE, max=NONE: clip(low, a, min, max),
    np.real: _part("real"), np.imag: _part("imag"), np.ndarray.conj: _conjugated, np.ndarray.conjugate: _conjugated, np.generic.conj: _conjugated,
    np.generic.conjugate: _conjugated, np.astype: lambda low, x, dtype, *, copy=TRUE, device=NONE: astype(low, x, dtype, copy=copy),
    np.round: _round, np.around: _round, np.ndarray.round: _round, np.generic.round: _round,
}  # fmt: skip

TRUTHS: Final[dict[Any, Row]] = {operator.truth: _truth, bool: _truth, operator.not_: _not}
CONVERSIONS: Final = _to_python

__all__ = ["CONVERSIONS", "IN_PLACE", "MIXED", "ROWS", "TRUTHS", "UFUNCS", "apply", "astype", "broadcast_shapes", "cast", "shape_of"]
