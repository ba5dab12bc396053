"""Operators, truth, length and text of values of any kind (CPython: Objects/abstract.c, Objects/typeobject.c).

Special methods are looked up on the class, and traced through; if the class is unknown, the operation is opaque.
"""

import enum
import operator
import types
import weakref
from collections.abc import Callable
from typing import Any, Final

from hovis.engine.calls import builtin_payload, enums, models
from hovis.engine.calls.builtins import call_builtin
from hovis.engine.calls.inline_python import call_function
from hovis.engine.environment.guards import can_change
from hovis.engine.machine.branches import identical
from hovis.engine.machine.call_results import finish
from hovis.engine.machine.constant_folding import quick
from hovis.engine.machine.machine import Machine
from hovis.engine.state.type_lookup import ABSENT, FUNCTION, NOT_MODELLED, find, is_python_class, lookup, method
from hovis.engine.state.values import FALSE, TRUE, Dyn, Known, Ref, V, labels_of
from hovis.engine.traced import slot_protocols
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.ir.operations import type_name
from hovis.lattice import AbstractValue, Type, Union
from hovis.lattice.constants import ATOMS
from hovis.lattice.inspection import is_a

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
    operator.contains: ("__contains__", None), divmod: ("__divmod__", "__rdivmod__"),
}  # fmt: skip
COMPARISONS: Final = frozenset({operator.lt, operator.gt, operator.le, operator.ge, operator.eq, operator.ne})
INPLACE: Final[dict[Any, Any]] = {
    operator.iadd: operator.add, operator.isub: operator.sub, operator.imul: operator.mul, operator.itruediv: operator.truediv,
    operator.ifloordiv: operator.floordiv, operator.imod: operator.mod, operator.ipow: operator.pow, operator.imatmul: operator.matmul,
    operator.iand: operator.and_, operator.ior: operator.or_, operator.ixor: operator.xor,
    operator.ilshift: operator.lshift, operator.irshift: operator.rshift,
}  # fmt: skip
#: Builtin classes whose operators return NotImplemented for operands of unknown classes, with the classes (and their subclasses) that they know.
MODEST: Final[dict[type, tuple[type, ...]]] = {
    bool: (int,), int: (int,), float: (int, float), complex: (int, float, complex), type(None): (type(None),),
}


def operate(m: Machine, fn: Any, args: list[V], mode: str = "value") -> int | None:
    """Apply an operator to values of any kind."""
    known = quick(m, fn, *args) if len(args) == 2 else None
    if known is not None:
        return finish(m, known, mode)
    args = [m.resolve(a) for a in args]
    if isinstance(args[0], Known) and is_a(args[0].value, enum.Flag) and (combined := enums.combined(m, fn, args)) is not None:
        return finish(m, combined, mode)
    for a in args[:2]:
        cls = models.acting_class(m, a)
        if cls is not None and cls not in ATOMS and is_python_class(cls):
            inside = _stored(m, fn, args)
            if inside is not None:
                return operate(m, *inside, mode) if inside[0] in ARITY else m.call(Known(inside[0]), inside[1], {}, mode)
            status: int | None = _by_protocol(m, fn, args, mode)
            if status is not NOT_MODELLED:
                return status
            plain = enums.plain_operands(m, fn, args)
            if plain is not None:
                return operate(m, fn, plain, mode)
            break
    # both classes have to be known before anything is asked of one of them, which adds guards
    if fn in (operator.eq, operator.ne) and not any(isinstance(a, Dyn) and not isinstance(a.type, Type) for a in args):
        classes = [m.class_of(a) for a in args]
        if all(map(_compares_by_identity, classes)):
            return _nobody(m, fn, args[0], args[1], classes, mode)  # type: ignore[no-any-return]
    return call_builtin(m, fn, args, {}, mode)


def _compares_by_identity(cls: Any) -> bool:
    """Whether ``==`` and ``!=`` of instances of cls are those of ``object`` (functions, modules, classes whose metaclass defines none)."""
    return all(find(cls, name) is object.__dict__[name] for name in ("__eq__", "__ne__"))


