"""The descriptor protocol: what a class holds by a name, as an attribute (CPython: Objects/descrobject.c, funcobject.c).

Which slot function a descriptor has decides, as in CPython: its type's ``__get__``, ``__set__`` and ``__delete__``.
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
    owner   the class that was asked
    mode    where the result goes
    hook    the class's ``__getattr__``, for what raises AttributeError
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
    """``raw.__get__(value, owner)``, or raw itself where it has none; NOT_MODELLED."""
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
    """Does reading this attribute by way of the class run no code of the user's?"""
    getter = find(type(raw), "__get__")
    return getter is ABSENT or type(raw) in ENTERED_THROUGH or (type(getter) is not FUNCTION and getter in _GETTERS and getter is not _PROPERTY)


def run(m: Machine, fn: V, args: list[V], access: Access) -> int | None:
    """Call a getter; where it raises AttributeError, ``__getattr__`` answers (slot_tp_getattr_hook)."""
    depth = len(m.state.frames)
    if access.hook is None or access.value is None:
        return asked(m, m.call(fn, args, {}, access.mode), depth, access)
    model = slot_protocols.get_or_ask
    return asked(m, m.call(Known(model), [fn, access.hook, access.value, Known(access.name), *args], {}, access.mode), depth, access)


def asked(m: Machine, status: int | None, depth: int, access: Access) -> int | None:
    """A frame was entered for an attribute: an AttributeError that leaves it is told of what (PyObject_GetAttr).

    But not where CPython looks for a method in the generic way (_PyObject_GetMethod).
    """
    generic = access.hook is None and m.state.frames[depth - 1].code.instructions[m.state.frames[depth - 1].pc].op == "GetMethod"
    if status == SWITCH and len(m.state.frames) > depth and access.value is not None and not generic:
        frame = m.state.frames[depth]
        frame.asked, frame.asked_name = access.value, access.name
    return status


def setter(raw: Any, value: V, new: V) -> Any:
    """What ``raw.__set__(value, new)`` calls, with its arguments; NOT_MODELLED."""
    found = find(type(raw), "__set__")
    if type(found) is FUNCTION:
        return Known(found), [Known(raw), value, new]
    if found is property.__dict__["__set__"] and raw.fset is not None:
        return Known(raw.fset), [value, new]
    return NOT_MODELLED


def deleter(raw: Any, value: V) -> Any:
    """What ``raw.__delete__(value)`` calls, with its arguments; NOT_MODELLED."""
    found = find(type(raw), "__delete__")
    if type(found) is FUNCTION:
        return Known(found), [Known(raw), value]
    if found is property.__dict__["__delete__"] and raw.fdel is not None:
        return Known(raw.fdel), [value]
    return NOT_MODELLED


# ------------------------------------------------------------------------------------------------- by slot function

#: Whichever of these a number is, its class alone says what methods it has.
NUMBERS: Final = frozenset({bool, int, float, complex})


def _method(m: Machine, raw: Any, access: Access) -> Any:
    """func_descr_get, method_get, wrapperdescr_get: a bound method, or the function itself."""
    if access.value is None:
        return finish(m, Known(raw, access.labels), access.mode)
    labels = 0 if m.class_of(access.value) in NUMBERS else access.labels
    return finish(m, m.new(VObj("method", bound_class(raw), (_now(m, raw), access.value)), labels), access.mode)


def _now(m: Machine, fn: Any) -> V:
    """fn; of a class of the trace, what it has by that name at the moment."""
    return class_templates.actual(m.state.heap, Known(fn)) if class_templates.ALL else Known(fn)


def _static_method(m: Machine, raw: Any, access: Access) -> Any:
    """sm_descr_get."""
    return finish(m, Known(raw.__func__, access.labels), access.mode)


def _class_method(m: Machine, raw: Any, access: Access) -> Any:
    """cm_descr_get; what is no function is bound by its own ``__get__`` in some versions."""
    if type(raw.__func__) is not FUNCTION:
        return NOT_MODELLED
    return finish(m, m.new(VObj("method", types.MethodType, (_now(m, raw.__func__), access.owner)), access.labels), access.mode)


def _builtin_class_method(m: Machine, raw: Any, access: Access) -> Any:
    """classmethod_get."""
    if not isinstance(access.owner, Known):
        return NOT_MODELLED
    if class_templates.ALL and class_templates.of(access.owner.value) is not None:
        # it is bound to the real class, where one is made
        return finish(m, m.new(VObj("method", types.BuiltinFunctionType, (Known(raw), access.owner)), access.labels), access.mode)
    return finish(m, Known(raw.__get__(None, access.owner.value), access.labels), access.mode)


def _property(m: Machine, raw: Any, access: Access) -> Any:
    """property_descr_get."""
    if access.value is None:
        return finish(m, Known(raw, access.labels), access.mode)
    if raw.fget is None:
        return NOT_MODELLED
    return run(m, Known(raw.fget), [access.value], access)


def _field(m: Machine, raw: Any, access: Access) -> Any:
    """member_get, getset_get."""
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
