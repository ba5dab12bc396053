"""The cotangents that a reverse sweep accumulates: each has exactly the type of its primal value."""

import itertools
import operator
from functools import reduce
from typing import Any, Final

import numpy as np

from hovis.errors import DerivativeError
from hovis.ir.operations import Slot, make_tuple, slot_of, tape_of
from hovis.lattice import ANY, AbstractValue, Array, Const, Partial, Type, Union, join
from hovis.lattice import Any as AnyType
from hovis.lattice.inspection import is_a
from hovis.library.numpy.adjoints.tangents import fitted, spread, zeros_like
from hovis.library.numpy.rules.manipulation import in_shape


def alike(g: Any, x: Any) -> Any:
    """Convert the cotangent g to exactly the type, shape and dtype of x; a g of None becomes zeros."""
    if g is None:
        return zero_of(x)
    if isinstance(x, np.ndarray):
        return spread(fitted(g, x), x)
    if isinstance(x, np.generic):
        return x.dtype.type(g)
    return complex(g) if isinstance(x, complex) else float(g)


def zero_of(x: Any) -> Any:
    """Return the zero of exactly the type of x."""
    return x.dtype.type(0) if isinstance(x, np.generic) else zeros_like(x)


def differentiable(kind: AbstractValue) -> bool:
    """Can a value of this type have a derivative?"""
    return cotangent_type(kind) is not None


def cotangent_type(kind: AbstractValue) -> AbstractValue | None:
    """Return the type of the cotangents of values of this type; None if they have none."""
    if isinstance(kind, Union):
        found = [one for one in map(cotangent_type, kind.members) if one is not None]
        return reduce(join, found) if found else None
    if isinstance(kind, Array):
        return Array(kind.cls, kind.dtype, kind.rank, "", kind.place) if getattr(kind.dtype, "kind", "") in ("f", "c", "O") else None
    if isinstance(kind, Const):
        return cotangent_type(Type(type(kind.value)))
    if isinstance(kind, Partial):
        return ANY
    slot = slot_of(kind)
    if slot is not None:
        return tape_of(Slot(cotangent_type(slot.type) or ANY, slot.shape))
    if isinstance(kind, Type):
        if kind.cls in (float, complex) or issubclass(kind.cls, np.inexact):
            return kind
        return None if kind.cls in _CONSTANT or issubclass(kind.cls, np.generic) else ANY
    return ANY if isinstance(kind, AnyType) else None


_CONSTANT: Final = frozenset({bool, int, str, bytes, type(None), range, slice, type})


def zero_tape(tape: Any, slot: Slot) -> Any:
    """Return a tape with a zero cotangent for each entry of another tape, whose entries are of the type of slot."""
    return [zero_of(value) if isinstance(value, float | complex | np.inexact | np.ndarray) else _nothing(slot) for value in tape or ()]


def _nothing(slot: Slot) -> Any:
    """Return the zero cotangent of a slot's type, for an entry that is not a number or an array; None if the type has no zero."""
    kinds = slot.type.members if isinstance(slot.type, Union) else (slot.type,)
    return next((zero for kind in kinds if (zero := _zero_in(kind, slot.shape)) is not None), None)


def _zero_in(kind: AbstractValue, shape: tuple[int | None, ...] | None) -> Any:
    if isinstance(kind, Array):
        return np.zeros(shape, kind.dtype) if shape is not None and None not in shape else 0.0
    return kind.cls(0) if isinstance(kind, Type) and issubclass(kind.cls, float | complex | np.inexact) else None


def placed(position: int, g: Any) -> tuple[Any, ...]:
    """Return the cotangent of a tuple of which only the item at position has a cotangent, g."""
    return (*(None,) * position, g)


def item(g: Any, position: int) -> Any:
    """Return the cotangent of an item of a tuple, given the cotangent g of the tuple; None if there is none."""
    return g[position] if g is not None and position < len(g) else None


def united(a: Any, b: Any) -> Any:
    """Add two cotangents whose structure is not known while tracing; None stands for zero."""
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, tuple) and isinstance(b, tuple):
        return tuple([united(x, y) for x, y in itertools.zip_longest(a, b)])
    return a + b


#: Arithmetic on numbers and arrays whose results are recomputed in the reverse sweep, not stored.
ARITHMETIC: Final = frozenset({
    operator.add, operator.sub, operator.mul, operator.neg, operator.truediv, np.add, np.subtract, np.multiply, np.negative, np.true_divide, np.square,
})  # fmt: skip

#: Functions that return a new array.
FRESH: Final[frozenset[Any]] = frozenset(
    {np.zeros, np.zeros_like, np.empty, np.empty_like, np.ones, np.ones_like, np.full, np.full_like, np.copy, np.ndarray.copy}
)

#: Functions that return a view of their first operand, or a copy where no view is possible.
VIEWS: Final = frozenset(
    {
        np.reshape, np.ndarray.reshape, np.ravel, np.ndarray.ravel, np.transpose, np.ndarray.transpose, np.swapaxes, np.ndarray.swapaxes, np.moveaxis,
        np.rollaxis, np.permute_dims, np.matrix_transpose, np.linalg.matrix_transpose, np.squeeze, np.ndarray.squeeze, np.expand_dims, np.asarray,
        np.asanyarray, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.flip, np.flipud, np.fliplr, np.rot90, np.ascontiguousarray, np.real, np.imag,
        in_shape,
    }
)  # fmt: skip

