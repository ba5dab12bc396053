"""One handler a normalised instruction (hovis/bytecode/instructions.py says what each does to the stack).

A handler takes the machine and the instruction's argument.  It returns None to go on with the next instruction, a
number to jump, SWITCH if frames were pushed or popped, STOP if the chain has ended.
"""

import builtins
import operator
import sys
import types
from collections.abc import Callable
from typing import Any, Final

from hovis.bytecode.normalize import normalize
from hovis.engine.call import call
from hovis.engine.calls import operators
from hovis.engine.calls.builtins import call_builtin
from hovis.engine.control import exception_groups, generators, iteration, iterators, pattern_matching, raising, unpacking
from hovis.engine.machine import branches, exceptions, revalidation
from hovis.engine.machine.call_results import AFTER, finish, opaque
from hovis.engine.machine.constant_folding import quick
from hovis.engine.machine.handler_table import HANDLERS, handles
from hovis.engine.machine.machine import STOP, SWITCH, Machine
from hovis.engine.names import class_namespace, variables
from hovis.engine.objects import attribute_get, attribute_set
from hovis.engine.state import lifetimes
from hovis.engine.state.heap import VObj
from hovis.engine.state.values import NONE, Dyn, Known, Ref, V
from hovis.ir import operations as ops
from hovis.ir.model import Effect, Return
from hovis.lattice import Const, Type, Union
from hovis.lattice.constants import is_immutable

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
    # the in-place operator says another thing when it fails
    return operators.operate(m, INPLACE[op], [a, b])


def _only_values(m: Machine, value: V) -> bool:
    """Is value surely of a class for which ``a op= b`` is ``a = a op b``?"""
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
    items = m.popn(count)
    if kind == "string":
        return call_builtin(m, ops.join_strings, items, {})
    if kind == "set":
        return build_set(m, items)
    m.push(m.new(VObj(kind, tuple if kind == "tuple" else list, tuple(items))))
    return None


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


# ------------------------------------------------------------------------------------------------- calls


def build_set(m: Machine, items: list[V]) -> int | None:
    """BUILD_SET."""
    if all(isinstance(i, Known) and is_immutable(i.value) for i in items):
        for item in items:
            m.use(item)
        m.push(m.new(VObj("set", set, keys=tuple(dict.fromkeys(item.value for item in items)))))  # type: ignore[union-attr]
        return None
    return call_builtin(m, ops.make_set, items, {})


def store_item(m: Machine, container: V, key: V, value: V) -> None:
    """``container[key] = value`` of a dict display or comprehension."""
    status = call_builtin(m, operator.setitem, [container, key, value], {}, "discard")
    assert status is None or status == SWITCH


@handles("Call")
def call_(m: Machine, arg: Any) -> int | None:
    count, names = arg
    named = m.popn(len(names)) if names else ()
    m.given = args = m.popn(count)
    return call(m, m.pop(), args, dict(zip(names, named, strict=True)) if names else {})


@handles("CallEx")
def call_ex(m: Machine, has_kwargs: bool) -> int | None:
    kwargs = m.pop() if has_kwargs else None
    args = m.pop()
    callee = m.pop()
    items = unpacking.items_in_sight(m, args)
    named = m.obj(kwargs, "dict") if kwargs is not None else None
    if items is not None and (kwargs is None or (named is not None and all(type(k) is str for k in named.keys))):
        m.given = items
        return call(m, callee, items, dict(zip(named.keys, named.cells, strict=True)) if named else {})
    if kwargs is None:
        return finish(m, opaque(m, ops.apply_positional, [callee, args]), "value")
    return finish(m, opaque(m, ops.apply, [callee, args, kwargs]), "value")


@handles("MakeFunction")
def make_function(m: Machine, attrs: tuple[str, ...]) -> None:
    code = m.pop()
    assert isinstance(code, Known)
    values = dict(zip(attrs, m.popn(len(attrs)), strict=True))
    inner = normalize(code.value)  # type: ignore[arg-type]
    cells = _closure(m, values.get("closure"))
    fixed = (values.get("defaults", NONE), values.get("kwdefaults", NONE), values.get("annotations", NONE))
    extra = (inner, m.frame.namespace, inner.name, inner.qualname)
    m.push(m.new(VObj("function", type(make_function), (*fixed, *cells), extra=extra)))


