"""Inspect classes without running any code (CPython: _PyType_Lookup and the flags of types)."""

import functools
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from hovis.ir.operations import UNBOUND
from hovis.lattice import attribute_slots, inline_attributes

FUNCTION: Final = types.FunctionType
#: Flags of classes (CPython: Py_TPFLAGS_HEAPTYPE, Py_TPFLAGS_IS_ABSTRACT).
_HEAP_TYPE: Final = 1 << 9
_ABSTRACT: Final = 1 << 20

ABSENT: Final = inline_attributes.ABSENT

#: There is an attribute, but its behavior is not modelled: the real operation has to be emitted.
NOT_MODELLED: Final = object()

#: Classes of callables in whose place their ``_function`` is traced; filled by the jit.
ENTERED_THROUGH: Final[set[type]] = set()


#: Classes of descriptors of C code whose ``__get__`` runs no other code.
C_METHODS: Final = (types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)
C_DATA: Final = (types.GetSetDescriptorType, types.MemberDescriptorType)


class _Watching(threading.local):
    """The callback of this thread that is told of look-ups in classes."""

    note: Callable[[type, str], None] | None = None


_watching: Final = _Watching()


@contextmanager
def watched(note: Callable[[type, str], None] | None) -> Iterator[None]:
    """Call note with the class and the name of each look-up in the ``with`` block."""
    before, _watching.note = _watching.note, note
    try:
        yield
    finally:
        _watching.note = before


def find(cls: type, name: str) -> Any:
    """Return the attribute name along the MRO, as it stands in the class dictionary, or ABSENT (_PyType_Lookup)."""
    found = inline_attributes.in_class(cls, name)
    if _watching.note is not None:
        _watching.note(cls, name)
    return found


def is_data(cls: type, name: str) -> bool:
    """Is the attribute, in instances of cls as the class is now, their own or plain data? Nothing relies on the answer."""
    asked, hooks = ABSENT, 0
    for base in reversed(cls.__mro__):
        held = base.__dict__
        asked = held.get(name, asked)
        hooks += base is not object and not held.keys().isdisjoint(_HOOKS)
    return not hooks and (type(asked) is types.MemberDescriptorType or not any(hasattr(type(asked), hook) for hook in ("__get__", "__set__", "__delete__")))


#: Special methods that handle accesses to all attributes.
_HOOKS: Final = frozenset({"__getattr__", "__getattribute__", "__setattr__", "__delattr__"})


def lookup(cls: type, name: str) -> Any:
    """Like ``find``, but return None if there is no attribute: for special methods, which None disables as well."""
    found = find(cls, name)
    return None if found is ABSENT else found


def special(cls: type, name: str) -> Any:
    """Return a special method that is written in Python, or None if it is absent, builtin, or of another kind."""
    found = lookup(cls, name)
    return found if type(found) is FUNCTION else None


def method(cls: type, name: str) -> Any:
    """Return a special method: the Python function, ABSENT, or NOT_MODELLED for None, C code and all other kinds."""
    found = find(cls, name)
    return found if found is ABSENT or type(found) is FUNCTION else NOT_MODELLED


def bound_class(function: object) -> type:
    """Return the class of a method after it is bound to an instance."""
    return _BOUND.get(type(function), types.MethodType)


_BOUND: Final[dict[type, type]] = {types.MethodDescriptorType: types.BuiltinFunctionType, types.WrapperDescriptorType: types.MethodWrapperType}


def is_python_class(cls: type) -> bool:
    """Was cls made by a class statement?"""
    return bool(cls.__flags__ & _HEAP_TYPE) and getattr(cls, "__module__", None) != "builtins" and "__dict__" in type.__dict__


def is_common(cls: type) -> bool:
    """Is cls one of the builtin classes of plain data, whose instances run no code of the user by themselves?"""
    return id(cls) in _COMMON  # (a metaclass may define how classes are compared)


_COMMON: Final = frozenset(map(id, (int, float, complex, bool, str, bytes, type(None), list, dict, tuple, set, frozenset)))


def is_plain(cls: type) -> bool:
    """Can instances of cls be virtual: do they have only attributes and no finalizer, and are they made by ``object.__new__``?"""
    return lookup(cls, "__new__") is object.__dict__["__new__"] and has_plain_layout(cls)


def has_plain_layout(cls: type) -> bool:
    """Like ``is_plain``, but cls may have its own ``__new__`` in Python, which may call that of object."""
    if not is_python_class(cls) or cls.__flags__ & _ABSTRACT or lookup(cls, "__del__") is not None:
        return False
    return all(base is object or (is_python_class(base) and _layout_is_plain(base) and _new_is_python(base)) for base in cls.__mro__)


def _new_is_python(base: type) -> bool:
    """Does base have no ``__new__``, or one in Python? A class of C code has one in C."""
    new = base.__dict__.get("__new__")
    return new is None or (isinstance(new, staticmethod) and type(new.__func__) is FUNCTION)


def _layout_is_plain(base: type) -> bool:
    """Does base have no fields that Python does not see? A class of C code that others derive from has such fields."""
    slots = base.__dict__.get("__slots__")
    return base.__itemsize__ == 0 and (slots is not None or base.__basicsize__ <= object.__basicsize__ + 16 or _slots_below(base))


