"""Iterators: the results of ``iter(x)`` (CPython: PyObject_GetIter)."""

from typing import Any, Final

from hovis.engine.calls import builtin_payload, models
from hovis.engine.calls.builtins import call_builtin
from hovis.engine.control import identity_sets
from hovis.engine.machine.call_results import finish
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import VObj
from hovis.engine.state.lifetimes import GENERATOR
from hovis.engine.state.type_lookup import ABSENT, FUNCTION, NOT_MODELLED, find, is_python_class, lookup
from hovis.engine.state.values import Dyn, Known, Ref, V
from hovis.engine.traced import slot_protocols
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.lattice import Array, Items, Type

NO_ITERABLES: Final = frozenset({type(None), bool, int, float, complex})

ITERATOR_OF: Final[dict[type, type]] = {
    kind: type(iter(kind())) for kind in (list, tuple, str, bytes, dict, set, frozenset)
}  # fmt: skip
RANGE_ITERATOR: Final = type(iter(range(0)))
VIEW_ITERATORS: Final[dict[str, type]] = {"keys": type(iter({}.keys())), "values": type(iter({}.values())), "items": type(iter({}.items()))}


def get_iter(m: Machine, value: V, mode: str = "value") -> int | None:
    """``iter(value)``."""
    value = m.resolve(value)
    value = builtin_payload.plain(m, value, ("__iter__",)) or value
    if isinstance(value, Ref):
        obj = m.state.heap[value.aid]
        if obj.kind in ("sequence_iter", "range_iter", "dict_iter", "generator"):
            return finish(m, value, mode)
        own = lookup(obj.cls, "__iter__")
        if obj.kind in ("list", "tuple") and own in (list.__iter__, tuple.__iter__):
            return finish(m, sequence_iterator(m, value, ITERATOR_OF[list if obj.kind == "list" else tuple]), mode)
        if obj.kind == "dict" and own is dict.__iter__:
            return finish(m, dict_iterator(m, value, "keys"), mode)
        if obj.kind in ("objects", "set") and (over := identity_sets.iterator(m, value, ITERATOR_OF[set])) is not None:
            return finish(m, over, mode)
        if obj.kind == "view":
            return finish(m, _view_iterator(m, value, obj), mode)
        if obj.kind == "range" and _steps(obj.cells[2]):
            return finish(m, m.new(VObj("range_iter", RANGE_ITERATOR, obj.cells), value.labels), mode)
    elif isinstance(value, Known):
        made = _iter_known(m, value)
        if made is not None:
            return finish(m, made, mode)
    elif is_open(m, value):
        return finish(m, sequence_iterator(m, value, ITERATOR_OF[list]), mode)
    if m.class_of(value) is GENERATOR:
        return finish(m, value, mode)
    cls = models.acting_class(m, value)
    if cls is not None and cls in NO_ITERABLES:
        return m.raise_new(TypeError, f"'{ops.name_of_class(cls)}' object is not iterable")
    walk = m.library.actions.get(lookup(cls, "__iter__")) if isinstance(value, Dyn) and cls is not None else None
    if walk is not None and (stepped := walk(m, [value], {})) is not None:
        return m.call(stepped[0], stepped[1], {}, mode)
    if cls is not None and is_python_class(cls):
        made = iter_instance(m, value, mode)
        if made is not NOT_MODELLED:
            return made  # type: ignore[no-any-return]
    if cls in ITERATOR_OF and isinstance(value, Dyn):
        kind, known = Type(ITERATOR_OF[cls]), value.type
        if isinstance(known, Items):
            kind = Items(kind.cls, known.keys or known.items)
        return finish(m, m.emit(iter, [value], type=kind, effect=Effect.READS), mode)
    if isinstance(value, Known | Ref) or cls is not None:
        return call_builtin(m, iter, [value], {}, mode)
    return finish(m, m.emit(iter, [value]), mode)


def is_open(m: Machine, value: Dyn) -> bool:
    """Is value iterated over by position, whether or not its length is known?"""
    return bool(isinstance(value.type, Array) and value.type.rank) or m.is_own_list(value)


def iter_instance(m: Machine, value: V, mode: str) -> Any:
    """Get an iterator by ``__iter__``, else by ``__getitem__`` (PyObject_GetIter)."""
    found = models.special(m, value, "__iter__")
    cls = models.written_class(m, value)
    if cls is None:
        return NOT_MODELLED
    if found is ABSENT and type(find(cls, "__getitem__")) is FUNCTION:
        if m.user_site() in m.tables.not_virtual:
            return NOT_MODELLED
        return m.call(Known(slot_protocols.by_position), [value], {}, mode)
    if (found is ABSENT and find(cls, "__getitem__") is ABSENT) or (found is NOT_MODELLED and find(cls, "__iter__") is None):
        return m.raise_new(TypeError, f"'{ops.name_of_class(cls)}' object is not iterable")
    if found is ABSENT or found is NOT_MODELLED:
        return NOT_MODELLED
    return m.call(Known(slot_protocols.iterator_of), [Known(found), value], {}, mode)


def _steps(step: V) -> bool:
    return (type(step.value) is int and step.value != 0) if isinstance(step, Known) else isinstance(step, Dyn) and step.type == Type(int)


def sequence_iterator(m: Machine, source: V, cls: type) -> Ref:
    """Make an iterator by position over a source that can be indexed."""
    return m.new(VObj("sequence_iter", cls, (source, Known(0))))


def dict_iterator(m: Machine, source: Ref, view: str) -> Ref:
    """Make an iterator over the keys, values or items of a dict of this trace."""
    size = len(m.state.heap[source.aid].cells)
    return m.new(VObj("dict_iter", VIEW_ITERATORS[view], (source, Known(0), Known(size)), extra=view))


def _view_iterator(m: Machine, value: Ref, obj: VObj) -> V:
    source = obj.cells[0]
    if obj.node is None and isinstance(source, Ref) and m.obj(source, "dict") is not None:
        return dict_iterator(m, source, obj.extra)
    if obj.node is None and isinstance(source, Known) and type(source.value) is dict and m.environment.static(source):
        items = tuple(getattr(source.value, obj.extra)())
        return sequence_iterator(m, Known(items, source.labels), VIEW_ITERATORS[obj.extra])
    return m.emit(iter, [value], type=Type(VIEW_ITERATORS[obj.extra]), effect=Effect.READS)


def _iter_known(m: Machine, value: Known) -> V | None:
    held: Any = value.value
    kind = type(held)
    if kind in (list, tuple, str, bytes) and m.environment.static(value):
        return sequence_iterator(m, value, ITERATOR_OF[kind])
    if isinstance(held, range):
        return m.new(VObj("range_iter", RANGE_ITERATOR, tuple(Known(x, value.labels) for x in (held.start, held.stop, held.step))))
    if kind in (dict, set, frozenset) and m.environment.static(value):
        # if it escapes, the real iterator is one over the container itself
        return m.new(VObj("sequence_iter", ITERATOR_OF[kind], (Known(tuple(held), value.labels), Known(0)), extra=held))
    return None
