"""Operators, truth, length and text of values of any kind (CPython: Objects/abstract.c, Objects/typeobject.c).

Special methods are looked up on the class, which is known or the operation is opaque; what they do is traced through.
"""

import operator
import types
from collections.abc import Callable
from typing import Any, Final

from hovis.engine import models, protocols
from hovis.engine.branches import identical
from hovis.engine.entering import call_function
from hovis.engine.lookups import FUNCTION, is_python_class, lookup, special
from hovis.engine.machine import Machine
from hovis.engine.primitives import call_builtin
from hovis.engine.results import finish
from hovis.engine.values import FALSE, TRUE, Dyn, Known, Ref, V, labels_of
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.lattice import Type
from hovis.lattice.constants import ATOMS

NAMES: Final[dict[Any, tuple[str, str | None]]] = {
    operator.add: ("__add__", "__radd__"), operator.sub: ("__sub__", "__rsub__"), operator.mul: ("__mul__", "__rmul__"),
    operator.truediv: ("__truediv__", "__rtruediv__"), operator.floordiv: ("__floordiv__", "__rfloordiv__"),
    operator.mod: ("__mod__", "__rmod__"), operator.pow: ("__pow__", "__rpow__"), operator.matmul: ("__matmul__", "__rmatmul__"),
    operator.and_: ("__and__", "__rand__"), operator.or_: ("__or__", "__ror__"), operator.xor: ("__xor__", "__rxor__"),
    operator.lshift: ("__lshift__", "__rlshift__"), operator.rshift: ("__rshift__", "__rrshift__"),
    operator.lt: ("__lt__", "__gt__"), operator.gt: ("__gt__", "__lt__"), operator.le: ("__le__", "__ge__"),
    operator.ge: ("__ge__", "__le__"), operator.eq: ("__eq__", "__eq__"), operator.ne: ("__ne__", "__ne__"),
    operator.neg: ("__neg__", None), operator.pos: ("__pos__", None), operator.invert: ("__invert__", None), abs: ("__abs__", None),
    operator.getitem: ("__getitem__", None), operator.setitem: ("__setitem__", None), operator.delitem: ("__delitem__", None),
    operator.contains: ("__contains__", None),
}  # fmt: skip
COMPARISONS: Final = frozenset({operator.lt, operator.gt, operator.le, operator.ge, operator.eq, operator.ne})
INPLACE: Final[dict[Any, Any]] = {
    operator.iadd: operator.add, operator.isub: operator.sub, operator.imul: operator.mul, operator.itruediv: operator.truediv,
    operator.ifloordiv: operator.floordiv, operator.imod: operator.mod, operator.ipow: operator.pow, operator.imatmul: operator.matmul,
    operator.iand: operator.and_, operator.ior: operator.or_, operator.ixor: operator.xor,
    operator.ilshift: operator.lshift, operator.irshift: operator.rshift,
}  # fmt: skip
#: Builtin classes whose operators answer NotImplemented to a class that they do not know.
MODEST: Final = frozenset({int, float, bool, complex, type(None)})


def operate(m: Machine, fn: Any, args: list[V], mode: str = "value") -> int | None:
    """An operator on values of any kind."""
    args = [m.resolve(a) for a in args]
    for a in args[:2]:
        if type(a) is Dyn:
            continue
        cls = models.acting_class(m, a)
        if cls is not None and is_python_class(cls):
            status: int | None = _by_protocol(m, fn, args, mode)
            if status is not _NOT_MINE:
                return status
            break
    return call_builtin(m, fn, args, {}, mode)


#: What has an operator, called as a function: with how many arguments.
ARITY: Final[dict[Any, int]] = {
    **{fn: 1 if names[1] is None else 2 for fn, names in NAMES.items()}, **dict.fromkeys(INPLACE, 2),
    operator.getitem: 2, operator.delitem: 2, operator.contains: 2, operator.setitem: 3, operator.truth: 1, operator.not_: 1,
    operator.is_: 2, operator.is_not: 2,
}  # fmt: skip


def call(m: Machine, fn: Any, args: list[V], mode: str) -> int | None:
    """A function of the operator module, called as one."""
    if fn is operator.truth:
        return truth(m, args[0], mode)
    if fn is operator.not_ and mode == "value":
        return truth(m, args[0], "truth_not")
    if fn in (operator.is_, operator.is_not):
        known = identical(m, *args)
        if known is not None:
            return finish(m, Known(known.value is (fn is operator.is_), known.labels), mode)
    return operate(m, fn, args, mode)


_NOT_MINE: Final = object()


