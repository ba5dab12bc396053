"""Calling classes and instances (CPython: type_call in Objects/typeobject.c)."""

import enum
import types
from typing import Any, Final

from hovis.engine.calls import builtin_payload, enums, models
from hovis.engine.calls.builtins import call_builtin
from hovis.engine.calls.inline_python import call_function
from hovis.engine.calls.models import NOT_MINE
from hovis.engine.calls.operators import truth
from hovis.engine.control import exception_groups
from hovis.engine.environment.points_to import WHOLE
from hovis.engine.machine import exceptions
from hovis.engine.machine.call_results import finish, opaque
from hovis.engine.machine.frame_inspection import leave_caller
from hovis.engine.machine.machine import Machine
from hovis.engine.objects import attribute_get
from hovis.engine.state.heap import VObj
from hovis.engine.state.type_lookup import ABSENT, FUNCTION, NOT_MODELLED, find, is_abstract, is_plain, is_python_class, lookup, special
from hovis.engine.state.values import Dyn, Known, V
from hovis.engine.traced import construction
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.ir.operations import UNBOUND, name_of_class
from hovis.lattice import SOME, Type
from hovis.lattice.constants import ATOMS, is_immutable
from hovis.lattice.inspection import is_a
from hovis.library.core import holding

OBJECT_NEW: Final = object.__dict__["__new__"]
OBJECT_INIT: Final = object.__dict__["__init__"]


def call_class(m: Machine, callee: V, cls: type, args: list[V], kwargs: dict[str, V], mode: str) -> int | None:
    """``cls(*args, **kwargs)``."""
    if cls is type and len(args) == 1 and not kwargs:
        if isinstance(args[0], Dyn) and args[0].lost and m.class_of(args[0]) is None:
            m.use(args[0])  # objects of several classes were joined, and their class decides
        return _type_of(m, args[0], mode)
    if cls is super and not kwargs:
        return _super(m, args, mode)
    if cls is bool and len(args) == 1 and not kwargs:
        return truth(m, args[0], mode)
    if (cls is ExceptionGroup or cls is BaseExceptionGroup) and not kwargs:
        group = exception_groups.new(m, cls, [m.resolve(a) for a in args])
        if group is not None:
            return finish(m, group, mode)
    if issubclass(cls, BaseException) and exceptions.modelled(cls):
        made = _exception(m, cls, args, kwargs, mode)
        if made is not NOT_MINE:
            return made  # type: ignore[return-value]
    if not is_python_class(cls) or cls in m.library.models or cls in m.library.fixed:
        return _builtin_class(m, cls, args, kwargs, mode)
    meta_call = special(type(cls), "__call__")
    if meta_call is not None:
        if type(cls).__module__ == "enum":
            return _enum(m, cls, args, kwargs, mode)
        return m.call(Known(meta_call), [callee, *args], kwargs, mode)
    if type(cls) is not type and lookup(type(cls), "__call__") is not type.__dict__["__call__"]:
        return finish(m, opaque(m, cls, args, kwargs), mode)
    return type_call(m, cls, args, kwargs, mode)


def type_call(m: Machine, cls: type, args: list[V], kwargs: dict[str, V], mode: str) -> int | None:
    """Call ``cls.__new__``, and ``__init__`` of its result if that is an instance."""
    new, init = lookup(cls, "__new__"), lookup(cls, "__init__")
    if new is OBJECT_NEW:
        return _by_object_new(m, cls, init, args, kwargs, mode)
    if isinstance(new, staticmethod) and type(new.__func__) is FUNCTION:
        head: list[V] = [Known(cls), Known(new.__func__)]
        model: Any = construction.construct_new if init is OBJECT_INIT else construction.construct_both
        return call_function(m, Known(model), model, [*head, *args], kwargs, mode)
    base = builtin_payload.base_of(cls)
    if base is not None and new is base.__new__ and models.site(m) not in m.tables.not_virtual:
        return _with_stored(m, cls, base, init, args, kwargs, mode)
    return _foreign_layout(m, cls, new, init, args, kwargs, mode)


def _with_stored(m: Machine, cls: type, base: type, init: Any, args: list[V], kwargs: dict[str, V], mode: str) -> int | None:
    """Make an instance of a class that derives from a builtin class whose instances hold one value."""
    if builtin_payload.BASES[base]:
        made = builtin_payload.make(m, cls, Known(None))
        return call_function(m, Known(construction.construct), construction.construct, [made, Known(init), *args], kwargs, mode)
    head: list[V] = [Known(holding), Known(base), Known(None if init is OBJECT_INIT else init), Known(cls)]
    return call_function(m, Known(construction.construct_fixed), construction.construct_fixed, [*head, *args], kwargs, mode)


