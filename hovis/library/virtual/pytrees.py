"""Trees (:mod:`hovis.base.pytree`) of objects of the trace, whose contents are known without calls of their classes."""

from typing import Any

from hovis.base.pytree import NODES, children_of, make_instance
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import VObj
from hovis.engine.state.type_lookup import is_python_class
from hovis.engine.state.values import NONE, Dyn, Known, Ref, V
from hovis.library.virtual.base import Args, Named, action


@action(children_of, counts=(1, 1))
def children(m: Machine, args: Args, named: Named) -> V | None:
    """Return the children of an object of the trace; an unknown value is a leaf."""
    value = m.resolve(args[0])
    if m.class_of(value) in NODES:
        return None
    if isinstance(value, Known):
        found = children_of(value.value)
        if found is None:
            return NONE
        kind, extra, held = found
        if kind in ("sequence", "dict", "instance"):
            m.environment.static(value)
        return _node(m, kind, extra, tuple(map(Known, held)))
    if isinstance(value, Dyn):
        return NONE
    obj = m.state.heap[value.aid]
    if obj.kind in ("tuple", "list"):
        return _node(m, "sequence" if obj.cls in (tuple, list) else "named", None, obj.cells)
    if obj.kind == "dict" and obj.cls is dict:
        return _node(m, "dict", obj.keys, obj.cells)
    if obj.kind == "instance" and is_python_class(obj.cls) and not obj.content:
        return _node(m, "instance", obj.keys, obj.cells)
    return NONE


def _node(m: Machine, kind: str, extra: Any, cells: tuple[V, ...]) -> Ref:
    return m.new(VObj("tuple", tuple, (Known(kind), Known(extra), m.new(VObj("tuple", tuple, tuple(cells))))))


@action(make_instance, counts=(3, 3))
def instance(m: Machine, args: Args, named: Named) -> V | None:
    """Make an instance of a known class from its attributes."""
    cls, names, values = args
    obj = m.obj(values, "list", "tuple")
    if not isinstance(cls, Known) or not isinstance(names, Known) or obj is None:
        return None
    return m.new(VObj("instance", cls.value, obj.cells, names.value))  # type: ignore[arg-type]

