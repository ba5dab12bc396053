"""Apply derivative rules: emit the ops that a row of the table gives for the cotangent or tangent of an op."""

import operator
from typing import Any, Final

from hovis.errors import Declined, DerivativeError
from hovis.ir.model import Function, Op, Operand, Param, Return
from hovis.ir.operations import make_tuple
from hovis.lattice import Const, Partial, Type
from hovis.library.numpy import derivatives as _rows  # noqa: F401  # filled by being imported
from hovis.library.numpy.adjoints.tangents import afresh, tangent, zeros_like
from hovis.library.tables import derivatives
from hovis.library.tables.derivatives import Derivative
from hovis.passes import pipeline
from hovis.passes.rewriting import copy
from hovis.transforms.rule_tracing import CONTAINERS, Writer, declines, described, raised, refusal, said, traced
from hovis.transforms.source_places import told

ROWS: Final = derivatives.TABLE

#: "reverse" and "forward" -> the transformation that differentiates definitions; filled in by their modules.
TRANSFORMS: Final[dict[str, Any]] = {}


def of(op: Op) -> Derivative | None:
    """Return the row of the callee of op, or None."""
    return ROWS.of(op.callee)


def pulled(writer: Writer, op: Op, k: int, g: Operand) -> Operand:
    """Emit the cotangent of the k-th operand of op (keyword operands come after the others), given the cotangent g of its result."""
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
    """If op takes one part out of a result of several parts, emit the cotangent of all parts: g for that one, None for the others. Else return
    None.
    """
    if op.callee is not operator.getitem or not isinstance(op.args[1], Const) or type(op.args[1].value) is not int:
        return None
    kind = getattr(op.args[0], "type", None)
    if not isinstance(kind, Partial) or not issubclass(kind.cls, tuple):
        return None
    count = len(kind.parts)
    return writer.op(make_tuple, *[g if k == op.args[1].value % count else Const(None) for k in range(count)], type=Type(tuple))


def pushed(writer: Writer, op: Op, k: int, t: Operand, result: Op | None = None) -> Operand:
    """Emit the tangent of the result of op (or of ``result``, if that op gives it), given the tangent t of its k-th operand."""
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
    """Return the row of op, op with its keyword operands made positional as far as the k-th operand requires it, and the position of that
    operand.
    """
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
    """Emit a rule for the k-th operand of op, applied to the operands in ``given`` and those of op."""
    if rule is None:
        raise DerivativeError(unknown(op, k))
    function, values = traced(rule, [_apart(writer, one) for one in (*given, *op.args)], dict(op.kwargs))
    return writer.inline(_usable(function, op), values)


def _apart(writer: Writer, operand: Operand) -> Operand:
    """Return a result of several parts as a tuple of its parts; other operands are returned unchanged."""
    kind = getattr(operand, "type", None)
    if not isinstance(kind, Partial) or not issubclass(kind.cls, tuple) or (isinstance(operand, Op) and operand.callee in CONTAINERS):
        return operand
    return writer.op(make_tuple, *[writer.op(operator.getitem, operand, Const(k), type=part) for k, part in enumerate(kind.parts)], type=Type(tuple))


def _usable(function: Function, op: Op) -> Function:
    """Prepare the Function of a rule for use at op: where it declines, the error names op and says what to do. Raise DerivativeError if it
    always raises.
    """
    if not any(isinstance(block.terminator, Return) for block in function.blocks):
        raise DerivativeError(not_for(refusal(function) or "its rule can't be traced", op))
    if not declines(function):
        return function
    placed = copy(function)
    for made in placed.ops():
        if raised(made) is Declined:
            made.callee, made.args, made.type = DerivativeError, (Const(not_for(said(made), op)),), Type(DerivativeError)
    return placed


def not_for(why: str, op: Op) -> str:
    """Build the message that the rule of op does not apply to its operands, with advice."""
    return f"{why}: {told(op)}.  {_ADVICE}"


def _defined(definition: Any, op: Op, k: int) -> tuple[Function, list[Operand], list[int]]:
    """Trace a definition at the operands of op; return its Function, its arguments, and the positions among these of the values in the k-th
    operand.
    """
    function, values = traced(definition, list(op.args), dict(op.kwargs))
    function = _usable(function, op)
    before = sum(len(described(arg)[2]) for arg in op.args[:k])
    return function, values, list(range(before, before + len(described(op.args[k])[2])))


def _outputs(function: Function) -> int:
    """Return the number of results of a definition; 0 if it returns one value that is no tuple."""
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
    """Return the cotangents of count results (0: of one that is no tuple), with zeros where there are none."""
    if not count:
        return [g]
    parts = list(g.args) if isinstance(g, Op) and g.callee is make_tuple else [writer.op(operator.getitem, g, Const(j)) for j in range(count)]
    return [writer.rule(_zero_part, y, Const(j)) if isinstance(one, Const) and one.value is None else one for j, one in enumerate(parts)]


def pulled_again(writer: Writer, op: Op, which: list[int], g: Operand, y: Op) -> list[Operand]:
    """Emit the cotangents of the operands at the positions in ``which``, given the cotangent g of the result of op, where its definition is to
    be computed again.
    """
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
    """Emit the pull of a push by transposing it: a push is linear in the tangent, and therefore its own derivative."""
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
    """Build the cotangent of an operand from those of the values in it (leaves)."""
    if isinstance(operand, Const):
        return Const(None)
    if isinstance(operand, Op) and operand.callee in CONTAINERS and not operand.kwargs:
        return writer.op(make_tuple, *[_like(writer, arg, leaves) for arg in operand.args], type=Type(tuple))
    return leaves.pop(0)


def _flat(writer: Writer, operand: Operand, t: Operand) -> list[Operand]:
    """Return the tangents of the values in an operand; zeros where there are none."""
    if isinstance(operand, Const):
        return []
    if isinstance(operand, Op) and operand.callee in CONTAINERS and not operand.kwargs:
        parts = t.args if isinstance(t, Op) and t.callee in CONTAINERS else [Const(None)] * len(operand.args)
        return [one for arg, part in zip(operand.args, parts, strict=True) for one in _flat(writer, arg, part)]
    return [writer.rule(zeros_like, operand) if isinstance(t, Const) and t.value is None else t]


def unknown(op: Op, k: int | None = None) -> str:
    """Build the message that op has no known derivative, with the reason if one is known, and advice."""
    which = "" if k is None else f" in its argument {k + 1}"
    why = ROWS.absent.get(op.callee) if ROWS.of(op.callee) is None else None
    told_why = f": {why}" if why else ""
    return f"no derivative of {told(op)}{which} is known{told_why}.  {_ADVICE}"


def backwards(op: Op) -> str:
    """Build the message that op has a rule for reverse mode alone, with advice."""
    return (
        f"{told(op)} only has a rule for cotangents, and this is forward mode (jvp, linearize, jacfwd, hessian): hovis.custom_jvp defines a rule for both; "
        "grad and jacrev may be nested in each other"
    )


_ADVICE: Final = "Define one with hovis.custom_vjp, or use hovis.stop_gradient to treat the value as a constant"
