"""Writing and deleting attributes (CPython: Objects/object.c, Objects/typeobject.c)."""

import threading
from typing import Any, Final

from hovis.engine.calls import models
from hovis.engine.control import generators
from hovis.engine.machine import exceptions
from hovis.engine.machine.call_results import finish
from hovis.engine.machine.machine import Machine
from hovis.engine.objects import class_attributes, descriptors, functions, instances
from hovis.engine.objects.class_attributes import Thawed, class_attribute
from hovis.engine.state import class_templates
from hovis.engine.state.specialization_tables import GiveUp, Restart
from hovis.engine.state.type_lookup import ABSENT, FUNCTION, NOT_MODELLED, find, has_dict, is_data, is_data_descriptor, is_plain, is_python_class
from hovis.engine.state.values import NONE, Dyn, Known, Ref, V, ends_unseen, is_same
from hovis.engine.traced import slot_protocols
from hovis.ir.model import Effect
from hovis.lattice import ANY, AbstractValue, Array, Type, join
from hovis.lattice import Any as AnyType
from hovis.lattice.inspection import is_a

#: Effects of a store that runs no user code.
QUIET: Final = Effect.WRITES | Effect.RAISES
_NONE: Final = Type(type(None))


#: Status: the store or deletion is done, and has no result.
DONE: Final = object()


def set(m: Machine, target: V, name: str, value: V, mode: str = "discard") -> int | None:
    """``target.name = value`` (PyObject_SetAttr)."""
    return _done(m, _set(m, target, name, value, mode), mode)


def _done(m: Machine, status: Any, mode: str) -> int | None:
    return finish(m, NONE, mode) if status is DONE else status


def run(m: Machine, fn: V, args: list[V], mode: str) -> int | None:
    """Call a method that the user wrote, and ignore its result."""
    if mode == "discard":
        return m.call(fn, args, {}, mode)
    return m.call(Known(slot_protocols.without_result), [fn, *args], {}, mode)


#: Attributes of a function that determine what a call of it does.
_CALLED_BY: Final = frozenset({"__code__", "__defaults__", "__kwdefaults__"})


def _set(m: Machine, target: V, name: str, value: V, mode: str) -> Any:
    acted = models.acting(m, target)
    if acted is not None and models.set_attribute(m, target, acted, name, value):
        return DONE
    target = m.resolve(target)
    if isinstance(target, Ref) and name in _CALLED_BY and m.obj(target, "function"):
        # calls after this store call another function: forget what is known of this one
        m.operand(target)
        m.put(target, m.state.heap[target.aid].replace(forgotten=True, cells=(), keys=()))
        target = m.resolve(target)
    if isinstance(target, Ref) and (function := m.obj(target, "function")) is not None and functions.put(m, target, function, name, value):
        return DONE
    if isinstance(target, Ref) and (generator := m.obj(target, "generator")) is not None and generators.rename(m, target, generator, name, value):
        return DONE
    if isinstance(target, Known):
        if is_a(target.value, type):
            return _set_on_class(m, target, target.value, name, value, mode)
        if name in _CALLED_BY and type(target.value) is FUNCTION and m.environment.leave_function(target.value):
            raise Restart("thaw")
        if functions.has_own(target.value, name):
            m.environment.thaw(vars(target.value))
            return left(m, setattr, [target, Known(name), value], QUIET)
        m.environment.thaw_attribute(target.value, name)
        target = m.resolve(target)
    cls = m.class_of(target)
    if cls is None:
        if name == "__class__":
            raise GiveUp("it changes the class of an object")
        return left(m, setattr, [target, Known(name), value])
    if isinstance(target, Dyn) and m.environment.doubts() and is_data(cls, name):
        return left(m, setattr, [target, Known(name), value])
    hook = find(cls, "__setattr__")
    if type(hook) is FUNCTION:
        return run(m, Known(hook), [target, Known(name), value], mode)
    if hook not in _SETATTR:
        return left(m, setattr, [target, Known(name), value], QUIET if cls is threading.local else Effect.OPAQUE)
    return generic_set(m, target, cls, name, value, mode)


#: The wrappers of PyObject_GenericSetAttr: that of object, and until 3.12 also that of exceptions.
_SETATTR: Final = (object.__setattr__, BaseException.__setattr__)
_DELATTR: Final = (object.__delattr__, BaseException.__delattr__)


def left(m: Machine, fn: Any, args: list[V], effect: Effect = Effect.OPAQUE) -> object:
    """Emit the call of fn, which changes the real object."""
    m.emit(fn, args, type=_NONE, effect=effect)
    return DONE


def complain(m: Machine, fn: Any, args: list[V]) -> int:
    """Emit the call of fn, which the real object refuses with its own message."""
    left(m, fn, args, Effect.RAISES | Effect.READS)
    return m.unreachable()


