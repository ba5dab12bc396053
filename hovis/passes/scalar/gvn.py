"""Computing once what is computed twice (global value numbering, scoped by dominance).

Two ops that only compute with the same callee and operands have the same result.  They are one where the result's identity is
not observed: numbers, strings, tuples; two lists that look alike are two lists.
"""

import operator as o
from collections.abc import Hashable
from typing import Any, Final

from hovis.ir.analysis.control_flow import Dominators
from hovis.ir.model import Effect, Function, Op, Operand, Value, edges
from hovis.lattice import Array, Type
from hovis.passes.rewriting import Pass, replace_operands, replaced, resolve, substitute
from hovis.passes.scalar.instcombine import is_exact

#: Classes whose instances are told apart by nobody.
_VALUES: Final = frozenset({int, bool, float, complex, str, bytes, tuple, type(None)})

#: The effects of what is the same each time; what has not raised the first time does not raise the second time.
_REPEATS: Final = (Effect.PURE, Effect.RAISES, Effect.RAISES | Effect.INTERRUPTED)

#: On exact numbers the order of the operands does not matter.
_COMMUTES: Final = frozenset({o.add, o.mul, o.and_, o.or_, o.xor, o.eq, o.ne})


def _gvn(function: Function) -> bool:
    """Remove redundant pure ops (global value numbering).

    A pure op that was done before, on every way to here, is not done again.
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
    """Equal for ops that are one, given what their arguments are; None for those that stand for themselves."""
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
