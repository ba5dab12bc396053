"""Affine forms of integers, and differences between integers that are constants, as between ``i`` and ``i + 3``."""

import operator
from collections.abc import Callable
from typing import Any, Final

from hovis.ir.model import Op
from hovis.lattice import Const, Type

#: Maximal depth to which an expression is analyzed.
DEPTH: Final = 12

#: An affine sum: the coefficient of each value, and the constant.
Form = tuple[dict[Any, int], int]

#: Decomposes a value: ``("constant", n)``, ``("add", a, b)``, likewise ``subtract`` and ``multiply``, ``("negate", a)``; None: it stands for itself.
Reader = Callable[[Any], "tuple[Any, ...] | None"]


def difference(a: Any, b: Any, read: Reader) -> int | None:
    """Return a - b, or None if it is unknown."""
    (x, c), (y, d) = form(a, read), form(b, read)
    return c - d if x == y else None


def form(value: Any, read: Reader, depth: int = DEPTH) -> Form:
    """Return an integer as an affine sum: values with coefficients, and a constant."""
    made = read(value) if depth else None
    if made is None:
        return {value: 1}, 0
    name, *parts = made
    if name == "constant":
        return {}, parts[0]
    forms = [form(p, read, depth - 1) for p in parts]
    if name == "negate":
        return _sum(({}, 0), forms[0], -1)
    a, b = forms
    if name == "multiply":
        if a[0] and b[0]:
            return {value: 1}, 0
        return _sum(({}, 0), b if not a[0] else a, a[1] if not a[0] else b[1])
    return _sum(a, b, 1 if name == "add" else -1)


def _sum(a: Form, b: Form, times: int) -> Form:
    found = dict(a[0])
    for value, count in b[0].items():
        found[value] = found.get(value, 0) + count * times
    return {v: n for v, n in found.items() if n}, a[1] + b[1] * times


_NAMES: Final[dict[Any, str]] = {operator.add: "add", operator.sub: "subtract", operator.mul: "multiply", operator.neg: "negate"}


def of_op(value: Any) -> tuple[Any, ...] | None:
    """Return the operation and operands that an int of a Function is computed from (see `Reader`), or None if it stands for itself."""
    if isinstance(value, Const):
        return ("constant", value.value) if type(value.value) is int else None
    if not isinstance(value, Op) or value.callee not in _NAMES or value.kwargs:
        return None
    if not all(_is_int(v) for v in (value, *value.args)):
        return None
    return _NAMES[value.callee], *value.args


def _is_int(value: Any) -> bool:
    return type(value.value) is int if isinstance(value, Const) else getattr(value, "type", None) == Type(int)
