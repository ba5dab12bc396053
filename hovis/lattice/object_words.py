"""Words in the memory of objects that tell whether parts of these objects have changed: read many at once, and compare them with what they were.

CPython counts the changes of each dictionary (``ma_version_tag``, PEP 509, until 3.13), and holds the class of an object, the code of a function, the
MRO of a class, the items of a list and the attributes of an instance as pointers.  Reading one of them by Python code takes 20 to 140 ns; NumPy
collects hundreds from their addresses in 1 µs.

Where each word is, is found out by experiment when this module is imported; what cannot be found has no words.  The words of objects that the
guards hold are read first.  Memory that these refer to, and that may be gone (the items of a list, the dictionary of an instance), is read only
after the pointers to it have been found unchanged.
"""

import gc
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from types import CellType, FunctionType
from typing import Any, Final, Protocol

from hovis.lattice import inline_attributes
from hovis.lattice.attribute_slots import WORD, word

#: The number of words of an object that are searched.
_SEARCHED: Final = 48
#: Words of an object in front of its header: the pointers to its dictionary and to its attributes.
_DICTIONARY: Final = -3 * WORD
_VALUES: Final = -4 * WORD
#: Number of changes of a dictionary that its version has to tell apart.
_DISTINCT: Final = 1000
#: Pointers are larger than this.
_LOWEST: Final = 1 << 16


def _find(owner: object, held: object) -> int | None:
    """Return the offset of the only word of owner that points to held."""
    found = [at for at in range(2 * WORD, WORD * _SEARCHED, WORD) if at < type(owner).__basicsize__ and word(id(owner) + at) == id(held)]
    return found[0] if len(found) == 1 else None


def _version() -> int | None:
    """Return the offset of the word that counts the changes of a dictionary."""
    held = {"a": 1, "b": 2}
    places = range(2 * WORD, {}.__class__.__basicsize__, WORD)

    def changed(change: Callable[[], object]) -> set[int]:
        before = [word(id(held) + at) for at in places]
        change()
        return {at for at, then in zip(places, before, strict=True) if word(id(held) + at) != then}

    by = [changed(lambda: held.update(a=3)), changed(lambda: held.update(b=4)), changed(lambda: held.pop("a")), changed(lambda: held.update(a=1))]
    found = set.intersection(*by)
    if len(found) != 1 or changed(lambda: held["a"]):
        return None
    at, seen = found.pop(), set[int]()
    for k in range(_DISTINCT):  # a counter of a few bits would come back to a value
        held["a"] = k
        seen.add(word(id(held) + at))
    return at if len(seen) == _DISTINCT else None


class _Sample:
    def __init__(self) -> None:
        self.first, self.second = object(), object()


def _function(place: object = (), *, key: object = None) -> None: ...


def _find_values() -> tuple[int, int] | None:
    """Return the offset of the word that points to the attribute values of an instance without a dictionary, and what is to be added to it (the lowest
    bit may tell the pointer from one to a dictionary); None if there is no such word.
    """
    sample = _Sample()
    for at in (_DICTIONARY, _VALUES):
        found = word(id(sample) + at)
        pointer = found + (found & 1)
        if pointer % WORD == 0 and pointer > _LOWEST and (word(pointer), word(pointer + WORD)) == (id(sample.first), id(sample.second)):
            return at, found & 1
    return None


def _values_of(instance: object) -> int | None:
    """Return the address of the attribute values of an instance; None if it has a dictionary."""
    if _INLINE is None:
        return None
    at, mark = _INLINE
    found = word(id(instance) + at)
    return found + mark if found and found & 1 == mark else None


def _names(values: int) -> range | None:
    """Return the addresses of the words in front of attribute values that tell which attributes there are, in order of insertion: the last byte is
    their size in bytes (``_PyDictValues_AddToInsertionOrder`` in Objects/dictobject.c of 3.11 and 3.12).
    """
    size = word(values - WORD) >> 8 * (WORD - 1)
    return range(values - size, values, WORD) if size and size % WORD == 0 and sys.byteorder == "little" else None


def _has_names() -> bool:
    """Do the words of ``_names`` change whenever other attributes are there?"""
    sample = _Sample()
    seen = []
    changes: tuple[Callable[[], object], ...] = (
        lambda: None, lambda: setattr(sample, "third", 1), lambda: delattr(sample, "second"), lambda: setattr(sample, "fourth", 1)
    )  # fmt: skip
    for change in changes:
        change()
        values = _values_of(sample)
        places = None if values is None else _names(values)
        if places is None:
            return False
        seen.append([word(at) for at in places])
    return all(one != other for k, one in enumerate(seen) for other in seen[:k])


def _has_items() -> bool:
    sample = [object(), object()]
    pointer = word(id(sample) + 3 * WORD)
    return word(id(sample) + 2 * WORD) == len(sample) and [word(pointer), word(pointer + WORD)] == list(map(id, sample))


