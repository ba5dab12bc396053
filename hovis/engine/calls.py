"""Calls: what is done now, what is entered, what stays (CPython: Objects/call.c, Python/ceval.c).

``call`` leaves the result on the stack and says, like every instruction handler, how to go on.
"""

import inspect
import itertools
import math
import operator
import types
import warnings
from collections.abc import Callable, Hashable
from typing import Any, Final

from hovis.bytecode.normalize import normalize
from hovis.engine import classes, generators
from hovis.engine.folding import constant_form, fold
from hovis.engine.heap import VObj
from hovis.engine.machine import STOP, SWITCH, GiveUp, Machine, Restart
from hovis.engine.state import Frame
from hovis.engine.values import NONE, STRONG, UNBOUND_VALUE, Dyn, Known, Ref, V, lost_of
from hovis.ir import operations
from hovis.ir.model import LASTING, Effect, Location
from hovis.lattice import ANY, AbstractValue, Array, Const, Partial, Type, Union, join
from hovis.lattice.constants import constant_key, is_immutable

#: Frames of one call string; beyond, calls stay calls.
MAX_DEPTH: Final = 120
#: Activations of one code, below unknown decisions, before it becomes a residual function.
MAX_ACTIVE: Final = 64
#: Containers within containers that a residual function takes apart.
MAX_NESTING: Final = 2
#: Combinations of Union members that a rule is asked for.
MAX_MEMBERS: Final = 16
#: The same where only numbers differ between the activations.
MAX_COUNTING: Final = 8

FUNCTION: Final = types.FunctionType

#: The vocabulary of the IR: Python functions that are primitives.
OPERATIONS: Final = frozenset(value for value in vars(operations).values() if isinstance(value, FUNCTION))

#: Classes of callables that stand for their ``__wrapped__``; filled by the jit.
ENTERED_THROUGH: set[type] = set()
METHOD: Final = types.MethodType


def looks_at_frames(fn: object) -> bool:
    """Does this builtin see the frame of its caller?"""
    return fn in _FRAME_READERS if isinstance(fn, types.BuiltinFunctionType | FUNCTION) else False


def _frame_readers() -> frozenset[object]:
    import sys

    found: set[object] = {locals, vars, dir, eval, exec, globals, sys._getframe, sys.exc_info, warnings.warn, inspect.currentframe, inspect.stack}
    return frozenset(found)


_FRAME_READERS = _frame_readers()


# ------------------------------------------------------------------------------------------------- any callee


def call(m: Machine, callee: V, args: list[V], kwargs: dict[str, V], mode: str = "value") -> int | None:
    """Call callee; its result goes where mode says."""
    callee = m.resolve(callee)
    if isinstance(callee, Dyn):
        m.use(callee)
        return finish(m, opaque(m, callee, args, kwargs), mode)
    if callee.labels:
        m.use(callee)
    if isinstance(callee, Ref):
        return _call_object(m, callee, args, kwargs, mode)
    fn = callee.value
    if type(fn) in ENTERED_THROUGH:
        # a jitted function is entered through its original
        callee, fn = Known(fn.__wrapped__), fn.__wrapped__  # type: ignore[attr-defined]
    if type(fn) is FUNCTION:
        if fn in OPERATIONS:
            return call_builtin(m, fn, args, kwargs, mode)
        status = by_library(m, fn, args, kwargs, mode)
        if status is not NOT_MINE:
            return status  # type: ignore[return-value]
        return call_function(m, callee, fn, args, kwargs, mode)
    if type(fn) is METHOD:
        return call(m, Known(fn.__func__), [Known(fn.__self__), *args], kwargs, mode)
    if isinstance(fn, type):
        return classes.call_class(m, callee, fn, args, kwargs, mode)
    plain = unbound_builtin(fn)
    if plain is not None:
        descriptor, instance = plain
        return call(m, Known(descriptor), [Known(instance, callee.labels), *args], kwargs, mode)
    if builtin_callable(fn):
        return call_builtin(m, fn, args, kwargs, mode)
    return classes.call_instance(m, callee, args, kwargs, mode)


