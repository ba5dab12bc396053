"""Calls of callees of any kind (CPython: Objects/call.c).

``call`` leaves the result on the stack, and returns a control code, as every instruction handler does.
"""

import builtins
import types
from typing import Any, Final

from hovis.base.function_wrapper import Alike
from hovis.engine.calls import models, operators, predicted_results
from hovis.engine.calls.builtins import by_library, call_builtin
from hovis.engine.calls.inline_python import call_function
from hovis.engine.calls.models import NOT_MINE
from hovis.engine.machine.call_results import finish, opaque
from hovis.engine.machine.machine import Machine
from hovis.engine.objects import class_call, class_statement
from hovis.engine.state.type_lookup import ABSENT, ENTERED_THROUGH, find, is_python_class
from hovis.engine.state.values import Dyn, Known, Ref, V
from hovis.ir import operations
from hovis.lattice import Refined
from hovis.lattice.inspection import is_a
from hovis.library.core import Stand

FUNCTION: Final = types.FunctionType

#: The operations of the IR: Python functions that are primitives.
OPERATIONS: Final = frozenset(value for value in vars(operations).values() if type(value) is FUNCTION)

METHOD: Final = types.MethodType
BUILD_CLASS: Final = builtins.__build_class__


# ------------------------------------------------------------------------------------------------- any callee


def call(m: Machine, callee: V, args: list[V], kwargs: dict[str, V], mode: str = "value") -> int | None:
    """Call callee; mode says where the result goes. Return a control code, as an instruction handler does."""
    callee = m.resolve(callee)
    if isinstance(callee, Dyn):
        m.use(callee)
        if (alike := _alike(m, callee)) is not None:
            return call(m, alike, args, kwargs, mode)
        cls = m.class_of(callee)
        if cls is not None and (is_python_class(cls) or find(cls, "__call__") is ABSENT):
            return class_call.call_instance(m, callee, args, kwargs, mode)
        return finish(m, opaque(m, callee, args, kwargs), mode)
    if callee.labels:
        m.use(callee)
    if isinstance(callee, Ref):
        return _call_object(m, callee, args, kwargs, mode)
    fn = callee.value
    if type(fn) in ENTERED_THROUGH:
        # of a jitted function, the original function is entered
        return call(m, Known(fn._function), args, kwargs, mode)  # type: ignore[attr-defined]
    if fn is BUILD_CLASS:
        return class_statement.statement(m, args, kwargs, mode)
    if type(fn) is FUNCTION:
        if fn in OPERATIONS:
            return call_builtin(m, fn, args, kwargs, mode)
        status = by_library(m, fn, args, kwargs, mode)
        if status is not NOT_MINE:
            return status  # type: ignore[return-value]
        return _call_function(m, callee, fn, fn.__code__, args, kwargs, mode)
    if type(fn) is METHOD:
        return call(m, Known(fn.__func__), [Known(fn.__self__), *args], kwargs, mode)
    if is_a(fn, type):
        return class_call.call_class(m, callee, fn, args, kwargs, mode)
    plain = unbound_builtin(fn)
    if plain is not None:
        descriptor, instance = plain
        return call(m, Known(descriptor), [Known(instance, callee.labels), *args], kwargs, mode)
    if builtin_callable(fn) and callable(fn) and type(fn) not in m.library.models:
        arity = operators.ARITY.get(fn)
        if arity is not None:
            fits = not kwargs and len(args) == arity
            return operators.call(m, fn, args, mode) if fits else finish(m, opaque(m, fn, args, kwargs), mode)
        return call_builtin(m, fn, args, kwargs, mode)
    if args is m.given:
        stand = m.library.models.get(type(fn))
        if isinstance(stand, Stand) and stand.expected is not None:
            return predicted_results.call(m, callee, stand, args, kwargs)
    return class_call.call_instance(m, callee, args, kwargs, mode)


def _alike(m: Machine, callee: Dyn) -> Known | None:
    """Return the known callable that an unknown wrapper behaves like (see `Alike`), or None if that is not known."""
    kind = m.type_of(callee)
    found = kind.facts if type(kind) is Refined else None
    return Known(found.value) if isinstance(found, Alike) else None


def _call_function(m: Machine, callee: V, fn: Any, code: types.CodeType, args: list[V], kwargs: dict[str, V], mode: str) -> int | None:
    """Enter a Python function, unless the library has an action for its code that gives a result."""
    action = m.library.codes.get(id(code))
    found = action(m, [callee, *args], kwargs) if action is not None else None
    return call_function(m, callee, fn, args, kwargs, mode) if found is None else finish(m, found, mode)


def builtin_callable(fn: object) -> bool:
    """Is fn a callable of C code, without Python code of its own to enter?"""
    return issubclass(type(fn), _BUILTINS) or type(find(type(fn), "__call__")) in _SLOTS


#: Types of the ``__call__`` of a C class.
_SLOTS = (types.WrapperDescriptorType, types.MethodDescriptorType)
_BUILTINS = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)


def unbound_builtin(fn: Any) -> tuple[object, object] | None:
    """Split a bound method of a builtin into its descriptor and its instance: ``[].append`` into ``list.append`` and ``[]``. None if fn is not
    one.
    """
    if is_a(fn, types.BuiltinMethodType | types.MethodWrapperType):
        owner = fn.__self__
        if owner is None or isinstance(owner, types.ModuleType):
            return None
        if isinstance(owner, type):
            return None
        descriptor = getattr(type(owner), fn.__name__, None)
        if isinstance(descriptor, types.MethodDescriptorType | types.WrapperDescriptorType):
            return descriptor, owner
    return None


def _call_object(m: Machine, callee: Ref, args: list[V], kwargs: dict[str, V], mode: str) -> int | None:
    obj = m.state.heap[callee.aid]
    if obj.kind == "function":
        return _call_function(m, callee, None, obj.extra[0].code, args, kwargs, mode)
    if obj.kind == "method":
        function, instance = obj.cells
        return call(m, function, [instance, *args], kwargs, mode)
    inner = models.behind(m, callee)
    if inner is not callee:
        return call(m, inner, args, kwargs, mode)
    return class_call.call_instance(m, callee, args, kwargs, mode)
