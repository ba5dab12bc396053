"""Side exits: leave the residual, and continue all activations in their original code (deoptimization).

This is done where an assumption does not hold, or the environment has changed: in world 2, where nothing can be relied on.  Objects that the
residual has dissolved are made.  A generator becomes a real one: it is continued in its original code when it is resumed.
"""

import functools
from collections.abc import Sequence
from types import CodeType
from typing import Final

from hovis.bytecode.instructions import Code
from hovis.bytecode.resumption.continuation import Activation, Continuation, Exit
from hovis.bytecode.stack_layout import HANDLED
from hovis.engine.control.residual_generators import rename
from hovis.engine.machine.handler_table import HANDLERS
from hovis.engine.machine.machine import Machine
from hovis.engine.speculation import activations
from hovis.engine.speculation.activations import Found
from hovis.engine.state import finalizers, lifetimes
from hovis.engine.state.frames_and_heap import State
from hovis.engine.state.lifetimes import GENERATOR
from hovis.engine.state.standins import NotMaterializable
from hovis.engine.state.values import Dyn, Known, V
from hovis.ir.model import Block, Edge, Effect, Location, Op, Operand
from hovis.ir.operations import END, continued_generator, leave_handler, resume
from hovis.lattice import Type

#: The location of a side exit: in hovis itself, as the activations have entries of their own in tracebacks.
_INSIDE: Final = Location(resume.__code__.co_filename, resume.__code__.co_firstlineno, None, None, None, resume.__name__, resume.__code__.co_firstlineno)


def leave_on(m: Machine, edge: Edge, state: State) -> bool:
    """Let an edge lead to a side exit, in a block of its own. Return False, and do nothing, if an activation cannot be continued in its original
    code.
    """
    if lifetimes.drop_dead(m, state):
        finalizers.run_in(m, state)
    before, was = (m.state, m.block, m.let_go, m.latest, m.endings_anywhere), edge.block
    counted = m.effort.emitted, m.effort.opaque  # an exit is no sign that tracing removes little
    m.state, m.block, m.let_go = state, Block(), []
    edge.block = m.block
    if not (found := leave(m)):
        edge.block = was
    m.state, m.block, m.let_go, m.latest, m.endings_anywhere = before
    m.effort.emitted, m.effort.opaque = counted
    return found


def leave(m: Machine) -> bool:
    """End the chain by a side exit. Return False, and do nothing, if an activation cannot be continued in its original code."""
    state = m.state
    code = m.frame.code
    site = code.code, code.instructions[m.frame.pc].offset
    found = None if site in m.assumptions.refuted or activations.some_end(m) else activations.of_state(m, state)
    if found is None:
        return False
    before, block, count = state, m.block, len(m.block.ops)
    watching, m.watching, m.leaving = m.watching, False, True  # the generators are real from now on
    try:
        _leave(m, state.fork(), *found, site)
    except NotMaterializable:
        m.state, m.block = before, block
        del block.ops[count:]
        return False
    finally:
        m.watching, m.leaving = watching, False
    HANDLERS["Return"](m, None)
    return True


def _leave(m: Machine, state: State, found: Sequence[Found], handled: V, site: tuple[CodeType, int]) -> None:
    """Emit the side exit, and push its result in the outermost frame. Raise NotMaterializable if an object that is needed cannot be made."""
    m.state = state
    root = state.frames[0]
    outside = (k for k, one in enumerate(root.code.instructions) if one.handler is None)
    root.pc, root.stack, root.locals, state.frames = next(outside, 0), [], [None] * len(root.locals), [root]
    if m.catching():
        raise NotMaterializable
    outermost, values = _without_generators(m, found)
    for _ in range(sum(one.activation.at.stack.count(HANDLED) for one in found)):
        m.emit(leave_handler, [], type=Type(type(None)), effect=Effect.IO)
    state.handled = handled
    left = m.emit(resume, [Known(Exit(outermost, site)), *values])
    assert isinstance(left.value, Op)
    left.value.location = _INSIDE
    root.stack.append(left)


def _without_generators(m: Machine, found: Sequence[Found]) -> tuple[list[Activation], list[V]]:
    """Make the real generators of the bodies that are active; return the activations outside of them, with their values, which are real."""
    inside: list[Activation] = []
    values: list[V] = []
    resumed: Op | None = None
    for one in reversed(found):
        mine = [_made(m, value) for value in one.values]
        if one.activation.calls:
            assert resumed is not None
            mine.append(_next_of(m, Dyn(resumed, Type(GENERATOR)), one.mode))
        inside, values = [one.activation, *inside], [*mine, *values]
        if one.generator is not None:
            obj = m.state.heap[one.generator]
            resumed = _generator(m, obj.extra[1], inside, values, False)
            m.state.heap[one.generator] = obj.replace(node=resumed, cells=(), forgotten=True)
            inside, values = [], []
    return inside, values


def _next_of(m: Machine, generator: V, mode: str) -> V:
    """Emit what gives the next item of a generator when it is called; at the end it raises StopIteration, or gives END in the mode "end"."""
    if mode == "end":
        return m.emit(functools.partial, [Known(next), generator, Known(END)], effect=Effect.PURE)
    return m.emit(getattr, [generator, Known("__next__")], effect=Effect.READS)


def _made(m: Machine, value: V) -> V:
    m.operand(value)
    return value


def _generator(m: Machine, code: Code, inside: list[Activation], values: Sequence[V], begun: bool) -> Op:
    """Emit a generator whose body is the outermost of these activations. begun: it has been advanced to the Yield at which it stands."""
    made = m.emit(continued_generator, [Known(Continuation(inside)), Known(begun), *values], type=Type(GENERATOR)).value
    assert isinstance(made, Op)
    rename(m, made, code)
    return made


def real_generator(m: Machine, aid: int) -> Operand:
    """Emit the real generator for a virtual one that is not active. Raise NotMaterializable if it cannot be continued in its original code."""
    obj = m.state.heap[aid]
    site = obj.extra[5]
    if obj.extra[0] == "running" or aid in m.building or (found := activations.of_generator(m, obj)) is None:
        raise NotMaterializable(site)
    m.building.add(aid)
    try:
        values = [_made(m, value) for value in found.values]
    finally:
        m.building.discard(aid)
    return _generator(m, obj.extra[1], [found.activation], values, obj.extra[0] == "suspended")


def can_leave(m: Machine, state: State) -> bool:
    """Can a chain in this state be ended by a side exit, unless there are objects that cannot be made?"""
    return activations.of_state(m, state) is not None