def _by_protocol(m: Machine, fn: Any, args: list[V], mode: str) -> Any:
    """An operator of which an operand's class is written in Python."""
    classes = [models.acting_class(m, a) for a in args]
    if fn in INPLACE:
        return _inplace(m, fn, args, classes, mode)
    names = NAMES.get(fn)
    if names is None or classes[0] is None:
        return _NOT_MINE
    if names[1] is not None:
        return _NOT_MINE if classes[1] is None else _two_sided(m, fn, args, classes, names, mode)
    method = special(classes[0], names[0])
    if fn is operator.contains:
        if method is not None:
            return _enter(m, protocols.contained, [Known(method), *args], mode)
        if lookup(classes[0], "__contains__") is None and special(classes[0], "__iter__") is not None:
            return _enter(m, protocols.contained_by_iteration, args, mode)
        return _NOT_MINE
    if method is None:
        return _NOT_MINE
    return m.call(Known(method), args, {}, mode)


def _enter(m: Machine, model: Callable[..., Any], args: list[V], mode: str) -> int | None:
    return call_function(m, Known(model), model, args, {}, mode)


def candidates(fn: Any, a: type, b: type, names: tuple[str, str | None]) -> list[tuple[Any, bool]] | None:
    """The methods to try in order, with True for the reflected one; None if that is not known."""
    left = _candidate(a, names[0], b)
    # of operands of one class only comparisons ask both
    right = _candidate(b, names[1] or "", a) if a is not b or fn in COMPARISONS else None
    if left is _STRANGE or right is _STRANGE:
        return None
    found = []
    if right is not None and a is not b and issubclass(b, a) and (fn in COMPARISONS or lookup(b, names[1] or "") is not lookup(a, names[1] or "")):
        found.append((right, True))
        right = None
    if left is not None:
        found.append((left, False))
    if right is not None and (a is not b or fn in COMPARISONS):
        found.append((right, True))
    return found


_STRANGE: Final = object()


def _candidate(cls: type, name: str, other: type) -> Any:
    found = lookup(cls, name)
    if found is None or isinstance(found, FUNCTION):
        return found
    if cls in MODEST and is_python_class(other) and not issubclass(other, cls):
        return None
    if getattr(found, "__objclass__", None) is object:
        return None
    return _STRANGE


def _two_sided(m: Machine, fn: Any, args: list[V], classes: list[Any], names: tuple[str, str | None], mode: str) -> Any:
    a, b = args
    tried = candidates(fn, classes[0], classes[1], names)
    if tried is None:
        return _NOT_MINE
    model: Any = None
    if fn is operator.ne and not any(lookup(c, "__ne__") is not object.__ne__ for c in classes if is_python_class(c)):
        tried = candidates(operator.eq, classes[0], classes[1], NAMES[operator.eq])
        if tried is None or (len(tried) > 1 and classes[0] is not classes[1]):
            return _NOT_MINE
        tried, model = tried[:1], protocols.inverted
    if fn in (operator.eq, operator.ne) and not tried:
        same = identical(m, a, b)
        if same is None:
            return _NOT_MINE
        return finish(m, Known(same.value is (fn is operator.eq), same.labels), mode)
    if not tried:
        return _NOT_MINE
    ordered = [(Known(f), b, a) if reflected else (Known(f), a, b) for f, reflected in tried]
    if len(ordered) > 1 and fn not in COMPARISONS and ordered[0][0].value is ordered[1][0].value and classes[0] is classes[1]:
        ordered = ordered[:1]
    failing = Known(_failure(fn) if not any(models.virtual(m, x) for x in args) else models.failing(fn))
    if model is not None or len(ordered) == 1:
        f, x, y = ordered[0]
        return _enter(m, model or protocols.one, [f, x, y, failing, a, b], mode)
    (f, x, y), (g, z, w) = ordered
    return _enter(m, protocols.two, [f, g, x, y, z, w, failing, a, b], mode)


def _failure(fn: Any) -> Callable[..., Any]:
    """What happens when every candidate answered NotImplemented."""
    if fn is operator.eq:
        return operator.is_
    if fn is operator.ne:
        return operator.is_not
    return _FAILURES[fn]


def _unsupported(symbol: str) -> Callable[[Any, Any], Any]:
    def unsupported(a: Any, b: Any) -> Any:
        raise TypeError(f"unsupported operand type(s) for {symbol}: '{type(a).__name__}' and '{type(b).__name__}'")

    return unsupported


def _not_ordered(symbol: str) -> Callable[[Any, Any], Any]:
    def not_ordered(a: Any, b: Any) -> Any:
        raise TypeError(f"'{symbol}' not supported between instances of '{type(a).__name__}' and '{type(b).__name__}'")

    return not_ordered


_SYMBOLS: Final = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//", operator.mod: "%",
    operator.pow: "** or pow()", operator.matmul: "@", operator.and_: "&", operator.or_: "|", operator.xor: "^",
    operator.lshift: "<<", operator.rshift: ">>",
}  # fmt: skip
_FAILURES: Final[dict[Any, Callable[..., Any]]] = {
    **{fn: _unsupported(symbol) for fn, symbol in _SYMBOLS.items()},
    **{fn: _unsupported("**=" if symbol.startswith("**") else symbol + "=") for fn, symbol in ((i, _SYMBOLS[o]) for i, o in INPLACE.items())},
    operator.lt: _not_ordered("<"), operator.gt: _not_ordered(">"), operator.le: _not_ordered("<="), operator.ge: _not_ordered(">="),
}  # fmt: skip


