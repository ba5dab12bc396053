"""Lifetimes: where the end of an object's life may show, the residual ends it where CPython does.

A local keeps its object until it is rebound, deleted or the function ends; a stack temporary ends with the
instruction that pops it, which is its last use.  What the assembler clears after the last use is therefore right for
temporaries; for locals a ``drop!`` says how long they last.  Seen are the results of opaque calls; numbers, text and
what hovis makes itself cannot tell.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Final

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

GENERATOR: Final = type(_ for _ in ())

#: Iterators that have no ``close``.
UNCLOSED: Final = frozenset(
    {type(iter(kind())) for kind in (list, tuple, str, bytes, bytearray, dict, set)}
    | {type(iter({}.values())), type(iter({}.items())), type(iter(range(0))), type(iter(range(1 << 99))), type(reversed([]))}
    | {zip, map, filter, enumerate, reversed}
)


def held(state: State) -> dict[int, Dyn]:
    """All values in the state whose end may show, by the identity of the SSA value."""
    return held_by(state, (value for _, value in state.roots()))


def held_by(state: State, holders: Iterable[V]) -> dict[int, Dyn]:
    """Those of them that can be reached from holders, in the order in which they end where these are let go of."""
    return {key: value for key, value in _reached(state, holders).items() if value.ends}


def _reached(state: State, holders: Iterable[V]) -> dict[int, Dyn]:
    """All values that can be reached; of two that are one, one slot may know that its end shows, and another not."""
    todo = list(holders)[::-1]
    found: dict[int, Dyn] = {}
    seen: set[int] = set()
    while todo:
        value = todo.pop()
        if isinstance(value, Dyn):
            if value.ends or id(value.value) not in found:
                found[id(value.value)] = value
        elif isinstance(value, Ref) and value.aid not in seen:
            seen.add(value.aid)
            obj = state.heap[value.aid]
            if obj.watched:
                assert obj.node is not None
                found[id(obj.node)] = Dyn(obj.node, Type(obj.cls), ends=ENDS)
            if not obj.bulk and obj.forgotten != "suspect":
                # the last item goes first (list_dealloc, tuple_dealloc)
                todo.extend(obj.cells if obj.kind in ("list", "tuple") else reversed(obj.cells))
    return found


def taken(frame: Frame, popped: int) -> list[V]:
    """What the instruction at hand takes from the stack, and might end."""
    return [value for value in frame.stack[-popped:] if type(value) is Ref or (type(value) is Dyn and value.ends)]


def is_named(m: "Machine", value: Ref) -> bool:
    """Has the user a name for an object, so that it may outlive what it lets go of?"""
    frames = [frame for frame in m.state.frames if not frame.code.filename.startswith(m.package)]
    return any(isinstance(held, Ref) and held.aid == value.aid for frame in frames for held in frame.locals)


def replaced(m: "Machine", kind: str, old: tuple[V | None, ...], new: tuple[V | None, ...]) -> None:
    """The cells of an object are others now: it has let go of what it held in the old ones."""
    if new[: len(old)] == old:
        return
    kept = set(map(id, new))
    gone = [(at, value) for at, value in enumerate(old) if value is not None and id(value) not in kept]
    if kind == "list" and gone and gone[-1][0] - gone[0][0] == len(gone) - 1:
        gone.reverse()  # items that stand side by side go from the last one on (list_ass_slice, list_clear)
    m.let_go.extend(value for _, value in gone if matters(m, value))


def settle(m: "Machine", operands: list[V] | None) -> bool:
    """Behind an instruction: the lives that end with what it has taken or let go of; are generators to be closed for that first?"""
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
    """Several values are let go of, and generators of the trace end by that: one after the other, the first first; False: nothing is done."""
    if len(gone) < 2 or not m.watching or not dying(m):
        return False
    m.call(Known(generator_protocol.end_each), [_listed(m, gone)], {}, "closed")
    return True


def _listed(m: "Machine", values: Sequence[V]) -> Ref:
    return m.new(VObj("list", list, tuple(values)))


def _ends_by_itself(m: "Machine", operands: list[V]) -> bool:
    """Has the op emitted last, which runs nothing unknown, used one of these for the last time, and nobody else holds it?"""
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
    """Does a frame hold it, the one on top most likely?"""
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
    """Is value a temporary that ends where the op emitted last uses it?  The assembler sees to that."""
    return type(value) is Dyn and _just_used(m, value)


def _just_used(m: "Machine", value: Dyn) -> bool:
    """Has nothing been emitted behind the op that makes or uses value?"""
    return m.latest is not None and (value.value is m.latest or any(value.value is x for x in m.latest.operands()))


def _identity(value: V | None) -> int:
    return -value.aid if type(value) is Ref else id(value.value) if type(value) is Dyn else 0


def matters(m: "Machine", old: V | None) -> bool:
    """Could the end of what a variable held show?"""
    return (type(old) is Dyn and bool(old.ends)) or (type(old) is Ref and m.endings)


def end(m: "Machine", before: dict[int, Dyn], kept: V | None = None) -> None:
    """Values that were held before and are not any more: their lives end here."""
    if not before:
        return
    after = _reached(m.state, (value for _, value in m.state.roots()))
    if m.watching:
        # what a generator holds that is to be closed lives until that is done
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
    """An exception leaves the residual: what the stacks have held ends, in this order; the locals hold what they hold until its traceback goes
    (frame_dealloc)."""
    carried = _reached(m.state, (exception,))
    for key, value in held_by(m.state, gone).items():
        if key not in held and key not in carried:
            m.block.ops.append(Op(ops.drop, (value.value,), (), Type(type(None)), None, Effect.IO | Effect.WRITES, m.location()))
    for value in held.values():
        m.block.ops.append(Op(ops.keep, (value.value,), (), Type(type(None)), None, Effect.IO, None))


def end_cells(m: "Machine", cells: Sequence[V | None], value: V) -> None:
    """A generator hands value to the frame on top: what only its variables hold ends, if it has ended or nobody holds it."""
    before = held_by(m.state, (cell for cell in cells if cell is not None))
    if before:
        m.push(value)
        end(m, before)
        m.pop()


# ------------------------------------------------------------------------------------------------- generators


class Closing:
    """Which suspended generators of a state would run something of the user's, or show, as they end (_PyGen_Finalize)?

    A generator that delegates asks the one that it delegates to, and how many hold that one: each is found once for all of them.
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
        """Is something closed where a generator ends that delegates to receiver?"""
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
        """By object: how many places hold it."""
        cells = (cell.aid for obj in self.state.heap.values() for cell in obj.cells if type(cell) is Ref)
        return Counter(chain(cells, (value.aid for _, value in self.state.roots() if type(value) is Ref)))


