"""Random graphs of blocks, reducible or not, compiled and compared with the reference evaluator."""
import operator
import random

import pytest

import hovis
from hovis.ir import verify
from hovis.ir.model import Block, Branch, Edge, Function, Jump, Op, Param, Return
from hovis.lattice import Const, Type
from hovis.passes.rewriting import drop_unreached
from hovis_xla.abi.call_entry import BAILED
from hovis_xla.runtime.executable import Executable

pytestmark = pytest.mark.xla

INT, BOOL = Type(int), Type(bool)
BINARY = [operator.add, operator.sub, operator.xor, operator.and_, operator.or_]
TESTS = [operator.lt, operator.le, operator.eq, operator.gt]


class Maker:
    """Every block but the last takes a fuel and some values, computes a little, and goes on to any block while the fuel lasts.

    Values of a block are used in the blocks that it alone leads to, too, so that values leave loops without being passed.
    """

    def __init__(self, rnd):
        self.rnd = rnd

    def make(self, count):
        rnd = self.rnd
        self.end = Block((Param(INT),))
        self.end.terminator = Return(self.end.params[0])
        self.blocks = [Block(tuple(Param(INT, name=f"p{k}") for k in range(1 + rnd.randrange(3)))) for _ in range(count)]
        entry = Block((Param(INT, name="n"), Param(INT, name="m")))
        self.closed = []
        self.fill(entry, list(entry.params), entry.params[0], count + 2)
        for block in self.blocks:
            self.fill(block, list(block.params), block.params[0], 3)
        function = Function("random", [entry, *self.blocks, *self.closed, self.end])
        drop_unreached(function)
        verify(function)
        return function

    def value(self, values):
        return self.rnd.choice(values) if self.rnd.random() < 0.8 else Const(self.rnd.choice([0, 1, -1, 2, 7]))

    def edge(self, values, fuel):
        target = self.rnd.choice(self.blocks)
        return Edge(target, (fuel, *(self.value(values) for _ in target.params[1:])))

    def fill(self, block, values, fuel, depth):
        rnd = self.rnd
        for _ in range(rnd.randrange(3)):
            made = Op(rnd.choice(BINARY), (self.value(values), self.value(values)), type=INT)
            block.ops.append(made)
            values = [*values, made]
        less = Op(operator.sub, (fuel, Const(1)), type=INT)
        stop = Op(operator.le, (less, Const(0)), type=BOOL)
        test = Op(rnd.choice(TESTS), (self.value(values), self.value(values)), type=BOOL)
        block.ops += [less, stop]
        going = Block()
        self.closed.append(going)
        block.terminator = Branch(stop, Edge(self.end, (self.value(values),)), Edge(going))
        kind = rnd.random()
        if kind < 0.3:
            going.terminator = Jump(self.edge(values, less))
        elif kind < 0.8 or not depth:
            going.ops.append(test)
            going.terminator = Branch(test, self.edge(values, less), self.edge(values, less))
        else:
            # a side that nobody else leads to: it uses the values from above
            private = Block()
            self.closed.append(private)
            going.ops.append(test)
            going.terminator = Branch(test, Edge(private), self.edge(values, less))
            self.fill(private, values, less, depth - 1)


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs(seed):
    rnd = random.Random(seed)
    function = Maker(rnd).make(2 + seed % 5)
    compiled = Executable.of(function)
    for n in (0, 1, 2, 3, 5, 9, 30):
        for m in (-3, 0, 4):
            found = compiled((n, m))
            if found is not BAILED:
                assert found == hovis.evaluate(function, n, m), (seed, n, m)
