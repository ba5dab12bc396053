"""Reading attributes (CPython: Objects/object.c, Objects/typeobject.c, Objects/moduleobject.c).

``get`` dispatches on the class of the value, as tp_getattro does: attributes of an instance are found by ``generic``; classes,
modules and super objects have routines of their own; and a class with hooks (``__getattribute__``, ``__getattr__``) decides by these.
"""

import collections
import operator
import threading
import types
from typing import Any, Final

from hovis.engine.calls import builtin_payload, models
from hovis.engine.machine import branches, exceptions
from hovis.engine.machine.call_results import finish
from hovis.engine.machine.machine import Machine
from hovis.engine.objects import class_attributes, descriptors, functions, instances
from hovis.engine.objects.class_attributes import Thawed, class_attribute
from hovis.engine.objects.descriptors import Access
from hovis.engine.objects.instances import UNKNOWN
from hovis.engine.state import class_templates
from hovis.engine.state.heap import VObj
from hovis.engine.state.type_lookup import ABSENT, FUNCTION, NOT_MODELLED, answers_first, find, in_slot, is_common, is_data, is_python_class, own_getattribute
from hovis.engine.state.values import STRONG, Dyn, Known, Ref, V, labels_of, relabel
from hovis.engine.traced import slot_protocols
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.lattice import ANY, AbstractValue, Const, Type, Union, inline_attributes
from hovis.lattice.constants import is_immutable
from hovis.lattice.inspection import is_a

#: Effects of reading an attribute if that runs no user code.
QUIET: Final = Effect.READS | Effect.RAISES


def get(m: Machine, value: V, name: str, mode: str = "value") -> int | None:
    """``value.name`` (PyObject_GetAttr)."""
    acted = models.acting(m, value)
    if acted is not None:
        return models.get_attribute(m, value, acted, name, mode)
    value = m.resolve(value)
    if isinstance(value, Ref):
        found = _of_kind(m, value, m.state.heap[value.aid], name, mode)
        if found is not NOT_MODELLED:
            return found  # type: ignore[no-any-return]
    elif isinstance(value, Known):
        if value.labels and type(value.value) not in descriptors.NUMBERS:
            m.mark(value.labels, STRONG)
        held: Any = value.value
        if issubclass(type(held), types.ModuleType):
            return _of_module(m, value, held, name, mode)
        if issubclass(type(held), type):
            return _of_class(m, value, held, name, mode)
    cls = m.class_of(value)
    if isinstance(value, Dyn) and value.lost and (cls is None or is_python_class(cls)):
        # paths have been joined here that had objects with known contents
        m.use(value)
    if cls is None or (isinstance(value, Dyn) and m.environment.doubts() and is_data(cls, name)):
        return left(m, value, name, mode, QUIET if isinstance(value, Dyn) and _is_plain(value.type) else Effect.OPAQUE)
    return _of_instance(m, value, cls, name, mode)


def left(m: Machine, value: V, name: str, mode: str, effect: Effect = Effect.OPAQUE, kind: AbstractValue = ANY) -> int | None:
    """Emit ``getattr`` on the real object."""
    return finish(m, m.emit(getattr, [value, Known(name)], type=kind, effect=effect), mode)


def _is_plain(kind: AbstractValue) -> bool:
    """Is a value of this type of one of a few builtin classes, which run no code for their attributes?"""
    return isinstance(kind, Union) and all(isinstance(one, Type) and is_common(one.cls) for one in kind.members)


# ------------------------------------------------------------------------------------------------- instances


def _of_instance(m: Machine, value: V, cls: type, name: str, mode: str) -> int | None:
    """Read an attribute through the ``__getattribute__`` and ``__getattr__`` of the class (slot_tp_getattr_hook)."""
    found = find(cls, "__getattr__")
    hook = None if found is ABSENT else Known(found)
    if own_getattribute(cls):
        getter = find(cls, "__getattribute__")
        if type(getter) is not FUNCTION:
            # (only a subclass of threading.local may have an __init__, which runs when a thread first reads an attribute)
            return left(m, value, name, mode, QUIET if cls is threading.local else Effect.OPAQUE)
        access = Access(name, value, Known(cls), mode, hook)
        return descriptors.run(m, Known(getter), [value, Known(name)], access)
    return generic(m, Access(name, value, Known(cls), mode, hook), cls)


