"""Expressions for known objects: how they are imported, or created again."""

import ast
import copyreg
import sys
import types
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from hovis.backend.module.copy_helpers import Copied
from hovis.backend.source.object_names import find_owner, importable
from hovis.backend.source.syntax import is_attribute, literal
from hovis.ir.naming import identifier, is_name

#: Maximal number of items of an array that is written as a list of its numbers.
SMALL_ARRAY: Final = 1000

#: Classes whose instances need not keep their identity: an equal new instance will do.
_WRITTEN: Final = frozenset({int, bool, float, complex, str, bytes, tuple, frozenset, range, slice, type(None)})


class Unwritable(Exception):
    """Raised for a value that can't be written as text; says why, and what would help."""


class Values:
    """Writes objects of a program as expressions; the statements that an expression needs before it are collected in ``parts``."""

    def __init__(self, namespace: Mapping[str, Any], taken: set[str], imports: dict[str, tuple[str, str | None]], given: Iterable[object]) -> None:
        known = [(name, value) for name, value in namespace.items() if type(name) is str and is_name(name) and name != "__builtins__"]
        self.namespace = {id(value): name for name, value in reversed(known)}
        self.home = namespace.get("__name__")
        self.taken = taken
        self.imports = imports
        self.copied = Copied()
        self.parts: list[str] = []
        #: by id, the number of occurrences of each container in the values that are written
        self.shared: Counter[int] = Counter()
        for value in given:
            self.share(value)
        #: by id, the objects that have a name already; they are kept alive to prevent reuse of their ids
        self.named: dict[int, tuple[str, object]] = {}
        self.open: set[int] = set()
        self._alive: list[object] = []
        self._globals: dict[int, tuple[str, str]] | None = None

    def share(self, value: Any) -> None:
        if type(value) in (list, dict, set, tuple):
            self.shared[id(value)] += 1
            if self.shared[id(value)] == 1:
                for inner in [*value.keys(), *value.values()] if type(value) is dict else value:
                    self.share(inner)

    def write(self, name: str, value: object) -> None:
        """Write the assignment of value to this name."""
        found = self.named.get(id(value))
        self.parts.append(f"{name} = {found[0] if found else self.value(value, name)}\n")
        if self.parts[-1] == f"{name} = {name}\n":
            self.parts.pop()
        self.named.setdefault(id(value), (name, value))

    # --------------------------------------------------------------------------------------------- values

    def value(self, value: Any, wanted: str = "") -> str:
        """Return an expression for value; the statements that it needs before it are added to ``parts``."""
        shown = _simple(value)
        if shown is not None:
            return shown
        if id(value) in self.named:
            return self.named[id(value)][0]
        if id(value) in self.open:
            raise Unwritable("it contains itself")
        self.open.add(id(value))
        try:
            return self._found(value, wanted) or self._built(value, wanted)
        finally:
            self.open.discard(id(value))

    def _found(self, value: Any, wanted: str) -> str | None:
        """Return an expression that imports value, or None if it can't be imported."""
        if isinstance(value, types.ModuleType):
            return self.import_(value.__name__, None)
        if type(value) is dict and (home := value.get("__name__")) in sys.modules and vars(sys.modules[home]) is value:
            return f"{self.import_(home, None)}.__dict__"
        home, qualname = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
        if isinstance(value, types.FunctionType | types.BuiltinFunctionType | type) and is_found(value, home, qualname):
            if str(home).partition(".")[0] == "hovis":
                return self.copied.need(str(home), str(qualname))
            if home == "builtins":
                return str(qualname)
            first, dot, rest = str(qualname).partition(".")
            return self.import_(str(home), first) + dot + rest
        if id(value) in self.namespace and self.home in sys.modules and vars(sys.modules[self.home]).get(self.namespace[id(value)]) is value:
            return self._kept_import(value, self.home, self.namespace[id(value)], wanted)
        if (place := self._global(value)) is not None:
            return self._kept_import(value, *place, wanted)
        if isinstance(value, type) and (alias := _alias(value)):
            return self.import_(*alias)
        for owner, attribute in find_owner(value):
            return f"{self.value(owner)}.{attribute}"
        return None

    def _global(self, value: object) -> tuple[str, str] | None:
        """Return the module and the name of a global that is this very object, or None."""
        if type(value) in _WRITTEN or isinstance(value, type):
            return None
        if self._globals is None:
            self._globals = {}
            for home, held in list(sys.modules.items()):
                if home.partition(".")[0] not in ("hovis", "__main__") and getattr(held, "__name__", None) == home:
                    for name, item in list(vars(held).items()):
                        if is_name(name) and not name.startswith("__"):
                            self._globals.setdefault(id(item), (home, name))
        return self._globals.get(id(value))

    def _kept_import(self, value: object, home: str, item: str, wanted: str) -> str:
        if wanted and (home, item) not in self.imports.values():
            self.imports[wanted] = home, item
            return wanted
        name = self.import_(home, item)
        self.named[id(value)] = name, value
        return name

    def _built(self, value: Any, wanted: str) -> str:
        kind = type(value)
        if kind in (tuple, list, set, frozenset, dict, bytearray, range, slice):
            return self._container(value, wanted)
        if kind is types.MethodType:
            name = getattr(value.__func__, "__name__", None)
            if type(name) is str and is_attribute(name) and getattr(value.__self__, name, None) == value:
                return f"{self.value(value.__self__)}.{name}"
            return f"{self.import_('types', 'MethodType')}({self.value(value.__func__)}, {self.value(value.__self__)})"
        if kind is types.BuiltinMethodType and value.__self__ is not None:
            return f"{self.value(value.__self__)}.{value.__name__}"
        if kind is types.CodeType:
            return self._code(value)
        if kind is types.CellType:
            return f"{self.import_('types', 'CellType')}({self.value(value.cell_contents) if _is_full(value) else ''})"
        if kind is types.FunctionType:
            return self._function(value, wanted)
        if isinstance(value, type):
            raise Unwritable("the class can't be found in its module")
        if kind.__module__ == "numpy" and kind.__name__ == "ndarray" and _is_numbers(value):
            items = value.tolist()
            self._alive.append(items)
            self.share(items)
            return self._kept(value, f"{self.import_('numpy', 'array')}({self.value(items)}, {value.dtype.str!r})", wanted)
        return self._reduced(value, wanted)

    def _container(self, value: Any, wanted: str) -> str:
        kind = type(value)
        if kind is range or kind is slice:
            return f"{kind.__name__}({self.value(value.start)}, {self.value(value.stop)}, {self.value(value.step)})"
        if kind is dict:
            return self._one(value, "{" + ", ".join(f"{self.value(k)}: {self.value(v)}" for k, v in value.items()) + "}", wanted)
        if kind is bytearray:
            return self._one(value, f"bytearray({bytes(value)!r})", wanted)
        items = ", ".join(map(self.value, value))
        if kind is tuple:
            return f"({items},)" if len(value) == 1 else f"({items})"
        if kind is list:
            return self._one(value, f"[{items}]", wanted)
        if kind is set:
            return self._one(value, f"{{{items}}}" if value else "set()", wanted)
        return f"frozenset(({items},))" if value else "frozenset()"

    def _one(self, value: object, shown: str, wanted: str) -> str:
        """Return the display of a container that occurs in one place only, else the name of a variable for it."""
        if wanted or self.shared[id(value)] == 1:
            return shown
        return self._kept(value, shown)

    def _kept(self, value: object, shown: str, wanted: str = "") -> str:
        """Write an assignment for an object that has to be the same wherever it occurs; return its name."""
        name = wanted or self.free(self.namespace.get(id(value)) or f"{type(value).__name__.lower()}_")
        self.parts.append(f"{name} = {shown}\n")
        self.named[id(value)] = name, value
        return name

    def _function(self, function: types.FunctionType, wanted: str) -> str:
        """Write a function that another one created, from its code and its cells; return its name."""
        if function.__module__.partition(".")[0] == "hovis":
            raise Unwritable("hovis made it to test an argument; a simpler spec would help")
        cells = ", ".join(self.value(cell) for cell in function.__closure__ or ())
        arguments = [self._code(function.__code__), self.value(function.__globals__), repr(function.__name__), self.value(function.__defaults__)]
        arguments.append(f"({cells},)" if cells else "None")
        name = self._kept(function, f"{self.import_('types', 'FunctionType')}({', '.join(arguments)})", wanted or self.free(function.__name__.strip("<>")))
        self.parts.append(f"{name}.__qualname__ = {function.__qualname__!r}\n")
        for attribute in ("__kwdefaults__", "__annotations__", "__dict__"):
            held = getattr(function, attribute)
            if held:
                shown = self.value(held)
                self.parts.append(f"{name}.{attribute}{'.update(' if attribute == '__dict__' else ' = '}{shown}{')' if attribute == '__dict__' else ''}\n")
        return name

    def _code(self, code: types.CodeType) -> str:
        """Return an expression for the code of a function that is nested in one that can be imported."""
        for home in list(sys.modules.values()):
            if getattr(home, "__file__", None) == code.co_filename and home.__name__ != "__main__":
                for outer in _functions(home):
                    which = _which(outer.__code__, code)
                    if which is not None:
                        name = self.copied.need(code_within.__module__, code_within.__name__)
                        return f"{name}({self.value(outer)}.__code__, {code.co_qualname!r}, {code.co_firstlineno}, {which})"
        raise Unwritable(f"{code.co_qualname} is not nested in a function that can be imported")

    def _reduced(self, value: Any, wanted: str) -> str:
        """Write value as it describes itself for pickling (``__reduce_ex__``); return its name."""
        try:
            reduced: Any = value.__reduce_ex__(4)
        except Exception as reason:
            raise Unwritable(str(reason)) from None
        if isinstance(reduced, str):
            raise Unwritable(f"there is no {reduced} to import")
        make, args, state, items, pairs = (*reduced, None, None, None)[:5]
        if not callable(make):
            raise Unwritable("the constructor that its __reduce_ex__ returns is not callable")
        if make is copyreg.__newobj__:  # type: ignore[attr-defined]
            shown = f"{self.value(args[0])}.__new__({', '.join(map(self.value, args))})"
        else:
            shown = f"{self.value(make)}({', '.join(map(self.value, args))})"
        name = self._kept(value, shown, wanted)
        # the contents may refer back to the object
        self.open.discard(id(value))
        if state is not None:
            self._state(name, value, state)
        for item in items or ():
            self.parts.append(f"{name}.append({self.value(item)})\n")
        for key, item in pairs or ():
            self.parts.append(f"{name}[{self.value(key)}] = {self.value(item)}\n")
        return name

    def _state(self, name: str, value: Any, state: Any) -> None:
        if hasattr(value, "__setstate__"):
            self.parts.append(f"{name}.__setstate__({self.value(state)})\n")
            return
        held, slots = state if type(state) is tuple and len(state) == 2 else (state, None)
        if held:
            self.parts.append(f"{name}.__dict__.update({self.value(held)})\n")
        for slot, content in (slots or {}).items():
            self.parts.append(f"object.__setattr__({name}, {slot!r}, {self.value(content)})\n")

    # --------------------------------------------------------------------------------------------- names

    def import_(self, home: str, item: str | None) -> str:
        for name, known in self.imports.items():
            if known == (home, item):
                return name
        wanted = item or home
        if "." in wanted:
            wanted = wanted.rpartition(".")[2]
        name = self.free(wanted)
        self.imports[name] = home, item
        return name

    def free(self, wanted: str) -> str:
        wanted = name = identifier(wanted)
        count = 1
        while name in self.taken:
            count += 1
            name = f"{wanted}_{count}"
        self.taken.add(name)
        return name