def _by_object_new(m: Machine, cls: type, init: Any, args: list[V], kwargs: dict[str, V], mode: str) -> int | None:
    """Make an instance by ``object.__new__`` (object_new, object_init); arguments that no ``__init__`` takes raise TypeError."""
    if is_abstract(cls):
        m.emit(cls, args, kwargs, effect=Effect.RAISES | Effect.READS)  # the error message differs between versions
        return m.unreachable()
    if init is OBJECT_INIT and (args or kwargs):
        return m.raise_new(TypeError, f"{name_of_class(cls)}() takes no arguments")
    if is_plain(cls) and m.here() not in m.tables.not_virtual:
        return _plain(m, cls, init, args, kwargs, mode)
    return finish(m, opaque(m, cls, args, kwargs), mode)


def _foreign_layout(m: Machine, cls: type, new: Any, init: Any, args: list[V], kwargs: dict[str, V], mode: str) -> int | None:
    """Make an instance of a class that derives from a class of C code: the object is real from the beginning."""
    if isinstance(new, types.BuiltinFunctionType) and lookup(cls, "__del__") is None:
        if issubclass(cls, BaseException) and (kwargs or type(init) is FUNCTION or issubclass(cls, OSError | UnicodeError)):
            return finish(m, _of_class(opaque(m, cls, args, kwargs), cls), mode)
        if issubclass(cls, BaseException):
            return finish(m, m.emit(cls, args, kwargs, Type(cls), Effect.PURE), mode)
        if init is OBJECT_INIT and not kwargs and _harmless(m, cls, args):
            return finish(m, m.emit(cls, args, kwargs, Type(cls), Effect.RAISES), mode)
        return finish(m, _of_class(opaque(m, cls, args, kwargs), cls), mode)
    return finish(m, opaque(m, cls, args, kwargs), mode)


def _of_class(made: Dyn, cls: type) -> Dyn:
    made.value.type = Type(cls)  # type: ignore[union-attr]
    return Dyn(made.value, Type(cls))


def _harmless(m: Machine, cls: type, args: list[V]) -> bool:
    """Does the constructor of an immutable builtin class run no user code on these arguments?"""
    return issubclass(cls, int | float | str | bytes | complex) and all(m.class_of(a) in ATOMS for a in args)


def new_of_builtin(m: Machine, base: type, args: list[V]) -> Any:
    """``int.__new__(cls, …)`` and similar calls: make an instance of exactly cls; None if cls is not known to derive from base in Python."""
    cls = args[0].value if args and isinstance(args[0], Known) else None
    if not isinstance(cls, type) or not issubclass(cls, base) or not is_python_class(cls):
        return None
    if builtin_payload.base_of(cls) is base and models.site(m) not in m.tables.not_virtual:
        if builtin_payload.BASES[base]:
            return builtin_payload.make(m, cls, Known(None))
        model: Any = construction.construct_fixed
        return call_function(m, Known(model), model, [Known(holding), Known(base), Known(None), *args], {}, "value")
    new: Any = base.__dict__["__new__"]
    if _harmless(m, cls, args[1:]):
        return m.emit(new, args, type=Type(cls), effect=Effect.RAISES)
    return _of_class(opaque(m, new, args), cls)


def _exception(m: Machine, cls: type, args: list[V], kwargs: dict[str, V], mode: str) -> object:
    """Make an exception: ``BaseException.__new__`` and its initialization; NOT_MINE if that is not modelled."""
    init = lookup(cls, "__init__")
    if type(init) is FUNCTION:
        made = exceptions.make(m, cls, m.new(VObj("tuple", tuple, tuple(args))))
        return call_function(m, Known(construction.construct), construction.construct, [made, Known(init), *args], kwargs, mode)
    if not isinstance(init, types.WrapperDescriptorType) or not exceptions.takes(cls, kwargs):
        return NOT_MINE
    return finish(m, exceptions.new(m, cls, args, kwargs), mode)


def _plain(m: Machine, cls: type, init: Any, args: list[V], kwargs: dict[str, V], mode: str) -> int | None:
    if type(init) is FUNCTION:
        made = m.new(VObj("instance", cls))
        return call_function(m, Known(construction.construct), construction.construct, [made, Known(init), *args], kwargs, mode)
    if init is OBJECT_INIT:
        return finish(m, m.new(VObj("instance", cls)), mode)
    return finish(m, opaque(m, cls, args, kwargs), mode)


def _type_of(m: Machine, value: V, mode: str) -> int | None:
    value = m.resolve(value)
    cls = m.class_of(value)
    if cls is not None:
        labels = frozenset() if isinstance(value, Dyn) else value.labels
        return finish(m, Known(cls, labels), mode)
    return finish(m, m.emit(type, [value], type=SOME, effect=Effect.PURE), mode)


