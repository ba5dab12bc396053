"""The versions by which CPython's inline caches identify classes (``tp_version_tag`` of types; Objects/typeobject.c).

A class gets a new version when it is used after a change.  Where the version is in a type object is found out by experiment.
"""

import ctypes
import itertools
from typing import Final

#: Number of bytes of a version.
_SIZE: Final = 4
#: Number of changes of a class that its version has to tell apart.
_DISTINCT: Final = 8


def _number(cls: type, at: int) -> int:
    return ctypes.c_uint32.from_address(id(cls) + at).value


def _find() -> int | None:
    """Return the offset of the number that grows whenever a class is used after a change; None if there is no such number."""
    samples: list[type] = [type("First", (), {}), type("Second", (), {})]
    size: int = type.__dict__["__basicsize__"].__get__(type)
    places = range(0, size - _SIZE + 1, _SIZE)
    seen = []
    for k in range(_DISTINCT):  # all classes take their versions from one counter, another number may count the changes of each class
        sample = samples[k % 2]
        sample.changed = k  # type: ignore[attr-defined]
        getattr(sample, "changed")  # noqa: B009
        seen.append([_number(sample, at) for at in places])
    found = [at for at, numbers in zip(places, zip(*seen, strict=True), strict=True) if all(a < b for a, b in itertools.pairwise(numbers))]
    return found[0] if len(found) == 1 else None


_PLACE: Final = _find()


def version(cls: type) -> int:
    """Return the present version of a class; 0: it has none.

    >>> version(int) != version(str)
    True
    """
    return 0 if _PLACE is None else _number(cls, _PLACE)


def classes() -> dict[int, type]:
    """Return all classes that have versions, by version."""
    found: dict[int, type] = {}
    if _PLACE is None:
        return found
    todo, seen = [object], set[int]()
    while todo:
        cls = todo.pop()
        if id(cls) not in seen:  # a metaclass may define hash and equality
            seen.add(id(cls))
            todo += type.__subclasses__(cls)
            if number := _number(cls, _PLACE):
                found[number] = cls
    return found
