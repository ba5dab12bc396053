"""Actions for ``container[key]``: load, store and delete; and for ``in``."""

import functools
import gc
import operator
import types
from collections import defaultdict
from typing import Any

from hovis.engine.calls import enums
from hovis.engine.control import identity_sets, iteration, unpacking
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import VObj
from hovis.engine.state.type_lookup import special
from hovis.engine.state.values import NONE, Dyn, Known, Ref, V, ends_unseen, is_same, labels_of, lost_of, relabel
from hovis.ir.model import Effect
from hovis.ir.operations import UNBOUND
from hovis.lattice import Type
from hovis.lattice.constants import is_immutable, is_key
from hovis.library.virtual.base import (
    CELLS,
    Args,
    Named,
    action,
    as_constant,
    is_whole,
    kind_of,
    known_key,
    out_of_range,
    own,
    plain,
    settle_iterators,
    slice_of,
    tuple_of,
    use,
)


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
    return None


def _get_from_sequence(m: Machine, container: V, obj: VObj, key: V) -> Any:
    if obj.kind == "range":
        return None
    window = slice_of(m, key)
    if window is not None:
        cells = obj.cells[window]
        use(m, container, key)
        if obj.kind == "list":
            return m.new(VObj("list", list, cells), labels_of(container))
        return container if obj.cls is tuple and is_whole(window, len(obj.cells)) else tuple_of(m, cells, labels_of(container))
    if isinstance(key, Known) and type(key.value) in (int, bool):
        use(m, container, key)
        index = int(key.value)  # type: ignore[call-overload]
        if -len(obj.cells) <= index < len(obj.cells):
            return relabel(obj.cells[index], labels_of(container, key))
        return out_of_range(m, index, f"{obj.kind} index out of range")
    if isinstance(key, Dyn) and key.lost is not None:
        m.use(key)
    if isinstance(container, Ref) and isinstance(key, Dyn) and key.type == Type(int) and obj.kind == "tuple" and obj.cls is tuple:
        return _select(m, container, obj, key)
    return None


def _select(m: Machine, container: Ref, obj: VObj, key: Dyn) -> Any:
    """Emit the load of an unknown index from a tuple; its type is the join of the types of the items."""
    kinds = [m.type_of_in(m.state, c) for c in obj.cells]
    if not kinds:
        return None
    joined = kinds[0]
    for kind in kinds[1:]:
        joined = joined | kind
    return m.emit(operator.getitem, [container, key], type=joined, effect=Effect.RAISES)


def _get_from_dict(m: Machine, container: V, obj: VObj, key: V) -> Any:
    whole = as_constant(m, key)
    if whole is None or not known_key(whole):
        if isinstance(key, Dyn) and key.lost is not None:
            m.use(key)
        return None
    assert isinstance(whole, Known)
    use(m, container, whole)
    index = obj.find(whole.value)
    if index >= 0:
        return relabel(obj.cells[index], labels_of(container, whole))
    missing = special(obj.cls, "__missing__")
    if missing is not None:
        return m.call(Known(missing), [container, key], {})
    if obj.cls is not dict:
        return None
    return m.raise_new(KeyError, key)


def _get_from_static(m: Machine, container: Known, key: V) -> Any:
    """Fold a load from a known container that existed before the trace."""
    held = container.value
    kind = type(held)
    if kind is defaultdict:
        return _get_default(m, container, held, key)  # type: ignore[arg-type]
    if kind not in (list, dict, tuple, str, bytes, range, types.MappingProxyType):
        return None
    whole = as_constant(m, key)
    window = slice_of(m, key) if kind not in (dict,) else None
    if window is not None and kind in (list, tuple):
        if not m.environment.static(container):
            return None
        use(m, container, key)
        if kind is tuple and is_whole(window, len(held)):  # type: ignore[arg-type]
            return container
        cells = tuple(Known(x, container.labels) for x in held[window])  # type: ignore[index]
        return tuple_of(m, cells, container.labels) if kind is tuple else m.new(VObj("list", list, cells), container.labels)
    if whole is None or not isinstance(whole, Known) or not known_key(whole):
        if isinstance(key, Dyn) and key.lost is not None and not (kind in (list, tuple) and iteration.alike(m, container)):
            m.effort.covers(held)
            m.use(key)
        return _element(m, container, key)
    if kind in (tuple, str, bytes, range) and is_immutable(held):
        m.effort.covers(held, whole.value)
        if type(whole.value) is not int or not -len(held) <= whole.value < len(held):  # type: ignore[arg-type]
            return None  # left to constant folding, like any other operation
        labels = labels_of(container, whole)
        m.mark(labels)
        return Known(held[whole.value], labels)  # type: ignore[index]
    if not m.environment.static(container, _one_item(held, whole.value)) or (id(held), whole.value) in m.tables.thawed_globals:
        return None
    m.effort.covers(held, whole.value)
    use(m, container, whole)
    try:
        return Known(held[whole.value], labels_of(container, whole))  # type: ignore[index]
    except KeyError:
        return m.raise_new(KeyError, key)
    except IndexError as error:
        return m.raise_new(IndexError, *error.args)
    except TypeError:
        return None


