"""What is taken as unchanged without a test when ``hovis.specialize`` makes its residual again (see ``hovis.front.jit_cache.adaptive``).

Its contract is that the environment is frozen, except for what the traced code itself writes.  The second trace does not follow paths that calls do
not take, and so does not see all of these writes; and it enters functions that the first trace has left as calls.  Therefore only this needs no test:
what the first residual relies on, too; and functions, methods, classes and globals that hold them, if they can be reached from the function by
names, and if no code that can be reached in this way seems to store into them.
"""

import builtins
import functools
import gc
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import (
    BuiltinFunctionType,
    CellType,
    ClassMethodDescriptorType,
    CodeType,
    FrameType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final, NamedTuple

from hovis.bytecode.decode import decode
from hovis.bytecode.instructions import localsplus
from hovis.engine.environment.footprints import names_in
from hovis.engine.environment.guards import Guard, can_change
from hovis.engine.state import type_lookup
from hovis.ir.operations import UNBOUND
from hovis.lattice import inline_attributes
from hovis.lattice.inspection import is_a

#: Most objects that are visited: a function that reaches more has no other fixed facts than those of the first residual.
MOST: Final = 20_000
#: Kinds of guards of the contents of an object.
_OF_CONTENTS: Final = frozenset({"attribute", "item", "items", "index", "dict", "slot"})
#: Kinds of guards of functions and classes themselves, with the names of what they test.
_OF_CODE: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({
    "function": ("__code__",), "defaults": ("__defaults__", "__kwdefaults__"), "names": ("__name__", "__qualname__"), "bases": ("__bases__",),
    "type": ("__class__",), "asked": (),
})  # fmt: skip
#: Values that are code.
_CODE: Final = (type, FunctionType, BuiltinFunctionType, ModuleType)
_METHODS: Final = (
    FunctionType, BuiltinFunctionType, classmethod, staticmethod, property, WrapperDescriptorType, MethodDescriptorType, ClassMethodDescriptorType,
    GetSetDescriptorType, MemberDescriptorType,
)  # fmt: skip
_ATOMS: Final = frozenset({str, int, float, bool, bytes, complex, type(None)})
_BUILTINS: Final = dict(vars(builtins))
#: Names by which code may store under names that it computes or has as texts.
_BY_NAME: Final = frozenset({"setattr", "delattr", "globals", "vars", "exec", "eval"})
_ATTRIBUTES: Final = frozenset({"__setattr__", "__delattr__", "__dict__", "__globals__", "modules"})
_SCOPES: Final = frozenset({"globals", "exec", "eval"})
_CHANGES: Final = frozenset({"exec", "eval", "update", "setdefault", "pop", "__setitem__"})
#: Instructions that load one variable, whose number is their argument.
_LOADS: Final = ("LOAD_FAST", "LOAD_FAST_BORROW")
#: Instructions that store or delete, by where.
_STORES: Final = {f"{how}_{where}": where for how in ("STORE", "DELETE") for where in ("GLOBAL", "ATTR", "DEREF", "SUBSCR")}


class _Names(NamedTuple):
    """The names in a code object and in those nested in it: all; those that it may store as attributes, as attributes of ``self``, as globals, and as
    variables of other functions; does it mention what stores globals by names that are computed?
    """

    all: frozenset[str]
    attributes: frozenset[str]
    in_self: frozenset[str]
    globals: frozenset[str]
    cells: frozenset[str]
    scopes: bool


class FixedFacts:
    """Reads of the environment that need no test.

    assumed, objects: the reads, and the objects whose contents, the first residual of the function relies on without a test; stored: the names of
    attributes, items and globals that it was seen to store, by the id of the object, dictionary or namespace (None: any); roots: the function, and
    its known arguments.
    """

    def __init__(
        self, assumed: Iterable[Guard] = (), objects: Iterable[object] = (), stored: Mapping[int, frozenset[Any]] = MappingProxyType({}),
        roots: Iterable[object] = (),
    ) -> None:  # fmt: skip
        self._assumed = {(guard.kind, id(guard.holder), guard.name): guard for guard in assumed}
        self._objects = {id(held): held for held in objects}
        self._stored = stored
        self._roots = tuple(roots)

    @functools.cached_property
    def _reached(self) -> "_Reached":
        return _Reached(self._roots)

    def cover(self, kind: str, holder: Any, name: Any, value: Any) -> bool:
        """Is the value of this read (see Guard) one that needs no test?"""
        tested = _OF_CODE.get(kind, (name,))
        if self._is_stored(holder, kind, tested) or (kind in _OF_CODE and any(map(self._reached.stores, tested))):
            return False
        if (kind, id(holder), name) in self._assumed:
            return True
        if kind in _OF_CONTENTS and id(holder) in self._objects and not (kind == "item" and "__builtins__" in holder):
            return True
        return self._is_code(kind, holder, name, value)

    def _is_stored(self, holder: Any, kind: str, names: tuple[Any, ...]) -> bool:
        """Does the first residual store under one of these names (None: any) of the holder, as far as it has seen that?"""
        place = None if is_a(holder, (type, FunctionType, dict, CellType)) else type_lookup.attribute_place(holder)
        for at in (id(holder), id(place)):
            found = self._stored.get(at)
            if found is not None and (not found.isdisjoint(names) or (kind not in _OF_CODE and (None in names or None in found))):
                return True
        return False

    def _is_code(self, kind: str, holder: Any, name: Any, value: Any) -> bool:
        """Is the value a function, method or class that is found where nothing seems to replace it?"""
        if kind == "item" and holder is vars(builtins):
            return value is _BUILTINS.get(name, UNBOUND) and not self._reached.stores(name)
        reached = self._reached
        standard = _is_standard(holder)
        if not standard and id(holder) not in reached.objects:
            return False
        if kind in _OF_CODE:
            return kind != "asked" or not reached.mentions("register")
        if kind == "class":
            return all(found is UNBOUND or is_a(found, _METHODS) for _, found in value) and not reached.stores(name)
        if kind == "attribute":
            is_method = value is UNBOUND and inline_attributes.binds(inline_attributes.in_class(type(holder), name))
            return is_method and not reached.stores(name) and name not in reached.stored_in_self
        if kind == "cell":
            return is_a(value, _CODE) and reached.cells.get(id(holder), "") not in {"", *reached.stored_cells} and not reached.stores("cell_contents")
        if kind == "item" and "__builtins__" in holder and (value is UNBOUND or is_a(value, _CODE)):
            return (standard or reached.mentions(name)) and not reached.scopes and name not in reached.stored_globals and not reached.stores(name)
        return False


def _is_standard(held: Any) -> bool:
    """Is this a function, class, module or namespace of the standard library?"""
    kind = type(held)
    if kind is FunctionType:
        name = held.__globals__.get("__name__")
    elif issubclass(kind, type):
        name = held.__module__ if type(vars(held).get("__module__")) is str else None
    elif issubclass(kind, ModuleType):
        name = vars(held).get("__name__")
    elif kind is dict and "__builtins__" in held:
        name = held.get("__name__")
    else:
        return False
    return type(name) is str and name.partition(".")[0] in sys.stdlib_module_names


class _Reached:
    """The objects that can be reached from roots by the names in code, by attributes and by items, and what the code of these stores."""

    def __init__(self, roots: Iterable[object]) -> None:
        self.objects: dict[int, object] = {}
        #: the names of closure variables, by the ids of their cells
        self.cells: dict[int, str] = {}
        self.stored_globals: set[str] = set()
        self.stored_cells: set[str] = set()
        #: the names of attributes that methods store in their ``self``
        self.stored_in_self: set[str] = set()
        #: may code store globals under names that are not known?
        self.scopes = False
        self._stored_attributes: set[str] = set()
        #: the names that occur in the code, and the namespaces of modules that were reached
        self._names: set[str] = set()
        self._modules: dict[int, dict[str, Any]] = {}
        self._todo: list[object] = list(roots)
        while self._todo and len(self.objects) <= MOST:
            self._look(self._todo.pop())
            if not self._todo:  # code that was reached later may name other parts of a module
                named = [held[name] for held in self._modules.values() for name in self._names & held.keys()]
                self._todo = [part for part in named if id(part) not in self.objects and type(part) not in _ATOMS]
        if self._todo:
            self.objects, self.cells = {}, {}

    def stores(self, name: str) -> bool:
        """May code that was reached store an attribute of this name, other than in ``self``?"""
        return name in self._stored_attributes

    def mentions(self, name: str) -> bool:
        """Does a name occur in code that was reached?"""
        return name in self._names

    def _look(self, held: Any) -> None:
        """Visit an object, and find what it leads to."""
        if id(held) in self.objects or type(held) in _ATOMS:
            return
        self.objects[id(held)] = held
        kind = type(held)
        if _is_standard(held):
            return  # the standard library does not replace parts of programs by itself
        if kind is FunctionType:
            self._function(held)
        elif issubclass(kind, ModuleType):
            self._modules[id(held)] = vars(held)
        elif kind is dict and "__builtins__" in held:
            self._modules[id(held)] = held
        elif kind is not FrameType and (not issubclass(kind, type) or can_change(held)):
            self._todo += gc.get_referents(held)

    def _function(self, held: FunctionType) -> None:
        namespace = held.__globals__
        found = _names_in(held.__code__)
        self._names |= found.all
        self._stored_attributes |= found.attributes
        self.stored_in_self |= found.in_self
        self.stored_globals |= found.globals
        self.stored_cells |= found.cells
        self.scopes |= found.scopes
        self._look(namespace)
        for name, cell in zip(held.__code__.co_freevars, held.__closure__ or (), strict=True):
            self.cells[id(cell)] = name
        self._todo += [*(held.__closure__ or ()), held.__defaults__, held.__kwdefaults__, held.__dict__]
        self._todo += [namespace[name] for name in found.all & namespace.keys()]


@functools.lru_cache(maxsize=8192)
def _names_in(code: CodeType) -> _Names:
    stored: dict[str, set[str]] = {where: set() for where in ("GLOBAL", "ATTR", "SELF", "DEREF", "SUBSCR", "LOAD")}
    again = set[str]()
    for where, name in _uses_in(code):
        if where == "DEREF" and name in code.co_cellvars and name not in again:
            again.add(name)  # the first store of a function into its own variable gives it a value; only a second one replaces it
        else:
            stored[where].add(name)
    mentioned = set(code.co_names)
    if not _BY_NAME.isdisjoint(stored["LOAD"]) or not _ATTRIBUTES.isdisjoint(mentioned):
        stored["ATTR"] |= {name for name in _texts(code.co_consts) if name.isidentifier()}
    asked = mentioned if "builtins" in stored["LOAD"] else stored["LOAD"]
    scopes = not _SCOPES.isdisjoint(asked) and (bool(stored["SUBSCR"]) or not _CHANGES.isdisjoint(mentioned))
    inner = [_names_in(one) for one in code.co_consts if type(one) is CodeType]
    return _Names(
        frozenset(names_in(code)), frozenset(stored["ATTR"]).union(*(one.attributes for one in inner)),
        frozenset(stored["SELF"]).union(*(one.in_self for one in inner)),
        frozenset(stored["GLOBAL"]).union(*(one.globals for one in inner)), frozenset(stored["DEREF"]).union(*(one.cells for one in inner)),
        scopes or any(one.scopes for one in inner),
    )  # fmt: skip


def _texts(constants: Iterable[object]) -> Iterator[str]:
    for one in constants:
        if type(one) is str:
            yield one
        elif type(one) is tuple:
            yield from _texts(one)


def _uses_in(code: CodeType) -> Iterator[tuple[str, str]]:
    """Yield where code stores, or deletes, and under which names (SELF: attributes of the parameter ``self``); and which globals it loads."""
    is_method, is_self = code.co_argcount > 0 and code.co_varnames[0] == "self", False
    for raw in decode(code):
        where = _STORES.get(raw.name)
        if where == "DEREF":
            yield where, localsplus(code)[raw.arg]
        elif where == "SUBSCR":
            yield where, ""
        elif where is not None:
            yield "SELF" if where == "ATTR" and is_self else where, code.co_names[raw.arg]
        elif raw.name == "LOAD_GLOBAL":
            yield "LOAD", code.co_names[raw.arg >> 1]
        # since 3.13, there are instructions that end with loading one of the first sixteen variables, which is in the last four bits
        is_self = is_method and raw.name.endswith(_LOADS) and (raw.arg if raw.name in _LOADS else raw.arg & 15) == 0
