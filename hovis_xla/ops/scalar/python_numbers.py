"""Python's own numbers: ``int`` as 64 bits that give up when they are not enough, ``float``, ``bool``, ``complex``.

Where Python raises (a division by zero, ``math.sqrt(-1)``, a shift by a negative count) the program gives up as well:
the residual Python then raises, in the right place and with the right words.
"""

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis.lattice.inspection import is_a
from hovis_xla.analysis.ranges.intervals import before
from hovis_xla.emit import builder
from hovis_xla.emit.block_slots import num_of, tensor
from hovis_xla.emit.builder import T, and_, compare, like, not_, or_, select, xor
from hovis_xla.emit.values import (
    ARRAY,
    CARRIERS,
    COMPLEX,
    COMPLEX128,
    FLOAT,
    FLOAT64,
    INT,
    INT64,
    PYTHON,
    SCALAR,
    TRUTH,
    Known,
    Operand,
    Struct,
    Val,
    named_tuple,
)
from hovis_xla.ops.scalar import arithmetic, complex_functions

#: A Lowering; rows get it first.
L = Any
Row = Callable[..., "Operand | None"]

_TOWER: Final = [bool, int, float, complex]
#: Products of doubles at or above this may be past 64 bits.
_PRODUCT_LIMIT: Final = 9.2233720368547e18
_EXACT: Final = 2**53


_NO_IMAGINARY: Final = Known(0.0)


def class_of(x: Operand) -> type | None:
    """bool, int, float or complex, if x is a Python number."""
    if isinstance(x, Val):
        return x.num.python if x.num.kind == PYTHON else None
    return type(x.value) if isinstance(x, Known) and type(x.value) in CARRIERS else None


def common(*xs: Operand) -> type | None:
    """The class that arithmetic on these is done in."""
    classes = [class_of(x) for x in xs]
    return None if None in classes else max(classes, key=_TOWER.index)  # type: ignore[arg-type]


def as_class(low: L, x: Operand, cls: type) -> T:
    """x converted as Python's arithmetic does it."""
    return builder.convert(tensor(low.val(x)), CARRIERS[cls])


def known(x: Operand) -> Any:
    """The value of a known number; None if it is not known."""
    return x.value if isinstance(x, Known) else None


def whole(t: T) -> Val:
    return Val(INT, t.ir)


def number(t: T) -> Val:
    return Val(FLOAT if t.dtype == FLOAT64 else COMPLEX if t.dtype == COMPLEX128 else INT if t.dtype == INT64 else TRUTH, t.ir)


def _arithmetic(low: L, a: Operand, b: Operand) -> tuple[type, T, T] | None:
    cls = common(a, b)
    if cls is None:
        return None
    cls = int if cls is bool else cls
    return cls, as_class(low, a, cls), as_class(low, b, cls)


# ------------------------------------------------------------------------------------------------- + - *


def add(low: L, a: Operand, b: Operand) -> Operand | None:
    found = _arithmetic(low, a, b)
    if found is None:
        return None
    cls, x, y = found
    result = builder.add(x, y)
    if cls is int and not low.in_range(operator.add):
        low.bail_if(compare("LT", and_(xor(x, result), xor(y, result)), like(0, x)))
    return number(result)


def sub(low: L, a: Operand, b: Operand) -> Operand | None:
    found = _arithmetic(low, a, b)
    if found is None:
        return None
    cls, x, y = found
    result = builder.sub(x, y)
    if cls is int and not low.in_range(operator.sub):
        low.bail_if(compare("LT", and_(xor(x, y), xor(x, result)), like(0, x)))
    return number(result)


def mul(low: L, a: Operand, b: Operand) -> Operand | None:
    found = _arithmetic(low, a, b)
    if found is None:
        return None
    cls, x, y = found
    if cls is int and not low.in_range(operator.mul):
        _check_product(low, x, y, known(b) if known(b) is not None else known(a), x if known(b) is not None else y)
    return number(builder.mul(x, y))


def _check_product(low: L, x: T, y: T, factor: int | None, other: T) -> None:
    if factor is None:
        product = builder.absolute(builder.mul(builder.convert(x, FLOAT64), builder.convert(y, FLOAT64)))
        low.bail_if(compare("GE", product, like(_PRODUCT_LIMIT, product)))
    elif factor not in (0, 1):
        most = (2**63 - 1) // abs(factor)
        low.bail_if(or_(compare("GT", other, like(most, other)), compare("LT", other, like(-most, other))))


# ------------------------------------------------------------------------------------------------- / // % **


