"""Unnamed variables: inlined where the expression can stand in place of the use, and numbered in order of appearance.

``t = a; return f(t)`` is ``return f(a)`` if nothing is evaluated between; ``t = unpack(x, 2); a = t[0]; b = t[1]`` is
``a, b = x``.
"""

import ast
import itertools
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from typing import Final

from hovis.backend.source.syntax import marked

#: Maximal number of subexpressions of an expression: about as many as fit on a line.
LONGEST: Final = 40
#: Names of temporaries, variables that have no name of the user.
_UNNAMED: Final = re.compile(r"t[1-9][0-9]*$")


def without_temporaries(body: list[ast.stmt], loops: bool) -> list[ast.stmt]:
    """Return the statements of a function with fewer temporaries; with loops, the iterable of a for may be one as well."""
    found = _Unpacked(body).statements(body)
    return _Inlined(_counts(found), loops).statements(found)


def _counts(body: list[ast.stmt]) -> Counter[str]:
    counts = Counter(item.id for s in body for item in ast.walk(s) if isinstance(item, ast.Name))
    counts.update(item.name for s in body for item in ast.walk(s) if isinstance(item, ast.ExceptHandler) and item.name)
    return counts


#: (items before the starred one, index of the starred one or None, items behind it); see ``_shape``.
_Shape = tuple[int, int | None, int]


class _Everywhere(ABC):
    """A walk over all lists of statements, the inner ones first."""

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        for statement in body:
            for field in ("body", "orelse", "finalbody"):
                inner = getattr(statement, field, None)
                if inner:
                    setattr(statement, field, self.statements(inner) or ([ast.Pass()] if field == "body" else []))
            for handler in getattr(statement, "handlers", ()):
                handler.body = self.statements(handler.body) or [ast.Pass()]
        return self.one(body)

    @abstractmethod
    def one(self, body: list[ast.stmt]) -> list[ast.stmt]: ...


# ------------------------------------------------------------------------------------------------- unpacking