def _closure(m: Machine, closure: V | None) -> tuple[V, ...]:
    if closure is None:
        return ()
    obj = m.obj(closure, "tuple")
    assert obj is not None
    return obj.cells


@handles("SetFunctionAttr")
def set_function_attr(m: Machine, name: str) -> None:
    function, value = m.pop(), m.pop()
    assert isinstance(function, Ref)
    obj = m.state.heap[function.aid]
    if name == "closure":
        obj = obj.replace(cells=(*obj.cells[:3], *_closure(m, value)))
    else:
        obj = obj.with_cell(("defaults", "kwdefaults", "annotations").index(name), value)
    m.put(function, obj)
    m.push(function)


@handles("BuildClass")
def build_class(m: Machine, _: Any) -> int | None:
    scope = variables.builtins_of(m.frame.namespace)
    found = builtins.__build_class__ if m.frame.code.filename.startswith(m.package) else m.item(scope, "__build_class__")
    if found is not ops.UNBOUND:
        m.push(Known(found))
        return None
    if scope is not vars(builtins):
        return raising.give_up(m, "a class statement where builtins are others")
    m.push(m.emit(ops.load_build_class, [], effect=Effect.READS | Effect.RAISES))
    return None


@handles("Import")
def import_(m: Machine, name: str) -> int | None:
    fromlist, level = m.pop(), m.pop()
    if isinstance(level, Known) and level.value == 0 and isinstance(fromlist, Known):
        module = _imported(m, name, fromlist.value)  # type: ignore[arg-type]
        if module is not None:
            m.push(Known(module))
            return None
    args = [Known(m.frame.namespace), Known(name), fromlist, level]
    m.push(m.emit(ops.import_name, args))
    return None


def _imported(m: Machine, name: str, fromlist: tuple[str, ...] | None) -> object:
    """The module that an import gives, if nothing has to be loaded for it (PyImport_ImportModuleLevelObject); else None."""
    scope = m.frame.namespace.get("__builtins__", builtins)
    if m.item(scope if isinstance(scope, dict) else vars(scope), "__import__") is not _IMPORT:
        return None
    modules = [m.item(sys.modules, part) for part in dict.fromkeys((name, name if fromlist else name.partition(".")[0]))]
    for module in modules:
        if not isinstance(module, types.ModuleType) or getattr(vars(module).get("__spec__"), "_initializing", False):
            return None
    if fromlist:
        held = vars(modules[0])
        # of a package, modules in it may have to be loaded
        if type(modules[0]) is not types.ModuleType or ("__path__" in held and any(part not in held for part in fromlist)):
            return None
        if "__getattr__" in held and "__path__" not in held and name.partition(".")[0] not in sys.stdlib_module_names:
            return None  # it is asked for a __path__ (_handle_fromlist of Lib/importlib/_bootstrap.py), which shows where it is the user's
    return modules[-1]


_IMPORT: Final = builtins.__import__


@handles("ImportFrom")
def import_from(m: Machine, name: str) -> int | None:
    module = m.frame.stack[-1]
    if isinstance(module, Known) and type(module.value) is types.ModuleType:
        value = m.item(vars(module.value), name)
        if value is not ops.UNBOUND:
            m.push(Known(value))
            return None
    m.push(m.emit(ops.import_from, [module, Known(name)]))
    return None


# ------------------------------------------------------------------------------------------------- jumps


@handles("Jump")
def jump(m: Machine, target: int) -> int:
    return target


@handles("Branch")
def branch(m: Machine, arg: Any) -> int | None:
    condition, target = arg
    value = m.pop()
    if condition in ("none", "not_none"):
        known = branches.identical(m, value, NONE)
        if known is None:
            value = m.emit(operator.is_, [value, NONE], type=Type(bool), effect=Effect.PURE)
        else:
            value = known
        condition = "true" if condition == "none" else "false"
    return branches.decide(m, value, condition == "true", target)


@handles("GetIter")
def get_iter(m: Machine, _: Any) -> int | None:
    return iterators.get_iter(m, m.pop())


