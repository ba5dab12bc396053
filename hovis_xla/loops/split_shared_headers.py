"""Splitting of nested loops that share one header after tracing.

If the first iterations of nested loops are known, tracing follows them directly: every loop of the nest then jumps back to
the header of the innermost one, and the nest is one loop with several back edges.  This pass gives each loop a header of its own
again, outermost first.

Back edges that change a variable which the other back edges keep are attributed to an outer loop, if they also restart
something: they set a variable that the other back edges update to a value that does not depend on the inner loop.
"""

from collections.abc import Sequence
from functools import partial

from hovis.ir.model import Block, Edge, Function, Jump, Op, Operand, Param
from hovis_xla.analysis.loop_forest import Region, successors
from hovis_xla.loops import driver
from hovis_xla.loops.driver import Rewriting, Sweep

Back = tuple[Block, Edge]


def split_shared_headers(function: Function) -> Function:
    """Give nested loops that share a header headers of their own.

    Return a new function, or the function itself if nothing changes.
    """
    return driver.rewrite(function, _found, 1)


def _found(sweep: Sweep, region: Region) -> Rewriting | None:
    parted = _outermost(region, sweep.function)
    return None if parted is None else (partial(_split, sweep, *parted), set())


def _outermost(region: Region, function: Function) -> tuple[Block, list[Back], list[Back]] | None:
    if len(region.heads) > 1 or region.heads[0] is function.blocks[0]:
        return None
    head = region.heads[0]
    backs = [(b, e) for b in region.blocks for e in successors(b) if e.block is head]
    if len(backs) < 2:
        return None
    tried: list[list[Back]] = []
    for k, param in enumerate(head.params):
        outer = [back for back in backs if back[1].args[k] is not param]
        if 0 < len(outer) < len(backs) and outer not in tried:
            tried.append(outer)
    for outer in sorted(tried, key=len):
        inner = [back for back in backs if back not in outer]
        members = _members(region, head, inner)
        if not any(b in members for b, _ in outer) and _starts_anew(head, inner, outer, members):
            return head, inner, outer
    return None


def _members(region: Region, head: Block, backs: Sequence[Back]) -> set[Block]:
    """Return the blocks of the loop that has just the back edges ``backs``."""
    before: dict[Block, list[Block]] = {b: [] for b in region.blocks}
    for block in region.blocks:
        for edge in successors(block):
            if edge.block in before:
                before[edge.block].append(block)
    found = {head}
    todo = [b for b, _ in backs]
    while todo:
        block = todo.pop()
        if block not in found:
            found.add(block)
            todo += before[block]
    return found


def _starts_anew(head: Block, inner: Sequence[Back], outer: Sequence[Back], members: set[Block]) -> bool:
    """Is there a variable that the inner loop updates, and that every outer back edge sets to a value that does not depend on the inner loop?"""
    made = {value for block in members for value in (*block.params, *block.all_ops())}
    kept = {p for k, p in enumerate(head.params) if all(e.args[k] is p for _, e in inner)}

    def varies(value: Operand) -> bool:
        return isinstance(value, Op | Param) and value in made and value not in kept

    for k, param in enumerate(head.params):
        if param not in kept and all(varies(e.args[k]) for _, e in inner) and not any(varies(e.args[k]) for _, e in outer):
            return True
    return False


def _split(sweep: Sweep, head: Block, inner: Sequence[Back], outer: Sequence[Back]) -> None:
    """Put a header for the outer loop in front of the shared one."""
    mine = {id(e) for _, e in inner}
    own = [Param(p.type, p.dims, p.name) for p in head.params]
    front = Block(tuple(own))
    for _, edge in sweep.before[head]:
        if id(edge) not in mine:
            edge.block = front
    front.terminator = Jump(Edge(head, front.params))
    sweep.put_before(head, front)
    renamed = dict(zip(head.params, own, strict=True))
    for param in own:
        if param.dims:
            param.dims = tuple(renamed.get(d, d) if isinstance(d, Param) else d for d in param.dims)
    sweep.replaced.update((p, renamed[p]) for k, p in enumerate(head.params) if all(e.args[k] is p for _, e in inner))
