"""Builtins acting on virtual objects: what can be done on cells is done now, and leaves nothing in the residual.

Each rule answers None where it has nothing to say; the call is then made on the real object.
"""

import operator
import types
from typing import Any, Final

from hovis.engine import attributes, iteration
from hovis.engine.entering import call_function
from hovis.engine.folding import _MISSING, reify
from hovis.engine.heap import VObj
from hovis.engine.lookups import FUNCTION, is_data_descriptor, is_plain, is_python_class, lookup, special
from hovis.engine.machine import SWITCH, Machine
from hovis.engine.values import FALSE, NONE, STRONG, TRUE, Dyn, Known, Ref, V, labels_of, lost_of, relabel
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.lattice import Array, Const, Type, Union
from hovis.lattice.constants import is_immutable
from hovis.library.core import Library

VIRTUAL: Final = Library("virtual")
action = VIRTUAL.action

Args = list[V]
Named = dict[str, V]

#: Containers larger than this are real.
CELLS: Final = 4_096


def own(m: Machine, value: V, *kinds: str) -> VObj | None:
    """A virtual object of these kinds that nobody else holds: strong updates are allowed."""
    obj = m.obj(value, *kinds)
    return obj if obj is not None and obj.node is None else None


def plain(obj: VObj, name: str, cls: type) -> bool:
    """Does the object's class leave this special method as the builtin class has it?"""
    return obj.cls is cls or lookup(obj.cls, name) is cls.__dict__.get(name)


def known_key(key: V) -> bool:
    """Can key be looked up now?"""
    return isinstance(key, Known) and (is_immutable(key.value) or type(key.value).__hash__ is object.__hash__)


def _whole(m: Machine, key: V) -> "V | None":
    """A virtual tuple of known parts, as the known tuple; the key itself if it is known."""
    if isinstance(key, Ref):
        obj = m.obj(key, "tuple")
        if obj is not None and obj.cls is tuple:
            found = reify(m, key)
            return None if found is _MISSING else Known(found, labels_of(key, *obj.cells))
        return None
    return key


def _finished(result: V) -> V:
    return result


# ------------------------------------------------------------------------------------------------- len, truth, identity


@action(len)
def length(m: Machine, args: Args, named: Named) -> Any:
    if len(args) != 1:
        return None
    value = args[0]
    obj = m.obj(value, "list", "tuple", "dict", "set")
    if obj is not None and not special(obj.cls, "__len__"):
        return Known(len(obj.cells), labels_of(value))
    if isinstance(value, Known) and type(value.value) in (list, dict, set, tuple, str, bytes, frozenset, range) and m.static(value):
        return Known(len(value.value), value.labels)  # type: ignore[arg-type]
    if isinstance(value, Dyn) and isinstance(value.type, Array) and value.dims and isinstance(value.dims[0], Known):
        return value.dims[0]
    range_ = m.obj(value, "range")
    if range_ is not None and all(isinstance(c, Known) for c in range_.cells):
        bounds: Any = [c.value for c in range_.cells if isinstance(c, Known)]
        return Known(len(range(*bounds)), labels_of(*range_.cells))
    return _started(attributes.length(m, value))


def _started(status: Any) -> Any:
    """The status of a handler that may have pushed a frame, as an action answers it."""
    return status


@action(isinstance)
def is_instance(m: Machine, args: Args, named: Named) -> Any:
    if len(args) != 2:
        return None
    cls = m.class_of(args[0])
    classes = _class_info(m, args[1])
    if classes is None:
        return None
    if cls is not None:
        return Known(issubclass(cls, classes), labels_of(args[0], args[1]) if not isinstance(args[0], Dyn) else frozenset())
    kind = m.type_of(args[0])
    if isinstance(kind, Union):
        found = {issubclass(t.cls, classes) for t in kind.members if isinstance(t, Type)}
        if len(found) == 1:
            return Known(found.pop())
        return m.emit(isinstance, [args[0], Known(classes)], type=Type(bool), effect=Effect.PURE)
    return None


@action(issubclass)
def is_subclass(m: Machine, args: Args, named: Named) -> Any:
    if len(args) == 2 and isinstance(args[0], Known) and isinstance(args[0].value, type):
        classes = _class_info(m, args[1])
        if classes is not None:
            return Known(issubclass(args[0].value, classes), labels_of(*args))
    return None


def _class_info(m: Machine, value: V) -> Any:
    """The classes of an isinstance, if asking them runs no code of the user's."""
    if isinstance(value, Ref):
        obj = m.obj(value, "tuple")
        parts = [_class_info(m, c) for c in obj.cells] if obj is not None else [None]
        return None if any(p is None for p in parts) else tuple(parts)
    if not isinstance(value, Known):
        return None
    held = value.value
    flat = held if isinstance(held, tuple) else (held,)
    for cls in flat:
        if isinstance(cls, types.UnionType):
            continue
        if not isinstance(cls, type) or (isinstance(lookup(type(cls), "__instancecheck__"), FUNCTION) and type(cls).__name__ not in ("ABCMeta", "EnumType", "EnumMeta")):
            return None
        if special(type(cls), "__subclasscheck__") is not None and type(cls).__name__ not in ("ABCMeta", "EnumType", "EnumMeta"):
            return None
    return held


