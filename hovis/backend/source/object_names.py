"""The names of known objects in the text: names of their own, imports, or names of objects that have to be given."""

import ast
import builtins
import enum
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any, Final

from hovis.backend.source.syntax import is_attribute, literal, put_names
from hovis.ir import operations as ops
from hovis.ir.model import Function
from hovis.ir.naming import identifier, is_name, printable
from hovis.lattice.inspection import attribute, is_a


class Names:
    """The names of known objects in the text."""

    def __init__(self, namespace: Mapping[str, object], functions: list[Function]) -> None:
        self.namespace = {id(value): name for name, value in reversed(list(namespace.items())) if type(name) is str and is_name(name)}
        self.taken: dict[str, object] = {}
        self.given: dict[str, object] = {}
        self.imports: dict[str, tuple[str, str | None]] = {}
        #: the name of the function that answers calls that do not fit
        self.original = ""
        self._found: dict[int, str] = {}
        self._kept: list[object] = []
        #: names of variables of some function: known objects must not get them
        self.variables: set[str] = set()
        self._functions: dict[int, str] = {}
        for one in functions:
            self._functions[id(one)] = self._free(identifier(one.name.removesuffix(".1")), shadowing=True)

    def function(self, one: Function) -> str:
        return self._functions[id(one)]

    def reserved(self, name: str) -> bool:
        """Is this name forbidden for variables?"""
        return name in self.taken or hasattr(builtins, name) or name in _MODULES

    def __call__(self, value: object) -> ast.expr:
        """Return the expression for a known object."""
        if type(value) is Function and id(value) in self._functions:
            return ast.Name(self.function(value), ast.Load())
        shown = literal(value)
        if shown is not None:
            put_names([shown], self.place)
            return shown
        if type(value) is tuple and value and all(type(part) is type and part.__module__ == "builtins" for part in value):
            return ast.Tuple([self(part) for part in value], ast.Load())
        parts = self.place(value).split(".")
        made: ast.expr = ast.Name(parts[0], ast.Load())
        for part in parts[1:]:
            made = ast.Attribute(made, part, ast.Load())
        return made

    def _call(self, value: Any) -> str:
        if value is ops.END or value is ops.UNBOUND:
            return self._import(ops.__name__, repr(value), repr(value), value)
        own = attribute(value, "__name__")
        own = own if type(own) is str and is_name(own) else None
        if own and getattr(builtins, own, None) is value and own not in self._functions.values() and own not in self.variables:
            return own
        if is_a(value, types.ModuleType):
            return self._import(value.__name__, None, self.namespace.get(id(value)) or value.__name__.rpartition(".")[2], value)
        home = _public(attribute(value, "__module__"), own, value)
        module = sys.modules.get(home) if type(home) is str else None
        if own and isinstance(module, types.ModuleType) and "__main__" not in str(home).split(".") and getattr(module, own, None) is value:
            if home in _MODULES:
                return f"{self._import(home, None, home, module)}.{own}"
            return self._import(str(home), own, self._apart(own), value)
        for owner, called in find_owner(value):
            return f"{self.place(owner)}.{called}"
        name = self._free(self._apart(self.namespace.get(id(value)) or identifier(own or f"{type(value).__name__}_")))
        self.given[name] = value
        return name

    def place(self, owner: object) -> str:
        """Return the name of a known object, which may be dotted."""
        found = self._found.get(id(owner))
        if found is None:
            found = self._found[id(owner)] = self._call(owner)
            self._kept.append(owner)
        return found

    def _apart(self, name: str) -> str:
        """Return name, prefixed if a residual function has it: the object is the original of a function that was specialized."""
        return f"original_{name}" if name in self._functions.values() else name

    def _import(self, module: str, item: str | None, name: str, value: object) -> str:
        name = identifier(name)
        name = self._free(name) if self.taken.get(name) is not value else name
        self.taken[name] = value
        self.imports[name] = module, item
        return name

    def _free(self, wanted: str, shadowing: bool = False) -> str:
        """Return a name that is not taken; with shadowing, it may be that of a builtin."""
        name, count = wanted, 1
        while name in self.taken or name in self.variables or (hasattr(builtins, name) and not shadowing):
            count += 1
            name = f"{wanted}{count}" if wanted.endswith("_") else f"{wanted}_{count}"
        self.taken[name] = None
        return name

    def keep(self, used: set[str]) -> None:
        """Drop the imports and given objects that the text does not use."""
        self.imports = {name: line for name, line in self.imports.items() if name in used}
        self.given = {name: value for name, value in self.given.items() if name in used}

    def header(self) -> str:
        """Return the imports, and comments that list the objects that have to be given."""
        lines = import_lines(self.imports)
        lines += [f"# {name} = {_short(value)}" for name, value in self.given.items()]
        return "\n".join(lines) + "\n\n\n" if lines else ""


