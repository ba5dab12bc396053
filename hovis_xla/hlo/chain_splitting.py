"""Split long chains of operations: XLA's kernel emitter recurses once for each operation of a chain, and may exhaust the stack of its thread.

A kernel of many thousands of lines also takes LLVM more than its share of time.
"""

from typing import Any, Final

from hovis_xla.hlo.module import Module
from hovis_xla.jaxlib.adapter import ir

#: Maximal length of a chain; in a loop it may be longer, because a split keeps the loop from being native code.
DEEPEST: Final = 300
DEEPEST_IN_LOOPS: Final = 1_500


def split_chains(module: Module) -> None:
    """Split long chains of elementwise operations.

    The value at which a chain is split becomes an array of its own, which the next kernel reads.
    """
    for block in _long_blocks(module):
        most = DEEPEST_IN_LOOPS if _is_in_loop(block) else DEEPEST
        depth: dict[Any, int] = {}
        for op in list(block.operations):
            below = 1 + max((depth.get(value, 0) for value in op.operands), default=0)
            if below >= most:
                for result in op.results:
                    if isinstance(result.type, ir.RankedTensorType):
                        _cut(module, op, result)
                below = 0
            depth.update((result, below) for result in op.results)


def _long_blocks(module: Module) -> list[Any]:
    found: list[Any] = []

    def look(op: Any) -> Any:
        found.extend(block for region in op.operation.regions for block in region.blocks if len(block.operations) >= DEEPEST)
        return ir.WalkResult.ADVANCE

    module.ir.operation.walk(look)
    return found


def _is_in_loop(block: Any) -> bool:
    op = block.owner.operation
    while op is not None and op.name not in ("stablehlo.while", "func.func"):
        op = op.parent
    return op is not None and bool(op.name == "stablehlo.while")


def _cut(module: Module, op: Any, value: Any) -> None:
    readers = [(use.owner, use.operand_number) for use in value.uses]
    with op.location, ir.InsertionPoint.after(op):
        (same,) = module.barrier(value)
    for reader, number in readers:
        reader.operands[number] = same
