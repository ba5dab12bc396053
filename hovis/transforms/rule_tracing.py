"""Trace the rules of tables at the types of their operands, and emit them as ops where they are needed."""

from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final, NamedTuple, cast

from hovis.base.once import alone, once
from hovis.engine import trace as engine
from hovis.engine.environment.guards import Guard, compile_guards
from hovis.engine.trace import Fixed, Fresh, Leaf, Part
from hovis.errors import Declined
from hovis.ir.model import Block, Edge, Effect, Function, Jump, Location, Op, Operand, Param, Return, Value, callees, edges
from hovis.ir.naming import is_name
from hovis.ir.operations import PACKAGE, UNBOUND, make_exception, make_list, make_tuple
from hovis.lattice import ANY, Const
from hovis.lattice.constants import constant_key, is_immutable
from hovis.library.standard import STANDARD
from hovis.passes import pipeline
from hovis.passes.rewriting import copy, substitute

CONTAINERS: Final = (make_tuple, make_list)


#: (rule, keys of the operands) -> the Function, and the parts, which keep the objects in the key alive
_memo: dict[Any, tuple[Function, Any]] = {}

#: The same for primitives, with the guards of their Functions.
_watched: "dict[Any, tuple[Watched, Any]]" = {}


def described(operand: Operand) -> tuple[Any, Part, list[Operand]]:
    """Describe an operand for a rule: return a key for what is known of it, the engine's part, and the values in it."""
    if isinstance(operand, Const):
        return ("const", constant_key(operand.value)), Fixed(operand.value), []
    if isinstance(operand, Op) and operand.callee in CONTAINERS and not operand.kwargs:
        inner = [described(arg) for arg in operand.args]
        return ("tuple", *[key for key, _, _ in inner]), Fresh(None, tuple(part for _, part, _ in inner)), [v for _, _, vs in inner for v in vs]
    assert isinstance(operand, Op | Param)
    dims = tuple(d if isinstance(d, Const) else Const(None) for d in operand.dims) if operand.dims is not None else None
    key = operand.type, None if dims is None else tuple(d.value for d in dims)
    return key, Leaf(Param(operand.type, dims)), [operand]


@alone
def traced(rule: Any, operands: list[Operand], named: dict[str, Operand]) -> tuple[Function, list[Operand]]:
    """Return the Function of a rule traced at the types of these operands, and the values to pass to it."""
    told = [described(operand) for operand in operands]
    more = {name: described(operand) for name, operand in named.items()}
    key = rule, tuple(k for k, _, _ in told), tuple((name, k) for name, (k, _, _) in more.items())
    values = [v for _, _, vs in (*told, *more.values()) for v in vs]
    if key not in _memo:
        parts, with_names = [part for _, part, _ in told], {name: part for name, (_, part, _) in more.items()}
        _memo[key] = _trace(rule, parts, with_names), (parts, with_names)
    return _memo[key][0], values


def _trace(rule: Any, parts: list[Part], named: dict[str, Part]) -> Function:
    """Trace rule to a Function whose parameters are all leaves in parts, in order."""
    body = _call_of(rule, len(parts), tuple(named))
    all_parts = [*parts, *named.values()]
    result = engine.run(body, all_parts, STANDARD, PACKAGE)
    start = result.functions[0]
    start.blocks[0].params = tuple(result.params.get(id(p), p) for part in all_parts for p in leaves(part))
    return pipeline.run(start, "default")


class Watched(NamedTuple):
    """The Function of a primitive, and the guards on its environment that it depends on."""

    function: Function
    guards: tuple[Guard, ...]
    holds: Callable[[], bool]

    def effect(self) -> Effect:
        """Return the effect of a call; a write to a constant, which others can see, counts as opaque."""
        found = Effect.READS if self.looks_around() else Effect.PURE
        for op in self._ops():
            found |= op.effect
            if op.effect & Effect.WRITES and op.args and isinstance(op.args[0], Const):
                found |= Effect.OPAQUE
        return found

    def looks_around(self) -> bool:
        """Does the primitive look at anything but its arguments and its own code?"""
        known = (value.value for op in self._ops() for value in op.operands() if isinstance(value, Const))
        return any(guard.kind not in _OF_CODE and not is_code(guard.value) for guard in self.guards) or not all(is_code(v) or is_immutable(v) for v in known)

    def _ops(self) -> Iterator[Op]:
        return (op for one in callees(self.function) for op in one.ops() if not isinstance(op.callee, Function))


