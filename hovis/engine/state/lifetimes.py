"""Lifetimes: where the end of an object's life may be visible, the residual ends it where CPython does.

A local keeps its object until it is rebound, deleted or the function ends; a stack temporary ends with the
instruction that pops it, which is its last use.  What the assembler clears after the last use is therefore right for
temporaries; for locals a ``drop!`` says how long they last.  Results of opaque calls are tracked; the ends of numbers, of
strings and of objects that hovis makes itself cannot be visible.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Final

from hovis.bytecode.normalize import LAST_FIRST
from hovis.engine.state import finalizers
from hovis.engine.state.frames_and_heap import Frame, State
from hovis.engine.state.heap import VObj, holds, reachable
from hovis.engine.state.standins import NotMaterializable
from hovis.engine.state.values import ENDS, ENDS_READ, Dyn, Known, Ref, V
from hovis.engine.traced import generator_protocol
from hovis.ir import operations as ops
from hovis.ir.model import Effect, Op
from hovis.lattice import Type

if TYPE_CHECKING:
    from hovis.engine.machine.machine import Machine

#: The file of the models that release values one after another.
RELEASING: Final = generator_protocol.end_each.__code__.co_filename

GENERATOR: Final = type(_ for _ in ())

#: Iterators that have no ``close``.
UNCLOSED: Final = frozenset(
    {type(iter(kind())) for kind in (list, tuple, str, bytes, bytearray, dict, set)}
    | {type(iter({}.values())), type(iter({}.items())), type(iter(range(0))), type(iter(range(1 << 99))), type(reversed([]))}
    | {zip, map, filter, enumerate, reversed}
)


def held(state: State) -> dict[int, Dyn]:
    """Return all values in the state whose end may be visible, keyed by the identity of the SSA value."""
    return held_by(state, (value for _, value in state.roots()))


def held_by(state: State, holders: Iterable[V]) -> dict[int, Dyn]:
    """Return the values with a visible end that can be reached from holders, in the order in which they end when the holders are dropped."""
    holders = list(holders)
    found = {key: value for key, value in _reached(state, holders).items() if value.ends}
    return found if len(found) < 2 else {key: found[key] for key in (*_released(state, holders), *found) if key in found}


def _released(state: State, holders: Sequence[V]) -> list[int]:
    """Return which values end when the holders are dropped one after another, in order: a value ends with the last reference to it (Py_DECREF).

    Values that are in a cycle, and values of which each has one holder alone, are left out: their order is that in which they are reached.
    """
    counts: Counter[int] = Counter()
    todo = list(holders)
    while todo:
        value = todo.pop()
        counts[_identity(value)] += 1
        if type(value) is Ref and counts[-value.aid] == 1:
            todo += _parts(state.heap[value.aid])
    del counts[0]  # known values
    if counts and max(counts.values()) == 1:
        return []
    ended: list[int] = []
    todo = list(holders)[::-1]
    while todo:
        value = todo.pop()
        counts[_identity(value)] -= 1
        if counts[_identity(value)]:
            continue
        if type(value) is Dyn:
            ended.append(id(value.value))
        elif type(value) is Ref:
            obj = state.heap[value.aid]
            ended.append(id(obj.node))
            todo += _parts(obj)
    return ended


def _parts(obj: VObj) -> tuple[V, ...]:
    """Return what an object is known to hold, in the reverse order of its release."""
    return obj.holding if obj.forgotten != "suspect" else ()


def in_ending_order(held: list[V]) -> list[V]:
    """Return what the variables of a frame hold, and then its stack, in the order in which the frame releases it."""
    return held[::-1] if LAST_FIRST else held


def drop_dead(m: "Machine", state: State) -> bool:
    """Drop dead locals, except those whose end is visible; return whether something with a finalizer may end by that."""
    gone = state.drop_dead(m.tables.weakly)
    if not gone:
        return False
    # what is still held ends later, if that is known where it is held
    kept = held(state)
    return any(key not in kept for key in held_by(state, gone))


def _reached(state: State, holders: Iterable[V]) -> dict[int, Dyn]:
    """Return all values that can be reached from holders. Of two slots with one value, only one may know that its end is visible."""
    todo = list(holders)[::-1]
    found: dict[int, Dyn] = {}
    seen: set[int] = set()
    while todo:
        value = todo.pop()
        if type(value) is Dyn:
            if value.ends or id(value.value) not in found:
                found[id(value.value)] = value
        elif type(value) is Ref and value.aid not in seen:
            seen.add(value.aid)
            obj = state.heap[value.aid]
            if obj.watched:
                assert obj.node is not None
                found[id(obj.node)] = Dyn(obj.node, Type(obj.cls), ends=ENDS)
            todo += _parts(obj)
    return found


def taken(frame: Frame, popped: int) -> list[V]:
    """Return the values that the current instruction takes from the stack and that it may end."""
    return [value for value in frame.stack[-popped:] if type(value) is Ref or (type(value) is Dyn and value.ends)]


def is_named(m: "Machine", value: Ref) -> bool:
    """Does a variable of user code hold the object, which may then outlive the values that it drops?"""
    frames = [frame for frame in m.state.frames if not frame.code.filename.startswith(m.package)]
    return any(isinstance(held, Ref) and held.aid == value.aid for frame in frames for held in frame.locals)


def replaced(m: "Machine", kind: str, old: tuple[V | None, ...], new: tuple[V | None, ...]) -> None:
    """Record the values that an object of this kind has dropped, now that its cells have changed from old to new."""
    if new[: len(old)] == old:
        return
    kept = set(map(id, new))
    gone = [(at, value) for at, value in enumerate(old) if value is not None and id(value) not in kept]
    if kind == "list" and gone and gone[-1][0] - gone[0][0] == len(gone) - 1:
        gone.reverse()  # adjacent items are released from the last to the first (list_ass_slice, list_clear)
    m.let_go.extend(value for _, value in gone if matters(m, value))


def settle(m: "Machine", operands: list[V] | None) -> bool:
    """End the lives of values that the last instruction has taken from the stack or dropped; return True if generators have to be closed first."""
    if not m.let_go and not operands:
        return False
    gone = [*m.let_go, *(value for value in operands or () if not _used_last(m, value))]
    m.let_go.clear()
    gone = [value for value in gone if not _stays(m.state, value)]
    if in_turn(m, gone):
        return True
    if gone:
        end(m, held_by(m.state, gone))
    elif operands and _ends_by_itself(m, operands):
        finalizers.run(m)
    return False


def in_turn(m: "Machine", gone: Sequence[V]) -> bool:
    """If dropping several values ends generators of the trace, trace the ends one by one, first to last; return False if nothing was done."""
    if len(gone) < 2 or not m.watching or not dying(m):
        return False
    m.call(Known(generator_protocol.end_each), [_listed(m, gone)], {}, "closed")
    return True


def _listed(m: "Machine", values: Sequence[V]) -> Ref:
    return m.new(VObj("list", list, tuple(values)))


def _ends_by_itself(m: "Machine", operands: list[V]) -> bool:
    """Is the op emitted last, which runs no unknown code, the last use of one of the operands, and does nothing else hold that operand?"""
    latest = m.latest
    if latest is None or latest.effect & Effect.OPAQUE:
        return False
    keeps = latest.effect & Effect.WRITES or holds(latest.type)
    used = [v for v in operands if type(v) is Dyn and (v.value is latest or not keeps) and _used_last(m, v) and not _stays(m.state, v)]
    if not used:
        return False
    reached = _reached(m.state, (value for _, value in m.state.roots()))
    return any(id(value.value) not in reached for value in used)


def _stays(state: State, value: V) -> bool:
    """Does a frame hold value? The frame on top, the most likely one, is searched first."""
    same = _identity(value)
    for frame in reversed(state.frames):
        for other in frame.locals:
            if other is value or (type(other) is not Known and _identity(other) == same):
                return True
        for other in frame.stack:
            if other is value or (type(other) is not Known and _identity(other) == same):
                return True
    return False


def _used_last(m: "Machine", value: V) -> bool:
    """Is value a temporary that ends with its use by the op emitted last? The assembler takes care of these."""
    return type(value) is Dyn and _just_used(m, value)


def _just_used(m: "Machine", value: Dyn) -> bool:
    """Is value the result or an operand of the op emitted last?"""
    return m.latest is not None and (value.value is m.latest or any(value.value is x for x in m.latest.operands()))


def _identity(value: V | None) -> int:
    return -value.aid if type(value) is Ref else id(value.value) if type(value) is Dyn else 0


def matters(m: "Machine", old: V | None) -> bool:
    """May the end of old, the former value of a variable, be visible?"""
    return (type(old) is Dyn and bool(old.ends)) or (type(old) is Ref and m.endings)


def end(m: "Machine", before: dict[int, Dyn], kept: V | None = None) -> None:
    """End the lives of the values in before that the state does not hold any more. kept: a value that stays alive."""
    if not before:
        return
    after = _reached(m.state, (value for _, value in m.state.roots()))
    if m.watching:
        # the values that a generator to be closed holds live until it is closed
        after |= _reached(m.state, map(Ref, dying(m)))
    if kept is not None:
        after |= _reached(m.state, (kept,))
    for key, value in before.items():
        if key in after:
            continue
        if not ((holds(value.type) or value.ends == ENDS_READ) and _just_used(m, value)):
            m.latest = Op(ops.drop, (value.value,), (), Type(type(None)), None, Effect.IO | Effect.WRITES, m.location())
            m.block.ops.append(m.latest)
        finalizers.run(m)


def leaving(m: "Machine", exception: V, held: dict[int, Dyn], gone: Sequence[V]) -> None:
    """End lives where an exception leaves the residual: emit drops for the values that the stacks have held (gone), in this order; keep those
    that locals hold until the traceback is released (frame_dealloc).
    """
    carried = _reached(m.state, (exception,))
    for key, value in held_by(m.state, gone).items():
        if key not in held and key not in carried:
            m.block.ops.append(Op(ops.drop, (value.value,), (), Type(type(None)), None, Effect.IO | Effect.WRITES, m.location()))
    for value in held.values():
        m.block.ops.append(Op(ops.keep, (value.value,), (), Type(type(None)), None, Effect.IO, None))


def end_cells(m: "Machine", cells: Sequence[V | None], value: V) -> None:
    """End the values that only the variables of a generator (cells) hold, after it has passed value to the frame on top. They end if the
    generator has ended or nobody holds it.
    """
    before = held_by(m.state, in_ending_order([cell for cell in cells if cell is not None]))
    if before:
        m.push(value)
        end(m, before)
        m.pop()


# ------------------------------------------------------------------------------------------------- generators


class Closing:
    """Finds the suspended generators of a state whose end would run user code or be visible (_PyGen_Finalize).

    For a generator that delegates, the answer depends on the generator that it delegates to and on the number of holders of that one: both are
    computed once and kept.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self.known: dict[int, bool] = {}

    def shows(self, obj: VObj) -> bool:
        if obj.kind != "generator" or obj.node is not None or obj.extra[0] != "suspended":
            return False
        code, pc = obj.extra[1], obj.extra[3]
        if code.instructions[pc - 1].handler is not None:
            return True
        return code.instructions[pc - 2].op == "Send" and self._in(obj.cells[-1])

    def _in(self, receiver: V) -> bool:
        """Is something closed when a generator ends that delegates to receiver?"""
        if type(receiver) is not Ref:
            return type(receiver) is Dyn and not (type(receiver.type) is Type and receiver.type.cls in UNCLOSED)
        aid = receiver.aid
        if aid not in self.known:
            obj = self.state.heap[aid]
            if obj.kind != "generator" or obj.node is not None:
                self.known[aid] = obj.cls not in UNCLOSED
            else:
                self.known[aid] = self.shows(obj) or self.holders[aid] > 1
        return self.known[aid]

    @cached_property
    def holders(self) -> Counter[int]:
        """Number of places that hold each object."""
        cells = (cell.aid for obj in self.state.heap.values() for cell in obj.cells if type(cell) is Ref)
        return Counter(chain(cells, (value.aid for _, value in self.state.roots() if type(value) is Ref)))


