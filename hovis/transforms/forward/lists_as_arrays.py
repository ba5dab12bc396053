"""Convert lists of numbers that NumPy gets to arrays, for which there are rules: ``np.sum([x, y])`` is ``np.sum(np.array([x, y]))``."""

from hovis.ir import operations as ops
from hovis.ir.model import Block, Function, Invoke, Op, Operand, Param, callees
from hovis.library.numpy.adjoints import shadow_memory
from hovis.library.numpy.adjoints.cotangents import differentiable
from hovis.transforms import derivative_rules, rule_tracing

_LISTS = (ops.make_list, ops.make_tuple)


def with_arrays(function: Function) -> None:
    """Convert the lists in function and its callees, in place."""
    for one in callees(function):
        for block in list(one.blocks):
            if any(_level(op) and any(map(_is_of_numbers, op.args)) for op in block.all_ops()):
                _rewrite(one, block)


def _rewrite(function: Function, block: Block) -> None:
    old, end = block.ops, block.terminator
    block.ops = []
    writer = rule_tracing.Writer(function, block)
    for op in (*old, *([end.op] if isinstance(end, Invoke) else [])):
        level = _level(op)
        if level:
            writer.location = op.location
            op.args = tuple([_array(writer, arg, level) for arg in op.args])
        if op in old:
            block.ops.append(op)


def _level(op: Op) -> int:
    """Return 1 if the callee of op takes a list as an array, 2 if it takes it as a list of arrays, else 0."""
    row = derivative_rules.of(op)
    return 0 if row is None or row.constant or isinstance(op.callee, Function) else shadow_memory.takes_lists(op.callee)


def _array(writer: rule_tracing.Writer, operand: Operand, level: int) -> Operand:
    if not _is_of_numbers(operand):
        return operand
    assert isinstance(operand, Op)
    if level == 1:
        return writer.rule(shadow_memory.array, operand)
    parts = tuple([_array(writer, part, 1) for part in operand.args])
    return operand if parts == operand.args else writer.op(operand.callee, *parts, type=operand.type)


def _is_of_numbers(operand: Operand) -> bool:
    """Is operand a list or tuple made in this function that contains a differentiable value?"""
    if not isinstance(operand, Op) or operand.callee not in _LISTS:
        return False
    return any(_is_of_numbers(part) or (isinstance(part, Op | Param) and differentiable(part.type)) for part in operand.args)