@action(callable)
def is_callable(m: Machine, args: Args, named: Named) -> Any:
    cls = m.class_of(args[0]) if len(args) == 1 else None
    if cls is None:
        return None
    return Known(callable(args[0].value)) if isinstance(args[0], Known) else Known(lookup(cls, "__call__") is not None)


@action(id)
def identity(m: Machine, args: Args, named: Named) -> Any:
    return None


# ------------------------------------------------------------------------------------------------- subscripts


@action(operator.getitem)
def get_item(m: Machine, args: Args, named: Named) -> Any:
    container, key = args
    obj = m.obj(container, "list", "tuple", "dict", "range")
    if obj is not None:
        if not plain(obj, "__getitem__", {"list": list, "tuple": tuple, "dict": dict, "range": range}[obj.kind]):
            return None
        return _get_from_dict(m, container, obj, key) if obj.kind == "dict" else _get_from_sequence(m, container, obj, key)
    if isinstance(container, Known):
        return _get_from_static(m, container, key)
    if isinstance(container, Dyn) and isinstance(container.type, Array):
        return _array_item(m, container, key)
    return None


def _get_from_sequence(m: Machine, container: V, obj: VObj, key: V) -> Any:
    if obj.kind == "range":
        return None
    window = _slice_of(m, key)
    if window is not None:
        cells = obj.cells[window]
        cls = list if obj.kind == "list" else tuple
        _use(m, container, key)
        return m.new(VObj(obj.kind, cls, cells), labels_of(container))
    if isinstance(key, Known) and type(key.value) in (int, bool):
        _use(m, container, key)
        index = int(key.value)  # type: ignore[call-overload]
        if -len(obj.cells) <= index < len(obj.cells):
            return relabel(obj.cells[index], labels_of(container, key))
        return m.raise_new(IndexError, f"{obj.kind} index out of range")
    if isinstance(key, Dyn) and key.lost is not None:
        m.use(key)
    if isinstance(container, Ref) and isinstance(key, Dyn) and key.type == Type(int) and obj.kind == "tuple" and obj.cls is tuple:
        return _select(m, container, obj, key)
    return None


def _select(m: Machine, container: Ref, obj: VObj, key: Dyn) -> Any:
    """An unknown index into a tuple of which all elements are of one type."""
    kinds = [m.type_of_in(m.state, c) for c in obj.cells]  # type: ignore[attr-defined]
    if not kinds:
        return None
    joined = kinds[0]
    for kind in kinds[1:]:
        joined = joined | kind
    return m.emit(operator.getitem, [container, key], type=joined, effect=Effect.RAISES)


def _use(m: Machine, *values: V) -> None:
    for value in values:
        m.use(value, STRONG)


def _slice_of(m: Machine, key: V) -> slice | None:
    """A known slice of ints and None."""
    if isinstance(key, Ref):
        obj = m.obj(key, "slice")
        if obj is not None and all(isinstance(c, Known) and (c.value is None or type(c.value) is int) for c in obj.cells):
            if isinstance(obj.cells[2], Known) and obj.cells[2].value == 0:
                return None
            for c in obj.cells:
                m.use(c, STRONG)
            held: Any = [c.value for c in obj.cells if isinstance(c, Known)]
            return slice(*held)
    if isinstance(key, Known) and type(key.value) is slice and is_immutable(key.value) and key.value.step != 0:
        return key.value
    return None


def _get_from_dict(m: Machine, container: V, obj: VObj, key: V) -> Any:
    whole = _whole(m, key)
    if whole is None or not known_key(whole) or not _keys_are_plain(obj, whole):
        if isinstance(key, Dyn) and key.lost is not None:
            m.use(key)
        return None
    assert isinstance(whole, Known)
    _use(m, container, whole)
    index = obj.find(whole.value)
    if index >= 0:
        return relabel(obj.cells[index], labels_of(container, whole))
    missing = special(obj.cls, "__missing__")
    if missing is not None:
        return m.call(Known(missing), [container, key], {})
    if obj.cls is not dict:
        return None
    return m.raise_new(KeyError, key)


def _keys_are_plain(obj: VObj, key: V) -> bool:
    return True


