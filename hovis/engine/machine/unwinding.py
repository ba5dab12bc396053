"""An exception that leaves frames of the trace, until one of them catches it."""

from typing import TYPE_CHECKING, Final

from hovis.engine.machine import exceptions
from hovis.engine.state import lifetimes
from hovis.engine.state.values import Dyn, Known, V
from hovis.ir.model import Effect, Location, Op
from hovis.ir.operations import passed, stop_iteration_error
from hovis.lattice import RAISED, Const

if TYPE_CHECKING:
    from hovis.engine.machine.machine import Machine


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