def is_found(value: Any, home: Any, qualname: Any) -> bool:
    """Is value the object that the module home has under qualname?"""
    if type(home) is not str or type(qualname) is not str or "__main__" in home.split(".") or not all(map(is_name, qualname.split("."))):
        return False
    found: Any = sys.modules.get(home)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found is value


def _simple(value: Any) -> str | None:
    """Return the text of a constant, or None."""
    kind = type(value)
    if kind is int and value.bit_length() >= 4000:
        return hex(value)
    if kind is float and (value != value or value in (float("inf"), float("-inf"))):
        return f"float({str(value)!r})"
    if kind is complex:
        return f"complex({_simple(value.real)}, {_simple(value.imag)})"
    if value is NotImplemented:
        return "NotImplemented"
    shown = literal(value) if kind is not tuple else None
    return ast.unparse(shown) if shown is not None else None


def _is_numbers(array: Any) -> bool:
    """Is array a small array of numbers in C order?"""
    return array.dtype.kind in "biufc" and 0 < array.size <= SMALL_ARRAY and bool(array.flags.c_contiguous)


def _alias(cls: type) -> tuple[str, str] | None:
    """Return the module and the name by which a class can be imported that is not found by its own name (``types.NoneType``), or None."""
    for home in (types, sys.modules.get(cls.__module__)):
        for name, value in vars(home).items() if home is not None else ():
            if value is cls and is_name(name):
                return home.__name__, name  # type: ignore[union-attr]
    return None


