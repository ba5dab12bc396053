"""Exceptions that leave frames of the trace until one of them catches them: of ops, of polls for signals, of the traced program."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from hovis.engine.machine import exceptions
from hovis.engine.state import lifetimes
from hovis.engine.state.frames_and_heap import STOP, SWITCH, Frame, State
from hovis.engine.state.values import Dyn, Known, V
from hovis.ir import operations
from hovis.ir.model import CAUGHT, Block, Edge, Effect, Invoke, Location, Op, Param, Raise
from hovis.ir.operations import looks_for_signals, passed, stop_iteration_error
from hovis.lattice import RAISED, Const, Type

if TYPE_CHECKING:
    from hovis.engine.machine.machine import Landing, Machine


def _always_converts() -> bool:
    try:
        (_ for _ in ()).throw(StopIteration)
    except StopIteration:
        return False
    except RuntimeError:
        pass
    return True


#: Does a StopIteration thrown into a generator that has not begun become a RuntimeError too?  (The generator's own bytecode does that
#: since CPython 3.12, and only where it has got to.)
ALWAYS_CONVERTS: Final = _always_converts()


def unwind(m: "Machine", exception: V, location: Location | None, start: int = 1) -> tuple[bool, V, Location | None]:
    """Leave frames until one catches; the exception goes on its stack.  False: nobody does.  Last: where it leaves from.

    location: where it was raised, with a traceback that tells of the inlined calls from start on.
    Where a StopIteration may leave a generator, an op turns it into a RuntimeError (PEP 479).
    """
    state = m.state
    outermost = state.frames[0]
    left: list[V] = []
    while state.frames:
        frame = state.frames[-1]
        handler = frame.handler
        if handler is not None:
            frame.polls = False
            m.let_go += reversed(frame.stack[handler.depth :])
            if m.endings:
                if frame.code.filename.startswith(m.package):
                    # in a handler of hovis itself nobody sees the traceback, nor what it holds
                    m.let_go += left
                else:
                    exceptions.hold(m, frame, exception, left)
            del frame.stack[handler.depth :]
            if handler.lasti:
                frame.stack.append(Known(frame.pc))
            frame.stack.append(exception)
            frame.pc = handler.target
            return True, exception, location
        inside = m.location() if frame.owner is not None else None
        state.frames.pop()
        m.let_go += reversed(frame.stack)
        left += (value for value in frame.locals if value is not None)
        if m.watching:
            lifetimes.check_left(state, frame)
        if frame.owner is not None:
            obj = state.heap[frame.owner]
            state.heap[frame.owner] = obj.replace(cells=(), extra=("finished", obj.extra[1], None, 0, 0, obj.extra[5], False))
            if ALWAYS_CONVERTS or frame.code.instructions[frame.pc - 1].op != "MakeGenerator":
                exception, location = _out_of_generator(m, exception, inside, location, start)
    outermost.stack = []
    state.frames.append(outermost)
    return False, exception, location


def _out_of_generator(m: "Machine", exception: V, inside: Location | None, location: Location | None, start: int) -> tuple[V, Location | None]:
    """The exception behind the generator, where it was inside; and where it leaves from then (see unwind)."""
    cls = m.class_of(exception)
    converted = isinstance(exception, Dyn) and isinstance(exception.value, Op) and exception.value.callee is stop_iteration_error
    if converted or (cls is not None and not issubclass(cls, StopIteration)):
        return exception, location
    operand, depth = m.operand(exception), exceptions.depth_of(inside)
    if start > depth:
        operand = Op(passed, (operand, Const(depth)), (), RAISED, None, Effect.READS, location)
        m.block.ops.append(operand)
    op = Op(stop_iteration_error, (operand, Const(max(depth - start, 0))), (), RAISED, None, Effect.WRITES, None)
    m.block.ops.append(op)
    return Dyn(op, RAISED), inside if start >= depth else location


def invoke(m: "Machine", op: Op, land: "Landing | None" = None) -> None:
    """End the block with op: the chain goes on in a new block, the exception goes to the handler."""
    ok, landing = Block(), Block(params=(Param(RAISED, None, None),))
    m.block.terminator = Invoke(op, Edge(ok), Edge(landing, (CAUGHT,)))
    here = m.state
    m.state, m.block = here.fork(), landing
    thrown = exceptions.out_of(m, op, landing.params[0])
    if land is not None:
        meet_in(m, here, m.frame.pc)
        status = land(m, thrown)
    else:
        status = unwound(m, here, thrown)
    if status == SWITCH:
        m.leave(m.block, m.state)
    m.state, m.block = here, ok


#: What no handler of signals raises: errors that tell of one operation.
_OWN_ERRORS: Final = frozenset(
    {
        "AttributeError", "ImportError", "IndexError", "KeyError", "LookupError", "ModuleNotFoundError", "NameError", "StopAsyncIteration",
        "StopIteration", "TypeError", "UnicodeError",
    }
)  # fmt: skip
#: Calls of C code that take no time to speak of: a signal comes in one by chance, if not in a loop that is full of them.
_BRIEF: Final = frozenset({len, isinstance, issubclass, type, id, callable, abs, ord, hash, list.append, set.add, set.discard, dict.get})


def interrupted(m: "Machine", op: Op) -> bool:
    """May a handler of signals raise where a call of C code ends that does not raise itself, and somebody catch that?"""
    frames = m.state.frames
    if not looks_for_signals(op.callee) or not (any(map(_catches_signals, frames)) or (m.watching and lifetimes.any_must_close(m))):
        return False
    return op.callee not in _BRIEF or any(frame.pc in frame.code.looping for frame in frames)


def _catches_signals(frame: Frame) -> bool:
    """May what a handler of signals raises be caught where a frame stands, by more than clauses for errors of the program alone?"""
    handler = frame.handler
    if handler is None:
        return False
    code, at = frame.code.instructions, handler.target
    at += code[at].op == "PushExc"
    while [one.op for one in code[at : at + 3]] == ["GetGlobal", "ExcMatch", "Branch"]:
        if code[at].arg not in _OWN_ERRORS:
            return True
        at = code[at + 2].arg[1]
    return code[at].op != "Reraise"


def cover(block: Block, made: list[Op]) -> None:
    """What a block made for the call at its end may be interrupted, too: the assembler covers it as it covers that."""
    end = block.terminator
    for op in made if isinstance(end, Invoke) else ():
        if op in end.op.args and not op.effect & ~Effect.READS and looks_for_signals(op.callee):  # type: ignore[union-attr]
            op.effect |= Effect.INTERRUPTED


def poll(m: "Machine", block: Block, state: State, at: int) -> Block:
    """A loop has jumped back from ``at``, and block ends with that: a handler of signals may raise.  The block that goes on."""
    go_on, landing = Block(), Block(params=(Param(RAISED, None, None),))
    raising = state.fork()
    raising.frames[-1].pc, raising.frames[-1].polls = at, True
    before = m.state, m.block
    m.state, m.block = raising, landing
    op = Op(operations.poll, (), (), Type(type(None)), None, Effect.RAISES | Effect.CLOCK, m.location())
    if m.is_model(state.frames[-1].code):
        op.effect |= Effect.INTERRUPTED  # C code hears of signals at its end
    m.acts(op.effect)
    block.terminator = Invoke(op, Edge(go_on), Edge(landing, (CAUGHT,)))
    thrown = exceptions.out_of(m, op, landing.params[0])
    if unwound(m, state, thrown, state.frames[-1].pc) == SWITCH:
        m.leave(m.block, m.state)
    m.state, m.block = before
    return go_on


def polls(m: "Machine", state: State, at: int) -> bool:
    """Has the frame on top jumped back from ``at``, and would something be done about an exception there?

    What stands for C code looks for signals as well: CPython hears of them where the call ends, but the loop that stands for it may be long,
    and what a handler raises in it is caught where the call is.  Interpreters of hovis's own do not, between the ops that they act out.
    """
    frames = state.frames
    code = frames[-1].code
    instruction = code.instructions[at]
    if not instruction.polls or m.interprets(code):
        return False
    if m.is_model(code):
        return any(map(_catches_signals, frames)) or (m.watching and lifetimes.any_must_close(m))
    if instruction.poll is not None or any(frame.handler is not None for frame in frames[:-1]):
        return True
    return m.watching and lifetimes.any_must_close(m)


def unwound(m: "Machine", here: State, thrown: V, following: int | None = None) -> int:
    """Unwind to the handler; the generators that go with the frames and their stacks end first."""
    location, before = m.location(), held(m)
    kept, m.let_go = m.let_go, []
    caught, exception, location = unwind(m, thrown, location, max(exceptions.depth_of_handler(m), 1))
    gone, m.let_go = m.let_go, kept
    if caught:
        mixed = len(gone) > 1 and m.watching and bool(lifetimes.dying(m))
        if not mixed:
            m.let_go = gone
            lifetimes.settle(m, None)
            m.let_go = kept
        meet_in(m, here, m.frame.pc, following)
        if m.watching and not lifetimes.in_turn(m, gone):
            lifetimes.close_dying(m)
        return SWITCH
    if m.watching and lifetimes.close_leaving(m, exception, gone):
        return SWITCH
    leave_with(m, exception, True, location, before, gone)
    return STOP


def held(m: "Machine") -> dict[int, Dyn]:
    """What variables hold and may be seen to end, if an exception would leave the residual now."""
    if not m.endings or any(frame.handler is not None for frame in m.state.frames):
        return {}
    return lifetimes.held_by(m.state, (value for place, value in m.state.roots() if place[1] != "stack"))


def leave_with(m: "Machine", exception: V, again: bool, location: Location | None, held: dict[int, Dyn], gone: Sequence[V]) -> None:
    """The exception leaves the residual; what was held is held by its traceback from now on, but for what stacks have held (gone)."""
    value = m.operand(exception)
    lifetimes.leaving(m, exception, held, gone)
    m.block.terminator = Raise(value, again, location)


def meet_in(m: "Machine", here: State, target: int, following: int | None = None) -> None:
    """Where an op goes on in state here (at following), and target, in the frame that is on top now, paths part that meet again."""
    depth, state = len(m.state.frames) - 1, m.state
    m.state = here
    if following is None or depth < len(here.frames) - 1:
        following = here.frames[depth].pc + 1
    m.meet(depth, following, target)
    m.state = state