def _stored(m: Machine, fn: Any, args: list[V]) -> "tuple[Any, list[V]] | None":
    """Rewrite an operator on an instance that holds a builtin value to a callable and its arguments (see builtin_payload); None if that is not
    possible.
    """
    names = NAMES.get(INPLACE.get(fn, fn))
    if names is None or not any(builtin_payload.held(m, a) is not None for a in args[:2]):
        return None
    if fn in _ITEMS and builtin_payload.held(m, args[0]) is None:
        given = builtin_payload.by_index(m, args)
        return None if given[1] is args[1] else (fn, given)
    own = tuple(name for name in names if name is not None) + (() if fn not in INPLACE else ("__i" + names[0][2:],))
    found = builtin_payload.operands(m, fn, args, own, names[1] is not None)
    if found is None:
        return None
    if fn is operator.getitem and m.class_of(found[0]) is dict:
        return builtin_payload.of_dict(m, found[0], args[0], args[1])
    if fn in INPLACE and m.class_of(found[0]) is list and builtin_payload.held(m, args[0]) is not None:
        return slot_protocols.in_place, [Known(fn), args[0], *found]
    return fn, found


#: Number of operands of each operator, when it is called as a function.
ARITY: Final[dict[Any, int]] = {
    **{fn: 1 if names[1] is None else 2 for fn, names in NAMES.items()}, **dict.fromkeys(INPLACE, 2),
    operator.getitem: 2, operator.delitem: 2, operator.contains: 2, operator.setitem: 3, operator.truth: 1, operator.not_: 1,
    operator.is_: 2, operator.is_not: 2,
}  # fmt: skip


def call(m: Machine, fn: Any, args: list[V], mode: str) -> int | None:
    """Call an operator that the program uses as a function (``operator.add(a, b)``)."""
    if fn is operator.truth:
        return truth(m, args[0], mode)
    if fn is operator.not_ and mode == "value":
        return truth(m, args[0], "truth_not")
    if fn in (operator.is_, operator.is_not):
        known = identical(m, *args)
        if known is not None:
            return finish(m, Known(known.value is (fn is operator.is_), known.labels), mode)
    return operate(m, fn, args, mode)


def _by_protocol(m: Machine, fn: Any, args: list[V], mode: str) -> Any:
    """Apply an operator to an operand whose class is written in Python, by its special methods; NOT_MODELLED if that is not possible."""
    classes = [models.acting_class(m, a) for a in args]
    if fn in INPLACE:
        return _inplace(m, fn, args, classes, mode)
    names = NAMES.get(fn)
    if names is None or classes[0] is None:
        return NOT_MODELLED
    if names[1] is not None:
        return NOT_MODELLED if classes[1] is None else _two_sided(m, fn, args, classes, names, mode)
    if not is_python_class(classes[0]):
        return _by_index(m, fn, args, classes, mode)
    if fn is operator.contains:
        return _contains(m, args, mode)
    found = models.special(m, args[0], names[0])
    if found is ABSENT and fn in _UNARY:
        return m.raise_new(TypeError, f"bad operand type for {_UNARY[fn]}: '{ops.name_of_class(classes[0])}'")
    if found is ABSENT or found is NOT_MODELLED:
        return NOT_MODELLED
    if fn in (operator.setitem, operator.delitem) and mode != "discard":
        return m.call(Known(slot_protocols.without_result), [Known(found), *args], {}, mode)
    return m.call(Known(found), args, {}, mode)


_UNARY: Final = {operator.neg: "unary -", operator.pos: "unary +", operator.invert: "unary ~", abs: "abs()"}


def _contains(m: Machine, args: list[V], mode: str) -> Any:
    """PySequence_Contains: by ``__contains__``, or by comparing the items one by one."""
    found = models.special(m, args[0], "__contains__")
    if found is ABSENT or (found is NOT_MODELLED and models.virtual(m, args[0]) is not None):
        steps = models.special(m, args[0], "__iter__"), models.special(m, args[0], "__getitem__")
        if steps[0] is NOT_MODELLED or (steps[0] is ABSENT and type(steps[1]) is not FUNCTION):
            return NOT_MODELLED
        return _enter(m, slot_protocols.contained_by_iteration, args, mode)
    return NOT_MODELLED if found is NOT_MODELLED else _enter(m, slot_protocols.contained, [Known(found), *args], mode)


