"""Is a call of compiled code worth what it costs?

An estimate of what Python would take, in microseconds: so much for an op on numbers, so much for one on arrays and for
their bytes, and all that in a loop as often as it goes round, if that is known, else often.
"""

from collections.abc import Sequence
from typing import Any, Final

from hovis.ir.model import Function, Op
from hovis.lattice import Array
from hovis_xla.regions import Region, regions
from hovis_xla.types import ARRAY, Num

#: What a call of an executable costs.
CALL: Final = 12.0
#: What one op takes Python: on numbers, on arrays, and for each element.
NUMBER: Final = 0.04
ARRAY_OP: Final = 0.7
ELEMENT: Final = 0.0008
#: How often a loop goes round of which nothing is known.
ROUNDS: Final = 200


def worth_a_call(function: Function, types: Sequence[Any]) -> bool:
    """Would Python take longer for it?"""
    sizes = [n.dtype.itemsize and int(np_prod(n.shape)) for n in types if isinstance(n, Num) and n.kind == ARRAY]
    return estimate(function, max(sizes, default=1)) > CALL


def np_prod(shape: tuple[int, ...]) -> int:
    found = 1
    for n in shape:
        found *= n
    return found


def estimate(function: Function, size: int, depth: int = 0) -> float:
    """Microseconds in Python, if the arrays have this many elements."""
    top = regions(function)
    return _of_region(top, size, depth)


def _of_region(region: Region, size: int, depth: int) -> float:
    found = 0.0
    seen: set[int] = set()
    for block in region.blocks:
        loop = region.loops.get(block)
        if loop is None:
            found += sum(_of_op(op, size, depth) for op in block.all_ops())
        elif id(loop) not in seen:
            seen.add(id(loop))
            found += ROUNDS * _of_region(loop, size, depth)
    return found


def _of_op(op: Op, size: int, depth: int) -> float:
    if isinstance(op.callee, Function):
        return 0.1 + (estimate(op.callee, size, depth + 1) if depth < 4 else 1.0)
    if isinstance(op.type, Array) or any(isinstance(getattr(a, "type", None), Array) for a in op.args):
        whole = isinstance(op.type, Array)
        return ARRAY_OP + ELEMENT * size * whole
    return NUMBER
