"""Handlers of constants, the stack, operators, attributes, items and displays."""

import importlib
import operator
from collections.abc import Callable
from typing import Any, Final

from hovis.engine.call import call
from hovis.engine.calls import operators
from hovis.engine.calls.builtins import call_builtin
from hovis.engine.control import unpacking
from hovis.engine.machine import branches, revalidation
from hovis.engine.machine.call_results import AFTER, opaque
from hovis.engine.machine.constant_folding import quick
from hovis.engine.machine.handler_table import handles
from hovis.engine.machine.machine import Machine
from hovis.engine.objects import attribute_get, attribute_set
from hovis.engine.state.frames_and_heap import SWITCH
from hovis.engine.state.heap import VObj
from hovis.engine.state.values import NONE, Dyn, Known, V
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.lattice import Const, Type, Union
from hovis.lattice.constants import is_key

# ------------------------------------------------------------------------------------------------- constants, stack


@handles("Const")
def const(m: Machine, value: Any) -> None:
    m.frame.stack.append(Known(value))


@handles("Pop")
def pop(m: Machine, _: Any) -> None:
    m.frame.stack.pop()


@handles("Copy")
def copy(m: Machine, depth: int) -> None:
    stack = m.frame.stack
    stack.append(stack[-depth])


@handles("Swap")
def swap(m: Machine, depth: int) -> None:
    stack = m.frame.stack
    stack[-1], stack[-depth] = stack[-depth], stack[-1]


# ------------------------------------------------------------------------------------------------- operators


