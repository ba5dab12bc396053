"""Inverse rules, by callable: each is an ordinary Python function that computes an operand from the result. The engine traces through it.

    inverse(math.exp, math.log)                          of one operand: the function that undoes it
    inverse(operator.sub, lambda y, a, b: y + b, None)   a rule an operand, given the result and the operands
    taken_apart(make_tuple, lambda k, y, *parts: y[k])   each operand is found by itself, whatever is known of the others

Among the operands that a rule gets, an :class:`Unknown`, which knows its shape, takes the place of the operand to be found.
For functions that are not one-to-one, the principal value is found: for ``sin`` the arcsine, for a square the root.
"""

import cmath
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from hovis.ir.operations import make_dict, make_list, make_object, make_tuple

Rule = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Unknown:
    """The placeholder of the operand to be found: its shape if it is an array (None if it is not known), and its parts if it is a sequence."""

    shape: tuple[int, ...] | None = None
    parts: "tuple[Unknown, ...]" = ()


@dataclass(frozen=True, slots=True, eq=False)
class Inverse:
    """The inverse rules of one callable.

    rules   one function for each operand, which computes it from the result and the operands
    part    computes the operand with a given number from that number, the result and the operands, even if other operands
            are unknown
    order   computes how the results of several calls make up the first operand, from what is known of that operand, and the
            other operands of the calls; None if they do not make it up
    whole   computes the first operand from that order and the results
    alike   whether the operand to be found must have the shape of the result: one that was broadcast is not found
    """

    rules: tuple[Rule | None, ...] = ()
    part: Rule | None = None
    order: Rule | None = None
    whole: Rule | None = None
    alike: bool = False


#: callable -> its inverse rules
INVERSES: Final[dict[Any, Inverse]] = {}


def inverse(fn: object, *rules: Rule | None, alike: bool = False) -> None:
    """Register how the operands of fn are found from its result: by the inverse function of its only operand, or by one rule per operand."""
    INVERSES[fn] = Inverse((_undone(rules[0]),)) if len(rules) == 1 and rules[0] is not None else Inverse(rules, alike=alike)


def taken_apart(fn: object, part: Rule) -> None:
    """Register how each operand of fn, a constructor of containers, is extracted from the result."""
    INVERSES[fn] = Inverse(part=part)


def put_together(fn: object, order: Rule, whole: Rule) -> None:
    """Register how the first operand of fn, which extracts parts, is reassembled from the results of several calls: order and whole as in
    `Inverse`.
    """
    INVERSES[fn] = Inverse(order=order, whole=whole)


def _undone(undo: Rule) -> Rule:
    return lambda y, x: undo(y)


# ------------------------------------------------------------------------------------------------- Python's numbers

SUM: Final = (lambda y, a, b: y - b, lambda y, a, b: y - a)
DIFFERENCE: Final = (lambda y, a, b: y + b, lambda y, a, b: a - y)
PRODUCT: Final = (lambda y, a, b: y / b, lambda y, a, b: y / a)
QUOTIENT: Final = (lambda y, a, b: y * b, lambda y, a, b: a / y)
XOR: Final = (lambda y, a, b: y ^ b, lambda y, a, b: y ^ a)
POWER: Final = (lambda y, a, b: y ** (1 / b), lambda y, a, b: math.log(y) / math.log(a))

#: pairs of inverse functions, by their names in math and cmath
PAIRS: Final = (("exp", "log"), ("sin", "asin"), ("cos", "acos"), ("tan", "atan"), ("sinh", "asinh"), ("cosh", "acosh"), ("tanh", "atanh"))

for _rules, _fns in (
    (SUM, (operator.add,)),
    (DIFFERENCE, (operator.sub,)),
    (PRODUCT, (operator.mul,)),
    (QUOTIENT, (operator.truediv,)),
    (XOR, (operator.xor,)),
    (POWER, (operator.pow, pow, math.pow)),
):
    for _fn in _fns:
        inverse(_fn, *_rules, alike=True)
for _same in (operator.neg, operator.pos, operator.invert):
    inverse(_same, _same)
for _module in (math, cmath):
    for _name, _undo in PAIRS:
        inverse(getattr(_module, _name), getattr(_module, _undo))
        inverse(getattr(_module, _undo), getattr(_module, _name))
inverse(math.expm1, math.log1p)
inverse(math.log1p, math.expm1)
inverse(math.log2, lambda y: 2.0**y)
inverse(math.log10, lambda y: 10.0**y)
inverse(math.degrees, math.radians)
inverse(math.radians, math.degrees)
inverse(math.sqrt, lambda y: y * y)
inverse(cmath.sqrt, lambda y: y * y)

# ------------------------------------------------------------------------------------------------- containers

for _make in (make_tuple, make_list):
    taken_apart(_make, lambda k, y, *parts: y[k])
taken_apart(make_dict, lambda k, y, *parts: y[parts[k - 1]])
taken_apart(make_object, lambda k, y, cls, names, *values: getattr(y, names[k - 2]))
