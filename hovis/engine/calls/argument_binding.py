"""The binding of arguments to the parameters of a Python function (CPython: initialize_locals in Python/ceval.c)."""

import inspect
import types
from collections.abc import Iterable
from typing import Any, Final

from hovis.bytecode.normalize import normalize
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import VObj
from hovis.engine.state.values import UNBOUND_VALUE, Known, Ref, V
from hovis.lattice.inspection import is_a


class Callee:
    """The properties of a Python function that are needed to enter it, whether it exists already or is an object of this trace."""

    __slots__ = ("annotations", "cells", "code", "defaults", "fn", "kwdefaults", "labels", "namespace", "qualname", "unsure")

    fn: Any
    code: Any
    namespace: dict[str, Any]
    qualname: str
    defaults: list[V]
    kwdefaults: dict[str, V]
    cells: list[V]
    #: are the defaults unknown, because they were joined or have escaped?
    unsure: bool

    @staticmethod
    def of(m: Machine, callee: V, fn: Any) -> "Callee":
        self = Callee()
        self.fn = fn
        self.unsure = False
        if fn is not None:
            self.code = normalize(fn.__code__)
            if not fn.__code__.co_filename.startswith(m.package):
                m.environment.guard("function", fn, None, fn.__code__)
            self.namespace = fn.__globals__
            self.qualname = fn.__qualname__
            self.defaults = [Known(v) for v in fn.__defaults__ or ()]
            self.kwdefaults = {k: Known(v) for k, v in (fn.__kwdefaults__ or {}).items()}
            self.cells = [Known(c) for c in fn.__closure__ or ()]
            return self
        assert isinstance(callee, Ref)
        obj = m.state.heap[callee.aid]
        self.code, self.namespace, _, self.qualname = obj.extra
        defaults, kwdefaults = obj.cells[:2]
        self.defaults = _items(m, defaults)
        named = m.obj(kwdefaults, "dict")
        self.kwdefaults = dict(zip(named.keys, named.cells, strict=True)) if named else {}
        if isinstance(kwdefaults, Known) and is_a(kwdefaults.value, dict):
            self.kwdefaults = {k: Known(v) for k, v in kwdefaults.value.items()}
        self.unsure = (not self.defaults and not _nothing(defaults)) or (not self.kwdefaults and not _nothing(kwdefaults))
        self.cells = list(obj.closure)
        return self

    def asks_defaults(self, m: Machine) -> None:
        """Add the guards for a call that depends on the defaults of the parameters."""
        if self.fn is not None and not self.code.filename.startswith(m.package):
            m.environment.guard("defaults", self.fn, None, (self.fn.__defaults__, self.fn.__kwdefaults__))
            if self.fn.__kwdefaults__:
                m.environment.static(Known(self.fn.__kwdefaults__))


def _nothing(value: V) -> bool:
    return isinstance(value, Known) and value.value is None


def _items(m: Machine, value: V) -> list[V]:
    obj = m.obj(value, "tuple")
    if obj is not None:
        return list(obj.cells)
    return [Known(v) for v in value.value] if isinstance(value, Known) and is_a(value.value, tuple) else []


def bind(m: Machine, known: Callee, args: list[V], kwargs: dict[str, V]) -> list[V | None] | None:
    """Bind the arguments, and return the locals of a new frame (CPython: initialize_locals, Python/ceval.c); None if the arguments do not fit."""
    code = known.code
    slots: list[V | None] = [None] * len(code.names)
    count, total = code.argcount, code.argcount + code.kwonlyargcount
    extra = args[count:]
    if extra and not code.has_varargs:
        return None
    slots[: min(len(args), count)] = args[:count]
    names = code.names
    more: dict[str, V] = {}
    for name, value in kwargs.items():
        where = next((k for k in range(code.posonlyargcount, total) if names[k] == name), -1)
        if where < 0:
            if not code.has_varkwargs:
                return None
            more[name] = value
        elif slots[where] is not None:
            return None
        else:
            slots[where] = value
    if None in slots[:total]:
        known.asks_defaults(m)
        if not _defaults(known, slots):
            return None
    at = total
    if code.has_varargs:
        slots[at] = m.new(VObj("tuple", tuple, tuple(extra)))
        at += 1
    if code.has_varkwargs:
        slots[at] = m.new(VObj("dict", dict, tuple(more.values()), tuple(more)))
        at += 1
    free = len(names) - code.n_free
    for k in range(at, free):
        slots[k] = UNBOUND_VALUE
    slots[free:] = known.cells
    return slots


def misfit(known: Callee, count: int, names: Iterable[str]) -> str | None:
    """Return CPython's error message for a call that does not bind, or None. It is obtained by calling an empty function with the same
    parameters.
    """
    code = known.code.code
    kept = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    quiet = _NOTHING.replace(
        co_argcount=code.co_argcount,
        co_posonlyargcount=code.co_posonlyargcount,
        co_kwonlyargcount=code.co_kwonlyargcount,
        co_varnames=code.co_varnames[: known.code.n_params],
        co_nlocals=known.code.n_params,
        co_flags=_NOTHING.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) | kept,
        co_name=code.co_name,
        co_qualname=known.qualname,
    )
    asked = types.FunctionType(quiet, {}, code.co_name, (None,) * len(known.defaults))
    asked.__kwdefaults__ = dict.fromkeys(known.kwdefaults)
    asked.__qualname__ = known.qualname
    try:
        asked(*[None] * count, **dict.fromkeys(names))
    except TypeError as error:
        return str(error)
    return None


_NOTHING: Final = (lambda: None).__code__


def _defaults(known: Callee, slots: list[V | None]) -> bool:
    code = known.code
    first = code.argcount - len(known.defaults)
    for k in range(code.argcount):
        if slots[k] is None:
            if k < first:
                return False
            slots[k] = known.defaults[k - first]
    for k in range(code.argcount, code.argcount + code.kwonlyargcount):
        if slots[k] is None:
            name = code.names[k]
            if name not in known.kwdefaults:
                return False
            slots[k] = known.kwdefaults[name]
    return True
