"""Rows of the table of derivatives, as ops: a rule is traced at the types of its operands, and stands where it is needed."""

import operator
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final, NamedTuple, cast

from hovis.base.once import alone, once
from hovis.engine import trace as engine
from hovis.engine.environment.guards import Guard, compile_guards
from hovis.engine.trace import Fixed, Fresh, Leaf, Part
from hovis.errors import Declined, DerivativeError
from hovis.ir.model import Block, Edge, Effect, Function, Jump, Location, Op, Operand, Param, Return, Value, callees, edges
from hovis.ir.naming import is_name
from hovis.ir.operations import PACKAGE, UNBOUND, make_exception, make_list, make_tuple
from hovis.lattice import ANY, Const, Partial, Type
from hovis.lattice.constants import constant_key, is_immutable
from hovis.library.numpy import derivatives as _rows  # noqa: F401  # filled by being imported
from hovis.library.numpy.adjoints.tangents import afresh, tangent, zeros_like
from hovis.library.standard import STANDARD
from hovis.library.tables import derivatives
from hovis.library.tables.derivatives import Derivative
from hovis.passes import pipeline
from hovis.passes.rewriting import copy, substitute
from hovis.transforms.source_places import told

ROWS: Final = derivatives.TABLE
_CONTAINERS: Final = (make_tuple, make_list)


#: rule and what is known of the operands -> the Function, and the parts, which hold what is in the key
_memo: dict[Any, tuple[Function, Any]] = {}

#: the same of primitives
_watched: "dict[Any, tuple[Watched, Any]]" = {}

#: "reverse" and "forward": what differentiates definitions; filled by their modules.
TRANSFORMS: Final[dict[str, Any]] = {}


def of(op: Op) -> Derivative | None:
    """The row of what an op calls."""
    return ROWS.of(op.callee)


def described(operand: Operand) -> tuple[Any, Part, list[Operand]]:
    """An operand as a rule is given it: a key for what is known of it, the engine's part, and the values in it."""
    if isinstance(operand, Const):
        return ("const", constant_key(operand.value)), Fixed(operand.value), []
    if isinstance(operand, Op) and operand.callee in _CONTAINERS and not operand.kwargs:
        inner = [described(arg) for arg in operand.args]
        return ("tuple", *[key for key, _, _ in inner]), Fresh(None, tuple(part for _, part, _ in inner)), [v for _, _, vs in inner for v in vs]
    assert isinstance(operand, Op | Param)
    dims = tuple(d if isinstance(d, Const) else Const(None) for d in operand.dims) if operand.dims is not None else None
    key = operand.type, None if dims is None else tuple(d.value for d in dims)
    return key, Leaf(Param(operand.type, dims)), [operand]


@alone
def traced(rule: Any, operands: list[Operand], named: dict[str, Operand]) -> tuple[Function, list[Operand]]:
    """The Function of a rule at the types of these operands, and the values that it is to be given."""
    told = [described(operand) for operand in operands]
    more = {name: described(operand) for name, operand in named.items()}
    key = rule, tuple(k for k, _, _ in told), tuple((name, k) for name, (k, _, _) in more.items())
    values = [v for _, _, vs in (*told, *more.values()) for v in vs]
    if key not in _memo:
        parts, with_names = [part for _, part, _ in told], {name: part for name, (_, part, _) in more.items()}
        _memo[key] = _trace(rule, parts, with_names), (parts, with_names)
    return _memo[key][0], values


def _trace(rule: Any, parts: list[Part], named: dict[str, Part]) -> Function:
    """A Function of all leaves in parts, in order."""
    body = _call_of(rule, len(parts), tuple(named))
    all_parts = [*parts, *named.values()]
    result = engine.run(body, all_parts, STANDARD, PACKAGE)
    start = result.functions[0]
    start.blocks[0].params = tuple(result.params.get(id(p), p) for part in all_parts for p in leaves(part))
    return pipeline.run(start, "default")


