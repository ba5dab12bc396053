"""Calls of functions with rules of their own (kernels) in a trace: each is one op, until nothing is differentiated any more."""

import functools
from typing import Any, Final

from hovis.base import pytree
from hovis.engine.calls.builtins import primitive as by_rule
from hovis.engine.machine.call_results import finish, opaque
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import VObj
from hovis.engine.state.values import Dyn, Known
from hovis.front.custom_rules import STOPPED, Custom, Kernel, Laid, laid_out, plan_of, whole
from hovis.front.kernels.primitives import Kept
from hovis.ir.model import Block, Effect, Function, Invoke, Op, Operand, Param, Return, Value, callees
from hovis.ir.operations import make_dict, make_list, make_object, make_tuple
from hovis.lattice import AbstractValue, Const, Partial, join
from hovis.lattice.inspection import is_a
from hovis.library.standard import STANDARD
from hovis.passes.rewriting import copy, substitute
from hovis.transforms import rule_tracing


def _whole(m: Machine, args: list[Any], named: dict[str, Any]) -> Any:
    kernel, given = m.resolve(args[0]), m.obj(args[1], "tuple")
    if isinstance(kernel, Known) and is_a(kernel.value, Kept) and given is None:
        # the environment that the kernel reads changes too often: nothing is known of the call except its arguments
        made = getattr(args[1], "value", None)
        if isinstance(made, Op) and made.callee is make_tuple:
            return opaque(m, kernel.value, [Known(a.value) if isinstance(a, Const) else Dyn(a, _type(a), None) for a in made.args])
    if not isinstance(kernel, Known) or given is None:
        # leave an opaque call, which has no derivative, so that the body is not differentiated in place of the rule
        return opaque(m, whole, args)
    held: Any = kernel.value
    _rely(m, held)
    row = m.library.rule(held)
    known = None if row is None else by_rule(m, row, list(given.cells), {})
    if known is not None:
        return known
    operands = [_known_of(m, value) for value in given.cells]
    if isinstance(held, Kept):
        body = rule_tracing.watched(held.fn, operands)
        function = body.function
        for guard in body.guards:
            m.environment.guard(guard.kind, guard.holder, guard.name, guard.value)
    else:
        body, (function, _) = None, rule_tracing.traced(held.fn, operands, {})
    ends = [block.terminator for block in function.blocks if isinstance(block.terminator, Return)]
    if not ends:
        return opaque(m, whole, args)
    effect = Effect.PURE if body is None else body.effect()
    for op in (op for one in callees(function) for op in one.ops() if not isinstance(op.callee, Function)):
        effect |= op.effect
    value = ends[0].value
    kind = _of_tuples([end.value for end in ends])
    if kind is not None:
        return m.emit(held, list(given.cells), None, kind, effect)
    dims = None
    if held is STOPPED and isinstance(given.cells[0], Dyn):
        dims = given.cells[0].dims
    elif isinstance(value, Op) and value.dims is not None:
        dims = tuple(Known(d.value) if isinstance(d, Const) and d.value is not None else None for d in value.dims)
    return m.emit(held, list(given.cells), None, _type(value) if len(ends) == 1 else function.type, effect, dims)


def _rely(m: Machine, kernel: Any) -> None:
    """Guard the trace on the rules that the user has given to a kernel."""
    if isinstance(kernel, Custom | Kept):
        m.environment.guard("slot", kernel, "said", kernel.said)


def _of_tuples(found: list[Operand]) -> AbstractValue | None:
    """Return the join of the types of the results `found` if all are tuples of one length, else None."""
    tuples = [value.args for value in found if isinstance(value, Op) and value.callee is make_tuple]
    if len(tuples) != len(found) or len(set(map(len, tuples))) != 1:
        return None
    return Partial(tuple, range(len(tuples[0])), [functools.reduce(join, map(_type, parts)) for parts in zip(*tuples, strict=True)])


def _known_of(m: Machine, value: Any) -> Operand:
    """Return a constant, or for an unknown value a parameter of its type and dimensions."""
    value = m.resolve(value)
    if not isinstance(value, Dyn):
        return m.operand(value)
    dims = None if value.dims is None else tuple(Const(d.value) if isinstance(d, Known) else Const(None) for d in value.dims)
    return Param(m.type_of(value), dims)