def _super(m: Machine, args: list[V], mode: str) -> int | None:
    """``super()`` finds its class and instance in the caller's frame (super_init_without_args)."""
    if not args:
        frame = m.frame
        code = frame.code
        slot = next((k for k in range(len(code.names) - code.n_free, len(code.names)) if code.names[k] == "__class__"), None)
        first = frame.locals[0] if code.argcount else None
        cls = None if slot is None else _cell_contents(m, frame.locals[slot])
        first = _cell_contents(m, first) if 0 in code.cells else first
        # an error is raised: the original function gives the right message
        if cls is None or first is None or not _bound(first) or (isinstance(cls, Known) and not is_a(cls.value, type)):
            leave_caller(m, super)
        assert cls is not None
        assert first is not None
        args = [cls, first]
    if len(args) == 2 and isinstance(args[0], Known) and is_a(args[0].value, type) and attribute_get.super_class(m, args[0].value, m.resolve(args[1]))[0]:
        return finish(m, m.new(VObj("super", super, tuple(args))), mode)
    return finish(m, m.emit(super, args), mode)


def _bound(value: V) -> bool:
    """Is the value that of a variable that is certainly bound?"""
    return not value.maybe_unbound if isinstance(value, Dyn) else not (isinstance(value, Known) and value.value is UNBOUND)


def _cell_contents(m: Machine, cell: V | None) -> V | None:
    if isinstance(cell, Known) and is_a(cell.value, types.CellType):
        if id(cell.value) in m.tables.thawed:
            return None
        m.environment.read_static.add(id(cell.value))
        m.environment.read_part(cell.value, WHOLE)
        try:
            return Known(cell.value.cell_contents)
        except ValueError:
            return None
    obj = m.obj(cell, "cell") if cell is not None else None
    held = obj.cells[0] if obj else None
    return held if held is not None and _bound(held) else None


def _enum(m: Machine, cls: type, args: list[V], kwargs: dict[str, V], mode: str) -> int | None:
    """``Color(1)``: a look-up among the members."""
    found = enums.by_value(m, cls, args[0]) if len(args) == 1 and not kwargs else None
    if found is not None:
        return finish(m, found, mode)
    missing = lookup(cls, "_missing_")
    if len(args) == 1 and not kwargs and isinstance(args[0], Known) and is_immutable(args[0].value) and not issubclass(cls, enum.Flag):
        return m.call(Known(lookup(type(cls), "__call__")), [Known(cls), *args], {}, mode)
    if len(args) == 1 and not kwargs and m.class_of(args[0]) in ATOMS and getattr(missing, "__module__", None) == "enum":
        return finish(m, m.emit(cls, args, type=Type(cls), effect=Effect.RAISES | Effect.READS), mode)
    return finish(m, opaque(m, cls, args, kwargs), mode)


def _builtin_class(m: Machine, cls: type, args: list[V], kwargs: dict[str, V], mode: str) -> int | None:
    """Call a builtin class: int, str, list, …"""
    return call_builtin(m, cls, args, kwargs, mode)


def call_instance(m: Machine, callee: V, args: list[V], kwargs: dict[str, V], mode: str) -> int | None:
    """``instance(*args, **kwargs)``."""
    if isinstance(callee, Known):
        callee = models.opened(m, callee) or callee
    acted = models.virtual(m, callee)
    if acted is not None:
        status = models.call_special(m, "__call__", acted, [callee, *args], kwargs, mode)
        if status is not models.NOT_MINE:
            return status  # type: ignore[no-any-return]
        return finish(m, opaque(m, callee, args, kwargs), mode)
    cls = m.class_of(callee)
    if cls is not None and find(cls, "__call__") is ABSENT:
        return m.raise_new(TypeError, f"'{name_of_class(cls)}' object is not callable")
    found = models.special(m, callee, "__call__")
    if found is not NOT_MODELLED:
        return m.call(Known(found), [callee, *args], kwargs, mode)
    if isinstance(callee, Known) and not is_python_class(type(callee.value)):
        return call_builtin(m, callee.value, args, kwargs, mode)
    if isinstance(callee, Known):  # a user object must not be the callee of an op: it would be compared and hashed
        given = [m.new(VObj("tuple", tuple, tuple(args)))]
        if kwargs:
            given.append(m.new(VObj("dict", dict, tuple(kwargs.values()), tuple(kwargs))))
        return finish(m, opaque(m, ops.apply if kwargs else ops.apply_positional, [callee, *given]), mode)
    return finish(m, opaque(m, callee, args, kwargs), mode)
