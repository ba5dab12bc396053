"""Attributes and operators (CPython: Objects/object.c, Objects/abstract.c, Objects/typeobject.c).

Special methods are looked up on the class, which is known or the operation is opaque; what they do is traced through.
"""

import operator
import types
from collections.abc import Callable
from typing import Any, Final

from hovis.engine import protocols
from hovis.engine.branches import identical
from hovis.engine.entering import call_function
from hovis.engine.heap import VObj
from hovis.engine.lookups import C_DATA, C_METHODS, FUNCTION, has_dict, is_data_descriptor, is_python_class, lookup, own_getattribute, special
from hovis.engine.machine import Machine
from hovis.engine.primitives import call_builtin
from hovis.engine.results import finish
from hovis.engine.values import FALSE, STRONG, TRUE, Dyn, Known, Ref, V, labels_of, relabel
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.lattice import Type
from hovis.lattice.constants import ATOMS, is_immutable

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
        cls = m.class_of(a)
        if cls is not None and is_python_class(cls):
            status: int | None = _by_protocol(m, fn, args, mode)
            if status is not _NOT_MINE:
                return status
            break
    return call_builtin(m, fn, args, {}, mode)


_NOT_MINE: Final = object()


def _by_protocol(m: Machine, fn: Any, args: list[V], mode: str) -> Any:
    """An operator of which an operand's class is written in Python."""
    classes = [m.class_of(a) for a in args]
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
    left, right = _candidate(a, names[0], b), _candidate(b, names[1] or "", a)
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
    failing = Known(_failure(fn))
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
    failing = Known(_FAILURES[fn])
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
        return finish(m, Known(bool(value.value), value.labels), mode)
    if isinstance(value, Dyn):
        if value.type == Type(bool):
            return finish(m, value, mode)
        if isinstance(value.type, Type) and value.type.cls is type(None):
            return finish(m, FALSE, mode)
        return call_builtin(m, bool, [value], {}, mode)
    cls = m.class_of(value)
    assert cls is not None
    if isinstance(value, Ref):
        obj = m.state.heap[value.aid]
        if obj.kind in ("list", "tuple", "dict", "set") and (cls.__module__ == "builtins" or lookup(cls, "__bool__") is None):
            return finish(m, Known(bool(obj.cells), labels_of(value)), mode)
        if obj.kind in ("function", "method", "cell", "slice", "sequence_iter", "range_iter", "dict_iter", "generator", "super"):
            return finish(m, TRUE, mode)
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
    cls = m.class_of(value)
    method = special(cls, "__len__") if cls is not None and is_python_class(cls) and not isinstance(value, Dyn) else None
    return None if method is None else _enter(m, protocols.length, [Known(method), value], mode)


def format_value(m: Machine, value: V, spec: V) -> int | None:
    """``format(value, spec)`` of an f-string."""
    value = m.resolve(value)
    cls = m.class_of(value)
    if cls is not None and is_python_class(cls) and not isinstance(value, Dyn):
        method = special(cls, "__format__")
        if method is not None:
            return m.call(Known(method), [value, spec], {})
        text = special(cls, "__str__") or special(cls, "__repr__")
        if lookup(cls, "__format__") is object.__dict__["__format__"] and text and isinstance(spec, Known) and spec.value == "":
            name = "__str__" if special(cls, "__str__") else "__repr__"
            return _enter(m, protocols.text, [Known(text), value, Known(name)], "value")
    if cls is str and isinstance(spec, Known) and spec.value == "":
        m.push(value)
        return None
    return call_builtin(m, ops.format_value, [value, spec], {})


# ------------------------------------------------------------------------------------------------- reading attributes


def get(m: Machine, value: V, name: str, mode: str = "value") -> int | None:
    """``value.name``."""
    value = m.resolve(value)
    if isinstance(value, Dyn):
        return _get_dyn(m, value, name, mode)
    if isinstance(value, Ref):
        return _get_object(m, value, name, mode)
    return _get_known(m, value, name, mode)


def _left(m: Machine, value: V, name: str, mode: str, effect: Effect = Effect.OPAQUE) -> int | None:
    return finish(m, m.emit(getattr, [value, Known(name)], effect=effect), mode)


def _get_known(m: Machine, value: Known, name: str, mode: str) -> int | None:
    held, labels = value.value, value.labels
    if labels:
        m.mark(labels, STRONG)
    if isinstance(held, types.ModuleType):
        if type(held) is types.ModuleType and name in held.__dict__ and m.state.world < 2:
            m.guard("item", held.__dict__, name, held.__dict__[name])
            return finish(m, Known(held.__dict__[name], labels), mode)
        return _left(m, value, name, mode)
    if isinstance(held, type):
        return _get_of_class(m, value, held, name, mode)
    cls = type(held)
    if own_getattribute(cls):
        return _getattribute(m, value, cls, name, mode)
    raw = lookup(cls, name)
    m.guard("class", cls, name, raw)
    if raw is not None and is_data_descriptor(raw):
        return _get_data(m, value, raw, name, mode)
    own = getattr(held, "__dict__", None) if has_dict(cls) else None
    if own is not None and name in own:
        if m.static(value):
            return finish(m, Known(own[name], labels), mode)
        return _left(m, value, name, mode, Effect.READS | Effect.RAISES)
    if own is not None:
        m.guard("item", own, name, ops.UNBOUND)
    return _bind(m, value, cls, raw, name, mode)


