"""Copies of virtual objects, lent to builtins that only read them (see lending); a copy may later become the object itself."""

from typing import TYPE_CHECKING, NamedTuple

from hovis.engine.state.heap import VObj
from hovis.ir.model import Operand

if TYPE_CHECKING:
    from hovis.engine.machine.machine import Machine


class Copy(NamedTuple):
    """A copy of a virtual object, to which nothing else refers.

    obj     the object as it was when it was copied
    value   the copy
    inner   the numbers of the objects in it, with their copies
    """

    obj: VObj
    value: Operand
    inner: tuple[tuple[int, Operand], ...]


def copy_of(m: "Machine", aid: int) -> Operand | None:
    """Return the copy of object aid made in this chain, or None if there is none, or if the object or anything in it has changed since."""
    copy = m.lent.get(aid)
    if copy is None:
        return None
    obj = m.state.heap[aid]
    if obj.node is not None:
        return copy.value if obj.node is copy.value and obj.cells is copy.obj.cells else None
    if obj is not copy.obj:
        return None
    return copy.value if all(copy_of(m, inner) is value for inner, value in copy.inner) else None


def take(m: "Machine", aid: int, value: Operand) -> None:
    """Make the copy value the real object of aid, and the inner copies the real objects of its parts."""
    obj = m.state.heap[aid]
    if obj.node is None:
        m.state.heap[aid] = obj.replace(node=value)
        for inner, part in m.lent[aid].inner:
            take(m, inner, part)
