"""Actions for lists of the trace that are real and of unknown length, where a back end compiles: operations on all items are loops over the
items.

Neither the number of items nor the items are known; a list made of them is filled item by item, like any other list (Objects/listobject.c).
"""

import operator
from collections.abc import Callable
from typing import Any

from hovis.engine.calls.inline_python import call_function
from hovis.engine.machine.machine import Machine
from hovis.engine.state.values import FALSE, NONE, Dyn, Known, Ref, V
from hovis.ir import operations as ops
from hovis.lattice import Array
from hovis.library.virtual.base import Args, Named, action


def _enter(m: Machine, model: Callable[..., Any], args: Args) -> Any:
    return call_function(m, Known(model), model, args, {}, "value")


# ------------------------------------------------------------------------------------------------- slices and copies


def part(source: Any, start: Any, stop: Any, step: int) -> Any:
    """``source[start:stop:step]`` (PySlice_Unpack, PySlice_AdjustIndices)."""
    size = len(source)
    low, high = (0, size) if step > 0 else (-1, size - 1)
    first = _within(start, size, low, high) if start is not None else low if step > 0 else high
    last = _within(stop, size, low, high) if stop is not None else high if step > 0 else low
    made = []
    for k in range(first, last, step):
        made.append(source[k])
    return made


def _within(bound: int, size: int, low: int, high: int) -> int:
    if bound < 0:
        bound += size
    return low if bound < low else high if bound > high else bound


@action(operator.getitem, counts=(2, 2))
def get_part(m: Machine, args: Args, named: Named) -> Any:
    key = m.obj(args[1], "slice")
    bounds = key.cells if key is not None else ()
    if isinstance(args[1], Known) and type(args[1].value) is slice:
        bounds = (Known(args[1].value.start), Known(args[1].value.stop), Known(args[1].value.step))
    if not bounds or not m.is_own_list(args[0]) or not all(_is_bound(m, b) for b in bounds):
        return None
    step = bounds[2]
    if not isinstance(step, Known) or step.value == 0:
        return None
    return _enter(m, part, [args[0], bounds[0], bounds[1], Known(1) if step.value is None else step])


def _is_bound(m: Machine, value: V | None) -> bool:
    return value is not None and (m.class_of(value) is int or (isinstance(value, Known) and value.value is None))


def whole(source: Any) -> Any:
    """``source.copy()``."""
    made: list[Any] = []
    add_each(made, source)
    return made


@action(list.copy, counts=(1, 1))
def copy(m: Machine, args: Args, named: Named) -> Any:
    return _enter(m, whole, args) if m.is_own_list(args[0]) else None


# ------------------------------------------------------------------------------------------------- concatenation


def add_each(items: list[Any], source: Any) -> None:
    """Append each item of the list source that is there at the beginning; source may be items itself."""
    for k in range(len(source)):
        items.append(source[k])


def add_rows(items: list[Any], iterable: Any) -> None:
    """Append each item of an iterable that is not a list."""
    for item in iterable:
        items.append(item)


def joined(a: Any, b: Any) -> Any:
    """``a + b``."""
    made: list[Any] = []
    add_each(made, a)
    add_each(made, b)
    return made


def _adding(m: Machine, target: V, more: V) -> Callable[..., Any] | None:
    """Return the model that appends more to the list target, or None if neither is a list of unknown length."""
    if m.is_own_list(more):
        return add_each if m.is_own_list(target) or m.obj(target, "list") is not None else None
    if not m.is_own_list(target):
        return None
    if m.obj(more, "list", "tuple") is not None:
        return add_each
    rows = isinstance(more, Ref) and m.obj(more, "generator", "model", "range") is not None
    return add_rows if rows or (isinstance(more, Dyn) and isinstance(more.type, Array)) else None


@action(list.extend, ops.list_extend, counts=(2, 2))
def extend(m: Machine, args: Args, named: Named) -> Any:
    model = _adding(m, *args)
    return None if model is None else _enter(m, model, args)


def extended(add: Callable[..., Any], items: Any, more: Any) -> Any:
    """``items += more``."""
    add(items, more)
    return items


@action(operator.iadd, counts=(2, 2))
def extend_in_place(m: Machine, args: Args, named: Named) -> Any:
    model = _adding(m, *args)
    return None if model is None else _enter(m, extended, [Known(model), *args])


@action(operator.add, counts=(2, 2))
def add(m: Machine, args: Args, named: Named) -> Any:
    lists = [m.is_own_list(a) or m.obj(a, "list") is not None for a in args]
    return _enter(m, joined, args) if all(lists) and any(map(m.is_own_list, args)) else None




# ------------------------------------------------------------------------------------------------- sorting


def in_order(source: Any, reverse: bool) -> Any:
    """``sorted(source, reverse=reverse)``."""
    made = whole(source)
    made.sort(reverse=reverse)
    return made


@action(sorted)
def sort(m: Machine, args: Args, named: Named) -> Any:
    plain = named.get("key", NONE)
    if len(args) != 1 or not named.keys() <= {"key", "reverse"} or not m.is_own_list(args[0]) or not isinstance(plain, Known) or plain.value is not None:
        return None
    return _enter(m, in_order, [args[0], named.get("reverse", FALSE)])