def _get_from_static(m: Machine, container: Known, key: V) -> Any:
    """A known container that existed before: reading it is folded."""
    held = container.value
    kind = type(held)
    if kind not in (list, dict, tuple, str, bytes, range, types.MappingProxyType):
        return None
    whole = _whole(m, key)
    window = _slice_of(m, key) if kind not in (dict,) else None
    if window is not None and kind in (list, tuple):
        if not m.static(container):
            return None
        _use(m, container, key)
        cells = tuple(Known(x, container.labels) for x in held[window])  # type: ignore[index]
        return m.new(VObj(kind.__name__, kind, cells), container.labels)
    if whole is None or not isinstance(whole, Known) or not known_key(whole):
        if isinstance(key, Dyn) and key.lost is not None and not (kind in (list, tuple) and iteration.alike(m, container)):
            m.tables.static_size = max(m.tables.static_size, min(len(held), 20_000))  # type: ignore[arg-type]
            m.use(key)
        return _element(m, container, key)
    if kind in (tuple, str, bytes, range) and is_immutable(held):
        m.tables.static_size = max(m.tables.static_size, min(len(held), 20_000))  # type: ignore[arg-type]
        return None  # folded like any other operation
    if not m.static(container):
        return None
    m.tables.static_size = max(m.tables.static_size, min(len(held), 20_000))  # type: ignore[arg-type]
    _use(m, container, whole)
    try:
        return Known(held[whole.value], labels_of(container, whole))  # type: ignore[index]
    except KeyError:
        return m.raise_new(KeyError, key)
    except IndexError as error:
        return m.raise_new(IndexError, *error.args)
    except TypeError:
        return None


def _element(m: Machine, container: Known, key: V) -> Any:
    """An unknown index into a known list: its elements are of known types, as long as nobody writes to it."""
    held = container.value
    if type(held) is not list or not held or m.type_of(key) != Type(int) or len(held) > CELLS or not m.static(container):
        return None
    kind = m.library.of_value(held[0])
    for item in held[1:]:
        kind = kind | m.library.of_value(item)
    m.tables.static_size = max(m.tables.static_size, len(held))
    return m.emit(operator.getitem, [container, key], type=kind, effect=Effect.RAISES, lost=lost_of(container, key))


def _array_item(m: Machine, container: Dyn, key: V) -> Any:
    return None


@action(operator.setitem)
def set_item(m: Machine, args: Args, named: Named) -> Any:
    container, key, value = args
    if isinstance(container, Known):
        m.thaw(container.value)
        return None
    obj = own(m, container, "list", "dict")
    if obj is None or not plain(obj, "__setitem__", list if obj.kind == "list" else dict):
        return None
    assert isinstance(container, Ref)
    if obj.kind == "list":
        return _set_in_list(m, container, obj, key, value)
    return _set_in_dict(m, container, obj, key, value)


def _set_in_list(m: Machine, container: Ref, obj: VObj, key: V, value: V) -> Any:
    window = _slice_of(m, key)
    if window is not None:
        items = iteration.known_items(m, value)
        if items is None or (window.step not in (None, 1) and len(range(*window.indices(len(obj.cells)))) != len(items)):
            return None
        cells = list(obj.cells)
        cells[window] = items
        m.put(container, obj.replace(cells=tuple(cells)))
        return NONE
    if not (isinstance(key, Known) and type(key.value) in (int, bool)):
        if isinstance(key, Dyn) and key.lost is not None:
            m.use(key)
        return None
    _use(m, container, key)
    index, size = int(key.value), len(obj.cells)  # type: ignore[call-overload]
    if not -size <= index < size:
        return m.raise_new(IndexError, "list assignment index out of range")
    m.put(container, obj.with_cell(index % size, value))
    return NONE


def _set_in_dict(m: Machine, container: Ref, obj: VObj, key: V, value: V) -> Any:
    whole = _whole(m, key)
    if whole is None or not known_key(whole) or len(obj.cells) >= CELLS:
        if isinstance(key, Dyn) and key.lost is not None:
            m.use(key)
        return None
    assert isinstance(whole, Known)
    if whole.labels:
        m.use(whole)
    index = obj.find(whole.value)
    m.put(container, obj.with_cell(index, value) if index >= 0 else obj.with_new(whole.value, value))
    return NONE


@action(operator.delitem)
def delete_item(m: Machine, args: Args, named: Named) -> Any:
    container, key = args
    if isinstance(container, Known):
        m.thaw(container.value)
        return None
    obj = own(m, container, "list", "dict")
    if obj is None or not plain(obj, "__delitem__", list if obj.kind == "list" else dict):
        return None
    assert isinstance(container, Ref)
    if obj.kind == "dict":
        whole = _whole(m, key)
        if whole is None or not known_key(whole):
            return None
        _use(m, container, whole)
        index = obj.find(whole.value)  # type: ignore[union-attr]
        if index < 0:
            return m.raise_new(KeyError, key)
        m.put(container, obj.without(index))
        return NONE
    window = _slice_of(m, key)
    if window is not None:
        cells = list(obj.cells)
        del cells[window]
        m.put(container, obj.replace(cells=tuple(cells)))
        return NONE
    if isinstance(key, Known) and type(key.value) in (int, bool):
        _use(m, container, key)
        at, size = int(key.value), len(obj.cells)  # type: ignore[call-overload]
        if not -size <= at < size:
            return m.raise_new(IndexError, "list assignment index out of range")
        m.put(container, obj.without(at % size))
        return NONE
    return None