def _get_data(m: Machine, value: V, raw: Any, name: str, mode: str) -> int | None:
    """A data descriptor: a property, a slot, a field of C code."""
    if isinstance(raw, property):
        if isinstance(raw.fget, FUNCTION):
            return m.call(Known(raw.fget), [value], {}, mode)
        return _left(m, value, name, mode)
    if isinstance(value, Known):
        held = value.value
        if is_immutable(held) or isinstance(held, FUNCTION | types.BuiltinFunctionType | types.CodeType | types.MethodType):
            found = getattr(held, name)
            if is_immutable(found) or isinstance(held, types.MethodType) or name == "__code__":
                return finish(m, Known(found, value.labels), mode)
            return _left(m, value, name, mode, Effect.READS)
        if isinstance(raw, types.MemberDescriptorType) and is_python_class(type(held)) and m.static(value):
            try:
                return finish(m, Known(raw.__get__(held), value.labels), mode)
            except AttributeError:
                return _left(m, value, name, mode, Effect.READS | Effect.RAISES)
    get_ = special(type(raw), "__get__")
    if get_ is not None:
        cls = m.class_of(value)
        return m.call(Known(get_), [Known(raw), value, Known(cls)], {}, mode)
    return _left(m, value, name, mode)


def _bind(m: Machine, value: V, cls: type, raw: Any, name: str, mode: str) -> int | None:
    """What the class has to offer: a method, a plain value, ``__getattr__``."""
    if raw is None:
        # None may be the very value of the attribute
        if any(name in base.__dict__ for base in cls.__mro__):
            return finish(m, Known(None, labels_of(value)), mode)
        hook = lookup(cls, "__getattr__")
        if isinstance(hook, FUNCTION):
            return m.call(Known(hook), [value, Known(name)], {}, mode)
        return _left(m, value, name, mode, Effect.OPAQUE if hook is not None else Effect.RAISES | Effect.READS)
    if isinstance(raw, FUNCTION | types.MethodDescriptorType | types.WrapperDescriptorType):
        return finish(m, m.new(VObj("method", types.MethodType, (Known(raw), value)), labels_of(value)), mode)
    if isinstance(raw, staticmethod):
        return finish(m, Known(raw.__func__, labels_of(value)), mode)
    if isinstance(raw, classmethod):
        if isinstance(raw.__func__, FUNCTION):
            return finish(m, m.new(VObj("method", types.MethodType, (Known(raw.__func__), Known(cls)))), mode)
        return _left(m, value, name, mode)
    if isinstance(raw, types.ClassMethodDescriptorType):
        return finish(m, Known(getattr(cls, name)), mode)
    if not hasattr(type(raw), "__get__"):
        return finish(m, Known(raw, labels_of(value)), mode)
    get_ = special(type(raw), "__get__")
    if get_ is not None:
        return m.call(Known(get_), [Known(raw), value, Known(cls)], {}, mode)
    return _left(m, value, name, mode)


def _getattribute(m: Machine, value: V, cls: type, name: str, mode: str) -> int | None:
    hook = special(cls, "__getattribute__")
    if hook is not None and lookup(cls, "__getattr__") is None:
        return m.call(Known(hook), [value, Known(name)], {}, mode)
    return _left(m, value, name, mode)


def _get_of_class(m: Machine, value: Known, cls: type, name: str, mode: str) -> int | None:
    """An attribute of a class (type_getattro)."""
    meta = type(cls)
    if lookup(meta, "__getattribute__") is not type.__dict__["__getattribute__"]:
        return _left(m, value, name, mode)
    from_meta = lookup(meta, name)
    if from_meta is not None and is_data_descriptor(from_meta):
        if name in ("__name__", "__qualname__", "__module__", "__mro__", "__bases__", "__base__"):
            return finish(m, Known(getattr(cls, name), value.labels), mode)
        return _left(m, value, name, mode)
    if any(name in base.__dict__ for base in cls.__mro__):
        raw = lookup(cls, name)
        m.guard("class", cls, name, raw)
        get_ = lookup(type(raw), "__get__")
        harmless = isinstance(raw, (FUNCTION, staticmethod, property, *C_METHODS, *C_DATA)) or get_ is None or type(raw).__module__ == "enum"
        if harmless or (isinstance(raw, classmethod) and isinstance(raw.__func__, FUNCTION)):
            if isinstance(raw, C_DATA) and is_python_class(cls) is False and name == "__doc__":
                return _left(m, value, name, mode)
            m.static(value)
            return finish(m, Known(getattr(cls, name), value.labels), mode)
        return _left(m, value, name, mode)
    if from_meta is not None and isinstance(from_meta, FUNCTION | types.MethodDescriptorType):
        return finish(m, m.new(VObj("method", types.MethodType, (Known(from_meta), value))), mode)
    return _left(m, value, name, mode)


