"""Lifetimes: where the end of an object's life may show, the residual ends it where CPython does.

A local keeps its object until it is rebound, deleted or the function ends; a stack temporary ends with the
instruction that pops it, which is its last use.  What the assembler clears after the last use is therefore right for
temporaries; for locals a ``drop!`` says how long they last.  Seen are the results of opaque calls; numbers, text and
what hovis makes itself cannot tell.
"""

from typing import TYPE_CHECKING

from hovis.engine.escape import NotMaterializable
from hovis.engine.heap import VObj
from hovis.engine.state import State
from hovis.engine.values import Dyn, Ref, V
from hovis.ir.model import Effect, Op
from hovis.ir.operations import drop
from hovis.lattice import Type

if TYPE_CHECKING:
    from hovis.engine.machine import Machine


def held(state: State) -> dict[int, Dyn]:
    """All values in the state whose end may show, by the identity of the SSA value."""
    found: dict[int, Dyn] = {}
    seen: set[int] = set()
    todo: list[V] = [value for _, value in state.roots()]
    while todo:
        value = todo.pop()
        if isinstance(value, Dyn):
            if value.ends:
                found[id(value.value)] = value
        elif isinstance(value, Ref) and value.aid not in seen:
            seen.add(value.aid)
            obj = state.heap[value.aid]
            if not obj.bulk:
                todo += obj.cells
    return found


def matters(m: "Machine", old: V | None) -> bool:
    """Could the end of what a variable held show?"""
    return (type(old) is Dyn and old.ends) or (type(old) is Ref and m.endings)


def end(m: "Machine", before: dict[int, Dyn], kept: V | None = None) -> None:
    """Values that were held before and are not any more: their lives end here."""
    if not before:
        return
    after = held(m.state)
    spared = id(kept.value) if isinstance(kept, Dyn) else None
    for key, value in before.items():
        if key not in after and key != spared:
            m.block.ops.append(Op(drop, (value.value,), (), Type(type(None)), None, Effect.IO, m.location()))


def abandon(obj: VObj) -> None:
    """A suspended generator that nobody holds any more: if it would run a ``finally`` now, it has to be a real one."""
    status, code, _, pc, _, site = obj.extra
    if status == "suspended" and obj.node is None:
        handler = code.instructions[pc - 1].handler
        if handler is not None and code.instructions[handler.target].op != "Intrinsic":
            raise NotMaterializable(site)