@action(operator.contains)
def contains(m: Machine, args: Args, named: Named) -> Any:
    container, item = args
    obj = m.obj(container, "list", "tuple", "dict", "set")
    whole = _whole(m, item)
    if obj is not None:
        if special(obj.cls, "__contains__") is not None or whole is None or not isinstance(whole, Known) or not is_immutable(whole.value):
            return None
        if obj.kind == "dict":
            _use(m, container, whole)
            return Known(obj.find(whole.value) >= 0, labels_of(container, whole))
        if all(isinstance(c, Known) and is_immutable(c.value) for c in obj.cells):
            _use(m, container, whole)
            found = any(c.value is whole.value or c.value == whole.value for c in obj.cells)  # type: ignore[union-attr]
            return Known(found, labels_of(container, whole, *obj.cells))
        return None
    if isinstance(container, Known) and type(container.value) in (dict, list, set, frozenset) and isinstance(whole, Known) and known_key(whole):
        if type(container.value) is list and not all(map(is_immutable, container.value)):
            return None
        if (not is_immutable(whole.value) and type(container.value) is not dict) or not m.static(container):
            return None
        _use(m, container, whole)
        return Known(whole.value in container.value, labels_of(container, whole))  # type: ignore[operator]
    return None


# ------------------------------------------------------------------------------------------------- sequences


@action(operator.add, operator.iadd)
def concatenate(m: Machine, args: Args, named: Named) -> Any:
    """``+`` of virtual tuples and lists (``+=`` of tuples)."""
    a, b = args
    x, y = _cells(m, a), _cells(m, b)
    if x is None or y is None or x[0] != y[0]:
        return None
    return m.new(VObj(x[0], list if x[0] == "list" else tuple, x[1] + y[1]), labels_of(a, b))


def _cells(m: Machine, value: V) -> tuple[str, tuple[V, ...]] | None:
    obj = m.obj(value, "list", "tuple")
    if obj is not None and obj.cls in (list, tuple):
        return obj.kind, obj.cells
    if isinstance(value, Known) and type(value.value) in (tuple, list) and m.static(value):
        return type(value.value).__name__, tuple(Known(x, value.labels) for x in value.value)  # type: ignore[attr-defined]
    return None


@action(operator.iadd)
def extend_in_place(m: Machine, args: Args, named: Named) -> Any:
    """``list += iterable`` keeps the list."""
    target, more = args
    obj = m.obj(target, "list")
    if obj is not None and obj.cls is list:
        if _extend(m, target, more):
            return target
        return None
    if isinstance(target, Known):
        m.thaw(target.value)
        return None
    return concatenate(m, args, named)


@action(operator.mul)
def repeat(m: Machine, args: Args, named: Named) -> Any:
    for sequence, count in (args, args[::-1]):
        cells = _cells(m, sequence) if isinstance(sequence, Ref) else None
        if cells is not None and isinstance(count, Known) and type(count.value) is int and count.value * len(cells[1]) <= CELLS:
            _use(m, count)
            return m.new(VObj(cells[0], list if cells[0] == "list" else tuple, cells[1] * max(0, count.value)), labels_of(sequence, count))
    return None


def _extend(m: Machine, target: V, more: V) -> bool:
    obj = own(m, target, "list")
    items = iteration.known_items(m, more) if obj is not None else None
    if obj is None or items is None or len(obj.cells) + len(items) > CELLS:
        return False
    assert isinstance(target, Ref)
    m.put(target, obj.replace(cells=obj.cells + tuple(items)))
    return True


@action(list.extend, ops.list_extend)
def list_extend(m: Machine, args: Args, named: Named) -> Any:
    if len(args) == 2 and _extend(m, args[0], args[1]):
        return NONE
    obj = own(m, args[0], "list")
    if obj is not None and len(args) == 2 and isinstance(args[1], Ref) and m.obj(args[1]) is not None:
        return call_function(m, Known(_append_each), _append_each, args, {}, "value")
    return None


def _append_each(items: list[Any], iterable: Any) -> None:
    for item in iterable:
        items.append(item)


@action(list.append)
def list_append(m: Machine, args: Args, named: Named) -> Any:
    if len(args) != 2:
        return None
    obj = own(m, args[0], "list")
    if obj is None or len(obj.cells) >= CELLS:
        return None
    m.put(args[0], obj.replace(cells=(*obj.cells, args[1])))  # type: ignore[arg-type]
    return NONE


