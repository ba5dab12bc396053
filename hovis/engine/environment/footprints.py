"""Footprints: what a Python function that was run while tracing has read, for a residual to test again.

The function is run as it is, not traced, so single reads are not observed.  A profile function records which code was run;
what that code may have read is found by following its names, starting from the function: globals and builtins, functions
with their code and defaults, the contents of closures, attributes of modules that it names, dictionaries of classes and
instances, and the contents of containers.  That is a superset of what was read, except for state that C code keeps.
"""

import builtins
import functools
import sys
from collections.abc import Callable, Iterator
from types import BuiltinMethodType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from hovis.engine.environment.guards import Guard, compile_guards, contents, contents_of
from hovis.engine.state.specialization_tables import REDIRECTED
from hovis.engine.state.type_lookup import own_dict
from hovis.ir.operations import UNBOUND
from hovis.lattice import inline_attributes
from hovis.lattice.constants import is_immutable

#: The most places that a residual compares: this takes some microseconds.
MOST_PLACES: Final = 800
_HEAP_TYPE: Final = 1 << 9
_CACHE: Final[Any] = functools._lru_cache_wrapper
_OPENED: Final = (list, dict, set)


class Footprint:
    """The reads of some code, with the values at that time.

    guards     tests that the values are unchanged
    places     how many values these tests compare; beyond MOST_PLACES the footprint is not complete
    touched    to tell whether a write changes something here: the ids of the objects that were read, and for globals ("global", id, name)
    classes    the classes whose attributes were read, by id
    """

    def __init__(self, codes: frozenset[CodeType]) -> None:
        self.codes = codes
        self.guards: list[Guard] = []
        self.places = 0
        self.touched: set[Any] = set()
        self.classes: dict[int, type] = {}

    def holds(self) -> bool:
        """Are all values unchanged? The first call replaces this method by the compiled test."""
        self.holds = compile_guards(self.guards)    # type: ignore[method-assign]
        return self.holds()

    def read(self, places: int, *guards: Guard) -> None:
        self.guards += guards
        self.places += places
        for guard in guards:
            self.touched.add(id(guard.holder))
            if guard.kind == "item":
                self.touched.add(("global", id(guard.holder), guard.name))