class Watched(NamedTuple):
    """The Function of a primitive, and what it takes for granted of its environment."""

    function: Function
    guards: tuple[Guard, ...]
    holds: Callable[[], bool]

    def effect(self) -> Effect:
        """What a call may do: to write to what others see is to do anything."""
        found = Effect.READS if self.looks_around() else Effect.PURE
        for op in self._ops():
            found |= op.effect
            if op.effect & Effect.WRITES and op.args and isinstance(op.args[0], Const):
                found |= Effect.OPAQUE
        return found

    def looks_around(self) -> bool:
        """Does it look at anything but its arguments, and what it is made of itself?"""
        known = (value.value for op in self._ops() for value in op.operands() if isinstance(value, Const))
        return any(guard.kind not in _OF_CODE and not is_code(guard.value) for guard in self.guards) or not all(is_code(v) or is_immutable(v) for v in known)

    def _ops(self) -> Iterator[Op]:
        return (op for one in callees(self.function) for op in one.ops() if not isinstance(op.callee, Function))


#: Guards of what a function is made of.
_OF_CODE: Final = frozenset({"function", "defaults", "class", "bases", "type", "asked", "logs", "library"})


def is_code(value: object) -> bool:
    """Is it what programs are made of, rather than what they work on?"""
    return callable(value) or isinstance(value, ModuleType) or value is UNBOUND


def watched(rule: Any, operands: list[Operand]) -> Watched:
    """The Function of a primitive at the types of these operands, as its environment is now."""
    told = [described(operand) for operand in operands]
    key = rule, tuple(k for k, _, _ in told)
    found = _watched.get(key)
    if found is None or not found[0].holds():
        parts = [part for _, part, _ in told]
        result = engine.run(_call_of(rule, len(parts), ()), parts, STANDARD, PACKAGE, frozen=False)
        function = pipeline.run(result.functions[0], "default")
        start = result.engine.start
        guards = tuple(guard for at, guard in result.engine.environment.guards.items() if start is not None and at in start.reads)
        found = _watched[key] = Watched(function, guards, compile_guards(guards)), parts
    return found[0]


def _call_of(rule: Any, count: int, names: tuple[str, ...]) -> Any:
    """A function of so many arguments that calls rule with the last ones by name."""
    return FunctionType(_code(count, names), {"rule": rule})


@once
def _code(count: int, names: tuple[str, ...]) -> CodeType:
    plain = [f"a{k}" for k in range(count)]
    scope: dict[str, Any] = {}
    named = [f"n{k}" for k in range(len(names))]
    passed = [f"{name}={n}" if is_name(name) else f"**{{{name!r}: {n}}}" for name, n in zip(names, named, strict=True)]
    exec(f"def call({', '.join([*plain, *named])}): return rule({', '.join([*plain, *passed])})", scope)
    return cast(CodeType, scope["call"].__code__)


def leaves(part: Part) -> list[Param]:
    """What is unknown in a part."""
    if isinstance(part, Leaf):
        return [part.param]
    return [p for inner in part.parts for p in leaves(inner)] if isinstance(part, Fresh) else []


class Writer:
    """Ops are appended to a block of a Function; rules with ways of their own go on in another block."""

    def __init__(self, function: Function, block: Block) -> None:
        self.function = function
        self.block = block
        self.location: Location | None = None

    def op(self, callee: object, *args: Operand, type: Any = None, dims: Any = None, effect: Effect = Effect.PURE) -> Op:
        """Append a call."""
        made = Op(callee, args, (), ANY if type is None else type, dims, effect, self.location)
        self.block.ops.append(made)
        return made

    def rule(self, rule: Any, /, *operands: Operand, **named: Operand) -> Operand:
        """Append what a rule comes to for these operands."""
        function, values = traced(rule, list(operands), named)
        return self.inline(function, values)

    def inline(self, function: Function, values: list[Operand]) -> Operand:
        """Append a copy of function, given these values."""
        body = copy(function)
        new: dict[Value, Operand] = dict(zip(body.params, values, strict=True))
        for op in body.ops():
            op.location = self.location
        if len(body.blocks) == 1 and isinstance(body.blocks[0].terminator, Return):
            _substitute(body, new)
            self.block.ops += body.blocks[0].ops
            return body.blocks[0].terminator.value
        result = Param(function.type)
        behind = Block((result,))
        start, *others = body.blocks
        if any(edge.block is start for block in body.blocks for edge in edges(block.terminator)):
            self.block.terminator = Jump(Edge(start, tuple(values)), self.location)
            others = body.blocks
        else:
            _substitute(body, new)
            self.block.ops += start.ops
            self.block.terminator = start.terminator
        for block in (self.block, *others):
            if isinstance(block.terminator, Return):
                block.terminator = Jump(Edge(behind, (block.terminator.value,)), self.location)
        self.function.blocks += [*others, behind]
        self.block = behind
        return result


