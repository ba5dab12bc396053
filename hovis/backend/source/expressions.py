"""Writing ops as expressions of Python: as syntax where Python has it, else as a call.

The results are syntax trees (``ast``), therefore parentheses need no care.
"""

import ast
import operator
import re
import sys
import types
from collections.abc import Callable
from typing import Any, Final

from hovis.backend.assembler.selection.selection_rules import constant_of, is_constant
from hovis.backend.source.syntax import attribute, literal, mark, marked, tested
from hovis.ir import operations as ops
from hovis.ir.model import Effect, Op, Operand, Value
from hovis.ir.naming import is_name
from hovis.lattice import Const, Type, Union

BINARY: Final[dict[Any, type[ast.operator]]] = {
    operator.add: ast.Add, operator.sub: ast.Sub, operator.mul: ast.Mult, operator.truediv: ast.Div, operator.floordiv: ast.FloorDiv,
    operator.mod: ast.Mod, operator.pow: ast.Pow, operator.matmul: ast.MatMult, operator.lshift: ast.LShift, operator.rshift: ast.RShift,
    operator.and_: ast.BitAnd, operator.or_: ast.BitOr, operator.xor: ast.BitXor,
}  # fmt: skip
_COMPARED: Final[dict[Any, type[ast.cmpop]]] = {
    operator.lt: ast.Lt, operator.le: ast.LtE, operator.eq: ast.Eq, operator.ne: ast.NotEq, operator.gt: ast.Gt, operator.ge: ast.GtE,
    operator.is_: ast.Is, operator.is_not: ast.IsNot, operator.contains: ast.In,
}  # fmt: skip
_UNARY: Final[dict[Any, type[ast.unaryop]]] = {operator.neg: ast.USub, operator.pos: ast.UAdd, operator.invert: ast.Invert, operator.not_: ast.Not}

#: A function that returns the expression of an operand.
Write = Callable[[Operand], ast.expr]


def expression(op: Op, write: Write, named: Callable[[object], ast.expr]) -> ast.expr:
    """Return op as an expression; write gives the expression of an operand, named that of a known object."""
    rule = _RULES.get(id(op.callee)) if not isinstance(op.callee, Value) else None
    found = rule(op, write, named) if rule is not None and not op.kwargs else None
    return _call(op, write, named) if found is None else found


def _call(op: Op, write: Write, named: Callable[[object], ast.expr]) -> ast.expr:
    keywords = [ast.keyword(name, write(value)) for name, value in op.kwargs]
    if not all(is_name(name) for name, _ in op.kwargs):
        keywords = [ast.keyword(None, ast.Dict([ast.Constant(name) for name, _ in op.kwargs], [one.value for one in keywords]))]
    callee = op.callee
    if isinstance(callee, Value):
        return ast.Call(write(callee), [write(a) for a in op.args], keywords)
    if isinstance(callee, types.MethodDescriptorType) and op.args and _is_surely(op, op.args[0], callee.__objclass__):
        if not isinstance(op.args[0], Const) or type(op.args[0].value) in (str, re.Pattern):
            method = ast.Attribute(write(op.args[0]), callee.__name__, ast.Load())
            return ast.Call(method, [write(a) for a in op.args[1:]], keywords)
    return ast.Call(named(callee), [write(a) for a in op.args], keywords)


def _is_exactly(value: Operand, cls: type) -> bool:
    if isinstance(value, Const):
        return type(value.value) is cls
    return isinstance(getattr(value, "type", None), Type) and value.type.cls is cls  # type: ignore[union-attr]


def _is_surely(op: Op, value: Operand, cls: type) -> bool:
    """Is the operand value of op certainly an instance of exactly cls? If op is not opaque, a Union of cls and None counts as well: value can no
    longer be None.
    """
    kind = getattr(value, "type", None)
    if isinstance(kind, Union) and not op.effect & Effect.OPAQUE:
        return {getattr(t, "cls", None) for t in kind.members} == {cls, type(None)}
    return _is_exactly(value, cls)


_Rule = Callable[[Op, Write, Callable[[object], ast.expr]], ast.expr | None]
#: All these callees live as long as their modules: their ids are good keys.
_RULES: Final[dict[int, _Rule]] = {}


def _rule(*callees: object) -> Callable[[_Rule], _Rule]:
    def register(rule: _Rule) -> _Rule:
        for callee in callees:
            _RULES[id(callee)] = rule
        return rule

    return register


@_rule(ops.yield_)
def _yield(op: Op, write: Write, named: Any) -> ast.expr | None:
    return ast.Yield(write(op.args[0]))


@_rule(ops.yield_from)
def _yield_from(op: Op, write: Write, named: Any) -> ast.expr | None:
    return ast.YieldFrom(write(op.args[0]))