def _type(value: Operand) -> AbstractValue:
    return STANDARD.of_value(value.value) if isinstance(value, Const) else value.type  # type: ignore[union-attr]


STANDARD.actions[whole] = _whole


def _laid_out(m: Machine, args: list[Any], named: dict[str, Any]) -> Any:
    custom, leaves = m.resolve(args[0]), m.obj(args[2], "tuple")
    found = _layout(m, custom, args[1], leaves)
    parts: list[Any] = [Known(None)] * 3 if found is None else list(map(Known, found))
    return finish(m, m.new(VObj("tuple", tuple, tuple(parts))), "value")


STANDARD.actions[laid_out] = _laid_out


def _layout(m: Machine, custom: Any, told: Any, leaves: Any) -> tuple[Laid, Any, Any] | None:
    if not isinstance(custom, Known) or leaves is None:
        return None
    try:
        tree = _constant(m, told)
    except ValueError:
        return None
    held: Any = custom.value
    _rely(m, held)
    operands = [_known_of(m, value) for value in leaves.cells]
    if all(child is pytree.LEAF for child in tree.children) and _gives_leaves(rule_tracing.traced(held.fn, operands, {})[0]):
        return None
    return plan_of(held, tree, operands)


def _gives_leaves(function: Function) -> bool:
    """Does the Function return a number or an array, or a tuple of these?"""
    ends = [block.terminator.value for block in function.blocks if isinstance(block.terminator, Return)]
    parts = [part for end in ends for part in (end.args if isinstance(end, Op) and end.callee is make_tuple else (end,))]
    return not any(isinstance(part, Op) and part.callee in _MAKERS for part in parts)


_MAKERS: Final = frozenset({make_tuple, make_list, make_dict, make_object, tuple.__new__})


def _constant(m: Machine, value: Any) -> Any:
    """Return the constant that `value` is, where tuples of constants are constants; ValueError if it holds anything else."""
    value = m.resolve(value)
    if isinstance(value, Known):
        return value.value
    held = m.obj(value, "tuple")
    if held is None:
        raise ValueError
    return tuple.__new__(held.cls, [_constant(m, cell) for cell in held.cells])


def expanded(function: Function) -> None:
    """Replace the calls of kernels in `function`, and in the Functions that it calls, by the bodies of the kernels: nothing is differentiated
    any more.
    """
    for one in callees(function):
        for block in list(one.blocks):
            end = block.terminator
            if isinstance(end, Invoke) and _dissolves(end.op):
                body, values = rule_tracing.traced(end.op.callee.fn, list(end.op.args), {})  # type: ignore[attr-defined]
                end.op.callee, end.op.args = copy(body), tuple(values)
            if any(_dissolves(op) for op in block.ops):
                _expand(one, block)


def _dissolves(op: Op) -> bool:
    """Is the op a call of a kernel that is replaced by its body once nothing is differentiated any more?"""
    return isinstance(op.callee, Kernel) and not isinstance(op.callee, Kept)


def _of_type(body: Function, kind: AbstractValue) -> Function:
    """Return a copy of `body`, whose results are tuples, that returns tuples of the type `kind`; `body` itself if not all results are tuples."""
    made = copy(body)
    ends = [block.terminator.value for block in made.blocks if isinstance(block.terminator, Return)]
    tuples = [end for end in ends if isinstance(end, Op) and end.callee is make_tuple]
    if not isinstance(kind, Partial) or len(tuples) < len(ends):
        return body
    made.type = kind
    for end in tuples:
        end.type = kind
    return made


def _expand(function: Function, block: Block) -> None:
    old, end = block.ops, block.terminator
    block.ops = []
    writer = rule_tracing.Writer(function, block)
    results: dict[Value, Operand] = {}
    for op in old:
        if _dissolves(op):
            writer.location = op.location
            args = [results.get(arg, arg) if isinstance(arg, Op) else arg for arg in op.args]
            body, values = rule_tracing.traced(op.callee.fn, args, {})  # type: ignore[attr-defined]
            results[op] = writer.inline(_of_type(body, op.type), values)
        else:
            writer.block.ops.append(op)
    writer.block.terminator = end
    substitute(function, results)
