"""Inverse of a Function: compute its operands from its result; known values are propagated in both directions.

An op whose operands are known is executed; if the result of an op is known, and all operands but one, that operand is computed (by the
table in :mod:`hovis.library.tables.inverses`).  The unknown may therefore be anywhere in the formula, and operands beside it may have
to be computed first, as in a coupling layer: ``y = concatenate([a, b * exp(f(a))])``.

Modelled on the custom interpreter in Olympus' documentation, which processes equations from the last to the first.
"""

from collections.abc import Sequence
from typing import Any

from hovis.errors import InverseError
from hovis.ir.model import Block, Effect, Function, Op, Operand, Param, Return, Value
from hovis.ir.operations import PACKAGE, drop, keep, make_tuple
from hovis.ir.quoting import place, quote
from hovis.lattice import Const, Type
from hovis.library.numpy.adjoints import inverses as _rows  # noqa: F401  # filled by being imported
from hovis.library.tables.inverses import INVERSES, Inverse, Rule, Unknown
from hovis.transforms.rule_tracing import Writer


def inverted(function: Function, wanted: Sequence[int], count: int, name: str) -> Function:
    """Build the inverse of function: from its params, and the ``count`` items of the tuple that it returns, to a tuple of its params at the
    places in ``wanted``.

    The values that the wanted params may have are not examined.
    """
    if len(function.blocks) > 1:
        raise InverseError(f"{name} has a branch that is decided at run time, and no inverse for that reason")
    block = function.blocks[0]
    assert isinstance(block.terminator, Return)
    result: Any = block.terminator.value
    parts: tuple[Any, ...] = result.args if isinstance(result, Op) else tuple([Const(item) for item in result.value])
    if len(parts) != count:
        raise InverseError(f"{name} returns {_count(len(parts))}, but its inverse got {count}")
    entry = Block(tuple(Param(p.type, p.dims, p.name) for p in function.params))
    backwards = Function(f"inverse of {function.name}", [entry], function.location)
    params = dict(zip(function.params, entry.params, strict=True))
    missing = [function.params[k] for k in wanted]
    search = Search(Writer(backwards, entry), {param: new for param, new in params.items() if param not in missing})
    for part in parts:
        given = Param(Type(type(part.value)) if isinstance(part, Const) else part.type, None if isinstance(part, Const) else part.dims)
        entry.params = (*entry.params, given)
        search.found(part, given)
    search.run(name, [op for op in block.ops if op.callee is not drop and op.callee is not keep], missing)
    found = search.writer.op(make_tuple, *[search.known[param] for param in missing], type=Type(tuple))
    search.writer.block.terminator = Return(found)
    return backwards


