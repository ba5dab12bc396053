"""Find out whether a class has its own C routine for attribute look-up on its instances (the slot ``tp_getattro`` of types).

Python shows the slot as ``__getattribute__``, but not which C routine it contains: that of `list` is the routine of `object` under another wrapper,
that of `threading.local` is not.  So the slot itself is read.  Its offset in a type object is found by comparing known types (PyTypeObject in
CPython's Include/cpython/object.h has had the same layout since 3.8, but builds differ in what precedes it).
"""

import ctypes
import types
from collections.abc import Iterator
from typing import Any, Final


class _Hook:
    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


class _Own:
    def __getattribute__(self, name: str) -> Any:
        return object.__getattribute__(self, name)


#: Number of words of a type object that are searched for the slot; no type object is shorter.
_WORDS: Final = 40
#: Number of bytes of a word.
WORD: Final = ctypes.sizeof(ctypes.c_void_p)


def word(address: int) -> int:
    """Return the word in memory at an address."""
    return ctypes.c_size_t.from_address(address).value


def object_at(address: int) -> object:
    """Return the object whose memory begins at an address; it has to be alive."""
    return ctypes.cast(address, ctypes.py_object).value


def _word(cls: type, at: int) -> int:
    return word(id(cls) + at)


def _place() -> int | None:
    """Return the byte offset of the slot ``tp_getattro`` in a type object, or None if it cannot be determined."""
    wanted = ctypes.cast(ctypes.pythonapi.PyObject_GenericGetAttr, ctypes.c_void_p).value
    alike, others = (object, int, list, dict, tuple, str, types.CodeType), (type, super, types.ModuleType, types.MethodType, _Hook, _Own)
    found = [at for at in range(0, WORD * _WORDS, WORD) if all(_word(cls, at) == wanted for cls in alike)]
    found = [at for at in found if all(_word(cls, at) != wanted for cls in others)]
    return found[0] if len(found) == 1 else None


_PLACE: Final = _place()


def _usual() -> Iterator[int | None]:
    """Yield the addresses of the usual routines: that of ``object``, and those of classes with hooks in Python, which call it or the hooks."""
    if _PLACE is not None:
        yield from (_word(cls, _PLACE) for cls in (object, _Hook, _Own))
        hasattr(_Own(), "nothing")  # its first use replaces the routine in the slot by another one (slot_tp_getattro)
        yield _word(_Own, _PLACE)


_USUAL: Final = frozenset(_usual())


def is_generic(cls: type) -> bool:
    """Whether instances of cls look up attributes by the C routine of ``object``, and there are no hooks; False if that is not known.

    >>> import ast
    >>> [is_generic(cls) for cls in (list, ast.Name, type("C", (), {}), types.ModuleType, _Hook, _Own)]
    [True, True, True, False, False, False]
    """
    return _PLACE is not None and _word(cls, _PLACE) == _word(object, _PLACE)


def has_own_routine(cls: type) -> bool:
    """Whether instances of cls look up attributes by a C routine of the class's own. Hooks written in Python do not count.

    >>> import threading, decimal
    >>> [has_own_routine(cls) for cls in (list, type("C", (), {}), threading.local, decimal.Context, type("L", (threading.local,), {}))]
    [False, False, True, True, True]
    """
    return _PLACE is not None and any(_word(base, _PLACE) not in _USUAL for base in cls.__mro__)