def _setter(cls: type | None) -> Any:
    """Return a callable that does no more than generic_set: the class may have an ``__setattr__``, which has led here."""
    return setattr if cls is None or find(cls, "__setattr__") in _SETATTR else object.__setattr__


def generic_set(m: Machine, target: V, cls: type, name: str, value: V, mode: str) -> Any:
    """Store through a data descriptor, or into the instance (_PyObject_GenericSetAttrWithDict)."""
    raw, fn = class_attribute(m, cls, name), _setter(cls)
    told = [target, Known(name), value]
    if type(raw) is Thawed:
        return _store(m, target, name, value, False) if raw.plain and has_dict(cls) else left(m, fn, told)
    slot = instances.is_slot(raw)
    if raw is not ABSENT and not slot and is_data_descriptor(raw):
        called = descriptors.setter(raw, target, value)
        if called is not NOT_MODELLED:
            return run(m, called[0], called[1], mode)
        return _set_field(m, target, cls, name, raw, value)
    if slot and not is_python_class(raw.__objclass__):
        return left(m, fn, told)
    if not slot and not has_dict(cls):
        return complain(m, fn, told)
    if raw is ABSENT:
        m.environment.looked_for_descriptor(cls, name)
    return _store(m, target, name, value, slot)


#: Attributes of an array that its type contains, or that determine its type.
_SHAPING: Final = frozenset({"shape", "dtype", "strides"})


def _set_field(m: Machine, target: V, cls: type, name: str, raw: Any, value: V) -> Any:
    """Store into a field that C code manages."""
    told, fn = [target, Known(name), value], _setter(cls)
    if is_a(raw, property):
        return complain(m, fn, told)
    if name == "__dict__" and instances.dict_descriptor(cls) and isinstance(target, Ref) and instances.give_dictionary(m, target, value):
        return DONE
    if isinstance(target, Ref) and m.obj(target, "exception") is not None:
        if exceptions.store(m, target, name, value):
            return DONE
        return left(m, fn, told, QUIET if name in exceptions.MARKS else Effect.OPAQUE)
    if name == "__dict__" and isinstance(value, Known):
        # the dict is shared: a write to the attributes of the object is a write to the dict, and vice versa
        m.environment.thaw(value.value)
    if name in _SHAPING and isinstance(m.type_of(target), Array):
        action = m.library.actions.get(raw)
        if action is not None and action(m, [target, value], {}) is not None:
            return DONE
        raise GiveUp("it changes the shape, dtype or strides of an array in place")
    if name == "__class__" and raw is object.__dict__["__class__"]:
        return _change_class(m, target, value)
    return left(m, fn, told)


def _change_class(m: Machine, target: V, value: V) -> object:
    """``target.__class__ = value``, for a virtual instance and a class whose instances have the same layout."""
    obj = m.obj(target, "instance")
    if obj is None or obj.node is not None or not isinstance(value, Known) or not is_a(value.value, type):
        raise GiveUp("it changes the class of an object")
    new = value.value
    slots = any("__slots__" in base.__dict__ for cls in (obj.cls, new) for base in cls.__mro__)
    if slots or not is_plain(new) or not is_plain(obj.cls):
        raise GiveUp("it changes the class of an object")
    assert isinstance(target, Ref)
    m.put(target, obj.replace(cls=new))
    return DONE


def _store(m: Machine, target: V, name: str, value: V, slot: bool) -> object:
    """Store into the instance itself."""
    if isinstance(target, Ref):
        if instances.put(m, target, name, value, slot) or (not slot and exceptions.store(m, target, name, value)):
            return DONE
        obj = m.obj(target, "instance")
        if obj is not None and instances.dictionary(m, obj) is None:
            return _store_through(m, target, name, value)
    return left(m, _setter(m.class_of(target)), [target, Known(name), value], QUIET)


def _store_through(m: Machine, target: Ref, name: str, value: V) -> object:
    """Store into a real object whose contents are known: emit the store, and update the known contents."""
    obj = m.obj(target)
    index = obj.find(name) if obj is not None else -1
    if obj is not None and index >= 0 and is_same(obj.cells[index], value):
        return DONE
    within = target.aid if obj is not None and (index < 0 or ends_unseen(obj.cells[index])) else None
    m.emit(object.__setattr__, [target, Known(name), value], type=_NONE, effect=Effect.WRITES, within=within)
    obj = m.state.heap[target.aid]
    if not obj.forgotten:
        m.put(target, obj.with_named(name, value))
    return DONE


# ------------------------------------------------------------------------------------------------- deletion


def delete(m: Machine, target: V, name: str, mode: str = "discard") -> int | None:
    """``del target.name``."""
    return _done(m, _delete(m, target, name, mode), mode)


