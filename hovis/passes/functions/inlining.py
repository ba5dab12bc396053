"""Inlining of residual functions that have a single call site.

Their frames stay in tracebacks: the locations of the inlined ops record the call that they come from.
"""

from typing import Final

from hovis.ir.model import Block, Edge, Function, Invoke, Jump, Location, Op, Operand, Param, Return, Value, callees
from hovis.ir.operations import enter_handler
from hovis.lattice import AbstractValue, Const, Type, Union
from hovis.passes.rewriting import Pass, copy, substitute

#: Classes whose instances may live longer without an observable difference.
_LASTING: Final = frozenset({int, bool, float, complex, str, bytes, tuple, type(None)})


def _inlining(function: Function) -> bool:
    """Inline residual functions that are called from one place alone.

    The call is replaced by the body of the function.
    """
    calls: dict[Function, list[tuple[Function, Op]]] = {}
    functions = callees(function)
    for caller in functions:
        for op in caller.ops():
            if isinstance(op.callee, Function):
                calls.setdefault(op.callee, []).append((caller, op))
    host = {one: one for one in functions}
    changed = False
    for callee in functions[1:]:
        (caller, op), *others = calls[callee]
        if not others and not op.kwargs and _plain(callee):
            while host[caller] is not caller:
                caller = host[caller]
            block = next((block for block in caller.blocks if op in block.ops), None)
            if block is not None and caller is not callee:
                inline(caller, block, op, callee)
                host[callee] = caller
                changed = True
    return changed


inlining = Pass(_inlining, whole=True)


class Called(Function):
    """A Function that the engine does not follow: a call of it is one op of a trace, and is inlined at the end."""


def put_in(function: Function) -> None:
    """Inline every call of a `Called` in function and in its callees."""
    for one in callees(function):
        todo = list(one.blocks)
        while todo:
            block = todo.pop()
            op = next((op for op in block.ops if isinstance(op.callee, Called)), None)
            if op is not None:
                before = len(one.blocks)
                assert isinstance(op.callee, Called)
                inline(one, block, op, _with_params_of_its_own(copy(op.callee)))
                todo += one.blocks[before:]


def _with_params_of_its_own(function: Function) -> Function:
    """Give a copied function new Params: a copy shares those of the original, and inlined twice they would be defined twice."""
    entry = function.blocks[0]
    params = tuple(Param(param.type, param.dims, param.name) for param in entry.params)
    own: dict[Value, Operand] = dict(zip(entry.params, params, strict=True))
    entry.params = params
    substitute(function, own)
    return function


def _plain(function: Function) -> bool:
    """Whether function is no generator, handles no exceptions, and holds only values whose lifetime cannot be observed."""
    if function.is_generator:
        return False
    if any(isinstance(block.terminator, Invoke) for block in function.blocks) or any(op.callee is enter_handler for op in function.ops()):
        return False
    return all(lasts(param.type) for block in function.blocks for param in block.params) and all(lasts(op.type) for op in function.ops())


def lasts(kind: AbstractValue) -> bool:
    """Can a value of this type live shorter or longer without an observable difference?"""
    if isinstance(kind, Union):
        return all(map(lasts, kind.members))
    if isinstance(kind, Const):
        return type(kind.value) in _LASTING
    return isinstance(kind, Type) and kind.cls in _LASTING


def inline(caller: Function, block: Block, op: Op, callee: Function) -> None:
    """Replace op, a call in block, by the body of callee; the blocks of callee are moved, not copied."""
    at = next(k for k, other in enumerate(block.ops) if other is op)
    result = Param(op.type, op.dims, op.name)
    behind = Block((result,), block.ops[at + 1 :], block.terminator)
    block.ops = block.ops[:at]
    block.terminator = Jump(Edge(callee.blocks[0], op.args), op.location)
    for inner in callee.blocks:
        for one in inner.all_ops():
            one.location = _within(one.location, op.location)
        end = inner.terminator
        if isinstance(end, Return):
            inner.terminator = Jump(Edge(behind, (end.value,)), op.location)
        elif not isinstance(end, Invoke):
            end.location = _within(end.location, op.location)
    caller.blocks += [*callee.blocks, behind]
    substitute(caller, {op: result})


def _within(location: Location | None, call: Location | None) -> Location | None:
    """Return a location of the inlined code with the call appended to its callers."""
    if location is None:
        return call
    return location._replace(caller=call if location.caller is None else _within(location.caller, call))