def must_close(state: State, obj: VObj) -> bool:
    """Would the end of this suspended generator run user code, or be visible?"""
    return Closing(state).shows(obj)


def any_must_close(m: "Machine") -> bool:
    """Is there a suspended generator whose end would be visible? This runs after every instruction, and therefore does not search the heap."""
    heap, closing = m.state.heap, Closing(m.state)
    return any(closing.shows(heap[aid]) for aid in m.suspended if aid in heap)


def abandon(state: State, obj: VObj) -> None:
    """Raise NotMaterializable if this generator, which nobody holds any more, should have been closed earlier: it has to be a real one."""
    if must_close(state, obj):
        raise NotMaterializable(obj.extra[5])


def dying(m: "Machine", spared: "tuple[V, ...]" = ()) -> list[int]:
    """Return the suspended generators that nobody holds any more and whose end would be visible. spared: values that count as held."""
    heap = m.state.heap
    if not any_must_close(m):
        return []
    closing = Closing(m.state)
    suspended = [aid for aid, obj in heap.items() if closing.shows(obj)]
    held = [v.aid for v in (*spared, *(value for _, value in m.state.roots())) if isinstance(v, Ref)]
    alive = reachable(heap, [*held, *(aid for aid, obj in heap.items() if obj.node is not None)])
    lost = [aid for aid in suspended if aid not in alive]
    inner = {aid for outer in lost for aid in reachable(heap, [outer]) if aid != outer}
    return [aid for aid in lost if aid not in inner]


