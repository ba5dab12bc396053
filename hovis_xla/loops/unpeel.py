"""First rounds of loops that are written out in front of them, and say nothing new.

Tracing follows what is known, so the beginning of a loop's first round may stand in front of it and jump into its middle.
A loop that is entered at several places is slow, and moves its arrays.  Where what stands in front does just what the
loop does in one of its blocks, it is a jump to that block, with its values as parameters.
"""

from collections.abc import Iterable
from typing import Final

from hovis.ir.analysis.control_flow import Dominators, Incoming, predecessors
from hovis.ir.matching import same
from hovis.ir.model import Block, Branch, Edge, Function, Jump, Op, Operand, Param, callees, edges
from hovis.lattice import Const
from hovis.passes import pipeline
from hovis.passes.rewriting import drop_unreached
from hovis_xla.analysis.loop_forest import Region, all_loops, fits, live_in, needed, reachable, regions, successors
from hovis_xla.loops import driver

#: What is done before: tests of constants are decided.
_TIDY: Final = ("instcombine", "simplify_cfg", "trivial_phis", "dce")


def unpeel(function: Function) -> Function:
    """Undo the peeling of first iterations.

    The function, its loops entered at as few places as can be; the very same, if nothing changes.
    """
    if not _has_several_heads(function):
        return function
    function = pipeline.run(function, _TIDY)  # ways that are never gone may be the reason
    return driver.applied(_reroll, function, _TIDY) if _has_several_heads(function) else function


def _has_several_heads(function: Function) -> bool:
    return any(len(r.heads) > 1 for f in callees(function) for r in all_loops(regions(f)))


def _reroll(function: Function) -> bool:
    """Jump to the block of a loop that does what stands in front of it."""
    changed = False
    while any(_enter_elsewhere(function, region) for region in all_loops(regions(function)) if len(region.heads) > 1):
        drop_unreached(function)
        changed = True
    return changed


def _enter_elsewhere(function: Function, region: Region) -> bool:
    order = reachable(function)
    before = [b for b in order if b not in region.blocks and any(e.block in region.blocks for e in successors(b))]
    inside = [b for b in order if b in region.blocks]
    incoming = predecessors(function)
    live = None
    for block in before:
        for start in _leading_to(function, block, incoming):
            for target in inside:
                pairs = _Pairs(function, region, incoming)
                if pairs.alike(start, target):
                    live = live if live is not None else live_in(order, needed(order))
                    if pairs.can_jump(start, target, live[target]):
                        start.ops = []
                        start.terminator = Jump(Edge(target, tuple(pairs.bound[p] for p in target.params)))
                        return True
    return False


def _leading_to(function: Function, block: Block, incoming: Incoming) -> list[Block]:
    """The block, and those before it that have it to themselves, the farthest first."""
    found = [block]
    while len(incoming[found[0]]) == 1 and found[0].params == ():
        earlier = incoming[found[0]][0][0]
        if earlier is function.blocks[0] or earlier in found:
            break
        found.insert(0, earlier)
    return found


class _Pairs:
    """What in the loop stands for what in front of it: ``bound`` has a value in front for each parameter and op of the loop."""

    def __init__(self, function: Function, region: Region, incoming: Incoming) -> None:
        self.function = function
        self.region = region
        self.incoming = incoming
        self.bound: dict[Param | Op, Operand] = {}
        self.open: set[Param] = set()
        self.seen: set[Block] = set()

    def alike(self, a: Block, b: Block) -> bool:
        """Does a do what b does, b's parameters being what they may be?"""
        self.open.update(b.params)
        if not self._blocks(a, b):
            return False
        return all(p in self.bound for p in b.params)

    def _blocks(self, a: Block, b: Block) -> bool:
        if len(a.ops) != len(b.ops) or a in self.seen or not isinstance(b.terminator, Branch | Jump) or type(a.terminator) is not type(b.terminator):
            return False
        self.seen.add(a)
        for x, y in zip(a.ops, b.ops, strict=True):
            if not self._ops(x, y):
                return False
        if isinstance(a.terminator, Branch) and isinstance(b.terminator, Branch) and not self._operands([a.terminator.cond], [b.terminator.cond]):
            return False
        return all(self._edges(x, y) for x, y in zip(edges(a.terminator), edges(b.terminator), strict=True))

    def _ops(self, a: Op, b: Op) -> bool:
        if a.effect != b.effect or a.location != b.location or [k for k, _ in a.kwargs] != [k for k, _ in b.kwargs]:
            return False
        if a.callee is not b.callee and not (isinstance(a.callee, Param | Op) and isinstance(b.callee, Param | Op)):
            return False
        self.bound[b] = a
        return self._operands(list(a.operands()), list(b.operands()))

    def _operands(self, xs: Iterable[Operand], ys: Iterable[Operand]) -> bool:
        return all(map(self._operand, xs, ys))

    def _operand(self, x: Operand, y: Operand) -> bool:
        if isinstance(y, Param | Op) and y in self.bound:
            return same(x, self.bound[y])
        if isinstance(y, Param) and y in self.open and isinstance(x, Param | Op | Const):
            self.bound[y] = x
            return True
        return same(x, y)

    def _edges(self, a: Edge, b: Edge) -> bool:
        """To the same block, or to blocks of their own that are alike."""
        if len(a.args) != len(b.args):
            return False
        if a.block is b.block:
            return self._operands(a.args, b.args)
        own = all(len(self.incoming[block]) == 1 for block in (a.block, b.block)) and b.block in self.region.blocks
        if not own or a.block in self.region.blocks or not self._operands(a.args, b.args):
            return False
        self.bound.update(zip(b.block.params, a.block.params, strict=True))
        return self._blocks(a.block, b.block)

    def can_jump(self, a: Block, b: Block, live: set[Param | Op]) -> bool:
        """Is all that b needs there in a without what a makes, and nothing of that used elsewhere?"""
        dominators = Dominators(self.function)
        home = {v: block for block in self.function.blocks for v in (*block.params, *block.all_ops())}
        if not all(v in b.params or (home[v] not in self.seen and dominators.dominates(home[v], a)) for v in live):
            return False
        made = {v for block in self.seen for v in (*(block.params if block is not a else ()), *block.all_ops())}
        if any(self.bound[p] in made or not fits(self.bound[p], p) for p in b.params):
            return False
        used = {v for block in self.function.blocks if block not in self.seen for op in block.all_ops() for v in op.operands()}
        used |= {v for block in self.function.blocks if block not in self.seen for e in edges(block.terminator) for v in e.args}
        used |= {v for block in self.function.blocks if block not in self.seen for v in _ends_with(block)}
        return not made & {v for v in used if isinstance(v, Param | Op)}


def _ends_with(block: Block) -> list[Operand]:
    found = [getattr(block.terminator, name, None) for name in ("cond", "value")]
    return [v for v in found if isinstance(v, Param | Op)]
