"""Finalizers: an op that lets go of what it overwrites or removes may run code of which nothing is known.

So may the end of a value that nobody else holds: a ``__del__``, or the callback of a weak reference.  Behind it the
world is what it is behind an opaque call (see guards).  A value that was read is held by what it was read from,
until something is let go of somewhere: from then on it may be the last that holds it.
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

#: They write, and let go of nothing: they add, move, or keep what they take out for their result.
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
    """May op, which writes to memory and is not opaque, let go of something that has a finalizer?

    within: the number of the object that it writes to, of which is known that nothing ends by that.
    """
    if type(within) is int or id(op.callee) in _KEEPING or not op.args:
        return False
    target = op.args[0]
    return may_end_visibly(Type(type(target.value)) if type(target) is Const else target.type)  # type: ignore[union-attr]


def gives_last(op: Op) -> bool:
    """Does op give something that nobody else may hold, as it has taken it from where it was, or an iterator has made it?"""
    effect = op.effect._value_
    return (op.callee is next if effect & _OPAQUE else bool(effect & _WRITES)) and may_end_visibly(op.type)


def run(m: "Machine") -> None:
    """Code of which nothing is known may have run."""
    m.forget()
    released(m)


def run_in(m: "Machine", state: State) -> None:
    """The same, in a state that is on its way to where others arrive."""
    here, m.state = m.state, state
    run(m)
    m.state = here


def released(m: "Machine") -> None:
    """The environment may be another; and what frames and objects of the trace hold, nobody else may hold any more."""
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
    """Mark those values of whose ends nothing was to be seen so far; were there any?"""
    found = False
    for k, value in enumerate(values):
        if type(value) is Dyn and value.ends == 0 and may_end_visibly(value.type):
            values[k] = Dyn(value.value, value.type, value.dims, value.lost, value.maybe_unbound, ENDS_READ, value.maybe_end, value.among)
            found = True
    return found