def truediv(low: L, a: Operand, b: Operand) -> Operand | None:
    found = _arithmetic(low, a, b)
    if found is None:
        return None
    cls, x, y = found
    _nonzero(low, b, y)
    if cls is int:
        # correctly rounded only if both are exact as floats
        for operand, t in ((a, x), (b, y)):
            if not is_within(low, operand, -_EXACT, _EXACT):
                low.bail_if(or_(compare("GT", t, like(_EXACT, t)), compare("LT", t, like(-_EXACT, t))))
        x, y = builder.convert(x, FLOAT64), builder.convert(y, FLOAT64)
    return number(complex_functions.divide(x, y) if cls is complex else builder.div(x, y))


def _nonzero(low: L, operand: Operand, t: T) -> None:
    """Give up on a zero divisor."""
    bounds = low.interval(operand)
    if not known(operand) and (bounds is None or bounds[0] <= 0 <= bounds[1]):
        low.raise_if(arithmetic.is_zero(t), ZeroDivisionError)


def is_within(low: L, operand: Operand, least: int, greatest: int) -> bool:
    """Is an integer certainly between these?"""
    bounds = low.interval(operand)
    return bounds is not None and bool(least <= bounds[0] and bounds[1] <= greatest)


def _divmod(low: L, a: Operand, b: Operand, want: str) -> "tuple[Operand, ...] | None":
    found = _arithmetic(low, a, b)
    if found is None or found[0] is complex:
        return None
    cls, x, y = found
    _nonzero(low, b, y)
    if cls is float:
        return tuple(map(number, arithmetic.float_divmod(x, y)))
    n = known(b)
    if not n and not (is_within(low, b, 1, 2**63) or is_within(low, b, -(2**63), -1)):
        # XLA itself divides what turns out to be constant, and dies of a zero
        y = select(arithmetic.is_zero(y), like(1, y), y)
    fits = is_within(low, a, 1 - 2**63, 2**63) or is_within(low, b, 0, 2**63) or is_within(low, b, -(2**63), -2)
    if want != "mod" and not fits and (n is None or n == -1):
        low.bail_if(and_(compare("EQ", y, like(-1, y)), compare("EQ", x, like(-(2**63), x))))
    if n is not None and n > 0 and n & (n - 1) == 0:
        shift = like(n.bit_length() - 1, x)
        return whole(builder.op("shift_right_arithmetic", x, shift)), whole(and_(x, like(n - 1, x)))
    signs = [is_within(low, operand, 0, 2**63) for operand in (a, b)]
    return whole(arithmetic.int_floor_div(x, y, *signs)), whole(arithmetic.int_floor_mod(x, y, *signs))


def floordiv(low: L, a: Operand, b: Operand) -> Operand | None:
    found = _divmod(low, a, b, "div")
    return None if found is None else found[0]


def mod(low: L, a: Operand, b: Operand) -> Operand | None:
    found = _divmod(low, a, b, "mod")
    return None if found is None else found[1]


def divmod_(low: L, a: Operand, b: Operand) -> Operand | None:
    found = _divmod(low, a, b, "both")
    return None if found is None else Struct(operations.make_tuple, found, object())


def power(low: L, a: Operand, b: Operand) -> Operand | None:
    cls, n = common(a, b), known(b)
    if cls in (bool, int):
        if n is None or n > 64:
            return None  # an Int or a Float, by the sign of the exponent
        if n >= 0:
            return _int_power(low, a, int(n))
    if cls is complex or cls is None:
        return None
    x, y = as_class(low, a, float), as_class(low, b, float)
    if n == 2:
        result = builder.mul(x, x)
    else:
        low.raise_if(and_(arithmetic.is_zero(x), compare("LT", y, like(0, y))), ZeroDivisionError)
        if n is None or not float(n).is_integer():
            low.bail_if(and_(and_(compare("LT", x, like(0, x)), builder.is_finite(x)), and_(builder.is_finite(y), not_(arithmetic.is_integral(y)))))
        result = builder.op("power", x, y)
    low.raise_if(and_(is_infinite(result), and_(builder.is_finite(x), builder.is_finite(y))), OverflowError)
    return number(result)


def _int_power(low: L, a: Operand, n: int) -> Operand:
    result: Operand = Known(1)
    base: Operand = whole(as_class(low, a, int))
    while n:
        if n & 1:
            result = base if isinstance(result, Known) else _must(mul(low, result, base))
        n >>= 1
        if n:
            base = _must(mul(low, base, base))
    return result


def _must(x: Operand | None) -> Operand:
    assert x is not None
    return x


def is_infinite(x: T) -> T:
    return compare("EQ", builder.absolute(x), like(math.inf, x))


# ------------------------------------------------------------------------------------------------- bits


