"""Sets of objects of the trace that are equal to nothing but themselves: kind "objects", the elements are the cells.

CPython iterates over such a set by where the objects lie in memory, which is any order; here it is that in which they were
added.  It has to stay so: a set that has been iterated over changes no more, and has to be real from the beginning if it is
to be built after all.
"""

from typing import Any, Final

from hovis.engine.machine import branches
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import OfTheTrace, VObj
from hovis.engine.state.type_lookup import find
from hovis.engine.state.values import Known, Ref, V
from hovis.ir.model import Function

#: What is an element: anything else that is hashed by identity would have to be known to be none of these.
_ELEMENTS: Final = frozenset({"instance", "function"})


def is_element(m: Machine, value: V) -> bool:
    """Is it an object of the trace, equal to nothing but itself?"""
    if not isinstance(value, Ref):
        return False
    obj = m.state.heap[value.aid]
    return obj.kind in _ELEMENTS and find(obj.cls, "__hash__") is object.__hash__ and find(obj.cls, "__eq__") is object.__eq__


def holding(m: Machine, items: list[V]) -> VObj | None:
    """A set of these; None: it is to be a real one."""
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
    """Where it is among these, -1 if nowhere; None: that is not known."""
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
    """One object a site, as it is part of the shape."""
    found: OfTheTrace = m.tables.answers.setdefault(site, OfTheTrace(site))
    return found


def escaped(functions: list[Function]) -> list[Any]:
    """The sites of sets that were built after they had been iterated over."""
    return [op.callee.site for function in functions for op in function.ops() if type(op.callee) is OfTheTrace]


def changeable(m: Machine, value: V) -> VObj | None:
    """A set of objects that may be changed."""
    obj = m.obj(value, "objects")
    return obj if obj is not None and obj.node is None and not obj.extra[1] else None


def elements(m: Machine, value: V) -> tuple[V, ...] | None:
    """What is in a set of objects, in the order that is from now on that of the set."""
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
    """An iterator over it."""
    found = elements(m, value)
    if found is None:
        return None
    site = m.state.heap[value.aid].extra[0]  # type: ignore[union-attr]
    return m.new(VObj("sequence_iter", cls, (m.new(VObj("tuple", tuple, found)), Known(0)), extra=site))
