"""Calls of builtins: handled by an action, folded, traced through a model, or emitted as a call whose result type a rule gives."""

import enum
import itertools
import math
import operator
import types
from typing import Any, Final

from hovis.engine.calls import builtin_payload, enums, models
from hovis.engine.calls.inline_python import call_function
from hovis.engine.calls.models import NOT_MINE
from hovis.engine.machine.call_results import finish, opaque
from hovis.engine.machine.constant_folding import constant_form, fold
from hovis.engine.machine.frame_inspection import LOOKERS, called, passed
from hovis.engine.machine.lending import lend
from hovis.engine.machine.machine import NOWHERE, Machine
from hovis.engine.merge.size_generalization import bounds, use_sizes
from hovis.engine.state.frames_and_heap import SWITCH
from hovis.engine.state.values import Dyn, Known, Ref, V, labels_of, lost_of
from hovis.ir.model import LASTING, Effect
from hovis.ir.operations import UNBOUND
from hovis.lattice import AbstractValue, Array, Const, Partial, Type, Union, join
from hovis.lattice.constants import is_immutable
from hovis.library.core import Stand

#: The most combinations of Union members for which a rule is asked.
MAX_MEMBERS: Final = 16

#: Containers whose iterators run no code of the user's.
_CONTAINERS: Final = frozenset({list, tuple, dict, set, frozenset, str, bytes, range})


def call_builtin(m: Machine, fn: Any, args: list[V], kwargs: dict[str, V], mode: str = "value") -> int | None:
    """Call a callable without Python code as the library says, or emit an opaque call."""
    args = enums.taken(m, fn, args)
    status = by_library(m, fn, args, kwargs, mode)
    if status is NOT_MINE:
        return finish(m, opaque(m, fn, args, kwargs), mode)
    return status  # type: ignore[return-value]


def by_library(m: Machine, fn: Any, args: list[V], kwargs: dict[str, V], mode: str) -> object:
    """Handle a call by an action, by folding, by a model, or as a primitive, in this order; NOT_MINE if none of these applies."""
    library = m.library
    try:
        action = library.actions.get(fn)
    except TypeError:
        return NOT_MINE
    inside = builtin_payload.seen(m, fn, args) if args and type(args[0]) is not Dyn else None
    if inside is not None:
        return m.call(Known(inside[0]), inside[1], kwargs, mode)
    acted = models.virtual(m, args[0]) if args and type(args[0]) is Ref else None
    if acted is not None:
        status = models.call_method(m, fn, acted, args, kwargs, mode)
        if status is not NOT_MINE:
            return status
    args = [m.resolve(a) for a in args]
    if kwargs:
        kwargs = {name: m.resolve(v) for name, v in kwargs.items()}
    if action is not None:
        depth, height = len(m.state.frames), len(m.frame.stack)
        result = action(m, args, kwargs)
        entered = m.state.frames[depth] if isinstance(result, int) and result == SWITCH and len(m.state.frames) > depth else None
        if entered is not None and entered.mode == "value":
            # the action has entered a function: its result goes where the result of the action would have gone
            m.state.frames[depth].mode = mode
        elif result is None and len(m.frame.stack) > height:
            # the action has called a function that could not be entered: the result is on the stack
            result = m.pop()
        if result is not None:
            return finish(m, result, mode)
    rule = library.primitives.get(fn)
    if rule is not None:
        args = [constant_form(m, a) for a in args]
        if kwargs:
            kwargs = {name: constant_form(m, v) for name, v in kwargs.items()}
        folded = fold(m, rule, args, kwargs)
        if folded is not None:
            return finish(m, folded, mode)
    status = _by_model(m, fn, args, kwargs, mode)
    if status is not NOT_MINE:
        return status
    if fn is globals:
        return finish(m, Known(m.frame.namespace), mode)
    if id(fn) in LOOKERS:
        called(m, fn, args)
    if rule is not None:
        typed = primitive(m, rule, args, kwargs)
        if typed is not None:
            return finish(m, typed, mode)
    return NOT_MINE


def _by_model(m: Machine, fn: Any, args: list[V], kwargs: dict[str, V], mode: str) -> object:
    """Trace the Python model of fn, if something of the arguments is known; else NOT_MINE."""
    model = m.library.models.get(fn)
    if model is None:
        return NOT_MINE
    lazy = fn in m.library.lazy or isinstance(model, Stand)
    wanted = fn in m.library.eager or (isinstance(model, Stand) and fn is model.cls)
    grown = fn is not tuple and any(map(m.is_own_list, args))  # a tuple is made of such a list without a model
    # where classes are tested, the steps of iterators over plain containers are no calls of unknown code
    plain = m.assumptions is not None and isinstance(model, Stand) and any(m.class_of(a) in _CONTAINERS for a in args)
    if not wanted and not grown and not plain and not any(_worth_tracing(m, a, lazy) for a in (*args, *kwargs.values())):
        return NOT_MINE
    if isinstance(model, Stand):
        return models.create(m, model, args, kwargs, mode)
    if (lazy and models.site(m) in m.tables.not_virtual) or not models.fits(m, model, args, kwargs):
        return NOT_MINE
    return call_function(m, Known(model), model, args, kwargs, mode)


