"""Statements as a person would write them: shorter, with the same meaning.

``for`` in place of ``while True`` and ``next``, ``except E as e`` in place of tests of the caught exception, ``while c`` in
place of one test before the loop and one at its end, ``x = a if c else b``, and less nesting after statements that leave the block.
"""

import ast
import copy
import itertools
from collections import Counter
from collections.abc import Iterator

from hovis.backend.polish.comprehensions import comprehended
from hovis.backend.polish.conditions import Conditions
from hovis.backend.polish.counted_names import Counted
from hovis.backend.polish.statement_queries import JUMPS, assigned, leaves, nested, of_loop, read
from hovis.backend.polish.temporaries import without_temporaries
from hovis.backend.source.syntax import both, marked, negated


def tidy_function(body: list[ast.stmt]) -> list[ast.stmt]:
    """Tidy the statements of a whole function."""
    found = without_temporaries(_Tidy().statements(body), loops=False)
    counts = Counter(item.id for s in found for item in ast.walk(s) if isinstance(item, ast.Name))
    found = without_temporaries(comprehended(Counted(counts).statements(found)), loops=True)
    return [Conditions().visit(statement) for statement in found]


def _dump(statements: list[ast.stmt]) -> list[str]:
    return [ast.dump(s) for s in statements]


# ------------------------------------------------------------------------------------------------- statement by statement


class _Tidy:
    """Rewrites statements, from the inside out."""

    #: are the statements being tidied inside a try?
    watched = False
    #: has a signal poll been found in the part of the current loop that has been tidied?
    polled = False

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for statement in body:
            found += self._one(statement)
            if found and leaves(found[-1]):
                break
        found = [s for s in found if not isinstance(s, ast.Pass)]
        self.polled |= any(marked(s, "poll") for s in found)
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
        if other and isinstance(other[-1], JUMPS) and (ended or (not isinstance(then[-1], JUMPS) and len(other) < len(then))):
            return [ast.If(negated(cond), other, []), *then]
        if other and isinstance(then[-1], JUMPS):
            return [ast.If(cond, then, []), *other]
        return [ast.If(cond, then, other)]

    def _while(self, statement: ast.While) -> list[ast.stmt]:
        around, self.polled = self.polled, False
        body = self.statements(statement.body)
        polled, self.polled = self.polled, self.polled or around
        while body and isinstance(body[-1], ast.Continue):
            body.pop()
        once = _once(body)
        if once is not None:
            return once
        step = _stepped(body)
        if step is not None:
            return [step]
        return [self._tested(statement, body, polled)]

    def _tested(self, statement: ast.While, body: list[ast.stmt], polled: bool) -> ast.stmt:
        if polled:
            # from 3.13 on, the back edge of a loop that ends by its own test is covered by no handler
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
            # the last clause only reraises, which happens without it as well
            handlers.pop()
        other = self.statements(statement.orelse)
        if leaves(body[-1]):
            other = []
        if not handlers:
            return [*body, *other]
        if other and all(leaves(handler.body[-1]) for handler in handlers):
            return [ast.Try(body, handlers, [], []), *other]
        return [ast.Try(body, handlers, other, [])]


def _once(body: list[ast.stmt]) -> list[ast.stmt] | None:
    """Return the body of a loop with one iteration, if all that leaves the loop does so at its end; else None."""
    if not body or not leaves(body[-1]) or of_loop(body, ast.Continue):
        return None
    made = _unbroken(body)
    return None if of_loop(made, ast.Break) else made


def _unbroken(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements without the break at their end; the given ones stay unchanged."""
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
    """Return the body of a loop, with a break in place of each return of the value that is returned behind the loop."""
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
    """Yield the except clauses that a chain of tests of the exception is equivalent to."""
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
    """Return an except clause; it names the exception, unless the exception is not read or the clause only reraises."""
    names = {item.id for item in nested(head) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}
    only_raises = len(body) == 1 and isinstance(body[0], ast.Raise) and body[0].exc is None
    return (kind, None, body) if only_raises or not names else (kind, caught.name, [*head, *body])


def _conditional(cond: ast.expr, then: ast.stmt, other: ast.stmt) -> ast.stmt | None:
    """Rewrite two assignments (or returns) under a condition to ``x = a if c else b``; None if that does not apply."""
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
    """Rewrite ``if c: start; while True: …; if not c: end; break``, with the same start and end in the else, to ``start; while c: …; end``; None
    if that does not apply.
    """
    loop = then[-1]
    if not (isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant) and loop.test.value is True and not loop.orelse and len(loop.body) > 1):
        return None
    last, start = loop.body[-1], then[:-1]
    if not (isinstance(last, ast.If) and isinstance(last.body[-1], ast.Break) and not last.orelse):
        return None
    end, again = last.body[:-1], negated(last.test)
    if _dump([*start, *end]) != _dump(other) or of_loop(loop.body, ast.Continue) or (end and of_loop(loop.body[:-1], ast.Break)):
        return None
    plain = all(isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and isinstance(s.value, ast.Constant | ast.Name) for s in start)
    if not plain or assigned(start) & (read(cond) | {name for s in start for name in read(s)}) or (watched and start and not _harmless(cond)):
        return None
    known = {s.targets[0].id: s.value for s in start if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name)}
    if ast.dump(_Known(known).visit(copy.deepcopy(again))) != ast.dump(cond):
        return None
    return [*start, ast.While(again, loop.body[:-1], []), *end]


class _Known(ast.NodeTransformer):
    """Replaces variables by their known values."""

    def __init__(self, known: dict[str, ast.expr]) -> None:
        self.known = known

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.known.get(node.id, node)


def _harmless(cond: ast.expr) -> bool:
    """Does it not matter when cond is evaluated, as long as its variables do not change?"""
    plain = ast.Compare | ast.Name | ast.Constant | ast.cmpop | ast.expr_context | ast.UnaryOp | ast.unaryop
    compares = any(isinstance(item, ast.Compare) for item in ast.walk(cond))
    return all(isinstance(item, plain) for item in ast.walk(cond)) and (not compares or marked(cond, "ordered"))


def _stepped(body: list[ast.stmt]) -> ast.For | None:
    """Rewrite ``x = next(it, END); if x is END: …; break`` at the head of a loop to ``for x in it``; None if that does not apply."""
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
    if not isinstance(ending[-1], JUMPS) or isinstance(ending[-1], ast.Continue) or target.id in {n for s in ending for n in read(s)}:
        return None
    otherwise = ending[:-1] if isinstance(ending[-1], ast.Break) else ending
    made = ast.For(target, step.value.args[0], body[2:] or [ast.Pass()], otherwise)
    made.was = step.value.was  # type: ignore[attr-defined]
    return made
