"""Enumerations (CPython: Lib/enum.py), and known objects of classes that derive from numbers and strings.

Members are created with their class and never change: the set of members, and the results of the operators that enum
defines on them, are known.  To an operator that a class inherits unchanged from its builtin base (IntEnum, StrEnum), a
known object of the class is the plain number or string.
"""

import enum
import operator
from types import MethodDescriptorType
from typing import Any, Final

from hovis.base import interrupts
from hovis.engine.calls.builtin_payload import INDEXERS
from hovis.engine.machine.machine import Machine
from hovis.engine.state.type_lookup import find, is_python_class
from hovis.engine.state.values import STRONG, Known, V
from hovis.lattice.constants import ATOMS, is_immutable

#: Bound on the values for which members of a Flag are created while tracing: enum keeps each member for ever.
LARGEST: Final = 1 << 16


def is_enum(cls: object) -> bool:
    """Is cls an enumeration that is iterated over by the ``__iter__`` of EnumMeta?"""
    return isinstance(cls, enum.EnumMeta) and find(type(cls), "__iter__") is enum.EnumMeta.__dict__["__iter__"]


def members(m: Machine, cls: Any, labels: Any) -> list[V] | None:
    """Return the members that iteration over an enumeration gives; None if they are not known."""
    table = cls.__dict__.get("_member_map_")
    if type(table) is not dict or not m.environment.static(Known(table)):
        return None
    return [Known(member, labels) for member in cls]


def by_identity(value: object) -> bool:
    """Is value, as a dict key, equal only to itself?"""
    kind = type(value)
    hashing = find(kind, "__hash__")
    if hashing is object.__dict__["__hash__"]:
        return True
    return hashing is enum.Enum.__dict__["__hash__"] and find(kind, "__eq__") is object.__dict__["__eq__"]


# ------------------------------------------------------------------------------------------------- calling the class


def by_value(m: Machine, cls: Any, value: V) -> V | None:
    """Return the member for ``Color(1)``, if there is one (of a Flag, also a combination of members); else None."""
    if not isinstance(value, Known):
        return None
    held = value.value
    if type(held) is cls:
        return value
    if not is_immutable(held):
        return None
    table = cls.__dict__.get("_value2member_map_", {})
    if held in table:
        m.use(value, STRONG)
        return Known(table[held], value.labels)
    if issubclass(cls, enum.Flag) and type(held) is int and -LARGEST < held < LARGEST and _is_enums(cls, "_missing_", enum.Flag):
        try:
            made = cls(held)
        except (ValueError, TypeError):
            return None
        m.use(value, STRONG)
        return Known(made, value.labels) if type(made) is cls else None
    return None


def _is_enums(cls: type, name: str, base: type) -> bool:
    """Does cls inherit the attribute name unchanged from base, or from a base class of it?"""
    return any(find(cls, name) is b.__dict__.get(name, NOTHING) for b in base.__mro__)


NOTHING: Final = object()


def combined(m: Machine, fn: Any, args: list[V]) -> V | None:
    """Fold ``|``, ``&``, ``^`` and ``~`` of known members of one Flag, as enum defines them; None if that is not possible."""
    held: list[Any] = [a.value for a in args if isinstance(a, Known)]
    name = _OPERATORS.get(fn)
    if name is None or len(held) < len(args) or not isinstance(held[0], enum.Flag):
        return None
    cls = type(held[0])
    base = enum.IntFlag if issubclass(cls, enum.IntFlag) else enum.Flag
    plain = all(type(x) is cls or (base is enum.IntFlag and type(x) is int and 0 <= x < LARGEST) for x in held)
    if not plain or not _is_enums(cls, name, base) or not _is_enums(cls, "_missing_", enum.Flag) or not _is_enums(cls, "__new__", enum.Flag):
        return None
    try:
        made = fn(*held)
    except Exception as error:
        interrupts.let_through(error)
        return None
    if type(made) not in (cls, int):
        return None
    for value in args:
        m.use(value, STRONG)
    return Known(made)


_OPERATORS: Final[dict[Any, str]] = {
    operator.or_: "__or__", operator.and_: "__and__", operator.xor: "__xor__", operator.invert: "__invert__",
    operator.ior: "__or__", operator.iand: "__and__", operator.ixor: "__xor__",
}  # fmt: skip


# ------------------------------------------------------------------------------------------------- plain numbers and strings

