"""What is taken as unchanged without a test when ``hovis.specialize`` makes its residual again (see ``hovis.front.jit_cache.adaptive``).

Its contract is that the environment is frozen.  But the second trace does not follow paths that calls do not take, and so does not see what these
store; therefore only this needs no test: what the first residual relies on, too, and functions, methods and classes, where they are found, which
programs do not replace as they go.
"""

import dis
import types
from collections.abc import Container, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from hovis.engine.environment.guards import Guard
from hovis.engine.state import type_lookup
from hovis.ir.operations import UNBOUND
from hovis.lattice import inline_attributes
from hovis.lattice.inline_attributes import stored_by_class
from hovis.lattice.inspection import is_a

#: Kinds of guards of functions and classes themselves.
_OF_CODE: Final = frozenset({"function", "defaults", "bases", "type", "asked", "names"})
#: Kinds of guards of the contents of an object.
_OF_CONTENTS: Final = frozenset({"attribute", "item", "items", "index", "dict", "slot"})
#: Values that are code.
_CODE: Final = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)
_METHODS: Final = (
    types.FunctionType, types.BuiltinFunctionType, classmethod, staticmethod, property, types.WrapperDescriptorType, types.MethodDescriptorType,
    types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
)  # fmt: skip
_STORES: Final = frozenset({dis.opmap["STORE_GLOBAL"], dis.opmap["DELETE_GLOBAL"]})


class FixedFacts:
    """Reads of the environment that need no test.

    assumed, objects: the reads, and the objects whose contents, another residual of the function relies on without a test; stored: the names of
    attributes of objects that the function stores, by the id of the object or of its dictionary.
    """

    def __init__(self, assumed: Iterable[Guard], objects: Iterable[object] = (), stored: Mapping[int, Container[str]] = MappingProxyType({})) -> None:
        self._assumed = {(guard.kind, id(guard.holder), guard.name): guard for guard in assumed}
        self._objects = {id(held): held for held in objects}
        self._stored_attributes = stored
        #: the names that the functions of a module store, by the id of its namespace
        self._stored: dict[int, frozenset[str]] = {}

    def cover(self, kind: str, holder: Any, name: Any, value: Any) -> bool:
        """Is the value of this read (see Guard) one that needs no test?"""
        if kind in _OF_CODE or (kind, id(holder), name) in self._assumed:
            return True
        if kind in _OF_CONTENTS and id(holder) in self._objects:
            places = (holder, type_lookup.attribute_place(holder))
            return not any(name is None or name in self._stored_attributes[id(at)] for at in places if id(at) in self._stored_attributes)
        if kind == "class":
            defined = name.startswith("__") and name.endswith("__")  # by the class statement, a decorator or a metaclass
            return defined or all(found is UNBOUND or is_a(found, _METHODS) for _, found in value)
        if kind == "attribute":
            return value is UNBOUND and inline_attributes.binds(inline_attributes.in_class(type(holder), name)) and name not in stored_by_class(type(holder))
        if kind == "cell":
            return is_a(value, _CODE)
        if kind == "item" and "__builtins__" in holder and (value is UNBOUND or is_a(value, _CODE)):
            if id(holder) not in self._stored:
                self._stored[id(holder)] = frozenset(_stored_in(holder))
            return name not in self._stored[id(holder)]
        return kind == "item" and "__build_class__" in holder  # builtins


def _stored_in(namespace: dict[str, Any]) -> Iterator[str]:
    """Yield the globals that functions and methods of a module store."""
    for value in list(namespace.values()):
        for held in vars(value).values() if is_a(value, type) and value.__module__ == namespace.get("__name__") else (value,):
            function = getattr(held, "__func__", held) if is_a(held, (classmethod, staticmethod)) else held
            if is_a(function, types.FunctionType):
                yield from _stored_by(function.__code__)


def _stored_by(code: types.CodeType) -> Iterator[str]:
    extended, text = 0, code.co_code
    for at in range(0, len(text), 2):
        op, arg = text[at], text[at + 1]
        if op in _STORES:
            yield code.co_names[extended | arg]
        extended = (extended | arg) << 8 if op == dis.EXTENDED_ARG else 0
    for inner in code.co_consts:
        if type(inner) is types.CodeType:
            yield from _stored_by(inner)