#: Kinds of guards that concern the code of a function, not data.
_OF_CODE: Final = frozenset({"function", "defaults", "class", "bases", "type", "asked", "logs", "library"})


def is_code(value: object) -> bool:
    """Is value a part of programs (a callable, a module), rather than data that they work on?"""
    return callable(value) or isinstance(value, ModuleType) or value is UNBOUND


def watched(rule: Any, operands: list[Operand]) -> Watched:
    """Return the Function of a primitive traced at the types of these operands, valid for the environment as it is now."""
    told = [described(operand) for operand in operands]
    key = rule, tuple(k for k, _, _ in told)
    found = _watched.get(key)
    if found is None or not found[0].holds():
        parts = [part for _, part, _ in told]
        result = engine.run(_call_of(rule, len(parts), ()), parts, STANDARD, PACKAGE, frozen=False)
        function = pipeline.run(result.functions[0], "default")
        found = _watched[key] = Watched(function, result.guards, compile_guards(result.guards)), parts
    return found[0]


def _call_of(rule: Any, count: int, names: tuple[str, ...]) -> Any:
    """Build a function that calls rule with its first count arguments by position, and the others by the names in names."""
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
    """Return the parameters for the unknown values in a part."""
    if isinstance(part, Leaf):
        return [part.param]
    return [p for inner in part.parts for p in leaves(inner)] if isinstance(part, Fresh) else []


class Writer:
    """Appends ops to a block of a Function; behind a rule with branches it continues in another block."""

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
        """Trace rule for these operands, and append its ops; return its result."""
        function, values = traced(rule, list(operands), named)
        return self.inline(function, values)

    def inline(self, function: Function, values: list[Operand]) -> Operand:
        """Append a copy of function applied to these values; return its result."""
        body = copy(function)
        new: dict[Value, Operand] = dict(zip(body.params, values, strict=True))
        for op in body.ops():
            op.location = self.location
        if len(body.blocks) == 1 and isinstance(body.blocks[0].terminator, Return):
            substitute_unnamed(body, new)
            self.block.ops += body.blocks[0].ops
            return body.blocks[0].terminator.value
        result = Param(function.type)
        behind = Block((result,))
        start, *others = body.blocks
        if any(edge.block is start for block in body.blocks for edge in edges(block.terminator)):
            self.block.terminator = Jump(Edge(start, tuple(values)), self.location)
            others = body.blocks
        else:
            substitute_unnamed(body, new)
            self.block.ops += start.ops
            self.block.terminator = start.terminator
        for block in (self.block, *others):
            if isinstance(block.terminator, Return):
                block.terminator = Jump(Edge(behind, (block.terminator.value,)), self.location)
        self.function.blocks += [*others, behind]
        self.block = behind
        return result


def substitute_unnamed(body: Function, new: dict[Value, Operand]) -> None:
    """Replace the parameters of a copy by these operands, without giving the operands new names."""
    names = {id(v): v.name for v in new.values() if isinstance(v, Param | Op)}
    substitute(body, new)
    for value in new.values():
        if isinstance(value, Param | Op):
            value.name = names[id(value)]


# ------------------------------------------------------------------------------------------------- rules that decline


def declines(function: Function) -> bool:
    """Does a rule raise Declined for some of the operands that it was traced at?"""
    return any(raised(made) is Declined for made in function.ops())


def raised(op: Op) -> type[Exception] | None:
    """Return the class of the exception that op makes, or None if it makes none."""
    made = op.args[0].value if op.callee is make_exception and isinstance(op.args[0], Const) else op.callee
    return made if isinstance(made, type) and issubclass(made, Exception) else None


def said(op: Op) -> str:
    """Return the message of the exception that op makes, as far as it is known."""
    given: Any = op.args
    if op.callee is make_exception:
        known = getattr(op.args[1], "value", None)
        given = [Const(one) for one in known] if isinstance(known, tuple) else getattr(op.args[1], "args", ())
    return str(given[0].value) if given and isinstance(given[0], Const) else ""


def refusal(function: Function) -> str | None:
    """Return the reason why a rule does not apply to the operands that it was traced at; None if it applies to some of them."""
    if any(isinstance(block.terminator, Return) for block in function.blocks):
        return None
    return next((said(made) for made in function.ops() if raised(made) is not None), "")


__all__ = ["Writer", "declines", "described", "leaves", "traced"]
