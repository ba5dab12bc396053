"""What rows of batching share: lanes along axis 0, and what an axis of one value is there.  All of it is traced through."""

import operator
from typing import Any, Final

import numpy as np

from hovis.errors import Declined


def rank(x: Any, batched: bool) -> int:
    """The rank of the value of one lane."""
    return (x.ndim if isinstance(x, np.ndarray) else 0) - (1 if batched else 0)


def aligned(which: tuple[bool, ...], args: Any) -> Any:
    """Operands whose lanes broadcast as the operands of one lane do."""
    most = max([rank(x, flag) for x, flag in zip(args, which, strict=True)])
    return tuple([widened(x, most) if flag else x for x, flag in zip(args, which, strict=True)])


def widened(x: Any, most: int) -> Any:
    """Lanes of this rank: axes of length one are put in behind that of the lanes."""
    missing = most + 1 - x.ndim
    return np.reshape(x, (x.shape[0],) + (1,) * missing + x.shape[1:]) if missing else x


def spread(lanes: int, x: Any, batched: bool) -> Any:
    """x in each lane; a view, if it was the same in all."""
    if batched:
        return x
    x = np.asarray(x)
    return np.broadcast_to(x, (lanes, *x.shape))


def shifted(axis: Any, ndim: int) -> Any:
    """An axis of one lane's value (or several, or None for all of them) as that of all lanes, which have ndim axes."""
    if axis is None:
        return tuple(range(1, ndim))
    if isinstance(axis, tuple):
        return tuple([shifted(one, ndim) for one in axis])
    return axis + 1 if axis >= 0 else axis


def first(x: Any, axis: int) -> Any:
    """An array with this axis in front."""
    return np.moveaxis(x, axis, 0) if axis else x


def last(x: Any, axis: int) -> Any:
    """Lanes along this axis."""
    return np.moveaxis(x, 0, axis) if axis else x


def element(x: Any) -> Any:
    """Something of the kind of what is in each lane; its value does not matter."""
    return np.empty(x.shape[1:], x.dtype) if x.ndim > 1 else x.dtype.type(0)


def none_of(likes: Any) -> Any:
    """No lanes of what has, in one of several ways, each of these shapes and dtypes."""
    shapes = {shape for shape, _ in likes}
    return np.empty((0, *shapes.pop()), np.result_type(*[dtype for _, dtype in likes])) if len(shapes) == 1 else None


def like(x: Any) -> tuple[tuple[int, ...], Any]:
    """The shape and the dtype of what is known."""
    found = np.asarray(x)
    return found.shape, found.dtype


def empty_of(shape: tuple[int, ...], dtype: str) -> Any:
    """An array of nothing."""
    return np.empty(shape, dtype)


def shaped(x: Any, shape: tuple[int, ...]) -> Any:
    """x, whose shape it is."""
    return np.reshape(x, shape)


def begun(lanes: int, x: Any) -> Any:
    """Room for what is like x in each lane, x in the first."""
    x = np.asarray(x)
    out = np.empty((lanes, *x.shape), x.dtype)
    out[0] = x
    return out


def gone_on(out: Any, k: int, x: Any) -> Any:
    """The same with x in the k-th lane; of a wider dtype, if x is."""
    x = np.asarray(x)
    if x.shape != out.shape[1:]:
        raise ValueError(f"hovis.vmap: results of different shapes can't be put together: {out.shape[1:]} and {x.shape}")
    if x.dtype.str != out.dtype.str:
        out = out.astype(np.result_type(out.dtype, x.dtype))
    out[k] = x
    return out


def copied(x: Any) -> Any:
    """Lanes of their own."""
    return x.copy()


def own(lanes: int, x: Any, dtype: Any = None) -> Any:
    """An array of its own for x in each lane."""
    x = np.asarray(x, dtype)
    return np.broadcast_to(x, (lanes, *x.shape)).copy()


#: Of an operand that is a number of Python's in each lane.
NUMBER: Final = "number"


def lane_by_lane(lanes: int, fn: Any, which: Any, dtype: str, /, *args: Any, **named: Any) -> Any:
    """What fn gives in each lane, one after the other."""
    flags, by_name = which
    found = []
    for k in range(lanes):
        ours = [of_lane(x, flag, k) for x, flag in zip(args, flags, strict=True)]
        others = {name: of_lane(x, flag, k) for (name, x), flag in zip(named.items(), by_name, strict=True)}
        found.append(fn(*ours, **others))
    return np.array(found, dtype)


def of_lane(x: Any, flag: Any, k: int) -> Any:
    """What x is in one lane."""
    if isinstance(flag, tuple):
        return tuple([of_lane(part, one, k) for part, one in zip(x, flag, strict=True)])
    if flag == NUMBER:
        return x[k].item()
    return x[k] if flag else x