UNARY: Final = {"neg": operator.neg, "pos": operator.pos, "invert": operator.invert}
BINARY: Final[dict[str, Callable[..., Any]]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod,
    "**": operator.pow, "@": operator.matmul, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip
INPLACE: Final[dict[str, Callable[..., Any]]] = {
    "+": operator.iadd, "-": operator.isub, "*": operator.imul, "/": operator.itruediv, "//": operator.ifloordiv, "%": operator.imod,
    "**": operator.ipow, "@": operator.imatmul, "&": operator.iand, "|": operator.ior, "^": operator.ixor,
    "<<": operator.ilshift, ">>": operator.irshift,
}  # fmt: skip
COMPARE: Final = {"<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge}

#: Classes for which ``a op= b`` is ``a = a op b``.
VALUES: Final = frozenset({int, float, bool, complex, str, bytes, tuple, type(None)})


@handles("Unary")
def unary(m: Machine, op: str) -> int | None:
    return operators.operate(m, UNARY[op], [m.pop()])


@handles("Binary")
def binary(m: Machine, op: str) -> int | None:
    stack = m.frame.stack
    b = stack.pop()
    a = stack.pop()
    return operators.operate(m, BINARY[op], [a, b])


@handles("Inplace")
def inplace(m: Machine, op: str) -> int | None:
    b, a = m.pop(), m.pop()
    plain = BINARY[op]
    known = quick(m, plain, a, b)
    if known is not None:
        m.push(known)
        return None
    if _only_values(m, a) and _only_values(m, b):
        rule = m.library.primitives.get(plain)
        if rule is not None and rule.result(m.type_of(a), m.type_of(b)) is not None:
            return operators.operate(m, plain, [a, b])
    # the in-place operator raises another error message
    return operators.operate(m, INPLACE[op], [a, b])


def _only_values(m: Machine, value: V) -> bool:
    """Is value certainly of a class for which ``a op= b`` is ``a = a op b``?"""
    kind = m.type_of(value)
    members = kind.members if isinstance(kind, Union) else (kind,)
    return all((type(t.value) if isinstance(t, Const) else t.cls if isinstance(t, Type) else None) in VALUES for t in members)


@handles("Compare")
def compare(m: Machine, op: str) -> int | None:
    b, a = m.pop(), m.pop()
    return operators.operate(m, COMPARE[op], [a, b])


@handles("Is")
def is_(m: Machine, invert: bool) -> int | None:
    b, a = m.pop(), m.pop()
    known = branches.identical(m, a, b)
    if known is not None:
        m.push(Known(known.value is not invert, known.labels))
        return None
    m.push(m.emit(operator.is_not if invert else operator.is_, [a, b], type=Type(bool), effect=Effect.PURE))
    return None


@handles("Contains")
def contains(m: Machine, invert: bool) -> int | None:
    container, item = m.pop(), m.pop()
    return operators.operate(m, operator.contains, [container, item], "truth_not" if invert else "value")


@handles("Not")
def not_(m: Machine, _: Any) -> None:
    m.push(negate(m, m.pop()))


def negate(m: Machine, value: V) -> V:
    """``not`` of an exact bool."""
    if isinstance(value, Known):
        return Known(not value.value, value.labels)
    return m.emit(operator.not_, [value], type=Type(bool), effect=Effect.PURE, lost=value.lost if isinstance(value, Dyn) else None)


def _after_not(m: Machine) -> int | None:
    m.push(negate(m, m.pop()))
    return None


AFTER["truth_not"] = _after_not


@handles("ToBool")
def to_bool(m: Machine, _: Any) -> int | None:
    return operators.truth(m, m.pop())


@handles("GetItem")
def get_item(m: Machine, _: Any) -> int | None:
    key, container = m.pop(), m.pop()
    if revalidation.read(m, container, key, operator.getitem):
        return None
    return operators.operate(m, operator.getitem, [container, key])


@handles("SetItem")
def set_item(m: Machine, _: Any) -> int | None:
    key, container, value = m.pop(), m.pop(), m.pop()
    return operators.operate(m, operator.setitem, [container, key, value], "discard")


@handles("DelItem")
def del_item(m: Machine, _: Any) -> int | None:
    key, container = m.pop(), m.pop()
    return operators.operate(m, operator.delitem, [container, key], "discard")


@handles("BuildSlice")
def build_slice(m: Machine, count: int) -> None:
    parts = m.popn(count)
    parts += [NONE] * (3 - count)
    m.push(m.new(VObj("slice", slice, tuple(parts))))


# ------------------------------------------------------------------------------------------------- attributes


@handles("GetAttr", "GetMethod")
def get_attr(m: Machine, name: str) -> int | None:
    value = m.pop()
    if revalidation.suspect(m, value) and revalidation.read(m, value, Known(name), getattr):
        return None
    return attribute_get.get(m, value, name)


@handles("SetAttr")
def set_attr(m: Machine, name: str) -> int | None:
    target, value = m.pop(), m.pop()
    return attribute_set.set(m, target, name, value)


@handles("DelAttr")
def del_attr(m: Machine, name: str) -> int | None:
    return attribute_set.delete(m, m.pop(), name)


@handles("GetSuper")
def get_super(m: Machine, arg: Any) -> int | None:
    name, _, two_arg = arg
    instance, cls, builtin = m.pop(), m.pop(), m.pop()
    if isinstance(builtin, Known) and builtin.value is super:
        return attribute_get.get_super(m, cls, instance, name)
    made = opaque(m, builtin, [cls, instance] if two_arg else [])
    return attribute_get.get(m, made, name)


# ------------------------------------------------------------------------------------------------- building


@handles("Build")
def build(m: Machine, arg: Any) -> int | None:
    kind, count = arg
    if kind == "constmap":
        return _build_map(m, [Known(k) for k in count], m.popn(len(count)))
    if kind == "map":
        parts = m.popn(2 * count)
        return _build_map(m, parts[::2], parts[1::2])
    if kind == "interpolation":
        how, has_spec = count
        spec = m.pop() if has_spec else Known("")
        text, value = m.pop(), m.pop()
        return m.call(Known(_templates().Interpolation), [value, text, Known(how), spec], {})
    items = m.popn(count)
    if kind == "template":
        return _build_template(m, *items)
    if kind == "string":
        return call_builtin(m, ops.join_strings, items, {})
    if kind == "set":
        return build_set(m, items)
    m.push(m.new(VObj(kind, tuple if kind == "tuple" else list, tuple(items))))
    return None


def _templates() -> Any:
    return importlib.import_module("string.templatelib")


def _build_template(m: Machine, strings: V, interpolations: V) -> int | None:
    """BUILD_TEMPLATE; the compiler emits it with a constant and a tuple of the same length less one."""
    inserted = m.obj(interpolations, "tuple")
    cells = inserted.cells if inserted is not None else tuple(map(Known, interpolations.value))  # type: ignore[union-attr, arg-type]
    parts: list[V] = []
    for k, text in enumerate(strings.value):  # type: ignore[union-attr, arg-type]
        parts += [Known(text), *cells[k : k + 1]]
    return m.call(Known(_templates().Template), parts, {})


def _build_map(m: Machine, keys: list[V], values: list[V]) -> int | None:
    made = m.new(VObj("dict", dict))
    for key, value in zip(keys, values, strict=True):
        store_item(m, made, key, value)
    m.push(made)
    return None


@handles("Append")
def append(m: Machine, arg: Any) -> int | None:
    kind, depth = arg
    if kind == "map":
        value, key = m.pop(), m.pop()
        store_item(m, m.frame.stack[-depth], key, value)
        return None
    value = m.pop()
    fn: Any = list.append if kind == "list" else set.add
    return call_builtin(m, fn, [m.frame.stack[-depth], value], {}, "discard")


@handles("Extend")
def extend(m: Machine, arg: Any) -> int | None:
    kind, depth = arg
    iterable = m.pop()
    container = m.frame.stack[-depth]
    fn: Any = {"list": ops.list_extend, "set": set.update, "dict_update": ops.dict_update, "dict_merge": ops.dict_merge}[kind]
    args = [container, iterable]
    if kind == "dict_merge":
        args.append(m.frame.stack[-depth - 2] if len(m.frame.stack) >= depth + 2 else NONE)
    return call_builtin(m, fn, args, {}, "discard")


@handles("ListToTuple")
def list_to_tuple(m: Machine, _: Any) -> int | None:
    return call_builtin(m, tuple, [m.pop()], {})


@handles("Unpack")
def unpack(m: Machine, count: int) -> int | None:
    return unpacking.unpack(m, m.pop(), count, -1)


@handles("UnpackEx")
def unpack_ex(m: Machine, arg: Any) -> int | None:
    before, after = arg
    return unpacking.unpack(m, m.pop(), before, after)


@handles("Convert")
def convert(m: Machine, conversion: str) -> int | None:
    fn: Any = {"s": str, "r": repr, "a": ascii}[conversion]
    return call(m, Known(fn), [m.pop()], {})


@handles("Format")
def format_(m: Machine, has_spec: bool) -> int | None:
    spec = m.pop() if has_spec else Known("")
    return operators.format_value(m, m.pop(), spec)


def build_set(m: Machine, items: list[V]) -> int | None:
    """BUILD_SET."""
    if all(isinstance(i, Known) and is_key(i.value) for i in items):
        for item in items:
            m.use(item)
        m.push(m.new(VObj("set", set, keys=tuple(dict.fromkeys(item.value for item in items)))))  # type: ignore[union-attr]
        return None
    return call_builtin(m, ops.make_set, items, {})


def store_item(m: Machine, container: V, key: V, value: V) -> None:
    """``container[key] = value`` in a dict display or comprehension."""
    status = call_builtin(m, operator.setitem, [container, key, value], {}, "discard")
    assert status is None or status == SWITCH