@_rule(ops.ended_generator)
def _ended_generator(op: Op, write: Write, named: Any) -> ast.expr | None:
    # text can't contain the code object, which is omitted: another code object of that name will do
    return ast.Call(named(op.callee), [write(a) for a in op.args[:2]], [])


@_rule(ops.yield_rest)
def _yield_rest(op: Op, write: Write, named: Any) -> ast.expr | None:
    return ast.YieldFrom(ast.Call(named(ops.going_on), [write(op.args[0])], []))


@_rule(*BINARY)
def _binary(op: Op, write: Write, named: Any) -> ast.expr | None:
    if len(op.args) != 2:
        return None
    return ast.BinOp(write(op.args[0]), BINARY[op.callee](), write(op.args[1]))


#: Classes whose comparisons return True or False.
_NUMBERS: Final = (int, float, bool)


@_rule(*_COMPARED)
def _compared(op: Op, write: Write, named: Any) -> ast.expr | None:
    left, right = op.args if op.callee is not operator.contains else op.args[::-1]
    made = ast.Compare(write(left), [_COMPARED[op.callee]()], [write(right)])
    # for values of these classes, the opposite comparison is the negation
    if any(_is_exactly(left, c) and _is_exactly(right, c) for c in (int, str, bool)):
        mark(made, "ordered")
    elif any(_is_exactly(left, c) for c in _NUMBERS) and any(_is_exactly(right, c) for c in _NUMBERS):
        mark(made, "compared")
    elif is_constant(right, ops.END):
        mark(made, "ended")
    return made


@_rule(*_UNARY)
def _unary(op: Op, write: Write, named: Any) -> ast.expr | None:
    if op.callee is operator.not_:
        return ast.UnaryOp(ast.Not(), tested(write(op.args[0])))
    return ast.UnaryOp(_UNARY[op.callee](), write(op.args[0]))


@_rule(operator.getitem)
def _getitem(op: Op, write: Write, named: Any) -> ast.expr | None:
    return ast.Subscript(write(op.args[0]), brackets(op.args[1], write), ast.Load())


def brackets(index: Operand, write: Write) -> ast.expr:
    """Return the expression inside the brackets of a subscript; a slice is written with colons."""
    if isinstance(index, Const) and type(index.value) is slice:
        shown = [None if part is None else literal(part) for part in (index.value.start, index.value.stop, index.value.step)]
        if all(made is not None or part is None for made, part in zip(shown, (index.value.start, index.value.stop, index.value.step), strict=True)):
            return ast.Slice(*shown)
    found = write(index)
    if marked(found, "slice") and isinstance(found, ast.Call):
        return _colons(found.args)
    if isinstance(found, ast.Tuple) and found.elts:
        return ast.Tuple([_colons(one.args) if marked(one, "slice") and isinstance(one, ast.Call) else one for one in found.elts], ast.Load())
    return found


def _colons(bounds: list[ast.expr]) -> ast.Slice:
    """Return the slice ``a:b:c``; a bound that is None is left out."""
    shown = [None if isinstance(one, ast.Constant) and one.value is None else one for one in bounds]
    return ast.Slice(*([None, *shown] if len(shown) == 1 else shown))


@_rule(slice)
def _slice(op: Op, write: Write, named: Any) -> ast.expr | None:
    made = ast.Call(named(slice), [write(a) for a in op.args], [])
    mark(made, "slice")
    return made


@_rule(ops.unpack, ops.unpack_star)
def _unpack(op: Op, write: Write, named: Any) -> ast.expr | None:
    made = ast.Call(named(op.callee), [write(a) for a in op.args], [])
    mark(made, "unpack")
    return made


@_rule(ops.dict_update, ops.list_extend)
def _update(op: Op, write: Write, named: Any) -> ast.expr | None:
    made = ast.Call(named(op.callee), [write(a) for a in op.args], [])
    mark(made, "update")
    return made


@_rule(getattr)
def _getattr(op: Op, write: Write, named: Any) -> ast.expr | None:
    name = attribute(op.args[1]) if len(op.args) == 2 else None
    return ast.Attribute(write(op.args[0]), name, ast.Load()) if name else None


@_rule(ops.traceback_of)
def _traceback(op: Op, write: Write, named: Any) -> ast.expr | None:
    return ast.Attribute(write(op.args[0]), "__traceback__", ast.Load())


@_rule(ops.current_exception)
def _current_exception(op: Op, write: Write, named: Any) -> ast.expr | None:
    return ast.Call(named(sys.exception), [], [])


@_rule(ops.make_tuple)
def _tuple(op: Op, write: Write, named: Any) -> ast.expr | None:
    return ast.Tuple([write(a) for a in op.args], ast.Load())


@_rule(ops.make_list)
def _list(op: Op, write: Write, named: Any) -> ast.expr | None:
    return ast.List([write(a) for a in op.args], ast.Load())