def _bitwise(name: str) -> Row:
    def row(low: L, a: Operand, b: Operand) -> Operand | None:
        cls = common(a, b)
        if cls not in (bool, int):
            return None
        if class_of(a) is bool and class_of(b) is bool:
            return number({"and": and_, "or": or_, "xor": xor}[name](tensor(low.val(a)), tensor(low.val(b))))
        return whole({"and": and_, "or": or_, "xor": xor}[name](as_class(low, a, int), as_class(low, b, int)))

    return row


def lshift(low: L, a: Operand, b: Operand) -> Operand | None:
    if common(a, b) not in (bool, int):
        return None
    x, n = as_class(low, a, int), as_class(low, b, int)
    result = builder.op("shift_left", x, n)
    if low.in_range(operator.lshift) and is_within(low, b, 0, 62):
        return whole(result)
    back = builder.op("shift_right_arithmetic", result, n)
    low.bail_if(or_(compare("NE", back, x), or_(compare("LT", n, like(0, n)), compare("GT", n, like(62, n)))))
    return whole(result)


def rshift(low: L, a: Operand, b: Operand) -> Operand | None:
    if common(a, b) not in (bool, int):
        return None
    x, n = as_class(low, a, int), as_class(low, b, int)
    if not is_within(low, b, 0, 2**63):
        low.bail_if(compare("LT", n, like(0, n)))
    if not is_within(low, b, -(2**63), 63):
        n = builder.op("minimum", n, like(63, n))
    return whole(builder.op("shift_right_arithmetic", x, n))


def invert(low: L, a: Operand) -> Operand | None:
    return whole(not_(as_class(low, a, int))) if class_of(a) in (bool, int) else None


# ------------------------------------------------------------------------------------------------- unary


def neg(low: L, a: Operand) -> Operand | None:
    cls = class_of(a)
    if cls is None:
        return None
    x = as_class(low, a, int if cls is bool else cls)
    if x.dtype == INT64 and not is_within(low, a, 1 - 2**63, 2**63):
        low.bail_if(compare("EQ", x, like(-(2**63), x)))
    return number(builder.neg(x))


def pos(low: L, a: Operand) -> Operand | None:
    cls = class_of(a)
    return None if cls is None else number(as_class(low, a, int if cls is bool else cls))


def abs_(low: L, a: Operand) -> Operand | None:
    cls = class_of(a)
    if cls is None:
        return None
    x = as_class(low, a, int if cls is bool else cls)
    if x.dtype == INT64 and not is_within(low, a, 1 - 2**63, 2**63):
        low.bail_if(compare("EQ", x, like(-(2**63), x)))
    if cls is complex:
        size = complex_functions.absolute(x)
        low.bail_if(and_(is_infinite(size), builder.is_finite(x)))
        return number(size)
    return number(builder.absolute(x))


def truth(low: L, a: Operand) -> Operand | None:
    if class_of(a) is None:
        return Known(bool(a.value)) if isinstance(a, Known) and a.value is None else None
    return number(builder.convert(tensor(low.val(a)), CARRIERS[bool]))


def not_row(low: L, a: Operand) -> Operand | None:
    found = truth(low, a)
    return None if found is None else Known(not found.value) if isinstance(found, Known) else number(not_(tensor(found)))  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------- comparisons


def _comparison(direction: str) -> Row:
    def row(low: L, a: Operand, b: Operand) -> Operand | None:
        cls = common(a, b)
        if cls is None:
            return _unlike(direction, a, b)
        if cls is complex and direction not in ("EQ", "NE"):
            return None
        if cls is float and not class_of(a) is class_of(b) is float:
            return number(_mixed(low, direction, a, b))
        cls = int if cls is bool else cls
        return number(compare(direction, as_class(low, a, cls), as_class(low, b, cls)))

    return row


def _unlike(direction: str, a: Operand, b: Operand) -> Operand | None:
    """A number is never equal to None or to a string."""
    sides = [x for x in (a, b) if isinstance(x, Known) and (x.value is None or is_a(x.value, str))]
    if direction in ("EQ", "NE") and sides and any(class_of(x) is not None for x in (a, b)):
        return Known(direction == "NE")
    return None


_FLIP: Final = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE", "EQ": "EQ", "NE": "NE"}