def _by_index(m: Machine, fn: Any, args: list[V], classes: list[Any], mode: str) -> Any:
    """Index a builtin sequence by an instance of a class with ``__index__`` (PyNumber_AsSsize_t); NOT_MODELLED for anything else."""
    if fn is operator.contains and classes[0] in (list, tuple) and m.obj(args[0]) is not None:
        return _enter(m, slot_protocols.contained_by_iteration, args, mode)
    if fn not in _ITEMS or classes[0] not in (list, tuple, str, bytes, range) or classes[1] is None or not is_python_class(classes[1]):
        return NOT_MODELLED
    found = models.special(m, args[1], "__index__") if not issubclass(classes[1], int) else NOT_MODELLED  # an int is used as it is
    if found is ABSENT or found is NOT_MODELLED:
        return NOT_MODELLED
    return _enter(m, _ITEMS[fn], [Known(found), *args], mode)


_ITEMS: Final[dict[Any, Callable[..., Any]]] = {
    operator.getitem: slot_protocols.item_by_index, operator.setitem: slot_protocols.store_by_index, operator.delitem: slot_protocols.delete_by_index,
}  # fmt: skip


def _enter(m: Machine, model: Callable[..., Any], args: list[V], mode: str) -> int | None:
    return call_function(m, Known(model), model, args, {}, mode)


# ------------------------------------------------------------------------------------------------- two operands


def candidates(fn: Any, a: type, b: type, names: tuple[str, str | None]) -> list[tuple[Any, bool]] | None:
    """Return the methods to try, in order, each with True if it is the reflected one; None if they are not known (binary_op1, do_richcompare)."""
    left = _candidate(a, names[0], b)
    # if both operands are of the same class, only comparisons try the reflected method as well
    right = _candidate(b, names[1] or "", a) if a is not b or fn in COMPARISONS else None
    if left is NOT_MODELLED and type(right) is FUNCTION:
        left = _slot(fn, a, names[0])
    if right is NOT_MODELLED and type(left) is FUNCTION:
        right = _slot(fn, b, names[1] or "")
    if left is NOT_MODELLED or right is NOT_MODELLED:
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


def _candidate(cls: type, name: str, other: type) -> Any:
    """Return the method of cls for an operator: a Python function; None if it does not handle the other operand; else NOT_MODELLED."""
    found = find(cls, name)
    if type(found) is FUNCTION:
        return found
    if found is ABSENT or (cls in MODEST and is_python_class(other) and not issubclass(other, MODEST[cls])):
        return None
    if type(found) is types.WrapperDescriptorType and found.__objclass__ is object:
        return _unequal(cls) if name == "__ne__" else None
    return NOT_MODELLED


def _slot(fn: Any, cls: type, name: str) -> Any:
    """Return the C slot of cls, if it returns NotImplemented for operands that it does not handle; else NOT_MODELLED."""
    found = lookup(cls, name)
    answers = isinstance(found, types.WrapperDescriptorType) and (fn in COMPARISONS or found.__objclass__ in MODEST)
    return found if answers else NOT_MODELLED


def _unequal(cls: type) -> Any:
    """Return what ``object.__ne__`` does for cls: the negation of its ``__eq__`` (object_richcompare); None if this is object's own,
    NOT_MODELLED if it is C code.
    """
    equal = find(cls, "__eq__")
    if type(equal) is FUNCTION:
        if equal not in _CONTRARIES:
            _CONTRARIES[equal] = slot_protocols.contrary(equal)
        return _CONTRARIES[equal]
    return None if equal is object.__dict__["__eq__"] else NOT_MODELLED


#: ``__eq__`` → its negation: one function for each, so that it is the same object in every trace.
_CONTRARIES: "weakref.WeakKeyDictionary[Any, Any]" = weakref.WeakKeyDictionary()


def _two_sided(m: Machine, fn: Any, args: list[V], classes: list[Any], names: tuple[str, str | None], mode: str) -> Any:
    a, b = args
    tried = candidates(fn, classes[0], classes[1], names)
    if tried is None:
        return NOT_MODELLED
    if not tried:
        return _nobody(m, fn, a, b, classes, mode)
    if len(tried) > 1 and fn not in COMPARISONS and classes[0] is classes[1]:
        tried = tried[:1]
    return _try(m, [(Known(f), b, a) if reflected else (Known(f), a, b) for f, reflected in tried], fn, a, b, mode)


