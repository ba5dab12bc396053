"""Handling of the results of calls, and emission of opaque calls, of which nothing is known."""

import abc
import functools
import operator
import types
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Final

from hovis.engine.machine import frame_inspection
from hovis.engine.machine.machine import Landing, Machine
from hovis.engine.state import class_templates, observed_identity
from hovis.engine.state.heap import holds
from hovis.engine.state.specialization_tables import Restart
from hovis.engine.state.type_lookup import bound_parts
from hovis.engine.state.values import ENDS, Dyn, Known, V
from hovis.ir import operations
from hovis.ir.model import Effect
from hovis.lattice import ANY, AbstractValue, Type
from hovis.lattice.constants import is_immutable
from hovis.lattice.inspection import is_a


def finish(m: Machine, result: "V | int | None", mode: str) -> int | None:
    """Push or drop the result of a call, as mode says. A control code is passed through; None means that the call never returns."""
    if isinstance(result, int):
        return result
    if result is None:
        return m.unreachable()
    if class_templates.ALL and isinstance(result, Known):
        result = _behind(m, result)
    if mode == "discard":
        return None
    m.push(result)
    if mode != "value":
        return after(m, mode)
    return None


def _behind(m: Machine, result: Known) -> V:
    """Return the value that result stands for if it is a token of a template, else result itself."""
    found = class_templates.actual(m.state.heap, result)
    if isinstance(found, Known) and found.value is class_templates.CHANGED:
        token = class_templates.of(result.value)
        assert token is not None
        return m.emit(getattr, [Known(token.template.cls), Known(token.name)], effect=Effect.READS | Effect.RAISES)
    return found


def leave_class(m: Machine, template: class_templates.Template, why: str) -> None:
    """Leave the statement that defined a class to CPython from now on, and restart the trace."""
    m.tables.real_classes.setdefault(template.body, why)
    raise Restart("class")


#: Builtins that write to a class.
_WRITERS: Final = (setattr, delattr, type.__setattr__, type.__delattr__, getattr(abc, "_abc_register", None))


def _name(callee: object) -> str:
    held = callee.value if isinstance(callee, Known) else callee
    return str(getattr(held, "__name__", "an unknown callable"))


def _changes_classes(callee: object) -> bool:
    """May the callee write to a class that is passed to it?"""
    if isinstance(callee, Known):
        callee = callee.value
    if isinstance(callee, types.BuiltinFunctionType | types.MethodDescriptorType | types.WrapperDescriptorType):
        return callee in _WRITERS
    if isinstance(callee, type):
        return bool(callee.__flags__ & _HEAP_TYPE) and callee.__module__ != "builtins"
    own = str(getattr(callee, "__module__", "")).startswith(operations.__name__)
    return not own or callee in (operations.apply, operations.apply_positional)


#: Flag of classes that Python code has made (CPython: Py_TPFLAGS_HEAPTYPE).
_HEAP_TYPE: Final = 1 << 9


def after(m: Machine, mode: str) -> int | None:
    """Do what follows a call, with its result on the stack (for modes other than value and discard)."""
    return AFTER[mode](m)


#: Maps each mode to what to do with the result on the stack; filled by the modules that use a mode.
AFTER: dict[str, Callable[[Machine], int | None]] = {}


