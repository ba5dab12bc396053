"""Finalizers: an op that drops a reference, by overwriting or removing it, may run unknown code.

The same holds for the end of a value that nothing else holds: it may run a ``__del__``, or the callback of a weak reference.  After it,
the environment is treated as after an opaque call (see guards).  A value that was read is also held by the container that it was read from,
until a reference is dropped anywhere: from then on, the value that was read may be the last reference.
"""

import collections
import operator
from typing import TYPE_CHECKING, Any, Final

from hovis.engine.state.frames_and_heap import State
from hovis.engine.state.values import ENDS_READ, Dyn
from hovis.ir import operations as ops
from hovis.ir.analysis.live_ranges import may_end_visibly
from hovis.ir.model import Effect, Op
from hovis.lattice import Const, Type

if TYPE_CHECKING:
    from hovis.engine.machine.machine import Machine

#: Callees that write, but drop no reference: they add or move items, or return the item that they remove.
_KEEPING: Final = frozenset(
    map(
        id,
        (
            *(list.append, list.insert, list.extend, list.reverse, list.sort, list.pop, set.add, set.pop, dict.pop, dict.popitem, dict.setdefault),
            *(collections.deque.pop, collections.deque.popleft, collections.deque.rotate, collections.deque.reverse),
            *(collections.OrderedDict.pop, collections.OrderedDict.popitem, collections.OrderedDict.move_to_end),
            *(operator.iadd, operator.iconcat, next, ops.list_extend, ops.enter_handler, ops.with_note, ops.refresh_locals),
        ),
    )
)
_WRITES: Final = Effect.WRITES.value
_OPAQUE: Final = Effect.OPAQUE.value


def lets_go(op: Op, within: "int | type | None") -> bool:
    """May op, which writes to memory and is not opaque, drop a reference to an object with a finalizer?

    within: the number of the object that op writes to, if it is known that the write does not end the life of anything.
    """
    if type(within) is int or id(op.callee) in _KEEPING or not op.args:
        return False
    target = op.args[0]
    return may_end_visibly(Type(type(target.value)) if type(target) is Const else target.type)  # type: ignore[union-attr]


def gives_last(op: Op) -> bool:
    """May the result of op be the only reference to an object, because op has taken it from its place or an iterator has made it?"""
    effect = op.effect._value_
    return (op.callee is next if effect & _OPAQUE else bool(effect & _WRITES)) and may_end_visibly(op.type)


def run(m: "Machine") -> None:
    """Account for unknown code that may have run: forget what it may have changed, and call ``released``."""
    m.forget()
    released(m)


def run_in(m: "Machine", state: State) -> None:
    """Call ``run`` in a state that is on its way to a join."""
    here, m.state = m.state, state
    run(m)
    m.state = here


def released(m: "Machine") -> None:
    """The environment may have changed, and the values that frames and objects of the trace hold may have no other holder any more."""
    m.endings = True
    state = m.state
    if not m.environment.frozen and not state.world:
        state.world = 1
    for frame in state.frames:
        _release(frame.locals)
        _release(frame.stack)
    for aid, obj in state.heap.items():
        if obj.node is None and not obj.released:
            cells = list(obj.cells)
            if _release(cells):
                obj = state.heap[aid] = obj.filled(tuple(cells), None)
            obj.released = True


def _release(values: "list[Any]") -> bool:
    """Mark the values whose end was not visible until now; return whether there were any."""
    found = False
    for k, value in enumerate(values):
        if type(value) is Dyn and value.ends == 0 and may_end_visibly(value.type):
            values[k] = Dyn(value.value, value.type, value.dims, value.lost, value.maybe_unbound, ENDS_READ, value.maybe_end, value.among)
            found = True
    return found
