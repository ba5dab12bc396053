"""Attributes of a function of the trace: names, annotations, a dictionary (CPython: Objects/funcobject.c).

The cells of a function are its defaults, keyword defaults and annotations, then the cells of its closure, and then the values of its
keys: ``__dict__`` after its first use, ``__doc__`` and ``__module__`` after an assignment to them.
The attributes of a function that is real already are read from the real function.
"""

import types
from typing import Any, Final

from hovis.engine.machine.machine import Machine
from hovis.engine.objects import instances
from hovis.engine.state.heap import VObj
from hovis.engine.state.type_lookup import ABSENT, C_METHODS, bound_class, find
from hovis.engine.state.values import Known, Ref, V, relabel

FUNCTION: Final = types.FunctionType
DICT: Final = instances.DICT

#: The attribute has to be read from the real function.
UNKNOWN: Final = instances.UNKNOWN

_NAMES: Final = {"__name__": 2, "__qualname__": 3}
_HELD: Final = ("__doc__", "__module__")
_TYPE_PARAMS: Final = "__type_params__"
_ANNOTATE: Final = "__annotate__"
#: Positions of the cells of a function of the trace that hold its defaults and its annotations, or what makes these (3.14).
_DEFAULTS: Final = 0
_ANNOTATIONS: Final = 2


def held(obj: VObj, name: str) -> V | None:
    """Return the value under one of the function's keys, or None if there is no such key."""
    return obj.cells[obj.keys.index(name) - len(obj.keys)] if name in obj.keys else None


def _hold(m: Machine, value: Ref, name: str, new: V) -> None:
    """Store a value under a key of the function."""
    obj = m.state.heap[value.aid]
    if name in obj.keys:
        m.put(value, obj.with_cell(len(obj.cells) + obj.keys.index(name) - len(obj.keys), new))
    else:
        m.put(value, obj.with_new(name, new))


def twin(m: Machine, obj: VObj) -> types.FunctionType:
    """Make a real function like the one of the trace; it is never called."""
    code, namespace, name, qualname = obj.extra
    made = FUNCTION(code.code, namespace, name, None, tuple(types.CellType() for _ in obj.closure) or None)
    made.__qualname__ = qualname
    if is_abstract(m, obj):
        made.__isabstractmethod__ = True  # type: ignore[attr-defined]
    return made


def is_abstract(m: Machine, obj: VObj) -> bool:
    """Has ``abstractmethod`` been applied to the function?"""
    inside = held(obj, DICT)
    attributes = m.obj(inside, "dict") if inside is not None else None
    index = attributes.find("__isabstractmethod__") if attributes is not None else -1
    cell = attributes.cells[index] if attributes is not None and index >= 0 else None
    return isinstance(cell, Known) and cell.value is True


# ------------------------------------------------------------------------------------------------- reading


def get(m: Machine, value: Ref, obj: VObj, name: str) -> Any:
    """``value.name``: a value, ABSENT, or UNKNOWN."""
    if obj.node is not None:
        return UNKNOWN
    if name == DICT:
        return _dictionary(m, value)
    found = _field(m, value, obj, name)
    if found is not ABSENT:
        return found
    inside = held(obj, DICT)
    if inside is not None:
        attributes = m.obj(inside, "dict")
        if attributes is None:
            return UNKNOWN
        index = attributes.find(name)
        if index >= 0:
            return relabel(attributes.cells[index], value.labels)
    raw = find(FUNCTION, name)
    if type(raw) in C_METHODS:
        return m.new(VObj("method", bound_class(raw), (Known(raw), value)), value.labels)
    return ABSENT if raw is ABSENT else UNKNOWN


def _field(m: Machine, value: Ref, obj: VObj, name: str) -> Any:
    """Read an attribute that is not in the dictionary; ABSENT if there is none, UNKNOWN if only the real function can tell."""
    own = held(obj, name)
    if own is not None:
        return relabel(own, value.labels)
    if name in _NAMES:
        return Known(obj.extra[_NAMES[name]], value.labels)
    if name == "__class__":
        return Known(FUNCTION, value.labels)
    if name == "__doc__":
        return Known(twin(m, obj).__doc__, value.labels)
    if name == "__module__" and type(obj.extra[1].get("__name__")) is str:
        return Known(obj.extra[1]["__name__"], value.labels)
    if name == _TYPE_PARAMS and _is_field(name):
        return Known((), value.labels)
    if name == "__code__":
        return Known(obj.extra[0].code, value.labels)
    if name == "__defaults__":
        return obj.cells[_DEFAULTS]
    if name == "__annotations__":
        return _annotations(m, value, obj)
    if name == _ANNOTATE and _is_field(name):
        return _annotate(m, obj)
    return UNKNOWN if _is_field(name) else ABSENT


