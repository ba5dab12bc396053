"""Helpers shared by the batching rows: lanes lie along axis 0 (the batch axis), and the axes of one lane's value come behind it. The engine
traces through all of it.
"""

import operator
from typing import Any, Final

import numpy as np

from hovis.errors import Declined


def rank(x: Any, batched: bool) -> int:
    """Return the rank of the value in one lane."""
    return (x.ndim if isinstance(x, np.ndarray) else 0) - (1 if batched else 0)


def aligned(which: tuple[bool, ...], args: Any) -> Any:
    """Reshape batched operands to make their lanes broadcast as the operands of one lane do."""
    most = max([rank(x, flag) for x, flag in zip(args, which, strict=True)])
    return tuple([widened(x, most) if flag else x for x, flag in zip(args, which, strict=True)])


def widened(x: Any, most: int) -> Any:
    """Insert axes of length one behind the batch axis, to give each lane the rank ``most``."""
    missing = most + 1 - x.ndim
    return np.reshape(x, (x.shape[0],) + (1,) * missing + x.shape[1:]) if missing else x


def spread(lanes: int, x: Any, batched: bool) -> Any:
    """Return x with a batch axis; an x that is equal in all lanes becomes a broadcast view."""
    if batched:
        return x
    x = np.asarray(x)
    return np.broadcast_to(x, (lanes, *x.shape))


def shifted(axis: Any, ndim: int) -> Any:
    """Convert an axis of one lane's value (or several, or None for all of them) to an axis of the batched array, which has ndim axes."""
    if axis is None:
        return tuple(range(1, ndim))
    if isinstance(axis, tuple):
        return tuple([shifted(one, ndim) for one in axis])
    return axis + 1 if axis >= 0 else axis


def first(x: Any, axis: int) -> Any:
    """Move this axis to the front."""
    return np.moveaxis(x, axis, 0) if axis else x


def last(x: Any, axis: int) -> Any:
    """Move the batch axis from the front to this axis."""
    return np.moveaxis(x, 0, axis) if axis else x


def element(x: Any) -> Any:
    """Return a value with the dtype and shape of one lane; its content does not matter."""
    return np.empty(x.shape[1:], x.dtype) if x.ndim > 1 else x.dtype.type(0)


def none_of(likes: Any) -> Any:
    """Return an empty batch (zero lanes) of values with the shape and common dtype of likes, (shape, dtype) pairs; None if their shapes differ."""
    shapes = {shape for shape, _ in likes}
    return np.empty((0, *shapes.pop()), np.result_type(*[dtype for _, dtype in likes])) if len(shapes) == 1 else None


def like(x: Any) -> tuple[tuple[int, ...], Any]:
    """Return the shape and the dtype of a known value."""
    found = np.asarray(x)
    return found.shape, found.dtype


def empty_of(shape: tuple[int, ...], dtype: str) -> Any:
    """Return an uninitialized array of this shape and dtype."""
    return np.empty(shape, dtype)


def shaped(x: Any, shape: tuple[int, ...]) -> Any:
    """Return x reshaped to shape, which is known to be its shape."""
    return np.reshape(x, shape)


def begun(lanes: int, x: Any) -> Any:
    """Allocate a batch of values like x, and store x in the first lane."""
    x = np.asarray(x)
    out = np.empty((lanes, *x.shape), x.dtype)
    out[0] = x
    return out


def gone_on(out: Any, k: int, x: Any) -> Any:
    """Store x in lane k of a batch; the batch is cast to a wider dtype where x requires it. ValueError if the shapes differ."""
    x = np.asarray(x)
    if x.shape != out.shape[1:]:
        raise ValueError(f"hovis.vmap: results of different shapes can't be put together: {out.shape[1:]} and {x.shape}")
    if x.dtype.str != out.dtype.str:
        out = out.astype(np.result_type(out.dtype, x.dtype))
    out[k] = x
    return out


def copied(x: Any) -> Any:
    """Return a copy of the lanes."""
    return x.copy()


def own(lanes: int, x: Any, dtype: Any = None) -> Any:
    """Return a new array with a copy of x in each lane."""
    x = np.asarray(x, dtype)
    return np.broadcast_to(x, (lanes, *x.shape)).copy()


#: The flag of a batched operand that is a Python number in each lane.
NUMBER: Final = "number"