def _get_object(m: Machine, value: Ref, name: str, mode: str) -> int | None:
    obj = m.state.heap[value.aid]
    cls = obj.cls
    if obj.kind == "super":
        return _get_from_super(m, obj, name, mode)
    if obj.kind in ("slice", "range") and name in ("start", "stop", "step"):
        return finish(m, obj.cells[("start", "stop", "step").index(name)], mode)
    if obj.kind == "method":
        return _get_of_method(m, value, obj, name, mode)
    if obj.kind == "function":
        if obj.node is None and name in ("__name__", "__qualname__"):
            return finish(m, Known(obj.extra[2 if name == "__name__" else 3]), mode)
        return _left(m, value, name, mode)
    if own_getattribute(cls) and is_python_class(cls):
        return _getattribute(m, value, cls, name, mode)
    raw = lookup(cls, name)
    m.guard("class", cls, name, raw)
    if obj.kind == "instance":
        if raw is not None and is_data_descriptor(raw) and not isinstance(raw, types.MemberDescriptorType):
            return _left(m, value, name, mode) if name == "__dict__" else _get_data(m, value, raw, name, mode)
        index = obj.find(name)
        if index >= 0:
            return finish(m, relabel(obj.cells[index], value.labels), mode)
        if isinstance(raw, types.MemberDescriptorType):
            hook = special(cls, "__getattr__")
            return m.call(Known(hook), [value, Known(name)], {}, mode) if hook else _left(m, value, name, mode, Effect.RAISES | Effect.READS)
    elif obj.kind == "tuple" and type(raw).__name__ == "_tuplegetter":
        return finish(m, relabel(obj.cells[raw.__reduce__()[1][0]], value.labels), mode)
    elif raw is not None and is_data_descriptor(raw):
        return _get_data(m, value, raw, name, mode)
    return _bind(m, value, cls, raw, name, mode)


def _get_of_method(m: Machine, value: Ref, obj: VObj, name: str, mode: str) -> int | None:
    if name == "__self__":
        return finish(m, obj.cells[1], mode)
    if name == "__func__" and not (isinstance(obj.cells[0], Known) and not isinstance(obj.cells[0].value, FUNCTION)):
        return finish(m, obj.cells[0], mode)
    if name in ("__name__", "__qualname__", "__doc__", "__module__"):
        return get(m, obj.cells[0], name, mode)
    return _left(m, value, name, mode)


def _get_dyn(m: Machine, value: Dyn, name: str, mode: str) -> int | None:
    cls = m.class_of(value)
    if cls is None:
        return _left(m, value, name, mode)
    rule = m.library.attributes.get((cls, name))
    if rule is not None:
        found = rule(m, value)
        if found is not None:
            return finish(m, found, mode)
    raw = lookup(cls, name)
    if isinstance(raw, types.MethodDescriptorType | types.WrapperDescriptorType) and not has_dict(cls) and not own_getattribute(cls):
        return finish(m, m.new(VObj("method", types.MethodType, (Known(raw), value))), mode)
    if isinstance(raw, FUNCTION) and not has_dict(cls) and not own_getattribute(cls):
        return finish(m, m.new(VObj("method", types.MethodType, (Known(raw), value))), mode)
    if isinstance(raw, property) and isinstance(raw.fget, FUNCTION) and not own_getattribute(cls):
        return m.call(Known(raw.fget), [value], {}, mode)
    if not is_python_class(cls) and isinstance(raw, C_DATA):
        return _left(m, value, name, mode, Effect.READS | Effect.RAISES)
    return _left(m, value, name, mode)


# ------------------------------------------------------------------------------------------------- super


def get_super(m: Machine, cls: V, instance: V, name: str) -> int | None:
    """``super(cls, instance).name`` (super_getattro)."""
    if not isinstance(cls, Known) or not isinstance(cls.value, type):
        return _left(m, m.emit(super, [cls, instance]), name, "value")
    return _get_from_super(m, VObj("super", super, (cls, instance)), name, "value")