@action(list.pop)
def list_pop(m: Machine, args: Args, named: Named) -> Any:
    obj = own(m, args[0], "list")
    if obj is None:
        if isinstance(args[0], Dyn) and args[0].lost is not None:
            m.use(args[0])
        return None
    at = args[1] if len(args) == 2 else Known(-1)
    if not isinstance(at, Known) or type(at.value) not in (int, bool):
        return None
    _use(m, args[0], at)
    size, index = len(obj.cells), int(at.value)  # type: ignore[call-overload]
    if not size:
        return m.raise_new(IndexError, "pop from empty list")
    if not -size <= index < size:
        return m.raise_new(IndexError, "pop index out of range")
    m.put(args[0], obj.without(index % size))  # type: ignore[arg-type]
    return relabel(obj.cells[index % size], labels_of(args[0], at))


@action(list.insert)
def list_insert(m: Machine, args: Args, named: Named) -> Any:
    obj = own(m, args[0], "list")
    if obj is None or len(args) != 3 or not isinstance(args[1], Known) or type(args[1].value) is not int:
        return None
    _use(m, args[0], args[1])
    cells = list(obj.cells)
    cells.insert(args[1].value, args[2])
    m.put(args[0], obj.replace(cells=tuple(cells)))  # type: ignore[arg-type]
    return NONE


@action(list.reverse)
def list_reverse(m: Machine, args: Args, named: Named) -> Any:
    obj = own(m, args[0], "list")
    if obj is None or len(args) != 1:
        return None
    m.put(args[0], obj.replace(cells=obj.cells[::-1]))  # type: ignore[arg-type]
    return NONE


@action(list.clear, dict.clear, set.clear)
def clear(m: Machine, args: Args, named: Named) -> Any:
    obj = own(m, args[0], "list", "dict", "set")
    if obj is None or len(args) != 1:
        return None
    m.put(args[0], obj.replace(cells=(), keys=()))  # type: ignore[arg-type]
    return NONE


@action(list.copy, dict.copy, set.copy)
def shallow_copy(m: Machine, args: Args, named: Named) -> Any:
    obj = m.obj(args[0], "list", "dict", "set")
    if obj is None or obj.cls not in (list, dict, set) or len(args) != 1:
        return None
    return m.new(VObj(obj.kind, obj.cls, obj.cells, obj.keys), labels_of(args[0]))


@action(tuple, list)
def sequence(m: Machine, args: Args, named: Named) -> Any:
    return None


def _constructor(kind: str, cls: type) -> Any:
    def construct(m: Machine, args: Args, named: Named) -> Any:
        if named or len(args) > 1:
            return None
        if not args:
            return m.new(VObj(kind, cls))
        value = args[0]
        if kind == "tuple" and isinstance(value, Ref) and m.state.heap[value.aid].cls is tuple and m.obj(value) is not None:
            return value
        items = iteration.known_items(m, value)
        if items is None:
            if isinstance(value, Ref) and m.obj(value) is not None and _is_iterator(m, value):
                model: Any = _to_list if kind == "list" else _to_tuple
                return call_function(m, Known(model), model, [value], {}, "value")
            return None
        return m.new(VObj(kind, cls, tuple(items)), labels_of(value))

    return construct


def _is_iterator(m: Machine, value: Ref) -> bool:
    return m.state.heap[value.aid].kind in ("generator", "sequence_iter", "range_iter", "dict_iter", "range", "instance", "set")


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


@action(tuple.__new__)
def tuple_new(m: Machine, args: Args, named: Named) -> Any:
    """The ``__new__`` of named tuples ends here."""
    if len(args) != 2 or not isinstance(args[0], Known) or not isinstance(args[0].value, type) or not issubclass(args[0].value, tuple):
        return None
    items = iteration.known_items(m, args[1])
    cls = args[0].value
    if items is None or lookup(cls, "__del__") is not None or cls.__dictoffset__:
        return None
    return m.new(VObj("tuple", cls, tuple(items)))


@action(set)
def make_set(m: Machine, args: Args, named: Named) -> Any:
    if not args and not named:
        return m.new(VObj("set", set))
    items = iteration.known_items(m, args[0]) if len(args) == 1 and not named else None
    if items is None or not all(isinstance(i, Known) and is_immutable(i.value) for i in items):
        return None
    kept: dict[Any, V] = {}
    for item in items:
        kept.setdefault(item.value, item)  # type: ignore[union-attr]
    return m.new(VObj("set", set, tuple(kept.values())), labels_of(args[0]))


@action(set.add)
def set_add(m: Machine, args: Args, named: Named) -> Any:
    obj = own(m, args[0], "set")
    if obj is None or len(args) != 2 or not isinstance(args[1], Known) or not is_immutable(args[1].value):
        return None
    _use(m, args[0], args[1])
    if not any(c.value == args[1].value or c.value is args[1].value for c in obj.cells):  # type: ignore[union-attr]
        m.put(args[0], obj.replace(cells=(*obj.cells, args[1])))  # type: ignore[arg-type]
    return NONE


#: Classes of which no instance equals one of another class in here (numbers stand for each other, so do sets).
_APART: Final = {str: 0, bytes: 1, type(None): 2, tuple: 3, list: 4, dict: 5, int: 6, float: 6, bool: 6, complex: 6, set: 7, frozenset: 7, range: 8, slice: 9}