def _slots_below(base: type) -> bool:
    return any("__slots__" in b.__dict__ for b in base.__mro__) or base.__dictoffset__ != 0


def is_abstract(cls: type) -> bool:
    """Does ``object.__new__`` refuse to make an instance of cls?"""
    return bool(cls.__flags__ & _ABSTRACT)


def flat(classes: Any) -> list[Any]:
    """Return the classes given to ``isinstance`` or an except clause as a flat list."""
    if isinstance(classes, tuple):
        return [cls for part in classes for cls in flat(part)]
    if isinstance(classes, types.UnionType):
        return [types.NoneType if cls is None else cls for cls in classes.__args__]
    return [classes]


def asked(classes: Any) -> "list[type]":
    """Return the classes that decide themselves what is derived from them (``ABCMeta.__subclasscheck__``)."""
    return [cls for cls in flat(classes) if type(cls) is not type and find(type(cls), "__subclasscheck__") is not _PLAIN_CHECK]


_PLAIN_CHECK: Final = type.__dict__["__subclasscheck__"]

#: Modules of the standard library whose ``__subclasshook__`` methods only inspect classes.
_HARMLESS_HOOKS: Final = frozenset({"_collections_abc", "collections.abc", "contextlib", "typing", "os", "io", "abc"})


def has_own_hook(cls: type) -> bool:
    """Does cls have a ``__subclasshook__`` written by the user?"""
    hook = getattr(find(cls, "__subclasshook__"), "__func__", None)
    return type(hook) is FUNCTION and hook.__module__ not in _HARMLESS_HOOKS


def has_dict(cls: type) -> bool:
    """Do instances of cls have attributes in a dictionary of their own?"""
    return cls.__dictoffset__ != 0


def own_dict(value: object) -> dict[str, Any] | None:
    """Return the dictionary of a real object, or None if it has none, or none that is found in the usual way."""
    cls = type(value)
    if not has_dict(cls):
        return None
    found: Any = inline_attributes.in_class(cls, "__dict__")
    held = found.__get__(value) if type(found) in C_DATA else None
    return held if type(held) is dict else None


def attribute_place(value: object) -> Any:
    """Return what holds the attributes of a real object: its dictionary, or the object itself while it has none (see inline_attributes).

    None if they are not found in the usual way.
    """
    if inline_attributes.is_inline(value) and type(inline_attributes.in_class(type(value), "__dict__")) in C_DATA:
        return value
    return own_dict(value)


#: Classes of callables that bind arguments to another callable, with the names of the attributes that hold the callable and the arguments.
BOUND: Final[dict[type, tuple[str, ...]]] = {types.MethodType: ("__func__", "__self__"), functools.partial: ("func", "args", "keywords")}


def bound_parts(value: Any) -> dict[str, Any] | None:
    """Return the parts of a bound method or a ``functools.partial``, by name; None for other objects, or if it has attributes of its own."""
    names = BOUND.get(type(value))
    if names is None or (has_dict(type(value)) and own_dict(value) != {}):
        return None
    return {name: getattr(value, name) for name in names}


def slots_of(cls: type) -> dict[str, Any] | None:
    """Return the slot descriptors of instances of cls, by name; None if a slot cannot be identified by its name."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if not found.keys().isdisjoint(vars(base)):
            return None
        if is_python_class(base):
            found.update((name, held) for name, held in vars(base).items() if type(held) is types.MemberDescriptorType)
    return found or {name: vars(cls)[name] for name in BOUND.get(cls, ())}


def attributes_of(value: object, slots: dict[str, Any]) -> dict[str, Any] | None:
    """Return the contents of these slots and of the dictionary of a real object, by name; None if not all of its contents have a name."""
    found = {name: inside for name, held in slots.items() if (inside := in_slot(held, value)) is not UNBOUND}
    if has_dict(type(value)):
        held = own_dict(value)
        if held is None or not all(type(name) is str for name in held) or not slots.keys().isdisjoint(held):
            return None
        found.update(held)
    return found


def in_slot(slot: Any, value: object) -> Any:
    """Return the content of a slot, or UNBOUND if it is empty."""
    try:
        return slot.__get__(value)
    except AttributeError:
        return UNBOUND


def is_data_descriptor(raw: Any) -> bool:
    """Does raw define ``__set__`` or ``__delete__`` (PyDescr_IsData)?"""
    return find(type(raw), "__set__") is not ABSENT or find(type(raw), "__delete__") is not ABSENT


def answers_first(raw: Any) -> bool:
    """Does raw take precedence over an attribute of the instance? A descriptor with only ``__set__`` leaves reading to the instance."""
    return is_data_descriptor(raw) and find(type(raw), "__get__") is not ABSENT


def own_getattribute(cls: type) -> bool:
    """Does cls look up attributes in another way than ``object``?"""
    found = lookup(cls, "__getattribute__")
    return type(found) is FUNCTION or issubclass(cls, _OWN_WAY) or (attribute_slots.has_own_routine(cls) and not issubclass(cls, _OWN_CASE))


#: Classes of C code whose tp_getattro is not the generic one: ``_OWN_WAY`` lists some of them, in case the slot can't be read; ``_OWN_CASE`` those that
#: hovis models.
_OWN_WAY: Final = (types.GenericAlias, weakref.ProxyType, weakref.CallableProxyType)
_OWN_CASE: Final = (type, super, types.ModuleType, types.MethodType)