def _as_unknown(m: Machine, value: V) -> Dyn:
    """Return a known array as a Dyn whose contents are unknown."""
    if isinstance(value, Dyn):
        return value
    assert isinstance(value, Known)
    held: Any = value.value
    return Dyn(Const(held), m.library.of_value(held), tuple(Known(d, value.labels) for d in held.shape))


def generic(m: Machine, access: Access, cls: type) -> int | None:
    """Search data descriptors of the class, then the instance, then the rest of the class (_PyObject_GenericGetAttrWithDict)."""
    value, name = access.value, access.name
    assert value is not None
    rule = m.library.attributes.get((cls, name)) if isinstance(value, Dyn) or cls in m.library.abstractions else None
    if rule is not None:
        found = rule(m, _as_unknown(m, value))
        if found is not None:
            return finish(m, found, access.mode)
    if cls in m.library.fixed and isinstance(value, Known):
        constant = getattr(value.value, name, ABSENT)
        if is_immutable(constant) or isinstance(constant, type) or type(constant) in m.library.fixed or type(constant).__module__ == "numpy":
            return finish(m, Known(constant, value.labels), access.mode)
    raw = class_attribute(m, cls, name)
    if type(raw) is Thawed:
        return _thawed(m, access, cls, raw)
    if raw is not ABSENT and type(raw) is not FUNCTION and answers_first(raw):
        return _data(m, access, cls, raw)
    own = instances.own(m, value, cls, name)
    if raw is ABSENT and own is not ABSENT and (own is not UNKNOWN or access.hook is None):  # the hook is asked after the class
        m.environment.looked_for_descriptor(cls, name)
    if own is UNKNOWN:
        return _maybe_own(m, access, cls, raw)
    if own is not ABSENT:
        return finish(m, own, access.mode)
    return _of_class_or_missing(m, access, raw)


def _of_class_or_missing(m: Machine, access: Access, raw: Any) -> int | None:
    """Read an attribute of the class, or handle its absence, where the instance has none by that name."""
    value = access.value
    assert value is not None
    if raw is ABSENT:
        return missing(m, access, f"'{_name(m, value)}' object has no attribute '{access.name}'")
    done = descriptors.get(m, raw, access)
    return left(m, value, access.name, access.mode) if done is NOT_MODELLED else done


def _name(m: Machine, value: V) -> str:
    cls = m.class_of(value)
    assert cls is not None
    return ops.name_of_class(cls)


def missing(m: Machine, access: Access, complaint: str) -> int | None:
    """Handle a missing attribute: call ``__getattr__``, or raise AttributeError with this complaint."""
    value = access.owner if access.value is None else access.value
    if access.hook is not None:
        depth = len(m.state.frames)
        return descriptors.asked(m, m.call(access.hook, [value, Known(access.name)], {}, access.mode), depth, access)
    return m.raise_new(AttributeError, complaint, name=Known(access.name), obj=value)


def _maybe_own(m: Machine, access: Access, cls: type, raw: Any) -> int | None:
    """Read an attribute where the instance may have one of its own by this name: where it matters, the residual tests for it.

    It matters if the attribute of the class is a descriptor.  On the path where the instance has its own attribute, nothing is assumed about
    the environment any more (``world`` 2, as after a failed guard), and the frame is back before the instruction.
    """
    value, name = access.value, access.name
    assert value is not None
    if raw is ABSENT or find(type(raw), "__get__") is ABSENT:
        if access.hook is None or not instances.dict_descriptor(cls) or raw is not ABSENT:
            return left(m, value, name, access.mode, QUIET if access.hook is None else Effect.OPAQUE)
        return m.call(Known(slot_protocols.own_or_ask), [value, Known(name), access.hook], {}, access.mode)
    may_split = access.mode == "value" and m.state.world < 2 and m.frame.code.instructions[m.frame.pc].op in ("GetAttr", "GetMethod")
    if not may_split or not instances.dict_descriptor(cls):
        return left(m, value, name, access.mode, QUIET if access.hook is None and descriptors.runs_nothing(raw) else Effect.OPAQUE)
    if inline_attributes.binds(raw):
        lacks = m.emit(ops.is_method_of, [Known(cls), value, Known(name)], type=Type(bool), effect=Effect.READS)
    else:
        lacks = m.emit(ops.lacks, [value, Known(name), Known(cls)], type=Type(bool), effect=Effect.READS)
    shadowed = m.state.fork()
    shadowed.world = 2
    shadowed.frames[-1].stack.append(value)
    branches.split(m, lacks, shadowed)
    return _of_class_or_missing(m, access, raw)