def _substitute(body: Function, new: dict[Value, Operand]) -> None:
    """The parameters of a copy become these operands, without giving them names."""
    names = {id(v): v.name for v in new.values() if isinstance(v, Param | Op)}
    substitute(body, new)
    for value in new.values():
        if isinstance(value, Param | Op):
            value.name = names[id(value)]


# ------------------------------------------------------------------------------------------------- rows


def pulled(writer: Writer, op: Op, k: int, g: Operand) -> Operand:
    """What the cotangent g of an op's result makes of its k-th operand (those by name come after the others)."""
    part = _part(writer, op, g)
    if part is not None:
        return part
    row, call, k = found(op, k)
    if row.every_pull is not None:
        return _apply(writer, call, k, row.every_pull, Const(k), g, op)
    if row.transposed is not None:
        return _transposed(writer, row.transposed, call, k, g)
    rule = row.pulls[k] if k < len(row.pulls) else None
    if rule is None and row.definition is not None:
        return _pulled_through(writer, row.definition, call, k, g, op)
    return _apply(writer, call, k, rule, g, op)


def _part(writer: Writer, op: Op, g: Operand) -> Operand | None:
    """Of what is taken out of a result of several parts: the cotangent of these, all but one nothing."""
    if op.callee is not operator.getitem or not isinstance(op.args[1], Const) or type(op.args[1].value) is not int:
        return None
    kind = getattr(op.args[0], "type", None)
    if not isinstance(kind, Partial) or not issubclass(kind.cls, tuple):
        return None
    count = len(kind.parts)
    return writer.op(make_tuple, *[g if k == op.args[1].value % count else Const(None) for k in range(count)], type=Type(tuple))


def pushed(writer: Writer, op: Op, k: int, t: Operand, result: Op | None = None) -> Operand:
    """What the tangent t of an op's k-th operand makes of its result (which another op may give)."""
    y = op if result is None else result
    row, call, k = found(op, k)
    if row.every_push is not None:
        return _apply(writer, call, k, row.every_push, Const(k), t, y)
    rule = row.pushes[k] if k < len(row.pushes) else None
    if rule is None and row.definition is not None:
        return _pushed_through(writer, row.definition, call, k, t)
    if rule is None and row.every_pull is not None:
        raise DerivativeError(backwards(op))
    return _apply(writer, call, k, rule, t, y)


def found(op: Op, k: int) -> tuple[Derivative, Op, int]:
    """The row of an op, and the op with what is passed by name among its operands by position, where the k-th is such a one."""
    row = ROWS.of(op.callee)
    if row is None or row.constant:
        raise DerivativeError(unknown(op))
    if k < len(op.args):
        return row, op, k
    name = op.kwargs[k - len(op.args)][0]
    if name not in row.parameters:
        raise DerivativeError(unknown(op, k))
    at, named, args = row.parameters.index(name), dict(op.kwargs), list(op.args)
    for parameter in row.parameters[len(args) : at + 1]:
        args.append(named.pop(parameter, Const(None)))
    return row, Op(op.callee, tuple(args), tuple(named.items()), op.type, op.dims, op.effect, op.location, op.name), at


def _apply(writer: Writer, op: Op, k: int, rule: Any, *given: Operand) -> Operand:
    """A rule for the k-th operand of an op, given these and the operands."""
    if rule is None:
        raise DerivativeError(unknown(op, k))
    function, values = traced(rule, [_apart(writer, one) for one in (*given, *op.args)], dict(op.kwargs))
    return writer.inline(_usable(function, op), values)


