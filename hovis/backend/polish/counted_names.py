"""Rewrites that depend on how often a name occurs in a function: ``for`` over an iterator created right there, ``range``, displays, named
exceptions.
"""

import ast
from collections import Counter

from hovis.backend.polish.statement_queries import JUMPS, assigned, deleted, nested, of_loop, read
from hovis.backend.source.syntax import marked, meaning
from hovis.ir.operations import END


class Counted:
    """Rewrites that depend on how often a name occurs."""

    def __init__(self, counts: Counter[str]) -> None:
        self.counts = counts
        #: names that surrounding handlers read: their assignments may not be moved
        self.handled: set[str] = set()
        #: number of deletions of each name in the whole function
        self.deleted: Counter[str] | None = None

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        if self.deleted is None:
            self.deleted = deleted(body)
        found: list[ast.stmt] = []
        for statement in body:
            made = self._inside(statement)
            if isinstance(made, ast.For):
                made = self._for(made, found)
                if isinstance(made, ast.For):
                    self._unpacked(made)
            elif isinstance(made, ast.While):
                made = self._counted(made, found)
            elif isinstance(made, ast.Try):
                made = self._named(made)
            elif found and self._displayed(found[-1], made):
                continue
            found.append(made)
        return found

    def _inside(self, statement: ast.stmt) -> ast.stmt:
        if isinstance(statement, ast.If | ast.While | ast.For):
            statement.body, statement.orelse = self.statements(statement.body), self.statements(statement.orelse)
        elif isinstance(statement, ast.Try):
            around = self.handled
            # a name may also be deleted in code that the exception leads to, which is a use
            elsewhere = (self.deleted or Counter()) - deleted(statement.body)
            self.handled = around | {name for handler in statement.handlers for name in read(handler)} | set(elsewhere)
            statement.body = self.statements(statement.body)
            self.handled = around
            statement.orelse = self.statements(statement.orelse)
            for handler in statement.handlers:
                handler.body = self.statements(handler.body)
        return statement

    def _for(self, loop: ast.For, before: list[ast.stmt]) -> ast.stmt:
        """Put the iterable into the loop, if its iterator is created right before the loop; where that is impossible, write out the steps."""
        source = loop.iter
        if isinstance(source, ast.Name) and self.counts[source.id] == 2:
            for k in range(len(before) - 1, -1, -1):
                made = before[k]
                if isinstance(made, ast.Assign) and isinstance(made.targets[0], ast.Name) and made.targets[0].id == source.id:
                    if marked(made.value, "iter") and isinstance(made.value, ast.Call) and not assigned(before[k + 1 :]) & (read(made.value) | self.handled):
                        loop.iter = made.value.args[0]
                        del before[k]
                        return loop
                    break
                if not (isinstance(made, ast.Assign) and isinstance(made.targets[0], ast.Name) and _is_new(made.value)):
                    break
        if marked(loop, "own next"):
            return loop
        return _unstepped(loop)

    def _displayed(self, before: ast.stmt, after: ast.stmt) -> bool:
        """Rewrite ``t = {}; update(t, a); t[k] = b`` to ``t = {**a, k: b}``, lists likewise; return whether after became part of before."""
        if not (isinstance(before, ast.Assign) and isinstance(made := before.targets[0], ast.Name) and isinstance(before.value, ast.Dict | ast.List)):
            return False
        match after:
            case ast.Expr(ast.Call(args=[ast.Name() as name, more])) if marked(after.value, "update"):
                pass
            case ast.Assign([ast.Subscript(ast.Name() as name, ast.Constant() as key)], value) if isinstance(before.value, ast.Dict):
                more = ast.Dict([key], [value])
            case _:
                return False
        if name.id != made.id or name.id in read(more) | self.handled:
            return False
        if isinstance(before.value, ast.Dict):
            inner = more if isinstance(more, ast.Dict) else ast.Dict([None], [more])
            before.value = ast.Dict([*before.value.keys, *inner.keys], [*before.value.values, *inner.values])
        else:
            parts = more.elts if isinstance(more, ast.List | ast.Tuple) else [ast.Starred(more, ast.Load())]
            before.value = ast.List([*before.value.elts, *parts], ast.Load())
        return True

    def _unpacked(self, loop: ast.For) -> None:
        """Rewrite ``for t in it: a, b = t`` to ``for a, b in it``, if t occurs nowhere else."""
        if not (isinstance(loop.target, ast.Name) and isinstance(first := loop.body[0], ast.Assign) and isinstance(first.value, ast.Name)):
            return
        name, parts = loop.target.id, first.targets[0]
        ended = len(loop.body) > 1 and isinstance(loop.body[1], ast.Delete) and ast.dump(loop.body[1]) == ast.dump(ast.Delete([ast.Name(name, ast.Del())]))
        if first.value.id == name and isinstance(parts, ast.Tuple) and self.counts[name] == 2 + ended and not self.handled & assigned([first]):
            loop.target, loop.body = parts, loop.body[1 + ended :] or [ast.Pass()]

    def _counted(self, loop: ast.While, before: list[ast.stmt]) -> ast.stmt:
        """Rewrite ``i = a; while i < b: …; i += 1`` to ``for i in range(a, b)``, if i occurs nowhere else."""
        test, body = loop.test, loop.body
        if not (isinstance(test, ast.Compare) and marked(test, "ordered") and isinstance(test.ops[0], ast.Lt) and isinstance(test.left, ast.Name)):
            return loop
        name, end = test.left.id, test.comparators[0]
        at = next((k for k, s in enumerate(body) if _counts_up(s, name)), None)
        if at is None or of_loop(body, ast.Continue) or not isinstance(end, ast.Name | ast.Constant):
            return loop
        start = next((k for k in range(len(before) - 1, -1, -1) if name in assigned([before[k]]) or name in read(before[k])), None)
        rest = body[:at] + body[at + 1 :]
        inside = sum(isinstance(item, ast.Name) and item.id == name for item in nested(rest))
        if start is None or assigned(rest) & {name, getattr(end, "id", name)} or any(name in read(s) for s in body[at + 1 :]):
            return loop
        first = before[start]
        if not (isinstance(first, ast.Assign) and isinstance(first.value, ast.Constant) and type(first.value.value) is int):
            return loop
        if len(first.targets) != 1 or not isinstance(first.targets[0], ast.Name) or self.counts[name] != inside + 3 or not rest:
            return loop
        del before[start]
        bounds: list[ast.expr] = [end] if first.value.value == 0 else [first.value, end]
        return ast.For(ast.Name(name, ast.Store()), ast.Call(meaning(range), bounds, []), rest, [])

    def _named(self, statement: ast.Try) -> ast.stmt:
        """Bind the variable itself by ``except E as e``, if nothing else binds it."""
        for handler in statement.handlers:
            first = handler.body[0]
            if handler.name is None or not isinstance(first, ast.Assign) or not isinstance(first.targets[0], ast.Name):
                continue
            if not isinstance(first.value, ast.Name) or first.value.id != handler.name:
                continue
            name = first.targets[0].id
            inside = sum(isinstance(item, ast.Name) and item.id == name for h in statement.handlers for item in nested(h.body))
            if inside == self.counts[name] and name not in assigned(handler.body[1:]):
                body = handler.body[1:]
                used = any(name in read(s) for s in body)
                handler.name, handler.body = name if used else None, body or [ast.Pass()]
        return statement


