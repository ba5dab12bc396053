"""Moving statements that are nested too deep for CPython into inner functions.

CPython compiles at most 20 nested blocks (loops, handlers), and reads at most 100 levels of indentation.
Statements that are nested deeper become a function without parameters, which shares the variables and returns how it was left.
"""

import ast
from collections.abc import Callable, Iterator
from typing import Final

#: Numbers of nested blocks, and of levels of indentation, from which on a statement becomes a function.
MAX_BLOCKS: Final = 8
MAX_LEVELS: Final = 40

#: How an inner function was left: at its end, by break, by continue, by return.
_END, _BREAK, _CONTINUE, _RETURN = range(4)


def outline(body: list[ast.stmt], parameters: set[str], own_name: Callable[[str], str]) -> list[ast.stmt]:
    """Return the body of a function with these parameters, with statements that are nested too deep moved into inner functions."""
    made = _Outline(own_name, any(map(_yields, body)))
    found = made.body(body, 0, 0)
    # a variable that inner functions share has to be bound in the function itself
    return [*(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)) for name in sorted(made.shared - parameters)), *made.functions, *found]


def _yields(statement: ast.stmt) -> bool:
    """Does statement contain a yield, which can't be moved to an inner function?"""
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(statement))


class _Outline:
    def __init__(self, own_name: Callable[[str], str], is_generator: bool) -> None:
        self.own_name = own_name
        self.is_generator = is_generator
        self.count = 0
        self.shared: set[str] = set()
        #: the inner functions, all defined at the same level, however deep their statements were nested
        self.functions: list[ast.stmt] = []

    def body(self, statements: list[ast.stmt], blocks: int, levels: int) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for statement in statements:
            deep = (blocks >= MAX_BLOCKS or levels >= MAX_LEVELS) and isinstance(statement, ast.While | ast.For | ast.Try | ast.If)
            if deep and not (self.is_generator and _yields(statement)):
                found += self._function(statement)
            else:
                found.append(self._inside(statement, blocks, levels + 1))
        return found

    def _inside(self, statement: ast.stmt, blocks: int, levels: int) -> ast.stmt:
        if isinstance(statement, ast.While | ast.For):
            statement.body = self.body(statement.body, blocks + 1, levels)
            statement.orelse = self.body(statement.orelse, blocks, levels)
        elif isinstance(statement, ast.If):
            statement.body = self.body(statement.body, blocks, levels)
            statement.orelse = self.body(statement.orelse, blocks, levels)
        elif isinstance(statement, ast.Try):
            statement.body = self.body(statement.body, blocks + 1, levels)
            statement.orelse = self.body(statement.orelse, blocks + 1, levels)
            for handler in statement.handlers:
                handler.body = self.body(handler.body, blocks + 2, levels)
        return statement

    def _function(self, statement: ast.stmt) -> list[ast.stmt]:
        """Add an inner function for statement; return its call, and the jumps that follow from how it was left."""
        self.count += 1
        name, way, result = self.own_name(f"part_{self.count}"), self.own_name("left_by"), self.own_name("result")
        ways: set[int] = set()
        # inner statements first: the jumps that follow the call of a deeper function are replaced here in turn
        inner = _leaving(self.body([statement], 0, 0), ways, result, own=False)
        names = sorted(_assigned(inner))
        self.shared |= set(names)
        body = [*([ast.Nonlocal(names)] if names else []), *inner]
        arguments = ast.arguments([], [], None, [], [], None, [])
        made = ast.FunctionDef(name, arguments, body, [], None, None)
        made.type_params = []  # type: ignore[attr-defined]  # 3.12
        call = ast.Call(ast.Name(name, ast.Load()), [], [])
        self.functions.append(made)
        if not ways:
            return [ast.Expr(call)]
        self.shared.add(way)
        return [ast.Assign([ast.Name(way, ast.Store())], call), *(_follow(way, number, result) for number in sorted(ways))]


def _follow(way: str, number: int, result: str) -> ast.stmt:
    then: ast.stmt = {_BREAK: ast.Break(), _CONTINUE: ast.Continue()}.get(number) or ast.Return(ast.Name(result, ast.Load()))
    return ast.If(ast.Compare(ast.Name(way, ast.Load()), [ast.Eq()], [ast.Constant(number)]), [then], [])


def _leaving(statements: list[ast.stmt], ways: set[int], result: str, own: bool) -> list[ast.stmt]:
    """Return the statements with the jumps out of them replaced by returns; own: do break and continue belong to a loop among these?"""
    found: list[ast.stmt] = []
    for statement in statements:
        match statement:
            case ast.Break() | ast.Continue() if not own:
                number = _BREAK if isinstance(statement, ast.Break) else _CONTINUE
                ways.add(number)
                found.append(ast.Return(ast.Constant(number)))
                continue
            case ast.Return():
                ways.add(_RETURN)
                found += [ast.Assign([ast.Name(result, ast.Store())], statement.value or ast.Constant(None)), ast.Return(ast.Constant(_RETURN))]
                continue
            case ast.While() | ast.For():
                statement.body = _leaving(statement.body, ways, result, True)
                statement.orelse = _leaving(statement.orelse, ways, result, own)
            case ast.If():
                statement.body, statement.orelse = _leaving(statement.body, ways, result, own), _leaving(statement.orelse, ways, result, own)
            case ast.Try():
                statement.body = _leaving(statement.body, ways, result, own)
                statement.orelse = _leaving(statement.orelse, ways, result, own)
                for handler in statement.handlers:
                    handler.body = _leaving(handler.body, ways, result, own)
        found.append(statement)
    return found


def _assigned(statements: list[ast.stmt]) -> set[str]:
    return {name for statement in statements for name in _names(statement)}


def _names(statement: ast.stmt) -> Iterator[str]:
    for item in ast.walk(statement):
        if isinstance(item, ast.Name) and not isinstance(item.ctx, ast.Load):
            yield item.id
        elif isinstance(item, ast.ExceptHandler) and item.name is not None:
            yield item.name