def _is_full(cell: types.CellType) -> bool:
    try:
        return bool(cell.cell_contents is cell.cell_contents)
    except ValueError:
        return False


def _functions(home: types.ModuleType) -> Iterator[types.FunctionType]:
    """Yield the functions that can be imported from a module, including those of its classes."""
    todo: list[Any] = [home]
    seen: set[int] = set()
    while todo:
        for value in list(vars(todo.pop()).values()):
            value = getattr(value, "__func__", value)
            if id(value) in seen or getattr(value, "__module__", None) != home.__name__:
                continue
            seen.add(id(value))
            if isinstance(value, types.FunctionType):
                yield value
            elif isinstance(value, type) and importable(value):
                todo.append(value)


def codes_within(code: types.CodeType, qualname: str, line: int) -> Iterator[types.CodeType]:
    """Yield the code objects of this name and line that are nested in another, in order."""
    for inner in code.co_consts:
        if isinstance(inner, type(code)):
            if inner.co_qualname == qualname and inner.co_firstlineno == line:
                yield inner
            yield from codes_within(inner, qualname, line)


def code_within(code: types.CodeType, qualname: str, line: int, which: int) -> types.CodeType:
    """Return the code of a nested function: number which among those of this name and line; raise LookupError if there is none any more."""
    found = list(codes_within(code, qualname, line))
    if which >= len(found):
        raise LookupError(f"there is no {qualname} in line {line} any more")
    return found[which]


def _which(outer: types.CodeType, code: types.CodeType) -> int | None:
    """Return the index of code among the code objects of its name and line nested in outer, or None."""
    return next((k for k, found in enumerate(codes_within(outer, code.co_qualname, code.co_firstlineno)) if found is code), None)
