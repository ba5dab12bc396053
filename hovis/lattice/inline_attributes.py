"""Read what an instance itself has, and leave its attributes where they are.

CPython 3.11 and 3.12 keep the attributes of an instance in an array, and make its ``__dict__`` when it is first asked for
(``make_dict_from_instance_attributes`` in Objects/dictobject.c).  From then on, for as long as the object lives, its attributes are
read and its methods called in about twice the time.  So whoever only looks reads them one by one, by ``object.__getattribute__``.
CPython 3.13 keeps the array beside the dictionary: there it costs nothing to ask for it.
"""

import gc
import opcode
import types
import weakref
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final


class _Instance:
    def __init__(self) -> None:
        self.attribute = None


def _is_put_off() -> bool:
    """Does an instance refer to a dictionary in place of its attributes, once it has been asked for it?"""
    instance = _Instance()
    vars(instance)
    return any(type(part) is dict for part in gc.get_referents(instance))


#: Does it change an instance to ask for its dictionary?
PUT_OFF: Final = _is_put_off()

#: Flags of classes (CPython: Py_TPFLAGS_MANAGED_DICT, Py_TPFLAGS_HEAPTYPE, Py_TPFLAGS_IMMUTABLETYPE): instances may have no dictionary yet;
#: a class statement made it, or at least no static C code.
_MANAGED: Final = 1 << 4
_HEAP_TYPE: Final = 1 << 9
_CLASS_FLAGS: Final = _HEAP_TYPE | 1 << 8
#: What a class gives anew each time that it is read through an instance, and runs nothing for.
_BINDING: Final = (types.FunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)
_STORE: Final = opcode.opmap["STORE_ATTR"]
#: What stores an attribute by a name that it is given.
_BY_NAME: Final = frozenset({"setattr", "__setattr__"})
_EXTENDED: Final = opcode.opmap["EXTENDED_ARG"]
#: No class along the MRO, or no instance, has anything by that name.  (None may be the very value.)
ABSENT: Final = object()
#: Reads an attribute of an instance as ``object`` does, past the hooks of its class.
plain: Final = object.__getattribute__
_GENERIC: Final = object.__dict__["__getattribute__"]


def is_inline(value: object) -> bool:
    """Has an instance no dictionary yet, so that asking for it would make one?  False where that can't be told.

    An instance refers to what is in its slots and to its dictionary, or to all that its attributes are.
    """
    if not PUT_OFF or not _keeps_attributes_alone(type(value)):
        return False
    parts = [part for part in gc.get_referents(value) if issubclass(type(part), dict)]
    if not parts:
        return True
    left = Counter(map(id, parts))
    for name, held in _read_by_name(value):
        if id(held) in left and not (name and dict.get(held, name) is held):
            left[id(held)] -= 1
    return not any(left.values())


def _keeps_attributes_alone(cls: type) -> bool:
    """Do instances of cls have nothing but attributes, in slots and by name, and may they have no dictionary yet?"""
    if not cls.__flags__ & _MANAGED:
        return False
    return all(base is object or base.__flags__ & _CLASS_FLAGS == _HEAP_TYPE for base in cls.__mro__)


def are_elsewhere(held: object, values: Sequence[object]) -> bool:
    """Is a dictionary that of none of these instances, which had none once?"""
    return id(held) not in map(id, gc.get_referents(*values)) or not any(is_dict_of(held, value) for value in values)


def is_dict_of(held: object, value: object) -> bool:
    """Is it the dictionary of an instance that had none once?"""
    return not is_inline(value) and plain(value, "__dict__") is held


def listed(value: object) -> dict[str, Any] | None:
    """All that an instance without a dictionary has itself, by name; None where the names that its class's code stores by are not all."""
    left = Counter(map(id, gc.get_referents(value)))
    left[id(type(value))] -= 1
    found = {}
    for name, held in _read_by_name(value):
        left[id(held)] -= 1
        if name:
            found[name] = held
    return None if any(left.values()) else found


def can_read(cls: type, name: str) -> bool:
    """Does :func:`read` tell what an instance of cls has by that name, and run nothing?"""
    held = in_class(cls, name)
    return held is ABSENT or binds(held) or type(held) is staticmethod or in_class(type(held), "__get__") is ABSENT