def _equal(m: Machine, args: Args, equal: bool) -> Any:
    a, b = args
    one, other = m.class_of(a), m.class_of(b)
    if one in _APART and other in _APART and _APART[one] != _APART[other]:
        return Known(not equal, labels_of(*(x for x in args if not isinstance(x, Dyn))))
    x, y = m.obj(a, "tuple", "list", "dict"), m.obj(b, "tuple", "list", "dict")
    if x is not None and y is not None and one is other and one in (tuple, list, dict) and len(x.cells) != len(y.cells):
        _use(m, a, b)
        return Known(not equal, labels_of(a, b))
    return None


@action(operator.eq)
def equal(m: Machine, args: Args, named: Named) -> Any:
    return _equal(m, args, True)


@action(operator.ne)
def not_equal(m: Machine, args: Args, named: Named) -> Any:
    return _equal(m, args, False)


# ------------------------------------------------------------------------------------------------- dicts


def _dict(m: Machine, value: V) -> VObj | None:
    obj = m.obj(value, "dict")
    if obj is not None:
        return obj
    if isinstance(value, Known) and type(value.value) is dict and m.static(value):
        return VObj("dict", dict, tuple(Known(v, value.labels) for v in value.value.values()), tuple(value.value))
    return None


@action(dict.get)
def dict_get(m: Machine, args: Args, named: Named) -> Any:
    obj = _dict(m, args[0])
    key = _whole(m, args[1]) if len(args) in (2, 3) and not named else None
    if obj is None or key is None or not known_key(key):
        return None
    _use(m, args[0], key)
    index = obj.find(key.value)  # type: ignore[union-attr]
    if index >= 0:
        return relabel(obj.cells[index], labels_of(args[0], key))
    return args[2] if len(args) == 3 else Known(None, labels_of(args[0], key))


@action(dict.pop)
def dict_pop(m: Machine, args: Args, named: Named) -> Any:
    obj = own(m, args[0], "dict")
    key = _whole(m, args[1]) if len(args) in (2, 3) and not named else None
    if obj is None or key is None or not known_key(key):
        return None
    _use(m, args[0], key)
    index = obj.find(key.value)  # type: ignore[union-attr]
    if index < 0:
        return args[2] if len(args) == 3 else m.raise_new(KeyError, args[1])
    m.put(args[0], obj.without(index))  # type: ignore[arg-type]
    return relabel(obj.cells[index], labels_of(args[0], key))


@action(dict.setdefault)
def dict_setdefault(m: Machine, args: Args, named: Named) -> Any:
    obj = own(m, args[0], "dict")
    key = _whole(m, args[1]) if len(args) in (2, 3) and not named else None
    if obj is None or key is None or not known_key(key):
        return None
    _use(m, args[0], key)
    index = obj.find(key.value)  # type: ignore[union-attr]
    if index >= 0:
        return relabel(obj.cells[index], labels_of(args[0], key))
    value = args[2] if len(args) == 3 else NONE
    m.put(args[0], obj.with_new(key.value, value))  # type: ignore[arg-type, union-attr]
    return value


@action(dict.keys)
def dict_keys(m: Machine, args: Args, named: Named) -> Any:
    return _view(m, args, "keys")


@action(dict.values)
def dict_values(m: Machine, args: Args, named: Named) -> Any:
    return _view(m, args, "values")


@action(dict.items)
def dict_items(m: Machine, args: Args, named: Named) -> Any:
    return _view(m, args, "items")


def _view(m: Machine, args: Args, view: str) -> Any:
    """A view that is iterated over at once: its iterator stands for it (a ``for`` takes either)."""
    if len(args) != 1 or not _consumed_at_once(m):
        return None
    obj = m.obj(args[0], "dict")
    if obj is not None and isinstance(args[0], Ref) and obj.cls is dict:
        return iteration.dict_iterator(m, args[0], view)
    if isinstance(args[0], Known) and type(args[0].value) is dict and m.static(args[0]):
        items = tuple(getattr(args[0].value, view)())
        return iteration.sequence_iterator(m, Known(items, args[0].labels), iteration.VIEW_ITERATORS[view])
    return None


def _consumed_at_once(m: Machine) -> bool:
    """Is the result of this instruction the operand of a GetIter?"""
    frame = m.frame
    instructions = frame.code.instructions
    return frame.pc + 1 < len(instructions) and instructions[frame.pc].op == "Call" and instructions[frame.pc + 1].op == "GetIter"


@action(dict)
def make_dict(m: Machine, args: Args, named: Named) -> Any:
    if len(args) > 1:
        return None
    made = VObj("dict", dict)
    if args:
        source = _dict(m, args[0])
        if source is None or (isinstance(args[0], Ref) and m.state.heap[args[0].aid].cls is not dict):
            return _dict_of_pairs(m, args[0], named)
        made = VObj("dict", dict, source.cells, source.keys)
    return m.new(_with_named(made, named), labels_of(*args))