def _inplace(m: Machine, fn: Any, args: list[V], classes: list[Any], mode: str) -> Any:
    """``a op= b``: the in-place method, then the binary operator (binary_iop1)."""
    if classes[0] is None or classes[1] is None:
        return _NOT_MINE
    plain = INPLACE[fn]
    name = "__i" + NAMES[plain][0][2:]
    own = lookup(classes[0], name)
    if own is not None and not isinstance(own, FUNCTION):
        return _NOT_MINE
    a, b = args
    tried = candidates(plain, classes[0], classes[1], NAMES[plain])
    if tried is None or (own is None and not tried):
        return _NOT_MINE
    ordered = [(Known(f), b, a) if reflected else (Known(f), a, b) for f, reflected in tried]
    if own is not None:
        ordered.insert(0, (Known(own), a, b))
    failing = Known(_FAILURES[fn] if not any(models.virtual(m, x) for x in args) else models.failing(fn))
    if len(ordered) == 1:
        f, x, y = ordered[0]
        return _enter(m, protocols.one, [f, x, y, failing, a, b], mode)
    if len(ordered) == 2:
        (f, x, y), (g, z, w) = ordered
        return _enter(m, protocols.two, [f, g, x, y, z, w, failing, a, b], mode)
    (h, _, _), (f, x, y), (g, z, w) = ordered
    return _enter(m, protocols.three, [h, f, g, x, y, z, w, failing, a, b], mode)


# ------------------------------------------------------------------------------------------------- truth, len, text


def truth(m: Machine, value: V, mode: str = "value") -> int | None:
    """``bool(value)`` (PyObject_IsTrue)."""
    value = m.resolve(value)
    if isinstance(value, Known) and (type(value.value) in ATOMS or type(value.value) in (tuple, frozenset)):
        if value.value is NotImplemented:      # which warns
            return finish(m, m.emit(bool, [value], type=Type(bool), effect=Effect.OPAQUE), mode)
        return finish(m, Known(bool(value.value), value.labels), mode)
    if isinstance(value, Dyn):
        if value.type == Type(bool):
            return finish(m, value, mode)
        if isinstance(value.type, Type) and value.type.cls is type(None):
            return finish(m, FALSE, mode)
        return call_builtin(m, bool, [value], {}, mode)
    cls = models.acting_class(m, value)
    assert cls is not None
    if isinstance(value, Ref):
        obj = m.state.heap[value.aid]
        if obj.kind in ("list", "tuple", "dict", "set") and (cls.__module__ == "builtins" or lookup(cls, "__bool__") is None):
            return finish(m, Known(bool(obj.keys if obj.kind == "set" else obj.cells), labels_of(value)), mode)
        if obj.kind in ("function", "method", "cell", "slice", "sequence_iter", "range_iter", "dict_iter", "generator", "super"):
            return finish(m, TRUE, mode)
        if obj.kind == "exception" and not is_python_class(cls):
            return finish(m, Known(True, labels_of(value)), mode)
    if is_python_class(cls):
        for name, model in (("__bool__", protocols.truth_by_bool), ("__len__", protocols.truth_by_len)):
            found = lookup(cls, name)
            if isinstance(found, FUNCTION):
                return _enter(m, model, [Known(found), value], mode)
            if found is not None:
                return call_builtin(m, bool, [value], {}, mode)
        return finish(m, Known(True, labels_of(value)), mode)
    if isinstance(value, Known) and isinstance(value.value, type | types.ModuleType | FUNCTION | types.BuiltinFunctionType):
        return finish(m, TRUE, mode)
    return call_builtin(m, bool, [value], {}, mode)


def length(m: Machine, value: V, mode: str = "value") -> Any:
    """``len`` of an instance of a Python class; None: not mine."""
    cls = models.acting_class(m, value)
    method = special(cls, "__len__") if cls is not None and is_python_class(cls) and not isinstance(value, Dyn) else None
    return None if method is None else _enter(m, protocols.length, [Known(method), value], mode)


def format_value(m: Machine, value: V, spec: V) -> int | None:
    """``format(value, spec)`` of an f-string."""
    value = m.resolve(value)
    cls = models.acting_class(m, value)
    if cls is not None and is_python_class(cls) and not isinstance(value, Dyn):
        method = special(cls, "__format__")
        if method is not None:
            return _enter(m, protocols.formatted, [Known(method), value, spec], "value")
        text = special(cls, "__str__") or special(cls, "__repr__")
        if lookup(cls, "__format__") is object.__dict__["__format__"] and text and isinstance(spec, Known) and spec.value == "":
            name = "__str__" if special(cls, "__str__") else "__repr__"
            return _enter(m, protocols.text, [Known(text), value, Known(name)], "value")
    if cls is str and isinstance(spec, Known) and spec.value == "":
        m.push(value)
        return None
    return call_builtin(m, ops.format_value, [value, spec], {})