def _is_new(shown: ast.expr) -> bool:
    """Is shown a variable, a constant, or a new container of these? When it is evaluated can't be observed."""
    match shown:
        case ast.Call() if marked(shown, "empty set"):
            return True
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return all(map(_is_new, parts))
        case ast.Dict(keys=keys, values=values):
            return all(isinstance(key, ast.Constant) for key in keys) and all(map(_is_new, values))
    return isinstance(shown, ast.Constant | ast.Name)


def _counts_up(statement: ast.stmt, name: str) -> bool:
    if not (isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add) and isinstance(statement.target, ast.Name)):
        return False
    return statement.target.id == name and isinstance(statement.value, ast.Constant) and statement.value.value == 1


def _unstepped(loop: ast.For) -> ast.While:
    assert isinstance(loop.target, ast.Name)
    name = ast.Name(loop.target.id, ast.Load())
    end = meaning(END, "END")
    step = ast.Assign([loop.target], ast.Call(meaning(next), [loop.iter, end], []))
    ending = loop.orelse if loop.orelse and isinstance(loop.orelse[-1], JUMPS) else [*loop.orelse, ast.Break()]
    return ast.While(ast.Constant(True), [step, ast.If(ast.Compare(name, [ast.Is()], [end]), ending, []), *loop.body], [])