def _delete(m: Machine, target: V, name: str, mode: str) -> Any:
    target = m.resolve(target)
    if isinstance(target, Ref) and (function := m.obj(target, "function")) is not None:
        done = functions.remove(m, target, function, name)
        if done:
            return DONE
        if done is None:
            return complain(m, delattr, [target, Known(name)])
    if isinstance(target, Known):
        if is_a(target.value, type):
            return _delete_from_class(m, target, target.value, name, mode)
        if functions.has_own(target.value, name):
            m.environment.thaw(vars(target.value))
            return left(m, delattr, [target, Known(name)], QUIET)
        m.environment.thaw_attribute(target.value, name)
        target = m.resolve(target)
    cls = m.class_of(target)
    if cls is None:
        return left(m, delattr, [target, Known(name)])
    hook = find(cls, "__delattr__")
    if type(hook) is FUNCTION:
        return run(m, Known(hook), [target, Known(name)], mode)
    if hook not in _DELATTR:
        return left(m, delattr, [target, Known(name)])
    return generic_delete(m, target, cls, name, mode)


def generic_delete(m: Machine, target: V, cls: type, name: str, mode: str) -> Any:
    """Delete through a data descriptor, or from the instance (_PyObject_GenericSetAttrWithDict)."""
    raw, fn = class_attribute(m, cls, name), delattr if find(cls, "__delattr__") in _DELATTR else object.__delattr__
    told = [target, Known(name)]
    if type(raw) is Thawed:
        return left(m, fn, told)
    slot = instances.is_slot(raw)
    if raw is not ABSENT and not slot and is_data_descriptor(raw):
        called = descriptors.deleter(raw, target)
        if called is not NOT_MODELLED:
            return run(m, called[0], called[1], mode)
        return complain(m, fn, told) if is_a(raw, property) else left(m, fn, told)
    if isinstance(target, Ref):
        done = instances.remove(m, target, name, slot)
        if done is None:
            return complain(m, fn, told)
        if done:
            return DONE
    return left(m, fn, told, QUIET)


# ------------------------------------------------------------------------------------------------- attributes of classes


def _set_on_class(m: Machine, target: Known, cls: type, name: str, value: V, mode: str) -> Any:
    """Store into the dictionary of a class, permanently (type_setattro)."""
    if find(type(cls), "__setattr__") is not type.__dict__["__setattr__"]:
        hook = find(type(cls), "__setattr__")
        if type(hook) is FUNCTION:
            return run(m, Known(hook), [target, Known(name), value], mode)
    else:
        raw = class_attribute(m, type(cls), name)
        if raw is not ABSENT and type(raw) is not Thawed and is_data_descriptor(raw):
            called = descriptors.setter(raw, target, value)
            if called is not NOT_MODELLED:
                return run(m, called[0], called[1], mode)
    template = class_templates.template_of(cls)
    if template is not None:
        class_attributes.set_attribute(m, template, name, value)
        return DONE
    kind = m.type_of_in(m.state, value)
    _thaw(m, cls, name, kind)
    return left(m, setattr, [target, Known(name), value], _class_effect(cls))


def _delete_from_class(m: Machine, target: Known, cls: type, name: str, mode: str) -> Any:
    hook = find(type(cls), "__delattr__")
    if type(hook) is FUNCTION:
        return run(m, Known(hook), [target, Known(name)], mode)
    template = class_templates.template_of(cls)
    if template is not None:
        return DONE if (status := class_attributes.delete_attribute(m, template, name)) is None else status
    _thaw(m, cls, name, ANY)
    return left(m, delattr, [target, Known(name)], _class_effect(cls))


def _class_effect(cls: type) -> Effect:
    return QUIET if type(cls) is type else Effect.OPAQUE


def _thaw(m: Machine, cls: type, name: str, kind: AbstractValue) -> None:
    """Mark the attribute of a class as read at run time from now on, and raise Restart; GiveUp if it is a special method."""
    if name.startswith("__") and name.endswith("__") and name not in _HARMLESS:
        raise GiveUp("it changes a special method of a class")
    place = id(cls), name
    raw = find(cls, name)
    before = m.tables.thawed_attributes.get(place)
    if before is None:
        certain = raw is not ABSENT and not isinstance(kind, AnyType)
        after = Thawed(join(m.type_of_in(m.state, Known(raw)), kind) if certain else kind, certain)
    else:
        after = Thawed(join(before.kind, kind), before.certain and not isinstance(kind, AnyType))
        if (after.kind, after.certain) == (before.kind, before.certain):
            return
    m.tables.thawed_attributes[place] = after
    m.tables.kept[id(cls)] = cls
    m.environment.drop_guards(cls, name)
    raise Restart("thaw")


_HARMLESS: Final = frozenset({"__doc__", "__module__", "__annotations__", "__qualname__", "__name__"})


