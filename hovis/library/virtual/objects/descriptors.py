"""Actions for property, staticmethod and classmethod made by the traced code (CPython: Objects/descrobject.c, Objects/funcobject.c)."""

import abc
import functools
import types
from typing import Any

from hovis.engine.machine.machine import Machine
from hovis.engine.objects import class_statement, functions
from hovis.engine.state import class_templates
from hovis.engine.state.heap import VObj
from hovis.engine.state.values import NONE, Known, Ref, V
from hovis.library.virtual.base import Args, Named, action, pushed

_PARTS = ("fget", "fset", "fdel", "doc")


def _function(m: Machine, value: V) -> bool:
    """Is value a function of the trace? (For a function that existed before, the real descriptor is made instead.)"""
    value = m.resolve(value)
    return isinstance(value, Ref) and m.state.heap[value.aid].kind == "function"


@action(property)
def make_property(m: Machine, args: Args, named: Named) -> Any:
    if len(args) > 4 or not set(named) <= set(_PARTS[len(args) :]):
        return None
    parts = [*args, *(named.get(name, NONE) for name in _PARTS[len(args) :])]
    if not any(_function(m, part) for part in parts[:3]):
        return None
    if not all(_function(m, part) or (isinstance(part, Known) and part.value is None) for part in parts[:3]):
        return None
    return m.new(VObj("property", property, tuple(parts)))


def _with(position: int) -> Any:
    """Make the action for ``@p.getter``, ``@p.setter`` or ``@p.deleter``: a new property with one function replaced (property_copy)."""

    def rule(m: Machine, args: Args, named: Named) -> Any:
        obj = m.obj(args[0], "property") if len(args) == 2 and not named else None
        if obj is None or obj.node is not None or not _function(m, args[1]):
            return None     # a real property may have a docstring that has been assigned
        return m.new(VObj("property", property, (*obj.cells[:position], args[1], *obj.cells[position + 1 :])))

    return rule


for _position, _name in enumerate(("getter", "setter", "deleter")):
    action(getattr(property, _name))(_with(_position))


@action(abc.abstractmethod)
def abstract(m: Machine, args: Args, named: Named) -> Any:
    obj = m.obj(args[0], "function") if len(args) == 1 and not named else None
    if obj is None or obj.node is not None:
        return None
    assert isinstance(args[0], Ref)
    return args[0] if functions.put(m, args[0], obj, "__isabstractmethod__", Known(True)) else None


@action(object.__dict__["__init_subclass__"])
def init_subclass(m: Machine, args: Args, named: Named) -> Any:
    return NONE if len(args) == 1 and not named else None


@action(object.__dict__["__subclasshook__"])
def subclass_hook(m: Machine, args: Args, named: Named) -> Any:
    return Known(NotImplemented) if not named else None


@action(staticmethod)
def make_static(m: Machine, args: Args, named: Named) -> Any:
    return m.new(VObj("staticmethod", staticmethod, (args[0],))) if len(args) == 1 and not named and _function(m, args[0]) else None


@action(classmethod)
def make_class_method(m: Machine, args: Args, named: Named) -> Any:
    return m.new(VObj("classmethod", classmethod, (args[0],))) if len(args) == 1 and not named and _function(m, args[0]) else None


# ------------------------------------------------------------------------------------------------- __get__, called by name


def _asked(m: Machine, args: Args) -> tuple[V, V] | None:
    """Return the instance and the class that are passed to ``__get__`` (wrap_descr_get), or None if they are not known or both are None."""
    instance, owner = m.resolve(args[1]), m.resolve(args[2]) if len(args) == 3 else NONE
    if isinstance(owner, Known) and owner.value is None:
        owner = Known(m.class_of(instance))
        return None if owner.value in (None, type(None)) else (instance, owner)
    return (instance, owner) if m.class_of(instance) is not None else None


def _held(m: Machine, value: V, cls: type) -> V | None:
    """Return the function in a static or class method, or None."""
    if isinstance(value, Known):
        return Known(value.value.__func__) if type(value.value) is cls else None  # type: ignore[attr-defined]
    obj = m.obj(value, cls.__name__)
    return None if obj is None else obj.cells[0]


def _is_function(m: Machine, value: V | None) -> bool:
    return value is not None and (_function(m, value) or (isinstance(value, Known) and type(value.value) is types.FunctionType))


@action(types.FunctionType.__get__, counts=(2, 3))
def bind_function(m: Machine, args: Args, named: Named) -> Any:
    """``function.__get__`` (func_descr_get)."""
    asked = _asked(m, args)
    if asked is None or not _is_function(m, args[0]):
        return None
    return args[0] if isinstance(asked[0], Known) and asked[0].value is None else m.new(VObj("method", types.MethodType, (args[0], asked[0])))


@action(types.FunctionType.__call__)
def call_function(m: Machine, args: Args, named: Named) -> Any:
    """``function.__call__``, called explicitly."""
    return pushed(m, lambda: m.call(args[0], args[1:], named)) if args and _is_function(m, args[0]) else None


@action(classmethod.__get__, counts=(2, 3))
def bind_class_method(m: Machine, args: Args, named: Named) -> Any:
    """``classmethod.__get__`` (cm_descr_get)."""
    asked, function = _asked(m, args), _held(m, args[0], classmethod)
    if asked is None or function is None or not _is_function(m, function):
        return None
    return m.new(VObj("method", types.MethodType, (function, asked[1])))


@action(staticmethod.__get__, counts=(2, 3))
def bind_static_method(m: Machine, args: Args, named: Named) -> Any:
    """``staticmethod.__get__`` (sm_descr_get)."""
    return None if _asked(m, args) is None else _held(m, args[0], staticmethod)


# ------------------------------------------------------------------------------------------------- total_ordering


@action(functools.total_ordering, counts=(1, 1))
def order_totally(m: Machine, args: Args, named: Named) -> Any:
    """Add the comparisons that follow from one of them to a class under definition."""
    template = class_templates.template_of(args[0].value) if isinstance(args[0], Known) else None
    if template is None:
        return None
    added = dict(m.tables.added_methods.get(template.body, ()))
    roots = [name for name in _CONVERT if name not in added and isinstance(getattr(template.cls, name), types.FunctionType)]
    if not roots or template.open.intersection(_CONVERT):
        return None
    methods = tuple((name, method) for name, method in _CONVERT[max(roots)] if name not in roots)
    for name, method in methods:
        method.__name__ = name      # as total_ordering does
    return args[0] if class_statement.complete(m, template, methods) else None


_CONVERT: Any = functools._convert  # type: ignore[attr-defined]
