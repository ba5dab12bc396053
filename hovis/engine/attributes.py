"""Attributes: reading, writing, deleting, super (CPython: Objects/object.c, Objects/typeobject.c)."""

import operator
import types
from typing import Any

from hovis.engine import exceptions
from hovis.engine.heap import VObj
from hovis.engine.lookups import C_DATA, C_METHODS, FUNCTION, has_dict, is_data_descriptor, is_python_class, lookup, own_getattribute, special
from hovis.engine.machine import Machine
from hovis.engine.results import finish
from hovis.engine.values import STRONG, Dyn, Known, Ref, V, labels_of, relabel
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.lattice import Type
from hovis.lattice.constants import is_immutable


def get(m: Machine, value: V, name: str, mode: str = "value") -> int | None:
    """``value.name``."""
    value = m.resolve(value)
    if isinstance(value, Dyn):
        return _get_dyn(m, value, name, mode)
    if isinstance(value, Ref):
        return _get_object(m, value, name, mode)
    return _get_known(m, value, name, mode)


def get_again(m: Machine, value: Known, name: str) -> int | None:
    """An opaque call may have changed what a module, a class or an instance has by this name: the residual looks.

    Only as the last thing an instruction does, as in suspects.read.
    """
    depth, block, emitted = len(m.state.frames), m.block, m.emitted
    status = get(m, value, name, "value")
    if status is not None or m.block is not block or m.emitted != emitted or len(m.state.frames) != depth:
        return status
    found = m.frame.stack[-1]
    held = value.value
    if not isinstance(found, Known) or (not is_python_class(held) if isinstance(held, type) else is_immutable(held)):
        return status
    m.pop()
    read = m.emit(getattr, [value, Known(name)], effect=Effect.READS | Effect.RAISES)
    same = m.emit(operator.is_, [read, found], type=Type(bool), effect=Effect.PURE)
    changed = m.state.fork()
    changed.world = 2
    changed.frames[-1].stack.append(read)
    changed.frames[-1].pc += 1
    m.split(same, changed)
    m.push(found)
    return None


def _left(m: Machine, value: V, name: str, mode: str, effect: Effect = Effect.OPAQUE) -> int | None:
    return finish(m, m.emit(getattr, [value, Known(name)], effect=effect), mode)


def _get_known(m: Machine, value: Known, name: str, mode: str) -> int | None:
    held, labels = value.value, value.labels
    if labels:
        m.mark(labels, STRONG)
    if isinstance(held, types.ModuleType):
        if type(held) is types.ModuleType and name in held.__dict__ and m.state.world < 2:
            m.guard("item", held.__dict__, name, held.__dict__[name])
            return finish(m, Known(held.__dict__[name], labels), mode)
        return _left(m, value, name, mode)
    if isinstance(held, type):
        return _get_of_class(m, value, held, name, mode)
    cls = type(held)
    if own_getattribute(cls):
        return _getattribute(m, value, cls, name, mode)
    if is_python_class(cls):
        m.guard("type", held, None, cls)
    raw = lookup(cls, name)
    m.guard("class", cls, name, raw)
    if raw is not None and is_data_descriptor(raw):
        return _get_data(m, value, raw, name, mode)
    own = getattr(held, "__dict__", None) if has_dict(cls) else None
    if own is not None and name in own:
        if m.static(value):
            return finish(m, Known(own[name], labels), mode)
        return _left(m, value, name, mode, Effect.READS | Effect.RAISES)
    if own is not None:
        m.guard("item", own, name, ops.UNBOUND)
    return _bind(m, value, cls, raw, name, mode)


def _get_data(m: Machine, value: V, raw: Any, name: str, mode: str) -> int | None:
    """A data descriptor: a property, a slot, a field of C code."""
    if isinstance(raw, property):
        if isinstance(raw.fget, FUNCTION):
            return m.call(Known(raw.fget), [value], {}, mode)
        return _left(m, value, name, mode)
    if isinstance(value, Known):
        held = value.value
        if is_immutable(held) or isinstance(held, FUNCTION | types.BuiltinFunctionType | types.CodeType | types.MethodType):
            found = getattr(held, name)
            if is_immutable(found) or isinstance(held, types.MethodType) or name == "__code__":
                return finish(m, Known(found, value.labels), mode)
            return _left(m, value, name, mode, Effect.READS)
        if isinstance(raw, types.MemberDescriptorType) and is_python_class(type(held)) and m.static(value):
            try:
                return finish(m, Known(raw.__get__(held), value.labels), mode)
            except AttributeError:
                return _left(m, value, name, mode, Effect.READS | Effect.RAISES)
    get_ = special(type(raw), "__get__")
    if get_ is not None:
        cls = m.class_of(value)
        return m.call(Known(get_), [Known(raw), value, Known(cls)], {}, mode)
    return _left(m, value, name, mode)


