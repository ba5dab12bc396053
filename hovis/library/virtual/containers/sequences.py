"""Actions for lists and tuples: operators, methods and constructors."""

import operator
import sys
from typing import Any

from hovis.engine.calls.inline_python import call_function
from hovis.engine.control import unpacking
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import VObj
from hovis.engine.state.type_lookup import lookup
from hovis.engine.state.values import NONE, Dyn, Known, Ref, V, labels_of, relabel
from hovis.ir import operations as ops
from hovis.lattice import Array
from hovis.lattice.inspection import is_a
from hovis.library.virtual.base import CELLS, Args, Named, action, is_iterator, own, tuple_of, use


@action(operator.add)
def concatenate(m: Machine, args: Args, named: Named) -> Any:
    """``+`` of virtual tuples and lists (``+=`` of tuples)."""
    a, b = args
    x, y = cells_of(m, a), cells_of(m, b)
    if x is None or y is None or x[0] != y[0]:
        return None
    if x[0] == "tuple" and not (x[1] and y[1]):
        return a if x[1] else b
    return m.new(VObj(x[0], list if x[0] == "list" else tuple, x[1] + y[1]), labels_of(a, b))


def cells_of(m: Machine, value: V) -> tuple[str, tuple[V, ...]] | None:
    obj = m.obj(value, "list", "tuple")
    if obj is not None and obj.cls in (list, tuple):
        return obj.kind, obj.cells
    if isinstance(value, Known) and type(value.value) in (tuple, list) and m.environment.static(value):
        return type(value.value).__name__, tuple(Known(x, value.labels) for x in value.value)  # type: ignore[attr-defined]
    return None


@action(operator.iadd)
def extend_in_place(m: Machine, args: Args, named: Named) -> Any:
    """``list += iterable``, which changes the list in place."""
    target, more = args
    obj = m.obj(target, "list")
    if obj is not None and obj.cls is list:
        if _extend(m, target, more):
            return target
        return None
    if isinstance(target, Known):
        m.environment.thaw(target.value)
        return None
    return concatenate(m, args, named)


@action(operator.mul)
def repeat(m: Machine, args: Args, named: Named) -> Any:
    for sequence, count in (args, args[::-1]):
        cells = cells_of(m, sequence) if isinstance(sequence, Ref) else None
        if cells is None or not isinstance(count, Known) or type(count.value) is not int:
            continue
        if -sys.maxsize <= count.value and count.value * max(1, len(cells[1])) <= CELLS:
            use(m, count)
            times, labels = max(0, count.value), labels_of(sequence, count)
            if cells[0] == "tuple":
                return sequence if times == 1 else tuple_of(m, cells[1] * times, labels)
            return m.new(VObj("list", list, cells[1] * times), labels)
    return None


@action(operator.imul)
def repeat_in_place(m: Machine, args: Args, named: Named) -> Any:
    """``list *= count``, which changes the list in place."""
    obj, count = own(m, args[0], "list"), args[1]
    if obj is None or obj.cls is not list:
        return repeat(m, args, named) if m.obj(args[0], "list") is None else None
    if not isinstance(count, Known) or type(count.value) is not int or not -sys.maxsize <= count.value <= CELLS // max(1, len(obj.cells)):
        return None
    use(m, count)
    m.put(args[0], obj.replace(cells=obj.cells * max(0, count.value)))  # type: ignore[arg-type]
    return args[0]


def _extend(m: Machine, target: V, more: V) -> bool:
    obj = own(m, target, "list")
    items = unpacking.items_in_sight(m, more) if obj is not None else None
    if obj is None or items is None or len(obj.cells) + len(items) > CELLS:
        return False
    assert isinstance(target, Ref)
    m.put(target, obj.replace(cells=obj.cells + tuple(items)))
    return True


@action(ops.list_extend, counts=(2, 2))
def unpack_into(m: Machine, args: Args, named: Named) -> Any:
    """LIST_EXTEND, which has its own error message (Python/bytecodes.c)."""
    cls = m.state.heap[args[1].aid].cls if isinstance(args[1], Ref) else None
    if cls is not None and not hasattr(cls, "__iter__") and not hasattr(cls, "__getitem__"):
        return m.raise_new(TypeError, f"Value after * must be an iterable, not {ops.name_of_class(cls)}")
    return list_extend(m, args, named)


@action(list.extend, counts=(2, 2))
def list_extend(m: Machine, args: Args, named: Named) -> Any:
    if len(args) == 2 and _extend(m, args[0], args[1]):
        return NONE
    obj = own(m, args[0], "list")
    if obj is not None and len(args) == 2 and isinstance(args[1], Ref) and m.obj(args[1]) is not None:
        model: Any = _append_counted if m.obj(args[1], "instance") else _append_each
        return call_function(m, Known(model), model, args, {}, "value")
    return None


def _append_each(items: list[Any], iterable: Any) -> None:
    for item in iterable:
        items.append(item)


def _append_counted(items: list[Any], iterable: Any) -> None:
    """The model of list_extend with an object of a user class, which is asked for its length hint."""
    iterator = iter(iterable)
    operator.length_hint(iterable, 8)
    while (item := next(iterator, ops.END)) is not ops.END:
        items.append(item)