def _is_field(name: str) -> bool:
    """Does C code manage this attribute of functions?"""
    return type(find(FUNCTION, name)) in (types.GetSetDescriptorType, types.MemberDescriptorType)


def has_own(fn: object, name: str) -> bool:
    """Is fn a function, and the attribute kept in its dictionary alone?"""
    return type(fn) is FUNCTION and not _is_field(name)


def _dictionary(m: Machine, value: Ref) -> V:
    """Return the ``__dict__`` of the function, which is made on the first access (func_get_dict)."""
    inside = held(m.state.heap[value.aid], DICT)
    if inside is None:
        inside = m.new(VObj("dict", dict))
        _hold(m, value, DICT, inside)
    return inside


def _annotations(m: Machine, value: Ref, obj: VObj) -> Any:
    """Return the annotations, which become a dict on the first access (func_get_annotations)."""
    told = m.resolve(obj.cells[_ANNOTATIONS])
    if isinstance(told, Known) and told.value is None:
        pairs: tuple[V, ...] = ()
    elif (items := m.obj(told, "tuple")) is not None:
        pairs = items.cells
    elif isinstance(told, Known) and type(told.value) is tuple:
        pairs = tuple(map(Known, told.value))
    else:
        return told if m.class_of(told) is dict else UNKNOWN
    names = tuple(name.value for name in pairs[::2] if isinstance(name, Known))
    made = m.new(VObj("dict", dict, pairs[1::2], names))
    m.put(value, obj.with_cell(_ANNOTATIONS, made))
    return made


def _annotate(m: Machine, obj: VObj) -> Any:
    """Return what makes the annotations when they are asked for (func_get_annotate)."""
    told = m.resolve(obj.cells[_ANNOTATIONS])
    if m.class_of(told) in (FUNCTION, types.NoneType):
        return told
    return Known(None) if m.class_of(told) is dict else UNKNOWN


def _set_annotate(m: Machine, value: Ref, obj: VObj, new: V) -> bool:
    """Store what makes the annotations (func_set_annotate); None leaves the annotations that have been made."""
    made = m.class_of(new)
    if made is FUNCTION or (made is types.NoneType and m.class_of(m.resolve(obj.cells[_ANNOTATIONS])) is not dict):
        m.put(value, obj.with_cell(_ANNOTATIONS, new))
        return True
    return made is types.NoneType


# ------------------------------------------------------------------------------------------------- stores


def put(m: Machine, value: Ref, obj: VObj, name: str, new: V) -> bool:
    """``value.name = new``; return False if the store must be emitted for the real function."""
    if name in _NAMES and isinstance(new, Known) and type(new.value) is str:
        extra = list(obj.extra)
        extra[_NAMES[name]] = new.value
        m.put(value, obj.replace(extra=tuple(extra)))  # also if it is real: generators that it makes get their name from here
        return obj.node is None
    if obj.node is not None or name in _NAMES:
        return False
    if name in _HELD:
        _hold(m, value, name, new)
    elif name == "__annotations__":
        if m.class_of(new) is not dict:
            return False
        m.put(value, obj.with_cell(_ANNOTATIONS, new))
    elif name == _ANNOTATE and _is_field(name):
        return _set_annotate(m, value, obj, new)
    elif name == DICT or (name == _TYPE_PARAMS and _is_field(name)):
        if m.class_of(new) is not (dict if name == DICT else tuple):
            return False
        _hold(m, value, name, new)
    elif _is_field(name):
        return False
    else:
        return _store(m, value, name, new)
    return True


def _store(m: Machine, value: Ref, name: str, new: V) -> bool:
    inside = _dictionary(m, value)
    attributes = m.obj(inside, "dict")
    if attributes is None or attributes.node is not None:
        return False
    assert isinstance(inside, Ref)
    m.put(inside, attributes.with_named(name, new))
    return True


def remove(m: Machine, value: Ref, obj: VObj, name: str) -> "bool | None":
    """``del value.name``; return False if the deletion must be emitted for the real function, None if there is no such attribute."""
    if obj.node is not None or _is_field(name):
        return False
    inside = held(obj, DICT)
    if inside is None:
        return None
    attributes = m.obj(inside, "dict")
    if attributes is None or attributes.node is not None:
        return False
    index = attributes.find(name)
    if index < 0:
        return None
    assert isinstance(inside, Ref)
    m.put(inside, attributes.without(index))
    return True
