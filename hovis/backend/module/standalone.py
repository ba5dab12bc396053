"""Writing a residual as a standalone module, which imports without hovis.

The functions are those of ``source``.  Objects that they refer to are imported from their modules, or written out: numbers and
containers as displays, other objects by their pickling protocol (``__reduce_ex__``), closures by the code that created them.
Definitions of hovis itself that they need (``unpack_star``, ``END``) are copied into the module.
"""

import ast
import itertools
import sys
from collections.abc import Callable
from typing import Any, Final

from hovis.backend.module.object_expressions import Unwritable, Values, is_found
from hovis.backend.source.object_names import import_lines
from hovis.backend.text import Source
from hovis.errors import WriteError
from hovis.ir.naming import printable

#: The end of the docstring of each module.
WRITTEN: Final = "written by hovis."
#: Maximal length of the description of a value in an error message.
LONGEST: Final = 70

_ORIGINAL: Final = '''\
def {name}(*given, **named):
    """Calls that do not fit run the original."""
    {line}
    return original{rest}(*given, **named)
'''


def module(source: Source, told: str, fn: Any, fits: str, namespace: dict[str, Any], where: Callable[[object], str], refuse: bool = False) -> str:
    """Return the text of a module with the functions of source.

    told      description of the module, for its docstring
    fits      description of the arguments that fit
    where     returns the place in the user's source where an object is used
    refuse    do calls that do not fit raise an error?  (else they run the original)
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
        tried(value, lambda name=name, value=value: made.values.write(name, value))  # type: ignore[misc]
    if problems:
        raise WriteError("\n".join([*problems, _ADVICE]))
    return made.text(told, fits)


_ADVICE: Final = (
    "A module can only hold objects that can be imported or pickled, numbers, strings, and containers of these.\n"
    "Make it a global of its module, or leave it unknown: pass it as an argument with a spec such as Any instead of the value."
)


def _shown(value: object) -> str:
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = "an object"
    return printable((text if len(text) <= LONGEST else text[: LONGEST - 3] + "...") + f" ({type(value).__qualname__})")


class _Module:
    """Collects the contents of the module."""

    def __init__(self, source: Source, namespace: dict[str, Any], fn: Any, refuse: bool) -> None:
        self.source = source
        self.fn = fn
        self.tree = ast.parse(source.definitions)
        original = source.original
        self.refuses = original is not None and (refuse or not is_found(fn, getattr(fn, "__module__", None), getattr(fn, "__qualname__", None)))
        bound = _bound(self.tree) | source.given.keys() | source.imports.keys()
        raised = next(name for name in itertools.chain(["TypeError"], (f"TypeError_{k}" for k in itertools.count(2))) if name not in bound)
        if self.refuses:
            self.tree = _Refusing(original, raised).visit(self.tree)
        self.tests = {name: value for name, value in source.given.items() if hasattr(value, "held")}
        used = {item.id for item in ast.walk(self.tree) if isinstance(item, ast.Name)}
        self.given = {name: value for name, value in source.given.items() if name in used and name not in self.tests and name != original}
        self.wanted = {name: known for name, known in source.imports.items() if name in used and name != original}
        self.imports: dict[str, tuple[str, str | None]] = {raised: ("builtins", "TypeError")} if self.refuses and raised != "TypeError" else {}
        self.aliases: list[tuple[str, str]] = []
        self.taken = used | {item.arg for item in ast.walk(self.tree) if isinstance(item, ast.arg)} | {source.name, "RESIDUAL"}
        self.taken |= {item.name for item in ast.walk(self.tree) if isinstance(item, ast.FunctionDef)}
        self.values = Values(namespace, self.taken, self.imports, self.given.values())
        self.copied, self.parts = self.values.copied, self.values.parts

    # --------------------------------------------------------------------------------------------- named objects

    def imported(self, name: str, home: str, item: str | None) -> None:
        if home.partition(".")[0] != "hovis":
            self.imports[name] = home, item
        elif item is None:
            raise Unwritable("it is a module of hovis")
        else:
            self.aliases.append((name, self.copied.need(home, item)))

    def _apart(self, fits: str) -> None:
        """Write the tests that an argument is none of the objects in the module, and remove those with nothing to compare: the objects are few,
        and most are visible to nobody else. Write the call of the original, or the text of the refusal.
        """
        idle = set()
        for name, test in self.tests.items():
            names = [self.values.named[id(held)][0] for held in test.held if id(held) in self.values.named]
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
    """Return a literal of the text, in triple quotes if it needs no escapes; characters that a docstring can't hold (surrogates, from 3.13 on)
    are escaped.
    """
    text = printable(text)
    return f'"""{text}"""' if "\\" not in text and '"""' not in text and not text.endswith('"') else repr(text)


#: Placeholder for the error message to a call that does not fit, distinct from all constants of the user.
_REFUSAL: Final[Any] = object()


def _bound(tree: ast.AST) -> set[str]:
    """Return the names of functions, parameters and variables."""
    found = {item.name for item in ast.walk(tree) if isinstance(item, ast.FunctionDef | ast.ExceptHandler) and item.name}
    found |= {item.arg for item in ast.walk(tree) if isinstance(item, ast.arg)}
    return found | {item.id for item in ast.walk(tree) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}


class _Refusing(ast.NodeTransformer):
    """Replaces the call of the original by a raise."""

    def __init__(self, original: str | None, raised: str) -> None:
        self.original = original
        self.raised = raised

    def visit_Return(self, node: ast.Return) -> ast.AST:
        if isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name) and node.value.func.id == self.original:
            return ast.Raise(ast.Call(ast.Name(self.raised, ast.Load()), [ast.Constant(_REFUSAL)], []), None)
        return node


class _Without(ast.NodeTransformer):
    """Removes tests that always pass."""

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
