"""Dominators, loops, uses and liveness against their definitions."""
from __future__ import annotations

import operator as o
import random

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from hovis.ir import Block, Builder, Edge, Function, Jump, Return
from hovis.ir.analysis.control_flow import Dominators, liveness, natural_loops, predecessors, reverse_postorder, successors, uses
from hovis.ir.builder import BOOL, INT
from hovis.ir.model import Branch
from hovis.lattice import Const
from tests.unit.ir.random_functions import random_function


def random_graph(seed):
    """Blocks with nothing in them but random edges."""
    rnd = random.Random(seed)
    blocks = [Block() for _ in range(rnd.randrange(1, 12))]
    targets = blocks[1:]
    for block in blocks:
        kind = rnd.random() if targets else 1
        if kind < 0.3:
            block.terminator = Jump(Edge(rnd.choice(targets)))
        elif kind < 0.85:
            block.terminator = Branch(Const(True), Edge(rnd.choice(targets)), Edge(rnd.choice(targets)))
        else:
            block.terminator = Return(Const(1))
    function = Function("f", blocks)
    function.blocks = reverse_postorder(blocks[0])
    graph = nx.DiGraph([(block, to) for block in function.blocks for to in successors(block)])
    graph.add_nodes_from(function.blocks)
    return function, graph


@given(st.integers(0, 2**32))
def test_dominators(seed):
    function, graph = random_graph(seed)
    dom = Dominators(function)
    for a in function.blocks:
        without = nx.descendants(graph.subgraph(set(graph) - {a}), function.blocks[0]) if a is not function.blocks[0] else set()
        for b in function.blocks:
            assert dom.dominates(a, b) == (a is b or (b is not function.blocks[0] and b not in without))
    order = [block for block, entered in dom.tree() if entered]
    assert set(order) == set(function.blocks)
    assert len(order) == len(function.blocks)


@given(st.integers(0, 2**32))
def test_loops(seed):
    function, graph = random_graph(seed)
    dom = Dominators(function)
    found = natural_loops(function, dom)
    expected = {}
    for block in function.blocks:
        for to in successors(block):
            if dom.dominates(to, block):
                expected.setdefault(to, {to}).update({block} if block is to else _reaching(graph, block, to))
    assert {loop.header: loop.blocks for loop in found.loops} == expected
    for loop in found.loops:
        assert all(graph.has_edge(latch, loop.header) for latch in loop.latches)
        assert loop.parent is None or loop.blocks < loop.parent.blocks
        assert all(child.parent is loop for child in loop.children)
        around = [other for other in found.loops if other is not loop and loop.blocks < other.blocks]
        assert (loop.parent is None) == (not around)
        if around:
            assert len(loop.parent.blocks) == min(len(other.blocks) for other in around)
    for block in function.blocks:
        around = [loop for loop in found.loops if block in loop.blocks]
        assert (found.innermost.get(block) in around) if around else block not in found.innermost
        if around:
            assert len(found.innermost[block].blocks) == min(len(loop.blocks) for loop in around)
    back = {(block, to) for block in function.blocks for to in successors(block) if dom.dominates(to, block)}
    rest = nx.DiGraph([edge for edge in graph.edges if edge not in back])
    assert found.reducible == nx.is_directed_acyclic_graph(rest)


def _reaching(graph, block, header):
    inside = graph.subgraph(set(graph) - {header})
    return nx.ancestors(inside, block) | {block}


def test_reverse_postorder_prefers_what_is_followed_first():
    b = Builder("f", BOOL)
    one, two, end = b.block(), b.block(), b.block()
    b.branch(b.params[0], (one,), (two,))
    b.at(one)
    b.jump(end)
    b.at(two)
    b.jump(end)
    b.at(end)
    b.ret(1)
    entry = b.function.blocks[0]
    assert reverse_postorder(entry) == [entry, one, two, end]
    assert reverse_postorder(entry, lambda block: successors(block)[::-1]) == [entry, two, one, end]


def test_predecessors_and_uses():
    b = Builder("f", INT)
    loop, end = b.block(INT), b.block()
    b.jump(loop, b.params[0])
    b.at(loop)
    less = b.op(o.sub, loop.params[0], 1, type=INT)
    b.branch(b.op(o.gt, less, less, type=BOOL), (loop, less), (end,))
    b.at(end)
    b.ret(b.params[0])
    found = predecessors(b.function)
    assert [source for source, _ in found[loop]] == [b.function.blocks[0], loop]
    assert found[b.function.blocks[0]] == []
    counted = uses(b.function)
    assert (counted[less], counted[b.params[0]], counted[loop.params[0]]) == (3, 2, 1)
    live = liveness(b.function)
    assert live[loop] == {b.params[0]}
    assert live[end] == {b.params[0]}
    assert live[b.function.blocks[0]] == set()


@given(st.integers(0, 2**32))
def test_liveness_is_what_some_path_uses(seed):
    function = random_function(random.Random(seed))
    live = liveness(function)
    assert live[function.blocks[0]] == set()
    for block in function.blocks:
        own = {*block.params, *block.all_ops()}
        for to in successors(block):
            assert live[to] - own <= live[block]