def _apart(writer: Writer, operand: Operand) -> Operand:
    """A result of several parts as the tuple of these."""
    kind = getattr(operand, "type", None)
    if not isinstance(kind, Partial) or not issubclass(kind.cls, tuple) or (isinstance(operand, Op) and operand.callee in _CONTAINERS):
        return operand
    return writer.op(make_tuple, *[writer.op(operator.getitem, operand, Const(k), type=part) for k, part in enumerate(kind.parts)], type=Type(tuple))


def _usable(function: Function, op: Op) -> Function:
    """A rule for the operands of an op: where it declines, it says of which op, and what to do.  What always raises is for none."""
    if not any(isinstance(block.terminator, Return) for block in function.blocks):
        raise DerivativeError(not_for(refusal(function) or "its rule can't be followed", op))
    if not declines(function):
        return function
    placed = copy(function)
    for made in placed.ops():
        if _raised(made) is Declined:
            made.callee, made.args, made.type = DerivativeError, (Const(not_for(_said(made), op)),), Type(DerivativeError)
    return placed


def declines(function: Function) -> bool:
    """Is a rule not for some of the operands that it was traced at?"""
    return any(_raised(made) is Declined for made in function.ops())


def _raised(op: Op) -> type[Exception] | None:
    """The class of the exception that an op makes."""
    made = op.args[0].value if op.callee is make_exception and isinstance(op.args[0], Const) else op.callee
    return made if isinstance(made, type) and issubclass(made, Exception) else None


def _said(op: Op) -> str:
    """The message of the exception that an op makes, as far as it is known."""
    given: Any = op.args
    if op.callee is make_exception:
        known = getattr(op.args[1], "value", None)
        given = [Const(one) for one in known] if isinstance(known, tuple) else getattr(op.args[1], "args", ())
    return str(given[0].value) if given and isinstance(given[0], Const) else ""


def not_for(why: str, op: Op) -> str:
    """That the rule of an op is not for its operands, and what to do."""
    return f"{why}: {told(op)}.  {_ADVICE}"


def refusal(function: Function) -> str | None:
    """Why a rule is not for the operands that it was traced at; None, if it is for some of them."""
    if any(isinstance(block.terminator, Return) for block in function.blocks):
        return None
    return next((_said(made) for made in function.ops() if _raised(made) is not None), "")


def _defined(definition: Any, op: Op, k: int) -> tuple[Function, list[Operand], list[int]]:
    """A definition at the operands of an op, its values, and the places of what is in the k-th operand."""
    function, values = traced(definition, list(op.args), dict(op.kwargs))
    function = _usable(function, op)
    before = sum(len(described(arg)[2]) for arg in op.args[:k])
    return function, values, list(range(before, before + len(described(op.args[k])[2])))


def _outputs(function: Function) -> int:
    """How many results a definition has; 0: one that is no tuple."""
    last = next(block.terminator for block in function.blocks if isinstance(block.terminator, Return)).value
    return len(last.args) if isinstance(last, Op) and last.callee is make_tuple else 0


def _pulled_through(writer: Writer, definition: Any, op: Op, k: int, g: Operand, y: Op) -> Operand:
    function, values, wanted = _defined(definition, op, k)
    count = _outputs(function)
    seeds = _seeds(writer, count, g, y)
    derived = pipeline.run(TRANSFORMS["reverse"](function, wanted, count, True, True), "default")
    result = writer.inline(derived, [*values, *seeds])
    cotangents = [_item(writer, result, (count or 1) + j) for j in range(len(wanted))]
    return _like(writer, op.args[k], cotangents)


def _seeds(writer: Writer, count: int, g: Operand, y: Op) -> list[Operand]:
    """The cotangents of so many results (0: of one that is no tuple)."""
    if not count:
        return [g]
    parts = list(g.args) if isinstance(g, Op) and g.callee is make_tuple else [writer.op(operator.getitem, g, Const(j)) for j in range(count)]
    return [writer.rule(_zero_part, y, Const(j)) if isinstance(one, Const) and one.value is None else one for j, one in enumerate(parts)]


