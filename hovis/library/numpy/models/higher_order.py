"""NumPy functions that call user functions, and ``np.fromiter``, as Python models that the engine traces through.

They make the same calls as NumPy, in the same order, and the same stores; if something that determines these is not known, NumPy's function is called.
"""

from typing import Any, Final

import numpy as np

from hovis.engine.state.heap import VObj
from hovis.engine.state.values import Dyn, Known, V
from hovis.ir import operations
from hovis.library.core import Action
from hovis.library.numpy.types.arrays import is_array, rank_of
from hovis.library.virtual.base import pushed

END: Final[Any] = operations.END

# ------------------------------------------------------------------------------------------------- models


def piecewise(x: Any, conditions: Any, functions: Any, *args: Any, **named: Any) -> Any:
    count = len(conditions)
    if count == len(functions) - 1:
        met = conditions[0]
        for condition in conditions[1:]:
            met = met | condition
        conditions = [*conditions, ~met]
    elif count != len(functions):
        raise ValueError(f"with {count} condition(s), either {count} or {count + 1} functions are expected")
    y = np.zeros_like(x)
    for condition, function in zip(conditions, functions, strict=True):
        if not callable(function):
            y[condition] = function
        else:
            values = x[condition]
            if values.size > 0:
                y[condition] = function(values, *args, **named)
    return y


def apply_along_rows(function: Any, last: bool, a: Any, *args: Any, **named: Any) -> Any:
    """``np.apply_along_axis`` of a matrix with at least one row."""
    rows = a if last else a.T
    first = np.asanyarray(function(rows[0], *args, **named))
    shape = (len(rows), *first.shape)
    found = np.zeros(shape, first.dtype) if type(first) is np.ndarray or isinstance(first, np.matrix) else np.zeros_like(first, shape=shape)
    found[0] = first
    for k in range(1, len(rows)):
        found[k] = np.asanyarray(function(rows[k], *args, **named))
    return found if last or first.ndim == 0 else np.moveaxis(found, 0, -1)


def from_so_many(iterable: Any, dtype: Any, count: int) -> Any:
    """``np.fromiter`` with a known count."""
    made = np.zeros(count, dtype)
    iterator = iter(iterable)
    for k in range(count):
        item = next(iterator, END)
        if item is END:
            raise ValueError(f"iterator too short: Expected {count} but iterator had only {k} items.")
        made[k] = _as_item(item, made.dtype)
    return made


def _as_item(item: Any, dtype: Any) -> Any:
    """Convert an item for an array of this dtype: a number (array scalars included) by ``int`` or ``bool`` where the dtype is one of ints or
    bools; the array itself converts any other object.
    """
    if not isinstance(item, _NUMBERS):
        made = np.zeros(1, dtype)
        made[0] = item
        return made[0]
    return bool(item) if dtype.kind == "b" else int(item) if dtype.kind in "iu" else item


_NUMBERS: Final = (int, float, np.floating, np.integer, np.bool_)


def from_all(iterable: Any, dtype: Any) -> Any:
    items = []
    kind = np.dtype(dtype)
    for item in iterable:
        items.append(_as_item(item, kind))
    return np.array(items, dtype)


#: Conversion of an object to an element of an array, by the character of the dtype (``int`` converts a float that is stored in an array of ints).
_CONVERTED: Final[dict[str, Any]] = {"?": bool, **dict.fromkeys("bhilqBHILQ", int), **dict.fromkeys("efd", float), **dict.fromkeys("FD", complex)}


def vectorized(self: Any, func: Any, args: Any) -> Any:
    """``np.vectorize`` of arrays of one shape, and numbers. Without otypes the function is called for the first elements, and then for all."""
    if self.signature is not None:
        return self._vectorize_call_with_signature(func, args)
    outputs = END
    if self.otypes is not None:
        kinds = [np.dtype(kind) for kind in self.otypes]
    else:
        outputs = func(*[a[(0,) * a.ndim] if isinstance(a, np.ndarray) else np.asarray(a)[()] for a in args])
        parts = outputs if isinstance(outputs, tuple) else (outputs,)
        kinds = [np.asarray(part).dtype for part in parts]
    if outputs is not END and self.cache:
        func = _Once(func, outputs)
    if len(kinds) != 1 or kinds[0].char not in _CONVERTED:
        found = np.frompyfunc(func, len(args), len(kinds))(*[np.asanyarray(a, dtype=object) for a in args])
        parts = tuple([np.asanyarray(x, dtype=kind.char) for x, kind in zip(found if len(kinds) > 1 else (found,), kinds, strict=True)])
        return parts if len(kinds) > 1 else parts[0]
    arrays = [a for a in args if isinstance(a, np.ndarray)]
    columns = [a.flatten() if isinstance(a, np.ndarray) else a for a in args]
    convert, made = _CONVERTED[kinds[0].char], np.zeros(arrays[0].size, kinds[0])
    for k in range(len(made)):
        made[k] = convert(func(*[column[k].item() if isinstance(column, np.ndarray) else column for column in columns]))
    return made.reshape(arrays[0].shape)