_ARITHMETIC: Final[dict[Any, str]] = {
    operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.truediv: "truediv", operator.floordiv: "floordiv", operator.mod: "mod",
}  # fmt: skip
_COMPARED: Final[dict[Any, tuple[str, str]]] = {
    operator.eq: ("__eq__", "__eq__"), operator.ne: ("__ne__", "__ne__"), operator.lt: ("__lt__", "__gt__"), operator.gt: ("__gt__", "__lt__"),
    operator.le: ("__le__", "__ge__"), operator.ge: ("__ge__", "__le__"),
}  # fmt: skip
_NUMBERS: Final = frozenset({int, float, bool})
_UNARY: Final[dict[Any, str]] = {operator.neg: "__neg__", operator.pos: "__pos__", abs: "__abs__"}
#: Builtins that use only the value of a number, not its class.
_TAKING: Final[tuple[Any, ...]] = (int, float, complex, range, chr, hex, bin, oct, round, divmod, pow)
_AS_NUMBERS: Final = ("__int__", "__float__", "__index__", "__round__", "__divmod__", "__rdivmod__", "__pow__", "__rpow__", "__trunc__")


def plain(held: object, base: Any, names: tuple[str, ...]) -> Any:
    """Return held as a value of its builtin base, or None if its class overrides one of the special methods in names."""
    kind = type(held)
    if not all(_inherited(kind, base, name) for name in names):
        return None
    return _PLAIN[base](held)


def _inherited(cls: type, base: type, name: str) -> bool:
    own = find(base, name)
    return find(cls, name) is own


_PLAIN: Final[dict[Any, Any]] = {int: int.__pos__, float: float.__pos__, str: str.__str__}


def base_of(held: object) -> type | None:
    """Return the builtin number or string class that the class of held derives from; None if there is none."""
    kind = type(held)
    if kind in ATOMS or not is_python_class(kind):
        return None
    return next((base for base in _PLAIN if issubclass(kind, base)), None)


def _class_of_operand(m: Machine, value: V) -> type | None:
    """Return the class of an operand; the builtin base, if it is a known number or string of a derived class; None if it is not known."""
    return (base_of(value.value) if isinstance(value, Known) else None) or m.class_of(value)


def plain_operands(m: Machine, fn: Any, args: list[V]) -> list[V] | None:
    """Replace known operands of derived classes by plain values of their builtin bases; None if there are none, or fn uses a special method that
    a class overrides.
    """
    bases = [base_of(a.value) if isinstance(a, Known) else None for a in args]
    if not any(bases):
        return None
    names = _names(fn, [_class_of_operand(m, a) for a in args])
    if names is None:
        return None
    found: list[V] = []
    for value, base in zip(args, bases, strict=True):
        if base is None:
            found.append(value)
            continue
        assert isinstance(value, Known)
        held = plain(value.value, base, names)
        if held is None:
            return None
        found.append(Known(held, value.labels))
    return found


def _names(fn: Any, classes: list[Any]) -> tuple[str, ...] | None:
    """Return the special methods that decide the result of fn; None if fn is not covered, or its error message might name the class."""
    if fn in _COMPARED:
        alike = all(c in _NUMBERS for c in classes) or classes == [str, str]
        return _COMPARED[fn] if alike or (fn in (operator.eq, operator.ne) and all(c in ATOMS for c in classes)) else None
    if fn is bool:
        return "__bool__", "__len__"
    if fn in _UNARY:
        return (_UNARY[fn],) if classes[0] in _NUMBERS else None
    if fn in _ARITHMETIC and all(c in _NUMBERS for c in classes):
        return f"__{_ARITHMETIC[fn]}__", f"__r{_ARITHMETIC[fn]}__"
    if fn is operator.add and classes == [str, str]:
        return ("__add__",)
    if fn is operator.mul and classes[0] in (list, tuple, str) and classes[1] is int:
        return "__mul__", "__rmul__", "__index__"
    if fn is operator.getitem and classes[0] in (list, tuple, str) and classes[1] is int:
        return ("__getitem__",) if classes[0] is str else ("__index__",)
    return None


def taken(m: Machine, fn: Any, args: list[V]) -> list[V]:
    """Replace known arguments of classes derived from numbers or strings by plain values, where the builtin fn makes no difference between them."""
    if (fn is divmod or fn is pow) and not all(_class_of_operand(m, a) in _NUMBERS for a in args):
        return args  # the error message names the classes
    found = args
    for k, value in enumerate(args):
        base = base_of(value.value) if isinstance(value, Known) else None
        if base is None:
            continue
        method = k == 0 and type(fn) is MethodDescriptorType and fn.__objclass__ is base and not fn.__name__.startswith("__")
        if method or (base in _NUMBERS and any(fn is one for one in _TAKING) and (base is int or not any(fn is one for one in INDEXERS))):
            assert isinstance(value, Known)
            held = plain(value.value, base, () if method else tuple(n for n in _AS_NUMBERS if n in base.__dict__))
            if held is not None:
                found = [*found[:k], Known(held, value.labels), *found[k + 1 :]]
    return found