class _Walk:
    """Collects a footprint by following the names in code, starting from a function.

    names     the names that occur in the code that was run
    ends      code that is trusted as it is, and not followed
    """

    def __init__(self, codes: frozenset[CodeType], ends: frozenset[CodeType]) -> None:
        self.print = Footprint(codes)
        self.codes = codes
        self.ends = ends
        self.names = {name for code in codes for name in names_in(code)}
        self.seen: dict[int, Any] = {}
        self.told: set[Any] = set()
        self.todo: list[tuple[Any, bool]] = []

    def run(self, fn: Any) -> Footprint:
        self.todo.append((fn, False))
        while self.todo and self.print.places <= MOST_PLACES:
            value, every = self.todo.pop()
            if id(value) not in self.seen and type(value) not in (str, int, float, bool, bytes, type(None)):
                self.seen[id(value)] = value
                self._look(value, every)
        return self.print

    def _look(self, value: Any, every: bool) -> None:
        kind = type(value)
        if kind is FunctionType:
            if (every or value.__code__ in self.codes) and (not self.print.guards or value.__code__ not in self.ends):
                self._function(value, every)
        elif kind is ModuleType:
            for name in self.names & vars(value).keys():
                self._item(vars(value), name, every)
        elif isinstance(value, type):
            self._class(value, every)
        elif kind in _OPENED:
            self._container(value, every)
        elif kind in (tuple, frozenset):
            self.todo += [(item, every) for item in value]
        elif isinstance(value, MethodType | BuiltinMethodType):
            self.todo += [(getattr(value, "__func__", None), every), (value.__self__, every)]
        elif isinstance(value, staticmethod | classmethod):
            self.todo.append((value.__func__, every))
        elif kind is property:
            self.todo += [(value.fget, every), (value.fset, every)]
        elif kind is _CACHE:
            # cached results may have been computed by code that was not run this time
            made = getattr(value.__wrapped__, "__code__", None)
            self.todo.append((value.__wrapped__, every or made not in self.codes))
        elif not is_immutable(value):
            self.todo.append((kind, every))
            held = own_dict(value)
            if held is not None:
                self._container(held, every)

    def _function(self, fn: Any, every: bool) -> None:
        named = fn.__kwdefaults__
        self.print.read(3, Guard("function", fn, None, fn.__code__), Guard("defaults", fn, None, (fn.__defaults__, named)))
        self.todo += [(value, every) for value in (*(fn.__defaults__ or ()), *(named or {}).values())]
        if named:
            self._container(named, every)
        for cell in fn.__closure__ or ():
            self._cell(cell, every)
        names = set(names_in(fn.__code__))
        if every and not names <= self.names:
            self.names |= names
            # modules and classes have to be searched again, for the new names
            self.todo += [(value, True) for value in self.seen.values() if isinstance(value, type | ModuleType)]
            self.seen = {at: value for at, value in self.seen.items() if not isinstance(value, type | ModuleType)}
        for name in names:
            if name in fn.__globals__:
                self._item(fn.__globals__, name, every)
            elif name in vars(builtins):
                self._item(fn.__globals__, name, every)
                self._item(vars(builtins), name, every)
            elif name in sys.modules:
                self._item(sys.modules, name, every)

    def _item(self, held: dict[str, Any], name: str, every: bool) -> None:
        value = held.get(name, UNBOUND)
        if (id(held), name) not in self.told and not (held is vars(sys) and name in REDIRECTED):
            self.told.add((id(held), name))
            self.print.read(1, Guard("item", held, name, value))
            if held is not vars(builtins) and value is not UNBOUND:
                self.todo.append((value, every))

    def _cell(self, cell: CellType, every: bool) -> None:
        value = contents_of(cell)
        self.print.read(1, Guard("cell", cell, None, value))
        if value is not UNBOUND:
            self.todo.append((value, every))

    def _class(self, cls: type, every: bool) -> None:
        """Record the classes along the MRO if methods or named attributes of cls were used; a class that is only named is guarded by its
        identity.
        """
        mine = [base for base in cls.__mro__ if base.__flags__ & _HEAP_TYPE]
        if not any(self._is_used(value, every) or name in self.names for base in mine for name, value in vars(base).items()):
            return
        for base in mine:
            self.print.classes[id(base)] = base
            self._whole(inline_attributes.dictionary_of(base))
            self.todo += [(value, every) for name, value in vars(base).items() if name in self.names or self._is_used(value, every)]
            self.todo += [(type(base), every)]

    def _is_used(self, value: Any, every: bool) -> bool:
        value = value.fget if type(value) is property else getattr(value, "__func__", value)
        return type(value) is FunctionType and (every or value.__code__ in self.codes)

    def _container(self, held: Any, every: bool) -> None:
        self._whole(held)
        self.todo += [(value, every) for value in (held.values() if type(held) is dict else held)][:MOST_PLACES]

    def _whole(self, held: Any) -> None:
        if id(held) not in self.told:
            self.told.add(id(held))
            kind, _, value = contents(held)    # type: ignore[misc]
            self.print.read(len(held) * (1 + (kind == "dict")), Guard(kind, held, None, value))


def names_in(code: CodeType) -> Iterator[str]:
    """Yield the globals and attributes that code mentions, including those of nested functions."""
    yield from iter(code.co_names)
    for value in code.co_consts:
        if type(value) is CodeType:
            yield from names_in(value)


def followed(fn: Callable[..., Any], args: list[Any], named: dict[str, Any], ends: frozenset[CodeType]) -> tuple[Any, frozenset[CodeType] | None]:
    """Call fn; return its result and the code objects that were run, without those in ends and what they call. The second is None if another
    profiler is active.
    """
    if sys.getprofile() is not None:
        return fn(*args, **named), None
    codes: set[CodeType] = set()
    end: Any = None

    def note(frame: Any, event: str, _: Any) -> None:
        nonlocal end
        if end is None and event == "call":
            if frame.f_code in ends:
                end = frame
            else:
                codes.add(frame.f_code)
        elif event == "return" and frame is end:
            end = None

    sys.setprofile(note)
    try:
        return fn(*args, **named), frozenset(codes)
    finally:
        sys.setprofile(None)


#: The footprint of each function, which covers all its runs so far.
_known: Final[dict[Any, Footprint]] = {}


def footprint(fn: Any, codes: frozenset[CodeType], ends: frozenset[CodeType]) -> Footprint:
    """Return the footprint of a Python function that has run these codes; ends: code objects that are trusted as they are, and not followed."""
    found = _known.get(fn)
    if found is None or not codes <= found.codes or not found.holds():
        found = _known[fn] = _Walk(codes | (found.codes if found is not None else frozenset()), ends).run(fn)
    return found