def _get_default(m: Machine, container: Known, held: "defaultdict[Any, Any]", key: V) -> Known | None:
    """Fold a load from a known defaultdict that has the key; None if it may be missing, which calls the factory."""
    whole = as_constant(m, key)
    if not isinstance(whole, Known) or not known_key(whole):
        return None
    found = held.get(whole.value, UNBOUND)
    if found is UNBOUND or not m.environment.static(container, ("item", held, whole.value, found)):
        return None
    m.effort.covers(held, whole.value)
    use(m, container, whole)
    return Known(found, labels_of(container, whole))


def _one_item(held: Any, key: Any) -> "tuple[str, Any, Any, Any] | None":
    """Return the guard for the load of one item, or None if the whole container has to be guarded."""
    if type(held) is dict:
        return "item", held, key, held.get(key, UNBOUND)
    if type(held) is list and type(key) is int and 0 <= key < len(held):
        return "index", held, key, held[key]
    return None


def _element(m: Machine, container: Known, key: V) -> Any:
    """Emit the load of an unknown index from a known list; the types of its items are known as long as nobody writes to it."""
    held = container.value
    if type(held) is not list or not held or m.type_of(key) != Type(int) or len(held) > CELLS or not m.environment.static(container):
        return None
    kind = functools.reduce(operator.or_, (kind_of(m, item) for item in held))
    m.effort.covers(held)
    return m.emit(operator.getitem, [container, key], type=kind, effect=Effect.RAISES, lost=lost_of(container, key))


@action(operator.setitem)
def set_item(m: Machine, args: Args, named: Named) -> Any:
    container, key, value = args
    if isinstance(container, Known):
        m.environment.thaw_item(container.value, key.value if isinstance(key, Known) else UNBOUND)
        return None
    obj = m.obj(container, "list", "dict")
    if obj is None or not plain(obj, "__setitem__", list if obj.kind == "list" else dict):
        return None
    assert isinstance(container, Ref)
    if obj.node is not None:
        return _set_through(m, container, obj, key, value)
    if obj.kind == "list":
        return _set_in_list(m, container, obj, key, value)
    return _set_in_dict(m, container, obj, key, value)


def _set_through(m: Machine, container: Ref, obj: VObj, key: V, value: V) -> Any:
    """Emit the store into a real container whose contents are known, and update the existing cell, so that they stay known."""
    if not isinstance(key, Known) or obj.inner:
        return None
    if obj.kind == "list":
        index = int(key.value) if type(key.value) in (int, bool) else len(obj.cells)  # type: ignore[call-overload]
        index = index + len(obj.cells) if index < 0 else index
    else:
        index = obj.find(key.value) if known_key(key) else -1
    if not 0 <= index < len(obj.cells) or not (ends_unseen(obj.cells[index]) or is_same(obj.cells[index], value)):
        return None
    use(m, container, key)
    if is_same(obj.cells[index], value):
        return NONE
    m.emit(operator.setitem, [container, key, value], type=Type(type(None)), effect=Effect.WRITES, within=container.aid)
    # emitting the store may have materialized virtual objects in value
    held = m.state.heap[container.aid]
    if not held.forgotten:
        m.put(container, held.with_cell(index, value))
    return NONE