def _mixed(low: L, direction: str, a: Operand, b: Operand) -> T:
    """An int with a float: Python compares the exact values."""
    if class_of(a) is float:
        return _mixed(low, _FLIP[direction], b, a)
    y = as_class(low, b, float)
    if is_within(low, a, -_EXACT, _EXACT):
        return compare(direction, builder.convert(as_class(low, a, int), FLOAT64), y)
    x = as_class(low, a, int)
    near = compare(direction, builder.convert(x, FLOAT64), y)
    # equal after rounding: then y is integral (all floats past 2**53 are), and the integers decide
    rounded = compare("EQ", builder.convert(x, FLOAT64), y)
    fits = compare("LT", y, like(2.0**63, y))
    exact = compare(direction, x, builder.convert(y, INT64))
    past = builder.constant(direction in ("LT", "LE", "NE"))
    return select(rounded, select(fits, exact, past), near)


def is_(low: L, a: Operand, b: Operand) -> Operand | None:
    """Numbers are never None; whether two numbers are one object is not said, of arrays it may be known."""
    if isinstance(a, Known) and isinstance(b, Known):
        return Known(a.value is b.value)
    truths = [_truth_class(x) for x in (a, b)]
    if None not in truths:
        # there is one True of each class
        return number(compare("EQ", tensor(low.val(a)), tensor(low.val(b)))) if truths[0] is truths[1] else Known(False)
    one = a if isinstance(a, Known) else b
    if isinstance(one, Known) and class_of(one) is None and not is_a(one.value, np.ndarray | np.generic):
        return Known(False)
    return _is_one_array(low, a, b)


def _truth_class(x: Operand) -> type | None:
    """bool or np.bool, if x is a number of that class."""
    if isinstance(x, Known):
        return type(x.value) if type(x.value) in (bool, np.bool_) else None
    if not isinstance(x, Val) or x.num.dtype != np.bool_:
        return None
    return {PYTHON: bool, SCALAR: np.bool_}.get(x.num.kind)


def _is_one_array(low: L, a: Operand, b: Operand) -> Operand | None:
    """Are both the very array that owns some memory?  Arguments are taken to be different ones, which is tested where a call begins."""
    arrays = [low.val(x) if isinstance(x, Known) else x for x in (a, b) if isinstance(x, Val) or (isinstance(x, Known) and is_a(x.value, np.ndarray))]
    places = [x.place for x in arrays if x.num.kind == ARRAY and x.place is not None]
    if len(places) < 2:
        return None
    one, other = places
    if one.own != other.own:
        return Known(False)  # one is a view
    if not one.own:
        return None
    if one.location is other.location:
        return Known(True)
    owners = [place.location.owner for place in places]
    if not any(owner is None for owner in owners):
        low.apart.append(tuple(owners))
    return Known(False)


def is_not(low: L, a: Operand, b: Operand) -> Operand | None:
    found = is_(low, a, b)
    if found is None or isinstance(found, Known):
        return None if found is None else Known(not found.value)
    return not_row(low, found)


# ------------------------------------------------------------------------------------------------- ranges


def range_step(low: L, step: Operand) -> Operand | None:
    t = as_class(low, step, int)
    _nonzero(low, step, t)
    return whole(t)


def range_goes_on(low: L, current: Operand, stop: Operand, step: Operand) -> Operand | None:
    at, end, by = (as_class(low, x, int) for x in (current, stop, step))
    if is_within(low, step, 0, 2**63):
        return number(compare("LT", at, end))
    return number(select(compare("GT", by, like(0, by)), compare("LT", at, end), compare("GT", at, end)))


def before_(low: L, bound: Operand, distance: Operand) -> Operand | None:
    x, d = as_class(low, bound, int), known(distance)
    far = builder.op("maximum", x, like(d - 2**63, x)) if d >= 0 else builder.op("minimum", x, like(d + 2**63 - 1, x))
    return whole(builder.sub(far, like(d, x)))


# ------------------------------------------------------------------------------------------------- conversions


def int_(low: L, a: Operand) -> Operand | None:
    cls = class_of(a)
    if cls is None or cls is complex:
        return None
    x = tensor(low.val(a))
    if cls is float:
        _fits(low, x)
    return whole(builder.convert(x, INT64))


def _fits(low: L, x: T) -> None:
    """Give up unless the float is finite and within 64 bits."""
    inside = and_(compare("LT", x, like(2.0**63, x)), compare("GE", x, like(-(2.0**63), x)))
    if low.catching is None:
        low.bail_if(not_(inside))
        return
    low.raise_if(builder.is_nan(x), ValueError)
    low.raise_if(is_infinite(x), OverflowError)
    low.bail_if(and_(builder.is_finite(x), not_(inside)))


def position(low: L, a: Operand) -> T:
    """A number that says where, as an i64: Python knows what comes of one beyond that."""
    x = tensor(low.val(a))
    place = builder.convert(x, INT64)
    if x.dtype == np.uint64 and not x.shape:
        low.bail_if(compare("LT", place, like(0, place)))
    return place


