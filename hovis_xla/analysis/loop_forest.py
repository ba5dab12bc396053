"""Control flow of a Function: liveness, and the forest of its loops.

XLA has no jumps.  ``control_flow`` walks a Function and turns it into ``while``, ``if`` and ``case``; this module has the graph
analyses on the IR that this requires.

A :class:`Region` is a set of blocks that is entered at its headers (``heads``) and left to its exits. Without the edges to its
headers, the loops inside it are the strongly connected components, each again a Region.  A loop may have several headers
(an irreducible loop): the only addition that it needs is a number that says which header comes next.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from hovis.ir.analysis.control_flow import reverse_postorder
from hovis.ir.analysis.strongly_connected import components
from hovis.ir.model import LASTING, Block, Branch, Edge, Function, Invoke, Jump, Op, Operand, Param, Raise, Return, Terminator, Value
from hovis.lattice import Const, contains, leq
from hovis_xla.analysis.reachability import grouped, reached
from hovis_xla.analysis.side_effects import acts


@dataclass(slots=True, eq=False)
class Catching(Invoke):
    """An Invoke whose handler is compiled (``exception_edges``)."""


def successors(block: Block) -> list[Edge]:
    """Return the edges that compiled code follows. An exception edge is among them only for a ``Catching``; other exceptions are raised by
    Python.
    """
    match block.terminator:
        case Catching(ok=ok, error=error):
            return [ok, error]
        case Jump(edge=edge):
            return [edge]
        case Branch(true=true, false=false):
            return [true, false]
        case Invoke(ok=ok):
            return [ok]
    return []


def reachable(function: Function) -> list[Block]:
    """Return the blocks that compiled code can reach, in reverse postorder."""
    return reverse_postorder(function.blocks[0], lambda block: [e.block for e in reversed(successors(block))])


def handlers(order: list[Block]) -> frozenset[Block]:
    """Return the blocks that are reached by exceptions only."""

    def normal(block: Block) -> list[Block]:
        end = block.terminator
        return [end.ok.block] if isinstance(end, Catching) else [e.block for e in successors(block)]

    others = reached(order[:1], normal)
    return frozenset(b for b in order if b not in others)


def redirected(terminator: Terminator, edge: Callable[[Edge], Edge]) -> Terminator:
    """Return the terminator with ``edge`` applied to each of its edges."""
    match terminator:
        case Jump():
            return replace(terminator, edge=edge(terminator.edge))
        case Branch():
            return replace(terminator, true=edge(terminator.true), false=edge(terminator.false))
        case Invoke():
            return replace(terminator, ok=edge(terminator.ok), error=edge(terminator.error))
    return terminator


def prune_raising_paths(function: Function) -> Function:
    """Remove paths that only raise: such calls are left to Python.

    Calls that take such a path are done again by Python from the start. Return the function itself if nothing has to be removed; otherwise
    a function with new blocks and the same ops.
    """
    order = reachable(function)
    before = grouped((edge.block, block) for block in order for edge in successors(block))
    returns = reached((b for b in order if isinstance(b.terminator, Return)), lambda block: before.get(block, ()))
    if function.blocks[0] not in returns or all(b in returns or (isinstance(b.terminator, Raise) and not b.ops) for b in order):
        return function
    beside = {e.block for r in returns for e in successors(r)}
    raises = [b for b in order if b not in returns and b in beside]
    made = {b: Block(b.params, b.ops) for b in order if b in returns}
    made.update({b: Block(b.params) for b in raises})
    unfollowed: list[Block] = []

    def edge(old: Edge) -> Edge:
        if old.block in made:
            return Edge(made[old.block], old.args)
        unfollowed.append(Block(terminator=Raise(Const(None))))
        return Edge(unfollowed[-1])

    for old, new in made.items():
        new.terminator = redirected(old.terminator, edge) if old in returns else Raise(Const(None))
    return replace(function, blocks=[*made.values(), *unfollowed])


def terminator_operands(block: Block) -> list[Operand]:
    """Return the operands of the terminator of a block; none if it raises, because Python does the call again."""
    match block.terminator:
        case Branch(cond=cond):
            return [cond]
        case Return(value=value):
            return [value]
    return []


def fits(value: Operand, place: Operand) -> bool:
    """May ``value`` replace ``place``, by their types?"""
    if not isinstance(value, Param | Op | Const) or not isinstance(place, Param | Op):
        return False
    return contains(place.type, value.value) if isinstance(value, Const) else leq(value.type, place.type)


def body_ops(block: Block) -> list[Op]:
    """Return the ops of a block that compiled code executes; if the block raises, only those with visible side effects."""
    if isinstance(block.terminator, Raise):
        return [op for op in block.all_ops() if acts(op)]
    return list(block.all_ops())


def needed(blocks: Iterable[Block]) -> set[Op]:
    """Return the ops whose result is used, or that have a lasting side effect."""
    ops: list[Op] = []
    for block in blocks:
        left = terminator_operands(block) + [a for e in successors(block) for a in e.args]
        ops += [a for a in left if isinstance(a, Op)]
        ops += [op for op in body_ops(block) if op.effect & LASTING]
    return set(reached(ops, lambda op: [a for a in op.operands() if isinstance(a, Op)]))


@dataclass(eq=False)
class Region:
    """A loop, or a whole function: its blocks, its headers (where it is entered), its exits, and the loops in it by their blocks."""

    blocks: set[Block]
    heads: list[Block]
    exits: list[Block] = field(default_factory=list)
    loops: "dict[Block, Region]" = field(default_factory=dict)
    acts: bool = False

    @cached_property
    def brought(self) -> dict[Param, set[Operand]]:
        """For each parameter of a block that is no header, the arguments of the edges within the loop."""
        inner = [e for b in self.blocks for e in successors(b) if e.block in self.blocks and e.block not in self.heads]
        return grouped(pair for edge in inner for pair in zip(edge.block.params, edge.args, strict=True))

    def unit(self, block: Block) -> "Block | Region":
        """Return the unit that is entered with ``block``: a whole loop, or the block itself."""
        return self.loops.get(block, block)


def regions(function: Function) -> Region:
    """Return the function as a Region that contains all of its loops."""
    order = reachable(function)
    top = Region(set(order), order[:1])
    _find_loops(top, order, set())
    return top


def _find_loops(region: Region, order: list[Block], cut: set[Block]) -> None:
    """Fill ``region.loops`` with the cycles that remain without the edges to the blocks in ``cut``."""
    inside = region.blocks

    def following(block: Block) -> list[Block]:
        return [e.block for e in successors(block) if e.block in inside and e.block not in cut]

    number = {b: k for k, b in enumerate(order)}
    found = [sorted(members, key=number.__getitem__) for members in components(order, following)][::-1]
    cycles = [members for members in found if len(members) > 1 or members[0] in following(members[0])]
    home = {b: k for k, members in enumerate(cycles) for b in members}
    entered = set(region.heads).union(e.block for b in inside for e in successors(b) if home.get(b) != home.get(e.block))
    for members in cycles:
        blocks = set(members)
        exits = dict.fromkeys(e.block for b in members for e in successors(b) if e.block not in blocks)
        busy = any(acts(op) for b in members for op in b.all_ops())
        loop = Region(blocks, [b for b in members if b in entered], list(exits), acts=busy)
        region.loops.update(dict.fromkeys(members, loop))
        _find_loops(loop, members, set(loop.heads))


def all_loops(region: Region) -> list[Region]:
    """Return the loops within a region, outer loops first."""
    found = list(dict.fromkeys(region.loops.values()))
    return found + [inner for r in found for inner in all_loops(r)]


def is_test(region: Region) -> bool:
    """Does the header end with a branch out of the loop, and is it the only block that leaves the loop?"""
    head = region.heads[0]
    inside = [e.block in region.blocks for e in successors(head)]
    left = any(e.block not in region.blocks for b in region.blocks - {head} for e in successors(b))
    return isinstance(head.terminator, Branch) and sorted(inside) == [False, True] and not left


def with_heads(region: Region, heads: Iterable[Block]) -> Region:
    """Return the same loop, entered at the blocks ``heads`` only."""
    found = Region(region.blocks, list(heads), region.exits, acts=region.acts)
    _find_loops(found, list(region.blocks), set(found.heads))
    return found


# ------------------------------------------------------------------------------------------------- values across exits


def live_in(order: list[Block], used: set[Op]) -> dict[Block, set[Value]]:
    """Compute the values that are live on entry to each block, without the block's own parameters."""
    generates: dict[Block, set[Value]] = {}
    defines: dict[Block, set[Value]] = {}
    for block in order:
        operands = terminator_operands(block) + [a for e in successors(block) for a in e.args]
        ops = [op for op in body_ops(block) if op in used]
        operands += [a for op in ops for a in op.operands()]
        defines[block] = {*block.params, *ops}
        generates[block] = {a for a in operands if isinstance(a, Param | Op)} - defines[block]
    live = {block: set(generates[block]) for block in order}
    changed = True
    while changed:
        changed = False
        for block in reversed(order):
            for edge in successors(block):
                more = live[edge.block] - defines[block] - live[block]
                if more:
                    live[block] |= more
                    changed = True
    return live