def _get_from_super(m: Machine, obj: VObj, name: str, mode: str) -> int | None:
    cls, instance = obj.cells
    assert isinstance(cls, Known)
    assert isinstance(cls.value, type)
    start, bound_class = _super_class(m, cls.value, m.resolve(instance))
    if start is None:
        return _left(m, m.emit(super, [cls, instance]), name, mode)
    mro = start.__mro__
    for base in mro[mro.index(cls.value) + 1 :]:
        if name in base.__dict__:
            raw = base.__dict__[name]
            if isinstance(raw, FUNCTION | types.MethodDescriptorType | types.WrapperDescriptorType):
                if bound_class:
                    return finish(m, Known(raw), mode)
                return finish(m, m.new(VObj("method", types.MethodType, (Known(raw), instance))), mode)
            if isinstance(raw, classmethod) and isinstance(raw.__func__, FUNCTION):
                return finish(m, m.new(VObj("method", types.MethodType, (Known(raw.__func__), Known(start)))), mode)
            if isinstance(raw, staticmethod):
                return finish(m, Known(raw.__func__), mode)
            if raw is object.__dict__["__new__"] or (name == "__new__" and not isinstance(raw, FUNCTION)):
                return finish(m, Known(raw), mode)
            if isinstance(raw, property) and isinstance(raw.fget, FUNCTION) and not bound_class:
                return m.call(Known(raw.fget), [instance], {}, mode)
            if not hasattr(type(raw), "__get__"):
                return finish(m, Known(raw), mode)
            break
    return _left(m, m.emit(super, [cls, instance]), name, mode)


def _super_class(m: Machine, cls: type, instance: V) -> tuple[type | None, bool]:
    """Whose MRO super() walks, and whether the instance is itself a class (supercheck)."""
    if isinstance(instance, Known) and isinstance(instance.value, type) and cls in instance.value.__mro__:
        return instance.value, True
    start = m.class_of(instance)
    return (start, False) if start is not None and cls in start.__mro__ else (None, False)


# ------------------------------------------------------------------------------------------------- writing attributes


def set(m: Machine, target: V, name: str, value: V) -> int | None:
    """``target.name = value``."""
    target = m.resolve(target)
    if isinstance(target, Known):
        m.thaw(target.value)
    cls = m.class_of(target)
    if cls is not None and not isinstance(target, Known):
        hook = special(cls, "__setattr__")
        if hook is not None:
            return m.call(Known(hook), [target, Known(name), value], {}, "discard")
        raw = lookup(cls, name)
        if isinstance(raw, property) and isinstance(raw.fset, FUNCTION):
            return m.call(Known(raw.fset), [target, value], {}, "discard")
        setter = special(type(raw), "__set__") if raw is not None else None
        if setter is not None:
            return m.call(Known(setter), [Known(raw), target, value], {}, "discard")
        if isinstance(target, Ref) and store(m, target, name, value):
            return None
    m.emit(setattr, [target, Known(name), value], type=Type(type(None)))
    return None


def store(m: Machine, target: Ref, name: str, value: V) -> bool:
    """object.__setattr__ on an object of this trace; False: it has to be done by the real one."""
    obj = m.obj(target, "instance")
    if obj is None or (lookup(obj.cls, "__setattr__") not in (object.__dict__["__setattr__"],) and special(obj.cls, "__setattr__") is None):
        return False
    raw = lookup(obj.cls, name)
    if raw is not None and is_data_descriptor(raw) and not isinstance(raw, types.MemberDescriptorType):
        return False
    if raw is None and not has_dict(obj.cls):
        return False
    if isinstance(raw, types.MemberDescriptorType) is False and not has_dict(obj.cls):
        return False
    if obj.node is not None:
        m.emit(object.__setattr__, [target, Known(name), value], type=Type(type(None)), effect=Effect.WRITES)
        obj = m.state.heap[target.aid]
        if obj.forgotten:
            return True
    index = obj.find(name)
    m.put(target, obj.with_cell(index, value) if index >= 0 else obj.with_new(name, value))
    return True


def delete(m: Machine, target: V, name: str) -> int | None:
    """``del target.name``."""
    target = m.resolve(target)
    if isinstance(target, Known):
        m.thaw(target.value)
    cls = m.class_of(target)
    if cls is not None and isinstance(target, Ref):
        hook = special(cls, "__delattr__")
        if hook is not None:
            return m.call(Known(hook), [target, Known(name)], {}, "discard")
        if remove(m, target, name):
            return None
    m.emit(delattr, [target, Known(name)], type=Type(type(None)))
    return None


def remove(m: Machine, target: Ref, name: str) -> bool:
    """object.__delattr__ on a virtual object; False: it has to be done by the real one."""
    obj = m.obj(target, "instance")
    if obj is None or obj.node is not None:
        return False
    index = obj.find(name)
    raw = lookup(obj.cls, name)
    if index < 0 or (raw is not None and is_data_descriptor(raw) and not isinstance(raw, types.MemberDescriptorType)):
        return False
    m.put(target, obj.without(index))
    return True

