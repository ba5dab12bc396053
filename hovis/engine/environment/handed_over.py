"""Known objects that something gets which may store to them, and what can be reached from these."""

import gc
import types
import weakref
from typing import Any, Final

from hovis.engine.state.type_lookup import is_python_class, own_dict

#: Classes of objects that hold nothing.
LEAVES: Final = frozenset({int, float, complex, bool, str, bytes, type(None), type(...), type(NotImplemented), range, types.CodeType, types.ModuleType})

#: After so many objects everything is taken to be reached, as it is behind a proxy, which can't be asked for what it stands for.
_MOST: Final = 20_000

#: Names in the globals of modules, which are frozen.
_GLOBALS: Final = frozenset({"__builtins__", "__build_class__"})


class Handed:
    """What is handed over.

    roots           the objects themselves, by number
    pending         those of them that have not been followed
    dictionaries    the dictionaries of the objects that are handed over or reached, by number
    all             there are so many objects that any may be reached
    """

    def __init__(self) -> None:
        self.roots: dict[int, object] = {}
        self.pending: list[object] = []
        self.dictionaries: dict[int, object] = {}
        self.reached: dict[int, object] = {}
        self.all = False

    def follow(self, value: object) -> None:
        """Reach what can be reached from value, but for globals of modules."""
        todo = [value]
        while todo and not self.all:
            one: Any = todo.pop()
            cls = type(one)
            if id(one) in self.reached or cls in LEAVES or (cls is dict and not _GLOBALS.isdisjoint(one)):
                continue
            if isinstance(one, type) and not is_python_class(one):
                continue
            self.reached[id(one)] = one
            self.all = len(self.reached) > _MOST or cls in weakref.ProxyTypes
            if cls is dict:
                self.dictionaries[id(one)] = one
            held = own_dict(one) if is_python_class(cls) else None
            if held is not None:
                self.dictionaries[id(held)] = one
                todo.append(held)
            if cls is types.FunctionType:
                todo += used(one.__code__, one.__globals__)
            if isinstance(one, weakref.ref):
                todo.append(weakref.ref.__call__(one))
            todo += gc.get_referents(one)


def used(code: types.CodeType, namespace: dict[str, Any]) -> list[object]:
    """The globals that code, and the functions that are made in it, may take from namespace."""
    found = [namespace[name] for name in code.co_names if name in namespace]
    for constant in code.co_consts:
        if type(constant) is types.CodeType:
            found += used(constant, namespace)
    return found
