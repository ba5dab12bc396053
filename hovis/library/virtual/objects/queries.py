"""Actions for queries about any object: its length, its class, whether it can be called."""

import operator
import types
import weakref
from typing import Any, Final

from hovis.engine.calls import operators
from hovis.engine.machine.machine import Machine
from hovis.engine.objects.class_attributes import class_attribute
from hovis.engine.state import class_templates
from hovis.engine.state.type_lookup import flat, has_own_hook, is_python_class, lookup, special
from hovis.engine.state.values import Dyn, Known, Ref, V, labels_of, relabel
from hovis.engine.traced import slot_protocols
from hovis.ir.model import Effect
from hovis.lattice import Array, Type, Union
from hovis.lattice.inspection import is_a
from hovis.library.virtual.base import Args, Named, action, pushed


@action(len, counts=(1, 1))
def length(m: Machine, args: Args, named: Named) -> Any:
    if len(args) != 1:
        return None
    value = args[0]
    obj = m.obj(value, "list", "tuple", "dict", "set", "objects", "view")
    if obj is not None and obj.kind == "view":
        return length(m, [relabel(m.resolve(obj.cells[0]), labels_of(value))], named)
    if obj is not None and not special(obj.cls, "__len__"):
        return Known(len(obj.keys if obj.kind == "set" else obj.cells), labels_of(value))
    if isinstance(value, Known) and type(value.value) in (list, dict, set, tuple, str, bytes, frozenset, range) and m.environment.static(value):
        return Known(len(value.value), value.labels)  # type: ignore[arg-type]
    if isinstance(value, Dyn) and isinstance(value.type, Array) and value.dims and isinstance(value.dims[0], Known):
        return value.dims[0]
    range_ = m.obj(value, "range")
    if range_ is not None and all(isinstance(c, Known) for c in range_.cells):
        bounds: Any = [c.value for c in range_.cells if isinstance(c, Known)]
        try:
            return Known(len(range(*bounds)), labels_of(*range_.cells))
        except OverflowError:
            return None
    return operators.length(m, value)


@action(isinstance, counts=(2, 2))
def is_instance(m: Machine, args: Args, named: Named) -> Any:
    if len(args) != 2:
        return None
    cls = m.class_of(args[0])
    classes = _class_info(m, args[1])
    if classes is None:
        return _by_metaclass(m, args)
    if cls is not None:
        if not m.environment.is_subclass(cls, classes) and not _honest(m, cls):
            return _by_shown_class(m, args[0], classes)
        return Known(m.environment.is_subclass(cls, classes), labels_of(args[0], args[1]) if not isinstance(args[0], Dyn) else frozenset())
    kind = m.type_of(args[0])
    if isinstance(kind, Union):
        if not all(isinstance(t, Type) and _honest(m, t.cls) for t in kind.members):
            return None
        if any(isinstance(t, Type) and is_python_class(t.cls) for t in kind.members):
            m.use(args[0])  # objects were joined here, and the contents of one would be known without the join
        found = {m.environment.is_subclass(t.cls, classes) for t in kind.members if isinstance(t, Type)}
        if len(found) == 1:
            return Known(found.pop())
        return m.emit(isinstance, [args[0], Known(classes)], type=Type(bool), effect=Effect.PURE)
    return None


#: C classes whose instances report the class of another object as ``__class__``.
_PROXIES: Final = frozenset({super, weakref.ProxyType, weakref.CallableProxyType})


def _honest(m: Machine, cls: type) -> bool:
    """Is ``x.__class__`` of an instance of cls certainly cls itself?"""
    if class_attribute(m, cls, "__class__") is not object.__dict__["__class__"]:
        return False
    getter = class_attribute(m, cls, "__getattribute__")
    return isinstance(getter, types.WrapperDescriptorType) and getter.__objclass__ not in _PROXIES


def _by_shown_class(m: Machine, value: V, classes: Any) -> Any:
    """isinstance of a value whose class is none of classes, but whose ``__class__`` may be."""
    return pushed(m, lambda: m.call(Known(slot_protocols.shows_instance), [Known(tuple(flat(classes))), value], {}))


def _by_metaclass(m: Machine, args: Args) -> Any:
    """isinstance with a class whose metaclass has an ``__instancecheck__`` written in Python."""
    if not isinstance(args[1], Known) or not is_a(args[1].value, type):
        return None
    check = special(type(args[1].value), "__instancecheck__")
    if check is None:
        return None
    return pushed(m, lambda: m.call(Known(slot_protocols.is_instance), [Known(check), args[1], args[0]], {}))


@action(issubclass, counts=(2, 2))
def is_subclass(m: Machine, args: Args, named: Named) -> Any:
    if len(args) == 2 and isinstance(args[0], Known) and is_a(args[0].value, type):
        classes = _class_info(m, args[1])
        if classes is not None:
            return Known(m.environment.is_subclass(args[0].value, classes), labels_of(*args))
    return None


#: Metaclasses of the standard library that may define ``__instancecheck__``, but one that runs no user code.
_QUIET_METACLASSES: Final = ("ABCMeta", "EnumType", "EnumMeta")


def _class_info(m: Machine, value: V) -> Any:
    """Return the classes in the second argument of isinstance if the test runs no user code; else None."""
    if isinstance(value, Ref):
        obj = m.obj(value, "tuple")
        parts = [_class_info(m, c) for c in obj.cells] if obj is not None else [None]
        return None if any(p is None for p in parts) else tuple(parts)
    if not isinstance(value, Known):
        return None
    held = value.value
    for cls in flat(held):
        if not isinstance(cls, type):
            return None
        asks = special(type(cls), "__instancecheck__") or special(type(cls), "__subclasscheck__")
        if asks is not None and (type(cls).__name__ not in _QUIET_METACLASSES or has_own_hook(cls)):
            return None
    return held


@action(operator.or_, counts=(2, 2))
def either_class(m: Machine, args: Args, named: Named) -> Any:
    """``A | B`` of classes (type_or of Objects/typeobject.c): the same immutable object for the same classes."""
    a, b = args
    if not isinstance(a, Known) or not isinstance(b, Known) or not all(map(_joins, (a.value, b.value))):
        return None
    if not is_a(a.value, type | types.UnionType) and not is_a(b.value, type | types.UnionType):
        return None
    key = (either_class, *_members(a.value), None, *_members(b.value))
    if key not in m.tables.answers:
        m.tables.answers[key] = a.value | b.value  # type: ignore[operator]
    return Known(m.tables.answers[key], labels_of(a, b))


def _members(value: object) -> tuple[object, ...]:
    """Return the members of a union, or the class or None itself, as a part of a key."""
    return value.__args__ if isinstance(value, types.UnionType) else (value,)


def _joins(value: object) -> bool:
    """Is value a class without a metaclass (which may have its own ``|``), None, or a union of these?"""
    if type(value) is types.UnionType:
        return all(map(_joins, value.__args__))
    return value is None or (type(value) is type and class_templates.of(value) is None)


@action(callable, counts=(1, 1))
def is_callable(m: Machine, args: Args, named: Named) -> Any:
    cls = m.class_of(args[0]) if len(args) == 1 else None
    if cls is None:
        return None
    return Known(callable(args[0].value)) if isinstance(args[0], Known) else Known(lookup(cls, "__call__") is not None)
