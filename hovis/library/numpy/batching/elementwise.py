"""Batched elementwise functions: ufuncs, Python's operators, and functions of numbers."""

import math
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.errors import Declined
from hovis.library.numpy.adjoints.tangents import afresh
from hovis.library.numpy.batching.base import aligned
from hovis.library.numpy.rules.ufuncs import ELEMENTWISE, IN_PLACE, OPERATORS
from hovis.library.tables.batching import Rule, batched, by


def each_element(fn: Any) -> Rule:
    def rule(lanes: int, which: tuple[bool, ...], *args: Any, **named: Any) -> Any:
        return fn(*aligned(which, args), **named)

    return rule


#: Other elementwise functions, for arrays of any rank.
_MORE: Final = (
    np.clip, np.real, np.imag, np.angle, np.nan_to_num, np.round, np.around, np.fix, np.sinc, np.i0, np.isclose,
    np.ndarray.clip, np.ndarray.round, np.ndarray.conj, np.ndarray.conjugate,
)  # fmt: skip

by(each_element, *ELEMENTWISE, *(fn for fn in OPERATORS if fn is not divmod), *IN_PLACE, *_MORE)


@batched(np.where)
def _where(lanes: int, which: tuple[bool, ...], *args: Any) -> Any:
    if len(args) == 1:
        raise Declined("there are as many places in each lane as there are truths in it")
    return np.where(*aligned(which, args))


@batched(afresh)
def _afresh(lanes: int, which: tuple[bool, ...], x: Any, after: Any) -> Any:
    return afresh(x if which[0] else np.broadcast_to(x, (lanes, *np.shape(x))), after)


@batched(operator.not_)
def _not(lanes: int, which: tuple[bool, ...], x: Any) -> Any:
    return np.logical_not(x)


# ------------------------------------------------------------------------------------------------- Python's numbers


def _cast(to: Any) -> Callable[[Any], Rule]:
    def make(fn: Any) -> Rule:
        def rule(lanes: int, which: tuple[bool, ...], x: Any) -> Any:
            return x.astype(to)

        return rule

    return make


by(_cast(np.float64), float)
by(_cast(np.bool_), bool)
by(_cast(np.complex128), complex)


@batched(int, math.trunc)
def _int(lanes: int, which: tuple[bool, ...], x: Any) -> Any:
    return whole(x)


def whole(x: Any) -> Any:
    """Truncate numbers to ints; raises as Python does for NaN and infinity, and OverflowError for an int of more than 64 bits."""
    if x.dtype.kind != "f":
        return x.astype(np.int64)
    if np.any(np.isnan(x)):
        raise ValueError("cannot convert float NaN to integer")
    if np.any(np.isinf(x)):
        raise OverflowError("cannot convert float infinity to integer")
    if np.any(np.abs(x) >= 2.0**63):
        raise OverflowError("an int of more than 64 bits, of which there is one for each lane")
    return x.astype(np.int64)


def _rounded(fn: Any) -> Callable[[Any], Rule]:
    def make(_: Any) -> Rule:
        def rule(lanes: int, which: tuple[bool, ...], x: Any) -> Any:
            found = fn(x)
            if np.any(~np.isfinite(found)):
                raise ValueError("cannot convert float NaN or infinity to integer")
            return found.astype(np.int64)

        return rule

    return make


by(_rounded(np.floor), math.floor)
by(_rounded(np.ceil), math.ceil)


@batched(round)
def _round(lanes: int, which: tuple[bool, ...], x: Any, digits: Any = None) -> Any:
    if digits is None:
        return whole(np.rint(x))
    raise Declined("the decimal number that is nearest is another one for Python and for NumPy")


@batched(max)
def _max(lanes: int, which: tuple[bool, ...], *args: Any) -> Any:
    found, *rest = aligned(which, args)
    for x in rest:
        found = np.where(x > found, x, found)
    return found


@batched(min)
def _min(lanes: int, which: tuple[bool, ...], *args: Any) -> Any:
    found, *rest = aligned(which, args)
    for x in rest:
        found = np.where(x < found, x, found)
    return found


def _of_math(ufunc: Any, fails: Any = None, error: type[Exception] = ValueError) -> Callable[[Any], Rule]:
    """Make the row of a function of ``math``; the error that it raises for one number is raised if any lane has such a number."""
    message = "math domain error" if error is ValueError else "math range error"

    def make(fn: Any) -> Rule:
        def rule(lanes: int, which: tuple[bool, ...], *args: Any) -> Any:
            ours = [x.astype(np.float64) if isinstance(x, np.ndarray) else x for x in args]
            if fails is not None and np.any(fails(ours[0])):
                raise error(message)
            return ufunc(*ours)

        return rule

    return make


#: The largest argument whose exponential does not overflow a float.
_LARGEST: Final = 709.782712893384
_LARGEST_SINH: Final = 710.4758600739439

_ufunc: Any
for _name, _ufunc in (
    ("atan", np.arctan), ("atan2", np.arctan2), ("tanh", np.tanh), ("asinh", np.arcsinh), ("fabs", np.fabs), ("degrees", np.degrees),
    ("radians", np.radians), ("copysign", np.copysign),
):  # fmt: skip
    by(_of_math(_ufunc), getattr(math, _name))
for _name, _ufunc, _fails in (
    ("sin", np.sin, np.isinf), ("cos", np.cos, np.isinf), ("tan", np.tan, np.isinf),
    ("asin", np.arcsin, lambda x: np.abs(x) > 1.0), ("acos", np.arccos, lambda x: np.abs(x) > 1.0), ("acosh", np.arccosh, lambda x: x < 1.0),
    ("atanh", np.arctanh, lambda x: np.abs(x) >= 1.0), ("sqrt", np.sqrt, lambda x: x < 0.0),
    ("log", np.log, lambda x: x <= 0.0), ("log2", np.log2, lambda x: x <= 0.0), ("log10", np.log10, lambda x: x <= 0.0),
    ("log1p", np.log1p, lambda x: x <= -1.0),
):  # fmt: skip
    by(_of_math(_ufunc, _fails), getattr(math, _name))
for _name, _ufunc, _most in (("exp", np.exp, _LARGEST), ("expm1", np.expm1, _LARGEST)):
    by(_of_math(_ufunc, lambda x, most=_most: (x > most) & (x < np.inf), OverflowError), getattr(math, _name))
for _name, _ufunc in (("sinh", np.sinh), ("cosh", np.cosh)):
    by(_of_math(_ufunc, lambda x: (np.abs(x) > _LARGEST_SINH) & (np.abs(x) < np.inf), OverflowError), getattr(math, _name))
