"""Copies of virtual objects that builtins have been given to look at (see lending), each good for the object itself."""

from typing import TYPE_CHECKING, NamedTuple

from hovis.engine.state.heap import VObj
from hovis.ir.model import Operand

if TYPE_CHECKING:
    from hovis.engine.machine.machine import Machine


class Copy(NamedTuple):
    """A copy that nobody else holds.

    obj     the object as it was
    value   the copy
    inner   the objects in it, with their copies
    """

    obj: VObj
    value: Operand
    inner: tuple[tuple[int, Operand], ...]


def copy_of(m: "Machine", aid: int) -> Operand | None:
    """The copy of an object in this chain, if neither the object nor anything in it has changed since."""
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
    """The copy becomes the object."""
    obj = m.state.heap[aid]
    if obj.node is None:
        m.state.heap[aid] = obj.replace(node=value)
        for inner, part in m.lent[aid].inner:
            take(m, inner, part)
