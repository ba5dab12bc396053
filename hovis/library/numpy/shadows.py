"""The memory of arrays that change, while a program is recorded: the cotangent of an array lies where the array does.

All views of one array have one *root*, the array that owns the memory.  Its shadow has a byte for each of its bytes; seen
with the strides of an array it is the cotangent of that array, whatever that is a view of.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

#: Operators on scalars of NumPy's that are methods of arrays.
METHODS: Final = np.ndarray


class Shadow(NamedTuple):
    """The shadow of a root: its bytes, and the address of the first one of the root."""

    bytes: Any
    start: int


def is_array(x: object) -> bool:
    """Is it an array itself, no stand-in for one?"""
    return issubclass(type(x), np.ndarray)


def is_scalar(x: object) -> bool:
    """Is it a number of NumPy's?"""
    return issubclass(type(x), np.generic)


def varies(x: object) -> bool:
    """Is it a real or complex number, or an array of these?"""
    kind = type(x)
    if kind is float or kind is complex:
        return True
    if issubclass(kind, np.ndarray | np.generic):
        dtype: Any = x.dtype  # type: ignore[attr-defined]
        return dtype.kind in "fc"
    return issubclass(kind, float | complex)


def root_of(x: Any) -> Any:
    """The array that owns the memory of x."""
    while isinstance(x.base, np.ndarray):
        x = x.base
    return x


def shadow_of(root: Any) -> Shadow:
    """Zeros, as many bytes as lie between the first and the last of root's."""
    low, high = _bounds(root)
    return Shadow(np.zeros(high - low, np.uint8), low)


def seen_as(shadow: Shadow, x: Any) -> Any:
    """The shadow as x shows the root: an array that may be added to."""
    offset = x.__array_interface__["data"][0] - shadow.start
    return np.ndarray(x.shape, x.dtype, shadow.bytes, offset if x.size else 0, x.strides)


def _bounds(x: Any) -> tuple[int, int]:
    start = x.__array_interface__["data"][0]
    if not x.size:
        return start, start
    steps = [(n - 1) * step for n, step in zip(x.shape, x.strides, strict=True)]
    return start + sum(s for s in steps if s < 0), start + sum(s for s in steps if s > 0) + x.itemsize


def repeats(x: Any) -> bool:
    """Does an array show some of its memory in several places?"""
    low, high = _bounds(x)
    return bool(x.size * x.itemsize > high - low)


def copied(x: Any) -> Any:
    """A copy that may be stored into."""
    return x.copy()


def copied_back(target: Any, source: Any) -> None:
    """All of target becomes source."""
    target[...] = source


def cast_into(target: Any, source: Any) -> None:
    """As an operator writes its result into an array."""
    np.copyto(target, source, casting="same_kind")


Written = tuple[Any, Callable[..., Any], tuple[Any, ...], dict[str, Any], Any]


def written(callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Written | None:
    """Of what writes into an array: that array, what computes the same (callee, args and kwargs), and what the call gives."""
    if kwargs.get("out") is not None:
        into = kwargs["out"][0] if isinstance(kwargs["out"], tuple) else kwargs["out"]
        return into, callee, args, {name: value for name, value in kwargs.items() if name != "out"}, into
    if isinstance(callee, np.ufunc) and len(args) > callee.nin and callee.nout == 1:
        return args[-1], callee, args[:-1], kwargs, args[-1]
    if callee is np.ndarray.sort:
        return args[0], np.sort, args, kwargs, None
    if callee is np.ndarray.fill:
        return args[0], np.broadcast_to, (args[1], args[0].shape), {}, None
    if callee is np.copyto:
        where = kwargs.get("where", True)
        if where is True:
            return args[0], np.broadcast_to, (args[1], args[0].shape), {}, None
        return args[0], np.where, (where, args[1], args[0]), {}, None
    return None


def writes_out(callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Is a call given an array for its result?  The arguments may be operands of an op."""
    out = kwargs.get("out")
    if out is not None and getattr(out, "value", out) is not None:
        return True
    return isinstance(callee, np.ufunc) and len(args) > callee.nin


def scattered(callee: Any, args: tuple[Any, ...]) -> int:
    """Is it ``np.add.at`` (1) or ``np.subtract.at`` (-1)?  Else 0."""
    return (args[0] is np.add) - (args[0] is np.subtract) if callee is np.ufunc.at and len(args) == 4 else 0


def as_list(call: Callable[..., Any], x: Any) -> Any:
    """x.tolist(), item by item, by calls of that."""
    number = complex if x.dtype.kind == "c" else float
    if x.ndim == 0:
        return call(number, (x,), {})
    return [call(number, (item,), {}) if x.ndim == 1 else as_list(call, item) for item in x]


#: What is done in place of what makes Python objects of an array.
INSTEAD: Final[dict[Any, Callable[..., Any]]] = {np.ndarray.tolist: as_list}
