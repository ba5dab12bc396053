"""Stores into arrays of which nobody else knows yet, as arrays with another part.

    a = np.zeros_like(x)                    a = np.zeros_like(x)
    a[1:-1] = x[2:] + x[:-2]          →     b = updated(a, slice(1, -1), x[2:] + x[:-2])
    return np.sum(a)                        return np.sum(b)

What is a value needs no shadow and no log in the reverse sweep, and where it is made anew in each round of a loop it can be on a tape.
"""

import operator as o
from typing import Final

from hovis.ir.model import Block, Effect, Function, Op
from hovis.lattice import Array
from hovis.library.numpy.adjoints.cotangents import FRESH, is_basic, updated
from hovis.passes.rewriting import replace_operands, substitute
from hovis.passes.scalar.instcombine import is_exact

#: More stores than this into one array are left as they are: each would copy it.
MOST: Final = 4


def with_updates(function: Function) -> None:
    """Change the function in place."""
    for block in function.blocks:
        for made in [op for op in block.ops if _is_fresh(op)]:
            stores = _first_stores(block, made)
            if 0 < len(stores) <= MOST:
                _update(function, block, made, stores)


def _is_fresh(op: Op) -> bool:
    try:
        return op.callee in FRESH and isinstance(op.type, Array) and getattr(op.type.dtype, "kind", "") in ("f", "c")
    except TypeError:
        return False


def _first_stores(block: Block, made: Op) -> list[Op]:
    """The stores in made's block before which it has not been given to anything that might show it later."""
    found: list[Op] = []
    for op in block.ops[block.ops.index(made) + 1 :]:
        if made not in op.operands():
            continue
        if _stores_into(op, made):
            found.append(op)
        elif not is_exact(op, int, float, complex, bool) or op.effect & (Effect.WRITES | Effect.OPAQUE):
            break
    return found


def _stores_into(op: Op, made: Op) -> bool:
    return op.callee is o.setitem and op.args[0] is made and made not in op.args[1:] and is_basic(op.args[1])


def _update(function: Function, block: Block, made: Op, stores: list[Op]) -> None:
    """Behind each store it is another array; all that comes behind the last one means that."""
    now = made
    start = block.ops.index(made) + 1
    before: list[tuple[Op, Op]] = []
    for k, op in enumerate(block.ops[start:], start):
        if op in stores:
            now = block.ops[k] = Op(updated, (now, *op.args[1:]), type=made.type, dims=made.dims, effect=Effect.RAISES, location=op.location)
        elif made in op.operands() and now is not made:
            before.append((op, now))
        if op is stores[-1]:
            break
    first = [op for op in block.ops[start : block.ops.index(now) + 1] if made in op.operands()]
    substitute(function, {made: now})
    for op in first:
        replace_operands(op, {now: made})
    for op, then in before:
        replace_operands(op, {made: then})


__all__ = ["with_updates"]