def lane_by_lane(lanes: int, fn: Any, which: Any, dtype: str, /, *args: Any, **named: Any) -> Any:
    """Call fn for one lane after the other, and collect the results in an array."""
    flags, by_name = which
    found = []
    for k in range(lanes):
        ours = [of_lane(x, flag, k) for x, flag in zip(args, flags, strict=True)]
        others = {name: of_lane(x, flag, k) for (name, x), flag in zip(named.items(), by_name, strict=True)}
        found.append(fn(*ours, **others))
    return np.array(found, dtype)


def of_lane(x: Any, flag: Any, k: int) -> Any:
    """Return the value of x in lane k."""
    if isinstance(flag, tuple):
        return tuple([of_lane(part, one, k) for part, one in zip(x, flag, strict=True)])
    if flag == NUMBER:
        return x[k].item()
    return x[k] if flag else x


def _exact(fn: Any) -> Any:
    """Make the row of a division of Python's numbers, which raises ZeroDivisionError if any lane divides by zero."""
    message = DIVISIONS[fn]

    def rule(lanes: int, which: tuple[bool, ...], a: Any, b: Any) -> Any:
        if np.any(b == 0) if which[1] else b == 0:
            raise ZeroDivisionError(message)
        return fn(a, b)

    return rule


def _whole(fn: Any) -> Any:
    """Make the row of a sum, difference or product of Python's numbers: an int result must fit into 64 bits."""

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
    """Does an operator behave differently on Python's numbers than on NumPy's?"""
    return fn in _OF_PYTHON


def of_python(fn: Any) -> Any:
    """Return the row of an operator for results that are Python numbers; None if it has no row."""
    return _OF_PYTHON.get(fn)


def fitted(x: Any, dtype: str) -> Any:
    """Convert Python numbers to the dtype of the NumPy numbers that they are combined with; OverflowError if they do not fit into an integer
    dtype, ValueError for NaN.
    """
    x = np.asarray(x)
    if np.dtype(dtype).kind in "iu" and x.dtype.kind in "iuf":
        if x.dtype.kind == "f" and np.any(np.isnan(x)):
            raise ValueError("cannot convert float NaN to integer")
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        if np.any((np.trunc(x) < least) | (np.trunc(x) >= float(most) + 1.0) if x.dtype.kind == "f" else (x < least) | (x > most)):
            raise OverflowError("Python integer out of bounds for " + dtype)
    return x.astype(dtype)


# ------------------------------------------------------------------------------------------------- masks

#: Makes the placeholder for a value that no lane has computed.
ZEROS: Final = np.zeros


def everyone(lanes: int) -> Any:
    """Return the mask of all lanes."""
    return np.ones(lanes, np.bool_)


def truths(cond: Any) -> Any:
    """Return the mask of the lanes for which a condition holds."""
    return cond if cond.dtype.kind == "b" else cond.astype(np.bool_)


def added_to(mask: Any, more: Any) -> Any:
    """Return the union of two masks."""
    return np.logical_or(mask, more)


def nobody(lanes: int) -> Any:
    """Return the mask with no lanes."""
    return np.zeros(lanes, np.bool_)


def some(mask: Any) -> bool:
    """Does the mask contain any lane?"""
    return bool(np.any(mask))


def together(mask: Any, cond: Any) -> Any:
    """Return the lanes of the mask for which a condition holds."""
    return np.logical_and(mask, cond)


def without(mask: Any, cond: Any) -> Any:
    """Return the lanes of the mask for which a condition does not hold."""
    return np.logical_and(mask, np.logical_not(cond))


def chosen(lanes: int, mask: Any) -> Any:
    """Return, for each lane, the lane whose values it takes: its own if it is in the mask, else the first lane in the mask."""
    return np.where(mask, np.arange(lanes), np.argmax(mask))


#: The cost of a loop iteration under masks; of an iteration of one lane alone, on numbers and on arrays; and the cost that masks may waste.
COST: Final = 100
OF_NUMBERS: Final = 1
OF_ARRAYS: Final = 30
CREDIT: Final = 3000


def paid(credit: int, mask: Any, alone: int) -> int:
    """Return the credit left after an iteration under masks: it costs COST, and earns ``alone`` for each lane in the mask."""
    return credit + int(np.count_nonzero(mask)) * alone - COST


def is_spent(credit: int) -> bool:
    """Is the credit used up?"""
    return credit < 0


def of_active(x: Any, follows: Any) -> Any:
    """Gather, for each lane, the value of the lane that it follows."""
    return x[follows]


def either(mask: Any, x: Any, old: Any) -> Any:
    """Select x in the lanes of the mask (x may be equal in all lanes), and the old value in the others."""
    return np.where(mask if old.ndim == 1 else np.reshape(mask, mask.shape + (1,) * (old.ndim - 1)), x, old)
