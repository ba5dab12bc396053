"""Tell by what routine of C instances of a class look for their attributes (the slot ``tp_getattro`` of types).

Python shows the slot as ``__getattribute__``, but not what stands in it: that of `list` is the routine of `object` under another wrapper, that of
`threading.local` is not.  So the slot itself is read.  Where it stands in a type is found by comparing types that are known (PyTypeObject in
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


#: Words of a type object that are looked at to find the slot; no type is shorter.
_WORDS: Final = 40
_WORD: Final = ctypes.sizeof(ctypes.c_void_p)


def _word(cls: type, at: int) -> int | None:
    return ctypes.c_void_p.from_address(id(cls) + at).value


def _place() -> int | None:
    """Where in a type the slot is; None where that can't be told."""
    wanted = ctypes.cast(ctypes.pythonapi.PyObject_GenericGetAttr, ctypes.c_void_p).value
    alike, others = (object, int, list, dict, tuple, str, types.CodeType), (type, super, types.ModuleType, types.MethodType, _Hook, _Own)
    found = [at for at in range(0, _WORD * _WORDS, _WORD) if all(_word(cls, at) == wanted for cls in alike)]
    found = [at for at in found if all(_word(cls, at) != wanted for cls in others)]
    return found[0] if len(found) == 1 else None


_PLACE: Final = _place()


def _usual() -> Iterator[int | None]:
    """The routine of objects, and those of classes with hooks written in Python, which call it or the hooks."""
    if _PLACE is not None:
        yield from (_word(cls, _PLACE) for cls in (object, _Hook, _Own))
        hasattr(_Own(), "nothing")  # from its first use on there is another one for `__getattribute__` (slot_tp_getattro)
        yield _word(_Own, _PLACE)


_USUAL: Final = frozenset(_usual())


def has_own_routine(cls: type) -> bool:
    """Do instances of a class look for attributes by C code of its own?  Hooks that are written in Python are none.

    >>> import threading, decimal
    >>> [has_own_routine(cls) for cls in (list, type("C", (), {}), threading.local, decimal.Context, type("L", (threading.local,), {}))]
    [False, False, True, True, True]
    """
    return _PLACE is not None and any(_word(base, _PLACE) not in _USUAL for base in cls.__mro__)
