"""Rules for functions that move elements without computing with them: reshape, transpose, stack, …

Many results are views.  The result types do not contain this: arrays may always share memory.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from hovis.ir.model import Effect
from hovis.lattice import AbstractValue, Array, Const, Partial, Type
from hovis.lattice.inspection import is_a
from hovis.library.core import Primitive
from hovis.library.numpy.types import shapes
from hovis.library.numpy.types.arrays import array_of, ask, asking, concerns, dtype_of, is_array, is_numeric, python_number, rank_of, row
from hovis.library.numpy.types.shapes import DimsRule, Facts, Shape, constant, for_engine


def shape_rank(t: AbstractValue | None) -> int | None:
    """Return the number of dimensions that a shape argument (a number, or a tuple or list of numbers) asks for; None if it is not known."""
    if t is None:
        return None
    if isinstance(t, Partial) and t.cls in (tuple, list):
        return len(t.parts)
    if isinstance(t, Const):
        if is_a(t.value, tuple):
            return len(t.value)
        return 1 if is_a(t.value, int | np.integer) else None
    dtype = dtype_of(t)
    return 1 if python_number(t) is int or (dtype is not None and dtype.kind in "iu" and not is_array(t)) else None


def shape_of(facts: Facts | None) -> Shape | None:
    """Return the dimensions that a shape argument asks for; None if they are not known."""
    if facts is None:
        return None
    if facts.parts is not None:
        return tuple(p.value if p.known else None for p in facts.parts)
    if not facts.known:
        return None
    value = facts.value if is_a(facts.value, tuple) else (facts.value,)
    return value if all(isinstance(d, int) for d in value) else None


# ------------------------------------------------------------------------------------------------- reshape


def _reshape(x: AbstractValue, *shape: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
    dtype = dtype_of(x)
    if dtype is None or not set(named) <= {"shape", "order"} or ("shape" in named and shape) or not isinstance(named.get("order", Const("C")), Const):
        return None
    if len(shape) > 1:
        rank: int | None = len(shape) if all(shape_rank(t) == 1 for t in shape) else None
    else:
        rank = shape_rank(shape[0] if shape else named.get("shape"))
    return None if rank is None else array_of(dtype, rank)


def _reshape_function(a: AbstractValue, shape: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
    return _reshape(a, shape, **named) if "shape" not in named and set(named) <= {"order"} else None


def in_shape(array: Any, shape: Any) -> Any:
    """Return the array after ``array.shape = shape``, where no other reference to it exists: a view. NumPy raises if no view is possible.

    >>> in_shape(np.arange(4), (2, 2)).tolist()
    [[0, 1], [2, 3]]
    """
    found = array.view()
    found.shape = shape
    return found


def _reshape_dims(x: Facts, *shape: Facts, **named: Facts) -> Shape | None:
    if len(shape) > 1:
        new: Shape | None = tuple(s.value if is_a(s.value, int) else None for s in shape)
    else:
        new = shape_of(shape[0] if shape else named.get("shape"))
    return None if new is None else shapes.reshaped(x.dims, new)


def _flat_dims(x: Facts, *rest: Facts, **named: Facts) -> Shape | None:
    if x.dims is None:
        return None
    return x.dims if len(x.dims) == 1 else (shapes.product(x.dims),)


# ------------------------------------------------------------------------------------------------- axes


def _transpose_dims(x: Facts, *axes: Facts, **named: Facts) -> Shape | None:
    if x.dims is None:
        return None
    order = constant(axes[0] if axes else named.get("axes"))
    if len(axes) > 1:
        order = tuple(a.value for a in axes)
    if order is None:
        return x.dims[::-1]
    found = shapes.normalize_axes(order, len(x.dims)) if isinstance(order, tuple) else None
    return None if found is None or sorted(found) != list(range(len(x.dims))) else tuple(x.dims[k] for k in found)


def _swapaxes_dims(x: Facts, a: Facts, b: Facts) -> Shape | None:
    axes = shapes.normalize_axes((a.value, b.value), len(x.dims)) if x.dims is not None else None
    if axes is None or x.dims is None:
        return None
    moved = list(x.dims)
    moved[axes[0]], moved[axes[1]] = moved[axes[1]], moved[axes[0]]
    return tuple(moved)


def _expand_dims(a: Facts, axis: Facts) -> Shape | None:
    if a.dims is None or not axis.known:
        return None
    axes = axis.value if is_a(axis.value, tuple) else (axis.value,)
    found = shapes.normalize_axes(axes, len(a.dims) + len(axes))
    if found is None:
        return None
    rest = iter(a.dims)
    return tuple(1 if k in found else next(rest) for k in range(len(a.dims) + len(axes)))


def _squeeze(x: AbstractValue, *rest: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
    """The rule of ``np.squeeze``. Without an axis the rank of the result depends on the dimensions, and None is returned."""
    axis = rest[0] if rest else named.get("axis")
    if not is_array(x) or not isinstance(axis, Const) or axis.value is None:
        return None
    count = len(axis.value) if is_a(axis.value, tuple) else 1
    dtype = dtype_of(x)
    return array_of(dtype, rank_of(x) - count) if dtype is not None and count <= rank_of(x) else None


def _squeeze_dims(x: Facts, *rest: Facts, **named: Facts) -> Shape | None:
    axis = constant(rest[0] if rest else named.get("axis"))
    return None if x.dims is None or axis is None else shapes.reduced(x.dims, axis, False)


def _broadcast_to(array: AbstractValue, shape: AbstractValue) -> AbstractValue | None:
    rank, dtype = shape_rank(shape), dtype_of(array)
    number = python_number(array)
    if dtype is None and number in (bool, float, complex):  # for an int, the dtype depends on its magnitude
        dtype = np.dtype(number)
    return None if rank is None or dtype is None else array_of(dtype, rank)


# ------------------------------------------------------------------------------------------------- joining


def _common(types: Sequence[AbstractValue]) -> "np.dtype[Any] | None":
    try:
        return np.result_type(*(d if d is not None else python_number(t) for t, d in zip(types, map(dtype_of, types), strict=True)))
    except (TypeError, ValueError):
        return None


def _parts(t: AbstractValue) -> tuple[AbstractValue, ...] | None:
    if isinstance(t, Partial) and t.cls in (tuple, list):
        return t.parts
    if isinstance(t, Const) and is_a(t.value, tuple):
        return tuple(map(Const, t.value))
    return None


def _joining(fn: Callable[..., object]) -> Callable[..., AbstractValue | None]:
    def result(items: AbstractValue, *rest: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
        parts = _parts(items)
        if not parts or not concerns(*parts) or not set(named) <= {"axis"} or len(rest) > 1:
            return None
        # two stand-ins determine the rank; the dtype depends on every part
        dtype = _common(parts)
        found = ask(fn, Partial(tuple, range(2), (parts[0], parts[-1])), *rest, **named)
        return None if dtype is None or found is None or len({rank_of(p) for p in parts}) > 1 else array_of(dtype, rank_of(found))

    return result


def _part_dims(items: Facts) -> list[Shape] | None:
    parts = items.parts
    if not parts or any(p.dims is None for p in parts):
        return None
    return [p.dims for p in parts if p.dims is not None]


def _concatenate_dims(items: Facts, axis: Facts | None = None) -> Shape | None:
    return _end_to_end(_part_dims(items), constant(axis, 0))


def _end_to_end(dims: list[Shape] | None, at: Any) -> Shape | None:
    """Return the shape of parts with these dimensions, joined along axis ``at``."""
    if not dims or len(set(map(len, dims))) > 1 or not isinstance(at, int) or not -len(dims[0]) <= at < len(dims[0]):
        return None
    at %= len(dims[0])
    lengths = [d[at] for d in dims]
    total = sum(lengths) if all(isinstance(n, int) for n in lengths) else None
    return (*dims[0][:at], total, *dims[0][at + 1 :])


#: function -> (change of the dimensions of each part before the parts are joined, the axis along which they are joined; None: the first or second)
_STACKS: Final[dict[Any, tuple[Callable[[Shape], Shape], int | None]]] = {
    np.hstack: (lambda d: d or (1,), None),
    np.vstack: (lambda d: (1, *d) if len(d) == 1 else d or (1, 1), 0),
    np.column_stack: (lambda d: (*d, 1) if len(d) == 1 else d or (1, 1), 1),
    np.dstack: (lambda d: d if len(d) > 2 else (*d, 1) if len(d) == 2 else (1, *(d or (1,)), 1), 2),
}


def _stacked_dims(fn: Any) -> DimsRule:
    promote, axis = _STACKS[fn]

    def rule(items: Facts) -> Shape | None:
        parts = _part_dims(items)
        made = None if parts is None else [promote(d) for d in parts]
        return _end_to_end(made, axis if axis is not None or not made else min(len(made[0]) - 1, 1))

    return rule


def _stack_dims(items: Facts, axis: Facts | None = None) -> Shape | None:
    dims, at = _part_dims(items), constant(axis, 0)
    if dims is None or not isinstance(at, int) or not -len(dims[0]) - 1 <= at <= len(dims[0]):
        return None
    at %= len(dims[0]) + 1
    return (*dims[0][:at], len(dims), *dims[0][at:])


# ------------------------------------------------------------------------------------------------- other functions


def _like(x: AbstractValue, *rest: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
    """The rule of a result with the dtype and rank of x."""
    dtype = dtype_of(x)
    return None if dtype is None or not is_array(x) else array_of(dtype, rank_of(x))


def _diagonal(x: AbstractValue, *rest: AbstractValue) -> AbstractValue | None:
    dtype = dtype_of(x)
    if dtype is None or rank_of(x) not in (1, 2):
        return None
    return array_of(dtype, 3 - rank_of(x))


def _repeat(a: AbstractValue, repeats: AbstractValue, *rest: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
    axis = rest[0] if rest else named.get("axis", Const(None))
    dtype = dtype_of(a)
    if dtype is None or not is_array(a) or not isinstance(axis, Const):
        return None
    return array_of(dtype, 1 if axis.value is None else rank_of(a))


def _tile(a: AbstractValue, reps: AbstractValue) -> AbstractValue | None:
    rank, dtype = shape_rank(reps), dtype_of(a)
    return None if rank is None or dtype is None else array_of(dtype, max(rank, rank_of(a)))


def _keeps(x: Facts, *rest: Facts, **named: Facts) -> Shape | None:
    return x.dims


def _shape(x: AbstractValue) -> AbstractValue | None:
    if is_array(x):
        return Partial(tuple, range(rank_of(x)), [Type(int)] * rank_of(x))
    return Const(()) if is_numeric(x) else None


def _counted(of_number: int) -> Any:
    """Make the rule of ``np.ndim`` and ``np.size``, whose result for a number is the constant of_number."""
    return lambda x, *rest: _number(x) or (Const(of_number) if is_numeric(x) and not rest else None)


def _number(x: AbstractValue, *rest: AbstractValue) -> AbstractValue | None:
    return Type(int) if is_array(x) else None


def _length(x: AbstractValue) -> AbstractValue | None:
    return Type(int) if is_array(x) and rank_of(x) else None


def _nothing(x: AbstractValue, *rest: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
    return Type(type(None)) if is_array(x) else None


def _fresh(x: AbstractValue, *rest: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
    dtype = dtype_of(x)
    return None if dtype is None or set(named) - {"order"} or rest else Array(np.ndarray, dtype, rank_of(x))


def _contiguous(x: AbstractValue, *rest: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
    """The rule of ``np.ascontiguousarray``: the array itself or a copy, with at least one dimension."""
    dtype = dtype_of(x)
    return None if dtype is None or named or rest else Array(np.ndarray, dtype, max(rank_of(x), 1))


_FLAT: Final[list[Any]] = [np.ravel, np.ndarray.ravel, np.ndarray.flatten]

_AXES: Final[list[tuple[Any, Any]]] = [
    (np.transpose, _transpose_dims),
    (np.ndarray.transpose, _transpose_dims),
    (np.swapaxes, _swapaxes_dims),
    (np.ndarray.swapaxes, _swapaxes_dims),
]


def _moved_dims(fn: Callable[..., Any]) -> Callable[..., Shape | None]:
    """Make the dims rule of a function that permutes axes; the order is found by applying it to an array with length k along axis k."""

    def rule(a: Facts, *axes: Facts, **named: Facts) -> Shape | None:
        known = [constant(axis) for axis in (*axes, *named.values())]
        if a.dims is None or any(axis is None for axis in known):
            return None
        try:
            order = fn(np.empty(tuple(range(len(a.dims)))), *known[: len(axes)], **dict(zip(named, known[len(axes) :], strict=True))).shape
        except (TypeError, ValueError):
            return None
        return tuple([a.dims[k] for k in order])

    return rule


def _triangle(a: Facts, *k: Facts, **named: Facts) -> Shape | None:
    """The dims rule of ``np.tril`` and ``np.triu``: a vector becomes the rows of a square matrix."""
    return a.dims * 2 if a.dims is not None and len(a.dims) == 1 else a.dims


ROWS: Final[list[Primitive]] = [
    row(np.reshape, _reshape_function, dims=for_engine(_reshape_dims)),
    row(np.ndarray.reshape, _reshape, dims=for_engine(_reshape_dims)),
    row(in_shape, _reshape_function, fold=False, dims=for_engine(_reshape_dims)),
    *(row(fn, asking(fn), dims=for_engine(_flat_dims)) for fn in _FLAT),
    *(row(fn, asking(fn), dims=for_engine(dims)) for fn, dims in _AXES),
    *(row(fn, asking(fn), dims=for_engine(_moved_dims(fn))) for fn in (np.moveaxis, np.rollaxis)),
    *(row(fn, asking(fn)) for fn in (np.atleast_1d, np.atleast_2d)),
    row(np.expand_dims, asking(np.expand_dims), dims=for_engine(_expand_dims)),
    *(row(fn, _squeeze, dims=for_engine(_squeeze_dims)) for fn in (np.squeeze, np.ndarray.squeeze)),
    row(np.broadcast_to, _broadcast_to, dims=for_engine(lambda array, shape: shape_of(shape))),
    row(np.concatenate, _joining(np.concatenate), dims=for_engine(_concatenate_dims)),
    row(np.stack, _joining(np.stack), dims=for_engine(_stack_dims)),
    *(row(fn, _joining(fn), dims=for_engine(_stacked_dims(fn))) for fn in _STACKS),
    *(row(fn, asking(fn), dims=for_engine(_keeps)) for fn in (np.flip, np.flipud, np.fliplr)),
    row(np.rot90, asking(np.rot90)),
    *(row(fn, asking(fn), dims=for_engine(_triangle)) for fn in (np.tril, np.triu)),
    row(np.roll, _like, dims=for_engine(_keeps)),
    *(row(fn, _repeat) for fn in (np.repeat, np.ndarray.repeat)),
    row(np.tile, _tile),
    row(np.diag, _diagonal),
    *(row(fn, _fresh, dims=for_engine(_keeps)) for fn in (np.copy, np.ndarray.copy)),
    row(np.ascontiguousarray, _contiguous, dims=for_engine(lambda a, *rest, **named: (1,) if a.dims == () else a.dims)),
    row(np.shape, _shape, Effect.PURE),
    row(np.ndim, _counted(0), Effect.PURE),
    row(np.size, _counted(1), Effect.PURE),
    row(len, _length, Effect.PURE),
    row(operator.length_hint, _length, Effect.PURE),
    *(row(fn, _nothing, Effect.WRITES | Effect.READS | Effect.RAISES, fold=False) for fn in (np.ndarray.fill, np.ndarray.sort)),
]