@handles("ForIter")
def for_iter(m: Machine, exit: int) -> int | None:
    return iteration.for_iter(m, exit)


@handles("Return")
def return_(m: Machine, _: Any) -> int | None:
    value = m.pop()
    frame = m.frame
    if m.watching and lifetimes.end_locals(m, value):
        return SWITCH
    if frame.owner is not None:
        return generators.finished(m, value)
    # what a class of the trace holds lives on where that does: it does not end before the function
    roots = frame.roots(0) if len(m.state.frames) > 1 else m.state.roots()
    before = lifetimes.held_by(m.state, (held for _, held in roots)) if m.endings else {}
    if len(m.state.frames) == 1:
        m.pinned = (value,)
        operand = m.operand(value)
        m.pinned = None
        for obj in m.state.heap.values():
            if obj.kind == "generator":
                lifetimes.abandon(m.state, obj)
        m.returned(m.type_of_in(m.state, value))  # type: ignore[attr-defined]
        frame.locals, m.state.classes = [], ()
        lifetimes.end(m, before, value)
        m.block.terminator = Return(operand, m.location())
        return STOP
    m.state.frames.pop()
    if frame.code.cells:
        variables.settle_cells(m, frame)
    caller = m.frame
    if before:
        caller.stack.append(value)
        lifetimes.end(m, before)
        caller.stack.pop()
    return generators.to_caller(m, finish(m, value, frame.mode))


# ------------------------------------------------------------------------------------------------- exceptions


@handles("Raise")
def raise_(m: Machine, count: int) -> int | None:
    return raising.raise_statement(m, m.popn(count))


@handles("Reraise")
def reraise(m: Machine, _: Any) -> int | None:
    return m.raise_(m.pop(), again=True)


@handles("PushExc")
def push_exc(m: Machine, _: Any) -> None:
    exception = m.pop()
    m.push(m.state.handled)
    m.push(exception)
    m.handle(exception)


@handles("PopExc")
def pop_exc(m: Machine, _: Any) -> None:
    if m.endings:
        exceptions.let_frames_go(m)
    m.state.handled = m.pop()
    m.emit(ops.leave_handler, [], type=Type(type(None)), effect=Effect.IO)


@handles("ExcMatch")
def exc_match(m: Machine, _: Any) -> int | None:
    return raising.match(m)


@handles("EgMatch")
def eg_match(m: Machine, _: Any) -> None:
    exception_groups.match(m)


@handles("PrepReraiseStar")
def prep_reraise_star(m: Machine, _: Any) -> None:
    exception_groups.prepare_reraise(m)


@handles("WithEnter")
def with_enter(m: Machine, _: Any) -> int | None:
    return raising.with_enter(m)


@handles("WithExitExc")
def with_exit_exc(m: Machine, _: Any) -> int | None:
    return raising.with_exit(m)


# ------------------------------------------------------------------------------------------------- generators, match


@handles("MakeGenerator")
def make_generator(m: Machine, _: Any) -> int | None:
    return generators.make(m)


@handles("Yield")
def yield_(m: Machine, _: Any) -> int | None:
    return generators.yielded(m)


@handles("Send")
def send(m: Machine, done: int) -> int | None:
    return generators.send(m, done)


@handles("EndSend")
def end_send(m: Machine, _: Any) -> None:
    value = m.pop()
    m.pop()
    m.push(value)


@handles("GetYieldFromIter")
def get_yield_from_iter(m: Machine, _: Any) -> int | None:
    return generators.yield_from_iter(m, m.pop())


@handles("Intrinsic")
def intrinsic(m: Machine, arg: Any) -> int | None:
    if arg[0] == "setup_annotations":
        return class_namespace.setup_annotations(m)
    return raising.give_up(m, f"the instruction Intrinsic {arg[0]}")


@handles("Match")
def match(m: Machine, arg: Any) -> int | None:
    return pattern_matching.match(m, *arg)


@handles("GetLen")
def get_len(m: Machine, _: Any) -> int | None:
    return call_builtin(m, len, [m.frame.stack[-1]], {})


__all__ = ["HANDLERS", "variables"]
