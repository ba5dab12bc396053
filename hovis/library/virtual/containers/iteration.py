"""Actions for iter, next, range and slice."""

import operator
import sys
from typing import Any

from hovis.engine.calls import models
from hovis.engine.calls.builtins import primitive
from hovis.engine.control import iteration, iterators
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import VObj
from hovis.engine.state.type_lookup import NOT_MODELLED, is_python_class
from hovis.engine.state.values import NONE, Dyn, Known, Ref, V, labels_of
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.lattice import Array, Type
from hovis.library.virtual.base import Args, Named, action, pushed


@action(iter, counts=(1, 1))
def make_iter(m: Machine, args: Args, named: Named) -> Any:
    if len(args) != 1 or named:
        return None
    value = args[0]
    kinds = "list", "tuple", "dict", "view", "range", "sequence_iter", "range_iter", "dict_iter", "generator"
    steppable = m.is_own_list(value) or m.class_of(value) in iterators.NO_ITERABLES or m.obj(value, *kinds) is not None
    rows = m.known_sizes and isinstance(value, Dyn) and isinstance(value.type, Array) and value.dims and isinstance(value.dims[0], Known)
    if rows or steppable or (isinstance(value, Known) and type(value.value) in (list, tuple, str, bytes, dict) and m.environment.static(value)):
        status = iterators.get_iter(m, value)
        return _pushed(m, status)
    if models.written_class(m, value) is None:
        return None
    found = pushed(m, lambda: iterators.iter_instance(m, value, "value"))
    return None if found is NOT_MODELLED else found


def _pushed(m: Machine, status: "int | None") -> Any:
    """Return the status of a handler as the result of an action: the value that it has pushed if status is None."""
    return m.pop() if status is None else status


@action(next, counts=(1, 2))
def take_next(m: Machine, args: Args, named: Named) -> Any:
    known = isinstance(args[0], Ref) and m.obj(args[0]) is not None
    if named or not (known or (len(args) == 2 and iteration.is_quiet(m, args[0]) and isinstance(args[1], Known) and args[1].value is ops.END)):
        return None
    depth = len(m.state.frames)
    status = iteration.next_(m, args)
    if status is None and len(m.state.frames) == depth:
        return m.pop()
    return status


@action(range, counts=(1, 3))
def make_range(m: Machine, args: Args, named: Named) -> Any:
    """Make a virtual range of ints; with known bounds, its cells are constants."""
    if named or not 1 <= len(args) <= 3:
        return None
    args = [_whole(m, a) for a in args]
    if any(m.class_of(a) is not int for a in args):
        return None
    if all(isinstance(a, Known) for a in args):
        if len(args) == 3 and args[2].value == 0:  # type: ignore[union-attr]
            return m.raise_new(ValueError, "range() arg 3 must not be zero")
        return m.new(VObj("range", range, _bounds(args)), labels_of(*args))
    start, stop, step = _bounds(args)
    if isinstance(step, Dyn):
        step = m.emit(ops.range_step, [step], type=Type(int), effect=Effect.RAISES)
    elif step.value == 0:  # type: ignore[union-attr]
        return m.raise_new(ValueError, "range() arg 3 must not be zero")
    return m.new(VObj("range", range, (start, stop, step)))


def _whole(m: Machine, value: V) -> V:
    """Convert a bound to an exact int if C code converts it (a NumPy integer); else return it unchanged."""
    cls = m.class_of(value)
    rule = m.library.primitives.get(operator.index)
    if not isinstance(value, Dyn) or cls is None or cls is int or rule is None or is_python_class(cls):
        return value
    found = primitive(m, rule, [value], {})
    return value if found is None or m.class_of(found) is not int else found


def _bounds(args: Args) -> tuple[V, V, V]:
    if len(args) == 1:
        return Known(0), args[0], Known(1)
    return args[0], args[1], args[2] if len(args) == 3 else Known(1)


@action(slice, counts=(1, 3))
def make_slice(m: Machine, args: Args, named: Named) -> Any:
    if named or not 1 <= len(args) <= 3:
        return None
    parts = (NONE, args[0], NONE) if len(args) == 1 else (*args, NONE)[:3]
    return m.new(VObj("slice", slice, parts))


@action(range.__reversed__, counts=(1, 1))
def reversed_range(m: Machine, args: Args, named: Named) -> Any:
    """``reversed`` of a range: an iterator over the same ints, backwards (range_reverse, Objects/rangeobject.c)."""
    obj = m.obj(args[0], "range")
    held = args[0].value if isinstance(args[0], Known) else None
    cells: tuple[V, ...] | None = tuple(map(Known, (held.start, held.stop, held.step))) if isinstance(held, range) else obj.cells if obj is not None else None
    if cells is None:
        return None
    start, stop, step = cells
    known: list[Any] = [c.value for c in cells if isinstance(c, Known)]
    if len(known) == len(cells):
        every = range(*known)[::-1]
        if max(abs(every.start), abs(every.stop)) >= sys.maxsize:
            return None
        return m.new(VObj("range_iter", iterators.RANGE_ITERATOR, (Known(every.start), Known(every.stop), Known(every.step))), labels_of(*cells))
    if not isinstance(step, Known) or step.value != 1 or m.class_of(start) is not int or m.class_of(stop) is not int:
        return None
    last, before = (_one_less(m, bound) for bound in (stop, start))
    return m.new(VObj("range_iter", iterators.RANGE_ITERATOR, (last, before, Known(-1))))


def _one_less(m: Machine, bound: V) -> V:
    if isinstance(bound, Known):
        return Known(bound.value - 1, bound.labels)  # type: ignore[operator]
    return m.emit(operator.sub, [bound, Known(1)], type=Type(int), effect=Effect.PURE, lost=bound.lost if isinstance(bound, Dyn) else None)
