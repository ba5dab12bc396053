"""Comparisons of Python's numbers, ``is``, and ``min`` and ``max`` of several numbers."""

import builtins
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.lattice.inspection import is_a
from hovis_xla.emit import builder
from hovis_xla.emit.block_slots import num_of, tensor
from hovis_xla.emit.builder import T, compare, like, select
from hovis_xla.emit.values import ARRAY, FLOAT64, INT64, PYTHON, SCALAR, Known, Operand, Val
from hovis_xla.ops.scalar.python_numbers import EXACT, L, Row, as_class, class_of, common, is_within, not_row, number


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
    """Fold ``==`` and ``!=`` of a number and None or a string, which are never equal."""
    sides = [x for x in (a, b) if isinstance(x, Known) and (x.value is None or is_a(x.value, str))]
    if direction in ("EQ", "NE") and sides and any(class_of(x) is not None for x in (a, b)):
        return Known(direction == "NE")
    return None


_FLIP: Final = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE", "EQ": "EQ", "NE": "NE"}


def _mixed(low: L, direction: str, a: Operand, b: Operand) -> T:
    """Compare an int with a float by their exact values, as Python does."""
    if class_of(a) is float:
        return _mixed(low, _FLIP[direction], b, a)
    y = as_class(low, b, float)
    if is_within(low, a, -EXACT, EXACT):
        return compare(direction, builder.convert(as_class(low, a, int), FLOAT64), y)
    x = as_class(low, a, int)
    near = compare(direction, builder.convert(x, FLOAT64), y)
    # equal after rounding: then y is integral (all floats past 2**53 are), and the integers are compared
    rounded = compare("EQ", builder.convert(x, FLOAT64), y)
    fits = compare("LT", y, like(2.0**63, y))
    exact = compare(direction, x, builder.convert(y, INT64))
    past = builder.constant(direction in ("LT", "LE", "NE"))
    return select(rounded, select(fits, exact, past), near)


def is_(low: L, a: Operand, b: Operand) -> Operand | None:
    """Lower ``is``. A number is never None; whether two numbers are one object is not decided, for arrays it may be known."""
    if isinstance(a, Known) and isinstance(b, Known):
        return Known(a.value is b.value)
    truths = [_truth_class(x) for x in (a, b)]
    if None not in truths:
        # each class has a single True object
        return number(compare("EQ", tensor(low.val(a)), tensor(low.val(b)))) if truths[0] is truths[1] else Known(False)
    one = a if isinstance(a, Known) else b
    if isinstance(one, Known) and class_of(one) is None and not is_a(one.value, np.ndarray | np.generic):
        return Known(False)
    return _is_one_array(low, a, b)


def _truth_class(x: Operand) -> type | None:
    """Return bool or np.bool if x is a truth value of that class, otherwise None."""
    if isinstance(x, Known):
        return type(x.value) if type(x.value) in (bool, np.bool_) else None
    if not isinstance(x, Val) or x.num.dtype != np.bool_:
        return None
    return {PYTHON: bool, SCALAR: np.bool_}.get(x.num.kind)


def _is_one_array(low: L, a: Operand, b: Operand) -> Operand | None:
    """Are both operands the same array object that owns its memory? Arguments are assumed to be different ones, which is tested when a call
    begins.
    """
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


def _extreme(beats: Callable[[Any, Any], Any]) -> Row:
    """Make the lowering of ``min(a, b, …)``: the first operand that no later one beats."""

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


ROWS: Final[dict[Any, Row]] = {
    operator.lt: _comparison("LT"), operator.le: _comparison("LE"), operator.gt: _comparison("GT"), operator.ge: _comparison("GE"),
    operator.eq: _comparison("EQ"), operator.ne: _comparison("NE"), operator.is_: is_, operator.is_not: is_not,
    builtins.min: _extreme(operator.lt), builtins.max: _extreme(operator.gt),
}  # fmt: skip