def pulled_again(writer: Writer, op: Op, which: list[int], g: Operand, y: Op) -> list[Operand]:
    """What the cotangent g of op's result makes of these operands, where its definition is to be computed again."""
    row = ROWS.of(op.callee)
    assert row is not None
    definition = row.definition
    function, values = traced(definition, list(op.args), {})
    places = [sum(isinstance(arg, Op | Param) for arg in op.args[:k]) for k in which]
    count = _outputs(function)
    seeds = _seeds(writer, count, g, y)
    derived = pipeline.run(TRANSFORMS["reverse"](function, places, count, True, True), "default")
    result = writer.inline(derived, [*(writer.rule(afresh, value, seeds[0]) for value in values), *seeds])
    return [_item(writer, result, (count or 1) + j) for j in range(len(places))]


def _transposed(writer: Writer, push: Any, op: Op, k: int, g: Operand) -> Operand:
    """The pull of a push: that is linear in the tangent, so it is its own derivative."""
    of = op.args[k]
    assert isinstance(of, Op | Param)
    function, values = traced(push, [Const(k), Param(of.type, of.dims), *op.args], {})
    values = [writer.rule(tangent, of), *values[1:]]
    derived = pipeline.run(TRANSFORMS["reverse"](_usable(function, op), [0], 0, True), "default")
    return _item(writer, writer.inline(derived, [*values, g]), 1)


def _pushed_through(writer: Writer, definition: Any, op: Op, k: int, t: Operand) -> Operand:
    function, values, wanted = _defined(definition, op, k)
    tangents = _flat(writer, op.args[k], t)
    derived = pipeline.run(TRANSFORMS["forward"](function, wanted), "default")
    return _item(writer, writer.inline(derived, [*values, *tangents]), 1)


def _zero_part(y: Any, j: int) -> Any:
    return zeros_like(y[j])


def _item(writer: Writer, result: Operand, k: int) -> Operand:
    if isinstance(result, Op) and result.callee is make_tuple:
        return result.args[k]
    return writer.op(operator.getitem, result, Const(k))


def _like(writer: Writer, operand: Operand, leaves: list[Operand]) -> Operand:
    """The cotangent of an operand, of those of the values in it."""
    if isinstance(operand, Const):
        return Const(None)
    if isinstance(operand, Op) and operand.callee in _CONTAINERS and not operand.kwargs:
        return writer.op(make_tuple, *[_like(writer, arg, leaves) for arg in operand.args], type=Type(tuple))
    return leaves.pop(0)


def _flat(writer: Writer, operand: Operand, t: Operand) -> list[Operand]:
    """The tangents of the values in an operand; zeros where there are none."""
    if isinstance(operand, Const):
        return []
    if isinstance(operand, Op) and operand.callee in _CONTAINERS and not operand.kwargs:
        parts = t.args if isinstance(t, Op) and t.callee in _CONTAINERS else [Const(None)] * len(operand.args)
        return [one for arg, part in zip(operand.args, parts, strict=True) for one in _flat(writer, arg, part)]
    return [writer.rule(zeros_like, operand) if isinstance(t, Const) and t.value is None else t]


def unknown(op: Op, k: int | None = None) -> str:
    """Why there is no derivative, and what to do."""
    which = "" if k is None else f" in its argument {k + 1}"
    why = ROWS.absent.get(op.callee) if ROWS.of(op.callee) is None else None
    told_why = f": {why}" if why else ""
    return f"no derivative of {told(op)}{which} is known{told_why}.  {_ADVICE}"


def backwards(op: Op) -> str:
    """That an op has a rule for reverse mode alone, and what to do."""
    return (
        f"{told(op)} has a rule for cotangents alone, and this is forward mode (jvp, linearize, jacfwd, hessian): hovis.custom_jvp has a rule for both; "
        "grad and jacrev may stand in one another"
    )


_ADVICE: Final = "hovis.custom_vjp gives a function one of its own, hovis.stop_gradient leaves it out"


__all__ = ["ROWS", "TRANSFORMS", "Writer", "declines", "described", "leaves", "not_for", "of", "pulled", "pulled_again", "pushed", "traced", "unknown"]
