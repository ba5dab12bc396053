"""Read the attributes of an instance without creating its ``__dict__``.

CPython 3.11 and 3.12 keep the attributes of an instance in an array, and make its ``__dict__`` when it is first read
(``make_dict_from_instance_attributes`` in Objects/dictobject.c).  From then on, for as long as the object lives, reading its attributes
and calling its methods takes about twice the time.  Code that only inspects an instance therefore reads the attributes one by one, by
``object.__getattribute__``.  CPython 3.13 keeps the array beside the dictionary: reading ``__dict__`` has no such cost there.
"""

import gc
import opcode
import types
import weakref
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from hovis.lattice import attribute_slots


class _Instance:
    def __init__(self) -> None:
        self.attribute = None


def _is_put_off() -> bool:
    """Whether an instance whose ``__dict__`` has been read refers to a dictionary in place of its attribute values."""
    instance = _Instance()
    vars(instance)
    return any(type(part) is dict for part in gc.get_referents(instance))


#: Does reading the ``__dict__`` of an instance change the instance?
PUT_OFF: Final = _is_put_off()

#: Flags of classes (CPython: Py_TPFLAGS_MANAGED_DICT, Py_TPFLAGS_HEAPTYPE, Py_TPFLAGS_IMMUTABLETYPE): instances may have no dictionary yet;
#: the class was made by a class statement, or at least is no static type of C code.
_MANAGED: Final = 1 << 4
_HEAP_TYPE: Final = 1 << 9
_CLASS_FLAGS: Final = _HEAP_TYPE | 1 << 8
#: Types of class attributes that give a new object each time they are read through an instance, without running any code.
_BINDING: Final = (types.FunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)
_STORE: Final = opcode.opmap["STORE_ATTR"]
#: Functions that store an attribute whose name is an argument.
_BY_NAME: Final = frozenset({"setattr", "__setattr__"})
_EXTENDED: Final = opcode.opmap["EXTENDED_ARG"]
#: Result if no class along the MRO, or no instance, has an attribute of this name.  (None may be the value of an attribute.)
ABSENT: Final = object()
#: Reads an attribute of an instance as ``object`` does, bypassing the hooks of its class.
plain: Final = object.__getattribute__
_GENERIC: Final = object.__dict__["__getattribute__"]


def is_inline(value: object) -> bool:
    """Whether an instance has no dictionary yet, and reading its ``__dict__`` would create one; False if that cannot be determined.

    An instance refers either to the values in its slots and its dictionary, or to the values in its slots and all its attribute values.
    """
    if not PUT_OFF or not _keeps_attributes_alone(type(value)):
        return False
    parts = [part for part in gc.get_referents(value) if issubclass(type(part), dict)]
    if not parts:
        return True
    if len(parts) == 1 and type(parts[0]) is dict and (told := _is_attribute(value, parts[0])) is not None:
        return told
    left = Counter(map(id, parts))
    for name, held in _read_by_name(value):
        if id(held) in left and not (name and dict.get(held, name) is held):
            left[id(held)] -= 1
    return not any(left.values())


def _is_attribute(value: object, held: dict[Any, Any]) -> bool | None:
    """Whether the dictionary held, which the instance value refers to, is an attribute of it and not its ``__dict__``; None if that is not clear
    from one key.
    """
    for name in held:
        if type(name) is str and in_class(type(value), name) is ABSENT:
            return read(value, name, ABSENT) is not held[name]
    return None


def _keeps_attributes_alone(cls: type) -> bool:
    """Whether instances of cls hold only attributes, in slots and by name, and may have no dictionary yet."""
    if not cls.__flags__ & _MANAGED:
        return False
    return all(base is object or base.__flags__ & _CLASS_FLAGS == _HEAP_TYPE for base in cls.__mro__)


def are_elsewhere(held: object, values: Sequence[object]) -> bool:
    """Whether the dictionary held belongs to none of the instances in values, which had no dictionary earlier."""
    return id(held) not in map(id, gc.get_referents(*values)) or not any(is_dict_of(held, value) for value in values)


def is_dict_of(held: object, value: object) -> bool:
    """Whether held is the ``__dict__`` of value, an instance that had no dictionary earlier."""
    return not is_inline(value) and plain(value, "__dict__") is held


def listed(value: object) -> dict[str, Any] | None:
    """Return the attributes of an instance without a dictionary, except slots, by name; None if the names that its class's code stores do not
    cover all.
    """
    left = Counter(map(id, gc.get_referents(value)))
    left[id(type(value))] -= 1
    found = {}
    for name, held in _read_by_name(value):
        left[id(held)] -= 1
        if name:
            found[name] = held
    return None if any(left.values()) else found


