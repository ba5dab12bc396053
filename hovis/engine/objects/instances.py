"""Attributes that an instance has itself: its slots and its dictionary (CPython: Objects/object.c, Objects/dictobject.c).

A virtual instance holds its attributes in cells, by name.  When its ``__dict__`` is read for the first time, they move into a dict
of the trace, which the instance holds under the key ``__dict__``: a write to one is a write to the other.
"""

import operator
import types
from typing import Any, Final

from hovis.engine.calls.builtins import call_builtin
from hovis.engine.machine import exceptions
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import STORED, VObj
from hovis.engine.state.type_lookup import ABSENT, attribute_place, find, has_dict, own_dict
from hovis.engine.state.values import Dyn, Known, Ref, V, relabel
from hovis.ir.operations import UNBOUND
from hovis.lattice import inline_attributes

#: The attribute has to be read from the real instance.
UNKNOWN: Final = object()
DICT: Final = "__dict__"


def is_slot(raw: Any) -> bool:
    """Is raw the descriptor of a name in ``__slots__``?"""
    return type(raw) is types.MemberDescriptorType


def dict_descriptor(cls: type) -> bool:
    """Is ``__dict__`` of instances of cls their dictionary, and not redefined by the class?"""
    found = find(cls, DICT)
    return type(found) is types.GetSetDescriptorType and has_dict(cls)


def own(m: Machine, value: V, cls: type, name: str, exactly: bool = False) -> Any:
    """Return the attribute that the instance itself has by that name: a value, ABSENT, or UNKNOWN.

    For a known instance the result may be a plain value of its class, because a read from the instance gives that value as well. exactly:
    exclude such values, because the attribute of the class may change.
    """
    if isinstance(value, Known):
        return _of_known(m, value, cls, name, exactly)
    if isinstance(value, Ref):
        obj = m.state.heap[value.aid]
        if obj.kind == "instance" and not obj.forgotten:
            return _of_object(m, value, obj, name)
        if obj.kind == "exception" and not obj.forgotten:
            found = exceptions.get(m, value, name)
            return ABSENT if found is None else relabel(found, value.labels)
        if obj.node is None and obj.kind != "instance":
            return ABSENT
    return UNKNOWN if has_dict(cls) else ABSENT


def _of_known(m: Machine, value: Known, cls: type, name: str, exactly: bool) -> Any:
    shown = inline_attributes.can_read(cls, name) and not exactly
    place = attribute_place(value.value) if shown else own_dict(value.value)
    if place is None:
        return UNKNOWN if has_dict(cls) else ABSENT
    if id(place) in m.tables.thawed or m.tables.stores(value.value, place, name):
        return UNKNOWN
    m.environment.read_static.add(id(place))
    m.effort.covers(place, name, 0)
    if shown:
        read, found = ("attribute", value.value), inline_attributes.read(value.value, name, UNBOUND)
    else:
        read, found = ("item", place), place.get(name, UNBOUND)
        m.environment.guard("attribute", value.value, DICT, place)
    if found is not UNBOUND:
        return Known(found, value.labels) if m.environment.static(value, (*read, name, found)) else UNKNOWN
    m.environment.read_part(value.value, name)
    m.environment.guard(*read, name, UNBOUND)
    return ABSENT


def _of_object(m: Machine, value: Ref, obj: VObj, name: str) -> Any:
    index = obj.find(name)
    if index >= 0:
        return relabel(obj.cells[index], value.labels)
    held = dictionary(m, obj)
    if held is None:
        return ABSENT
    if isinstance(held, Dyn):
        return UNKNOWN
    inner = m.obj(held)
    assert inner is not None
    index = inner.find(name)
    return relabel(inner.cells[index], value.labels) if index >= 0 else ABSENT


def dictionary(m: Machine, obj: VObj) -> "Ref | Dyn | None":
    """Return the dict that an instance got when its ``__dict__`` was read, or None if it was not."""
    index = obj.find(DICT)
    if index < 0:
        return None
    held = m.resolve(obj.cells[index])
    assert isinstance(held, Ref | Dyn)
    return held


def take_dictionary(m: Machine, value: V) -> V | None:
    """Return ``value.__dict__``; from now on, a virtual instance keeps its attributes there. None if the real instance must be asked."""
    if isinstance(value, Known):
        real = own_dict(value.value)
        if real is None:
            return None
        m.environment.opened(value.value, real)
        return Known(real, value.labels)
    if not isinstance(value, Ref):
        return None
    obj = m.obj(value, "instance")
    if obj is None:
        return None
    held = dictionary(m, obj)
    if held is not None:
        return held
    if obj.node is not None:
        return None
    slots = [k for k, name in enumerate(obj.keys) if name == STORED or is_slot(find(obj.cls, name))]
    rest = [k for k in range(len(obj.keys)) if k not in slots]
    made = m.new(VObj("dict", dict, tuple(obj.cells[k] for k in rest), tuple(obj.keys[k] for k in rest)))
    _replace_dictionary(m, value, obj, made, slots)
    return made


def give_dictionary(m: Machine, value: Ref, new: V) -> bool:
    """``value.__dict__ = new`` for a virtual instance; return False if the store must be emitted for the real one."""
    obj = m.obj(value, "instance")
    if obj is None or obj.node is not None or m.obj(new, "dict") is None or m.class_of(new) is not dict:
        return False
    slots = [k for k, name in enumerate(obj.keys) if name != DICT and (name == STORED or is_slot(find(obj.cls, name)))]
    _replace_dictionary(m, value, obj, new, slots)
    return True


def _replace_dictionary(m: Machine, value: Ref, obj: VObj, new: V, slots: list[int]) -> None:
    keys = (*(obj.keys[k] for k in slots), DICT)
    m.put(value, obj.replace(keys=keys, cells=(*(obj.cells[k] for k in slots), new)))


def put(m: Machine, value: Ref, name: str, new: V, slot: bool) -> bool:
    """Store an attribute into a virtual instance; return False if it must be stored into the real one."""
    obj = m.obj(value, "instance")
    if obj is None or obj.node is not None:
        return False
    held = None if slot else dictionary(m, obj)
    if held is not None:
        status = call_builtin(m, operator.setitem, [held, Known(name), new], {}, "discard")
        assert status is None
        return True
    m.named(new, name)
    m.put(value, obj.with_named(name, new))
    return True


def remove(m: Machine, value: Ref, name: str, slot: bool) -> "bool | None":
    """Delete an attribute of a virtual instance; return False if it must be deleted from the real one, None if there is none by that name."""
    obj = m.obj(value, "instance")
    if obj is None or obj.node is not None:
        return False
    held = None if slot else dictionary(m, obj)
    if held is not None:
        inner = m.obj(held, "dict")
        if inner is None or inner.node is not None:
            return False
        index = inner.find(name)
        if index >= 0:
            assert isinstance(held, Ref)
            m.put(held, inner.without(index))
        return None if index < 0 else True
    index = obj.find(name)
    if index < 0:
        return None
    m.put(value, obj.without(index))
    return True
