"""Residual generator functions: the form that a generator takes when it leaves the traced code.

It is a call of a Function that yields, specialized from the current state of the generator.  Objects that only the generator
holds are passed to it as their parts and stay virtual there; all other objects are real.  A generator that had begun stands at
its Yield: the residual generator executes this Yield once more when it is made (the yielded value is dropped), so that the next
value or exception that is sent or thrown arrives there.
"""

from collections.abc import Iterable
from typing import Final

from hovis.bytecode.instructions import Code
from hovis.engine.calls.recursion import known_arguments
from hovis.engine.calls.residual_calls import classes_in
from hovis.engine.machine.building import objects
from hovis.engine.machine.call_results import opaque
from hovis.engine.machine.machine import Machine
from hovis.engine.state.frames_and_heap import Frame, State, live_after
from hovis.engine.state.heap import VObj, reachable
from hovis.engine.state.lifetimes import GENERATOR
from hovis.engine.state.standins import NotMaterializable
from hovis.engine.state.values import NONE, Dyn, Known, Ref, V
from hovis.ir import operations as ops
from hovis.ir.model import Effect, Function, Location, Op, Operand
from hovis.lattice import Const, Type

#: The mode of a residual generator that stands at the Yield where it was made.
BEGUN: Final = "begun"


def build(m: Machine, aid: int) -> Operand:
    """Build the real generator that continues where the virtual one stands."""
    obj = m.state.heap[aid]
    status, code, namespace, pc, count, site, decided = obj.extra
    if status == "running" or m.resolving or m.is_model(code):
        raise NotMaterializable(site)
    if status == "finished":
        return objects.build(m, ops.ended_generator, [Known(code.given_name), Known(code.given_qualname), Known(code.code)], GENERATOR)
    frame = Frame(code, -1, list(obj.cells[:count]), namespace, "value" if status == "new" else BEGUN)
    frame.stack = [*obj.cells[count:], NONE]
    frame.pc = pc if status == "new" else pc - 1
    frame.decided = decided
    if aid in m.building:
        # a real object that the generator holds refers to the generator itself
        raise NotMaterializable(site)
    m.building.add(aid)
    try:
        heap = _cross(m, aid, frame)
    finally:
        m.building.discard(aid)
    frame.extra = known_arguments(m, frame.locals[: code.n_params])
    made = _call(m, frame, heap)
    if status != "new":
        made = Op(ops.begun, (made,), (), Type(GENERATOR), None, Effect.IO, m.location())
        m.block.ops.append(made)
    if not m.interprets(code):
        rename(m, made, code)
    for at, inner in heap.items():
        if inner.kind == "generator":  # apart from variables that are dead, only this generator holds it, and closes it
            m.state.heap[at] = inner.ended()
    return made


def rename(m: Machine, made: Op, code: Code) -> None:
    """Emit the renaming of a generator that has other names than its function."""
    for name, was, now in (("__name__", code.name, code.given_name), ("__qualname__", code.qualname, code.given_qualname)):
        if was != now:
            m.block.ops.append(Op(setattr, (made, Const(name), Const(now)), (), Type(type(None)), None, Effect.WRITES, m.location()))


def _call(m: Machine, frame: Frame, heap: dict[int, VObj]) -> Op:
    """Emit a call of the Function whose body begins with frame."""
    code = frame.code
    world = m.state.world if m.environment.frozen else max(m.state.world, 1)
    state = State([frame], heap, NONE, world, tuple(aid for aid in m.state.classes if aid in heap), m.state.untold, True)
    site = (m.tables.contexts["generator", code], frame.pc, state.beliefs())
    # frames of an interpreter that belongs to hovis are not visible: the Function is named as the program that it runs
    name, qualname = (code.given_name, code.given_qualname) if m.interprets(code) else (code.name, code.qualname)
    place = Location(code.filename, code.first_line, None, None, None, qualname, code.first_line)
    entry = m.arrive(site, state, Function(name, [], place, is_generator=True))
    ctx = m.tables.contexts["generator body", code, frame.pc, state.beliefs(), entry.key]
    entry.state.frames[0].ctx = ctx
    m.homes[ctx] = entry
    op = Op(entry.function, (), (), Type(GENERATOR), None, Effect.PURE, m.location())
    m.entry.calls.append((op, entry, state))
    m.entry.call_tails.append(m.environment.reads)
    m.emitted += 1
    m.block.ops.append(op)
    return op


# ------------------------------------------------------------------------------------------------- objects passed to the residual generator


