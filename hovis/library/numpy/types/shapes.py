"""Dimensions of results, as pure functions on tuples.

A dimension is an ``int``, or an opaque object that stands for an unknown number: it is passed through and compared by
identity, but there is no arithmetic on it.  ``None`` for a dimension, or for a whole shape, means that nothing is known.
A rule gets one :class:`Facts` per argument.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from hovis.base import interrupts
from hovis.base.warning_filters import warnings_are
from hovis.engine.state.values import Dyn, Known, V
from hovis.lattice import AbstractValue, Array, Partial, Type
from hovis.lattice.inspection import is_a

#: int, an opaque object, or None.
Dim = Any
Shape = tuple[Dim, ...]


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


#: The value of an argument that is not a constant.
UNKNOWN: Final = _Unknown()


@dataclass(slots=True)
class Facts:
    """The knowledge of a dims rule about one argument. ``parts`` are the Facts of the items of a tuple or list."""

    type: AbstractValue
    dims: Shape | None = None
    value: Any = UNKNOWN
    parts: "tuple[Facts, ...] | None" = None

    @property
    def known(self) -> bool:
        return self.value is not UNKNOWN


DimsRule = Callable[..., "Shape | None"]


def same(a: Dim, b: Dim) -> bool:
    """Are two dimensions certainly equal?"""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    return a is not None and a is b


def broadcast_dim(a: Dim, b: Dim) -> Dim:
    """Return one dimension of a broadcast: that of both if they are equal, or the one that is not 1; None if it is not known.

    >>> broadcast_dim(1, 4), broadcast_dim("n", 1), broadcast_dim("n", "m")
    (4, 'n', None)
    """
    if same(a, b) or (isinstance(b, int) and b == 1):
        return a
    if isinstance(a, int) and a == 1:
        return b
    # a known dimension other than 1 wins over an unknown one, which can only be 1 or equal to it
    if isinstance(a, int) and not isinstance(b, int):
        return a
    if isinstance(b, int) and not isinstance(a, int):
        return b
    return None


def broadcast(*shapes: Shape | None) -> Shape | None:
    """Return the shape of an elementwise result.

    >>> broadcast((3, 1), (4,)), broadcast((), ("n",))
    ((3, 4), ('n',))
    """
    if None in shapes:
        return None
    if shapes and shapes.count(shapes[0]) == len(shapes):
        return shapes[0]
    known = [s for s in shapes if s is not None]
    rank = max((len(s) for s in known), default=0)
    result: Shape = (1,) * rank
    for s in known:
        padded = (1,) * (rank - len(s)) + s
        result = tuple(map(broadcast_dim, result, padded))
    return result


def normalize_axes(axis: Any, rank: int) -> tuple[int, ...] | None:
    """Return axis as a tuple of nonnegative axes; an axis of None means all. None if an axis is out of range or not an int."""
    if axis is None:
        return tuple(range(rank))
    axes = axis if isinstance(axis, tuple) else (axis,)
    if not all(isinstance(a, int) and -rank <= a < rank for a in axes):
        return None
    return tuple(a % rank for a in axes)


def reduced(shape: Shape, axis: Any, keepdims: bool) -> Shape | None:
    """Return the shape after a reduction.

    >>> reduced((3, "n"), 0, False), reduced((3, "n"), None, True)
    (('n',), (1, 1))
    """
    axes = normalize_axes(axis, len(shape))
    if axes is None:
        return None
    if keepdims:
        return tuple(1 if k in axes else d for k, d in enumerate(shape))
    return tuple(d for k, d in enumerate(shape) if k not in axes)


def matmul(a: Shape, b: Shape) -> Shape | None:
    """Return the shape of ``a @ b``.

    >>> matmul((2, 3), (3,)), matmul(("n", 2, 3), (3, 4))
    ((2,), ('n', 2, 4))
    """
    if not a or not b:
        return None
    if len(a) == 1 and len(b) == 1:
        return ()
    batch = broadcast(a[:-2], b[:-2])
    if batch is None:
        return None
    return batch + (a[-2:-1] if len(a) > 1 else ()) + (b[-1:] if len(b) > 1 else ())


def dot(a: Shape, b: Shape) -> Shape | None:
    """Return the shape of ``np.dot(a, b)``, which for more than two dimensions differs from that of ``a @ b``."""
    if not a or not b:
        return a or b
    return a[:-1] + b[:-2] + (b[-1:] if len(b) > 1 else ())


def product(shape: Shape) -> int | None:
    """Return the number of elements, or None if a dimension is unknown."""
    total = 1
    for d in shape:
        if not isinstance(d, int):
            return None
        total *= d
    return total


def reshaped(shape: Shape | None, new: Sequence[Dim]) -> Shape | None:
    """Return the shape after ``reshape(new)``; a -1 is computed if all other dimensions are known."""
    if -1 not in [d for d in new if isinstance(d, int)]:
        return tuple(new)
    if shape is None:
        return tuple(None if isinstance(d, int) and d == -1 else d for d in new)
    others = product(tuple(d for d in new if not (isinstance(d, int) and d == -1)))
    total = product(shape)
    missing = total // others if total is not None and others else None
    return tuple(missing if isinstance(d, int) and d == -1 else d for d in new)


class Picking(NamedTuple):
    """An index array with these dimensions, as an item of an index; a mask takes several axes of the indexed array."""

    dims: Shape
    axes: int = 1


def indexed(shape: Shape, index: tuple[Any, ...]) -> Shape | None:
    """Return the shape of ``a[index]``; any object that is not a slice, None, Ellipsis or Picking stands for an unknown integer.

    The axes of several index arrays come at the position of the first of them, or first of all if the arrays are not adjacent.

    >>> indexed((3, 4, "n"), (0, slice(1, None))), indexed((3,), (None, Ellipsis))
    ((3, 'n'), (1, 3))
    >>> indexed((3, 4, "n"), (slice(None), Picking((2, 5)), 0)), indexed((3, 4), (Picking((2,)), None, Picking((2,))))
    ((3, 2, 5), (2, 1))
    """
    picks = [k for k, i in enumerate(index) if isinstance(i, Picking)]
    if picks:
        # beside an index array, an integer counts as an index array as well
        index = tuple(i if i is None or i is Ellipsis or isinstance(i, slice | Picking) else Picking(()) for i in index)
        picks = [k for k, i in enumerate(index) if isinstance(i, Picking)]
    spent = sum(i.axes if isinstance(i, Picking) else 1 for i in index if i is not None and i is not Ellipsis)
    if spent > len(shape):
        return None
    picked = broadcast(*(index[k].dims for k in picks)) or ()
    together = picks == list(range(picks[0], picks[-1] + 1)) if picks else True
    result: list[Dim] = [] if together else [*picked]
    at = 0
    for k, i in enumerate(index):
        if isinstance(i, Picking):
            if together and k == picks[0]:
                result += picked
            at += i.axes
        elif i is None:
            result.append(1)
        elif i is Ellipsis:
            skip = len(shape) - spent
            result += shape[at : at + skip]
            at += skip
        else:
            if isinstance(i, slice):
                result.append(_sliced(shape[at], i))
            at += 1
    return tuple(result) + shape[at:]


def _sliced(dim: Dim, s: slice) -> Dim:
    if s == slice(None):
        return dim
    if isinstance(dim, int) and all(v is None or isinstance(v, int) for v in (s.start, s.stop, s.step)) and s.step != 0:
        return len(range(*s.indices(dim)))
    return None


# ------------------------------------------------------------------------------------------------- interface to the engine


def facts(m: Any, value: V) -> Facts:
    """Return the Facts of an engine value."""
    type_ = m.type_of(value)
    if isinstance(value, Known):
        found = value.value
        shape = getattr(found, "shape", None)
        return Facts(type_, tuple(shape) if isinstance(shape, tuple) else (), found)
    if isinstance(value, Dyn):
        dims = value.dims
        if dims is None:
            return Facts(type_, None if getattr(type_, "rank", 0) else ())
        return Facts(type_, tuple(d.value if isinstance(d, Known) else d for d in dims))
    made = m.obj(value, "tuple", "list", "slice")
    if made is None:
        return Facts(type_)
    parts = tuple(facts(m, cell) for cell in made.cells)
    if made.kind == "slice":
        return Facts(type_, None, slice(*(p.value for p in parts)) if all(p.known for p in parts) else UNKNOWN)
    return Facts(type_, None, tuple(p.value for p in parts) if made.kind == "tuple" and all(p.known for p in parts) else UNKNOWN, parts)


def for_engine(rule: DimsRule) -> Callable[[Any, Sequence[V], dict[str, V]], "tuple[V | None, ...] | None"]:
    """Wrap the rule as a ``Primitive.dims``: (machine, arguments, keyword arguments) → dimensions, each an engine value."""

    def dims(m: Any, args: Sequence[V], kwargs: dict[str, V]) -> tuple[V | None, ...] | None:
        try:
            shape = rule(*[facts(m, a) for a in args], **{name: facts(m, v) for name, v in kwargs.items()})
        except TypeError:
            return None
        if not shape:
            return None
        return tuple(Known(int(d)) if isinstance(d, int) else d if isinstance(d, Known | Dyn) else None for d in shape)

    dims.rule = rule  # type: ignore[attr-defined]
    return dims


#: The most elements of the arrays of zeros on which functions are called to find the shapes of their results.
MOST_ASKED: Final = 1 << 14


def asked(fn: Callable[..., Any], args: Sequence[Facts], named: Mapping[str, Facts]) -> Shape | None:
    """Return the shape of ``fn(*args)``, by calling fn on zeros with these shapes; only for functions whose result shape does not depend on
    values.
    """
    found = sampled(fn, args, named)
    return found.shape if type(found) is np.ndarray else None


def sampled(fn: Callable[..., Any], args: Sequence[Facts], named: Mapping[str, Facts]) -> Any:
    """Return the result of fn on zeros with these shapes, or None if the arguments are not known well enough or fn raises."""
    try:
        given = [_sample(a) for a in args]
        options = {name: _sample(a) for name, a in named.items()}
        with np.errstate(all="ignore"), warnings_are("ignore"):
            return fn(*given, **options)
    except Exception as error:
        interrupts.let_through(error)
        return None


class _Unasked(Exception):
    pass


def _sample(a: Facts) -> Any:
    if isinstance(a.type, Array):
        if a.dims is None or not all(isinstance(d, int) for d in a.dims) or math.prod(a.dims) > MOST_ASKED:
            raise _Unasked
        return np.zeros(a.dims, a.type.dtype)
    if a.parts is not None:
        parts = map(_sample, a.parts)
        return list(parts) if isinstance(a.type, Partial) and a.type.cls is list else tuple(parts)
    if isinstance(a.type, Type) and issubclass(a.type.cls, float | complex | np.inexact):
        return a.type.cls(1)  # no shape depends on a float
    if not a.known or (is_a(a.value, np.ndarray) and a.value.size > MOST_ASKED) or (is_a(a.value, int) and abs(a.value) > MOST_ASKED):
        raise _Unasked
    return a.value


def constant(facts: Facts | None, default: Any = None) -> Any:
    """Return the known value of an optional argument, default if it is absent, or UNKNOWN if it is present but not known."""
    return default if facts is None else facts.value
