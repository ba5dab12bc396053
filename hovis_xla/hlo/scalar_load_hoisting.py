"""Hoist loads of scalars: a number that is the same for all elements of an array is read before the array is computed.

XLA makes ``x + values[k]`` one kernel, which reads ``values[k]`` again for each element: LLVM cannot know that it is always the same, does not
hoist the read out of the kernel's loop, and does not vectorize the loop.  In native loops this pass makes the read of the number separate.
"""

from typing import Any, Final

from hovis_xla.emit.inplace_stores import KEPT
from hovis_xla.hlo.module import Module, body_of, operations, size_of

#: Computations of arrays of fewer elements are left as they are; a search for uses of a number ends after ``FAR`` values.
LEAST: Final = 32
FAR: Final = 100

_READ: Final = "stablehlo.dynamic_slice"
_STORE: Final = "stablehlo.dynamic_update_slice"


def hoist_scalar_loads(module: Module) -> None:
    """Hoist loads of scalars, in the loops of a module, out of the elementwise code that uses them."""
    for loop in module.loops:
        block = body_of(loop)
        for op in operations(block):
            if op.name == _READ and size_of(op.results[0]) == 1 and _is_spread(op.results[0], block):
                module.materialize(op.results[0])


def _is_spread(number: Any, block: Any) -> bool:
    """Is an array computed with this number, the same for each element?"""
    todo, seen = [number], {number}
    while todo and len(seen) < FAR:
        for use in todo.pop().uses:
            op = use.owner.operation
            if op.block != block or op.name in KEPT or op.name == _STORE or len(op.regions) or not len(op.results):
                continue
            if size_of(op.results[0]) >= LEAST:
                return True
            todo += [result for result in op.results if result not in seen]
            seen.update(op.results)
    return False
