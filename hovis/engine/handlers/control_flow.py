"""Handlers of jumps, returns, exceptions, generators and patterns."""

import operator
from typing import Any

from hovis.engine.calls.builtins import call_builtin
from hovis.engine.control import exception_groups, generators, iteration, iterators, pattern_matching, raising
from hovis.engine.machine import branches, exceptions
from hovis.engine.machine.call_results import finish
from hovis.engine.machine.handler_table import HANDLERS, handles
from hovis.engine.machine.machine import Machine
from hovis.engine.names import class_namespace, variables
from hovis.engine.state import lifetimes
from hovis.engine.state.frames_and_heap import STOP, SWITCH
from hovis.engine.state.values import NONE
from hovis.ir import operations as ops
from hovis.ir.model import Effect, Return
from hovis.lattice import Type

# ------------------------------------------------------------------------------------------------- jumps


@handles("Jump")
def jump(m: Machine, target: int) -> int:
    return target


@handles("Branch")
def branch(m: Machine, arg: Any) -> int | None:
    condition, target = arg
    value = m.pop()
    if condition in ("none", "not_none"):
        known = branches.identical(m, value, NONE)
        if known is None:
            value = m.emit(operator.is_, [value, NONE], type=Type(bool), effect=Effect.PURE)
        else:
            value = known
        condition = "true" if condition == "none" else "false"
    return branches.decide(m, value, condition == "true", target)


@handles("GetIter")
def get_iter(m: Machine, _: Any) -> int | None:
    return iterators.get_iter(m, m.pop())


@handles("ForIter")
def for_iter(m: Machine, exit: int) -> int | None:
    return iteration.for_iter(m, exit)


@handles("Return")
def return_(m: Machine, _: Any) -> int | None:
    value = m.pop()
    frame = m.frame
    if m.watching and lifetimes.end_locals(m, value):
        return SWITCH
    if frame.owner is not None:
        return generators.finished(m, value)
    # values that a class of the trace holds live as long as the class: they do not end before the traced function
    roots = frame.roots(0) if len(m.state.frames) > 1 else m.state.roots()
    before = lifetimes.held_by(m.state, lifetimes.in_ending_order([held for _, held in roots])) if m.endings else {}
    if len(m.state.frames) == 1:
        m.pinned = (value,)
        operand = m.operand(value)
        m.pinned = None
        for obj in m.state.heap.values():
            if obj.kind == "generator":
                lifetimes.abandon(m.state, obj)
        m.returned(m.type_of_in(m.state, value))  # type: ignore[attr-defined]
        frame.locals, m.state.classes = [], ()
        lifetimes.end(m, before, value)
        m.block.terminator = Return(operand, m.location())
        return STOP
    m.state.frames.pop()
    if frame.code.cells:
        variables.settle_cells(m, frame)
    caller = m.frame
    if before:
        caller.stack.append(value)
        lifetimes.end(m, before)
        caller.stack.pop()
    return generators.to_caller(m, finish(m, value, frame.mode))


# ------------------------------------------------------------------------------------------------- exceptions


@handles("Raise")
def raise_(m: Machine, count: int) -> int | None:
    return raising.raise_statement(m, m.popn(count))


@handles("Reraise")
def reraise(m: Machine, _: Any) -> int | None:
    return m.raise_(m.pop(), again=True)


@handles("PushExc")
def push_exc(m: Machine, _: Any) -> None:
    exception = m.pop()
    m.push(m.state.handled)
    m.push(exception)
    m.handle(exception)


@handles("PopExc")
def pop_exc(m: Machine, _: Any) -> None:
    if m.endings:
        exceptions.let_frames_go(m)
    m.state.handled = m.pop()
    m.emit(ops.leave_handler, [], type=Type(type(None)), effect=Effect.IO)


@handles("ExcMatch")
def exc_match(m: Machine, _: Any) -> int | None:
    return raising.match(m)


@handles("EgMatch")
def eg_match(m: Machine, _: Any) -> None:
    exception_groups.match(m)


@handles("PrepReraiseStar")
def prep_reraise_star(m: Machine, _: Any) -> None:
    exception_groups.prepare_reraise(m)


@handles("WithEnter")
def with_enter(m: Machine, _: Any) -> int | None:
    return raising.with_enter(m)


@handles("WithExitExc")
def with_exit_exc(m: Machine, _: Any) -> int | None:
    return raising.with_exit(m)


# ------------------------------------------------------------------------------------------------- generators, match


@handles("MakeGenerator")
def make_generator(m: Machine, _: Any) -> int | None:
    return generators.make(m)


@handles("Yield")
def yield_(m: Machine, _: Any) -> int | None:
    return generators.yielded(m)


@handles("Send")
def send(m: Machine, done: int) -> int | None:
    return generators.send(m, done)


@handles("EndSend")
def end_send(m: Machine, _: Any) -> None:
    value = m.pop()
    m.pop()
    m.push(value)


@handles("GetYieldFromIter")
def get_yield_from_iter(m: Machine, _: Any) -> int | None:
    return generators.yield_from_iter(m, m.pop())


@handles("Intrinsic")
def intrinsic(m: Machine, arg: Any) -> int | None:
    if arg[0] == "setup_annotations":
        return class_namespace.setup_annotations(m)
    return raising.give_up(m, f"the instruction Intrinsic {arg[0]}")


@handles("Match")
def match(m: Machine, arg: Any) -> int | None:
    return pattern_matching.match(m, *arg)


@handles("GetLen")
def get_len(m: Machine, _: Any) -> int | None:
    return call_builtin(m, len, [m.frame.stack[-1]], {})


__all__ = ["HANDLERS", "variables"]
