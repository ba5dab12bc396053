"""Stand-ins of C classes: whether the real object can be built from the known state of its stand-in."""

import itertools
from typing import Any

from hovis.engine.state.heap import VObj
from hovis.engine.state.values import Known, Ref, V
from hovis.lattice import Type
from hovis.library.core import Form


class NotMaterializable(Exception):
    """A generator, or an iterator that is partly consumed, has to be real from the beginning; args: the site that made it.

    Also raised for an object that has been lent to a residual function; args: ``lent_to`` its code.
    """


def form_of(heap: dict[int, VObj], obj: VObj) -> Form:
    """Return a form of the stand-in by which the real object can be built from what is known; raise NotMaterializable if there is none."""
    stand, site = obj.extra
    held = dict(zip(obj.keys, obj.cells, strict=True))
    for form in stand.forms:
        if _fits(heap, form, held):
            return form  # type: ignore[no-any-return]
    raise NotMaterializable(site)


def _fits(heap: dict[int, VObj], form: Form, held: dict[str, V]) -> bool:
    for name, wanted in form.when.items():
        value = held.get(name)
        if not isinstance(value, Known) or value.value is not wanted:
            return False
    for part in form.parts:
        value = held.get(part.attribute)
        if value is None:
            return False
        items = items_of(heap, value) if part.spread else [value]
        if items is None or (part.steady and not all(_steady(heap, v) for v in items)):
            return False
    return True


def items_of(heap: dict[int, VObj], value: V) -> list[V] | None:
    if isinstance(value, Known) and type(value.value) is tuple:
        return [Known(x) for x in value.value]
    if not isinstance(value, Ref) or heap[value.aid].forgotten or heap[value.aid].kind not in ("list", "tuple", "dict"):
        return None
    return list(heap[value.aid].cells)


def _steady(heap: dict[int, VObj], value: V) -> bool:
    """Is value an iterator of C code, which ``iter()`` returns unchanged?"""
    if isinstance(value, Known):
        return type(value.value) in ITERATORS
    cls = heap[value.aid].cls if isinstance(value, Ref) else value.type.cls if isinstance(value.type, Type) else None
    return cls in ITERATORS


def _iterator_classes() -> frozenset[type]:
    empty: Any = {}
    sources: Any = ([], (), "", "é", b"", empty, empty.values(), empty.items(), set(), range(0), range(2**100))
    found: set[type] = {type(iter(x)) for x in sources}
    found |= {type(reversed(x)) for x in (sources[0], *sources[5:8])} | {type(_ for _ in ()), type(iter(int, 1))}
    found |= {map, filter, zip, enumerate, reversed}
    return frozenset(found | {x for x in vars(itertools).values() if isinstance(x, type)})


#: Classes of iterators of C code.
ITERATORS = _iterator_classes()
