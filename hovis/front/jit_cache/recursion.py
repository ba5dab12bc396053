"""Whether calls of a function may make calls of itself."""

import dis
import inspect
import types
from typing import Any, Final

from hovis.base import own_code
from hovis.lattice.inspection import attribute, is_a

own_code.leave_as_calls(__file__)

#: Of so many code objects it is asked whether they name a function.
MOST_CODES: Final = 256
#: What reads a global (Lib/opcode.py).
_GLOBALS: Final = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
#: What calls of which say nothing of what it takes to run it (Include/cpython/code.h: generators, coroutines, asynchronous generators).
_LATER: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE | inspect.CO_ASYNC_GENERATOR


def may_recur(fn: Any) -> bool:
    """May calls of fn make calls of what is named like it?  Its own code is looked at, and that of functions of its module which it names.

    What is named is a global, a variable of a closure, or, if fn is a method, an attribute.

    What gives a generator or a coroutine is taken for one of these: its calls are not what takes the time.
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
    """The function that a wrapper wraps."""
    return attribute(value, "__wrapped__", value) if callable(value) else value