#: Are the layouts of objects those of a 64-bit CPython with a GIL?
IS_CPYTHON: Final = WORD == 8 and sys.implementation.name == "cpython" and getattr(sys, "_is_gil_enabled", lambda: True)()
_CODE: Final = _find(_function, _function.__code__) if IS_CPYTHON else None
_DEFAULTS: Final = _find(_function, _function.__defaults__) if IS_CPYTHON else None
_KWDEFAULTS: Final = _find(_function, _function.__kwdefaults__) if IS_CPYTHON else None
_MRO: Final = _find(_Sample, _Sample.__mro__) if IS_CPYTHON else None
_VERSION: Final = _version() if IS_CPYTHON else None
_CELL: Final = _find(CellType(_Sample), _Sample) if IS_CPYTHON else None
_LIST: Final = IS_CPYTHON and _has_items()
_INLINE: Final = _find_values() if IS_CPYTHON and inline_attributes.PUT_OFF else None
_NAMED: Final = _has_names()


class Words:
    """Words of objects, by address: ``first`` those in objects that live, ``second`` those in memory to which a word of ``first`` points."""

    __slots__ = ("first", "second")

    def __init__(self) -> None:
        self.first: dict[int, None] = {}
        self.second: dict[int, None] = {}

    # Each method adds the words that change whenever the part of the object does; False: they are not known.

    def add_dictionary(self, held: object) -> bool:
        """The contents of a dictionary."""
        return type(held) in (dict, defaultdict) and self._add(held, _VERSION)

    def add_class(self, instance: object) -> bool:
        """The class of an instance."""
        return self._add(instance, WORD if word(id(instance) + WORD) == id(type(instance)) else None)

    def add_mro(self, cls: type) -> bool:
        """The MRO of a class."""
        return self._add(cls, _MRO)

    def add_code(self, function: FunctionType) -> bool:
        """The code of a function."""
        return self._add(function, _CODE)

    def add_defaults(self, function: FunctionType) -> bool:
        """The default values of a function."""
        return _DEFAULTS is not None and self._add(function, _DEFAULTS) and self._add(function, _KWDEFAULTS)

    def add_contents(self, cell: CellType) -> bool:
        """The contents of a cell."""
        return self._add(cell, _CELL)

    def add_items(self, held: object, indexes: Iterable[int]) -> bool:
        """These items of a list."""
        if type(held) is not list or not _LIST:
            return False
        pointer = id(held) + 3 * WORD
        self.first |= {id(held) + 2 * WORD: None, pointer: None}
        self.second |= dict.fromkeys([word(pointer) + index * WORD for index in indexes])
        return True

    def add_attribute(self, instance: object, name: str, value: object) -> bool:
        """An attribute of an instance, which has this value."""
        own = inline_attributes.is_own(instance, name, value)
        if not own and not (self.add_names(instance) and all(self.add_dictionary(inline_attributes.dictionary_of(base)) for base in type(instance).__mro__)):
            return False
        if not inline_attributes.is_inline(instance):
            return self._add_dictionary_of(instance)
        # the referents are the attribute values in order, then the class
        values, parts = _values_of(instance), gc.get_referents(instance)[:-1]
        if values is None or [word(values + k * WORD) for k in range(len(parts))] != list(map(id, parts)):
            return False  # an attribute was deleted, or there are slots
        places = [values + k * WORD for k, part in enumerate(parts) if part is value]
        return self._add_inline(instance, places) if own or places else True

    def add_names(self, instance: object) -> bool:
        """Which attributes an instance has."""
        if not inline_attributes.is_inline(instance):
            return self._add_dictionary_of(instance)
        values = _values_of(instance)
        return self._add_inline(instance, _names(values) if values is not None and _NAMED else None)

    def _add_inline(self, instance: object, places: Iterable[int] | None) -> bool:
        """Add words of the attributes of an instance without a dictionary."""
        if _INLINE is None or not places or inline_attributes.has_slots(type(instance)):
            return False
        self.first[id(instance) + _INLINE[0]] = None
        self.second |= dict.fromkeys(places)
        return True

    def _add_dictionary_of(self, instance: object) -> bool:
        at = type(instance).__dictoffset__
        held = next((one for one in gc.get_referents(instance) if type(one) is dict), None)
        place = id(instance) + (at if at > 0 else _DICTIONARY)
        if held is None or _VERSION is None or not (at > 0 or inline_attributes.PUT_OFF) or word(place) != id(held):
            return False
        self.first[place] = None
        self.second[id(held) + _VERSION] = None  # the instance may have another dictionary later, and this one be gone
        return True

    def _add(self, held: object, offset: int | None) -> bool:
        if offset is None:
            return False
        self.first[id(held) + offset] = None
        return True

    def add(self, other: "Words") -> None:
        """Add all words of other."""
        self.first |= other.first
        self.second |= other.second


class Reader(Protocol):
    """Reads many words at once: ``places`` makes an index of their addresses, and ``memory[index].tobytes()`` is what they contain."""

    memory: Any

    def places(self, addresses: Iterable[int]) -> Any:
        """Return the index of the words at these addresses."""


#: The reader, which the library of NumPy provides; None if there is none.
reader: Reader | None = None