def opaque(
    m: Machine,
    callee: object,
    args: list[V],
    kwargs: dict[str, V] | None = None,
    land: Landing | None = None,
    kind: AbstractValue = ANY,
    dims: tuple[V | None, ...] | None = None,
) -> Dyn:
    """Emit an opaque call, of which nothing is known (except perhaps the type of its result, kind); it may write to the objects that are passed
    directly.
    """
    args = observed_identity.kept(m, callee, args, kwargs)
    if callee is id and len(args) == 1 and not kwargs:
        return m.emit(id, args, type=Type(int), effect=Effect.READS, land=land)
    frame_inspection.passed(m, *([Known(callee)] if type(callee) is functools.partial else []), *args, *(kwargs or {}).values())
    looked_at = args[0] if args and callee in _LOOKING and _gives_nothing_away(callee, args[0]) else None
    # if the residual may be left, tests behind the call show whether code of the user has written to known objects
    is_tested = m.assumptions is not None and not m.environment.frozen and _runs_code_of_the_user(callee.value if isinstance(callee, Known) else callee)
    bound = [Known(callee.__self__)] if type(callee) is types.MethodType else []
    for value in given_with((*bound, *args, *(kwargs or {}).values())):
        thaws = not is_tested and isinstance(value, Known) and value is not looked_at and type(value.value) not in m.library.fixed
        if thaws and may_be_written(value.value):  # type: ignore[union-attr]
            m.environment.thaw(value.value)  # type: ignore[union-attr]
        if class_templates.ALL and isinstance(value, Known) and (template := class_templates.template_of(value.value)) is not None and _changes_classes(callee):
            leave_class(m, template, f"it is passed to {_name(callee)}")
    if callee is type.__subclasses__ and m.tables.templates and not m.tables.eager_classes:
        m.tables.eager_classes = True
        raise Restart("class")
    if kind is ANY and isinstance(callee, Hashable):
        kind = m.library.always.get(callee, ANY)
    made = m.emit(callee, args, kwargs, kind, dims=dims, land=land)
    if holds(kind) or (kind is ANY and id(callee) not in _QUIET):
        made.ends, m.endings = ENDS, True
    return made


def given_with(values: Iterable[V]) -> Iterator[V]:
    """Yield the values, and the objects that known ones inevitably carry: items of tuples, and the parts of bound methods and partials."""
    for value in values:
        yield value
        if isinstance(value, Known):
            held = value.value
            if type(held) is tuple and not is_immutable(held):
                yield from given_with(map(Known, held))
            elif (parts := bound_parts(held)) is not None:
                yield from given_with(map(Known, parts.values()))


#: Functions that may give away the items of a container, but not the container itself.
_LOOKING: Final = (operator.contains, operator.getitem, dict.get, len)


def _gives_nothing_away(callee: object, container: V) -> bool:
    """Is container a plain container that holds nothing mutable which the callee could give away?"""
    held = container.value if isinstance(container, Known) else None
    if type(held) is dict:
        held = () if callee is operator.contains else held.values()
    return isinstance(held, Iterable) and type(held) in _PLAIN and not any(map(may_be_written, held))


_PLAIN: Final = frozenset({tuple, list, set, frozenset, type({}.values())})

#: Functions whose result is also held by somebody else, or is a value whose end cannot be observed; by id.
_QUIET: Final = frozenset(map(id, (getattr, next, iter, type, dict.get, dict.setdefault, *(f for f in vars(operator).values() if callable(f)))))


def _runs_code_of_the_user(callee: object) -> bool:
    """Is it probably through code of the user that callee writes to its arguments, if it does? (If it is other code, what is read behind the call is
    tested all the same, and the residual is left.)
    """
    return not is_a(callee, _C_CODE) or (isinstance(callee, types.BuiltinFunctionType) and callee in _ASKING)


_SENTINEL: Final = type(operations.END)
#: Functions of C code that write to nothing themselves.
_ASKING: Final = frozenset({
    abs, callable, format, getattr, hasattr, hash, id, isinstance, issubclass, iter, len, repr,
    operator.abs, operator.add, operator.and_, operator.concat, operator.contains, operator.countOf, operator.eq, operator.floordiv, operator.ge,
    operator.getitem, operator.gt, operator.index, operator.indexOf, operator.invert, operator.le, operator.lshift, operator.lt, operator.matmul,
    operator.mod, operator.mul, operator.ne, operator.neg, operator.or_, operator.pos, operator.pow, operator.rshift, operator.sub, operator.truediv,
    operator.xor,
})  # fmt: skip
_C_CODE: Final = types.BuiltinFunctionType | types.MethodDescriptorType | types.WrapperDescriptorType | types.MethodWrapperType


def may_be_written(value: object) -> bool:
    """Is value an object that a callee may well write to if it is passed to it?"""
    if is_immutable(value) or is_a(value, _SENTINEL | type | types.ModuleType | types.CodeType | types.FunctionType | types.BuiltinFunctionType):
        return False
    return not is_a(value, types.MethodDescriptorType | types.WrapperDescriptorType | types.CellType)