def _data(m: Machine, access: Access, cls: type, raw: Any) -> int | None:
    """Read a data descriptor: a property, a slot, a field of C code."""
    value, name, mode = access.value, access.name, access.mode
    assert value is not None
    if instances.is_slot(raw) and is_python_class(raw.__objclass__):
        return _slot(m, access, cls, raw)
    if type(raw) is _FIELD and (inside := builtin_payload.held(m, value)) is not None:
        return m.call(Known(operator.getitem), [inside, Known(raw.__reduce__()[1][0])], {}, mode)
    done = descriptors.get(m, raw, access)
    if done is not NOT_MODELLED:
        return done  # type: ignore[no-any-return]
    if isinstance(value, Ref) and m.obj(value, "exception") is not None and name != "__class__":
        held = exceptions.get(m, value, name)
        return left(m, value, name, mode, QUIET) if held is None else finish(m, relabel(held, value.labels), mode)
    if name == "__class__" and raw is object.__dict__["__class__"]:
        return finish(m, Known(cls, labels_of(value) if not isinstance(value, Dyn) else frozenset()), mode)
    if name == "__dict__" and instances.dict_descriptor(cls):
        found = instances.take_dictionary(m, value)
        return finish(m, found, mode) if found is not None else left(m, value, name, mode, QUIET, Type(dict))
    if isinstance(value, Known):
        return _field_of_known(m, value, raw, name, mode)
    quiet = type(raw) in (types.MemberDescriptorType, types.GetSetDescriptorType) and access.hook is None
    return left(m, value, name, mode, QUIET if quiet and not is_python_class(raw.__objclass__) else Effect.OPAQUE)


def _slot(m: Machine, access: Access, cls: type, raw: Any) -> int | None:
    """Read an attribute named in ``__slots__`` (member_get)."""
    value, name, mode = access.value, access.name, access.mode
    assert value is not None
    own: Any = UNKNOWN
    if isinstance(value, Ref) and m.obj(value, "instance") is not None:
        own = instances.own(m, value, cls, name)
    elif isinstance(value, Known):
        held = in_slot(raw, value.value)
        if m.environment.static(value, ("slot", value.value, name, held)):
            own = ABSENT if held is ops.UNBOUND else Known(held, value.labels)
    if own is UNKNOWN:
        return left(m, value, name, mode, QUIET if access.hook is None else Effect.OPAQUE)
    if own is not ABSENT:
        return finish(m, own, mode)
    if access.hook is not None:
        return m.call(access.hook, [value, Known(name)], {}, mode)
    m.emit(getattr, [value, Known(name)], effect=QUIET)  # the error message differs between versions
    return m.unreachable()


def _field_of_known(m: Machine, value: Known, raw: Any, name: str, mode: str) -> int | None:
    """Read an attribute of a known object that C code manages."""
    held = value.value
    if is_immutable(held) or isinstance(held, FUNCTION | types.BuiltinFunctionType | types.CodeType | types.MethodType):
        found = getattr(held, name)
        if is_immutable(found) or isinstance(held, types.MethodType) or name == "__code__":
            return finish(m, Known(found, value.labels), mode)
        return left(m, value, name, mode, Effect.READS, Type(dict) if type(found) is dict else ANY)
    return left(m, value, name, mode)


# ------------------------------------------------------------------------------------------------- attributes of classes


