"""``jit`` inside a traced function: a call of the jitted function is traced as a call of the original function, together with the code around
it.

The jitted function itself is made where it escapes, by the real ``jit`` from the real function; if the function or the options are not
known, it is made at once.
"""

import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from hovis.base import own_code
from hovis.engine.calls import models
from hovis.engine.machine.call_results import opaque
from hovis.engine.machine.constant_folding import constant_form
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import VObj
from hovis.engine.state.values import Known, Ref, V
from hovis.library.core import Form, Stand
from hovis.library.standard import STANDARD

#: (the value of an option, the names of the function's parameters) -> does the jitted function behave like the original with this option?
Check = Callable[[Any, tuple[str, ...]], bool]


def _are_parameters(value: Any, parameters: tuple[str, ...]) -> bool:
    """Does the option ``static`` name only parameters? (The real ``jit`` raises an error for other names.)"""
    names = (value,) if isinstance(value, str) else value
    return isinstance(names, tuple) and all(name in parameters for name in names)


def is_off(value: Any, parameters: tuple[str, ...]) -> bool:
    return value is False


def is_switch(value: Any, parameters: tuple[str, ...]) -> bool:
    return type(value) is bool


def _is_time(value: Any, parameters: tuple[str, ...]) -> bool:
    return value is None or (type(value) in (int, float) and value >= 0)


#: Options that do not change the meaning of a call, each with its check.
OPTIONS: Final[Mapping[str, Check]] = {"static": _are_parameters, "strict": is_off, "seconds": _is_time, "annotations": is_switch}


def stands_for(maker: Callable[..., Any], cls: type, options: Mapping[str, Check]) -> None:
    """Register a model for `maker`, a variant of ``jit`` that returns objects of `cls`: traces follow it if its options pass the checks in
    `options`.
    """

    class Inner:
        """Stand-in for the jitted function."""

    stand = Stand.of(cls, Inner, Form.of(maker, "function **options"), through="function")
    STANDARD.models[Inner] = stand

    def act(m: Machine, args: list[V], named: dict[str, V]) -> Any:
        chosen = dict(named)
        function = m.resolve(args[0] if args else chosen.pop("fn", Known(None)))
        if not args and isinstance(function, Known) and function.value is None:
            return None  # the decorator that is returned is traced through
        parameters = _parameters(m, function)
        given = {name: constant_form(m, m.resolve(value)) for name, value in chosen.items()}
        known = {name: value.value for name, value in given.items() if isinstance(value, Known)}
        plain = parameters is not None and len(args) <= 1 and all(name in options and name in known for name in given)
        where = models.site(m)
        if not plain or where in m.tables.not_virtual or not all(options[name](value, parameters or ()) for name, value in known.items()):
            return opaque(m, maker, args, named)
        held = m.new(VObj("dict", dict, tuple(given.values()), tuple(given)))
        return m.new(VObj("model", cls, (function, held), ("function", "options"), (stand, where)))

    STANDARD.actions[maker] = act
    own_code.ENTERED.update(_codes(maker.__code__))


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _codes(inner)


def _parameters(m: Machine, function: V) -> tuple[str, ...] | None:
    """Return the parameter names of a Python function that can be entered, or None for any other callable."""
    obj = m.state.heap[function.aid] if isinstance(function, Ref) else None
    held = function.value if isinstance(function, Known) else None
    if obj is not None and obj.kind == "function":
        code = obj.extra[0].code
    elif type(held) is types.FunctionType:
        code = held.__code__
    else:
        return None
    return tuple(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


__all__ = ["OPTIONS", "is_off", "is_switch", "stands_for"]
