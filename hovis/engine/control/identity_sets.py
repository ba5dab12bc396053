"""Sets of objects of the trace that are equal only to themselves: kind "objects", whose cells are the elements.

CPython iterates over such a set by the addresses of the objects, that is, in an arbitrary order; here the order is that in which
they were added.  This order has to remain: a set that has been iterated over is no longer changed while it is virtual, and if it has
to be materialized after all, it has to be real from the beginning.
"""

from typing import Any, Final

from hovis.engine.machine import branches
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import OfTheTrace, VObj
from hovis.engine.state.type_lookup import find
from hovis.engine.state.values import Known, Ref, V
from hovis.ir.model import Function

#: Kinds of elements. Of any other object that is hashed by identity it would have to be known that it is none of these elements.
_ELEMENTS: Final = frozenset({"instance", "function"})


def is_element(m: Machine, value: V) -> bool:
    """Is value an object of the trace that is equal only to itself?"""
    if not isinstance(value, Ref):
        return False
    obj = m.state.heap[value.aid]
    return obj.kind in _ELEMENTS and find(obj.cls, "__hash__") is object.__hash__ and find(obj.cls, "__eq__") is object.__eq__


def holding(m: Machine, items: list[V]) -> VObj | None:
    """Make a set of items; None if it has to be a real one."""
    site = _site(m)
    if site in m.tables.not_virtual or not items or not all(is_element(m, item) for item in items):
        return None
    kept: list[V] = []
    for item in items:
        at = place(m, tuple(kept), item)
        if at is None:
            return None
        if at < 0:
            kept.append(item)
    return VObj("objects", set, tuple(kept), extra=(_order(m, site), False))


def place(m: Machine, cells: tuple[V, ...], value: V) -> int | None:
    """Return the index of value in cells, -1 if it is not there, None if that is not known."""
    for at, cell in enumerate(cells):
        same = branches.identical(m, cell, value)
        if same is None:
            return None
        if same.value:
            return at
    return -1


def _site(m: Machine) -> Any:
    return "objects", m.frame.code.code, m.frame.pc


def _order(m: Machine, site: Any) -> OfTheTrace:
    """Return the `OfTheTrace` of a site: one object per site, because it is part of the shape."""
    found: OfTheTrace = m.tables.answers.setdefault(site, OfTheTrace(site))
    return found


def escaped(functions: list[Function]) -> list[Any]:
    """Collect the sites of sets that were materialized after they had been iterated over."""
    return [op.callee.site for function in functions for op in function.ops() if type(op.callee) is OfTheTrace]


def changeable(m: Machine, value: V) -> VObj | None:
    """Return the set of objects that value is, if it may still be changed; else None."""
    obj = m.obj(value, "objects")
    return obj if obj is not None and obj.node is None and not obj.extra[1] else None


def elements(m: Machine, value: V) -> tuple[V, ...] | None:
    """Return the elements of a set of objects, and fix their order from now on; None if they are not known."""
    obj = m.obj(value, "objects", "set")
    if obj is None or obj.node is not None:
        return None
    assert isinstance(value, Ref)
    if obj.kind == "set":
        if obj.keys or obj.cls is not set or (site := _site(m)) in m.tables.not_virtual:
            return None
        obj = VObj("objects", set, extra=(_order(m, site), True)).replace(adopted=obj.adopted)
    m.put(value, obj.replace(extra=(obj.extra[0], True)))
    return obj.cells


def iterator(m: Machine, value: V, cls: type) -> Ref | None:
    """Make an iterator over a set of objects; None if its elements are not known."""
    found = elements(m, value)
    if found is None:
        return None
    site = m.state.heap[value.aid].extra[0]  # type: ignore[union-attr]
    return m.new(VObj("sequence_iter", cls, (m.new(VObj("tuple", tuple, found)), Known(0)), extra=site))
