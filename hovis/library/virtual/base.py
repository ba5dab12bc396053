"""What the rules share: which objects may be acted on, and when a key is known."""

import sys
from typing import Any, Final

from hovis.engine.folding import _MISSING, reify
from hovis.engine.heap import VObj
from hovis.engine.lookups import lookup
from hovis.engine.machine import Machine
from hovis.engine.values import STRONG, Known, Ref, V, labels_of
from hovis.lattice.constants import is_immutable
from hovis.library.core import Library

VIRTUAL: Final = Library("virtual")
action = VIRTUAL.action

Args = list[V]
Named = dict[str, V]

#: Containers larger than this are real.
CELLS: Final = 1_024


def own(m: Machine, value: V, *kinds: str) -> VObj | None:
    """A virtual object of these kinds that nobody else holds: strong updates are allowed."""
    obj = m.obj(value, *kinds)
    return obj if obj is not None and obj.node is None else None


def plain(obj: VObj, name: str, cls: type) -> bool:
    """Does the object's class leave this special method as the builtin class has it?"""
    return obj.cls is cls or lookup(obj.cls, name) is cls.__dict__.get(name)


def out_of_range(m: Machine, index: int, complaint: str) -> int:
    """The IndexError of an index that is not there."""
    if not -sys.maxsize - 1 <= index <= sys.maxsize:
        complaint = "cannot fit 'int' into an index-sized integer"
    return m.raise_new(IndexError, complaint)


def known_key(key: V) -> bool:
    """Can key be looked up now?"""
    return isinstance(key, Known) and (is_immutable(key.value) or type(key.value).__hash__ is object.__hash__)


def as_constant(m: Machine, key: V) -> "V | None":
    """A virtual tuple of known parts, as the known tuple; the key itself if it is known."""
    if isinstance(key, Ref):
        obj = m.obj(key, "tuple")
        if obj is not None and obj.cls is tuple:
            found = reify(m, key)
            return None if found is _MISSING else Known(found, labels_of(key, *obj.cells))
        return None
    return key


def use(m: Machine, *values: V) -> None:
    for value in values:
        m.use(value, STRONG)


def slice_of(m: Machine, key: V) -> slice | None:
    """A known slice of ints and None."""
    if isinstance(key, Ref):
        obj = m.obj(key, "slice")
        if obj is not None and all(isinstance(c, Known) and (c.value is None or type(c.value) is int) for c in obj.cells):
            if isinstance(obj.cells[2], Known) and obj.cells[2].value == 0:
                return None
            for c in obj.cells:
                m.use(c, STRONG)
            held: Any = [c.value for c in obj.cells if isinstance(c, Known)]
            return slice(*held)
    if isinstance(key, Known) and type(key.value) is slice and is_immutable(key.value) and key.value.step != 0:
        return key.value
    return None


def is_iterator(m: Machine, value: Ref) -> bool:
    return m.state.heap[value.aid].kind in ("generator", "sequence_iter", "range_iter", "dict_iter", "range", "instance", "set")
