"""A residual as a module of its own, which imports without hovis.

The functions are those of ``source``.  What they refer to is imported from where it lives, or written out: numbers and
containers as displays, other objects by what they say of themselves for pickling, closures by the code that made them.
What they need of hovis itself (``unpack_star``, ``END``) is copied along.
"""

import ast
import copyreg
import itertools
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

from hovis.backend.module.copy_helpers import Copied
from hovis.backend.source.expressions import is_attribute, literal
from hovis.backend.text import Source, find_owner, import_lines, importable
from hovis.errors import WriteError
from hovis.ir.naming import identifier, is_name, printable

#: How the docstring of each module ends.
WRITTEN: Final = "written by hovis."
#: What a value is called in an error, at most.
LONGEST: Final = 70
#: Items of an array that is written as its numbers.
SMALL_ARRAY: Final = 1000

_ORIGINAL: Final = '''\
def {name}(*given, **named):
    """Calls that do not fit run the original."""
    {line}
    return original{rest}(*given, **named)
'''


#: Classes whose instances are as good as new ones.
_WRITTEN: Final = frozenset({int, bool, float, complex, str, bytes, tuple, frozenset, range, slice, type(None)})


class Unwritable(Exception):
    """A value that no text stands for; says why, and what would help."""


def module(source: Source, told: str, fn: Any, fits: str, namespace: dict[str, Any], where: Callable[[object], str], refuse: bool = False) -> str:
    """The text of a module with the functions of source.

    told      what the module is, for its docstring
    fits      the arguments that fit, in words
    where     gives the place of the user's source in which an object is used
    refuse    are calls that do not fit errors?  (else they run the original)
    """
    made = _Module(source, namespace, fn, refuse)
    problems: list[str] = []

    def tried(value: object, write: Callable[[], None]) -> None:
        try:
            write()
        except Unwritable as reason:
            problems.append(f"{where(value)}: {_shown(value)} can't be written into the module: {reason}")

    for name, (home, item) in made.wanted.items():
        tried(getattr(sys.modules.get(home), item or "", None), lambda name=name, home=home, item=item: made.imported(name, home, item))  # type: ignore[misc]
    for name, value in made.given.items():
        tried(value, lambda name=name, value=value: made.write(name, value))  # type: ignore[misc]
    if problems:
        raise WriteError("\n".join([*problems, _ADVICE]))
    return made.text(told, fits)


_ADVICE: Final = (
    "What is written has to be found again by an import, or be a number, a text or a container of such, or an object that can be pickled.\n"
    "Make it a global of its module, or leave it unknown: pass it as an argument (a spec like Any, in place of a value)."
)


def _shown(value: object) -> str:
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = "an object"
    return printable((text if len(text) <= LONGEST else text[: LONGEST - 3] + "...") + f" ({type(value).__qualname__})")