def _try(m: Machine, ordered: list[tuple[V, V, V]], fn: Any, a: V, b: V, mode: str) -> int | None:
    """Call one method after the other, until one does not return NotImplemented."""
    flat = [part for attempt in ordered for part in attempt]
    failing = models.failing(fn) if models.virtual(m, a) or models.virtual(m, b) else _failure(fn)
    return _enter(m, _ATTEMPTS[len(ordered) - 1], [*flat, Known(failing), a, b], mode)


_ATTEMPTS: Final[tuple[Callable[..., Any], ...]] = (slot_protocols.one, slot_protocols.two, slot_protocols.three)


def _nobody(m: Machine, fn: Any, a: V, b: V, classes: list[Any], mode: str) -> Any:
    """Apply a binary operator for which neither operand has a method: compare the identity, or raise the TypeError."""
    if fn in (operator.eq, operator.ne):
        same = identical(m, a, b)
        if same is not None:
            return finish(m, Known(same.value is (fn is operator.eq), same.labels), mode)
        plain = operator.is_ if fn is operator.eq else operator.is_not
        return finish(m, m.emit(plain, [a, b], type=Type(bool), effect=Effect.PURE), mode)
    if any(c not in MODEST and not is_python_class(c) for c in classes) or models.virtual(m, a) or models.virtual(m, b):
        return NOT_MODELLED
    return _enter(m, _failure(fn), [a, b], mode)


def _failure(fn: Any) -> Callable[..., Any]:
    """Return the function to call when every candidate returned NotImplemented."""
    if fn is operator.eq:
        return operator.is_
    if fn is operator.ne:
        return operator.is_not
    return _FAILURES[fn]


def _unsupported(symbol: str) -> Callable[[Any, Any], Any]:
    def unsupported(a: Any, b: Any) -> Any:
        raise TypeError(f"unsupported operand type(s) for {symbol}: '{type_name(a)}' and '{type_name(b)}'")

    return unsupported


def _not_ordered(symbol: str) -> Callable[[Any, Any], Any]:
    def not_ordered(a: Any, b: Any) -> Any:
        raise TypeError(f"'{symbol}' not supported between instances of '{type_name(a)}' and '{type_name(b)}'")

    return not_ordered


_SYMBOLS: Final = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//", operator.mod: "%",
    operator.pow: "** or pow()", operator.matmul: "@", operator.and_: "&", operator.or_: "|", operator.xor: "^",
    operator.lshift: "<<", operator.rshift: ">>",
}  # fmt: skip
_FAILURES: Final[dict[Any, Callable[..., Any]]] = {
    divmod: _unsupported("divmod()"),
    **{fn: _unsupported(symbol) for fn, symbol in _SYMBOLS.items()},
    **{fn: _unsupported("**=" if symbol.startswith("**") else symbol + "=") for fn, symbol in ((i, _SYMBOLS[o]) for i, o in INPLACE.items())},
    operator.lt: _not_ordered("<"), operator.gt: _not_ordered(">"), operator.le: _not_ordered("<="), operator.ge: _not_ordered(">="),
}  # fmt: skip


def _inplace(m: Machine, fn: Any, args: list[V], classes: list[Any], mode: str) -> Any:
    """``a op= b``: try the in-place method, then the binary operator (binary_iop1)."""
    if classes[0] is None or classes[1] is None:
        return NOT_MODELLED
    plain = INPLACE[fn]
    own = method(classes[0], "__i" + NAMES[plain][0][2:])
    if own is NOT_MODELLED:
        return NOT_MODELLED
    a, b = args
    tried = candidates(plain, classes[0], classes[1], NAMES[plain])
    if tried is None:
        return NOT_MODELLED
    ordered: list[tuple[V, V, V]] = [(Known(f), b, a) if reflected else (Known(f), a, b) for f, reflected in tried]
    if own is not ABSENT:
        ordered.insert(0, (Known(own), a, b))
    return _try(m, ordered, fn, a, b, mode) if ordered else _nobody(m, fn, a, b, classes, mode)


# ------------------------------------------------------------------------------------------------- truth, len, text