def binds(held: object) -> bool:
    """Is it a method that a class has: read through an instance, it gives another object each time, and runs nothing?"""
    return type(held) in _BINDING or (type(held) is classmethod and type(held.__func__) in _BINDING)


def given_by(held: Any) -> Any:
    """What is read through an instance where its class has this, which is no method and runs nothing."""
    return held.__func__ if type(held) is staticmethod else held


def has_hook(cls: type) -> bool:
    """Does reading an attribute of an instance of cls, or one that is missing, run code of its own?"""
    return in_class(cls, "__getattr__") is not ABSENT or in_class(cls, "__getattribute__") is not _GENERIC


def read(value: object, name: str, default: Any) -> Any:
    """What is read by a name that :func:`can_read` allows for; default where that is nothing, or a method of the class.

    A value that the class has is given as well: whether the instance has the very same object itself is not told (:func:`is_own` does).
    """
    held = in_class(type(value), name)
    if held is not ABSENT:
        found = plain(value, name)
        return default if binds(held) and found is not plain(value, name) else found
    try:
        return plain(value, name)
    except AttributeError:
        return default


def is_own(value: object, name: str, found: object) -> bool:
    """Has an instance itself what :func:`read` found?  False where it may be the class's."""
    held = in_class(type(value), name)
    return held is ABSENT or binds(held) or found is not given_by(held)


def _read_by_name(value: object) -> Iterator[tuple[str, Any]]:
    """What is in the slots of an instance (without a name), and what it has itself by the names that the code of its class stores by."""
    cls = type(value)
    for slot in _slots(cls):
        try:
            yield "", slot.__get__(value)
        except (AttributeError, TypeError):  # there is nothing in it, or it is one of another class
            continue
    for name in _names(cls):
        held = read(value, name, ABSENT) if can_read(cls, name) else ABSENT
        if held is not ABSENT and is_own(value, name, held):
            yield name, held


def in_class(cls: type, name: str) -> Any:
    """What stands in a class by that name; nobody is told that it was asked."""
    for base in cls.__mro__:
        found = base.__dict__.get(name, ABSENT)
        if found is not ABSENT:
            return found
    return ABSENT


def _slots(cls: type) -> Iterator[Any]:
    """The descriptors of the slots, each once, under however many names it stands in a class."""
    found = {id(held): held for base in cls.__mro__ for held in base.__dict__.values() if type(held) is types.MemberDescriptorType}
    return iter(found.values())


#: By the ids of classes: the class, and the names that its code stores attributes by.
_known: Final[dict[int, tuple["weakref.ref[type]", tuple[str, ...]]]] = {}


def _names(cls: type) -> tuple[str, ...]:
    at = id(cls)
    known = _known.get(at)
    if known is None or known[0]() is not cls:
        known = _known[at] = weakref.ref(cls, lambda _: _known.pop(at, None)), tuple(dict.fromkeys(_stored_by(cls)))
    return known[1]


def _stored_by(cls: type) -> Iterator[str]:
    """The names by which the code of a class may store attributes, and those that it annotates."""
    for base in reversed(cls.__mro__):
        annotated = base.__dict__.get("__annotations__")  # noqa: RUF063  (as it stands: nothing is run for it)
        if type(annotated) is dict:
            yield from (name for name in annotated if type(name) is str)
        for held in tuple(base.__dict__.values()):
            for function in (held, *_functions(held)):
                if type(function) is types.FunctionType:
                    yield from _stored(function.__code__)


def _functions(held: Any) -> tuple[object, ...]:
    """The functions that a descriptor of a class is made of."""
    if type(held) is property:
        return held.fget, held.fset
    return (held.__func__,) if type(held) in (classmethod, staticmethod) else ()


def _stored(code: types.CodeType) -> Iterator[str]:
    """The names by which code stores attributes of anything, or may do so."""
    extended, text = 0, code.co_code
    for at in range(0, len(text), 2):
        op, arg = text[at], text[at + 1]
        if op == _STORE:
            yield code.co_names[extended | arg]
        extended = (extended | arg) << 8 if op == _EXTENDED else 0
    if not _BY_NAME.isdisjoint(code.co_names):
        yield from (name for name in code.co_consts if type(name) is str and name.isidentifier())
    for inner in code.co_consts:
        if type(inner) is types.CodeType:
            yield from _stored(inner)