def must_close(state: State, obj: VObj) -> bool:
    """Would the end of this suspended generator run something of the user's, or show?"""
    return Closing(state).shows(obj)


def any_must_close(m: "Machine") -> bool:
    """Is there such a generator?  It is asked after every instruction, so the heap is not looked through."""
    heap, closing = m.state.heap, Closing(m.state)
    return any(closing.shows(heap[aid]) for aid in m.suspended if aid in heap)


def abandon(state: State, obj: VObj) -> None:
    """Nobody holds this generator any more, and it was not closed where that came to be: it has to be a real one."""
    if must_close(state, obj):
        raise NotMaterializable(obj.extra[5])


def dying(m: "Machine", spared: "tuple[V, ...]" = ()) -> list[int]:
    """The suspended generators that nobody holds any more, and whose end would show."""
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
    """The instruction at hand has let go of generators: their ends are traced before the next one; were there any?

    The frame on top stands at the next instruction already.  The youngest ends first, as on a stack.
    """
    lost = dying(m)
    for aid in lost:
        # the last one that is entered is the first to run
        m.call(Known(generator_protocol.finalize), [Ref(aid), Known(generator_protocol.close), Known(ops.throw_exit), Known(ops.unraisable)], {}, "closed")
    return bool(lost)


def end_locals(m: "Machine", value: V) -> bool:
    """The frame on top returns value: what only its variables hold ends first, in order, if there are generators of the trace among it; are there?"""
    held = [v.aid for v in m.frame.locals if isinstance(v, Ref)]
    closing = Closing(m.state)
    if not held or not any(closing.shows(m.state.heap[aid]) for aid in reachable(m.state.heap, held)):
        return False
    gone = [v for v in m.frame.locals if v is not None and (type(v) is Ref or matters(m, v))]
    m.frame.locals = [None] * len(m.frame.locals)
    m.push(value)
    return in_turn(m, gone) or close_dying(m)


def check_left(state: State, frame: Frame) -> None:
    """An exception has left frame: as long as somebody has its traceback, the variables hold what they hold."""
    for value in frame.locals:
        if isinstance(value, Ref):
            for aid in reachable(state.heap, [value.aid]):
                abandon(state, state.heap[aid])


def close_leaving(m: "Machine", exception: V, gone: Sequence[V]) -> bool:
    """exception leaves the traced function (whose frame is there still): what the stacks have held ends first, in this order, if there
    are generators of the trace among it; are there?"""
    if not dying(m, (exception,)):
        return False
    m.call(Known(generator_protocol.leave), [exception, Known(ops.raise_again), _listed(m, gone)], {}, "value")
    close_dying(m)
    return True
