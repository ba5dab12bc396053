"""Adopted arguments (:mod:`hovis.base.adopted_objects`), which are objects of the trace until its end."""

from collections.abc import Sequence
from typing import Any

from hovis.base.adopted_objects import Adopted, adopt, release
from hovis.engine.control import unpacking
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import VObj
from hovis.engine.state.specialization_tables import GiveUp
from hovis.engine.state.values import NONE, Known, Ref, V
from hovis.library.virtual.base import Args, Named, action


@action(adopt, counts=(2, 2))
def adopted(m: Machine, args: Args, named: Named) -> V:
    """Make the objects of the trace from the graph of the arguments: first all objects, then their contents, because they may refer to one
    another.
    """
    graph, leaves = args[0].value, unpacking.known_items(m, args[1])  # type: ignore[union-attr]
    assert isinstance(graph, Adopted)
    assert leaves is not None
    objects = [m.new(VObj(kind, cls, (), keys)) for kind, cls, keys, _ in graph.objects]
    held: dict[str, Sequence[V]] = {"object": objects, "leaf": leaves}

    def value(part: Any) -> V:
        what, *more = part
        if what == "object" or what == "leaf":
            found: V = held[what][more[0]]
            return found
        if what == "known":
            return Known(more[0])
        cls, parts = more
        return m.new(VObj("tuple", cls, tuple(map(value, parts))))

    for k, (ref, (kind, cls, keys, parts)) in enumerate(zip(objects, graph.objects, strict=True)):
        made = VObj(kind, cls, tuple(map(value, parts)), keys)
        made.adopted = k
        m.state.heap[ref.aid] = made
    positional = _tuple(m, *map(value, graph.positional))
    by_name = m.new(VObj("dict", dict, tuple([value(part) for _, part in graph.named]), tuple(name for name, _ in graph.named)))
    return _tuple(m, positional, by_name, _tuple(m, *objects))


@action(release, counts=(2, 2))
def released(m: Machine, args: Args, named: Named) -> V:
    """Return the contents of the adopted objects, which are the real objects of wholes from here on. Raise GiveUp if the contents of one are not
    known to the end, or can't be returned.
    """
    objects, wholes = m.obj(args[0], "tuple"), m.obj(args[1], "tuple")
    assert objects is not None
    assert wholes is not None
    contents = [_content(m, ref) for ref in objects.cells]
    for ref, whole in zip(objects.cells, wholes.cells, strict=True):
        assert isinstance(ref, Ref)
        obj = m.state.heap[ref.aid]
        m.state.heap[ref.aid] = obj.replace(node=m.operand(whole), adopted=None, cells=(), keys=(), forgotten=True, argument=True)
    return _tuple(m, *contents)


def _content(m: Machine, ref: V) -> V:
    obj = m.state.heap[ref.aid] if isinstance(ref, Ref) else None
    if obj is None or obj.adopted is None or obj.node is not None or obj.forgotten:
        raise GiveUp("an argument is not known until the function returns")
    if obj.kind == "set" or obj.kind == "objects":
        if obj.cells or obj.keys:
            raise GiveUp("a set among the arguments is changed")
        return NONE
    if obj.kind == "instance" and ("__dict__" in obj.keys or "__weakref__" in obj.keys):
        raise GiveUp("the __dict__ of an argument, or a weak reference to it, is used")
    return _tuple(m, Known(obj.keys), *obj.cells)


def _tuple(m: Machine, *cells: V) -> V:
    return m.new(VObj("tuple", tuple, cells))
