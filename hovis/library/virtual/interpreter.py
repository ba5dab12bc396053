"""Actions for tracing hovis's own interpreter: its queries of a known Function, and the IR operations that make objects.

The IR operations with which the interpreted trace builds escaping objects (:mod:`hovis.engine.machine.materialize`) make virtual objects here.
"""

import types
from collections.abc import Callable
from typing import Any

from hovis.bytecode.normalize import normalize
from hovis.engine.calls.inline_python import call_function
from hovis.engine.control import identity_sets, raising
from hovis.engine.control.iterators import RANGE_ITERATOR
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import VObj
from hovis.engine.state.type_lookup import lookup
from hovis.engine.state.values import NONE, STRONG, Known
from hovis.ir import operations as ops
from hovis.ir.analysis.live_ranges import lives
from hovis.ir.model import Function
from hovis.library.virtual.base import CELLS, Args, Named, action, known_key


@action(lives, counts=(1, 1))
def lives_of(m: Machine, args: Args, named: Named) -> Any:
    """Compute the live ranges of a known Function while tracing; it is not data that changes."""
    function = args[0]
    if not isinstance(function, Known) or type(function.value) is not Function:
        return None
    m.use(function, STRONG)
    key = (lives, function.value)
    if key not in m.tables.answers:
        m.tables.answers[key] = lives(function.value)
    return Known(m.tables.answers[key], function.labels)


@action(ops.reraise, counts=(1, 1))
def reraise(m: Machine, args: Args, named: Named) -> Any:
    """``operations.reraise`` (RERAISE): neither the context nor the traceback of the exception changes."""
    return m.raise_(args[0], again=True)


def within(exception: BaseException, go_on: Callable[[], Any]) -> Any:
    """The model of ``operations.within``; its raise changes nothing in the exception, because ``reraise`` does not while tracing."""
    try:
        ops.reraise(exception)
    except BaseException:
        return go_on()


@action(ops.within, counts=(2, 2))
def handled_within(m: Machine, args: Args, named: Named) -> Any:
    return call_function(m, Known(within), within, args, {})


@action(ops.meet, counts=(0, 0))
def meet(m: Machine, args: Args, named: Named) -> Any:
    """``operations.meet``: make a merge point of the residual where paths of the interpreted program meet."""
    m.tables.merge.setdefault(m.frame.ctx, set()).add(m.frame.pc + 1)
    return NONE


# ------------------------------------------------------------------------------------------------- exceptions


@action(ops.raise_now, ops.raise_from, counts=(1, 2))
def raise_(m: Machine, args: Args, named: Named) -> Any:
    return raising.raise_statement(m, args)


@action(ops.raise_current, counts=(0, 0))
def raise_current(m: Machine, args: Args, named: Named) -> Any:
    return raising.raise_statement(m, [])


@action(ops.exception_matches, counts=(2, 2))
def matches(m: Machine, args: Args, named: Named) -> Any:
    m.frame.stack.extend(args)
    raising.match(m)
    found = m.pop()
    m.pop()
    return found


# ------------------------------------------------------------------------------------------------- construction of objects


@action(ops.make_tuple, counts=(0, CELLS))
def make_tuple(m: Machine, args: Args, named: Named) -> Any:
    return m.new(VObj("tuple", tuple, tuple(args)))


@action(ops.make_list, counts=(0, CELLS))
def make_list(m: Machine, args: Args, named: Named) -> Any:
    return m.new(VObj("list", list, tuple(args)))


@action(ops.make_dict, counts=(0, CELLS))
def make_dict(m: Machine, args: Args, named: Named) -> Any:
    if not all(map(known_key, args[::2])):
        return None
    made = VObj("dict", dict)
    for key, value in zip(args[::2], args[1::2], strict=True):
        m.use(key)
        made = made.with_named(key.value, value)  # type: ignore[union-attr]
    return m.new(made)


@action(ops.make_set, counts=(0, CELLS))
def make_set(m: Machine, args: Args, named: Named) -> Any:
    objects = identity_sets.holding(m, args)
    if objects is not None:
        return m.new(objects)
    if not all(map(known_key, args)):
        return None
    for item in args:
        m.use(item)
    return m.new(VObj("set", set, keys=tuple(dict.fromkeys(item.value for item in args))))  # type: ignore[union-attr]


@action(ops.make_object, counts=(2, CELLS))
def make_object(m: Machine, args: Args, named: Named) -> Any:
    cls, names = _values(args[:2])
    if not isinstance(cls, type) or lookup(cls, "__del__") is not None:
        return None
    return m.new(VObj("instance", cls, tuple(args[2:]), names))


@action(ops.make_cell, counts=(1, 1))
def make_cell(m: Machine, args: Args, named: Named) -> Any:
    return m.new(VObj("cell", types.CellType, tuple(args)))


@action(ops.make_function, counts=(7, CELLS))
def make_function(m: Machine, args: Args, named: Named) -> Any:
    code, namespace, name, qualname = _values(args[:4])
    if not isinstance(code, types.CodeType):
        return None
    return m.new(VObj("function", types.FunctionType, tuple(args[4:]), extra=(normalize(code), namespace, name, qualname)))


@action(ops.bind, counts=(2, 2))
def bind(m: Machine, args: Args, named: Named) -> Any:
    return m.new(VObj("method", types.MethodType, tuple(args)))


@action(ops.make_range_iterator, counts=(3, 3))
def make_range_iterator(m: Machine, args: Args, named: Named) -> Any:
    return m.new(VObj("range_iter", RANGE_ITERATOR, tuple(args))) if all(m.class_of(a) is int for a in args) else None


def _values(args: Args) -> list[Any]:
    """Return the values of the arguments; None for each that is not known."""
    return [a.value if isinstance(a, Known) else None for a in args]