def _thawed(m: Machine, access: Access, cls: type, raw: Thawed) -> int | None:
    value, name, mode = access.value, access.name, access.mode
    assert value is not None
    own: Any = instances.own(m, value, cls, name, exactly=True) if raw.plain and raw.certain else UNKNOWN
    if own is UNKNOWN:
        return left(m, value, name, mode, QUIET if raw.plain and access.hook is None else Effect.OPAQUE)
    if own is ABSENT:
        return left(m, Known(cls), name, mode, QUIET, raw.kind)
    return finish(m, own, mode)


def _of_class(m: Machine, value: Known, cls: type, name: str, mode: str) -> int | None:
    """Search data descriptors of the metaclass, then the MRO, then the rest of the metaclass (type_getattro)."""
    meta = type(cls)
    found = find(meta, "__getattr__")
    hook = None if found is ABSENT else Known(found)
    getter = find(meta, "__getattribute__")
    if getter is not type.__dict__["__getattribute__"]:
        if type(getter) is not FUNCTION:
            return left(m, value, name, mode)
        return descriptors.run(m, Known(getter), [value, Known(name)], Access(name, value, Known(meta), mode, hook))
    asked = Access(name, value, Known(meta), mode, hook)
    from_meta = class_attribute(m, meta, name)
    if isinstance(from_meta, Thawed):
        return left(m, value, name, mode)
    if from_meta is not ABSENT and answers_first(from_meta):
        return _data_of_class(m, asked, cls, from_meta)
    raw = class_attribute(m, cls, name)
    if type(raw) is Thawed:
        return left(m, value, name, mode, QUIET if raw.plain else Effect.OPAQUE, raw.kind if raw.plain else ANY)
    if raw is not ABSENT:
        if type(raw).__module__ == "enum":
            return finish(m, Known(getattr(cls, name), value.labels), mode)
        done = descriptors.get(m, raw, Access(name, None, value, mode))
    elif from_meta is not ABSENT:
        done = descriptors.get(m, from_meta, asked)
    else:
        return missing(m, asked, f"type object '{ops.name_of_class(cls)}' has no attribute '{name}'")
    return left(m, value, name, mode) if done is NOT_MODELLED else done


def _data_of_class(m: Machine, access: Access, cls: type, raw: Any) -> int | None:
    name, value = access.name, access.value
    assert value is not None
    if type(raw) is types.GetSetDescriptorType or type(raw) is types.MemberDescriptorType:
        if name == "__class__":
            return finish(m, Known(type(cls), labels_of(value)), access.mode)
        if name in FIXED and raw is find(type, name):
            m.environment.trust(cls)
            if class_templates.ALL and name in ("__mro__", "__bases__"):
                return finish(m, m.new(VObj("tuple", tuple, tuple(map(Known, getattr(cls, name)))), labels_of(value)), access.mode)
            return finish(m, Known(getattr(cls, name), labels_of(value)), access.mode)
        return left(m, value, name, access.mode, QUIET if raw is find(type, name) else Effect.OPAQUE)
    done = descriptors.get(m, raw, access)
    return left(m, value, name, access.mode) if done is NOT_MODELLED else done


#: Fields of a class that are assumed never to change.
FIXED: Final = frozenset({"__name__", "__qualname__", "__module__", "__mro__", "__bases__", "__base__"})


def _of_module(m: Machine, value: Known, module: types.ModuleType, name: str, mode: str) -> int | None:
    """Read an attribute from a module's dictionary (module_getattro). ModuleType itself has only names that no module lacks."""
    held = module.__dict__
    if type(module) is types.ModuleType and name in held and (id(held), name) not in m.tables.thawed_globals and type(held[name]) is not ops.LAZY:
        m.environment.guard("item", held, name, held[name])
        return finish(m, Known(held[name], value.labels), mode)
    return left(m, value, name, mode)


# ------------------------------------------------------------------------------------------------- objects of this trace


