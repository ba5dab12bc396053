"""Actions for builtins that call a special method of the class of their argument (CPython: Objects/abstract.c, Objects/object.c)."""

import math
import operator
from typing import Any, Final

from hovis.engine.calls import models
from hovis.engine.machine.machine import Machine
from hovis.engine.objects import class_call
from hovis.engine.state.type_lookup import ABSENT, FUNCTION, NOT_MODELLED, find, method
from hovis.engine.state.values import Known
from hovis.engine.traced import slot_protocols
from hovis.ir.operations import name_of_class
from hovis.library.virtual.base import Args, Named, action, pushed


def _class(m: Machine, args: Args) -> type | None:
    return models.written_class(m, args[0]) if args else None


@action(repr, counts=(1, 1))
def represent(m: Machine, args: Args, named: Named) -> Any:
    found = models.special(m, args[0], "__repr__")
    if found is ABSENT or found is NOT_MODELLED:
        return None
    return pushed(m, lambda: m.call(Known(slot_protocols.text), [Known(found), args[0], Known("__repr__")], {}))


@action(str, counts=(1, 1))
def to_text(m: Machine, args: Args, named: Named) -> Any:
    cls = _class(m, args)
    if cls is None:
        return None
    for name in ("__str__", "__repr__"):
        found = find(cls, name)
        if type(found) is FUNCTION:
            text = [Known(found), args[0], Known("__str__")]  # also for __repr__: the result is checked by PyObject_Str, not by object_str
            return pushed(m, lambda: m.call(Known(slot_protocols.text), text, {}))  # noqa: B023
        if found is not object.__dict__["__str__"]:
            return None
    return None


@action(format, counts=(1, 2))
def to_formatted(m: Machine, args: Args, named: Named) -> Any:
    cls = _class(m, args)
    if cls is None:
        return None
    spec = args[1] if len(args) == 2 else Known("")
    found = find(cls, "__format__")
    if type(found) is FUNCTION:
        return pushed(m, lambda: m.call(Known(slot_protocols.formatted), [Known(found), args[0], spec], {}))
    if found is object.__dict__["__format__"] and m.class_of(spec) is str:
        return pushed(m, lambda: m.call(Known(slot_protocols.formatted_as_text), [args[0], spec], {}))
    return None


@action(hash, counts=(1, 1))
def to_hash(m: Machine, args: Args, named: Named) -> Any:
    cls = _class(m, args)
    if cls is None:
        return None
    found = find(cls, "__hash__")
    if found is None:
        return m.raise_new(TypeError, f"unhashable type: '{name_of_class(m.class_of(args[0]) or cls)}'")
    if type(found) is not FUNCTION:
        return None
    return pushed(m, lambda: m.call(Known(slot_protocols.hashed), [Known(found), args[0]], {}))


@action(int, counts=(1, 1))
def to_int(m: Machine, args: Args, named: Named) -> Any:
    cls = _class(m, args)
    if cls is None or issubclass(cls, int | str | bytes | bytearray):
        return None
    for name in ("__int__", "__index__"):
        found = method(cls, name)
        if found is NOT_MODELLED:
            return None
        if found is not ABSENT:
            return pushed(m, lambda: m.call(Known(slot_protocols.as_int), [Known(found), args[0], Known(name)], {}))  # noqa: B023
    return None


@action(float, counts=(1, 1))
def to_float(m: Machine, args: Args, named: Named) -> Any:
    cls = _class(m, args)
    if cls is None or issubclass(cls, float | str | bytes | bytearray):
        return None
    found = method(cls, "__float__")
    if found is ABSENT:
        return _with_index(m, float, cls, args)
    return None if found is NOT_MODELLED else pushed(m, lambda: m.call(Known(slot_protocols.as_float), [Known(found), args[0]], {}))