class Search:
    """The known values of a Function, as operands of the inverse Function that is being written."""

    def __init__(self, writer: Writer, known: dict[Value, Operand]) -> None:
        self.writer = writer
        self.known = known

    def run(self, name: str, ops: list[Op], wanted: list[Param]) -> None:
        """Propagate known values until all that are wanted are known; raise InverseError where that gets stuck."""
        while any(param not in self.known for param in wanted):
            before = len(ops), len(self.known)
            ops = [op for op in ops if not self.forward(op)]
            ops = [op for op in reversed(ops) if not self.backward(op)][::-1]
            self.together(ops)
            if (len(ops), len(self.known)) == before:
                raise InverseError(_stuck(name, self, ops, wanted))

    def found(self, value: Operand, operand: Operand) -> None:
        """Record that value is now known as operand."""
        if isinstance(value, Op | Param):
            self.known.setdefault(value, operand)

    def value(self, operand: Operand) -> Operand | None:
        """Return the operand that is known for an operand, or None."""
        return operand if isinstance(operand, Const) else self.known.get(operand)  # type: ignore[arg-type]

    def forward(self, op: Op) -> bool:
        """Emit op again if its operands are known; return whether op is finished."""
        args = [self.value(a) for a in op.args]
        named = [(name, self.value(a)) for name, a in op.kwargs]
        if None in args or any(a is None for _, a in named) or isinstance(op.callee, Op | Param):
            return False
        if op not in self.known:
            if op.effect & ~(Effect.READS | Effect.RAISES):
                raise InverseError("\n".join([f"{_name(op)} has side effects, so it can't be inverted", *_where(op)]))
            again = Op(op.callee, tuple(args), tuple(named), op.type, None, op.effect, op.location, op.name)  # type: ignore[arg-type]
            if op.dims is not None and all(isinstance(dim, Const) for dim in op.dims):
                again.dims = op.dims
            self.writer.block.ops.append(again)
            self.known[op] = again
        return True

    def backward(self, op: Op) -> bool:
        """Find operands of an op whose result is known; return whether op is finished."""
        row = INVERSES.get(op.callee)
        if op not in self.known or row is None:
            return False
        self.writer.location = op.location
        args = [self.value(a) or Const(_missing(a)) for a in op.args]
        named = {name: value for name, a in op.kwargs if (value := self.value(a)) is not None}
        unknown = [k for k, a in enumerate(op.args) if self.value(a) is None]
        if row.part is not None:
            for k in unknown:
                self.found(op.args[k], self.writer.rule(row.part, Const(k), self.known[op], *args))
            return True
        rule = _rule(row, op, unknown) if len(named) == len(op.kwargs) else None
        if rule is None:
            return False
        self.found(op.args[unknown[0]], self.writer.rule(rule, self.known[op], *args, **named))
        return True

    def together(self, ops: list[Op]) -> None:
        """Reassemble values from the known parts that ops have taken out of them."""
        taken: dict[tuple[Value, Inverse], list[Op]] = {}
        for op in ops:
            row = INVERSES.get(op.callee)
            if row is None or row.order is None or op not in self.known or self.value(op.args[0]) is not None:
                continue
            if all(isinstance(a, Const) for a in op.args[1:]):
                taken.setdefault((op.args[0], row), []).append(op)  # type: ignore[arg-type]
        for (value, row), parts in taken.items():
            assert row.order is not None
            order = row.order(_missing(value), [tuple(a.value for a in op.args[1:] if isinstance(a, Const)) for op in parts])
            if order is not None:
                self.writer.location = parts[0].location
                self.found(value, self.writer.rule(row.whole, Const(order), *[self.known[op] for op in parts]))


def _rule(row: Inverse, op: Op, unknown: list[int]) -> Rule | None:
    """Return the rule for the one unknown operand of op, or None."""
    if len(unknown) != 1 or unknown[0] >= len(row.rules):
        return None
    if row.alike and _missing(op.args[unknown[0]]).shape != _missing(op).shape:
        return None
    return row.rules[unknown[0]]


def _missing(operand: Any) -> Unknown:
    """Describe an operand that is not known, for a rule: its shape, as far as that is known, and its parts."""
    if isinstance(operand, Const):
        return Unknown(getattr(operand.value, "shape", ()))
    shape = None
    if operand.dims is not None and all(isinstance(dim, Const) and isinstance(dim.value, int) for dim in operand.dims):
        shape = tuple([dim.value for dim in operand.dims])
    row = INVERSES.get(operand.callee) if isinstance(operand, Op) else None
    return Unknown(shape, tuple([_missing(part) for part in operand.args]) if row is not None and row.part is not None else ())


# ------------------------------------------------------------------------------------------------- errors


def _count(values: int) -> str:
    return "one value" if values == 1 else f"{values} values"


def _stuck(name: str, search: Search, pending: list[Op], wanted: list[Param]) -> str:
    """Build the message that says which op stands between the result and the wanted params."""
    for op in reversed(pending):
        if op in search.known:
            missing = [a for a in op.args if search.value(a) is None]
            if op.callee not in INVERSES:
                why = f"{_name(op)} has no inverse that hovis knows: define one with hovis.define_inverse({_name(op)}, …)"
            elif len(missing) != 1:
                why = f"{_name(op)} depends on the unknown argument in {len(missing)} of its operands"
            else:
                why = f"{_name(op)} has no inverse in this operand"
            return "\n".join([f"the argument can't be found from the result of {name}: {why}", *_where(op)])
    return f"the argument can't be found from the result of {name}, which does not depend on it"


def _name(op: Op) -> str:
    name = str(getattr(op.callee, "__qualname__", None) or getattr(op.callee, "__name__", op.callee))
    module = getattr(op.callee, "__module__", None)
    return name if module in (None, "builtins", "_operator") else f"{module}.{name}"


def _where(op: Op) -> list[str]:
    for at in op.location.chain() if op.location is not None else ():
        if not at.file.startswith(PACKAGE):
            return [place(at), *quote(at)]
    return []
