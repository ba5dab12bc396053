"""Inlining of Python functions, or leaving their calls in the residual (CPython: Python/ceval.c)."""

import inspect
import types
import typing
from typing import Any, Final

from hovis.base import own_code
from hovis.engine.calls.argument_binding import Callee, bind, misfit
from hovis.engine.calls.recursion import given, known_arguments, recurses
from hovis.engine.calls.residual_calls import call_residual
from hovis.engine.machine.call_results import finish, opaque
from hovis.engine.machine.frame_inspection import need_callers_again
from hovis.engine.machine.machine import Machine
from hovis.engine.merge.function_sharing import shared
from hovis.engine.state.frames_and_heap import SWITCH, Frame
from hovis.engine.state.values import ENDS, Dyn, Known, V
from hovis.lattice import Type

#: The most nested frames; deeper calls stay calls.
MAX_DEPTH: Final = 120
#: The limit as long as no unknown decision has been made (CPython's own limit is 1000).
MAX_KNOWN_DEPTH: Final = 900

#: ``extra`` of the frame of a generator function whose generator has to be real from the beginning.
REAL: Final = object()


def call_function(m: Machine, callee: V, fn: Any, args: list[V], kwargs: dict[str, V], mode: str = "value") -> int | None:
    """Enter a Python function, or emit a call of it where entering is not possible or not wise."""
    known = Callee.of(m, callee, fn)
    why = why_not(m, known) or _drives(m, known, args, kwargs)
    if why is None:
        bound = bind(m, known, args, kwargs)
        if bound is not None:
            return _enter(m, callee, known, bound, args, kwargs, mode)
        known.asks_defaults(m)
        complaint = misfit(known, len(args), kwargs) if not known.unsure else None
        if complaint is not None:
            return m.raise_new(TypeError, complaint)
        why = "its defaults are not known any more" if known.unsure else "its arguments do not fit"
    if why:
        m.reason(f"the call of {known.qualname} was left as it is: {why}")
    made = opaque(m, callee.value if isinstance(callee, Known) else callee, args, kwargs)
    if known.code.is_coroutine or known.code.is_async_generator:
        made = Dyn(made.value, Type(types.CoroutineType if known.code.is_coroutine else types.AsyncGeneratorType), ends=ENDS)
        made.value.type = made.type  # type: ignore[union-attr]
    return finish(m, made, mode)


def _drives(m: Machine, known: Callee, args: list[V], kwargs: dict[str, V]) -> str | None:
    """Return the reason not to enter a function that is given a coroutine, or None. A coroutine is opaque, and all that drives it would be too
    (all of asyncio).
    """
    if known.code.filename.startswith(m.package) or not any(m.class_of(v) in _AWAITED for v in (*args, *kwargs.values())):
        return None
    return "a coroutine is passed to it"


_AWAITED: Final = (types.CoroutineType, types.AsyncGeneratorType)


#: Functions of the standard library that are not entered: they are long, and inspect objects that had better be real.
_LEFT: Final = frozenset({inspect.signature, inspect.getfullargspec, inspect.getmembers, inspect.getsource, inspect.getdoc, typing.get_type_hints})


def why_not(m: Machine, known: Callee) -> str | None:
    """Return the reason not to enter a function, "" for a reason that is not reported, or None if it may be entered."""
    code = known.code
    if code.is_coroutine or code.is_async_generator:
        return "it is a coroutine"
    if code.unsupported:
        return str(code.unsupported)
    if code.code in m.tables.not_entered:
        need_callers_again(m, code.code)
        return m.tables.not_entered[code.code]
    if own_code.is_left(code.filename) and code.code not in own_code.ENTERED:
        return "hovis does not trace itself"
    if len(m.state.frames) >= (MAX_DEPTH if m.frame.decided else MAX_KNOWN_DEPTH):
        return "calls are nested too deep"
    if known.fn is not None and id(known.fn.__kwdefaults__) in m.tables.thawed:
        return "its defaults are modified"
    if "__classdict__" in code.code.co_freevars:
        return "it reads the namespace of a class"
    if known.fn in _LEFT:
        return "it inspects functions and classes"
    if known.fn is not None and getattr(known.fn, "__hovis_boundary__", False) and code.code is not m.tables.wanted:
        return "it is marked with hovis.boundary"
    return None


def _enter(m: Machine, callee: V, known: Callee, bound: list[V | None], args: list[V], kwargs: dict[str, V], mode: str) -> int | None:
    code = known.code
    now = known_arguments(m, bound)
    if recurses(m, code, now, bound) or (not code.is_generator and not code.filename.startswith(m.package) and shared(m, code, now)):
        if not code.is_generator:
            return call_residual(m, known, bound, mode)
        now = REAL
    caller = m.frame
    ctx = m.tables.contexts[caller.ctx, caller.pc, code]
    home = m.homes[m.state.frames[0].ctx]
    m.homes.setdefault(ctx, home)
    frame = Frame(code, ctx, bound, known.namespace, mode, known.fn or m.obj(callee, "function"))
    frame.extra = now
    frame.given = given(m, bound)
    m.state.frames.append(frame)
    for name, value in zip(code.names, bound, strict=False):
        if type(value) is Dyn:
            m.named(value, name)
    return SWITCH
