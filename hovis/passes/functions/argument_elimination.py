"""Elimination of dead, constant and duplicate parameters of residual functions.

It needs all calls of a function at once, and therefore runs once for the outermost function.
"""

from hovis.ir.analysis.control_flow import terminator_operands
from hovis.ir.matching import same
from hovis.ir.model import Function, Op, Operand, Param, Value, callees
from hovis.lattice import Const
from hovis.passes.functions.inlining import lasts
from hovis.passes.rewriting import Pass, substitute


def _argument_elimination(function: Function) -> bool:
    """Eliminate dead, constant and duplicate parameters of residual functions.

    A parameter is removed if all calls pass the same constant for it, or the same argument as for another parameter, or if it is not used.
    """
    calls: dict[Function, list[tuple[Function, Op]]] = {}
    for caller in callees(function):
        for op in caller.ops():
            if isinstance(op.callee, Function):
                calls.setdefault(op.callee, []).append((caller, op))
    changed = False
    for callee, sites in calls.items():
        if callee is not function and not any(op.kwargs for _, op in sites):
            changed |= _fewer(callee, sites)
    return changed


argument_elimination = Pass(_argument_elimination, whole=True)


def _fewer(callee: Function, sites: list[tuple[Function, Op]]) -> bool:
    block = callee.blocks[0]
    params = block.params
    new: dict[Value, Operand] = {}
    for k, param in enumerate(params):
        instead: Operand | None = _always(callee, sites, k)
        if instead is None:
            instead = next((other for at, other in enumerate(params[:k]) if other not in new and _equal(callee, sites, at, k)), None)
        if instead is not None:
            new[param] = instead
    substitute(callee, new)
    used = _used(callee, sites)
    # an unused object whose finalization is observable stays a parameter: the function keeps it alive
    gone = {param for k, param in enumerate(params) if param in new or (k not in used and lasts(param.type))}
    if not gone:
        return False
    block.params = tuple(param for param in params if param not in gone)
    for _, op in sites:
        op.args = tuple(arg for arg, param in zip(op.args, params, strict=True) if param not in gone)
    return True


def _always(callee: Function, sites: list[tuple[Function, Op]], at: int) -> Const | None:
    """Return the constant that all calls pass at position ``at``, or None. Recursive calls that pass the parameter on unchanged do not count."""
    found: Const | None = None
    for caller, op in sites:
        arg = op.args[at]
        if caller is callee and arg is callee.blocks[0].params[at]:
            continue
        if not isinstance(arg, Const) or (found is not None and not same(found, arg)):
            return None
        found = arg
    return found


def _equal(callee: Function, sites: list[tuple[Function, Op]], one: int, other: int) -> bool:
    """Do all calls pass the same argument for the parameters at two positions?"""
    params = callee.blocks[0].params
    a, b = params[one], params[other]
    if a.type != b.type or a.dims != b.dims:
        return False
    for caller, op in sites:
        x, y = op.args[one], op.args[other]
        if not same(x, y) and not (caller is callee and x in (a, b) and y in (a, b)):
            return False
    return True


def _used(callee: Function, sites: list[tuple[Function, Op]]) -> set[int]:
    """Collect the positions of the parameters that are used for more than being passed on unchanged in a recursive call."""
    own = {id(op) for caller, op in sites if caller is callee}
    found: set[Operand] = set()
    for block in callee.blocks:
        for op in block.all_ops():
            if id(op) not in own:
                found.update(v for v in (*op.operands(), *(op.dims or ())) if isinstance(v, Param))
            else:
                found.update(v for v, param in zip(op.args, callee.blocks[0].params, strict=True) if isinstance(v, Param) and v is not param)
        found.update(v for v in terminator_operands(block.terminator) if isinstance(v, Param))
        for param in block.params:
            found.update(v for v in param.dims or () if isinstance(v, Param))
    return {k for k, param in enumerate(callee.blocks[0].params) if param in found}