def builtin_callable(fn: object) -> bool:
    """Is fn a callable of C code, without Python code of its own to enter?"""
    return isinstance(fn, _BUILTINS) or not isinstance(type(fn).__dict__.get("__call__"), FUNCTION)


_BUILTINS = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)


def unbound_builtin(fn: object) -> tuple[object, object] | None:
    """A builtin's bound method as its descriptor and its object: ``[].append`` as ``list.append`` and ``[]``."""
    if isinstance(fn, types.BuiltinMethodType | types.MethodWrapperType):
        owner = fn.__self__
        if owner is None or isinstance(owner, types.ModuleType):
            return None
        if isinstance(owner, type):
            return None
        descriptor = getattr(type(owner), fn.__name__, None)
        if isinstance(descriptor, types.MethodDescriptorType | types.WrapperDescriptorType):
            return descriptor, owner
    return None


def _call_object(m: Machine, callee: Ref, args: list[V], kwargs: dict[str, V], mode: str) -> int | None:
    obj = m.state.heap[callee.aid]
    if obj.kind == "function":
        return call_function(m, callee, None, args, kwargs, mode)
    if obj.kind == "method":
        function, instance = obj.cells
        return call(m, function, [instance, *args], kwargs, mode)
    return classes.call_instance(m, callee, args, kwargs, mode)


def finish(m: Machine, result: "V | int | None", mode: str) -> int | None:
    """Put a result where it belongs: on the stack, or nowhere.  A control code passes through."""
    if isinstance(result, int):
        return result
    if result is None:
        return m.unreachable()
    if mode == "discard":
        return None
    m.push(result)
    if mode != "value":
        return after(m, mode)
    return None


def after(m: Machine, mode: str) -> int | None:
    """What a call is followed by, its result on the stack (the modes other than value and discard)."""
    return AFTER[mode](m)


#: mode → what to do with the result on the stack; filled by the modules that use a mode.
AFTER: dict[str, Callable[[Machine], int | None]] = {}


def opaque(m: Machine, callee: object, args: list[V], kwargs: dict[str, V] | None = None) -> Dyn:
    """A call that stays, of which nothing is known; what it is given directly may be written to."""
    for value in (*args, *(kwargs or {}).values()):
        if isinstance(value, Known) and may_be_written(value.value):
            m.thaw(value.value)
    kind: AbstractValue = ANY
    if isinstance(callee, Hashable):
        kind = m.library.always.get(callee, ANY)
    made = m.emit(callee, args, kwargs, kind)
    if kind is ANY and not any(callee is quiet for quiet in _QUIET):
        made.ends = m.endings = True
    return made


#: What gives a value that somebody else holds, or one that has no end to be seen.
_QUIET: Final[tuple[object, ...]] = (getattr, next, iter, type, *(f for f in vars(operator).values() if callable(f)))


def may_be_written(value: object) -> bool:
    """Is it an object that a callee which is given it may well write to?"""
    if is_immutable(value) or isinstance(value, type | types.ModuleType | types.CodeType | FUNCTION | types.BuiltinFunctionType):
        return False
    return not isinstance(value, types.MethodDescriptorType | types.WrapperDescriptorType | types.CellType)


# ------------------------------------------------------------------------------------------------- builtins


def call_builtin(m: Machine, fn: Any, args: list[V], kwargs: dict[str, V], mode: str = "value") -> int | None:
    """A callable without Python code: as the library says, or left as a call."""
    status = by_library(m, fn, args, kwargs, mode)
    if status is NOT_MINE:
        return finish(m, opaque(m, fn, args, kwargs), mode)
    return status  # type: ignore[return-value]


#: The library has nothing to say of a call.
NOT_MINE: Final = object()


