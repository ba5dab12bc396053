"""Split long chains of operations: XLA's kernel emitter recurses once for each operation of a chain, and may exhaust the stack of its thread.

A kernel of many thousands of lines also takes LLVM more than its share of time.
"""

from typing import Any, Final

from hovis_xla.hlo.module import Module, is_tensor, operations, operations_in, outermost_loop

#: Maximal length of a chain; in a loop it may be longer, because a split keeps the loop from being native code.
DEEPEST: Final = 300
DEEPEST_IN_LOOPS: Final = 1_500


def split_chains(module: Module) -> None:
    """Split long chains of elementwise operations.

    The value at which a chain is split becomes an array of its own, which the next kernel reads.
    """
    blocks = [block for op in operations_in(module.ir) for region in op.regions for block in region.blocks if len(block.operations) >= DEEPEST]
    for block in blocks:
        most = DEEPEST if outermost_loop(block.owner.operation) is None else DEEPEST_IN_LOOPS
        depth: dict[Any, int] = {}
        for op in operations(block):
            below = 1 + max((depth.get(value, 0) for value in op.operands), default=0)
            if below >= most:
                with op.location:
                    for result in filter(is_tensor, op.results):
                        module.materialize(result)
                below = 0
            depth.update((result, below) for result in op.results)
