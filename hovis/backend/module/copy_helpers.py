"""Definitions that a residual needs of hovis itself, copied from the source of hovis."""

import ast
import builtins
import importlib
import inspect
from collections.abc import Iterable, Iterator
from typing import Final

from hovis.errors import WriteError

#: Top-level statements that bind names.
_Definition = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign | ast.Import | ast.ImportFrom
_ROOT: Final = "hovis"


class Copied:
    """The definitions of hovis that are needed, each after the definitions that it depends on."""

    def __init__(self) -> None:
        self.definitions: dict[tuple[str, str], ast.stmt] = {}
        self.imports: dict[str, tuple[str, str | None]] = {}
        self._indexes: dict[str, dict[str, _Definition]] = {}
        self._seen: set[tuple[str, str]] = set()

    def need(self, home: str, name: str) -> str:
        """Copy the definition of name in the module home of hovis, with all that it needs; return its name."""
        if (home, name) in self._seen:
            return name
        self._seen.add((home, name))
        found = self._index(home)[name]
        if isinstance(found, ast.Import | ast.ImportFrom):
            self._import(found, name)
            return name
        bare = _Bare().visit(found)
        # names that are read while the definition is executed must be defined before it; names that a call reads may be defined after it
        self._names(home, _read_at_once(bare))
        self.definitions[home, name] = bare
        self._names(home, ast.walk(bare))
        return name

    def _names(self, home: str, parts: Iterable[ast.AST]) -> None:
        for inner in sorted({item.id for item in parts if isinstance(item, ast.Name)} & self._index(home).keys()):
            self.need(home, inner)

    def _index(self, home: str) -> "dict[str, _Definition]":
        """Return the top-level definitions of a module, by name."""
        found = self._indexes.get(home)
        if found is None:
            found = self._indexes[home] = {}
            for statement in ast.parse(inspect.getsource(importlib.import_module(home))).body:
                if isinstance(statement, ast.FunctionDef | ast.ClassDef):
                    found[statement.name] = statement
                elif isinstance(statement, ast.Assign | ast.AnnAssign):
                    for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
                        if isinstance(target, ast.Name):
                            found[target.id] = statement
                elif isinstance(statement, ast.Import | ast.ImportFrom):
                    for alias in statement.names:
                        found[alias.asname or alias.name.partition(".")[0]] = statement
        return found

    def _import(self, statement: ast.Import | ast.ImportFrom, name: str) -> None:
        alias = next(one for one in statement.names if name in (one.asname, one.name, one.name.partition(".")[0]))
        if isinstance(statement, ast.Import):
            self.imports[name] = alias.name, None
        elif str(statement.module).partition(".")[0] != _ROOT:
            self.imports[name] = str(statement.module), alias.name
        elif alias.name not in self._index(str(statement.module)):
            raise WriteError(
                f"{statement.module}.{alias.name} can't be written into the module, because hovis itself would have to be copied. "
                "The residual calls something that traces while it runs (such as a gradient of an unknown function): remove it, or give it a spec"
            )
        else:
            self.need(str(statement.module), alias.name)

    def text(self, taken: set[str], functions: set[str]) -> tuple[list[str], dict[str, tuple[str, str | None]], dict[str, str]]:
        """Return the definitions, the imports that they need, and the new names of those whose names are taken; functions are the names of the
        module's functions.
        """
        names = {name for _, name in self.definitions} | self.imports.keys()
        mentioned = {item.id for one in self.definitions.values() for item in ast.walk(one) if isinstance(item, ast.Name)}
        hidden = {name for name in mentioned & functions - names if hasattr(builtins, name)}
        new = {name: f"{name}_of_hovis" for name in names & taken | hidden}
        renamed = _Renamed(new)
        texts = [ast.unparse(ast.fix_missing_locations(renamed.visit(one))) + "\n" for one in self.definitions.values()]
        imports = {**self.imports, **{name: ("builtins", name) for name in hidden}}
        return texts, {new.get(name, name): known for name, known in imports.items()}, new


def _read_at_once(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a definition that are evaluated when it is executed: all but the bodies of functions."""
    yield node
    for field, value in ast.iter_fields(node):
        if not (isinstance(node, ast.FunctionDef | ast.Lambda) and field == "body"):
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, ast.AST):
                    yield from _read_at_once(part)


class _Bare(ast.NodeTransformer):
    """Removes annotations, which would have to be imported."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        for arg in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]:
            if arg is not None:
                arg.annotation = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        self.generic_visit(node)
        return ast.Assign([node.target], node.value) if node.value is not None else None


class _Renamed(ast.NodeTransformer):
    def __init__(self, new: dict[str, str]) -> None:
        self.new = new

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.new.get(node.id, node.id)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self.new.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self.new.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self.new.get(node.arg, node.arg)
        return node
