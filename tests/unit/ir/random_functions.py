"""Random Functions that end: any graph of blocks, with a fuel that every round uses up.

Every block has a fuel and some values; it computes a little, tests its fuel, and goes anywhere.  What the
Functions call leaves a trace in LOG, may raise, or looks at the exception that is being handled.
"""
from __future__ import annotations

import operator
import random
import sys
from typing import Any

from hovis.ir import Builder, Effect, Function
from hovis.ir import operations as ops
from hovis.ir.builder import BOOL, INT
from hovis.lattice import ANY, Type
from hovis.transforms import evaluate

LOG: list[Any] = []


def note(x):
    LOG.append(x)
    return len(LOG)


def seen():
    return len(LOG)


def check(x):
    if x % 3 == 0:
        raise ValueError(x)
    return x + 1


def look(x):
    found = sys.exc_info()[1]
    context = found.__context__ if found is not None else None
    LOG.append((x, type(found), getattr(found, "args", None), type(context), getattr(context, "args", None)))
    return x


IMPURE = [(note, Effect.IO), (seen, Effect.READS), (check, Effect.RAISES), (look, Effect.OPAQUE)]
BINARY = [operator.add, operator.sub, operator.mul, operator.and_, operator.or_, operator.xor]
TESTS = [operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge]
CONSTANTS = [0, 1, -1, 2, 7]


class Maker:
    """Draws one Function from a source of randomness."""

    def __init__(self, rnd: random.Random, blocks: int, width: int) -> None:
        self.rnd = rnd
        self.b = Builder("random", INT, INT, result=ANY)
        self.targets = [self.b.block(INT, *[INT] * rnd.randrange(width + 1)) for _ in range(blocks)]
        self.end = self.b.block(INT)

    def make(self, functions: list[Function]) -> Function:
        self.functions = functions
        x, y = self.b.params
        self.fill(list(self.b.params), fuel=7)
        for block in self.targets:
            self.b.at(block)
            fuel = block.params[0]
            left = self.b.op(operator.sub, fuel, 1, type=INT)
            go, stop = self.b.block(), self.b.block()
            self.b.branch(self.b.op(operator.gt, left, 0, type=BOOL), (go,), (stop,))
            self.b.at(stop)
            self.b.jump(self.end, self.value([x, y, *block.params[1:]]))
            self.b.at(go)
            self.fill([x, y, *block.params[1:]], left)
        self.b.at(self.end)
        self.b.ret(self.end.params[0])
        return tidy(self.b.function)

    def value(self, values: list[Any]) -> Any:
        return self.rnd.choice(CONSTANTS) if self.rnd.random() < 0.25 else self.rnd.choice(values)

    def op(self, values: list[Any]) -> None:
        """One op into the current block."""
        kind = self.rnd.randrange(10)
        if kind < 5:
            values.append(self.b.op(self.rnd.choice(BINARY), self.value(values), self.value(values), type=INT))
        elif kind < 6:
            cond = self.b.op(self.rnd.choice(TESTS), self.value(values), self.value(values), type=BOOL)
            values.append(self.b.op(operator.add, self.b.op(int, cond, type=INT), 0, type=INT))
        elif kind < 7:
            pair = self.b.op(ops.make_tuple, self.value(values), self.value(values), type=Type(tuple))
            self.b.op(ops.drop, pair, type=Type(type(None)), effect=Effect.WRITES)
        else:
            callee, effect = self.rnd.choice(IMPURE)
            args = [] if callee is seen else [self.value(values)]
            values.append(self.b.op(callee, *args, type=INT, effect=effect))

    def fill(self, values: list[Any], fuel: Any) -> None:
        """Ops, then some end, for the current block."""
        for _ in range(self.rnd.randrange(4)):
            self.op(values)
        kind = self.rnd.randrange(12)
        if kind < 3:
            self.b.jump(*self.edge(values, fuel))
        elif kind < 7:
            cond = self.b.op(self.rnd.choice(TESTS), self.value(values), self.value(values), type=BOOL)
            if self.rnd.random() < 0.2:
                cond = self.b.op(operator.not_, cond, type=BOOL)
            self.b.branch(cond, self.edge(values, fuel), self.edge(values, fuel))
        elif kind < 9:
            self.invoke(values, fuel)
        elif kind < 10 and self.functions:
            callee = self.rnd.choice(self.functions)
            values.append(self.b.op(callee, self.value(values), self.value(values), type=INT, effect=Effect.OPAQUE))
            self.b.jump(*self.edge(values, fuel))
        elif kind < 11:
            self.b.ret(self.value(values))
        else:
            error = self.b.op(ValueError, self.value(values), type=Type(ValueError))
            if self.rnd.random() < 0.5:
                self.b.raise_(error)
            else:
                caught = self.b.op(ops.raised, error, type=Type(ValueError), effect=Effect.READS)
                self.handle(caught, values, fuel)

    def edge(self, values: list[Any], fuel: Any) -> tuple[Any, ...]:
        target = self.rnd.choice(self.targets)
        return target, fuel, *(self.value(values) for _ in target.params[1:])

    def invoke(self, values: list[Any], fuel: Any) -> None:
        error = self.b.block(ANY)
        callee, effect = self.rnd.choice(IMPURE[2:])
        result = self.b.invoke(callee, self.value(values), error=(error,), type=INT, effect=effect)
        after = self.b.current
        self.b.at(error)
        self.handle(error.params[0], list(values), fuel)
        self.b.at(after)
        self.b.jump(*self.edge([*values, result], fuel))

    def handle(self, caught: Any, values: list[Any], fuel: Any) -> None:
        """Handle an exception, in one block or two, and go on."""
        entered = self.rnd.random() < 0.8
        if entered:
            self.b.op(ops.enter_handler, caught, effect=Effect.IO)
        for _ in range(self.rnd.randrange(3)):
            self.op(values)
        if self.rnd.random() < 0.5:
            after = self.b.block()
            self.b.jump(after)
            self.b.at(after)
        if entered:
            self.b.op(ops.leave_handler, effect=Effect.IO)
        self.b.jump(*self.edge(values, fuel))


def tidy(function: Function) -> Function:
    """Only what can be reached."""
    from hovis.ir.analysis.control_flow import reverse_postorder

    reached = set(reverse_postorder(function.blocks[0]))
    function.blocks = [block for block in function.blocks if block in reached]
    return function


def random_function(rnd: random.Random) -> Function:
    """A Function of two Ints, perhaps with residual functions that it calls."""
    functions: list[Function] = []
    for k in range(rnd.choice([0, 0, 1, 2])):
        made = Maker(rnd, rnd.randrange(1, 3), 2).make(functions)
        made.name = f"inner{k}"
        functions.append(made)
    return Maker(rnd, rnd.randrange(1, 6), 3).make(functions)


def outcome(function: Function, *args: int) -> tuple[Any, ...]:
    """What running function shows: result or exception, and the log."""
    LOG.clear()
    try:
        result: tuple[Any, ...] = ("returned", evaluate(function, *args))
    except ValueError as error:
        context = error.__context__
        result = ("raised", error.args, type(context), getattr(context, "args", None))
    return *result, list(LOG)