def _of_kind(m: Machine, value: Ref, obj: VObj, name: str, mode: str) -> Any:
    """Read an attribute that an object of this kind has without a look-up; NOT_MODELLED if the general look-up applies."""
    if obj.kind == "super":
        return _of_super(m, obj, name, mode)
    if obj.kind in ("slice", "range") and name in ("start", "stop", "step"):
        return finish(m, obj.cells[("start", "stop", "step").index(name)], mode)
    if obj.kind == "method":
        return _of_method(m, value, obj, name, mode)
    if obj.kind == "function":
        found = functions.get(m, value, obj, name)
        if found is ABSENT:
            return missing(m, Access(name, value, Known(obj.cls), mode), f"'function' object has no attribute '{name}'")
        return left(m, value, name, mode) if found is UNKNOWN else finish(m, found, mode)
    if obj.kind == "property" and name in _OF_PROPERTY:
        return finish(m, obj.cells[_OF_PROPERTY.index(name)], mode)
    if obj.kind == "tuple" and is_python_class(obj.cls):
        raw = find(obj.cls, name)
        if type(raw) is _FIELD:
            return finish(m, relabel(obj.cells[raw.__reduce__()[1][0]], value.labels), mode)
    return NOT_MODELLED


#: The class of the fields of named tuples.
_FIELD: Final = type(collections.namedtuple("_", "field").field)  # type: ignore[attr-defined]

_OF_PROPERTY: Final = ("fget", "fset", "fdel")


def _of_method(m: Machine, value: Ref, obj: VObj, name: str, mode: str) -> int | None:
    """Read an attribute of a method: with few exceptions, that of its function (method_getattro; meth_getsets for a method of C code)."""
    if name == "__self__":
        return finish(m, obj.cells[1], mode)
    if obj.cls is not types.MethodType:
        return get(m, obj.cells[0], name, mode) if name in ("__name__", "__qualname__", "__doc__") else left(m, value, name, mode)
    if name == "__func__" and not (isinstance(obj.cells[0], Known) and type(obj.cells[0].value) is not FUNCTION):
        return finish(m, obj.cells[0], mode)
    if name in ("__name__", "__qualname__", "__doc__", "__module__") or find(obj.cls, name) is ABSENT:
        return get(m, obj.cells[0], name, mode)
    return left(m, value, name, mode)


# ------------------------------------------------------------------------------------------------- super


def get_super(m: Machine, cls: V, instance: V, name: str) -> int | None:
    """``super(cls, instance).name``."""
    if not isinstance(cls, Known) or not is_a(cls.value, type):
        return left(m, m.emit(super, [cls, instance]), name, "value")
    return _of_super(m, VObj("super", super, (cls, instance)), name, "value")


def _of_super(m: Machine, obj: VObj, name: str, mode: str) -> int | None:
    """Read an attribute from the classes after a class in the MRO (super_getattro)."""
    cls, instance = obj.cells
    assert isinstance(cls, Known)
    assert is_a(cls.value, type)
    start, bound_class = super_class(m, cls.value, m.resolve(instance))
    if start is None or name == "__class__":
        return left(m, m.emit(super, [cls, instance]), name, mode)
    m.environment.trust(start)
    mro = start.__mro__
    for base in mro[mro.index(cls.value) + 1 :]:
        if (id(base), name) in m.tables.thawed_attributes:
            break
        find(base, name)      # records a guard
        if name in base.__dict__:
            raw = class_attributes.in_class(m, base, name)
            if raw is ABSENT:
                continue
            if raw is class_attributes.UNSURE:
                break
            if instances.is_slot(raw) and not bound_class and base is _owner(start, name):
                return get(m, instance, name, mode)
            done = descriptors.get(m, raw, Access(name, None if bound_class else instance, Known(start), mode))
            if done is not NOT_MODELLED:
                return done  # type: ignore[no-any-return]
            break
    return left(m, m.emit(super, [cls, instance], effect=Effect.PURE), name, mode)


def _owner(cls: type, name: str) -> type | None:
    """Return the first class in the MRO that defines name, or None."""
    return next((base for base in cls.__mro__ if name in base.__dict__), None)


def super_class(m: Machine, cls: type, instance: V) -> tuple[type | None, bool]:
    """Return the class whose MRO super() walks (None if unknown or not allowed), and whether the instance is itself a class (supercheck)."""
    if isinstance(instance, Known) and is_a(instance.value, type) and cls in instance.value.__mro__:
        return instance.value, True
    start = m.class_of(instance)
    return (start, False) if start is not None and cls in start.__mro__ else (None, False)