def import_lines(imports: Mapping[str, tuple[str, str | None]]) -> list[str]:
    """Return the import statements for names; for a module that no statement can name, an equivalent assignment."""
    found = []
    for name, (module, item) in imports.items():
        if not all(map(is_name, module.split("."))) or not is_name(item or "_"):
            whole = f"__import__({module!r}, fromlist=['*'])"
            found.append(f"{name} = {whole if item is None else f'getattr({whole}, {item!r})'}")
            continue
        line = f"import {module}" if item is None else f"from {module} import {item}"
        found.append(line if name == (item or module) else f"{line} as {name}")
    return sorted(found, key=lambda line: (line.startswith("from"), line))


#: Modules whose functions are written as attributes of the module.
_MODULES: Final = frozenset({"operator", "math", "itertools", "functools", "sys", "cmath", "string"})


def find_owner(value: Any) -> Iterator[tuple[object, str]]:
    """Yield the owner of value and its attribute name there: for an enum's member, a method of a class."""
    if is_a(value, enum.Enum) and type(value).__members__.get(value._name_ or "") is value and is_attribute(str(value._name_)):
        yield type(value), str(value._name_)
    if is_a(value, types.MethodDescriptorType | types.WrapperDescriptorType | types.ClassMethodDescriptorType):
        owner, name = value.__objclass__, value.__name__
        if getattr(owner, name, None) is value and importable(owner):
            yield owner, name
    if is_a(value, types.BuiltinMethodType) and is_a(value.__self__, type) and getattr(value.__self__, value.__name__, None) == value:
        if importable(value.__self__):
            yield value.__self__, value.__name__
    if is_a(value, types.FunctionType | type) and "." in value.__qualname__ and "<" not in value.__qualname__:
        yield from _within(value)


def _within(value: Any) -> Iterator[tuple[object, str]]:
    """Yield the class that a function or class was defined in, with the attribute name."""
    outer, _, name = value.__qualname__.rpartition(".")
    owner: Any = sys.modules.get(value.__module__)
    for part in outer.split("."):
        owner = getattr(owner, part, None)
    if isinstance(owner, type) and owner.__dict__.get(name) is value and is_attribute(name) and importable(owner):
        yield owner, name


def importable(cls: type) -> bool:
    """Can cls be found in its module by its qualified name?"""
    found: Any = sys.modules.get(cls.__module__)
    for part in cls.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is cls


def _public(home: Any, name: str | None, value: object) -> Any:
    """Return the module that a user would import value from: ``operator`` for what is defined in ``_operator``."""
    if type(home) is str and home.startswith(ops.__name__):
        return ops.__name__
    if type(home) is str and name and home.startswith("_"):
        module = sys.modules.get(home.lstrip("_"))
        if module is not None and getattr(module, name, None) is value:
            return home.lstrip("_")
    return home


def _short(value: Any) -> str:
    """Return a description of value in one line."""
    if is_a(value, types.FunctionType | type):
        return printable(f"{'the class' if is_a(value, type) else 'the function'} {value.__qualname__}")
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = f"a {type(value).__qualname__}"
    return printable(text if len(text) <= 100 else text[:97] + "...")