def by_library(m: Machine, fn: Any, args: list[V], kwargs: dict[str, V], mode: str) -> object:
    """By an action, folded, by a model, or as a primitive; NOT_MINE if none of these answers."""
    library = m.library
    try:
        action = library.actions.get(fn)
    except TypeError:
        return NOT_MINE
    args = [m.resolve(a) for a in args]
    if kwargs:
        kwargs = {name: m.resolve(v) for name, v in kwargs.items()}
    if action is not None:
        result = action(m, args, kwargs)
        if result is not None:
            return finish(m, result, mode)
    rule = library.primitives.get(fn)
    if rule is not None:
        args = [constant_form(m, a) for a in args]
        folded = fold(m, rule, args, kwargs)
        if folded is not None:
            return finish(m, folded, mode)
    model = library.models.get(fn)
    lazy = fn in library.lazy
    if model is not None and any(_worth_tracing(m, a, lazy) for a in (*args, *kwargs.values())):
        if not lazy or m.user_site() not in m.tables.not_virtual:
            return call_function(m, Known(model), model, args, kwargs, mode)
    if looks_at_frames(fn) and not _sees_its_own_frame(m, fn):
        _leave_caller(m, fn)
    if rule is not None:
        typed = primitive(m, rule, args, kwargs)
        if typed is not None:
            return finish(m, typed, mode)
    return NOT_MINE


def primitive(m: Machine, rule: Any, args: list[V], kwargs: dict[str, V]) -> Dyn | None:
    """Leave the call of a callable whose rule knows its result; None: it does not."""
    types_ = [_describe(m, a) for a in args]
    named = {name: _describe(m, v) for name, v in kwargs.items()}
    answer = _ask(m, rule, types_, named)
    if answer is None:
        return None
    result, effect = answer
    if effect._value_ & _WRITES and args and isinstance(args[0], Known):
        m.thaw(args[0].value)
    dims = rule.dims(m, args, kwargs) if rule.dims is not None and isinstance(result, Array) else None
    if m.known_sizes and isinstance(result, Array) and (dims is None or None in dims):
        for value in (*args, *kwargs.values()):
            _use_sizes(m, value)
    return m.emit(rule.fn, args, kwargs, result, effect, dims, None if effect._value_ & _IMPURE else lost_of(*args))


def _describe(m: Machine, value: V, depth: int = 3) -> AbstractValue:
    """What is known of an argument, the parts of a container of this trace too."""
    if isinstance(value, Ref) and depth:
        obj = m.obj(value, "tuple", "list", "dict", "slice")
        if obj is not None and len(obj.cells) <= 256:
            keys = obj.keys if obj.kind == "dict" else range(len(obj.cells))
            return Partial(obj.cls, keys, [_describe(m, c, depth - 1) for c in obj.cells])
    return m.type_of(value)


def _use_sizes(m: Machine, value: V) -> None:
    """An int that an array's shape may depend on chooses (asked for by back ends that compile for known shapes)."""
    if isinstance(value, Dyn):
        if value.lost and value.type == Type(int):
            m.use(value)
    elif isinstance(value, Ref):
        obj = m.obj(value, "tuple", "list", "slice")
        for cell in obj.cells if obj is not None else ():
            _use_sizes(m, cell)


_WRITES: Final = Effect.WRITES.value
_IMPURE: Final = (LASTING & ~Effect.RAISES).value


def _ask(m: Machine, rule: Any, types_: list[AbstractValue], named: dict[str, AbstractValue]) -> tuple[AbstractValue, Effect] | None:
    """What the rule says of these types; answers about types alone are remembered."""
    if named or any(isinstance(t, Const) for t in types_):
        return _answer(rule, types_, named) or _by_members(rule, types_, named)
    key = (id(rule), *types_)
    if key not in m.tables.answers:
        m.tables.answers[key] = _answer(rule, types_, named) or _by_members(rule, types_, named)
    found: tuple[AbstractValue, Effect] | None = m.tables.answers[key]
    return found


