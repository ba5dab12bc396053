"""Strength reduction: replace operators by others with the same result that cost CPython less.

On an exact Int ``x ** 2`` is ``x * x`` and ``x % 8`` is ``x & 7``, whatever the sign: Python's remainder has the sign
of the divisor, and a negative int has infinitely many leading ones (two's complement).  Neither holds for a float: ``x ** 2``
raises OverflowError there and ``x * x`` does not.  Shifts instead of ``//`` and ``*`` would cost CPython more than they save.
"""

import operator as o
from dataclasses import replace

from hovis.ir.model import Effect, Function, Op
from hovis.lattice import Const
from hovis.passes.rewriting import Pass
from hovis.passes.scalar.instcombine import is_exact


def _strength_reduction(function: Function) -> bool:
    """Replace operators by cheaper ones (strength reduction).

    Squares and cubes become products, remainders modulo powers of two become masks.
    """
    changed = False
    for block in function.blocks:
        made: list[Op] = []
        for op in block.ops:
            needed = _reduced(op)
            changed |= needed is not None
            made += [*(needed or ()), op]
        block.ops = made
    return changed


strength_reduction = Pass(_strength_reduction)


def _reduced(op: Op) -> list[Op] | None:
    """Change op into a cheaper one, if there is one, and return the ops that it needs before it; None if op stays."""
    if op.effect != Effect.PURE or len(op.args) != 2 or not is_exact(op.args[0], int):
        return None
    x, known = op.args
    n = known.value if isinstance(known, Const) and type(known.value) is int else 0
    if op.callee is o.mod and n > 0 and not n & (n - 1):
        op.callee, op.args = o.and_, (x, Const(n - 1))
        return []
    if op.callee is o.pow and n in (2, 3):
        squares = [replace(op, callee=o.mul, args=(x, x), name=None)] if n == 3 else []
        op.callee, op.args = o.mul, (squares[0] if squares else x, x)
        return squares
    return None
