"""Global value numbering, scoped by dominance: equal computations are done once.

Two ops without side effects that have the same callee and operands have equal results.  They are merged where the identity of the
result is not observed: numbers, strings, tuples.  Two lists with equal contents are still two lists.
"""

import operator as o
from collections.abc import Hashable
from typing import Any, Final

from hovis.ir.analysis.control_flow import Dominators
from hovis.ir.model import Effect, Function, Op, Operand, Value, edges
from hovis.lattice import Array, Type
from hovis.passes.rewriting import Pass, replace_operands, replaced, resolve, substitute
from hovis.passes.scalar.instcombine import is_exact

#: Classes whose instances nobody distinguishes by identity.
_VALUES: Final = frozenset({int, bool, float, complex, str, bytes, tuple, type(None)})

#: The effects of ops that give the same result each time; one that has not raised the first time does not raise the second time.
_REPEATS: Final = (Effect.PURE, Effect.RAISES, Effect.RAISES | Effect.INTERRUPTED)

#: Operators that are commutative on exact ints and bools.
_COMMUTES: Final = frozenset({o.add, o.mul, o.and_, o.or_, o.xor, o.eq, o.ne})


def _gvn(function: Function) -> bool:
    """Remove redundant pure ops (global value numbering).

    An op is removed if an equal op dominates it.
    """
    new: dict[Value, Operand] = {}
    dom = Dominators(function)
    table: dict[Hashable, Op] = {}
    rank: dict[Operand, int] = {}
    scopes: list[list[Hashable]] = []
    for block, entered in dom.tree():
        if not entered:
            for key in scopes.pop():
                del table[key]
            continue
        scopes.append([])
        kept = []
        for op in block.ops:
            replace_operands(op, new)
            key = key_of(op, op.args, rank)
            if key is not None and key in table:
                new[op] = table[key]
                continue
            if key is not None:
                table[key] = op
                scopes[-1].append(key)
            kept.append(op)
        block.ops = kept
        for edge in edges(block.terminator):
            edge.args = replaced(edge.args, new)
    for value in list(new):
        resolve(value, new)
    substitute(function, new)
    return bool(new)


gvn = Pass(_gvn)


def key_of(op: Op, args: tuple[Operand, ...], rank: dict[Operand, int]) -> Hashable:
    """Build a key that is equal for ops with equal results, given their arguments; None for an op that equals only itself."""
    if op.effect not in _REPEATS or not isinstance(op.type, Type) or isinstance(op.type, Array) or op.type.cls not in _VALUES:
        return None
    if isinstance(op.callee, Function):
        return None
    if len(args) == 2 and _commutes(op.callee) and all(is_exact(arg, int, bool) for arg in args):
        args = tuple(sorted(args, key=lambda arg: rank.setdefault(arg, len(rank))))
    return id(op.callee), args, op.kwargs, op.type


def _commutes(callee: Any) -> bool:
    try:
        return callee in _COMMUTES
    except TypeError:
        return False