def _answer(rule: Any, types_: list[AbstractValue], named: dict[str, AbstractValue]) -> tuple[AbstractValue, Effect] | None:
    try:
        result = rule.result(*types_, **named)
        if result is None:
            return None
        return result, rule.effect if isinstance(rule.effect, Effect) else rule.effect(*types_, **named)
    except TypeError:
        # a call that does not bind to the rule's parameters
        return None


def _by_members(rule: Any, types_: list[AbstractValue], named: dict[str, AbstractValue]) -> tuple[AbstractValue, Effect] | None:
    """A rule that knows all members of the Unions among the arguments knows the join."""
    members = [t.members if isinstance(t, Union) else (t,) for t in types_]
    if not any(isinstance(t, Union) for t in types_) or math.prod(map(len, members)) > MAX_MEMBERS:
        return None
    found: tuple[AbstractValue, Effect] | None = None
    for chosen in itertools.product(*members):
        answer = _answer(rule, list(chosen), named)
        if answer is None:
            return None
        found = answer if found is None else (join(found[0], answer[0]), found[1] | answer[1])
    return found


def _worth_tracing(m: Machine, value: V, lazy: bool) -> bool:
    """Would a model of a builtin find something known in this argument?"""
    if isinstance(value, Ref):
        return True
    if not isinstance(value, Known):
        return False
    return type(value.value) in (list, tuple, dict, FUNCTION, METHOD) or (lazy and type(value.value) is str)


def _sees_its_own_frame(m: Machine, fn: object) -> bool:
    return fn is globals or (fn in (vars, dir) and False)


def _leave_caller(m: Machine, fn: object) -> None:
    """fn looks at its caller's frame: the caller must be a real frame with the real variables."""
    frame = m.frame
    if len(m.state.frames) == 1:
        raise GiveUp(f"it calls {getattr(fn, '__name__', fn)}, which looks at the frame of its caller")
    m.tables.not_entered[frame.code.code] = f"it calls {getattr(fn, '__name__', fn)}, which looks at the frame of its caller"
    raise Restart("not entered")


# ------------------------------------------------------------------------------------------------- Python functions


def call_function(m: Machine, callee: V, fn: Any, args: list[V], kwargs: dict[str, V], mode: str = "value") -> int | None:
    """Enter a Python function, or leave the call where that is not wise."""
    known = Callee.of(m, callee, fn)
    why = _why_not(m, known)
    if why is None:
        bound = bind(m, known, args, kwargs)
        if bound is not None:
            return _enter(m, callee, known, bound, args, kwargs, mode)
        why = "its arguments do not fit"
    if why:
        m.reason(f"the call of {known.qualname} was left as it is: {why}")
    if isinstance(callee, Known):
        return finish(m, opaque(m, callee.value, args, kwargs), mode)
    return finish(m, opaque(m, callee, args, kwargs), mode)


class Callee:
    """What entering a Python function needs, whether it exists already or is an object of this trace."""

    __slots__ = ("annotations", "cells", "code", "defaults", "fn", "kwdefaults", "labels", "namespace", "qualname")

    fn: Any
    code: Any
    namespace: dict[str, Any]
    qualname: str
    defaults: list[V]
    kwdefaults: dict[str, V]
    cells: list[V]

    @staticmethod
    def of(m: Machine, callee: V, fn: Any) -> "Callee":
        self = Callee()
        self.fn = fn
        if fn is not None:
            self.code = normalize(fn.__code__)
            m.guard("function", fn, None, (fn.__code__, fn.__defaults__, fn.__kwdefaults__))
            self.namespace = fn.__globals__
            self.qualname = fn.__qualname__
            self.defaults = [Known(v) for v in fn.__defaults__ or ()]
            self.kwdefaults = {k: Known(v) for k, v in (fn.__kwdefaults__ or {}).items()}
            self.cells = [Known(c) for c in fn.__closure__ or ()]
            return self
        assert isinstance(callee, Ref)
        obj = m.state.heap[callee.aid]
        self.code, self.namespace, _, self.qualname = obj.extra
        defaults, kwdefaults, _, *cells = obj.cells
        self.defaults = _items(m, defaults)
        named = m.obj(kwdefaults, "dict")
        self.kwdefaults = dict(zip(named.keys, named.cells, strict=True)) if named else {}
        if isinstance(kwdefaults, Known) and isinstance(kwdefaults.value, dict):
            self.kwdefaults = {k: Known(v) for k, v in kwdefaults.value.items()}
        self.cells = list(cells)
        return self


