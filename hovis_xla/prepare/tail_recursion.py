"""Tail-recursion elimination: functions that call themselves last become loops, as XLA has no recursion and nothing is left to do after the
call.

    def gcd(a, b):                              while True:
        return a if b == 0 else gcd(b, a % b)       if b == 0: return a
                                                    a, b = b, a % b

Where Python would exceed its recursion limit, raising the RecursionError is left to Python.
"""

import operator
import sys

from hovis.ir.model import Block, Branch, Edge, Effect, Function, Jump, Op, Param, Raise, Return, callees
from hovis.lattice import Const, Type
from hovis_xla.loops import driver


def eliminate_tail_recursion(function: Function) -> Function:
    """Turn tail calls of a function by itself into loops.

    Returns the function with loops in place of its tail calls of itself, and likewise in its callees; the same object if there are none.
    """
    return driver.applied(_go_round, function) if any(_calls(block, one) for one in callees(function) for block in one.blocks) else function


def _calls(block: Block, function: Function) -> Op | None:
    """Return the tail call of the function by itself that a block ends with, or None."""
    last, end = block.ops[-1] if block.ops else None, block.terminator
    if last is None or last.callee is not function or not isinstance(end, Return) or end.value is not last:
        return None
    return last if not last.kwargs and len(last.args) == len(function.params) else None


def _go_round(function: Function) -> None:
    last = {block: call for block in function.blocks if (call := _calls(block, function)) is not None}
    head = function.blocks[0]
    if not last or function.is_generator or not all(isinstance(d, Const) for p in head.params for d in p.dims or ()):
        return
    given, around = ([Param(p.type, p.dims, p.name) for p in head.params] for _ in range(2))
    depth = Param(Type(int))
    shallow = Op(operator.lt, (depth, Const(sys.getrecursionlimit())), (), Type(bool), None, Effect.PURE)
    error = Op(RecursionError, (), (), Type(RecursionError), None, Effect.PURE)
    too_deep = Block((), [error], Raise(error))
    top = Block((*around, depth), [shallow], Branch(shallow, Edge(head, tuple(around)), Edge(too_deep, ())))
    for block, call in last.items():
        deeper = Op(operator.add, (depth, Const(1)), (), Type(int), None, Effect.PURE)
        block.ops[-1] = deeper
        block.terminator = Jump(Edge(top, (*call.args, deeper)), call.location)
    function.blocks = [Block(tuple(given), [], Jump(Edge(top, (*given, Const(0))))), top, *function.blocks, too_deep]
