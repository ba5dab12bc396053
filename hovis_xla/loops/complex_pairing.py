"""Packing of two loop-carried floats that depend on each other into one complex number.

XLA computes loop-carried values one after the other, each in place: for ``x, y = x * x - y * y + a, 2 * x * y + b`` it overwrites x, on which
y depends as well; therefore x is copied first, through memory.  The parts of a complex number are computed together.  If no other
loop-carried value depends on the two, nothing is copied at all.
"""

import itertools
from typing import Final

from hovis.ir.analysis.control_flow import predecessors
from hovis.ir.model import Block, Function, Jump, Op, Operand, Param
from hovis.lattice import Const, Type
from hovis.passes.rewriting import replace_in
from hovis_xla.analysis.loop_forest import Region, is_test, successors
from hovis_xla.loops import driver
from hovis_xla.loops.driver import Sweep
from hovis_xla.loops.unroll_counted import count_of

#: In loops of more operations than this, the cost of a copy is negligible.
MOST_OPS: Final = 40

Pair = tuple[int, int]


def pair_floats(function: Function) -> Function:
    """Pack two loop-carried floats into one complex number.

    Return a new function, or the function itself if it has no such floats.
    """
    return driver.rewrite_planned(function, _found, _write)


def _found(sweep: Sweep, region: Region) -> Pair | None:
    """Return the indices of two float parameters of the header of which at least one depends on the other, and on which nothing else that is
    loop-carried depends. None if there are none, or if the loop has several paths.
    """
    if not sweep.is_innermost(region) or not is_test(region) or count_of(region) or sum(len(b.ops) for b in region.blocks) > MOST_OPS:
        return None
    head = block = region.heads[0]
    #: for each value, the parameters of the header that it depends on
    found: dict[Operand, set[Operand]] = {p: {p} for p in head.params}
    while True:
        for op in block.ops:
            found[op] = set().union(*[found.get(a, ()) for a in op.operands()])
        if block is not head and not isinstance(block.terminator, Jump):
            return None
        edge = next(e for e in successors(block) if e.block in region.blocks)
        ends = [found.get(a, set()) for a in edge.args]
        if edge.block is head:
            break
        found.update(zip(edge.block.params, ends, strict=True))
        block = edge.block
    floats = [k for k, p in enumerate(head.params) if p.type == Type(float) and edge.args[k] is not p]
    for i, j in itertools.combinations(floats, 2):
        x, y = head.params[i], head.params[j]
        if (x in ends[j] or y in ends[i]) and not any(x in end or y in end for k, end in enumerate(ends) if k not in (i, j)):
            return i, j
    return None


def _write(function: Function, region: Region, pair: Pair) -> None:
    """Replace the two parameters of the header by a complex one, which is taken apart at the start of the header."""
    (i, j), head = pair, region.heads[0]
    incoming = predecessors(function)[head]
    x, y = head.params[i], head.params[j]
    both = Param(Type(complex), x.dims, x.name)
    parts = [Op(getattr, (both, Const(name)), (), Type(float)) for name in ("real", "imag")]
    for block in function.blocks:
        replace_in(block, {x: parts[0], y: parts[1]})
    head.ops[:0] = parts
    head.params = tuple(both if p is x else p for p in head.params if p is not y)
    for block, edge in incoming:
        edge.args = tuple(_joined(block, edge.args[i], edge.args[j]) if k == i else a for k, a in enumerate(edge.args) if k != j)


def _joined(block: Block, x: Operand, y: Operand) -> Operand:
    if isinstance(x, Const) and isinstance(y, Const):
        return Const(complex(x.value, y.value))  # type: ignore[call-overload]
    made = Op(complex, (x, y), (), Type(complex))
    block.ops.append(made)
    return made
