"""Exceptions that are caught where they are raised: compiled code follows their error edges like other edges.

For some calls compiled code can determine when they raise, and an exception of which class.  If there is a handler in the same function,
the call is followed by a branch; of the exception, only the class is known.  If a handler does anything else that cannot be
lowered, the program gives up there, and Python does the call.
"""

import builtins
import math
import operator
from dataclasses import replace
from typing import Final

from hovis.ir.model import Block, Edge, Function, Invoke
from hovis.library.numpy.rules.aliasing import is_in
from hovis_xla.analysis.loop_forest import Catching, redirected

_MATH: Final = [fn for name, fn in vars(math).items() if callable(fn)]

#: Callees for which it is known when they raise, and what.
CATCHABLE: Final = frozenset({
    operator.truediv, operator.floordiv, operator.mod, operator.pow, builtins.divmod, builtins.pow, operator.getitem, int, *_MATH,
})  # fmt: skip


def convert_exception_edges(function: Function) -> Function:
    """Turn exception edges that compiled code can decide into branches.

    Return a function in which compiled code follows the error edges of such calls; the function itself, if there are none.
    """
    if not any(isinstance(b.terminator, Invoke) and is_in(b.terminator.op.callee, CATCHABLE) for b in function.blocks):
        return function
    blocks = {block: Block(block.params) for block in function.blocks}
    for old, new in blocks.items():
        new.ops = list(old.ops)
        new.terminator = end = redirected(old.terminator, lambda edge: Edge(blocks[edge.block], edge.args))
        if isinstance(end, Invoke) and is_in(end.op.callee, CATCHABLE):
            new.terminator = Catching(end.op, end.ok, end.error)
    return replace(function, blocks=list(blocks.values()))