def _set_in_list(m: Machine, container: Ref, obj: VObj, key: V, value: V) -> Any:
    window = slice_of(m, key)
    if window is not None:
        items = unpacking.known_items(m, value)
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
    use(m, container, key)
    index, size = int(key.value), len(obj.cells)  # type: ignore[call-overload]
    if not -size <= index < size:
        return out_of_range(m, index, "list assignment index out of range")
    m.put(container, obj.with_cell(index % size, value))
    return NONE


def _set_in_dict(m: Machine, container: Ref, obj: VObj, key: V, value: V) -> Any:
    whole = as_constant(m, key)
    if whole is None or not known_key(whole) or len(obj.cells) >= CELLS:
        if isinstance(key, Dyn) and key.lost is not None:
            m.use(key)
        return None
    assert isinstance(whole, Known)
    if whole.labels:
        m.use(whole)
    m.named(value, whole.value)
    m.put(container, obj.with_named(whole.value, value))
    return NONE


@action(operator.delitem)
def delete_item(m: Machine, args: Args, named: Named) -> Any:
    container, key = args
    if isinstance(container, Known):
        m.environment.thaw_item(container.value, key.value if isinstance(key, Known) else UNBOUND)
        return None
    settle_iterators(m, container)
    obj = own(m, container, "list", "dict")
    if obj is None or not plain(obj, "__delitem__", list if obj.kind == "list" else dict):
        return None
    assert isinstance(container, Ref)
    if obj.kind == "dict":
        whole = as_constant(m, key)
        if whole is None or not known_key(whole):
            return None
        use(m, container, whole)
        index = obj.find(whole.value)  # type: ignore[union-attr]
        if index < 0:
            return m.raise_new(KeyError, key)
        m.put(container, obj.without(index))
        return NONE
    window = slice_of(m, key)
    if window is not None:
        cells = list(obj.cells)
        del cells[window]
        m.put(container, obj.replace(cells=tuple(cells)))
        return NONE
    if isinstance(key, Known) and type(key.value) in (int, bool):
        use(m, container, key)
        at, size = int(key.value), len(obj.cells)  # type: ignore[call-overload]
        if not -size <= at < size:
            return out_of_range(m, at, "list assignment index out of range")
        m.put(container, obj.without(at % size))
        return NONE
    return None


def _by_identity(held: object) -> bool:
    """Is held a set of only plain constants and objects that equal only themselves?"""
    return isinstance(held, set | frozenset) and len(held) <= CELLS and all(is_immutable(x) or enums.by_identity(x) for x in held)


def _among(m: Machine, container: V, item: V) -> Known | None:
    """Is item an element of a set of objects? None if that is not known."""
    at = identity_sets.place(m, m.state.heap[container.aid].cells, item)  # type: ignore[union-attr]
    return None if at is None else Known(at >= 0, labels_of(container, item))


def _shown(proxy: object) -> dict[Any, Any] | None:
    """Return the dict of which this is a read-only view, unless it is that of a class."""
    held = next(iter(gc.get_referents(proxy)), None) if type(proxy) is types.MappingProxyType else None
    return held if type(held) is dict and "__module__" not in held else None


@action(operator.contains)
def contains(m: Machine, args: Args, named: Named) -> Any:
    container, item = args
    obj = m.obj(container, "dict", "set")
    whole = as_constant(m, item)
    if m.obj(container, "set", "objects") and identity_sets.is_element(m, item):
        return _among(m, container, item)
    if obj is not None:
        if special(obj.cls, "__contains__") is not None or whole is None or not isinstance(whole, Known) or not is_key(whole.value):
            return None
        use(m, container, whole)
        found = obj.find(whole.value) >= 0 if obj.kind == "dict" else whole.value in obj.keys
        return Known(found, labels_of(container, whole))
    if isinstance(container, Known) and (shown := _shown(container.value)) is not None:
        return m.call(Known(operator.contains), [Known(shown, container.labels), item], {})
    if isinstance(container, Known) and type(container.value) in (dict, list, set, frozenset) and isinstance(whole, Known) and known_key(whole):
        if type(container.value) is list and not all(map(is_immutable, container.value)):
            return None
        if not is_immutable(whole.value) and type(container.value) is not dict and not _by_identity(container.value):
            return None
        if not m.environment.static(container):
            return None
        use(m, container, whole)
        return Known(whole.value in container.value, labels_of(container, whole))  # type: ignore[operator]
    return None
