"""Detection of functions that may call themselves."""

import dis
import inspect
import types
from typing import Any, Final

from hovis.base import own_code
from hovis.lattice.inspection import attribute, is_a

own_code.leave_as_calls(__file__)

#: Maximal number of code objects that are searched for the name; beyond it, recursion is assumed.
MOST_CODES: Final = 256
#: Opcodes that read a global (Lib/opcode.py).
_GLOBALS: Final = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
#: Flags of functions whose calls do not run the body (Include/cpython/code.h: generators, coroutines, asynchronous generators).
_LATER: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE | inspect.CO_ASYNC_GENERATOR


def may_recur(fn: Any) -> bool:
    """May a call of fn reach another function of the same name? Checks the code of fn, and of the functions of its module that it names.

    A name is that of a global, of a closure variable, or, if fn is a method, of an attribute.

    Functions that return a generator or a coroutine count as recursive: the time of a call of them says nothing about the time of the body.
    """
    function = getattr(fn, "__func__", fn)
    if not isinstance(function, types.FunctionType) or function.__code__.co_flags & _LATER:
        return True
    namespace, found, at = function.__globals__, [function.__code__], 0
    holder, _, name = function.__qualname__.rpartition(".")
    is_method = bool(holder) and not holder.endswith("<locals>")
    while at < len(found):
        code, at = found[at], at + 1
        named_so = name in code.co_names and (is_method or any(one.argval == name and one.opname in _GLOBALS for one in dis.get_instructions(code)))
        if named_so or name in code.co_freevars or at > MOST_CODES:
            return True
        named = [_unwrapped(value) for value in map(namespace.get, code.co_names)]
        others = [value.__code__ for value in named if is_a(value, types.FunctionType) and value.__globals__ is namespace]
        found += [other for other in (*others, *code.co_consts) if isinstance(other, types.CodeType) and other not in found]
    return False


def _unwrapped(value: object) -> object:
    """Return the function that a wrapper wraps (``__wrapped__``), or the value itself if it is no wrapper."""
    return attribute(value, "__wrapped__", value) if callable(value) else value