def can_read(cls: type, name: str) -> bool:
    """Whether :func:`read` can read the attribute name of an instance of cls without running any code."""
    held = in_class(cls, name)
    return held is ABSENT or binds(held) or type(held) is staticmethod or in_class(type(held), "__get__") is ABSENT


def binds(held: object) -> bool:
    """Whether held is a method of a class: reading it through an instance makes a new object each time, and runs no code."""
    return type(held) in _BINDING or (type(held) is classmethod and type(held.__func__) in _BINDING)


def given_by(held: Any) -> Any:
    """Return the result of reading the class attribute held, which is not a method and runs no code, through an instance."""
    return held.__func__ if type(held) is staticmethod else held


def has_hook(cls: type) -> bool:
    """Whether reading an attribute of an instance of cls, or a missing one, runs ``__getattr__`` or a ``__getattribute__`` of the class."""
    if attribute_slots.is_generic(cls):
        return False
    return in_class(cls, "__getattr__") is not ABSENT or in_class(cls, "__getattribute__") is not _GENERIC


def read(value: object, name: str, default: Any) -> Any:
    """Read an attribute whose name :func:`can_read` allows; return default if there is none, or if it is a method of the class.

    The value may also come from the class: :func:`is_own` tells whether the instance itself has the attribute.
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
    """Whether the instance itself has found, the result of :func:`read`; False if found may be the attribute of the class."""
    held = in_class(type(value), name)
    return held is ABSENT or binds(held) or found is not given_by(held)


def _read_by_name(value: object) -> Iterator[tuple[str, Any]]:
    """Yield the slot contents of an instance (with an empty name), and its own attributes under the names that its class's code stores."""
    cls = type(value)
    for slot in _slots(cls):
        try:
            yield "", slot.__get__(value)
        except (AttributeError, TypeError):  # the slot is empty, or belongs to another class
            continue
    for name in _names(cls):
        held = read(value, name, ABSENT) if can_read(cls, name) else ABSENT
        if held is not ABSENT and is_own(value, name, held):
            yield name, held


def in_class(cls: type, name: str) -> Any:
    """Return the attribute name along the MRO as it stands in the class dictionary, or ABSENT. No watcher of look-ups is notified."""
    for base in cls.__mro__:
        found = base.__dict__.get(name, ABSENT)
        if found is not ABSENT:
            return found
    return ABSENT


def dictionary_of(cls: type) -> dict[str, Any]:
    """Return the dictionary behind the mapping proxy of a class (to read, never to write)."""
    held: Any = next(iter(gc.get_referents(vars(cls))), None)
    return held if type(held) is dict else vars(cls)  # type: ignore[return-value]


def has_slots(cls: type) -> bool:
    """Whether instances of cls have slots."""
    return any(True for _ in _slots(cls))


def _slots(cls: type) -> Iterator[Any]:
    """Iterate over the slot descriptors of cls, each once, even if a class has it under several names."""
    found = {id(held): held for base in cls.__mro__ for held in base.__dict__.values() if type(held) is types.MemberDescriptorType}
    return iter(found.values())


#: id of a class → the class, and the names under which its code stores attributes.
_known: Final[dict[int, tuple["weakref.ref[type]", tuple[str, ...]]]] = {}


def _names(cls: type) -> tuple[str, ...]:
    at = id(cls)
    known = _known.get(at)
    if known is None or known[0]() is not cls:
        known = _known[at] = weakref.ref(cls, lambda _: _known.pop(at, None)), tuple(dict.fromkeys(_stored_by(cls)))
    return known[1]


def _stored_by(cls: type) -> Iterator[str]:
    """Yield the names under which the code of a class may store attributes, and the names that the class annotates."""
    for base in reversed(cls.__mro__):
        annotated = base.__dict__.get("__annotations__")  # noqa: RUF063  (as it stands in the class, without running code)
        if type(annotated) is dict:
            yield from (name for name in annotated if type(name) is str)
        for held in tuple(base.__dict__.values()):
            for function in (held, *_functions(held)):
                if type(function) is types.FunctionType:
                    yield from _stored(function.__code__)


def _functions(held: Any) -> tuple[object, ...]:
    """Return the functions that a property, class method or static method consists of; none for other objects."""
    if type(held) is property:
        return held.fget, held.fset
    return (held.__func__,) if type(held) in (classmethod, staticmethod) else ()


def _stored(code: types.CodeType) -> Iterator[str]:
    """Yield the names under which code stores, or may store, attributes of any object."""
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
