"""List the objects that an object holds, including those that the garbage collector is not told of."""

import contextvars
import datetime
import gc
import itertools
import sys
import threading
from collections.abc import Iterable
from typing import Any, Final

_NO_VALUE = object()
#: The most objects that are followed; whoever follows objects gives up beyond.
MOST: Final = 20_000


def contents(held: Any) -> Iterable[object]:
    """Return the objects that an object holds directly, without running code of its class.

    Objects whose C types take no part in garbage collection (CPython: Modules/gcmodule.c, ``gc_get_referents``), and objects whose values
    belong to a context or a thread, are read through their own attributes.
    """
    parts = gc.get_referents(held)
    if type(held) is contextvars.ContextVar:
        value = held.get(_NO_VALUE)
        return parts if value is _NO_VALUE else [*parts, value]
    if issubclass(type(held), threading.local) and type(held).__init__ is object.__init__:  # else reading __dict__ in a new thread would call __init__
        return [*parts, threading.local.__getattribute__(held, "__dict__")]
    if issubclass(type(held), datetime.datetime):
        return [*parts, datetime.datetime.tzinfo.__get__(held)]
    if issubclass(type(held), datetime.time):
        return [*parts, datetime.time.tzinfo.__get__(held)]
    numpy = sys.modules.get("numpy")
    if numpy is not None and issubclass(type(held), numpy.ndarray):
        return [*parts, numpy.ndarray.base.__get__(held), *_items(held, numpy)]
    if numpy is not None and issubclass(type(held), numpy.void):
        return [*parts, numpy.void.base.__get__(held), *([numpy.void.item(held)] if numpy.void.dtype.__get__(held).hasobject else [])]
    return parts


def _items(array: Any, numpy: Any) -> list[object]:
    """Return the objects in an array, at most one more than MOST."""
    if not numpy.ndarray.dtype.__get__(array).hasobject:
        return []
    return list(itertools.islice(numpy.ndarray.flat.__get__(array), MOST + 1))
