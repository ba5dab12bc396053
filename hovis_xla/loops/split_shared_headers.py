"""Splitting of nested loops that share one header after tracing.

If the first iterations of nested loops are known, tracing follows them directly: every loop of the nest then jumps back to
the header of the innermost one, and the nest is one loop with several back edges.  This pass gives each loop a header of its own
again, outermost first.

Back edges that change a variable which the other back edges keep are attributed to an outer loop, if they also restart
something: they set a variable that the other back edges update to a value that does not depend on the inner loop.
"""

from collections.abc import Sequence
from functools import partial

from hovis.ir.model import Block, Edge, Function, Jump, Op, Operand, Param, Value
from hovis.passes.rewriting import replaced
from hovis_xla.analysis.loop_forest import Region, successors
from hovis_xla.analysis.reachability import reached
from hovis_xla.loops import driver
from hovis_xla.loops.driver import Rewriting, Sweep

Back = tuple[Block, Edge]


def split_shared_headers(function: Function) -> Function:
    """Give nested loops that share a header headers of their own.

    Return a new function, or the function itself if nothing changes.
    """
    return driver.rewrite(function, _found, 1)


def _found(sweep: Sweep, region: Region) -> Rewriting | None:
    head = region.heads[0]
    if len(region.heads) > 1 or head is sweep.function.blocks[0]:
        return None
    backs = [(b, e) for b in region.blocks for e in successors(b) if e.block is head]
    tried: list[list[Back]] = []
    for k, param in enumerate(head.params):
        outer = [back for back in backs if back[1].args[k] is not param]
        if 0 < len(outer) < len(backs) and outer not in tried:
            tried.append(outer)
    for outer in sorted(tried, key=len):
        inner = [back for back in backs if back not in outer]
        members = _members(sweep, region, inner)
        if not any(b in members for b, _ in outer) and _starts_anew(head, inner, outer, members):
            return partial(_split, sweep, head, inner), set()
    return None


def _members(sweep: Sweep, region: Region, backs: Sequence[Back]) -> set[Block]:
    """Return the blocks of the loop that has just the back edges ``backs``."""
    inside = region.blocks - {*region.heads}
    return {*reached([b for b, _ in backs], lambda block: [b for b, _ in sweep.before[block] if block in inside and b in region.blocks])}


def _starts_anew(head: Block, inner: Sequence[Back], outer: Sequence[Back], members: set[Block]) -> bool:
    """Is there a variable that the inner loop updates, and that every outer back edge sets to a value that does not depend on the inner loop?"""
    made = {value for block in members for value in (*block.params, *block.all_ops())}
    kept = {p for k, p in enumerate(head.params) if all(e.args[k] is p for _, e in inner)}

    def varies(value: Operand) -> bool:
        return isinstance(value, Op | Param) and value in made and value not in kept

    updated = [k for k, param in enumerate(head.params) if param not in kept and all(varies(e.args[k]) for _, e in inner)]
    return any(not any(varies(e.args[k]) for _, e in outer) for k in updated)


def _split(sweep: Sweep, head: Block, inner: Sequence[Back]) -> None:
    """Put a header for the outer loop in front of the shared one."""
    mine = {id(e) for _, e in inner}
    renamed: dict[Value, Operand] = {p: Param(p.type, p.dims, p.name) for p in head.params}
    front = Block(tuple(renamed.values()))  # type: ignore[arg-type]
    for _, edge in sweep.before[head]:
        if id(edge) not in mine:
            edge.block = front
    front.terminator = Jump(Edge(head, front.params))
    sweep.put_before(head, front)
    for param in front.params:
        param.dims = param.dims and replaced(param.dims, renamed)
    sweep.replaced.update((p, renamed[p]) for k, p in enumerate(head.params) if all(e.args[k] is p for _, e in inner))