def _bind(m: Machine, value: V, cls: type, raw: Any, name: str, mode: str) -> int | None:
    """What the class has to offer: a method, a plain value, ``__getattr__``."""
    if raw is None:
        # None may be the very value of the attribute
        if any(name in base.__dict__ for base in cls.__mro__):
            return finish(m, Known(None, labels_of(value)), mode)
        hook = lookup(cls, "__getattr__")
        if isinstance(hook, FUNCTION):
            return m.call(Known(hook), [value, Known(name)], {}, mode)
        return _left(m, value, name, mode, Effect.OPAQUE if hook is not None else Effect.RAISES | Effect.READS)
    if isinstance(raw, FUNCTION | types.MethodDescriptorType | types.WrapperDescriptorType):
        return finish(m, m.new(VObj("method", types.MethodType, (Known(raw), value)), labels_of(value)), mode)
    if isinstance(raw, staticmethod):
        return finish(m, Known(raw.__func__, labels_of(value)), mode)
    if isinstance(raw, classmethod):
        if isinstance(raw.__func__, FUNCTION):
            return finish(m, m.new(VObj("method", types.MethodType, (Known(raw.__func__), Known(cls)))), mode)
        return _left(m, value, name, mode)
    if isinstance(raw, types.ClassMethodDescriptorType):
        return finish(m, Known(getattr(cls, name)), mode)
    if not hasattr(type(raw), "__get__"):
        return finish(m, Known(raw, labels_of(value)), mode)
    get_ = special(type(raw), "__get__")
    if get_ is not None:
        return m.call(Known(get_), [Known(raw), value, Known(cls)], {}, mode)
    return _left(m, value, name, mode)


def _getattribute(m: Machine, value: V, cls: type, name: str, mode: str) -> int | None:
    hook = special(cls, "__getattribute__")
    if hook is not None and lookup(cls, "__getattr__") is None:
        return m.call(Known(hook), [value, Known(name)], {}, mode)
    return _left(m, value, name, mode)


def _get_of_class(m: Machine, value: Known, cls: type, name: str, mode: str) -> int | None:
    """An attribute of a class (type_getattro)."""
    meta = type(cls)
    if lookup(meta, "__getattribute__") is not type.__dict__["__getattribute__"]:
        return _left(m, value, name, mode)
    from_meta = lookup(meta, name)
    if from_meta is not None and is_data_descriptor(from_meta):
        if name in ("__name__", "__qualname__", "__module__", "__mro__", "__bases__", "__base__"):
            return finish(m, Known(getattr(cls, name), value.labels), mode)
        return _left(m, value, name, mode)
    if any(name in base.__dict__ for base in cls.__mro__):
        raw = lookup(cls, name)
        m.guard("class", cls, name, raw)
        get_ = lookup(type(raw), "__get__")
        harmless = isinstance(raw, (FUNCTION, staticmethod, property, *C_METHODS, *C_DATA)) or get_ is None or type(raw).__module__ == "enum"
        if harmless or (isinstance(raw, classmethod) and isinstance(raw.__func__, FUNCTION)):
            if isinstance(raw, C_DATA) and is_python_class(cls) is False and name == "__doc__":
                return _left(m, value, name, mode)
            m.static(value)
            return finish(m, Known(getattr(cls, name), value.labels), mode)
        return _left(m, value, name, mode)
    if from_meta is not None and isinstance(from_meta, FUNCTION | types.MethodDescriptorType):
        return finish(m, m.new(VObj("method", types.MethodType, (Known(from_meta), value))), mode)
    return _left(m, value, name, mode)