@_rule(ops.make_set)
def _set(op: Op, write: Write, named: Any) -> ast.expr | None:
    if op.args:
        return ast.Set([write(a) for a in op.args])
    made = ast.Call(named(set), [], [])
    mark(made, "empty set")
    return made


@_rule(ops.make_dict)
def _dict(op: Op, write: Write, named: Any) -> ast.expr | None:
    return ast.Dict([write(a) for a in op.args[::2]], [write(a) for a in op.args[1::2]])


@_rule(ops.apply)
def _apply(op: Op, write: Write, named: Any) -> ast.expr | None:
    return ast.Call(write(op.args[0]), [ast.Starred(write(op.args[1]), ast.Load())], [ast.keyword(None, write(op.args[2]))])


@_rule(ops.apply_positional)
def _apply_positional(op: Op, write: Write, named: Any) -> ast.expr | None:
    return ast.Call(write(op.args[0]), [ast.Starred(write(op.args[1]), ast.Load())], [])


@_rule(ops.apply_all)
def _apply_all(op: Op, write: Write, named: Any) -> ast.expr | None:
    function, star, double, names, *values = op.args
    nothing = isinstance(double, Const) and double.value is None
    if not isinstance(names, Const) or not (nothing or getattr(double, "type", None) == Type(dict)):
        return None
    given: tuple[str, ...] = constant_of(names)
    if not all(map(is_name, given)):
        return None
    count = len(values) - len(given)
    keywords = [ast.keyword(name, write(v)) for name, v in zip(given, values[count:], strict=True)]
    keywords += [] if nothing else [ast.keyword(None, write(double))]
    return ast.Call(write(function), [*map(write, values[:count]), ast.Starred(write(star), ast.Load())], keywords)


@_rule(ops.format_value)
def _format(op: Op, write: Write, named: Any) -> ast.expr | None:
    part = _formatted(op, write)
    return None if part is None else ast.JoinedStr([part])


def _formatted(op: Op, write: Write) -> ast.FormattedValue | None:
    """Return ``{value:spec}``, or None if the spec is unknown."""
    spec = op.args[1].value if len(op.args) == 2 and isinstance(op.args[1], Const) else None if len(op.args) == 2 else ""
    if type(spec) is not str:
        return None
    value, conversion = op.args[0], -1
    if isinstance(value, Op) and value.callee in (repr, ascii):
        shown = write(value)
        if isinstance(shown, ast.Call) and len(shown.args) == 1:
            return ast.FormattedValue(shown.args[0], ord("r") if value.callee is repr else ord("a"), _spec(spec))
    return ast.FormattedValue(write(value), conversion, _spec(spec))


def _spec(text: str) -> ast.JoinedStr | None:
    return ast.JoinedStr([ast.Constant(text)]) if text else None


@_rule(ops.join_strings)
def _join(op: Op, write: Write, named: Any) -> ast.expr | None:
    parts: list[ast.expr] = []
    for arg in op.args:
        if isinstance(arg, Const) and type(arg.value) is str:
            parts.append(ast.Constant(arg.value))
            continue
        shown = write(arg)
        if isinstance(shown, ast.JoinedStr):
            parts += shown.values
        elif _is_exactly(arg, str):
            parts.append(ast.FormattedValue(shown, -1, None))
        else:
            return None
    return ast.JoinedStr(parts)


@_rule(ops.exception_matches)
def _matches(op: Op, write: Write, named: Any) -> ast.expr | None:
    made = ast.Call(named(ops.exception_matches), [write(a) for a in op.args], [])
    mark(made, "matches")
    return made


@_rule(iter)
def _iter(op: Op, write: Write, named: Any) -> ast.expr | None:
    made = ast.Call(named(iter), [write(a) for a in op.args], [])
    if len(op.args) == 1:
        mark(made, "iter")
    return made


@_rule(next)
def _next(op: Op, write: Write, named: Any) -> ast.expr | None:
    made = ast.Call(named(next), [write(a) for a in op.args], [])
    if len(op.args) == 2 and is_constant(op.args[1], ops.END):
        mark(made, "own next" if getattr(getattr(op.args[0], "type", None), "cls", None) in _ITERATORS else "next")
    return made


#: Empty containers, whose iterators are their own ``iter``.
_NOTHING: Final[tuple[Any, ...]] = ((), {}.values(), {}.items(), set(), range(0), "", b"", [], {})
_ITERATORS: Final = frozenset({*(type(iter(empty)) for empty in _NOTHING), type(reversed(list[int]())), zip, map, enumerate, filter})


@_rule(bool)
def _bool(op: Op, write: Write, named: Any) -> ast.expr | None:
    made = ast.Call(named(bool), [write(a) for a in op.args], [])
    if len(op.args) == 1:
        mark(made, "bool")
    return made