def carried_out(order: list[Block], top: Region, used: set[Op]) -> dict[Block, tuple[Value, ...]]:
    """For each exit of a loop (and each block where paths from its exits meet), collect the values defined in the loop that are live there.

    A ``while`` of XLA returns only its results; therefore these values leave the loop together with the arguments of the edge.
    """
    live = live_in(order, used)
    number = {b: k for k, b in enumerate(order)}
    place: dict[Value, int] = {}
    made: dict[Block, list[Value]] = {}
    for block in order:
        made[block] = [*block.params, *(op for op in block.all_ops() if op in used)]
        for value in made[block]:
            place[value] = len(place)
    found: dict[Block, set[Value]] = {}
    for loop in all_loops(top):
        inside = {v for b in loop.blocks for v in made[b]}
        for target in _meetings(loop, order, number):
            found.setdefault(target, set()).update(live[target] & inside)
    return {block: tuple(sorted(values, key=place.__getitem__)) for block, values in found.items() if values}


def _meetings(loop: Region, order: list[Block], number: Mapping[Block, int]) -> list[Block]:
    """Return the exits of a loop, and the blocks behind it where paths from different exits meet."""
    #: blocks to visit, each with the blocks of the result from which it was reached
    came: dict[Block, set[Block]] = {}
    found: list[Block] = []
    exits = set(loop.exits)
    for block in order[min((number[block] for block in exits), default=0) :]:
        if not exits and len(set().union(*came.values())) < 2:
            break  # if all paths come from one block, no others can meet
        starts = came.pop(block, set())
        if block in exits or len(starts) > 1:
            found.append(block)
            exits.discard(block)
            starts = {block}
        for edge in successors(block) if starts else ():
            if number[edge.block] > number[block] and edge.block not in loop.blocks:
                came.setdefault(edge.block, set()).update(starts)
    return found


def reach(starts: Iterable[Block], region: Region, until: Collection[Block]) -> set[Block]:
    """Return the blocks that can be reached from ``starts`` without entering a block of ``until``; a loop counts as a whole."""

    def members(unit: Block | Region) -> set[Block]:
        return unit.blocks if isinstance(unit, Region) else {unit}

    def following(unit: Block | Region) -> list[Block | Region]:
        return [region.unit(e.block) for b in members(unit) for e in successors(b) if e.block in region.blocks and e.block not in until]

    return {block for unit in reached([region.unit(b) for b in starts if b in region.blocks], following) for block in members(unit)}
