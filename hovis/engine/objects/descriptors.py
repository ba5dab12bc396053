"""The descriptor protocol: how an object in a class acts as an attribute (CPython: Objects/descrobject.c, funcobject.c).

As in CPython, the slot functions of a descriptor's type decide: ``__get__``, ``__set__`` and ``__delete__``.
"""

import types
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from hovis.engine.machine.call_results import finish
from hovis.engine.machine.machine import Machine
from hovis.engine.state import class_templates
from hovis.engine.state.frames_and_heap import SWITCH
from hovis.engine.state.heap import VObj
from hovis.engine.state.type_lookup import ABSENT, ENTERED_THROUGH, FUNCTION, NOT_MODELLED, bound_class, find
from hovis.engine.state.values import NONE, Known, Labels, V, labels_of
from hovis.engine.traced import slot_protocols


class Access(NamedTuple):
    """One use of a descriptor.

    name    the attribute's name
    value   the instance, None for an attribute of a class
    owner   the class on which the attribute is read
    mode    what is done with the result (see ``Frame``)
    hook    the ``__getattr__`` of the class, which is called after an AttributeError; None if there is none
    """

    name: str
    value: V | None
    owner: V
    mode: str
    hook: V | None = None

    @property
    def labels(self) -> Labels:
        return labels_of(self.owner if self.value is None else self.value)


def get(m: Machine, raw: Any, access: Access) -> Any:
    """``raw.__get__(value, owner)``, or raw itself if it has no ``__get__``; NOT_MODELLED for other descriptors."""
    getter = find(type(raw), "__get__")
    if getter is ABSENT:
        return finish(m, Known(raw, access.labels), access.mode)
    if type(raw) in ENTERED_THROUGH:
        return _method(m, raw, access)
    if type(getter) is FUNCTION:
        instance = NONE if access.value is None else access.value
        return run(m, Known(getter), [Known(raw), instance, access.owner], access)
    rule = _GETTERS.get(getter)
    return NOT_MODELLED if rule is None else rule(m, raw, access)


def runs_nothing(raw: Any) -> bool:
    """Does reading this attribute through the class run no user code?"""
    getter = find(type(raw), "__get__")
    return getter is ABSENT or type(raw) in ENTERED_THROUGH or (type(getter) is not FUNCTION and getter in _GETTERS and getter is not _PROPERTY)


def run(m: Machine, fn: V, args: list[V], access: Access) -> int | None:
    """Call a getter; if it raises AttributeError, call ``__getattr__`` (slot_tp_getattr_hook)."""
    depth = len(m.state.frames)
    if access.hook is None or access.value is None:
        return asked(m, m.call(fn, args, {}, access.mode), depth, access)
    model = slot_protocols.get_or_ask
    return asked(m, m.call(Known(model), [fn, access.hook, access.value, Known(access.name), *args], {}, access.mode), depth, access)


def asked(m: Machine, status: int | None, depth: int, access: Access) -> int | None:
    """Note in the frame entered for an attribute which attribute it is: an AttributeError that leaves the frame gets it (PyObject_GetAttr).

    Nothing is noted where CPython looks up a method in the generic way (_PyObject_GetMethod).
    """
    generic = access.hook is None and m.state.frames[depth - 1].code.instructions[m.state.frames[depth - 1].pc].op == "GetMethod"
    if status == SWITCH and len(m.state.frames) > depth and access.value is not None and not generic:
        frame = m.state.frames[depth]
        frame.asked, frame.asked_name = access.value, access.name
    return status


def setter(raw: Any, value: V, new: V) -> Any:
    """Return the function that ``raw.__set__(value, new)`` calls, with its arguments, or NOT_MODELLED."""
    found = find(type(raw), "__set__")
    if type(found) is FUNCTION:
        return Known(found), [Known(raw), value, new]
    if found is property.__dict__["__set__"] and raw.fset is not None:
        return Known(raw.fset), [value, new]
    return NOT_MODELLED