def _get_object(m: Machine, value: Ref, name: str, mode: str) -> int | None:
    obj = m.state.heap[value.aid]
    cls = obj.cls
    if obj.kind == "super":
        return _get_from_super(m, obj, name, mode)
    if obj.kind in ("slice", "range") and name in ("start", "stop", "step"):
        return finish(m, obj.cells[("start", "stop", "step").index(name)], mode)
    if obj.kind == "method":
        return _get_of_method(m, value, obj, name, mode)
    if obj.kind == "function":
        if obj.node is None and name in ("__name__", "__qualname__"):
            return finish(m, Known(obj.extra[2 if name == "__name__" else 3]), mode)
        return _left(m, value, name, mode)
    if own_getattribute(cls) and is_python_class(cls):
        return _getattribute(m, value, cls, name, mode)
    raw = lookup(cls, name)
    m.guard("class", cls, name, raw)
    if obj.kind == "instance":
        if raw is not None and is_data_descriptor(raw) and not isinstance(raw, types.MemberDescriptorType):
            return _left(m, value, name, mode) if name == "__dict__" else _get_data(m, value, raw, name, mode)
        index = obj.find(name)
        if index >= 0:
            return finish(m, relabel(obj.cells[index], value.labels), mode)
        if isinstance(raw, types.MemberDescriptorType):
            hook = special(cls, "__getattr__")
            return m.call(Known(hook), [value, Known(name)], {}, mode) if hook else _left(m, value, name, mode, Effect.RAISES | Effect.READS)
    elif obj.kind == "exception":
        if name == "__class__":
            return finish(m, Known(cls), mode)
        if raw is not None and is_data_descriptor(raw) and not isinstance(raw, C_DATA):
            return _get_data(m, value, raw, name, mode)
        found = exceptions.get(m, value, name)
        if found is not None:
            return finish(m, relabel(found, value.labels), mode)
        if raw is not None and is_data_descriptor(raw):
            return _left(m, value, name, mode)
    elif obj.kind == "tuple" and type(raw).__name__ == "_tuplegetter":
        return finish(m, relabel(obj.cells[raw.__reduce__()[1][0]], value.labels), mode)
    elif raw is not None and is_data_descriptor(raw):
        return _get_data(m, value, raw, name, mode)
    return _bind(m, value, cls, raw, name, mode)


def _get_of_method(m: Machine, value: Ref, obj: VObj, name: str, mode: str) -> int | None:
    if name == "__self__":
        return finish(m, obj.cells[1], mode)
    if name == "__func__" and not (isinstance(obj.cells[0], Known) and not isinstance(obj.cells[0].value, FUNCTION)):
        return finish(m, obj.cells[0], mode)
    if name in ("__name__", "__qualname__", "__doc__", "__module__"):
        return get(m, obj.cells[0], name, mode)
    return _left(m, value, name, mode)


def _get_dyn(m: Machine, value: Dyn, name: str, mode: str) -> int | None:
    cls = m.class_of(value)
    if cls is None:
        return _left(m, value, name, mode)
    rule = m.library.attributes.get((cls, name))
    if rule is not None:
        found = rule(m, value)
        if found is not None:
            return finish(m, found, mode)
    raw = lookup(cls, name)
    if isinstance(raw, types.MethodDescriptorType | types.WrapperDescriptorType) and not has_dict(cls) and not own_getattribute(cls):
        return finish(m, m.new(VObj("method", types.MethodType, (Known(raw), value))), mode)
    if isinstance(raw, FUNCTION) and not has_dict(cls) and not own_getattribute(cls):
        return finish(m, m.new(VObj("method", types.MethodType, (Known(raw), value))), mode)
    if isinstance(raw, property) and isinstance(raw.fget, FUNCTION) and not own_getattribute(cls):
        return m.call(Known(raw.fget), [value], {}, mode)
    if not is_python_class(cls) and isinstance(raw, C_DATA):
        return _left(m, value, name, mode, Effect.READS | Effect.RAISES)
    return _left(m, value, name, mode)


# ------------------------------------------------------------------------------------------------- super


def get_super(m: Machine, cls: V, instance: V, name: str) -> int | None:
    """``super(cls, instance).name`` (super_getattro)."""
    if not isinstance(cls, Known) or not isinstance(cls.value, type):
        return _left(m, m.emit(super, [cls, instance]), name, "value")
    return _get_from_super(m, VObj("super", super, (cls, instance)), name, "value")


def _get_from_super(m: Machine, obj: VObj, name: str, mode: str) -> int | None:
    cls, instance = obj.cells
    assert isinstance(cls, Known)
    assert isinstance(cls.value, type)
    start, bound_class = _super_class(m, cls.value, m.resolve(instance))
    if start is None:
        return _left(m, m.emit(super, [cls, instance]), name, mode)
    mro = start.__mro__
    for base in mro[mro.index(cls.value) + 1 :]:
        if name in base.__dict__:
            raw = base.__dict__[name]
            if isinstance(raw, FUNCTION | types.MethodDescriptorType | types.WrapperDescriptorType):
                if bound_class:
                    return finish(m, Known(raw), mode)
                return finish(m, m.new(VObj("method", types.MethodType, (Known(raw), instance))), mode)
            if isinstance(raw, classmethod) and isinstance(raw.__func__, FUNCTION):
                return finish(m, m.new(VObj("method", types.MethodType, (Known(raw.__func__), Known(start)))), mode)
            if isinstance(raw, staticmethod):
                return finish(m, Known(raw.__func__), mode)
            if raw is object.__dict__["__new__"] or (name == "__new__" and not isinstance(raw, FUNCTION)):
                return finish(m, Known(raw), mode)
            if isinstance(raw, property) and isinstance(raw.fget, FUNCTION) and not bound_class:
                return m.call(Known(raw.fget), [instance], {}, mode)
            if not hasattr(type(raw), "__get__"):
                return finish(m, Known(raw), mode)
            break
    return _left(m, m.emit(super, [cls, instance]), name, mode)


