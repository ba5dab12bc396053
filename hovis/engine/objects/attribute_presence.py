"""Whether a value has an attribute, and reading one that may be absent (CPython: builtin_getattr, builtin_hasattr)."""

import types
from typing import Final

from hovis.engine.machine.call_results import finish
from hovis.engine.machine.machine import Machine
from hovis.engine.objects import descriptors, functions, instances
from hovis.engine.objects.attribute_get import FIXED, get
from hovis.engine.objects.class_attributes import Thawed, class_attribute
from hovis.engine.objects.instances import UNKNOWN
from hovis.engine.state.type_lookup import ABSENT, answers_first, find, own_getattribute
from hovis.engine.state.values import Dyn, Known, Ref, V, labels_of
from hovis.engine.traced import slot_protocols
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.lattice import Type
from hovis.lattice.inspection import is_a


def presence(m: Machine, value: V, name: str) -> bool | None:
    """Does value have the attribute? None if only the real object can tell."""
    cls = m.class_of(value)
    if cls is None:
        return None
    if isinstance(value, Ref) and (function := m.obj(value, "function")) is not None:
        found = functions.get(m, value, function, name)
        return None if found is UNKNOWN else found is not ABSENT
    if isinstance(value, Known) and is_a(value.value, types.ModuleType):
        held = value.value.__dict__
        if type(value.value) is not types.ModuleType or "__getattr__" in held or find(types.ModuleType, name) is not ABSENT:
            return None
        return name in held if m.environment.static(value, ("item", held, name, held.get(name, ops.UNBOUND))) else None
    if isinstance(value, Known) and is_a(value.value, type):
        return _class_has(m, value.value, name)
    if own_getattribute(cls) or find(cls, "__getattr__") is not ABSENT or (isinstance(value, Ref) and m.state.heap[value.aid].kind in _OWN_WAY):
        return None
    raw = class_attribute(m, cls, name)
    if type(raw) is Thawed:
        return None
    if raw is not ABSENT and answers_first(raw):
        if instances.is_slot(raw) and isinstance(value, Ref) and m.obj(value, "instance") is not None:
            return instances.own(m, value, cls, name) is not ABSENT
        return True if name in ("__class__", "__dict__") else None
    own = instances.own(m, value, cls, name)
    if raw is ABSENT and own is not ABSENT:
        m.environment.looked_for_descriptor(cls, name)
    if own is UNKNOWN:
        return True if raw is not ABSENT and descriptors.runs_nothing(raw) else None
    if own is not ABSENT:
        return True
    if raw is ABSENT:
        return False
    return True if descriptors.runs_nothing(raw) else None


#: Kinds of objects whose attributes are not found by the generic routine.
_OWN_WAY: Final = frozenset({"super", "method", "function", "slice", "range"})


def _class_has(m: Machine, cls: type, name: str) -> bool | None:
    meta = type(cls)
    if find(meta, "__getattribute__") is not type.__dict__["__getattribute__"]:
        return None
    from_meta, raw = class_attribute(m, meta, name), class_attribute(m, cls, name)
    if type(from_meta) is Thawed or type(raw) is Thawed:
        return None
    if from_meta is not ABSENT and answers_first(from_meta):
        if name == "__abstractmethods__" and from_meta is type.__dict__[name]:
            return name in cls.__dict__
        return True if name in FIXED else None
    if raw is not ABSENT:
        return True if descriptors.runs_nothing(raw) or is_a(raw, property) or type(raw).__module__ == "enum" else None
    if from_meta is not ABSENT:
        return True if descriptors.runs_nothing(from_meta) else None
    return False if find(meta, "__getattr__") is ABSENT else None


def get_or(m: Machine, value: V, name: str, default: V, mode: str) -> int | None:
    """``getattr(value, name, default)``."""
    value = m.resolve(value)
    present = presence(m, value, name)
    if present is not None:
        return get(m, value, name, mode) if present else finish(m, default, mode)
    if _asks_quietly(m, value, name):
        return finish(m, m.emit(getattr, [value, Known(name), default], effect=Effect.READS | Effect.RAISES), mode)
    if m.class_of(value) is None:
        return finish(m, m.emit(getattr, [value, Known(name), default]), mode)
    return m.call(Known(slot_protocols.attribute_or), [value, Known(name), default], {}, mode)


def has(m: Machine, value: V, name: str, mode: str) -> int | None:
    """``hasattr(value, name)``."""
    value = m.resolve(value)
    present = presence(m, value, name)
    if present is not None:
        return finish(m, Known(present, labels_of(value) if not isinstance(value, Dyn) else frozenset()), mode)
    if _asks_quietly(m, value, name):
        return finish(m, m.emit(hasattr, [value, Known(name)], type=Type(bool), effect=Effect.READS | Effect.RAISES), mode)
    if m.class_of(value) is None:
        return finish(m, m.emit(hasattr, [value, Known(name)], type=Type(bool)), mode)
    return m.call(Known(slot_protocols.has_attribute), [value, Known(name)], {}, mode)


def _asks_quietly(m: Machine, value: V, name: str) -> bool:
    """Can only the real object tell, and does asking it run no user code?"""
    cls = m.class_of(value)
    if cls is None or own_getattribute(cls) or find(cls, "__getattr__") is not ABSENT or not isinstance(value, Dyn):
        return False
    raw = class_attribute(m, cls, name)
    return type(raw) is not Thawed and (raw is ABSENT or descriptors.runs_nothing(raw))