def truth(m: Machine, value: V, mode: str = "value") -> int | None:
    """``bool(value)`` (PyObject_IsTrue)."""
    value = m.resolve(value)
    value = builtin_payload.plain(m, value, ("__bool__", "__len__")) or (enums.plain_operands(m, bool, [value]) or [value])[0]
    if isinstance(value, Known) and (type(value.value) in ATOMS or type(value.value) in (tuple, frozenset)):
        if value.value is NotImplemented:      # whose truth value gives a warning
            return finish(m, m.emit(bool, [value], type=Type(bool), effect=Effect.OPAQUE), mode)
        return finish(m, Known(bool(value.value), value.labels), mode)
    if isinstance(value, Dyn):
        if value.type == Type(bool):
            return finish(m, value, mode)
        if isinstance(value.type, Type) and value.type.cls is type(None):
            return finish(m, FALSE, mode)
    cls = models.written_class(m, value)
    if isinstance(value, Ref):
        obj = m.state.heap[value.aid]
        if obj.kind in ("list", "tuple", "dict", "set", "objects") and (obj.cls.__module__ == "builtins" or lookup(obj.cls, "__bool__") is None):
            return finish(m, Known(bool(obj.keys if obj.kind == "set" else obj.cells), labels_of(value)), mode)
        if obj.kind in ("function", "method", "cell", "slice", "sequence_iter", "range_iter", "dict_iter", "generator", "super"):
            return finish(m, TRUE, mode)
        if obj.kind == "exception" and cls is None:
            return finish(m, Known(True, labels_of(value)), mode)
    if cls is not None:
        for name, model in (("__bool__", slot_protocols.truth_by_bool), ("__len__", slot_protocols.truth_by_len)):
            found = method(cls, name)
            if found is NOT_MODELLED:
                return call_builtin(m, bool, [value], {}, mode)
            if found is not ABSENT:
                return _enter(m, model, [Known(found), value], mode)
        return finish(m, Known(True, frozenset() if isinstance(value, Dyn) else value.labels), mode)
    if isinstance(value, Known) and is_a(value.value, types.ModuleType | FUNCTION | types.BuiltinFunctionType):
        return finish(m, TRUE, mode)
    if isinstance(value, Known) and type(value.value) is type:
        return finish(m, TRUE, mode)
    if isinstance(value, Known) and type(value.value) in (list, dict, set) and m.environment.static(value):
        return finish(m, Known(bool(value.value), value.labels), mode)
    if isinstance(value, Dyn):
        members = value.type.members if isinstance(value.type, Union) else (value.type,)
        if all(map(_always_true, members)):
            return finish(m, TRUE, mode)
        if all(_always_true(t) or t == _NONE for t in members):
            return finish(m, m.emit(operator.is_not, [value, Known(None)], type=Type(bool), effect=Effect.PURE, lost=value.lost), mode)
    return call_builtin(m, bool, [value], {}, mode)


_NONE: Final = Type(type(None))


def _always_true(kind: AbstractValue) -> bool:
    """Is every value of this type true? It is, if its class is C code and has neither ``__bool__`` nor ``__len__``."""
    if not isinstance(kind, Type) or can_change(kind.cls) or kind.cls is type(NotImplemented):
        return False
    return not any(hasattr(kind.cls, name) for name in ("__bool__", "__len__"))


def length(m: Machine, value: V, mode: str = "value") -> Any:
    """``len`` of an instance of a class written in Python; None if its ``__len__`` is not modelled."""
    found = models.special(m, value, "__len__")
    if found is ABSENT:
        cls: Any = m.class_of(value)
        return m.raise_new(TypeError, f"object of type '{ops.name_of_class(cls)}' has no len()")
    return None if found is NOT_MODELLED else _enter(m, slot_protocols.length, [Known(found), value], mode)


def format_value(m: Machine, value: V, spec: V) -> int | None:
    """``format(value, spec)`` of an f-string."""
    value = m.resolve(value)
    if m.class_of(value) is str and isinstance(spec, Known) and spec.value == "":
        m.push(value)
        return None
    return m.call(Known(format), [value, spec], {}) if models.written_class(m, value) else call_builtin(m, ops.format_value, [value, spec], {})
