"""Unwinding: exceptions of ops, of polls for signals and of the traced program leave frames until one of them catches."""

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


#: Does a StopIteration thrown into a generator that has not begun become a RuntimeError too?  (Since CPython 3.12 the generator's own
#: bytecode does the conversion, which covers only what it has begun to execute.)
ALWAYS_CONVERTS: Final = _always_converts()


def unwind(m: "Machine", exception: V, location: Location | None, start: int = 1) -> tuple[bool, V, Location | None]:
    """Pop frames until one catches, and push the exception there. Return whether one did, the exception, and the location that it leaves from.

    location: where it was raised; its traceback contains the inlined calls from number start on.
    If a StopIteration may leave a generator, an op converts it into a RuntimeError (PEP 479).
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
                    # no user code sees the traceback in a handler of hovis itself, so it keeps nothing alive
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
        left += lifetimes.in_ending_order([value for value in frame.locals if value is not None])
        if m.watching:
            lifetimes.check_left(state, frame)
        if frame.owner is not None:
            state.heap[frame.owner] = state.heap[frame.owner].ended()
            if ALWAYS_CONVERTS or frame.code.instructions[frame.pc - 1].op != "MakeGenerator":
                exception, location = _out_of_generator(m, exception, inside, location, start)
    outermost.stack = []
    state.frames.append(outermost)
    return False, exception, location


def _out_of_generator(m: "Machine", exception: V, inside: Location | None, location: Location | None, start: int) -> tuple[V, Location | None]:
    """Return the exception as it leaves a generator, in which it was at inside, and the location that it leaves from then (see unwind)."""
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
    """End the block with op: the chain continues in a new block, and an exception unwinds to its handler, or is passed to land."""
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


#: Exceptions that a signal handler is assumed not to raise: errors of single operations.
_OWN_ERRORS: Final = frozenset(
    {
        "AttributeError", "ImportError", "IndexError", "KeyError", "LookupError", "ModuleNotFoundError", "NameError", "StopAsyncIteration",
        "StopIteration", "TypeError", "UnicodeError",
    }
)  # fmt: skip
#: C functions that take so little time that a signal is unlikely to arrive in a call, except in a loop of many calls.
_BRIEF: Final = frozenset({len, isinstance, issubclass, type, id, callable, abs, ord, hash, list.append, set.add, set.discard, dict.get})


def interrupted(m: "Machine", op: Op) -> bool:
    """May a signal handler raise at the end of a call of C code that does not raise itself, and may that be caught?"""
    frames = m.state.frames
    if not looks_for_signals(op.callee) or not (any(map(_catches_signals, frames)) or (m.watching and lifetimes.any_must_close(m))):
        return False
    return op.callee not in _BRIEF or any(frame.pc in frame.code.looping for frame in frames)


def _catches_signals(frame: Frame) -> bool:
    """May the handler where a frame stands catch an exception of a signal handler? Clauses for _OWN_ERRORS alone do not count."""
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
    """Mark the arguments that a block computes for the call at its end as interruptible, too: the assembler covers them by the same handler."""
    end = block.terminator
    for op in made if isinstance(end, Invoke) else ():
        if op in end.op.args and not op.effect & ~Effect.READS and looks_for_signals(op.callee):  # type: ignore[union-attr]
            op.effect |= Effect.INTERRUPTED


def poll(m: "Machine", block: Block, state: State, at: int) -> Block:
    """End block, where a loop has jumped back from ``at``, with a poll for signals, whose handler may raise. Return the block that continues."""
    go_on, landing = Block(), Block(params=(Param(RAISED, None, None),))
    raising = state.fork()
    raising.frames[-1].pc, raising.frames[-1].polls = at, True
    before = m.state, m.block
    m.state, m.block = raising, landing
    op = Op(operations.poll, (), (), Type(type(None)), None, Effect.RAISES | Effect.CLOCK, m.location())
    if m.is_model(state.frames[-1].code):
        op.effect |= Effect.INTERRUPTED  # C code notices signals only when it ends
    m.acts(op.effect)
    block.terminator = Invoke(op, Edge(go_on), Edge(landing, (CAUGHT,)))
    thrown = exceptions.out_of(m, op, landing.params[0])
    if unwound(m, state, thrown, state.frames[-1].pc) == SWITCH:
        m.leave(m.block, m.state)
    m.state, m.block = before
    return go_on


def polls(m: "Machine", state: State, at: int) -> bool:
    """Has the top frame jumped back from ``at``, and would anything handle or notice an exception there?

    Models of C code poll for signals as well: CPython notices them where the call ends, but the loop of the model may be long, and an
    exception that a signal handler raises in it is caught at the call.  Interpreters of hovis's own do not poll between the ops that they
    execute, nor does the model that releases values one by one: the frames below may be about to enter a handler.
    """
    frames = state.frames
    code = frames[-1].code
    instruction = code.instructions[at]
    if not instruction.polls or m.interprets(code) or code.filename == lifetimes.RELEASING:
        return False
    if m.is_model(code):
        return any(map(_catches_signals, frames)) or (m.watching and lifetimes.any_must_close(m))
    if instruction.poll is not None or any(frame.handler is not None for frame in frames[:-1]):
        return True
    return m.watching and lifetimes.any_must_close(m)


def unwound(m: "Machine", here: State, thrown: V, following: int | None = None) -> int:
    """Unwind to the handler; the generators that are released with the frames and their stacks end first."""
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
    """Return the values in variables whose end may show, if an exception would leave the residual now; else none."""
    if not m.endings or any(frame.handler is not None for frame in m.state.frames):
        return {}
    return lifetimes.held_by(m.state, (value for place, value in m.state.roots() if place[1] != "stack"))


def leave_with(m: "Machine", exception: V, again: bool, location: Location | None, held: dict[int, Dyn], gone: Sequence[V]) -> None:
    """Raise the exception out of the residual. Its traceback keeps alive the values in held; those that were on stacks (gone) end."""
    value = m.operand(exception)
    lifetimes.leaving(m, exception, held, gone)
    m.block.terminator = Raise(value, again, location)


def meet_in(m: "Machine", here: State, target: int, following: int | None = None) -> None:
    """Record the merge point of two paths that part here: an op that continues in state here (at following), and the one to target in the
    current top frame.
    """
    depth, state = len(m.state.frames) - 1, m.state
    m.state = here
    if following is None or depth < len(here.frames) - 1:
        following = here.frames[depth].pc + 1
    m.meet(depth, following, target)
    m.state = state