class _Once:
    """A function whose first result is already known."""

    def __init__(self, func: Any, outputs: Any) -> None:
        self.func = func
        self.outputs = [outputs]

    def __call__(self, *args: Any) -> Any:
        return self.outputs.pop() if self.outputs else self.func(*args)


# ------------------------------------------------------------------------------------------------- conditions for using the models


def _known_array(value: V, least: int = 1) -> bool:
    """Is value an array of at least ``least`` dimensions, all known and not zero?"""
    return (
        isinstance(value, Dyn) and is_array(value.type) and rank_of(value.type) >= least
        and value.dims is not None and all(isinstance(d, Known) and d.value for d in value.dims)
    )  # fmt: skip


def _piecewise(m: Any, args: list[V], kwargs: dict[str, V]) -> Any:
    if len(args) < 3 or not m.known_sizes or not _known_array(args[0]):
        return None
    x, conditions, functions, *more = args
    if _is_mask(conditions, x):
        conditions = m.new(VObj("list", list, (conditions,)))
    listed = m.obj(conditions, "list", "tuple")
    if listed is None or not listed.cells or not all(_is_mask(m.resolve(c), x) for c in listed.cells) or m.obj(functions, "list", "tuple") is None:
        return None
    return pushed(m, lambda: m.call(Known(piecewise), [x, conditions, functions, *more], kwargs))


def _is_mask(value: V, x: Any) -> bool:
    """Is value an array of bools in the shape of x?"""
    if not _known_array(value, rank_of(x.type)) or value.type.dtype != bool:  # type: ignore[union-attr]
        return False
    return [d.value for d in value.dims] == [d.value for d in x.dims]  # type: ignore[union-attr]


def _apply_along_axis(m: Any, args: list[V], kwargs: dict[str, V]) -> Any:
    if len(args) < 3 or not m.known_sizes or not _known_array(args[2], 2) or rank_of(args[2].type) != 2:  # type: ignore[union-attr]
        return None
    axis = args[1].value if isinstance(args[1], Known) else None
    if type(axis) is not int or not -2 <= axis < 2:
        return None
    m.use(args[1])
    return pushed(m, lambda: m.call(Known(apply_along_rows), [args[0], Known(axis % 2 == 1), *args[2:]], kwargs))


def _fromiter(m: Any, args: list[V], kwargs: dict[str, V]) -> Any:
    names = ("iter", "dtype", "count")
    given = dict(zip(names, args, strict=False)) | kwargs
    if not m.known_sizes or len(args) > 3 or not given.keys() <= {*names} or not given.keys() >= {"iter", "dtype"} or len(given) != len(args) + len(kwargs):
        return None
    dtype, count = m.resolve(given["dtype"]), m.resolve(given.get("count", Known(-1)))
    if not isinstance(dtype, Known) or m.class_of(count) is not int or not _is_numeric(dtype.value):
        return None
    if isinstance(count, Known) and count.value < 0:  # type: ignore[operator]
        return pushed(m, lambda: m.call(Known(from_all), [given["iter"], dtype], {}))
    return pushed(m, lambda: m.call(Known(from_so_many), [given["iter"], dtype, count], {})) if isinstance(count, Known) else None


def _is_numeric(value: object) -> bool:
    try:
        dtype = np.dtype(value)  # type: ignore[call-overload]
    except TypeError:
        return False
    return value is not None and dtype.char in _CONVERTED and bool(dtype.isnative)


def _vectorize_call(m: Any, args: list[V], kwargs: dict[str, V]) -> Any:
    if len(args) != 1 or kwargs.keys() != {"func", "args"} or not m.known_sizes:
        return None
    given = m.obj(kwargs["args"], "tuple")
    cells = [m.resolve(c) for c in given.cells] if given is not None else []
    shapes = {tuple(d.value for d in c.dims) for c in cells if _known_array(c)}
    if len(shapes) != 1 or not all(_known_array(c) or m.class_of(c) in (int, float, complex, bool) for c in cells):
        return None
    return pushed(m, lambda: m.call(Known(vectorized), [args[0], kwargs["func"], kwargs["args"]], {}))


CALLING: Final[dict[Any, Action]] = {
    np.piecewise: _piecewise, np.apply_along_axis: _apply_along_axis, np.fromiter: _fromiter,
    vars(np.vectorize)["_vectorize_call"]: _vectorize_call,
}  # fmt: skip