def _super_class(m: Machine, cls: type, instance: V) -> tuple[type | None, bool]:
    """Whose MRO super() walks, and whether the instance is itself a class (supercheck)."""
    if isinstance(instance, Known) and isinstance(instance.value, type) and cls in instance.value.__mro__:
        return instance.value, True
    start = m.class_of(instance)
    return (start, False) if start is not None and cls in start.__mro__ else (None, False)


# ------------------------------------------------------------------------------------------------- writing attributes


def set(m: Machine, target: V, name: str, value: V) -> int | None:
    """``target.name = value``."""
    target = m.resolve(target)
    if isinstance(target, Known):
        m.thaw(target.value)
    cls = m.class_of(target)
    if cls is not None and not isinstance(target, Known):
        hook = special(cls, "__setattr__")
        if hook is not None:
            return m.call(Known(hook), [target, Known(name), value], {}, "discard")
        raw = lookup(cls, name)
        if isinstance(raw, property) and isinstance(raw.fset, FUNCTION):
            return m.call(Known(raw.fset), [target, value], {}, "discard")
        setter = special(type(raw), "__set__") if raw is not None else None
        if setter is not None:
            return m.call(Known(setter), [Known(raw), target, value], {}, "discard")
        if isinstance(target, Ref) and store(m, target, name, value):
            return None
        if isinstance(target, Ref) and name in exceptions.MARKS and m.obj(target, "exception"):
            m.emit(setattr, [target, Known(name), value], type=Type(type(None)), effect=Effect.WRITES | Effect.RAISES)
            return None
    m.emit(setattr, [target, Known(name), value], type=Type(type(None)))
    return None


def store(m: Machine, target: Ref, name: str, value: V) -> bool:
    """object.__setattr__ on an object of this trace; False: it has to be done by the real one."""
    obj = m.obj(target, "instance", "exception")
    if obj is not None and obj.kind == "exception":
        raw = lookup(obj.cls, name)
        return (raw is None or isinstance(raw, C_DATA) or not is_data_descriptor(raw)) and exceptions.store(m, target, name, value)
    if obj is None or (lookup(obj.cls, "__setattr__") not in (object.__dict__["__setattr__"],) and special(obj.cls, "__setattr__") is None):
        return False
    raw = lookup(obj.cls, name)
    if raw is not None and is_data_descriptor(raw) and not isinstance(raw, types.MemberDescriptorType):
        return False
    if raw is None and not has_dict(obj.cls):
        return False
    if isinstance(raw, types.MemberDescriptorType) is False and not has_dict(obj.cls):
        return False
    if obj.node is not None:
        m.emit(object.__setattr__, [target, Known(name), value], type=Type(type(None)), effect=Effect.WRITES)
        obj = m.state.heap[target.aid]
        if obj.forgotten:
            return True
    index = obj.find(name)
    m.put(target, obj.with_cell(index, value) if index >= 0 else obj.with_new(name, value))
    return True


def delete(m: Machine, target: V, name: str) -> int | None:
    """``del target.name``."""
    target = m.resolve(target)
    if isinstance(target, Known):
        m.thaw(target.value)
    cls = m.class_of(target)
    if cls is not None and isinstance(target, Ref):
        hook = special(cls, "__delattr__")
        if hook is not None:
            return m.call(Known(hook), [target, Known(name)], {}, "discard")
        if remove(m, target, name):
            return None
    m.emit(delattr, [target, Known(name)], type=Type(type(None)))
    return None


def remove(m: Machine, target: Ref, name: str) -> bool:
    """object.__delattr__ on a virtual object; False: it has to be done by the real one."""
    obj = m.obj(target, "instance")
    if obj is None or obj.node is not None:
        return False
    index = obj.find(name)
    raw = lookup(obj.cls, name)
    if index < 0 or (raw is not None and is_data_descriptor(raw) and not isinstance(raw, types.MemberDescriptorType)):
        return False
    m.put(target, obj.without(index))
    return True