def _with_named(obj: VObj, named: Named) -> VObj:
    for name, value in named.items():
        index = obj.find(name)
        obj = obj.with_cell(index, value) if index >= 0 else obj.with_new(name, value)
    return obj


def _dict_of_pairs(m: Machine, value: V, named: Named) -> Any:
    items = iteration.known_items(m, value)
    if items is None:
        if isinstance(value, Ref) and m.obj(value) is not None and _is_iterator(m, value) and not named:
            return call_function(m, Known(_to_dict), _to_dict, [value], {}, "value")
        return None
    made = VObj("dict", dict)
    for item in items:
        pair = iteration.known_items(m, item)
        if pair is None or len(pair) != 2 or not known_key(pair[0]):
            return None
        index = made.find(pair[0].value)  # type: ignore[union-attr]
        made = made.with_cell(index, pair[1]) if index >= 0 else made.with_new(pair[0].value, pair[1])  # type: ignore[union-attr]
    return m.new(_with_named(made, named))


def _to_dict(pairs: Any) -> dict[Any, Any]:
    made = {}
    for key, value in pairs:
        made[key] = value
    return made


@action(dict.update, ops.dict_update, ops.dict_merge)
def dict_update(m: Machine, args: Args, named: Named) -> Any:
    if len(args) < 1:
        return None
    obj = own(m, args[0], "dict")
    if obj is None:
        return None
    if len(args) >= 2:
        source = _dict(m, args[1])
        if source is None:
            return None
        for key, value in zip(source.keys, source.cells, strict=True):
            index = obj.find(key)
            obj = obj.with_cell(index, value) if index >= 0 else obj.with_new(key, value)
    m.put(args[0], _with_named(obj, named))  # type: ignore[arg-type]
    return NONE


@action(ops.dict_merge)
def dict_merge(m: Machine, args: Args, named: Named) -> Any:
    target, source = m.obj(args[0], "dict"), _dict(m, args[1])
    if target is None or source is None or any(target.find(k) >= 0 for k in source.keys):
        return None
    return dict_update(m, args[:2], named)


@action(operator.or_)
def dict_or(m: Machine, args: Args, named: Named) -> Any:
    a, b = (_dict(m, x) for x in args)
    if a is None or b is None or a.cls is not dict or b.cls is not dict or not any(isinstance(x, Ref) for x in args):
        return None
    for key, value in zip(b.keys, b.cells, strict=True):
        index = a.find(key)
        a = a.with_cell(index, value) if index >= 0 else a.with_new(key, value)
    return m.new(VObj("dict", dict, a.cells, a.keys), labels_of(*args))


# ------------------------------------------------------------------------------------------------- iteration


@action(iter)
def make_iter(m: Machine, args: Args, named: Named) -> Any:
    if len(args) != 1 or named:
        return None
    value = args[0]
    if isinstance(value, Known | Ref) and (m.obj(value, "list", "tuple", "dict", "sequence_iter", "range_iter", "dict_iter", "generator") or (isinstance(value, Known) and type(value.value) in (list, tuple, str, bytes, dict) and m.static(value))):
        status = iteration.get_iter(m, value)
        return _pushed(m, status)
    cls = m.class_of(value)
    method = special(cls, "__iter__") if cls is not None and is_python_class(cls) and not isinstance(value, Dyn) else None
    return m.call(Known(method), [value], {}) if method is not None else None


def _pushed(m: Machine, status: "int | None") -> Any:
    """A handler has pushed its result or frames: as an action answers it."""
    return m.pop() if status is None else status


@action(next)
def take_next(m: Machine, args: Args, named: Named) -> Any:
    if not isinstance(args[0], Ref) or m.obj(args[0]) is None or named:
        return None
    depth = len(m.state.frames)
    status = iteration.next_(m, args)
    if status is None and len(m.state.frames) == depth:
        return m.pop()
    return status


@action(range)
def make_range(m: Machine, args: Args, named: Named) -> Any:
    """A range of exact ints with a known step; of known bounds it is a constant."""
    if named or not 1 <= len(args) <= 3 or any(m.class_of(a) is not int for a in args):
        return None
    if all(isinstance(a, Known) for a in args):
        if len(args) == 3 and args[2].value == 0:  # type: ignore[union-attr]
            return m.raise_new(ValueError, "range() arg 3 must not be zero")
        return m.new(VObj("range", range, _bounds(args)), labels_of(*args))
    start, stop, step = _bounds(args)
    if isinstance(step, Known) and step.value != 0:
        return m.new(VObj("range", range, (start, stop, step)))
    return None


def _bounds(args: Args) -> tuple[V, V, V]:
    if len(args) == 1:
        return Known(0), args[0], Known(1)
    return args[0], args[1], args[2] if len(args) == 3 else Known(1)