def _items(m: Machine, value: V) -> list[V]:
    obj = m.obj(value, "tuple")
    if obj is not None:
        return list(obj.cells)
    return [Known(v) for v in value.value] if isinstance(value, Known) and isinstance(value.value, tuple) else []


def _why_not(m: Machine, known: Callee) -> str | None:
    """The reason not to enter a function; "" for reasons that nobody needs to hear."""
    code = known.code
    if code.is_coroutine or code.is_async_generator:
        return "it is a coroutine"
    if code.unsupported:
        return str(code.unsupported)
    if code.code in m.tables.not_entered:
        return m.tables.not_entered[code.code]
    if len(m.state.frames) >= MAX_DEPTH:
        return "calls are nested too deep"
    if known.fn is not None and getattr(known.fn, "__hovis_boundary__", False):
        return "it is marked as a boundary"
    return None


def _enter(m: Machine, callee: V, known: Callee, bound: list[V | None], args: list[V], kwargs: dict[str, V], mode: str) -> int | None:
    code = known.code
    if code.is_generator:
        return generators.create(m, known, bound, callee, args, kwargs, mode)
    now = _known_arguments(m, bound)
    if _recurses(m, code, now):
        return _call_residual(m, known, bound, mode)
    caller = m.frame
    ctx = m.tables.contexts[caller.ctx, caller.pc, code]
    home = m.homes[m.state.frames[0].ctx]
    m.homes.setdefault(ctx, home)
    frame = Frame(code, ctx, bound, known.namespace, mode, known.fn or callee)
    frame.extra = now
    m.state.frames.append(frame)
    return SWITCH


def _recurses(m: Machine, code: Any, now: Any) -> bool:
    """Is the same code active, with an unknown decision in between, and nothing new known of the arguments?"""
    active = [frame for frame in m.state.frames if frame.code is code]
    if not active or not any(frame.decided for frame in active):
        return False
    if code.code in m.tables.recursive:
        return True
    # where only numbers differ they may well be counters: less patience
    counting = _only_numbers_differ(now, active[-1].extra)
    if len(active) >= (MAX_COUNTING if counting else MAX_ACTIVE):
        m.tables.recursive.add(code.code)
        raise Restart("recursive")
    return not now or any(frame.extra == now for frame in active)


def _only_numbers_differ(now: Any, before: Any) -> bool:
    if before is None or len(now) != len(before):
        return False
    return all(a == b or (type(a[1]) is tuple and a[1][0] in (int, float)) for a, b in zip(now, before, strict=True))


def _known_arguments(m: Machine, bound: list[V | None]) -> Any:
    """What is known of the arguments of an activation, to be compared with others."""
    found: list[Any] = []
    for k, value in enumerate(bound):
        if isinstance(value, Known):
            if value.value is not UNBOUND_VALUE.value and type(value.value) is not types.CellType:
                found.append((k, constant_key(value.value)))
        elif isinstance(value, Ref):
            found.append((k, m.state.heap[value.aid].shape()))
    return tuple(found)