#: Functions of VIEWS that return a view only if called with the array alone: with another dtype it would be a copy.
ALONE: Final = frozenset({np.asarray, np.asanyarray, np.ascontiguousarray})

#: Functions of VIEWS whose result may be a copy nevertheless.
MAY_COPY: Final = frozenset({np.reshape, np.ndarray.reshape, np.ravel, np.ndarray.ravel, np.ascontiguousarray})


def is_basic(index: Any) -> bool:
    """Is index (an operand of a subscript) certainly one of NumPy's basic indices, which give a view?"""
    if isinstance(index, Const):
        parts = index.value if is_a(index.value, tuple) else (index.value,)
        return all(part is None or part is Ellipsis or isinstance(part, slice) or type(part) is int or isinstance(part, np.integer) for part in parts)
    if getattr(index, "callee", None) is make_tuple:
        return all(map(is_basic, index.args))
    kind = getattr(index, "type", None)
    return isinstance(kind, Type) and (kind.cls in (int, slice) or issubclass(kind.cls, np.integer))


#: Makes a shadow: zeros with the memory layout of the array.
shadow_of = np.zeros_like


def updated(x: Any, index: Any, value: Any) -> Any:
    """Return a copy of x with the part at index replaced by value. It stays a single op in the IR."""
    made = x.copy()
    made[index] = value
    return made


def overwritten(x: Any, index: Any) -> Any:
    """Return a copy of the part of x at index."""
    found = x[index]
    return found.copy() if isinstance(found, np.ndarray) else found


def taken(shadow: Any, index: Any) -> Any:
    """Return the part of a shadow at index, and set that part to zero."""
    found = overwritten(shadow, index)
    shadow[index] = 0.0
    return found


def may_repeat(index: Any) -> bool:
    """May an index operand name an element twice? A basic index or a mask does not, and for a known index `repeats` decides."""
    if is_basic(index):
        return False
    if isinstance(index, Const):
        return repeats(index.value)
    kind = getattr(index, "type", None)
    return not (isinstance(kind, Array) and getattr(kind.dtype, "kind", "") == "b")


def repeats(index: Any) -> bool:
    """May a known index name an element twice?"""
    parts = [np.asarray(part) for part in (index if isinstance(index, tuple) else (index,)) if isinstance(part, list | np.ndarray)]
    if not parts or (len(parts) == 1 and parts[0].dtype.kind == "b"):
        return False
    if any(part.dtype.kind not in "iu" or (part.min(initial=0) < 0 <= part.max(initial=-1)) for part in parts):
        return True
    places = np.stack([np.ravel(part) for part in np.broadcast_arrays(*parts)])
    return bool(np.unique(places, axis=1).shape[1] < places.shape[1])


def whole_to(dtype: Any) -> int:
    """Return the limit up to which a float of this dtype represents every integer exactly."""
    return int(2 / np.finfo(dtype).eps)


def taken_last(shadow: Any, index: Any, most: int) -> Any:
    """Return the parts of a shadow at index as the cotangent of the values stored there, and set these parts to zero. Where several values were
    stored in one element, the last one gets the cotangent.

    To find the last one, index numbers are stored in the shadow and read again. If floats of this dtype can represent fewer integers (most) than
    there are values, the numbers are stored digit by digit, in base most.
    """
    found = overwritten(shadow, index)
    numbers = np.arange(found.size).reshape(found.shape)
    steps = tuple([most**k for k in range(1, 4) if most**k < 2**62]) if most < 2**53 and found.size > most else ()
    for step in (1, *steps):
        digits = numbers // step % most if steps else numbers
        shadow[index] = digits
        found = np.where(shadow[index] == digits, found, zeros_like(found))
    shadow[index] = 0.0
    return found


def apart(a: Any, b: Any) -> None:
    """Raise DerivativeError if two arguments, one of which is stored into, share memory: their cotangents would share it, too."""
    if np.may_share_memory(a, b):
        raise DerivativeError("two arguments share memory, and the function stores into it: their cotangents can't be separated; pass a copy of one")


def given(shadow: Any, index: Any, g: Any) -> None:
    """Add g to the part of a shadow at index."""
    shadow[index] += g


def scatter(shadow: Any, index: Any, g: Any) -> None:
    """Add g to the parts of a shadow at index, which may name an element more than once. It stays a single op in the IR."""
    np.add.at(shadow, index, g)


def whole(shadow: Any, g: Any) -> None:
    """Add g to a shadow in place."""
    shadow += g


def replaced(shadow: Any, g: Any) -> None:
    """Overwrite all of a shadow with g."""
    shadow[...] = g


def returned(shadow: Any, part: Any, g: Any) -> None:
    """Add g to a shadow, if part, which was taken from it, turned out to be a copy."""
    if not np.shares_memory(shadow, part):
        shadow += g


def owned(g: Any) -> Any:
    """Return a copy of g that may be added to in place."""
    return g.copy() if isinstance(g, np.ndarray) else g
