"""Block parameters that hold the same in every round (global value numbering by congruence).

    i = k = 0                       i = 0
    while i < n and k < n:     →    while i < n:
        i, k = i + 1, k + 1             i = i + 1

What ``gvn`` and ``trivial_phis`` find is the same on all that is known when they come to it; but what goes round in a loop is the
same only if it is the same a round before.  So all parameters of a block are taken for one until a difference is found: in what
comes first, or in how the next is made of the last (Alpern, Wegman, Zadeck: Detecting equality of variables in programs; in
reverse postorder, as Simpson does it).
"""

from collections.abc import Hashable
from typing import Final

from hovis.ir.analysis.control_flow import Incoming, predecessors, reverse_postorder
from hovis.ir.model import Block, Function, Op, Operand, Param, Value
from hovis.passes.rewriting import Pass, keep_params, substitute
from hovis.passes.scalar.gvn import key_of

#: Differences are looked for so often; a chain of loops that takes longer is left as it is.
ROUNDS: Final = 20

#: Each value, or the one that it is the same as.
Numbers = dict[Value, Value]


def _loop_gvn(function: Function) -> bool:
    """Merge block parameters that are congruent around a loop.

    Of parameters of a block that begin alike and go on alike one is enough.
    """
    new: dict[Value, Operand] = dict(congruent(function))
    keep_params(function, new.__contains__)
    substitute(function, new)
    return bool(new)


def congruent(function: Function) -> Numbers:
    """The parameters that are the same as another one of their block, with that one."""
    incoming = predecessors(function)
    if not any(_may_be_one(block, incoming) for block in function.blocks[1:]):
        return {}
    found = _numbers(function, incoming)
    return {p: found[p] for block in function.blocks[1:] for p in block.params if found.get(p, p) is not p}


loop_gvn = Pass(_loop_gvn, ways=True)


def _may_be_one(block: Block, incoming: Incoming) -> bool:
    """Are there two parameters that get what may be the same over each edge?"""
    if len(block.params) < 2 or len(incoming[block]) < 2:
        return False
    looks = [(p.type, *(_look(edge.args[k]) for _, edge in incoming[block])) for k, p in enumerate(block.params)]
    return len(set(looks)) < len(looks)


def _look(arg: Operand) -> Hashable:
    """What two values have in common that may be the same."""
    return id(arg.callee) if isinstance(arg, Op) else Param if isinstance(arg, Param) else arg


def _numbers(function: Function, incoming: Incoming) -> Numbers:
    """What each value is the same as: of those that are, the one that comes first."""
    order = reverse_postorder(function.blocks[0])
    rank: dict[Operand, int] = {}
    found: Numbers = {}
    for _ in range(ROUNDS):
        before, found = found, _round(order, incoming, found, rank)
        if found == before:
            return found
    return {}


def _round(order: list[Block], incoming: Incoming, before: Numbers, rank: dict[Operand, int]) -> Numbers:
    """The same, by what was the same a round before; what has not been looked at is taken for one."""
    table: dict[Hashable, Value] = {}
    found = dict(before)

    def number(operand: Operand) -> Operand | None:
        return found.get(operand) if isinstance(operand, Param | Op) else operand

    for block in order:
        for k, param in enumerate(block.params):
            brought = tuple(number(edge.args[k]) for _, edge in incoming[block])
            found[param] = table.setdefault((block, param.type, brought), param) if block is not order[0] else param
        for op in block.all_ops():
            args = tuple(map(number, op.args))
            key = None if None in args else key_of(op, args, rank)  # type: ignore[arg-type]
            found[op] = op if key is None else table.setdefault(key, op)
    return found