def _with_index(m: Machine, fn: Any, cls: type, args: Args) -> Any:
    found = method(cls, "__index__") if not issubclass(cls, int) else NOT_MODELLED  # an instance of int is used without a call of __index__
    if found is ABSENT or found is NOT_MODELLED:
        return None
    return pushed(m, lambda: m.call(Known(slot_protocols.by_index), [Known(fn), Known(found), args[0]], {}))


def _index_taker(fn: Any) -> None:
    @action(fn, counts=(1, 1))
    def taker(m: Machine, args: Args, named: Named) -> Any:
        cls = _class(m, args)
        return None if cls is None else _with_index(m, fn, cls, args)


for _fn in (bin, hex, oct, chr, range):
    _index_taker(_fn)


@action(operator.index, counts=(1, 1))
def to_index(m: Machine, args: Args, named: Named) -> Any:
    cls = _class(m, args)
    found = method(cls, "__index__") if cls is not None and not issubclass(cls, int) else NOT_MODELLED
    if found is ABSENT or found is NOT_MODELLED:
        return None
    return pushed(m, lambda: m.call(Known(slot_protocols.as_index), [Known(found), args[0]], {}))


@action(operator.length_hint, counts=(1, 2))
def to_length_hint(m: Machine, args: Args, named: Named) -> Any:
    size, hint = (models.special(m, args[0], name) for name in ("__len__", "__length_hint__"))
    if size is NOT_MODELLED or hint is NOT_MODELLED:
        return None
    default = args[1] if len(args) == 2 else Known(0)
    if size is ABSENT and hint is ABSENT:
        return default
    asked = [args[0], default, *(Known(None if found is ABSENT else found) for found in (size, hint))]
    return pushed(m, lambda: m.call(Known(slot_protocols.length_hint), asked, {}))


#: builtin that returns the result of a special method unchanged -> (method, most arguments, message of the TypeError if there is no method)
_PASSED_ON: Final[dict[Any, tuple[str, int, str]]] = {
    round: ("__round__", 2, "type {} doesn't define __round__ method"),
    math.trunc: ("__trunc__", 1, "type {} doesn't define __trunc__ method"),
    math.floor: ("__floor__", 1, ""),
    math.ceil: ("__ceil__", 1, ""),
    reversed: ("__reversed__", 1, ""),
}


def _passed_on(fn: Any, name: str, most: int, complaint: str) -> None:
    @action(fn, counts=(1, most))
    def passing(m: Machine, args: Args, named: Named) -> Any:
        found = models.special(m, args[0], name)
        if found is ABSENT and complaint:
            cls: Any = m.class_of(args[0])
            return m.raise_new(TypeError, complaint.format(name_of_class(cls)))
        if found is ABSENT or found is NOT_MODELLED or not all(isinstance(a, Known) or m.class_of(a) is int for a in args[1:]):
            return None
        given = [a for k, a in enumerate(args) if not k or not isinstance(a, Known) or a.value is not None]
        return pushed(m, lambda: m.call(Known(found), given, {}))


for _fn, (_name, _most, _complaint) in _PASSED_ON.items():
    _passed_on(_fn, _name, _most, _complaint)


@action(pow, counts=(3, 3))
def power_modulo(m: Machine, args: Args, named: Named) -> Any:
    """``pow(x, y, z)``, which calls the ``__pow__`` of x alone (slot_nb_power)."""
    found = models.special(m, args[0], "__pow__")
    if found is ABSENT or found is NOT_MODELLED:
        return None
    return pushed(m, lambda: m.call(Known(slot_protocols.power_modulo), [Known(found), *args], {}))


# ------------------------------------------------------------------------------------------------- construction of instances


def _new_of(base: type) -> None:
    @action(base.__dict__["__new__"])
    def make(m: Machine, args: Args, named: Named) -> Any:
        return None if named else class_call.new_of_builtin(m, base, args)


for _base in (int, float, complex, str, bytes, tuple, list, dict, set, frozenset):
    _new_of(_base)