@action(slice)
def make_slice(m: Machine, args: Args, named: Named) -> Any:
    if named or not 1 <= len(args) <= 3:
        return None
    parts = (NONE, args[0], NONE) if len(args) == 1 else (*args, NONE)[:3]
    return m.new(VObj("slice", slice, parts))


# ------------------------------------------------------------------------------------------------- attributes


@action(getattr)
def get_attribute(m: Machine, args: Args, named: Named) -> Any:
    if len(args) not in (2, 3) or not isinstance(args[1], Known) or type(args[1].value) is not str:
        return None
    m.use(args[1])
    if len(args) == 3:
        if (isinstance(args[0], Known | Ref) and m.obj(args[0], "instance")) or isinstance(args[0], Known):
            present = _has(m, args[0], args[1].value)
            if present is None:
                return None
            if not present:
                return args[2]
        else:
            return None
    return _pushed_here(m, lambda: attributes.get(m, args[0], args[1].value))


def _pushed_here(m: Machine, run: Any) -> Any:
    depth = len(m.state.frames)
    status = run()
    if status is None and len(m.state.frames) == depth:
        return m.pop()
    return status


def _has(m: Machine, value: V, name: object) -> bool | None:
    """Does value have the attribute?  None: only asking it tells."""
    assert isinstance(name, str)
    cls = m.class_of(value)
    if cls is None or special(cls, "__getattr__") or special(cls, "__getattribute__") or lookup(cls, "__getattr__"):
        return None
    obj = m.obj(value, "instance")
    raw = lookup(cls, name)
    if obj is not None:
        if obj.find(name) >= 0:
            return True
        if raw is None or isinstance(raw, types.MemberDescriptorType):
            return False
        return True if not is_data_descriptor(raw) else None
    if isinstance(value, Known) and isinstance(value.value, types.ModuleType | type) and m.static(value):
        if isinstance(value.value, type):
            return any(name in b.__dict__ for b in value.value.__mro__) or (None if lookup(type(value.value), name) is not None else False)
        return name in value.value.__dict__ if type(value.value) is types.ModuleType and "__getattr__" not in value.value.__dict__ else None
    if isinstance(value, Known) and m.static(value):
        own_dict = getattr(value.value, "__dict__", None) if cls.__dictoffset__ else None
        if own_dict is not None and name in own_dict:
            return True
        if raw is None:
            return False
        return True if not is_data_descriptor(raw) else None
    if isinstance(value, Ref) and raw is None and not cls.__dictoffset__:
        return False
    return None


@action(hasattr)
def has_attribute(m: Machine, args: Args, named: Named) -> Any:
    if len(args) != 2 or not isinstance(args[1], Known) or type(args[1].value) is not str:
        return None
    value = args[0]
    if isinstance(value, Dyn):
        cls = m.class_of(value)
        if cls is not None and not is_python_class(cls) and not cls.__dictoffset__:
            return Known(lookup(cls, args[1].value) is not None)
        return None
    present = _has(m, value, args[1].value)
    return None if present is None else Known(present, labels_of(*args))


@action(setattr)
def set_attribute(m: Machine, args: Args, named: Named) -> Any:
    if len(args) != 3 or not isinstance(args[1], Known) or type(args[1].value) is not str or not isinstance(args[0], Ref):
        return None
    m.use(args[1])
    name = args[1].value
    cls = m.class_of(args[0])
    if cls is not None and not special(cls, "__setattr__") and attributes.store(m, args[0], name, args[2]):
        return NONE
    return None


@action(object.__setattr__)
def object_setattr(m: Machine, args: Args, named: Named) -> Any:
    if len(args) == 3 and isinstance(args[0], Ref) and isinstance(args[1], Known) and type(args[1].value) is str:
        return NONE if attributes.store(m, args[0], args[1].value, args[2]) else None
    return None


@action(object.__delattr__)
def object_delattr(m: Machine, args: Args, named: Named) -> Any:
    if len(args) == 2 and isinstance(args[0], Ref) and isinstance(args[1], Known) and type(args[1].value) is str:
        return NONE if attributes.remove(m, args[0], args[1].value) else None
    return None


@action(object.__new__)
def object_new(m: Machine, args: Args, named: Named) -> Any:
    if args and isinstance(args[0], Known) and isinstance(args[0].value, type) and is_plain_for_new(args[0].value) and (len(args) == 1 and not named):
        return m.new(VObj("instance", args[0].value))
    return None


def is_plain_for_new(cls: type) -> bool:
    """Like is_plain, for a class whose own ``__new__`` calls that of object."""
    if is_plain(cls):
        return True
    if type(cls) is not type or lookup(cls, "__del__") is not None or not is_python_class(cls):
        return False
    return all(base is object or (is_python_class(base) and base.__basicsize__ <= 64 and base.__itemsize__ == 0) for base in cls.__mro__) and _python_only(cls)


def _python_only(cls: type) -> bool:
    return not any(issubclass(cls, b) for b in (BaseException, int, float, str, bytes, list, tuple, dict, set, frozenset, type, complex))