def _index(low: L, a: Operand) -> Operand | None:
    if isinstance(a, Val) and a.num.kind == SCALAR and a.num.dtype.kind in "iu":
        return whole(position(low, a))
    return int_(low, a) if class_of(a) in (bool, int) else None


def float_(low: L, a: Operand) -> Operand | None:
    return number(as_class(low, a, float)) if class_of(a) in (bool, int, float) else None


def complex_(low: L, a: Operand, b: Operand = _NO_IMAGINARY) -> Operand | None:
    if common(a, b) is complex:
        return number(as_class(low, a, complex)) if class_of(a) is complex and isinstance(b, Known) and b.value == 0 else None
    if common(a, b) is None:
        return None
    return number(builder.make_complex(as_class(low, a, float), as_class(low, b, float)))


def round_(low: L, a: Operand) -> Operand | None:
    cls = class_of(a)
    if cls in (bool, int):
        return whole(as_class(low, a, int))
    return to_whole("round_nearest_even")(low, a) if cls is float else None


def to_whole(name: str) -> Row:
    def row(low: L, a: Operand) -> Operand | None:
        if class_of(a) in (bool, int):
            return whole(as_class(low, a, int))
        if class_of(a) is not float:
            return None
        x = builder.op(name, tensor(low.val(a))) if name else tensor(low.val(a))
        _fits(low, x)
        return whole(builder.convert(x, INT64))

    return row


def _extreme(beats: Callable[[Any, Any], Any]) -> Row:
    """``min(a, b, …)``: the first one that no later one beats."""

    def row(low: L, *xs: Operand) -> Operand | None:
        nums = [n for n in map(num_of, xs) if n is not None and n.kind != ARRAY and n.dtype.kind != "c"]
        if len(xs) < 2 or len(nums) < len(xs):
            return None
        alike = len({n.dtype for n in nums}) == 1
        best = xs[0]
        for x in xs[1:]:
            if alike:
                found = compare("LT" if beats is operator.lt else "GT", tensor(low.val(x)), tensor(low.val(best)))
            else:
                test = low.condition(low.call(beats, [x, best], {}))
                found = builder.constant(test) if isinstance(test, bool) else test
            best = low.pick(found, x, best)
        return best

    return row


def type_(low: L, a: Operand) -> Operand | None:
    if isinstance(a, Val):
        return Known(a.num.python if a.num.kind == PYTHON else a.num.dtype.type if a.num.kind == "scalar" else np.ndarray)
    return Known(type(a.value)) if isinstance(a, Known) else None


def isinstance_(low: L, a: Operand, classes: Operand) -> Operand | None:
    found = type_(low, a)
    if not isinstance(found, Known) or not isinstance(classes, Known):
        return None
    return Known(issubclass(found.value, classes.value))


def new_tuple(low: L, cls: Operand, items: Operand) -> Operand | None:
    """``tuple.__new__(P, items)``: how a named tuple is made."""
    if not isinstance(cls, Known) or not isinstance(items, Struct) or items.callee is not operations.make_tuple:
        return None
    fields = getattr(cls.value, "_fields", None)
    return Struct(named_tuple(cls.value), items.parts, object()) if type(fields) is tuple and len(fields) == len(items.parts) else None


ROWS: Final[dict[Any, Row]] = {
    tuple.__new__: new_tuple,
    operator.add: add, operator.sub: sub, operator.mul: mul, operator.truediv: truediv, operator.floordiv: floordiv, operator.mod: mod,
    operator.pow: power, builtins.pow: power, builtins.divmod: divmod_, operator.and_: _bitwise("and"), operator.or_: _bitwise("or"),
    operator.xor: _bitwise("xor"), operator.lshift: lshift, operator.rshift: rshift, operator.invert: invert, operator.neg: neg, operator.pos: pos,
    operator.abs: abs_, builtins.abs: abs_, operator.truth: truth, bool: truth, operator.not_: not_row,
    operator.lt: _comparison("LT"), operator.le: _comparison("LE"), operator.gt: _comparison("GT"), operator.ge: _comparison("GE"),
    operator.eq: _comparison("EQ"), operator.ne: _comparison("NE"), operator.is_: is_, operator.is_not: is_not,
    int: int_, float: float_, complex: complex_, operator.index: _index,
    builtins.round: round_, builtins.min: _extreme(operator.lt), builtins.max: _extreme(operator.gt), type: type_, isinstance: isinstance_,
    operations.range_step: range_step, before: before_, operations.range_goes_on: range_goes_on,
}  # fmt: skip
