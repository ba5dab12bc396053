"""Global value numbering by congruence: merge block parameters that hold equal values in every iteration.

    i = k = 0                       i = 0
    while i < n and k < n:     →    while i < n:
        i, k = i + 1, k + 1             i = i + 1

``gvn`` and ``trivial_phis`` are pessimistic: they merge values only if their operands are known to be equal already; but two values that
are carried around a loop are equal only if they were equal in the iteration before.  Therefore this pass is optimistic: all parameters
of a block are assumed to be equal until a difference is found, in their initial values or in the computation of their next values
(Alpern, Wegman, Zadeck: Detecting equality of variables in programs; in reverse postorder, as in Simpson's algorithm).
"""

from collections.abc import Hashable
from typing import Final

from hovis.ir.analysis.control_flow import Incoming, predecessors, reverse_postorder
from hovis.ir.model import Block, Function, Op, Operand, Param, Value
from hovis.passes.rewriting import Pass, keep_params, substitute
from hovis.passes.scalar.gvn import key_of

#: The maximum number of iterations of the analysis; a function (say, a chain of loops) that needs more is left unchanged.
ROUNDS: Final = 20

#: Each value -> the representative of its congruence class: itself, or the first value that it is congruent to.
Numbers = dict[Value, Value]


def _loop_gvn(function: Function) -> bool:
    """Merge block parameters that are congruent around a loop.

    Of block parameters with equal initial values and equal updates only one stays.
    """
    new: dict[Value, Operand] = dict(congruent(function))
    keep_params(function, new.__contains__)
    substitute(function, new)
    return bool(new)


def congruent(function: Function) -> Numbers:
    """Map each parameter that is congruent to another one of its block to that one."""
    incoming = predecessors(function)
    if not any(_may_be_one(block, incoming) for block in function.blocks[1:]):
        return {}
    found = _numbers(function, incoming)
    return {p: found[p] for block in function.blocks[1:] for p in block.params if found.get(p, p) is not p}


loop_gvn = Pass(_loop_gvn, ways=True)


def _may_be_one(block: Block, incoming: Incoming) -> bool:
    """Are there two parameters of block that may get equal arguments over each edge?"""
    if len(block.params) < 2 or len(incoming[block]) < 2:
        return False
    looks = [(p.type, *(_look(edge.args[k]) for _, edge in incoming[block])) for k, p in enumerate(block.params)]
    return len(set(looks)) < len(looks)


def _look(arg: Operand) -> Hashable:
    """Build a key that is equal for any two arguments that may be equal values."""
    return id(arg.callee) if isinstance(arg, Op) else Param if isinstance(arg, Param) else arg


def _numbers(function: Function, incoming: Incoming) -> Numbers:
    """Map each value to the first one that it is congruent to. Empty if that is not found in ROUNDS iterations."""
    order = reverse_postorder(function.blocks[0])
    rank: dict[Operand, int] = {}
    found: Numbers = {}
    for _ in range(ROUNDS):
        before, found = found, _round(order, incoming, found, rank)
        if found == before:
            return found
    return {}


def _round(order: list[Block], incoming: Incoming, before: Numbers, rank: dict[Operand, int]) -> Numbers:
    """Number the values again, given the numbers of the iteration before; values without a number yet are assumed to be equal."""
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