def _call_residual(m: Machine, known: Callee, bound: list[V | None], mode: str) -> int | None:
    """Call a specialised residual function instead of entering once more.

    Immutable objects cross as their parts, mutable ones (and what is nested too deep) are real.
    """
    heap: dict[int, VObj] = {}
    crossing = _crossing(m, [v for v in bound if isinstance(v, Ref)])
    bound = [_across(m, v, crossing) if v is not None else None for v in bound]
    for aid in crossing:
        obj = m.state.heap[aid]
        heap[aid] = obj.replace(cells=tuple(_across(m, c, crossing) for c in obj.cells))
    frame = Frame(known.code, -1, bound, known.namespace, "value", known.fn)
    frame.extra = _known_arguments(m, bound)
    result = m.call_function(frame, heap, known.qualname.rsplit(".", 1)[-1])  # type: ignore[attr-defined]
    if result is None:
        return m.unreachable()
    return finish(m, result, mode)


def _crossing(m: Machine, refs: list[Ref]) -> set[int]:
    """The objects that a residual function may take apart."""
    found: set[int] = set()
    todo = [(ref.aid, 0) for ref in refs]
    while todo:
        aid, depth = todo.pop(0)
        obj = m.state.heap[aid]
        # functions and cells are code more than data: how deep they go is a matter of the program, not of its input
        deeper = depth if obj.kind in ("function", "cell", "method") else depth + 1
        if aid in found or not obj.immutable or obj.kind == "generator" or deeper > MAX_NESTING:
            continue
        found.add(aid)
        todo += [(c.aid, deeper) for c in obj.cells if isinstance(c, Ref)]
    return found


def _across(m: Machine, value: V, crossing: set[int]) -> V:
    """value as a residual function may see it."""
    if isinstance(value, Ref) and value.aid not in crossing:
        node = m.operand(value)
        return Dyn(node, Type(m.state.heap[value.aid].cls)) if not isinstance(node, Const) else Known(node.value)
    return value


# ------------------------------------------------------------------------------------------------- arguments


def bind(m: Machine, known: Callee, args: list[V], kwargs: dict[str, V]) -> list[V | None] | None:
    """The locals of a new frame (CPython: initialize_locals, Python/ceval.c); None if the arguments do not fit."""
    code = known.code
    slots: list[V | None] = [None] * len(code.names)
    count, total = code.argcount, code.argcount + code.kwonlyargcount
    extra = args[count:]
    if extra and not code.has_varargs:
        return None
    slots[: min(len(args), count)] = args[:count]
    names = code.names
    more: dict[str, V] = {}
    for name, value in kwargs.items():
        where = next((k for k in range(code.posonlyargcount, total) if names[k] == name), -1)
        if where < 0:
            if not code.has_varkwargs:
                return None
            more[name] = value
        elif slots[where] is not None:
            return None
        else:
            slots[where] = value
    if not _defaults(known, slots):
        return None
    at = total
    if code.has_varargs:
        slots[at] = m.new(VObj("tuple", tuple, tuple(extra)))
        at += 1
    if code.has_varkwargs:
        slots[at] = m.new(VObj("dict", dict, tuple(more.values()), tuple(more)))
        at += 1
    free = len(names) - code.n_free
    for k in range(at, free):
        slots[k] = UNBOUND_VALUE
    slots[free:] = known.cells
    return slots


def _defaults(known: Callee, slots: list[V | None]) -> bool:
    code = known.code
    first = code.argcount - len(known.defaults)
    for k in range(code.argcount):
        if slots[k] is None:
            if k < first:
                return False
            slots[k] = known.defaults[k - first]
    for k in range(code.argcount, code.argcount + code.kwonlyargcount):
        if slots[k] is None:
            name = code.names[k]
            if name not in known.kwdefaults:
                return False
            slots[k] = known.kwdefaults[name]
    return True


__all__ = ["ANY", "NONE", "STOP", "STRONG", "Location", "bind", "call", "call_builtin", "call_function", "finish", "opaque"]