@action(list.append, counts=(2, 2))
def list_append(m: Machine, args: Args, named: Named) -> Any:
    if len(args) != 2:
        return None
    obj = own(m, args[0], "list")
    if obj is None or len(obj.cells) >= CELLS:
        return None
    m.put(args[0], obj.replace(cells=(*obj.cells, args[1])))  # type: ignore[arg-type]
    return NONE


@action(list.pop, counts=(1, 2))
def list_pop(m: Machine, args: Args, named: Named) -> Any:
    obj = own(m, args[0], "list")
    if obj is None:
        if isinstance(args[0], Dyn) and args[0].lost is not None:
            m.use(args[0])
        return None
    at = args[1] if len(args) == 2 else Known(-1)
    if not isinstance(at, Known) or type(at.value) not in (int, bool):
        return None
    use(m, args[0], at)
    size, index = len(obj.cells), int(at.value)  # type: ignore[call-overload]
    if not size:
        return m.raise_new(IndexError, "pop from empty list")
    if not -sys.maxsize <= index <= sys.maxsize:
        return None
    if not -size <= index < size:
        return m.raise_new(IndexError, "pop index out of range")
    m.put(args[0], obj.without(index % size))  # type: ignore[arg-type]
    return relabel(obj.cells[index % size], labels_of(args[0], at))


@action(list.insert, counts=(3, 3))
def list_insert(m: Machine, args: Args, named: Named) -> Any:
    obj = own(m, args[0], "list")
    if obj is None or len(args) != 3 or not isinstance(args[1], Known) or type(args[1].value) is not int:
        return None
    use(m, args[0], args[1])
    cells = list(obj.cells)
    cells.insert(args[1].value, args[2])
    m.put(args[0], obj.replace(cells=tuple(cells)))  # type: ignore[arg-type]
    return NONE


@action(list.reverse, counts=(1, 1))
def list_reverse(m: Machine, args: Args, named: Named) -> Any:
    obj = own(m, args[0], "list")
    if obj is None or len(args) != 1:
        return None
    m.put(args[0], obj.replace(cells=obj.cells[::-1]))  # type: ignore[arg-type]
    return NONE


@action(list.clear, counts=(1, 1))
def list_clear(m: Machine, args: Args, named: Named) -> Any:
    obj = own(m, args[0], "list")
    if obj is None:
        return None
    m.put(args[0], obj.replace(cells=()))  # type: ignore[arg-type]
    return NONE


@action(list.copy, counts=(1, 1))
def list_copy(m: Machine, args: Args, named: Named) -> Any:
    obj = m.obj(args[0], "list")
    return None if obj is None else m.new(VObj("list", list, obj.cells), labels_of(args[0]))


def _constructor(kind: str, cls: type) -> Any:
    def construct(m: Machine, args: Args, named: Named) -> Any:
        if named or len(args) > 1:
            return None
        if not args:
            return m.new(VObj(kind, cls)) if kind == "list" else Known(())
        value = args[0]
        if kind == "tuple" and isinstance(value, Ref) and m.state.heap[value.aid].cls is tuple and m.obj(value) is not None:
            return value
        if kind == "tuple" and isinstance(value, Known) and type(value.value) is tuple:
            return value
        items = unpacking.items_in_sight(m, value)
        if items is None:
            stepped = isinstance(value, Ref) and m.obj(value) is not None and is_iterator(m, value)
            if (stepped and not m.obj(value, "instance")) or (kind == "list" and _is_long(m, value)):
                model: Any = _to_list if kind == "list" else _to_tuple
                return call_function(m, Known(model), model, [value], {}, "value")
            return None
        return m.new(VObj(kind, cls, tuple(items)), labels_of(value)) if kind == "list" else tuple_of(m, tuple(items), labels_of(value))

    return construct


def _is_long(m: Machine, value: V) -> bool:
    """Is value a one-dimensional array that is converted to a list where a back end compiles?"""
    return m.known_sizes and isinstance(value, Dyn) and isinstance(value.type, Array) and value.type.rank == 1


def _to_list(iterable: Any) -> list[Any]:
    made = []
    for item in iterable:
        made.append(item)
    return made


def _to_tuple(iterable: Any) -> tuple[Any, ...]:
    made = []
    for item in iterable:
        made.append(item)
    return tuple(made)


action(list)(_constructor("list", list))
action(tuple)(_constructor("tuple", tuple))


@action(tuple.__new__, counts=(2, 2))
def tuple_new(m: Machine, args: Args, named: Named) -> Any:
    """``tuple.__new__``, which the ``__new__`` of a named tuple calls."""
    if len(args) != 2 or not isinstance(args[0], Known) or not is_a(args[0].value, type) or not issubclass(args[0].value, tuple):
        return None
    items = unpacking.known_items(m, args[1])
    cls = args[0].value
    if items is None or lookup(cls, "__del__") is not None or cls.__dictoffset__:
        return None
    return m.new(VObj("tuple", cls, tuple(items)))
