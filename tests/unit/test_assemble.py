"""The assembler against a direct interpreter of the IR: random graphs, then each feature by itself."""

import dis
import gc
import math
import operator
import random
import sys
import traceback
import types
import weakref

import pytest

from hovis.backend.assemble import assemble
from hovis.ir import operations as ops
from hovis.ir.model import CAUGHT, Block, Branch, Edge, Effect, Function, Invoke, Jump, Location, Op, Param, Raise, Return
from hovis.lattice import ANY, Const, Type

INT = Type(int)
BOOL = Type(bool)
NONE = Type(type(None))


# ------------------------------------------------------------------------------------------------- the interpreter


def run(function, *args):
    """The meaning of a Function, without enter_handler's effect on what callees see (``handling`` has the stack)."""
    block, given, handling = function.blocks[0], args, [sys.exception()]
    values = {}

    def value(x):
        return x.value if isinstance(x, Const) else values[x]

    def do(op):
        if op.callee is ops.enter_handler:
            handling.append(value(op.args[0]))
            return None
        if op.callee is ops.leave_handler:
            handling.pop()
            return None
        if op.callee is ops.current_exception:
            return handling[-1]
        callee = op.callee
        if isinstance(callee, Function):
            return run(callee, *map(value, op.args))
        if isinstance(callee, (Op, Param)):
            callee = values[callee]
        return callee(*map(value, op.args), **{k: value(v) for k, v in op.kwargs})

    while True:
        values.update(zip(block.params, given, strict=True))
        for op in block.ops:
            values[op] = do(op)
        end = block.terminator
        if isinstance(end, Return):
            return value(end.value)
        if isinstance(end, Raise):
            raise value(end.value)
        if isinstance(end, Jump):
            edge = end.edge
        elif isinstance(end, Branch):
            edge = end.true if value(end.cond) else end.false
        else:
            caught = None
            try:
                values[end.op] = do(end.op)
                edge = end.ok
            except Stop:
                raise
            except BaseException as error:
                edge, caught = end.error, error
            given = [caught if a is CAUGHT else value(a) for a in edge.args]
            block = edge.block
            continue
        given = list(map(value, edge.args))
        block = edge.block


# ------------------------------------------------------------------------------------------------- random graphs


class Stop(BaseException):
    """The step limit."""


class World:
    """What opaque ops do: they write a log, and they stop a run that goes on for too long."""

    def __init__(self, real):
        self.log, self.left, self.real = [], 300, real

    def tick(self, number):
        self.left -= 1
        self.log.append(number)
        if self.left < 0:
            raise Stop

    def show(self, *values):
        self.log.append(tuple(v if isinstance(v, int) else repr(v) for v in values))
        return len(self.log)

    def fail(self, x):
        """Raises for two thirds of the values."""
        self.log.append(("fail", x if isinstance(x, int) else repr(x)))
        if isinstance(x, int) and x % 3:
            raise ValueError(x % 7)
        return x

    def handled(self):
        return None


WORLD = World(True)
tick = lambda n: WORLD.tick(n)  # noqa: E731
show = lambda *v, **k: WORLD.show(*v, *k.values())  # noqa: E731
fail = lambda x: WORLD.fail(x)  # noqa: E731
identity = lambda x: x  # noqa: E731


def number(x):
    """Some int for anything."""
    return x if isinstance(x, int) else len(repr(x))


def close(x):
    return number(x) % 1000003


PURE = [
    (operator.add, 2), (operator.sub, 2), (operator.mul, 2), (operator.and_, 2), (operator.iadd, 2), (operator.neg, 1), (max, 2), (min, 3),
    (operator.xor, 2), (operator.invert, 1), (abs, 1), (operator.pos, 1),
]  # fmt: skip
def none_or(x):
    return None if number(x) % 2 else x


TESTS = [(operator.lt, 2), (operator.eq, 2), (operator.is_, 1), (operator.not_, 1), (bool, 1), (operator.ge, 2), (operator.is_not, 1)]