class _Module:
    """Collects what stands in the module."""

    def __init__(self, source: Source, namespace: dict[str, Any], fn: Any, refuse: bool) -> None:
        self.source = source
        self.fn = fn
        known = [(name, value) for name, value in namespace.items() if type(name) is str and is_name(name) and name != "__builtins__"]
        self.namespace = {id(value): name for name, value in reversed(known)}
        self.home = namespace.get("__name__")
        self.tree = ast.parse(source.definitions)
        original = source.original
        self.refuses = original is not None and (refuse or not self._is_found(fn, getattr(fn, "__module__", None), getattr(fn, "__qualname__", None)))
        bound = _bound(self.tree) | source.given.keys() | source.imports.keys()
        raised = next(name for name in itertools.chain(["TypeError"], (f"TypeError_{k}" for k in itertools.count(2))) if name not in bound)
        if self.refuses:
            self.tree = _Refusing(original, raised).visit(self.tree)
        self.tests = {name: value for name, value in source.given.items() if hasattr(value, "held")}
        used = {item.id for item in ast.walk(self.tree) if isinstance(item, ast.Name)}
        self.given = {name: value for name, value in source.given.items() if name in used and name not in self.tests and name != original}
        self.wanted = {name: known for name, known in source.imports.items() if name in used and name != original}
        self.imports: dict[str, tuple[str, str | None]] = {raised: ("builtins", "TypeError")} if self.refuses and raised != "TypeError" else {}
        self.copied = Copied()
        self.aliases: list[tuple[str, str]] = []
        self.parts: list[str] = []
        self.taken = used | {item.arg for item in ast.walk(self.tree) if isinstance(item, ast.arg)} | {source.name, "RESIDUAL"}
        self.taken |= {item.name for item in ast.walk(self.tree) if isinstance(item, ast.FunctionDef)}
        #: how often a container occurs in what is written
        self.shared: Counter[int] = Counter()
        for value in self.given.values():
            self._share(value)
        #: what has a name by now; kept, so that no other object gets its id
        self.named: dict[int, tuple[str, object]] = {}
        self.open: set[int] = set()
        self._alive: list[object] = []
        self._globals: dict[int, tuple[str, str]] | None = None

    def _share(self, value: Any) -> None:
        if type(value) in (list, dict, set, tuple):
            self.shared[id(value)] += 1
            if self.shared[id(value)] == 1:
                for inner in [*value.keys(), *value.values()] if type(value) is dict else value:
                    self._share(inner)

    # --------------------------------------------------------------------------------------------- what has a name in the text

    def imported(self, name: str, home: str, item: str | None) -> None:
        if home.partition(".")[0] != "hovis":
            self.imports[name] = home, item
        elif item is None:
            raise Unwritable("it is a module of hovis")
        else:
            self.aliases.append((name, self.copied.need(home, item)))

    def write(self, name: str, value: object) -> None:
        found = self.named.get(id(value))
        self.parts.append(f"{name} = {found[0] if found else self.value(value, name)}\n")
        if self.parts[-1] == f"{name} = {name}\n":
            self.parts.pop()
        self.named.setdefault(id(value), (name, value))

    def _apart(self, fits: str) -> None:
        """What tests that an argument is none of the objects in here: those are few, and most are nobody else's."""
        idle = set()
        for name, test in self.tests.items():
            names = [self.named[id(held)][0] for held in test.held if id(held) in self.named]
            if names:
                self.parts.append(f"def {name}(value):\n    return all(value is not held for held in ({', '.join(names)},))\n")
            else:
                idle.add(name)
        self.tree = _Without(idle).visit(self.tree)
        if self.refuses:
            for node in ast.walk(self.tree):
                if isinstance(node, ast.Constant) and node.value is _REFUSAL:
                    node.value = f"{self.source.name} was specialized for {fits}: it takes no other arguments"
        elif self.source.original is not None:
            first, dot, rest = self.fn.__qualname__.partition(".")
            [line] = import_lines({"original": (self.fn.__module__, first)})
            self.parts.append(_ORIGINAL.format(name=self.source.original, line=line, rest=dot + rest))

    # --------------------------------------------------------------------------------------------- values

    def value(self, value: Any, wanted: str = "") -> str:
        """An expression for value; what stands before it is noted."""
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
        """The place from which value can be imported."""
        if isinstance(value, types.ModuleType):
            return self._import(value.__name__, None)
        if type(value) is dict and (home := value.get("__name__")) in sys.modules and vars(sys.modules[home]) is value:
            return f"{self._import(home, None)}.__dict__"
        home, qualname = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
        if isinstance(value, types.FunctionType | types.BuiltinFunctionType | type) and self._is_found(value, home, qualname):
            if str(home).partition(".")[0] == "hovis":
                return self.copied.need(str(home), str(qualname))
            if home == "builtins":
                return str(qualname)
            first, dot, rest = str(qualname).partition(".")
            return self._import(str(home), first) + dot + rest
        if id(value) in self.namespace and self.home in sys.modules and vars(sys.modules[self.home]).get(self.namespace[id(value)]) is value:
            return self._kept_import(value, self.home, self.namespace[id(value)], wanted)
        if (place := self._global(value)) is not None:
            return self._kept_import(value, *place, wanted)
        if isinstance(value, type) and (alias := _alias(value)):
            return self._import(*alias)
        for owner, attribute in find_owner(value):
            return f"{self.value(owner)}.{attribute}"
        return None

    def _global(self, value: object) -> tuple[str, str] | None:
        """The module that has an object as a global: it is one with that."""
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
        name = self._import(home, item)
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
            return f"{self._import('types', 'MethodType')}({self.value(value.__func__)}, {self.value(value.__self__)})"
        if kind is types.BuiltinMethodType and value.__self__ is not None:
            return f"{self.value(value.__self__)}.{value.__name__}"
        if kind is types.CodeType:
            return self._code(value)
        if kind is types.CellType:
            return f"{self._import('types', 'CellType')}({self.value(value.cell_contents) if _is_full(value) else ''})"
        if kind is types.FunctionType:
            return self._function(value, wanted)
        if isinstance(value, type):
            raise Unwritable("the class can't be found in its module")
        if kind.__module__ == "numpy" and kind.__name__ == "ndarray" and _is_numbers(value):
            items = value.tolist()
            self._alive.append(items)
            self._share(items)
            return self._kept(value, f"{self._import('numpy', 'array')}({self.value(items)}, {value.dtype.str!r})", wanted)
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
        """A container that occurs in one place stands there."""
        if wanted or self.shared[id(value)] == 1:
            return shown
        return self._kept(value, shown)

    def _kept(self, value: object, shown: str, wanted: str = "") -> str:
        """The name of an object that is one and the same wherever it occurs."""
        name = wanted or self._free(self.namespace.get(id(value)) or f"{type(value).__name__.lower()}_")
        self.parts.append(f"{name} = {shown}\n")
        self.named[id(value)] = name, value
        return name

    def _function(self, function: types.FunctionType, wanted: str) -> str:
        """A function that another one made: from its code and its cells."""
        if function.__module__.partition(".")[0] == "hovis":
            raise Unwritable("it is a test of an argument that hovis makes; a plainer spec would help")
        cells = ", ".join(self.value(cell) for cell in function.__closure__ or ())
        arguments = [self._code(function.__code__), self.value(function.__globals__), repr(function.__name__), self.value(function.__defaults__)]
        arguments.append(f"({cells},)" if cells else "None")
        name = self._kept(function, f"{self._import('types', 'FunctionType')}({', '.join(arguments)})", wanted or self._free(function.__name__.strip("<>")))
        self.parts.append(f"{name}.__qualname__ = {function.__qualname__!r}\n")
        for attribute in ("__kwdefaults__", "__annotations__", "__dict__"):
            held = getattr(function, attribute)
            if held:
                shown = self.value(held)
                self.parts.append(f"{name}.{attribute}{'.update(' if attribute == '__dict__' else ' = '}{shown}{')' if attribute == '__dict__' else ''}\n")
        return name

    def _code(self, code: types.CodeType) -> str:
        """The code of a function inside of one that can be imported."""
        for home in list(sys.modules.values()):
            if getattr(home, "__file__", None) == code.co_filename and home.__name__ != "__main__":
                for outer in _functions(home):
                    which = _which(outer.__code__, code)
                    if which is not None:
                        name = self.copied.need(__name__, code_within.__name__)
                        return f"{name}({self.value(outer)}.__code__, {code.co_qualname!r}, {code.co_firstlineno}, {which})"
        raise Unwritable(f"{code.co_qualname} is made by no function that can be imported")

    def _reduced(self, value: Any, wanted: str) -> str:
        """By what value says of itself for pickling."""
        try:
            reduced: Any = value.__reduce_ex__(4)
        except Exception as reason:
            raise Unwritable(str(reason)) from None
        if isinstance(reduced, str):
            raise Unwritable(f"there is no {reduced} to import")
        make, args, state, items, pairs = (*reduced, None, None, None)[:5]
        if not callable(make):
            raise Unwritable("it says of itself that it is made by what can't be called")
        if make is copyreg.__newobj__:  # type: ignore[attr-defined]
            shown = f"{self.value(args[0])}.__new__({', '.join(map(self.value, args))})"
        else:
            shown = f"{self.value(make)}({', '.join(map(self.value, args))})"
        name = self._kept(value, shown, wanted)
        # what it holds may lead back to it
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

    def _is_found(self, value: Any, home: Any, qualname: Any) -> bool:
        if type(home) is not str or type(qualname) is not str or "__main__" in home.split(".") or not all(map(is_name, qualname.split("."))):
            return False
        found: Any = sys.modules.get(home)
        for part in qualname.split("."):
            found = getattr(found, part, None)
        return found is value

    def _import(self, home: str, item: str | None) -> str:
        for name, known in self.imports.items():
            if known == (home, item):
                return name
        wanted = item or home
        if "." in wanted:
            wanted = wanted.rpartition(".")[2]
        name = self._free(wanted)
        self.imports[name] = home, item
        return name

    def _free(self, wanted: str) -> str:
        wanted = name = identifier(wanted)
        count = 1
        while name in self.taken:
            count += 1
            name = f"{wanted}_{count}"
        self.taken.add(name)
        return name

    # --------------------------------------------------------------------------------------------- the text

    def text(self, told: str, fits: str) -> str:
        self._apart(fits)
        functions = {one.name for one in self.tree.body if isinstance(one, ast.FunctionDef)}
        helpers, imports, new = self.copied.text(self.taken - {name for name, known in self.aliases if name == known}, functions)
        self.imports |= imports
        values = [f"{name} = {called}\n" for name, known in self.aliases if (called := new.get(known, known)) != name]
        values += [part for part in self.parts if not part.startswith("def ")]
        made = [part for part in self.parts if part.startswith("def ")]
        lines = "\n".join(import_lines(self.imports))
        top = f"{_docstring(told)}\n" + (f"\n{lines}\n" if lines else "")
        definitions = [ast.unparse(ast.fix_missing_locations(one)) + "\n" for one in self.tree.body]
        return "\n\n".join([top, *helpers, *(["".join(values)] if values else []), *made, *definitions])


