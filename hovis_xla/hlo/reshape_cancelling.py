"""Cancel a reshape and the reshape back: the elementwise operations between them are done in the array's own shape.

If ``z`` is a matrix, ``z[inside] = f(z[inside])`` works on the elements that a mask selects, an array of one dimension.  XLA does not see through
the reshapes that each element is computed from itself, and copies the array in every iteration of a loop before it computes the new one.
"""

from typing import Any, Final

from hovis_xla.emit import builder
from hovis_xla.emit.builder import shape_of, tensor_of
from hovis_xla.emit.inplace_stores import CELLWISE
from hovis_xla.hlo.module import Module, body_of, element_of, operations, size_of
from hovis_xla.jaxlib.adapter import attributes_of, ir

#: Arrays of fewer elements (``LEAST``), and values that are computed by more operations (``MOST``), are left as they are.
LEAST: Final = 32
MOST: Final = 400

_RESHAPE: Final = "stablehlo.reshape"
_BROADCAST: Final = "stablehlo.broadcast_in_dim"
_ELEMENTWISE: Final = CELLWISE | {"stablehlo.bitcast_convert"}

Shape = tuple[int, ...]


def cancel_reshapes(module: Module) -> None:
    """Remove reshapes in the loops of a module, where all values that are reshaped have been reshaped before."""
    for loop in module.loops:
        block = body_of(loop)
        module.erase_unused(block)
        made: dict[tuple[Any, Shape], Any] = {}
        for op in [op for op in operations(block) if op.name == _RESHAPE]:
            shape = shape_of(op.results[0])
            chain = _chain(op, shape) if size_of(op.results[0]) >= LEAST else None
            if chain is not None:
                _replace(op, chain, shape, made)
        module.erase_unused(block)


def _chain(op: Any, shape: Shape) -> list[Any] | None:
    """Return the elementwise operations between a reshape and those at their beginning, the last first; None if there are other operations
    between them, or their results have other users.
    """
    todo, chain = [op.operands[0]], dict[Any, None]()
    while todo:
        value = todo.pop()
        if not shape_of(value):
            continue
        if isinstance(value.owner, ir.Block):
            return None
        made = value.owner.operation
        if made in chain or _begins(made, shape):
            continue
        if made.name not in _ELEMENTWISE or made.block != op.block or len(chain) >= MOST:
            return None
        chain[made] = None
        todo += made.operands
    users = {use.owner.operation for made in chain for use in made.results[0].uses}
    if not all(user in chain or (user.name == _RESHAPE and shape_of(user.results[0]) == shape) for user in users):
        return None
    return [made for made in reversed(operations(op.block)) if made in chain]


def _begins(op: Any, shape: Shape) -> bool:
    """Is op a reshape of a value of this shape, or a broadcast of one number?"""
    return (op.name == _RESHAPE and shape_of(op.operands[0]) == shape) or (op.name == _BROADCAST and not shape_of(op.operands[0]))


def _replace(op: Any, chain: list[Any], shape: Shape, made: dict[tuple[Any, Shape], Any]) -> None:
    """Do the operations of chain again in this shape, and replace op; ``made``: those that have been done already."""

    def shaped(value: Any) -> Any:
        if (value, shape) not in made and shape_of(value):
            made[value, shape] = builder.broadcast(tensor_of(value.owner.operation.operands[0]), shape).ir
        return made.get((value, shape), value)

    for old in reversed(chain):
        result = old.results[0]
        if (result, shape) not in made:
            with old.location, ir.InsertionPoint(op):
                kind = ir.RankedTensorType.get(shape, element_of(result))
                made[result, shape] = ir.Operation.create(old.name, [kind], [shaped(x) for x in old.operands], attributes_of(old)).results[0]
    with op.location, ir.InsertionPoint(op):
        op.results[0].replace_all_uses_with(shaped(op.operands[0]))