def _exact(fn: Any) -> Any:
    """A division of Python's numbers."""
    message = DIVISIONS[fn]

    def rule(lanes: int, which: tuple[bool, ...], a: Any, b: Any) -> Any:
        if np.any(b == 0) if which[1] else b == 0:
            raise ZeroDivisionError(message)
        return fn(a, b)

    return rule


def _whole(fn: Any) -> Any:
    """A sum, difference or product of Python's numbers: of ints the result must have room in 64 bits."""

    def rule(lanes: int, which: tuple[bool, ...], a: Any, b: Any) -> Any:
        if any(isinstance(x, int) and abs(x) >= 2**62 for x in (a, b)):
            raise Declined("ints of more than 64 bits")
        found = fn(a, b)
        if found.dtype.kind == "i" and np.any(np.abs(fn(np.asarray(a).astype(np.float64), b)) > 2.0**62):
            raise OverflowError("an int of more than 64 bits, of which there is one for each lane")
        return found

    return rule


DIVISIONS: Final[dict[Any, str]] = {
    operator.truediv: "division by zero", operator.floordiv: "division by zero", operator.mod: "division by zero",
}  # fmt: skip
_OF_PYTHON: Final[dict[Any, Any]] = {
    **{fn: _exact(fn) for fn in DIVISIONS},
    **{fn: _whole(fn) for fn in (operator.add, operator.sub, operator.mul)},
    **dict.fromkeys((operator.pow, operator.lshift, operator.rshift), None),
}


def is_of_python(fn: Any) -> bool:
    """Does an operator do something else to Python's numbers than to NumPy's?"""
    return fn in _OF_PYTHON


def of_python(fn: Any) -> Any:
    """The row of an operator where its result is a number of Python's; None if there is none of its own."""
    return _OF_PYTHON.get(fn)


def fitted(x: Any, dtype: str) -> Any:
    """Numbers of Python's as NumPy takes them beside numbers of its own: in the dtype of these, into which they have to fit if it is one of ints."""
    x = np.asarray(x)
    if np.dtype(dtype).kind in "iu" and x.dtype.kind in "iuf":
        if x.dtype.kind == "f" and np.any(np.isnan(x)):
            raise ValueError("cannot convert float NaN to integer")
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        if np.any((np.trunc(x) < least) | (np.trunc(x) >= float(most) + 1.0) if x.dtype.kind == "f" else (x < least) | (x > most)):
            raise OverflowError("Python integer out of bounds for " + dtype)
    return x.astype(dtype)


# ------------------------------------------------------------------------------------------------- some of the lanes

#: Makes what a value is where no lane has one.
ZEROS: Final = np.zeros


def everyone(lanes: int) -> Any:
    """The mask of all lanes."""
    return np.ones(lanes, np.bool_)


def truths(cond: Any) -> Any:
    """The mask of the lanes for which a condition holds."""
    return cond if cond.dtype.kind == "b" else cond.astype(np.bool_)


def added_to(mask: Any, more: Any) -> Any:
    """The lanes of both."""
    return np.logical_or(mask, more)


def nobody(lanes: int) -> Any:
    """The mask of none."""
    return np.zeros(lanes, np.bool_)


def some(mask: Any) -> bool:
    """Is there a lane in it?"""
    return bool(np.any(mask))


def together(mask: Any, cond: Any) -> Any:
    """The lanes for which a condition holds."""
    return np.logical_and(mask, cond)


def without(mask: Any, cond: Any) -> Any:
    """The lanes for which it does not."""
    return np.logical_and(mask, np.logical_not(cond))


def chosen(lanes: int, mask: Any) -> Any:
    """Whom each lane follows: those of the mask themselves, the others the first of these."""
    return np.where(mask, np.arange(lanes), np.argmax(mask))


#: What a round of a loop costs under masks; of a lane by itself, for numbers and for arrays; and how much of it may be for nothing.
COST: Final = 100
OF_NUMBERS: Final = 1
OF_ARRAYS: Final = 30
CREDIT: Final = 3000


def paid(credit: int, mask: Any, alone: int) -> int:
    """What is left, after a round that as many lanes wait for as are in the mask."""
    return credit + int(np.count_nonzero(mask)) * alone - COST


def is_spent(credit: int) -> bool:
    """Is nothing left?"""
    return credit < 0


def of_active(x: Any, follows: Any) -> Any:
    """What each lane has that it follows."""
    return x[follows]


def either(mask: Any, x: Any, old: Any) -> Any:
    """x for the lanes of the mask (for all of them, if it is the same in all), what was there for the others."""
    return np.where(mask if old.ndim == 1 else np.reshape(mask, mask.shape + (1,) * (old.ndim - 1)), x, old)