class _Unpacked(_Everywhere):
    """Rewrites an unpacked tuple of which only items are read to ``a, b = x``."""

    def __init__(self, body: list[ast.stmt]) -> None:
        self.counts: Counter[str] = Counter()
        self.items: Counter[str] = Counter()
        sizes: dict[str, set[_Shape]] = {}
        names: set[str] = set()
        for item in (item for s in body for item in ast.walk(s)):
            if isinstance(item, ast.Name):
                self.counts[item.id] += 1
                names.add(item.id)
            elif isinstance(item, ast.Subscript) and _item_of(item) is not None:
                self.items[item.value.id] += 1  # type: ignore[attr-defined]
            elif isinstance(item, ast.Assign) and marked(item.value, "unpack") and isinstance(item.targets[0], ast.Name):
                sizes.setdefault(item.targets[0].id, set()).add(_shape(item.value))
                self.items[item.targets[0].id] += 1
        #: variables that hold only unpacked tuples, always of the same shape, and of which only items are read
        self.own = {name: shapes for name, shapes in sizes.items() if len(shapes) == 1 and self.items[name] == self.counts[name]}
        self.names = names

    def one(self, body: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        k = 0
        while k < len(body):
            statement = body[k]
            k += 1
            if isinstance(statement, ast.Assign) and marked(statement.value, "unpack") and isinstance(statement.targets[0], ast.Name):
                name = statement.targets[0].id
                if name in self.own:
                    assert isinstance(statement.value, ast.Call)
                    targets, k = self._targets(name, _shape(statement.value), body, k)
                    found.append(ast.Assign([targets], _Items(self).visit(statement.value.args[0])))
                    continue
            found.append(_Items(self).visit(statement))
        return found

    def _targets(self, name: str, shape: _Shape, body: list[ast.stmt], k: int) -> tuple[ast.Tuple, int]:
        """Return the targets of an unpacking, and the index of the next statement: the variables that the following statements assign items to,
        in order, or new ones.
        """
        before, star, after = shape
        count = before + (star is not None) + after
        given: dict[int, str] = {}
        while k < len(body) and len(given) < count:
            at = body[k]
            if not (isinstance(at, ast.Assign) and isinstance(at.targets[0], ast.Name) and isinstance(at.value, ast.Subscript)):
                break
            which = _item_of(at.value)
            # only for an item that is read exactly once
            if which is None or at.value.value.id != name or which in given or self._asked(name, which) != 1:  # type: ignore[attr-defined]
                break
            if at.targets[0].id in given.values():
                break
            given[which] = at.targets[0].id
            k += 1
        names = [given.get(i) or (self.item(name, i) if self._asked(name, i) else "_") for i in range(count)]
        if names.count("_") and "_" in self.names:
            names = [self.item(name, i) if one == "_" else one for i, one in enumerate(names)]
        elements: list[ast.expr] = [ast.Name(one, ast.Store()) for one in names]
        if star is not None:
            elements[before] = ast.Starred(elements[before], ast.Store())
        return ast.Tuple(elements, ast.Store()), k

    def _asked(self, name: str, which: int) -> int:
        return self.asked.get((name, which), 0)

    def item(self, name: str, which: int) -> str:
        """Return the name of the variable of an item."""
        return f"{name}_{which}"

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        if not hasattr(self, "asked"):
            found = [(item.value.id, _item_of(item)) for s in body for item in ast.walk(s) if isinstance(item, ast.Subscript) and _item_of(item) is not None]  # type: ignore[attr-defined]
            self.asked = Counter(found)
            self.own = {name: s for name, s in self.own.items() if not any(self.item(name, i) in self.names for i in range(_length(s)))}
        return super().statements(body) if self.own else body


class _Items(ast.NodeTransformer):
    """Replaces items of an unpacked tuple by the variables that hold them."""

    def __init__(self, unpacked: _Unpacked) -> None:
        self.unpacked = unpacked

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        which = _item_of(node)
        if which is not None and node.value.id in self.unpacked.own:  # type: ignore[attr-defined]
            return ast.Name(self.unpacked.item(node.value.id, which), ast.Load())  # type: ignore[attr-defined]
        return self.generic_visit(node)


def _item_of(node: ast.Subscript) -> int | None:
    """Return the index of the item that node reads from an unnamed variable, or None."""
    if isinstance(node.value, ast.Name) and isinstance(node.ctx, ast.Load) and isinstance(node.slice, ast.Constant) and type(node.slice.value) is int:
        return node.slice.value if _UNNAMED.match(node.value.id) else None
    return None


def _shape(call: ast.AST) -> _Shape:
    """Return the number of items before the starred one, the index of the starred one (or None), and the number of items behind it."""
    assert isinstance(call, ast.Call)
    counts = [a.value for a in call.args[1:] if isinstance(a, ast.Constant)]
    return (counts[0], None, 0) if len(counts) == 1 else (counts[0], counts[0], counts[1])  # type: ignore[return-value]


def _length(shapes: set[_Shape]) -> int:
    ((before, star, after),) = shapes
    return before + (star is not None) + after


# ------------------------------------------------------------------------------------------------- inlining


class _Inlined(_Everywhere):
    """Inlines an unnamed variable that is used once, in the next statement, before anything else there is evaluated."""

    def __init__(self, counts: Counter[str], loops: bool) -> None:
        self.counts = counts
        self.loops = loops

    def one(self, body: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for statement in body:
            while found and self._takes(statement, found[-1]):
                found.pop()
            if len(found) > 1 and (made := self._in_place(found[-2], found[-1], statement)) is not None:
                found[-2:] = [made]
            elif not (found and self._returned(found[-1], statement)):
                found.append(statement)
        return found

    def _in_place(self, first: ast.stmt, then: ast.stmt, last: ast.stmt) -> ast.stmt | None:
        """Rewrite ``t = a[k]; t += x; a[k] = t`` to ``a[k] += x`` if a and k are variables or constants; else return None."""
        match first, then, last:
            case (
                ast.Assign([ast.Name(id=name)], ast.Subscript() | ast.Attribute() as read),
                ast.AugAssign(ast.Name(id=changed), symbol, value),
                ast.Assign([ast.Subscript() | ast.Attribute() as written], ast.Name(id=stored)),
            ) if name == changed == stored and _UNNAMED.match(name) and self.counts[name] == 3:
                plain = all(isinstance(part, ast.Name | ast.Constant) for part in ast.iter_child_nodes(read) if isinstance(part, ast.expr))
                if plain and ast.unparse(read) == ast.unparse(written):
                    return ast.AugAssign(written, symbol, value)
        return None

    def _returned(self, before: ast.stmt, statement: ast.stmt) -> bool:
        """Move the return behind a try to the end of its body, where the value is computed, if no handler reaches the return; return whether it
        was moved.
        """
        if not (isinstance(before, ast.Try) and isinstance(statement, ast.Return) and isinstance(statement.value, ast.Name)) or before.orelse:
            return False
        last, name = before.body[-1], statement.value.id
        if not (isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name) and last.targets[0].id == name):
            return False
        if not _UNNAMED.match(name) or self.counts[name] != 2 or not all(isinstance(handler.body[-1], ast.Return | ast.Raise) for handler in before.handlers):
            return False
        before.body[-1] = ast.Return(last.value)
        return True

    def _takes(self, statement: ast.stmt, before: ast.stmt) -> bool:
        """Inline the value that before assigns into statement; return whether that was possible."""
        if not (isinstance(before, ast.Assign) and len(before.targets) == 1 and isinstance(before.targets[0], ast.Name)):
            return False
        name = before.targets[0].id
        if isinstance(statement, ast.For) and not self.loops:
            return False
        if not _UNNAMED.match(name) or self.counts[name] != 2 or isinstance(before.value, ast.Name | ast.Yield | ast.YieldFrom):
            return False
        for holder, field, at in _evaluated(statement):
            one = getattr(holder, field) if at is None else getattr(holder, field)[at]
            if isinstance(one, ast.Name) and one.id == name:
                if _parts(before.value) + _parts(statement) > LONGEST:
                    return False
                if at is None:
                    setattr(holder, field, before.value)
                else:
                    getattr(holder, field)[at] = before.value
                return True
            if not isinstance(one, ast.Name | ast.Constant):
                return False
        return False


def _parts(tree: ast.AST) -> int:
    if isinstance(tree, ast.If | ast.For):
        tree = tree.test if isinstance(tree, ast.If) else tree.iter
    return sum(isinstance(item, ast.expr) for item in ast.walk(tree))


#: The fields of expressions in the order of evaluation; of fields that are evaluated conditionally only the first.
_ORDER: Final[dict[type[ast.AST], tuple[str, ...]]] = {
    ast.BinOp: ("left", "right"), ast.UnaryOp: ("operand",), ast.Call: ("func", "args", "keywords"), ast.keyword: ("value",),
    ast.Attribute: ("value",), ast.Subscript: ("value", "slice"), ast.Tuple: ("elts",), ast.List: ("elts",), ast.Set: ("elts",),
    ast.JoinedStr: ("values",), ast.FormattedValue: ("value",), ast.Starred: ("value",), ast.Slice: ("lower", "upper", "step"),
    ast.Return: ("value",), ast.Expr: ("value",), ast.If: ("test",), ast.For: ("iter",), ast.Raise: ("exc", "cause"),
    ast.IfExp: ("test",), ast.Yield: ("value",),
}  # fmt: skip

_Place = tuple[ast.AST, str, int | None]


def _evaluated(node: ast.AST) -> Iterator[_Place]:
    """Yield the places of the subexpressions of node in the order of evaluation, parts before the expressions that contain them."""
    if isinstance(node, ast.Assign):
        yield from _field(node, "value")
        for target in node.targets:
            if isinstance(target, ast.Subscript | ast.Attribute):
                yield from _evaluated(target)
        return
    if isinstance(node, ast.AugAssign):
        if isinstance(node.target, ast.Name):
            yield from _field(node, "value")
        return
    if isinstance(node, ast.Compare):
        yield from _field(node, "left")
        yield from _at(node, "comparators", 0)
        return
    if isinstance(node, ast.BoolOp):
        yield from _at(node, "values", 0)
        return
    if isinstance(node, ast.Dict):
        for k, (key, _) in enumerate(zip(node.keys, node.values, strict=True)):
            if key is not None:
                yield from _at(node, "keys", k)
            yield from _at(node, "values", k)
        return
    for field in _ORDER.get(type(node), ()):
        yield from _field(node, field)


def _field(node: ast.AST, field: str) -> Iterator[_Place]:
    value = getattr(node, field)
    if isinstance(value, list):
        for k in range(len(value)):
            yield from _at(node, field, k)
    elif value is not None:
        yield from _evaluated(value)
        yield node, field, None


def _at(node: ast.AST, field: str, k: int) -> Iterator[_Place]:
    value = getattr(node, field)[k]
    if isinstance(value, ast.keyword):
        yield from _evaluated(value)
        return
    yield from _evaluated(value)
    yield node, field, k


# ------------------------------------------------------------------------------------------------- numbering


def renumbered(body: list[ast.stmt], kept: set[str]) -> list[ast.stmt]:
    """Number the unnamed variables in order of appearance; those in kept stay unchanged."""
    assigned = {item.id for s in body for item in ast.walk(s) if isinstance(item, ast.Name) and not isinstance(item.ctx, ast.Load)}
    assigned |= {item.name for s in body for item in ast.walk(s) if isinstance(item, ast.ExceptHandler) and item.name}
    numbers = (f"t{k}" for k in itertools.count(1) if f"t{k}" not in kept)
    new: dict[str, str] = {}
    # the same statement object may occur in several places
    once = {id(item): item for s in body for item in _in_order(s)}.values()
    for item in once:
        name = item.id if isinstance(item, ast.Name) else item.name
        if name and name in assigned and name not in kept and _UNNAMED.match(name) and name not in new:
            new[name] = next(numbers)
    for item in once:
        if isinstance(item, ast.Name):
            item.id = new.get(item.id, item.id)
        elif item.name:
            item.name = new.get(item.name, item.name)
    return body


def _in_order(node: ast.AST) -> Iterator[ast.Name | ast.ExceptHandler]:
    """Yield the names in a tree, approximately in the order of the text."""
    if isinstance(node, ast.Name | ast.ExceptHandler):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _in_order(child)
