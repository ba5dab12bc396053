"""Shadow memory of arrays that are stored into while a program is recorded: the cotangent of an array lies in the shadow where the array lies in
memory.

All views of one array have one *root*, the array that owns the memory.  The shadow of the root has one byte for each of its
bytes; viewed with the offset and strides of any view, it is the cotangent of that view.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

#: Converts nested lists to an array.
array: Final = np.array
#: Functions that take several arrays in a list.
OF_SEVERAL: Final = frozenset(
    {
        np.concatenate, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack, np.block, np.select, np.choose, np.linalg.multi_dot, np.ix_, np.piecewise,
        np.lexsort,
    }
)  # fmt: skip
#: ``ufunc.at``, which applies an operation to elements repeatedly; and functions that add, broadcast and flatten arrays.
AT: Final = np.ufunc.at
ADD: Final = np.add
broadcast: Final = np.broadcast_to
flattened: Final = np.ravel
#: The class whose methods replace those of NumPy scalars that have no derivative of their own.
METHODS: Final = np.ndarray


class Shadow(NamedTuple):
    """The shadow of a root: its bytes, and the address of the first byte of the root."""

    bytes: Any
    start: int


def is_array(x: object) -> bool:
    """Is x itself an array, not a stand-in for one?"""
    return issubclass(type(x), np.ndarray)


def is_scalar(x: object) -> bool:
    """Is x a NumPy scalar?"""
    return issubclass(type(x), np.generic)


def is_integer(x: object) -> bool:
    """Is x a NumPy integer?"""
    return issubclass(type(x), np.integer)


def varies(x: object) -> bool:
    """Is x a real or complex number, or an array of these?"""
    kind = type(x)
    if kind is float or kind is complex:
        return True
    if issubclass(kind, np.ndarray | np.generic):
        dtype: Any = x.dtype  # type: ignore[attr-defined]
        return dtype.kind in "fc"
    return issubclass(kind, float | complex)


def takes_lists(callee: Any) -> int:
    """Return how callee treats a list argument: as an array (1), as a list of arrays (2), or neither (0)."""
    if callee is np.array or not (isinstance(callee, np.ufunc) or str(getattr(callee, "__module__", "")).startswith("numpy")):
        return 0
    return 2 if callee in OF_SEVERAL else 1


def array_of(x: Any) -> Any:
    """Convert a list of numbers and arrays to an array."""
    return np.asarray(x)


def is_in_parts(target: Any, index: Any, value: Any) -> bool:
    """Is a list that contains parts of an array stored into that array? NumPy copies them one after the other, into a part that is a view."""
    if type(value) not in (list, tuple) or not any(isinstance(x, np.ndarray) and np.may_share_memory(x, target) for x in _leaves(value)):
        return False
    part = target[index]
    return isinstance(part, np.ndarray) and np.shares_memory(part, target) and part.shape[:1] == (len(value),)


def _leaves(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in _leaves(part)] if type(value) in (list, tuple) else [value]


def root_of(x: Any) -> Any:
    """Return the array that owns the memory of x."""
    while isinstance(base := _base_of(x), np.ndarray):
        x = base
    return x


def _base_of(x: Any) -> Any:
    """Return the array of which x is a view; ``as_strided`` puts an object in between."""
    return x.base if isinstance(x.base, np.ndarray) else getattr(x.base, "base", None)


def shadow_of(root: Any) -> Shadow:
    """Return a zeroed Shadow with as many bytes as the root spans in memory."""
    low, high = _bounds(root)
    return Shadow(np.zeros(high - low, np.uint8), low)


def seen_as(shadow: Shadow, x: Any) -> Any:
    """Return the part of the shadow that belongs to x, with the shape and strides of x: an array that may be added to in place."""
    offset = x.__array_interface__["data"][0] - shadow.start
    return np.ndarray(x.shape, x.dtype, shadow.bytes, offset if x.size else 0, x.strides)


def _bounds(x: Any) -> tuple[int, int]:
    start = x.__array_interface__["data"][0]
    if not x.size:
        return start, start
    steps = [(n - 1) * step for n, step in zip(x.shape, x.strides, strict=True)]
    return start + sum(s for s in steps if s < 0), start + sum(s for s in steps if s > 0) + x.itemsize


def repeats(x: Any) -> bool:
    """Do several elements of an array share memory?"""
    low, high = _bounds(x)
    return bool(x.size * x.itemsize > high - low)


def copied(x: Any) -> Any:
    """Return a copy that may be stored into."""
    return x.copy()


def twin_of(x: Any) -> Any:
    """Allocate new memory with the layout of x: exactly those operations that give a view of x give a view of the result."""
    low, high = _bounds(x)
    start = x.__array_interface__["data"][0]
    if (high - low) % max(x.itemsize, 1) or repeats(x) or (low == start and high - low == x.size * x.itemsize):
        return np.empty_like(x, subok=False)
    return np.ndarray(x.shape, x.dtype, np.zeros((high - low) // x.itemsize, x.dtype), start - low, x.strides)


def cast_into(target: Any, source: Any) -> None:
    """Store source in target with the casting rule of an operator that writes its result into an array."""
    np.copyto(target, source, casting="same_kind")


Written = tuple[Any, Callable[..., Any], tuple[Any, ...], dict[str, Any], Any]


def written(callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Written | None:
    """Analyze a call that writes into an array. Return that array, an equivalent call that does not write (callee, args and kwargs), and the
    result of the original call; None for any other call.
    """
    if kwargs.get("out") is not None:
        into = kwargs["out"][0] if isinstance(kwargs["out"], tuple) else kwargs["out"]
        return into, callee, args, {name: value for name, value in kwargs.items() if name != "out"}, into
    if isinstance(callee, np.ufunc) and len(args) > callee.nin and callee.nout == 1:
        return args[-1], callee, args[:-1], kwargs, args[-1]
    if callee is np.ndarray.sort or callee is np.ndarray.partition:
        return args[0], np.sort if callee is np.ndarray.sort else np.partition, args, kwargs, None
    if callee is np.ndarray.fill:
        return args[0], np.broadcast_to, (args[1], args[0].shape), {}, None
    if callee is np.copyto:
        where = kwargs.get("where", True)
        if where is True:
            return args[0], np.broadcast_to, (args[1], args[0].shape), {}, None
        return args[0], np.where, (where, args[1], args[0]), {}, None
    return None


#: Functions that store values at positions given by other arguments.
PLACING: Final = frozenset({np.put, np.ndarray.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis})
#: The names of the parameter for the values in these functions, and its position.
_VALUES: Final = {"v": 2, "vals": 2, "values": 2, "val": 1}


def placing(callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int | str:
    """Return the argument of a PLACING function that holds the values: its position, or its name."""
    return next((name for name in kwargs if name in _VALUES), 1 if callee is np.fill_diagonal else 2)


def spots(callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any], values: Any) -> Any:
    """Return, for each element of the array, the index of the value that such a call stores in it, or -1. The call itself is run on index
    numbers.
    """
    found = np.full(args[0].shape, -1)
    which = placing(callee, args, kwargs)
    numbers = np.arange(np.size(values)).reshape(np.shape(values))
    given = [found, *[numbers if k == which else arg for k, arg in enumerate(args[1:], 1)]]
    callee(*given, **{name: numbers if name == which else value for name, value in kwargs.items()})
    return found


def placed(x: Any, at: Any, values: Any) -> Any:
    """Return x, with the values where at gives an index."""
    return np.where(at >= 0, np.take(np.ravel(values), np.maximum(at, 0)), x)


def as_array(x: Any) -> Any:
    """Convert a number or a list to an array with at least one axis."""
    return np.array([x]) if isinstance(x, float | complex | np.number) else np.array(x) if isinstance(x, list | tuple) else x


def steps_of(shape: tuple[int, ...], index: Any) -> list[Any]:
    """Return the positions that an index selects, in order."""
    return list(zip(*np.unravel_index(np.ravel(np.arange(math.prod(shape)).reshape(shape)[index]), shape), strict=True))


def is_ufunc(x: Any) -> bool:
    """Is x a universal function?"""
    return isinstance(x, np.ufunc)


def writes_out(callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Does a call pass an array for its result? The arguments may be operands of an op."""
    out = kwargs.get("out")
    if out is not None and getattr(out, "value", out) is not None:
        return True
    return isinstance(callee, np.ufunc) and len(args) > callee.nin


def scattered(callee: Any, args: tuple[Any, ...]) -> int:
    """Return 1 for ``np.add.at``, -1 for ``np.subtract.at``, and 0 for any other call."""
    return (args[0] is np.add) - (args[0] is np.subtract) if callee is np.ufunc.at and len(args) == 4 else 0


def as_list(call: Callable[..., Any], x: Any) -> Any:
    """Compute ``x.tolist()`` item by item; each conversion is made through call."""
    number = complex if x.dtype.kind == "c" else float
    if x.ndim == 0:
        return call(number, (x,), {})
    return [call(number, (item,), {}) if x.ndim == 1 else as_list(call, item) for item in x]


#: Methods that convert an array to Python objects -> the function that is called in place of them.
INSTEAD: Final[dict[Any, Callable[..., Any]]] = {np.ndarray.tolist: as_list}