def _docstring(text: str) -> str:
    """A literal, in three quotes if the text needs nothing else; of what a docstring can't hold (surrogates, from 3.13 on) it tells."""
    text = printable(text)
    return f'"""{text}"""' if "\\" not in text and '"""' not in text and not text.endswith('"') else repr(text)


#: Stands for what is said to a call that does not fit: no constant of the user's is this one.
_REFUSAL: Final[Any] = object()


def _bound(tree: ast.AST) -> set[str]:
    """The names of functions, parameters and variables."""
    found = {item.name for item in ast.walk(tree) if isinstance(item, ast.FunctionDef | ast.ExceptHandler) and item.name}
    found |= {item.arg for item in ast.walk(tree) if isinstance(item, ast.arg)}
    return found | {item.id for item in ast.walk(tree) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}


class _Refusing(ast.NodeTransformer):
    """Raises where the original would be called."""

    def __init__(self, original: str | None, raised: str) -> None:
        self.original = original
        self.raised = raised

    def visit_Return(self, node: ast.Return) -> ast.AST:
        if isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name) and node.value.func.id == self.original:
            return ast.Raise(ast.Call(ast.Name(self.raised, ast.Load()), [ast.Constant(_REFUSAL)], []), None)
        return node


class _Without(ast.NodeTransformer):
    """Without tests that are always passed."""

    def __init__(self, tests: set[str]) -> None:
        self.tests = tests

    def visit_If(self, node: ast.If) -> ast.AST | None:
        self.generic_visit(node)
        test = node.test
        if isinstance(test, ast.UnaryOp) and self._is_idle(test.operand):
            return None
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        kept = [one for one in node.values if not self._is_idle(one)]
        if not kept or len(kept) == len(node.values):
            return node if kept else node.values[0]
        return kept[0] if len(kept) == 1 else ast.BoolOp(node.op, kept)

    def _is_idle(self, test: ast.expr) -> bool:
        return isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id in self.tests


def _simple(value: Any) -> str | None:
    """The text of a constant."""
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
    """Is an array a few numbers in plain order?"""
    return array.dtype.kind in "biufc" and 0 < array.size <= SMALL_ARRAY and bool(array.flags.c_contiguous)


def _alias(cls: type) -> tuple[str, str] | None:
    """The name by which a class can be imported that is not found by its own: ``types.NoneType``."""
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
    """The functions that can be imported from a module, those of its classes too."""
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
    """The code objects of this name and line inside of another, in order."""
    for inner in code.co_consts:
        if isinstance(inner, type(code)):
            if inner.co_qualname == qualname and inner.co_firstlineno == line:
                yield inner
            yield from codes_within(inner, qualname, line)


def code_within(code: types.CodeType, qualname: str, line: int, which: int) -> types.CodeType:
    """The code of a function that another one makes."""
    found = list(codes_within(code, qualname, line))
    if which >= len(found):
        raise LookupError(f"there is no {qualname} in line {line} any more")
    return found[which]


def _which(outer: types.CodeType, code: types.CodeType) -> int | None:
    """Which of the codes of its name and line inside of outer code is."""
    return next((k for k, found in enumerate(codes_within(outer, code.co_qualname, code.co_firstlineno)) if found is code), None)
