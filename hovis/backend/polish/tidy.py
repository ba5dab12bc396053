"""Statements as a person would write them: the same ones, shorter.

``for`` in place of ``while True`` and ``next``, ``except E as e`` in place of tests of what was caught, ``while c`` in
place of a test before and one at the end, ``x = a if c else b``, and less nesting behind what leaves anyway.
"""

import ast
import copy
import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Final

from hovis.backend.polish.comprehensions import comprehended
from hovis.backend.polish.conditions import Conditions
from hovis.backend.polish.temporaries import without_temporaries
from hovis.backend.source.expressions import both, marked, meaning, negated
from hovis.ir.operations import END

_JUMPS: Final = (ast.Return, ast.Raise, ast.Break, ast.Continue)


def tidy_function(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a whole function."""
    found = without_temporaries(_Tidy().statements(body), loops=False)
    counts = Counter(item.id for s in found for item in ast.walk(s) if isinstance(item, ast.Name))
    found = without_temporaries(comprehended(_Last(counts).statements(found)), loops=True)
    return [Conditions().visit(statement) for statement in found]


def _dump(statements: list[ast.stmt]) -> list[str]:
    return [ast.dump(s) for s in statements]


def _nested(statements: list[ast.stmt]) -> Iterator[ast.AST]:
    for s in statements:
        yield from ast.walk(s)


def _assigned(statements: list[ast.stmt]) -> set[str]:
    return {item.id for item in _nested(statements) if isinstance(item, ast.Name) and not isinstance(item.ctx, ast.Load)}


def _read(tree: ast.AST) -> set[str]:
    return {item.id for item in ast.walk(tree) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)}


def _leaves(statement: ast.stmt) -> bool:
    """Does nothing that stands behind statement follow it?"""
    match statement:
        case ast.If():
            return bool(statement.orelse) and _leaves(statement.body[-1]) and _leaves(statement.orelse[-1])
        case ast.Try():
            body = _leaves(statement.body[-1]) or (bool(statement.orelse) and _leaves(statement.orelse[-1]))
            return body and all(_leaves(handler.body[-1]) for handler in statement.handlers)
        case ast.While(test=ast.Constant(value=True)):
            return not _of_loop(statement.body, ast.Break)
    return isinstance(statement, _JUMPS)


def _of_loop(statements: list[ast.stmt], kind: type[ast.stmt]) -> bool:
    """Is there a break (or continue) of the loop whose body this is?"""
    for s in statements:
        if isinstance(s, kind):
            return True
        if isinstance(s, ast.If) and (_of_loop(s.body, kind) or _of_loop(s.orelse, kind)):
            return True
        if isinstance(s, ast.Try) and (_of_loop(s.body, kind) or any(_of_loop(h.body, kind) for h in s.handlers) or _of_loop(s.orelse, kind)):
            return True
        if isinstance(s, ast.For | ast.While) and _of_loop(s.orelse, kind):
            return True
    return False


# ------------------------------------------------------------------------------------------------- statement by statement


class _Tidy:
    """From the inside out."""

    #: is there a handler around?
    watched = False

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for statement in body:
            found += self._one(statement)
            if found and _leaves(found[-1]):
                break
        found = [s for s in found if not isinstance(s, ast.Pass)]
        for loop, after in itertools.pairwise(found):
            if isinstance(loop, ast.While | ast.For) and isinstance(after, ast.Return) and not loop.orelse:
                loop.body = _breaking(loop.body, ast.dump(after))
        return found

    def _one(self, statement: ast.stmt) -> list[ast.stmt]:
        match statement:
            case ast.If():
                return self._if(statement)
            case ast.While():
                return self._while(statement)
            case ast.Try():
                return self._try(statement)
        return [statement]

    def _if(self, statement: ast.If) -> list[ast.stmt]:
        then, other = self.statements(statement.body), self.statements(statement.orelse)
        cond = statement.test
        if not then and not other:
            return [ast.Expr(cond)] if not isinstance(cond, ast.Name | ast.Constant) else []
        if not then:
            then, other, cond = other, [], negated(cond)
        if (rolled := _rolled(cond, then, other, self.watched)) is not None:
            return rolled
        if len(then) == 1 and not other and isinstance(then[0], ast.If) and not then[0].orelse:
            return [ast.If(both(ast.And(), cond, then[0].test), then[0].body, [])]
        if len(then) == len(other) == 1 and (one := _conditional(cond, then[0], other[0])) is not None:
            return [one]
        ended = marked(cond, "ended") and isinstance(cond, ast.Compare) and isinstance(cond.ops[0], ast.IsNot)
        if other and isinstance(other[-1], _JUMPS) and (ended or (not isinstance(then[-1], _JUMPS) and len(other) < len(then))):
            return [ast.If(negated(cond), other, []), *then]
        if other and isinstance(then[-1], _JUMPS):
            return [ast.If(cond, then, []), *other]
        return [ast.If(cond, then, other)]

    def _while(self, statement: ast.While) -> list[ast.stmt]:
        body = self.statements(statement.body)
        while body and isinstance(body[-1], ast.Continue):
            body.pop()
        once = _once(body)
        if once is not None:
            return once
        step = _stepped(body)
        if step is not None:
            return [step]
        return [self._tested(statement, body)]

    def _tested(self, statement: ast.While, body: list[ast.stmt]) -> ast.stmt:
        if any(marked(item, "poll") for item in _nested(body)):
            # from 3.13 on no handler covers the jump back of a loop that is left by its test
            return ast.While(statement.test, body, [])
        if len(body) > 1 and isinstance(body[0], ast.If) and not body[0].orelse:
            first = body[0]
            if len(first.body) == 1 and isinstance(first.body[0], ast.Break):
                return ast.While(negated(first.test), body[1:], [])
            if len(body) == 2 and isinstance(body[1], ast.Break) and isinstance(first.body[-1], ast.Continue):
                return ast.While(first.test, first.body[:-1] or [ast.Pass()], [])
        return ast.While(statement.test, body or [ast.Pass()], [])

    def _try(self, statement: ast.Try) -> list[ast.stmt]:
        around, self.watched = self.watched, True
        body, caught = self.statements(statement.body), statement.handlers[0]
        self.watched = around
        if not body:
            return self.statements(statement.orelse)
        handlers = [ast.ExceptHandler(kind, name, self.statements(inner) or [ast.Pass()]) for kind, name, inner in _clauses(caught)]
        last = handlers[-1]
        if len(last.body) == 1 and isinstance(last.body[0], ast.Raise) and last.body[0].exc is None:
            # the last clause does what happens anyway
            handlers.pop()
        other = self.statements(statement.orelse)
        if _leaves(body[-1]):
            other = []
        if not handlers:
            return [*body, *other]
        if other and all(_leaves(handler.body[-1]) for handler in handlers):
            return [ast.Try(body, handlers, [], []), *other]
        return [ast.Try(body, handlers, other, [])]


def _once(body: list[ast.stmt]) -> list[ast.stmt] | None:
    """The body of a loop of one round, if all that leaves it does so at its end."""
    if not body or not _leaves(body[-1]) or _of_loop(body, ast.Continue):
        return None
    made = _unbroken(body)
    return None if _of_loop(made, ast.Break) else made


def _unbroken(body: list[ast.stmt]) -> list[ast.stmt]:
    """New statements without the break at the end of these, which stay as they are."""
    last = copy.copy(body[-1])
    if isinstance(last, ast.Break):
        return body[:-1]
    if isinstance(last, ast.If):
        last.body = _unbroken(last.body) or [ast.Pass()]
        last.orelse = _unbroken(last.orelse) if last.orelse else []
    elif isinstance(last, ast.Try):
        if last.orelse:
            last.orelse = _unbroken(last.orelse)
        else:
            last.body = _unbroken(last.body) or [ast.Pass()]
        last.handlers = [ast.ExceptHandler(h.type, h.name, _unbroken(h.body) or [ast.Pass()]) for h in last.handlers]
    return [*body[:-1], last]


def _breaking(body: list[ast.stmt], after: str) -> list[ast.stmt]:
    """The body of a loop, which is left by break where it would return what is returned behind it."""
    found: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.Return) and isinstance(statement.value, ast.Name | ast.Constant | None) and ast.dump(statement) == after:
            found.append(ast.Break())
            continue
        if isinstance(statement, ast.If):
            statement.body, statement.orelse = _breaking(statement.body, after), _breaking(statement.orelse, after)
        found.append(statement)
    return found


def _clauses(caught: ast.ExceptHandler) -> Iterator[tuple[ast.expr | None, str | None, list[ast.stmt]]]:
    """The except clauses that a chain of tests of the exception is."""
    head = caught.body[:1] if caught.name is not None else []
    rest = caught.body[len(head) :]
    while len(rest) == 1 and isinstance(rest[0], ast.If):
        test, then, other = rest[0].test, rest[0].body, rest[0].orelse
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, then, other = test.operand, other, then
        if not (isinstance(test, ast.Call) and marked(test, "matches")):
            break
        yield _clause(test.args[1], caught, head, then)
        rest = other
    if rest and all(isinstance(s, ast.Pass) for s in rest) and not caught.body:
        rest = []
    yield _clause(caught.type, caught, head, rest)


def _clause(kind: ast.expr | None, caught: ast.ExceptHandler, head: list[ast.stmt], body: list[ast.stmt]) -> tuple[ast.expr | None, str | None, list[ast.stmt]]:
    """A clause; it has the name of the exception if its statements ask for it."""
    names = {item.id for item in _nested(head) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}
    only_raises = len(body) == 1 and isinstance(body[0], ast.Raise) and body[0].exc is None
    return (kind, None, body) if only_raises or not names else (kind, caught.name, [*head, *body])


def _conditional(cond: ast.expr, then: ast.stmt, other: ast.stmt) -> ast.stmt | None:
    """``x = a if c else b``."""
    if isinstance(then, ast.Return) and isinstance(other, ast.Return) and then.value and other.value:
        if _simple(then.value) and _simple(other.value):
            return ast.Return(ast.IfExp(cond, then.value, other.value))
    if isinstance(then, ast.Assign) and isinstance(other, ast.Assign) and _simple(then.value) and _simple(other.value):
        if isinstance(then.targets[0], ast.Name) and ast.dump(then.targets[0]) == ast.dump(other.targets[0]):
            return ast.Assign(then.targets, ast.IfExp(cond, then.value, other.value))
    return None


def _simple(shown: ast.expr) -> bool:
    return sum(1 for _ in ast.walk(shown)) < 12 and not any(isinstance(item, ast.IfExp | ast.BoolOp) for item in ast.walk(shown))


def _rolled(cond: ast.expr, then: list[ast.stmt], other: list[ast.stmt], watched: bool) -> list[ast.stmt] | None:
    """``if c: start; while True: …; if not c: end; break`` with the same start and end otherwise is ``start; while c: …; end``."""
    loop = then[-1]
    if not (isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant) and loop.test.value is True and not loop.orelse and len(loop.body) > 1):
        return None
    last, start = loop.body[-1], then[:-1]
    if not (isinstance(last, ast.If) and isinstance(last.body[-1], ast.Break) and not last.orelse):
        return None
    end, again = last.body[:-1], negated(last.test)
    if _dump([*start, *end]) != _dump(other) or _of_loop(loop.body, ast.Continue) or (end and _of_loop(loop.body[:-1], ast.Break)):
        return None
    plain = all(isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and isinstance(s.value, ast.Constant | ast.Name) for s in start)
    if not plain or _assigned(start) & (_read(cond) | {name for s in start for name in _read(s)}) or (watched and start and not _harmless(cond)):
        return None
    known = {s.targets[0].id: s.value for s in start if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name)}
    if ast.dump(_Known(known).visit(copy.deepcopy(again))) != ast.dump(cond):
        return None
    return [*start, ast.While(again, loop.body[:-1], []), *end]


class _Known(ast.NodeTransformer):
    """Puts in what variables are."""

    def __init__(self, known: dict[str, ast.expr]) -> None:
        self.known = known

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.known.get(node.id, node)


def _deleted(body: list[ast.stmt]) -> Counter[str]:
    """How often each name is deleted in these statements."""
    return Counter(item.id for statement in body for item in ast.walk(statement) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Del))


def _harmless(cond: ast.expr) -> bool:
    """Does it not matter when cond is evaluated, as long as its variables stay?"""
    plain = ast.Compare | ast.Name | ast.Constant | ast.cmpop | ast.expr_context | ast.UnaryOp | ast.unaryop
    compares = any(isinstance(item, ast.Compare) for item in ast.walk(cond))
    return all(isinstance(item, plain) for item in ast.walk(cond)) and (not compares or marked(cond, "ordered"))


def _stepped(body: list[ast.stmt]) -> ast.For | None:
    """``x = next(it, END); if x is END: …; break`` at the head of a loop is ``for x in it``."""
    if len(body) < 2:
        return None
    step, test = body[0], body[1]
    if not (isinstance(step, ast.Assign) and marked(step.value, "next", "own next") and isinstance(step.value, ast.Call)):
        return None
    if not (isinstance(test, ast.If) and marked(test.test, "ended") and isinstance(test.test, ast.Compare) and isinstance(test.test.ops[0], ast.Is)):
        return None
    target = step.targets[0]
    if not (isinstance(target, ast.Name) and ast.dump(test.test.left) == ast.dump(ast.Name(target.id, ast.Load()))) or test.orelse:
        return None
    ending = test.body
    if not isinstance(ending[-1], _JUMPS) or isinstance(ending[-1], ast.Continue) or target.id in {n for s in ending for n in _read(s)}:
        return None
    otherwise = ending[:-1] if isinstance(ending[-1], ast.Break) else ending
    made = ast.For(target, step.value.args[0], body[2:] or [ast.Pass()], otherwise)
    made.was = step.value.was  # type: ignore[attr-defined]
    return made


# ------------------------------------------------------------------------------------------------- with the function in view


class _Last:
    """What needs to know how often a name occurs."""

    def __init__(self, counts: Counter[str]) -> None:
        self.counts = counts
        #: what handlers around ask for: no assignment of it moves
        self.handled: set[str] = set()
        #: how often each name is deleted, in the whole
        self.deleted: Counter[str] | None = None

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        if self.deleted is None:
            self.deleted = _deleted(body)
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
            # and where an exception leads to a name may be deleted, which is a use
            elsewhere = (self.deleted or Counter()) - _deleted(statement.body)
            self.handled = around | {name for handler in statement.handlers for name in _read(handler)} | set(elsewhere)
            statement.body = self.statements(statement.body)
            self.handled = around
            statement.orelse = self.statements(statement.orelse)
            for handler in statement.handlers:
                handler.body = self.statements(handler.body)
        return statement

    def _for(self, loop: ast.For, before: list[ast.stmt]) -> ast.stmt:
        """The iterator is made right where the loop begins; where that can't be, the steps are written out."""
        source = loop.iter
        if isinstance(source, ast.Name) and self.counts[source.id] == 2:
            for k in range(len(before) - 1, -1, -1):
                made = before[k]
                if isinstance(made, ast.Assign) and isinstance(made.targets[0], ast.Name) and made.targets[0].id == source.id:
                    if marked(made.value, "iter") and isinstance(made.value, ast.Call) and not _assigned(before[k + 1 :]) & (_read(made.value) | self.handled):
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
        """``t = {}; update(t, a); t[k] = b`` is ``t = {**a, k: b}``; lists likewise."""
        if not (isinstance(before, ast.Assign) and isinstance(made := before.targets[0], ast.Name) and isinstance(before.value, ast.Dict | ast.List)):
            return False
        match after:
            case ast.Expr(ast.Call(args=[ast.Name() as name, more])) if marked(after.value, "update"):
                pass
            case ast.Assign([ast.Subscript(ast.Name() as name, ast.Constant() as key)], value) if isinstance(before.value, ast.Dict):
                more = ast.Dict([key], [value])
            case _:
                return False
        if name.id != made.id or name.id in _read(more) | self.handled:
            return False
        if isinstance(before.value, ast.Dict):
            inner = more if isinstance(more, ast.Dict) else ast.Dict([None], [more])
            before.value = ast.Dict([*before.value.keys, *inner.keys], [*before.value.values, *inner.values])
        else:
            parts = more.elts if isinstance(more, ast.List | ast.Tuple) else [ast.Starred(more, ast.Load())]
            before.value = ast.List([*before.value.elts, *parts], ast.Load())
        return True

    def _unpacked(self, loop: ast.For) -> None:
        """``for t in it: a, b = t`` is ``for a, b in it``, if t is seen nowhere else."""
        if not (isinstance(loop.target, ast.Name) and isinstance(first := loop.body[0], ast.Assign) and isinstance(first.value, ast.Name)):
            return
        name, parts = loop.target.id, first.targets[0]
        ended = len(loop.body) > 1 and isinstance(loop.body[1], ast.Delete) and ast.dump(loop.body[1]) == ast.dump(ast.Delete([ast.Name(name, ast.Del())]))
        if first.value.id == name and isinstance(parts, ast.Tuple) and self.counts[name] == 2 + ended and not self.handled & _assigned([first]):
            loop.target, loop.body = parts, loop.body[1 + ended :] or [ast.Pass()]

    def _counted(self, loop: ast.While, before: list[ast.stmt]) -> ast.stmt:
        """``i = a; while i < b: …; i += 1`` is ``for i in range(a, b)``, if i is seen nowhere else."""
        test, body = loop.test, loop.body
        if not (isinstance(test, ast.Compare) and marked(test, "ordered") and isinstance(test.ops[0], ast.Lt) and isinstance(test.left, ast.Name)):
            return loop
        name, end = test.left.id, test.comparators[0]
        at = next((k for k, s in enumerate(body) if _counts_up(s, name)), None)
        if at is None or _of_loop(body, ast.Continue) or not isinstance(end, ast.Name | ast.Constant):
            return loop
        start = next((k for k in range(len(before) - 1, -1, -1) if name in _assigned([before[k]]) or name in _read(before[k])), None)
        rest = body[:at] + body[at + 1 :]
        inside = sum(isinstance(item, ast.Name) and item.id == name for item in _nested(rest))
        if start is None or _assigned(rest) & {name, getattr(end, "id", name)} or any(name in _read(s) for s in body[at + 1 :]):
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
        """``except E as e`` names the variable itself, if nothing else does."""
        for handler in statement.handlers:
            first = handler.body[0]
            if handler.name is None or not isinstance(first, ast.Assign) or not isinstance(first.targets[0], ast.Name):
                continue
            if not isinstance(first.value, ast.Name) or first.value.id != handler.name:
                continue
            name = first.targets[0].id
            inside = sum(isinstance(item, ast.Name) and item.id == name for h in statement.handlers for item in _nested(h.body))
            if inside == self.counts[name] and name not in _assigned(handler.body[1:]):
                body = handler.body[1:]
                used = any(name in _read(s) for s in body)
                handler.name, handler.body = name if used else None, body or [ast.Pass()]
        return statement


def _is_new(shown: ast.expr) -> bool:
    """A variable, a constant, or a new container of such: made before or after, nobody can tell."""
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
    ending = loop.orelse if loop.orelse and isinstance(loop.orelse[-1], _JUMPS) else [*loop.orelse, ast.Break()]
    return ast.While(ast.Constant(True), [step, ast.If(ast.Compare(name, [ast.Is()], [end]), ending, []), *loop.body], [])
