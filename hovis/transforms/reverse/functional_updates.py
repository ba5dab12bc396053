"""Replace stores into a fresh array that has no alias yet by functional updates, which return a new array.

    a = np.zeros_like(x)                    a = np.zeros_like(x)
    a[1:-1] = x[2:] + x[:-2]          →     b = updated(a, slice(1, -1), x[2:] + x[:-2])
    return np.sum(a)                        return np.sum(b)

An array that is never mutated needs no shadow and no log in the reverse sweep, and if each iteration of a loop creates one, it can be put on a tape.
"""

import operator as o
from typing import Final

from hovis.ir.model import Block, Effect, Function, Op
from hovis.lattice import Array
from hovis.library.numpy.adjoints.cotangents import FRESH, is_basic, updated
from hovis.passes.rewriting import replace_operands, substitute
from hovis.passes.scalar.instcombine import is_exact

#: If an array has more stores than this, they stay, because each functional update copies the array.
MOST: Final = 4


def with_updates(function: Function) -> None:
    """Replace the stores into fresh arrays in function by functional updates, in place."""
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
    """Return the stores into made, in its block, up to the first op that may make an alias of it."""
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
    """Replace each of the stores by a functional update, and later uses of made by the result of the latest update before them."""
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