def _cross(m: Machine, aid: int, frame: Frame) -> dict[int, VObj]:
    """Make the heap of the residual generator; the values of frame are replaced by those that it may hold."""
    values: list[V | None] = [*frame.locals, *frame.stack]
    outside = _held_elsewhere(m, aid)
    crossing: set[int] = set()
    todo = [v.aid for v in values if isinstance(v, Ref)]
    if m.state.classes:
        todo += [ref.aid for ref in classes_in(m, values)]
    while todo:
        at = todo.pop()
        obj = m.state.heap[at]
        if at == aid:
            raise NotMaterializable(obj.extra[5])
        if at not in crossing and _crosses(obj, at in outside):
            crossing.add(at)
            todo += [c.aid for c in obj.cells if isinstance(c, Ref)]
    frame.locals = [v if v is None else _across(m, v, crossing) for v in frame.locals]
    frame.stack = [_across(m, v, crossing) for v in frame.stack]
    heap: dict[int, VObj] = {}
    for at in crossing:
        obj = m.state.heap[at]
        cells = tuple(_across(m, c, crossing) for c in obj.cells)
        # when the body runs, later, the objects that the caller passed may have been changed
        heap[at] = obj.replace(cells=cells, forgotten="suspect" if obj.argument and not obj.immutable else obj.forgotten)
    return heap


def _crosses(obj: VObj, outside: bool) -> bool:
    if obj.kind == "class":
        return True
    if obj.lent is not None:
        return False
    if obj.node is not None:
        return obj.argument and not (obj.forgotten and obj.forgotten != "suspect")
    if obj.kind == "generator":
        return not outside and obj.extra[0] in ("new", "suspended")
    return obj.kind != "view" and (obj.immutable or not outside)


def _across(m: Machine, value: V, crossing: set[int]) -> V:
    """Return value as the residual generator may hold it: an object that is not in crossing is materialized."""
    if isinstance(value, Ref) and value.aid not in crossing:
        node = m.operand(value)
        return Dyn(node, Type(m.state.heap[value.aid].cls)) if not isinstance(node, Const) else Known(node.value)
    return value


def _held_elsewhere(m: Machine, aid: int) -> set[int]:
    """Find the objects that can be reached without going through the generator."""
    if m.pinned is None:
        return set(m.state.heap)
    heap = {at: obj for at, obj in m.state.heap.items() if at != aid}
    heap[aid] = m.state.heap[aid].replace(cells=())
    return reachable(heap, [v.aid for v in (*m.pinned, *_roots(m.state)) if isinstance(v, Ref)] + [at for at, obj in heap.items() if obj.node is not None])


def _roots(state: State) -> Iterable[V]:
    """Yield the values that the frames hold and may still use."""
    yield state.handled
    last = len(state.frames) - 1
    for depth, frame in enumerate(state.frames):
        live = live_after(frame.code, frame.pc) if depth < last else frame.code.live[frame.pc] | live_after(frame.code, frame.pc)
        for k, value in enumerate(frame.locals):
            if value is not None and live >> k & 1:
                yield value
        yield from iter(frame.stack)
        if frame.owner is not None:
            yield Ref(frame.owner)


# ------------------------------------------------------------------------------------------------- in the body


def handle_again(m: Machine, positions: tuple[int, ...]) -> None:
    """Enter the open handlers of the top frame again. Until now the exception of the innermost one was kept in the stack position of the
    outermost one.
    """
    if not positions:
        return
    stack = m.frame.stack
    innermost, stack[positions[0]] = stack[positions[0]], m.state.handled
    for at in positions[1:]:
        m.handle(stack[at])
    m.handle(innermost)


def yielded(m: Machine) -> int | None:
    """Yield in the body of a residual generator function: an opaque call, since anything may happen before the body continues."""
    _begin(m)
    value = m.pop()
    m.push(opaque(m, ops.yield_, [value]))
    return None


def _begin(m: Machine) -> None:
    """Begin the body at a Yield: the exceptions that were handled there are handled again."""
    frame = m.frame
    if frame.mode == BEGUN:
        frame.mode = "value"
        handle_again(m, frame.code.handling[frame.pc])


def yield_rest(m: Machine) -> Dyn:
    """Emit the rest of a ``yield from``, at whose Yield the body begins."""
    _begin(m)
    m.pop()
    return opaque(m, ops.yield_rest, [m.resolve(m.frame.stack[-1])])


def yield_from(m: Machine, receiver: V) -> Dyn:
    """Emit a whole ``yield from``."""
    return opaque(m, ops.yield_from, [receiver])

