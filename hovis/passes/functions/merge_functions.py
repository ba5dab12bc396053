"""Residual functions that are the same but for their names are one.

The same ops on the same constants, from the same lines of the user's source: nobody could tell which was called.
"""

from collections.abc import Hashable

from hovis.ir.matching import Key
from hovis.ir.model import Function, callees
from hovis.passes.rewriting import Pass


def _merge_functions(function: Function) -> bool:
    """Merge residual functions that are equal.

    Calls of functions that are the same become calls of one of them.
    """
    found = callees(function)
    if len(found) < 3:
        return False
    changed = False
    while True:
        first: dict[Hashable, Function] = {}
        instead: dict[int, Function] = {}
        for one in callees(function)[1:]:
            kept = first.setdefault(_key(one), one)
            if kept is not one:
                instead[id(one)] = kept
        if not instead:
            return changed
        changed = True
        for one in callees(function):
            for op in one.ops():
                if isinstance(op.callee, Function) and id(op.callee) in instead:
                    op.callee = instead[id(op.callee)]


merge_functions = Pass(_merge_functions, whole=True)


def _key(function: Function) -> Hashable:
    """What a function is, but for the names of its blocks and values."""
    numbers = {block: k for k, block in enumerate(function.blocks)}
    key = Key(function.blocks, lambda at: at.location, numbers, function)
    names = tuple([(param.name, param.dims and key.operands(param.dims)) for block in function.blocks for param in block.params])
    dims = tuple([op.dims and key.operands(op.dims) for op in function.ops()])
    return function.name, function.is_generator, function.type, names, dims, tuple(map(key.block, function.blocks))
