"""Callables as users pass them: the Python function behind one, its name, and its file."""

import os
import types
from typing import Any

from hovis.base import own_code
from hovis.engine.state.type_lookup import ENTERED_THROUGH
from hovis.errors import SpecError, said
from hovis.lattice import Const

own_code.leave_as_calls(__file__)


def behind(fn: Any) -> Any:
    """Return what is traced for fn: for a jitted function the function itself, for a Trace its residual."""
    while type(fn) in ENTERED_THROUGH:
        fn = fn._function
    if isinstance(fn, types.MethodType) and type(fn.__func__) in ENTERED_THROUGH:
        return types.MethodType(behind(fn.__func__), fn.__self__)
    return fn


def python_function(fn: Any) -> tuple[types.FunctionType | None, tuple[Any, ...]]:
    """Return the Python function behind fn, or None, and the arguments that are bound to it; raise SpecError if fn is not callable."""
    if isinstance(fn, types.FunctionType):
        return fn, ()
    if isinstance(fn, types.MethodType) and isinstance(fn.__func__, types.FunctionType):
        return fn.__func__, (Const(fn.__self__),)
    if not callable(fn):
        raise SpecError(f"hovis.trace takes a callable, not {type(fn).__name__}: {said(fn)}")
    call = getattr(type(fn), "__call__", None)  # noqa: B004  # the method itself is needed, not whether it exists
    if not isinstance(fn, type) and isinstance(call, types.FunctionType):
        return call, (Const(fn),)
    return None, ()


def name_of(fn: Any) -> str:
    return str(getattr(fn, "__qualname__", None) or getattr(fn, "__name__", None) or f"a {type(fn).__qualname__}")


def near(file: str) -> str:
    """Return the path relative to the current directory, if that is shorter."""
    return min(file, os.path.relpath(file), key=len) if os.path.isabs(file) else file