def close_dying(m: "Machine") -> bool:
    """Trace the ends of generators that the last instruction has dropped, before the next instruction; return whether there were any.

    The frame on top is at the next instruction already.  The youngest generator ends first, as on a stack.
    """
    lost = dying(m)
    for aid in lost:
        # the last one that is entered is the first to run
        m.call(Known(generator_protocol.finalize), [Ref(aid), Known(generator_protocol.close), Known(ops.throw_exit), Known(ops.unraisable)], {}, "closed")
    return bool(lost)


def end_locals(m: "Machine", value: V) -> bool:
    """Before the frame on top returns value, end the values that only its variables hold, in order, if there are generators of the trace among
    them; return whether there are.
    """
    held = [v.aid for v in m.frame.locals if isinstance(v, Ref)]
    closing = Closing(m.state)
    if not held or not any(closing.shows(m.state.heap[aid]) for aid in reachable(m.state.heap, held)):
        return False
    gone = in_ending_order([v for v in m.frame.locals if v is not None and (type(v) is Ref or matters(m, v))])
    m.frame.locals = [None] * len(m.frame.locals)
    m.push(value)
    return in_turn(m, gone) or close_dying(m)


def check_left(state: State, frame: Frame) -> None:
    """Check the variables of a frame that an exception has left: as long as its traceback exists, they hold their values."""
    for value in frame.locals:
        if isinstance(value, Ref):
            for aid in reachable(state.heap, [value.aid]):
                abandon(state, state.heap[aid])


def close_leaving(m: "Machine", exception: V, gone: Sequence[V]) -> bool:
    """Before exception leaves the traced function (whose frame still exists), end the values that the stacks have held, in order, if there are
    generators of the trace among them; return whether there are.
    """
    if not dying(m, (exception,)):
        return False
    m.call(Known(generator_protocol.leave), [exception, Known(ops.raise_again), _listed(m, gone)], {}, "value")
    close_dying(m)
    return True