def deleter(raw: Any, value: V) -> Any:
    """Return the function that ``raw.__delete__(value)`` calls, with its arguments, or NOT_MODELLED."""
    found = find(type(raw), "__delete__")
    if type(found) is FUNCTION:
        return Known(found), [Known(raw), value]
    if found is property.__dict__["__delete__"] and raw.fdel is not None:
        return Known(raw.fdel), [value]
    return NOT_MODELLED


# ------------------------------------------------------------------------------------------------- getters, by slot function

#: Classes of numbers. The methods of a number depend only on its class, not on its value, so a bound method needs no labels of the number.
NUMBERS: Final = frozenset({bool, int, float, complex})


def _method(m: Machine, raw: Any, access: Access) -> Any:
    """Return a bound method, or the function itself (func_descr_get, method_get, wrapperdescr_get)."""
    if access.value is None:
        return finish(m, Known(raw, access.labels), access.mode)
    labels = 0 if m.class_of(access.value) in NUMBERS else access.labels
    return finish(m, m.new(VObj("method", bound_class(raw), (_now(m, raw), access.value)), labels), access.mode)


def _now(m: Machine, fn: Any) -> V:
    """Return fn, or if it is a token of a class of the trace, the current value of its name in the class."""
    return class_templates.actual(m.state.heap, Known(fn)) if class_templates.ALL else Known(fn)


def _static_method(m: Machine, raw: Any, access: Access) -> Any:
    """Read a static method (sm_descr_get)."""
    return finish(m, Known(raw.__func__, access.labels), access.mode)


def _class_method(m: Machine, raw: Any, access: Access) -> Any:
    """Read a class method (cm_descr_get); an object that is not a function is bound by its own ``__get__`` in some versions."""
    if type(raw.__func__) is not FUNCTION:
        return NOT_MODELLED
    return finish(m, m.new(VObj("method", types.MethodType, (_now(m, raw.__func__), access.owner)), access.labels), access.mode)


def _builtin_class_method(m: Machine, raw: Any, access: Access) -> Any:
    """Read a class method of C code (classmethod_get)."""
    if not isinstance(access.owner, Known):
        return NOT_MODELLED
    if class_templates.ALL and class_templates.of(access.owner.value) is not None:
        # where the method is made real, it is bound to the real class
        return finish(m, m.new(VObj("method", types.BuiltinFunctionType, (Known(raw), access.owner)), access.labels), access.mode)
    return finish(m, Known(raw.__get__(None, access.owner.value), access.labels), access.mode)


def _property(m: Machine, raw: Any, access: Access) -> Any:
    """Read a property (property_descr_get)."""
    if access.value is None:
        return finish(m, Known(raw, access.labels), access.mode)
    if raw.fget is None:
        return NOT_MODELLED
    return run(m, Known(raw.fget), [access.value], access)


def _field(m: Machine, raw: Any, access: Access) -> Any:
    """Read a field of C code (member_get, getset_get)."""
    return finish(m, Known(raw, access.labels), access.mode) if access.value is None else NOT_MODELLED


_PROPERTY: Final = property.__dict__["__get__"]
_GETTERS: Final[dict[Any, Callable[[Machine, Any, Access], Any]]] = {
    types.FunctionType.__dict__["__get__"]: _method,
    types.MethodDescriptorType.__dict__["__get__"]: _method,
    types.WrapperDescriptorType.__dict__["__get__"]: _method,
    staticmethod.__dict__["__get__"]: _static_method,
    classmethod.__dict__["__get__"]: _class_method,
    types.ClassMethodDescriptorType.__dict__["__get__"]: _builtin_class_method,
    _PROPERTY: _property,
    types.MemberDescriptorType.__dict__["__get__"]: _field,
    types.GetSetDescriptorType.__dict__["__get__"]: _field,
}