class Graph:
    """A random Function: any edges at all, SSA by dominance, handlers that nest."""

    def __init__(self, seed):
        self.r = r = random.Random(seed)
        count = r.randint(1, 9)
        self.blocks = [Block() for _ in range(count)]
        self.depth = [0] + [r.choice((0, 0, 1, 2)) for _ in range(count - 1)]
        self.succ = []
        for k in range(count):
            kind = r.choice(["jump", "branch", "branch", "invoke", "invoke", "return", "raise"])
            same = [b for b in range(1, count)]
            if not same:
                kind = r.choice(["return", "raise"])
            targets = []
            if kind in ("jump", "branch", "invoke"):
                first = r.choice(same)
                level = [b for b in same if self.depth[b] == self.depth[first]]
                targets = [first] if kind == "jump" else [first, r.choice(level)]
            if kind == "invoke" and targets[0] == targets[1] and r.random() < 0.5:
                kind, targets = "jump", targets[:1]
            self.succ.append((kind, targets))
        self.dominators()
        for k, block in enumerate(self.blocks):
            block.params = tuple(Param(r.choice([INT, ANY]), None, r.choice([None, "x", "y", "class", "i"])) for _ in range(r.randint(0, 3)))
        self.values = {k: list(block.params) for k, block in enumerate(self.blocks)}
        for k in self.order:
            self.fill(k)
        location = Location("graph.py", 1, 1, 0, 5, "graph", 1)
        self.function = Function("graph", self.blocks, location)

    def dominators(self):
        count = len(self.blocks)
        reach, todo = {0}, [0]
        while todo:
            for s in self.succ[todo.pop()][1]:
                if s not in reach:
                    reach.add(s)
                    todo.append(s)
        dom = {k: set(reach) for k in reach}
        dom[0] = {0}
        changed = True
        while changed:
            changed = False
            for k in reach - {0}:
                preds = [p for p in reach if k in self.succ[p][1]]
                new = set.intersection(*[dom[p] for p in preds]) | {k}
                if new != dom[k]:
                    dom[k], changed = new, True
        self.dom = dom
        self.order = sorted(reach, key=lambda k: len(dom[k]))
        for k in set(range(count)) - reach:
            self.blocks[k].terminator = Return(Const("unreachable"))

    def operand(self, k):
        r = self.r
        known = [v for d in self.dom[k] for v in self.values[d]]
        if not known or r.random() < 0.2:
            return Const(r.choice([0, 1, 2, 5, True, -3]))
        return r.choice(known[-6:] if r.random() < 0.6 else known)

    def op(self, k, callee, count, type=INT, effect=Effect.PURE, kwargs=()):
        op = Op(callee, tuple(self.operand(k) for _ in range(count)), kwargs, type, None, effect)
        if self.r.random() < 0.5:
            op.location = Location("graph.py", self.r.randint(2, 90), 90, 3, 200, "graph", 1)
        return op

    def fill(self, k):
        r, block = self.r, self.blocks[k]
        block.ops.append(Op(tick, (Const(k),), (), NONE, None, Effect.OPAQUE))
        for _ in range(r.randint(0, 6)):
            self.add(k, *r.choice(PURE))
        for _ in range(r.randint(0, 2)):
            op = self.op(k, show, r.randint(0, 3), ANY, Effect.OPAQUE)
            if r.random() < 0.3:
                op.kwargs = (("a", self.operand(k)), ("b", self.operand(k)))
            block.ops.append(op)
            self.values[k].append(op)
            self.add(k, *r.choice(PURE))
        if r.random() < 0.3:
            self.add(k, operator.sub, 2)
            block.ops.append(Op(ops.drop, (self.operand(k),), (), NONE))
        self.end(k)

    def add(self, k, callee, count):
        op = self.op(k, callee, count)
        closed = Op(close, (op,), (), INT)
        self.blocks[k].ops += [op, closed]
        self.values[k].append(closed)

    def level(self, k, target):
        """enter and leave, up to the number of open handlers that the successors have."""
        block, depth = self.blocks[k], self.depth[k]
        while depth != target:
            if depth < target:
                made = Op(KeyError, (self.operand(k),), (), Type(KeyError))
                block.ops += [made, Op(ops.enter_handler, (made,), (), NONE, None, Effect.IO)]
                depth += 1
            else:
                block.ops.append(Op(ops.leave_handler, (), (), NONE, None, Effect.IO))
                depth -= 1
            if self.r.random() < 0.5:
                block.ops.append(Op(show, (Op_context(block),), (), ANY, None, Effect.OPAQUE))

    def edge(self, k, target, extra=()):
        block = self.blocks[target]
        return Edge(block, tuple(self.r.choice(extra) if extra and self.r.random() < 0.6 else self.operand(k) for _ in block.params))

    def end(self, k):
        r, block = self.r, self.blocks[k]
        kind, targets = self.succ[k]
        if targets:
            self.level(k, self.depth[targets[0]])
        if kind == "return":
            block.terminator = Return(self.operand(k))
        elif kind == "raise":
            made = Op(LookupError, (self.operand(k),), (), Type(LookupError))
            block.ops.append(made)
            block.terminator = Raise(made)
        elif kind == "jump":
            block.terminator = Jump(self.edge(k, targets[0]))
        elif kind == "branch":
            cond = self.op(k, *r.choice(TESTS), type=BOOL)
            if cond.callee in (operator.is_, operator.is_not):
                block.ops.append(Op(none_or, cond.args))
                cond.args = (block.ops[-1], Const(None))
            if r.random() < 0.9:
                block.ops.append(cond)
            block.terminator = Branch(cond if r.random() < 0.9 and cond in block.ops else Const(r.random() < 0.5), self.edge(k, targets[0]), self.edge(k, targets[1]))
        else:
            op = self.op(k, r.choice([fail, fail, operator.truediv, operator.mod]), 1, ANY, Effect.OPAQUE)
            if op.callee not in (fail,):
                op.args = (Const(7), self.operand(k))
            block.terminator = Invoke(op, self.edge(k, targets[0], (op,)), self.edge(k, targets[1], (CAUGHT,)))
            for later in self.order:
                # the op's result is there where every way leads over the ok edge
                if targets[0] != targets[1] and targets[0] in self.dom[later] and later != k and self.preds(targets[0]) == [k]:
                    self.values[targets[0]].append(op)
                    break

    def preds(self, target):
        return [p for p in self.order if target in self.succ[p][1]]


def Op_context(block):
    op = Op(ops.current_exception, (), (), ANY, None, Effect.READS)
    block.ops.append(op)
    return op


def outcome(call, args):
    global WORLD
    WORLD = World(True)
    try:
        result = ("returned", repr(call(*args)))
    except BaseException as error:
        result = ("raised", type(error), [str(a) for a in error.args])
    return result, WORLD.log


def check_graph(seed):
    graph = Graph(seed)
    function = graph.function
    made = assemble(function, {"__name__": "graph"})
    r = random.Random(seed)
    for _ in range(3):
        args = [r.choice([0, 1, 2, 3, True, 100, "text"]) if r.random() < 0.9 else None for _ in function.params]
        outer = KeyError("outer")
        try:
            raise outer
        except KeyError:
            expected = outcome(lambda *a: run(function, *a), args)
            got = outcome(made, args)
            assert sys.exception() is outer
        assert sys.exception() is None
        assert got == expected, (seed, args)


@pytest.mark.parametrize("start", range(0, 400, 100))
def test_random_graphs(start):
    for seed in range(start, start + 100):
        check_graph(seed)
