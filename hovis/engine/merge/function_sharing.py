"""One residual function for calls of a function with the same known arguments from many places, instead of many inlined copies.

The code after a branch is a continuation of each of its paths, and the code after the next branch is a continuation of each
path of that: if it were copied for each, the code would grow exponentially with the number of branches.
"""

from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from hovis.ir.model import Block, edges

if TYPE_CHECKING:
    from hovis.engine.machine.machine import Machine

#: Number of inlined copies at which the size is examined first; then at each doubling.
COPIES: Final = 2
#: The fewest operations of a copy: with fewer, the call would cost more than it saves.
SMALL: Final = 20
#: The fewest operations of all copies together.
MANY: Final = 64


def shared(m: "Machine", code: Any, now: Any) -> bool:
    """Is the call that is about to be entered one of many that would all have the same residual?"""
    tables = m.tables
    if tables.shared and (code, now) in tables.shared:
        return True
    caller = m.state.frames[-1]
    places = tables.entered.setdefault(code, set())
    places.add((caller.ctx, caller.pc))
    if len(places) < COPIES or not caller.decided:
        return False
    copies = tables.copies.setdefault((code, now), {})
    ctx = tables.contexts[caller.ctx, caller.pc, code]
    if copies.get(ctx) is not None:
        return False
    known = ctx in copies
    copies[ctx] = m.entry
    if known:
        return False
    count = len(copies)
    if count >= COPIES and not count & (count - 1):
        size = max(_sizes(m, copies).values())
        if size >= SMALL and size * count >= MANY:
            _share(m, code, now)
            return True
    return False


def _share(m: "Machine", code: Any, now: Any) -> None:
    """Call the function from now on, instead of inlining it; entries that inlined it before are evaluated again."""
    tables = m.tables
    tables.shared.add((code, now))
    gone = tables.copies.pop((code, now))
    owner = _owners(tables.contexts.parts, gone)
    for others in tables.copies.values():
        for ctx in [ctx for ctx in others if owner[ctx] is not None]:
            del others[ctx]
    for entry in gone.values():
        if entry is not None and entry is not m.entry and entry.evaluated:
            m.push_work(entry)


def _owners(parts: Sequence[Any], copies: Container[int]) -> list[int | None]:
    """Return for each call string the one of copies that it is or descends from, or None."""
    owner: list[int | None] = []
    # a call string is interned after that of its caller
    for ctx, (head, *_) in enumerate(parts):
        owner.append(ctx if ctx in copies else owner[head] if type(head) is int else None)
    return owner


def _sizes(m: "Machine", copies: Mapping[int, Any]) -> dict[int, int]:
    """Count the operations that were emitted in each of these call strings, and in those that they lead to."""
    owner = _owners(m.tables.contexts.parts, copies)
    sizes = dict.fromkeys(copies, 0)
    for site, table in m.keys.entries.items():
        at = owner[site[0]] if type(site[0]) is int else None
        if at is not None:
            sizes[at] += sum(_size(entry.block) for entry in table.values())
    return sizes


def _size(first: Block) -> int:
    """Count the operations of a chain (see ssa_construction: no edge out of it leads anywhere yet)."""
    seen: dict[int, Block] = {}
    todo = [first]
    while todo:
        block = todo.pop()
        if id(block) not in seen:
            seen[id(block)] = block
            todo += [edge.block for edge in edges(block.terminator)]
    return sum(len(block.ops) for block in seen.values())