def primitive(m: Machine, rule: Any, args: list[V], kwargs: dict[str, V]) -> Dyn | Known | None:
    """Emit the call of a callable whose rule knows the result (a constant result needs no call); None if the rule does not know it."""
    types_ = [describe(m, a) for a in args]
    named = {name: describe(m, v) for name, v in kwargs.items()} if kwargs else {}
    answer = _ask(m, rule, types_, named)
    if answer is None:
        if m.known_sizes and rule.dims is not None:
            use_sizes(m, *(arg for arg in args if bounds(m, arg)))      # the result may be known for an array of known size
        return None
    result, effect = answer
    if effect._value_ & _OPAQUE:
        return opaque(m, rule.fn, args, kwargs, kind=result, dims=rule.dims(m, args, kwargs) if rule.dims is not None and isinstance(result, Array) else None)
    if type(result) is Const and not effect._value_ and is_immutable(result.value):
        return Known(result.value, labels_of(*(a for a in args if not isinstance(a, Dyn))))
    dims = rule.dims(m, args, kwargs) if rule.dims is not None and isinstance(result, Array) else None
    if m.known_sizes and isinstance(result, Array) and (dims is None or None in dims):
        use_sizes(m, *args, *kwargs.values())
    if type(result) is not Type or result.cls is not bool:  # fn is eval
        passed(m, *args, *kwargs.values())
    args, effect = lend(m, rule.fn, args, types_, result, effect)
    if effect._value_ & _WRITES and args and isinstance(args[0], Known):
        by_key = rule.fn in (operator.setitem, operator.delitem) and isinstance(args[1], Known)
        m.environment.thaw_item(args[0].value, args[1].value if by_key else UNBOUND)  # type: ignore[union-attr]
    within = _written(types_[0]) if effect._value_ & _WRITES and types_ else None
    return m.emit(rule.fn, args, kwargs, result, effect, dims, None if effect._value_ & _IMPURE else lost_of(*args), within=within)


def answers(m: Machine, rule: Any, args: list[V], kwargs: dict[str, V]) -> bool:
    """Does the rule give a result for these arguments?"""
    return _ask(m, rule, [describe(m, a) for a in args], {name: describe(m, v) for name, v in kwargs.items()}) is not None


def describe(m: Machine, value: V, depth: int = 3) -> AbstractValue:
    """Return what is known of an argument, including the parts of a container of this trace down to depth."""
    if isinstance(value, Ref) and depth:
        obj = m.obj(value, "tuple", "list", "dict", "slice")
        if obj is not None and len(obj.cells) <= 256:
            keys = obj.keys if obj.kind == "dict" else range(len(obj.cells))
            return Partial(obj.cls, keys, [describe(m, c, depth - 1) for c in obj.cells])
    return m.type_of(value)


def _written(target: AbstractValue) -> int | type | None:
    """Return which known objects of the heap a write to target may change (see ``within`` in ``Machine.forget``)."""
    if isinstance(target, Array):
        return NOWHERE
    return list if isinstance(target, Type) and target.cls is list else None


_WRITES: Final = Effect.WRITES.value
_OPAQUE: Final = Effect.OPAQUE.value
_IMPURE: Final = (LASTING & ~Effect.RAISES).value


def _ask(m: Machine, rule: Any, types_: list[AbstractValue], named: dict[str, AbstractValue]) -> tuple[AbstractValue, Effect] | None:
    """Return the result type and effect that the rule gives for these types; answers that depend on types alone are cached."""
    if named or Const in map(type, types_):
        return _of_union(rule, types_, named)
    key = (id(rule), *types_)
    if key not in m.tables.answers:
        m.tables.answers[key] = _of_union(rule, types_, named)
    found: tuple[AbstractValue, Effect] | None = m.tables.answers[key]
    return found


def _of_union(rule: Any, types_: list[AbstractValue], named: dict[str, AbstractValue]) -> tuple[AbstractValue, Effect] | None:
    """Return the answer of the rule for these types; if it has none for a Union, the join of its answers for the members."""
    answer = _answer(rule, types_, named)
    if answer is None or answer[1]._value_ & _OPAQUE:
        return _by_members(rule, types_, named) or answer
    return answer


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
    """Ask the rule for every combination of members of the Unions among the arguments, and join the answers; None if one is missing."""
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
    """Is something known of value that a model of a builtin could use?"""
    if isinstance(value, Ref):
        return True
    if not isinstance(value, Known):
        return lazy and m.known_sizes and isinstance(value.type, Array) and bool(value.dims) and isinstance(value.dims[0], Known)  # type: ignore[index]
    kind = type(value.value)
    return kind in (list, tuple, dict, types.FunctionType, types.MethodType) or (lazy and kind is str) or issubclass(kind, enum.EnumMeta | enum.Enum)
