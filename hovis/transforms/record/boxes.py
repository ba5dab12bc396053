"""Boxes for the numbers and arrays that depend on the differentiated inputs, in a program that is recorded as it runs.

A box may be wherever a value may be: lists, attributes and cells hold boxes, and Python treats them like the
values.  Each operation on a box is reported to the tape that it belongs to (:mod:`hovis.transforms.record.tape`).
"""

import operator as o
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from hovis.errors import DerivativeError
from hovis.library.numpy.adjoints import shadow_memory
from hovis.library.tables.derivatives import TABLE
from hovis.transforms.record.call_kinds import entered, is_made, moves, unfolded

if TYPE_CHECKING:
    from hovis.transforms.record.tape import Tape


class Box:
    """A number or an array that changes, that is, depends on the inputs for which a tape is recorded.

    change    the cotangent of a number, or its tangent
    """

    __slots__ = ("change", "tape", "value")

    def __init__(self, value: Any, tape: "Tape") -> None:
        self.value, self.tape = value, tape
        self.change: Any = None

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(bare(self))

    def __getattr__(self, name: str) -> Any:
        if name in RAW:
            raise AttributeError(name)
        found = getattr(self.value, name)
        if callable(found):
            return Method(self, name)
        if shadow_memory.is_array(bare(found)):
            return self.tape.shown(found)
        if isinstance(found, Box) or shadow_memory.varies(found):
            return self.tape.call(getattr, (self, name), {})
        if type(found).__module__ == "numpy" and name in _INSIDE:
            raise DerivativeError(f"the use of {type(self.value).__name__}.{name} has no derivative ({self.tape.place()})")
        return found

    def _lost(self, /, *args: Any, **kwargs: Any) -> Any:
        raise DerivativeError(f"a number that is differentiated is passed to something that has no derivative ({self.tape.place()})")

    __float__ = __complex__ = __array__ = _lost

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self.value)))

    def __repr__(self) -> str:
        return repr(self.value)

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy() if shadow_memory.is_array(bare(self)) else self

    def __contains__(self, item: Any) -> bool:
        return bare(item) in bare(self)

    def __getitem__(self, index: Any) -> Any:
        return record(o.getitem, (self, index), {})

    def __setitem__(self, index: Any, value: Any) -> None:
        record(o.setitem, (self, index, value), {})

    def __divmod__(self, other: Any) -> Any:
        return record(divmod, (self, other), {})

    def __rdivmod__(self, other: Any) -> Any:
        return record(divmod, (other, self), {})

    def __round__(self, digits: Any = None) -> Any:
        return round(self.value, digits)

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        if method == "__call__":
            return record(ufunc, args, kwargs)
        return record(getattr(type(ufunc), method), (ufunc, *args), kwargs)

    def __array_function__(self, fn: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return record(fn, tuple(args), kwargs)


#: Protocols by which C code would read an array without the box noticing.
RAW: Final = ("__array_interface__", "__array_struct__", "__dlpack__")
#: Attributes that expose the memory of an array in ways that are not tracked.
_INSIDE: Final = ("flat", "data", "ctypes", "base")


def _operator(name: str) -> None:
    fn = getattr(o, name.strip("_") if name not in ("__and__", "__or__") else name)
    setattr(Box, name, lambda self, *args: record(fn, (self, *args), {}))


def _reflected(name: str) -> None:
    fn = getattr(o, name.replace("__r", "__"))
    setattr(Box, name, lambda self, other: record(fn, (other, self), {}))


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    _operator(f"__{_name}__")
    _reflected(f"__r{_name}__")
    _operator(f"__i{_name}__")
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "abs"):
    _operator(f"__{_name}__")


class Method:
    """A bound method of the value in a box; calls of it are recorded."""

    __slots__ = ("box", "name")

    def __init__(self, box: Box, name: str) -> None:
        self.box, self.name = box, name

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        method = getattr(type(bare(self.box)), self.name)
        if shadow_memory.is_scalar(bare(self.box)) and TABLE.of(method) is None and hasattr(shadow_memory.METHODS, self.name):
            method = getattr(shadow_memory.METHODS, self.name)
        return record(method, (self.box, *args), kwargs)


def bare(x: Any) -> Any:
    """Return the value in a box, in the innermost one if boxes are nested; any other x is returned as it is."""
    while type(x) is Box:
        x = x.value
    return x


def bared(x: Any) -> Any:
    """Return ``bare(x)``; for a list or tuple a list of its items without boxes, at any depth."""
    return [bared(item) for item in x] if type(x) in (list, tuple) else bare(x)


# ------------------------------------------------------------------------------------------------- calls


class _Open(threading.local):
    """The active tapes of a thread, the innermost last."""

    def __init__(self) -> None:
        self.tapes: list[Tape] = []


OPEN: Final = _Open()


def record(callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call callee, recorded by the innermost of the tapes that the call concerns; without an active tape, just call it."""
    tapes = OPEN.tapes
    if not tapes:
        return callee(*args, **kwargs)
    for tape in tapes:
        if tape.touched:
            args = tuple(map(tape.seen, args))
            kwargs = {name: tape.seen(value) for name, value in kwargs.items()}
    last = tapes[-1]
    callee, args, kwargs = unfolded(callee, args, kwargs)
    python = entered(callee, args, lambda: has_boxes((args, kwargs)))
    if python is not None:
        return last.entered(callee, python, args, kwargs)
    if moves(callee, args):
        return last.moved(callee, args, kwargs)
    if is_made(callee):
        return last.made(callee, args, kwargs)
    plain = args, kwargs
    for tape in tapes:
        if tape.touched:
            args = tuple(map(tape.seen_within, args))
            kwargs = {name: tape.seen_within(value) for name, value in kwargs.items()}
    boxes: list[Box] = []
    boxes_in((*args, *kwargs.values()), boxes, 4)
    if not boxes:
        return callee(*plain[0], **plain[1])
    return max((box.tape for box in boxes), key=lambda tape: tape.level).call(callee, args, kwargs)


def has_boxes(values: Any) -> bool:
    """Are there boxes among these values, or in containers of them?"""
    found: list[Box] = []
    boxes_in(values, found, 4)
    return bool(found)


def boxes_in(values: Any, found: list[Box], depth: int) -> None:
    """Append the boxes among these values to found, also those in lists, dicts and tuples nested up to ``depth`` levels, and in slices."""
    for value in values:
        kind: Any = type(value)
        if kind is Box:
            found.append(value)
        elif depth and (kind is list or kind is dict or issubclass(kind, tuple)):
            boxes_in(value.values() if kind is dict else value, found, depth - 1)
        elif kind is slice:
            boxes_in((value.start, value.stop, value.step), found, 0)


def has_box(value: Any, tape: "Tape") -> bool:
    """Does value contain a box of this tape?"""
    found: list[Box] = []
    boxes_in((value,), found, 4)
    return any(box.tape is tape for box in found)


__all__ = ["OPEN", "RAW", "Box", "bare", "bared", "boxes_in", "has_box", "has_boxes", "record"]
