"""Packing of two loop-carried floats that depend on each other into one complex number.

XLA computes loop-carried values one after the other, each in place: for ``x, y = x * x - y * y + a, 2 * x * y + b`` it overwrites x, on which
y depends as well; therefore x is copied first, through memory.  The parts of a complex number are computed together.  If no other
loop-carried value depends on the two, nothing is copied at all.
"""

from typing import Final

from hovis.ir.analysis.control_flow import predecessors
from hovis.ir.model import Block, Edge, Function, Jump, Op, Operand, Param
from hovis.lattice import Const, Type
from hovis.passes.rewriting import replace_in
from hovis_xla.analysis.loop_forest import Region, is_test, successors
from hovis_xla.loops import driver
from hovis_xla.loops.driver import Sweep
from hovis_xla.loops.unroll_counted import counts

#: In loops of more operations than this, the cost of a copy is negligible.
MOST_OPS: Final = 40

Pair = tuple[int, int]


def pair_floats(function: Function) -> Function:
    """Pack two loop-carried floats into one complex number.

    Return a new function, or the function itself if it has no such floats.
    """
    return driver.rewrite_planned(function, _found, _write)


def _found(sweep: Sweep, region: Region) -> Pair | None:
    if region.loops or len(region.heads) > 1 or region.heads[0] is sweep.function.blocks[0] or not is_test(region) or counts(region):
        return None
    back = _last(region)
    return None if back is None else _made_of_each_other(region, back)


def _last(region: Region) -> Edge | None:
    """Return the back edge, if the loop has only one path, which is short; otherwise None."""
    if sum(len(b.ops) for b in region.blocks) > MOST_OPS:
        return None
    backs = [e for b in region.blocks - set(region.heads) for e in successors(b) if e.block in region.heads]
    ways = [isinstance(b.terminator, Jump) for b in region.blocks if b not in region.heads]
    return backs[0] if all(ways) and len(backs) == 1 else None


def _made_of_each_other(region: Region, back: Edge) -> Pair | None:
    """Return the indices of two float parameters of the header of which at least one depends on the other, and on which nothing else that is
    loop-carried depends. None if there are none.
    """
    params = region.heads[0].params
    ends = [_params_in(end, region) for end in back.args]
    floats = [k for k, p in enumerate(params) if p.type == Type(float) and back.args[k] is not p]
    for i in floats:
        for j in floats:
            if i < j and (params[i] in ends[j] or params[j] in ends[i]):
                others = [end for k, end in enumerate(ends) if k not in (i, j)]
                if not any(params[i] in end or params[j] in end for end in others):
                    return i, j
    return None


def _params_in(value: Operand, region: Region) -> set[Param]:
    """Return the block parameters in a loop that a value depends on."""
    inside = {v for b in region.blocks for v in (*b.params, *b.all_ops())}
    found: set[Param] = set()
    seen: set[Operand] = set()
    todo = [value]
    while todo:
        at = todo.pop()
        if isinstance(at, Param | Op) and at in inside and at not in seen:
            seen.add(at)
            if isinstance(at, Param):
                found.add(at)
                todo += [e.args[k] for b in region.blocks if at in b.params and b not in region.heads for k in (b.params.index(at),) for e in _into(b, region)]
            else:
                todo += at.operands()
    return found


def _into(block: Block, region: Region) -> list[Edge]:
    return [e for b in region.blocks for e in successors(b) if e.block is block]


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
