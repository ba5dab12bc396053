"""Calls of one function with the same known arguments from many places: one residual function instead of many copies.

What comes behind an alternative is a continuation of each of its ways, and what comes behind that one of each of theirs:
copied everywhere, the code would grow exponentially with the number of alternatives.
"""

from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from hovis.ir.model import Block, edges

if TYPE_CHECKING:
    from hovis.engine.machine.machine import Machine

#: Copies before the size is looked at; then at each doubling.
COPIES: Final = 2
#: Operations of a copy: with fewer the call would cost more than it saves.
SMALL: Final = 20
#: Operations of all copies.
MANY: Final = 64


def shared(m: "Machine", code: Any, now: Any) -> bool:
    """Is the call about to be entered one of many that would all look the same?"""
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
    if ctx in copies:
        return False
    copies[ctx] = m.entry
    count = len(copies)
    if count >= COPIES and not count & (count - 1):
        size = max(_sizes(m, copies).values())
        if size >= SMALL and size * count >= MANY:
            _share(m, code, now)
            return True
    return False


def _share(m: "Machine", code: Any, now: Any) -> None:
    """From now on it is called; so is what has been entered before, when the rest is done."""
    tables = m.tables
    tables.shared.add((code, now))
    gone = tables.copies.pop((code, now))
    owner = _owners(tables.contexts.parts, gone)
    for others in tables.copies.values():
        for ctx in [ctx for ctx in others if owner[ctx] is not None]:
            del others[ctx]
    for entry in gone.values():
        if entry is not m.entry and entry.evaluated:
            m.push_work(entry)


def _owners(parts: Sequence[Any], copies: Container[int]) -> list[int | None]:
    """Of each call string, which of copies it is or comes from."""
    owner: list[int | None] = []
    # a call string is interned after that of its caller
    for ctx, (head, *_) in enumerate(parts):
        owner.append(ctx if ctx in copies else owner[head] if type(head) is int else None)
    return owner


def _sizes(m: "Machine", copies: Mapping[int, Any]) -> dict[int, int]:
    """How many operations have been emitted in each of these call strings, and in those that they lead to."""
    owner = _owners(m.tables.contexts.parts, copies)
    sizes = dict.fromkeys(copies, 0)
    for site, table in m.keys.entries.items():
        at = owner[site[0]] if type(site[0]) is int else None
        if at is not None:
            sizes[at] += sum(_size(entry.block) for entry in table.values())
    return sizes


def _size(first: Block) -> int:
    """The operations of a chain (see ssa_construction: no edge out of it leads anywhere yet)."""
    seen: dict[int, Block] = {}
    todo = [first]
    while todo:
        block = todo.pop()
        if id(block) not in seen:
            seen[id(block)] = block
            todo += [edge.block for edge in edges(block.terminator)]
    return sum(len(block.ops) for block in seen.values())
