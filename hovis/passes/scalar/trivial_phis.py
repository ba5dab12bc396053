"""Remove block parameters that always have one and the same value (trivial phis).

A parameter that gets only the value ``v`` over all edges, or ``v`` and itself, *is* ``v``; the same holds for all parameters of a group
that get only ``v`` and each other (Braun et al.: Simple and Efficient Construction of Static Single Assignment Form, 3.2).
"""

from collections.abc import Hashable, Iterator

from hovis.ir.analysis.strongly_connected import components
from hovis.ir.model import Caught, Function, Operand, Param, Value
from hovis.passes.rewriting import Pass, incoming_args, keep_params, resolve, substitute


def _trivial_phis(function: Function) -> bool:
    """Remove trivial block parameters (trivial phis).

    These are parameters that get the same value on all edges, and those that get the same arguments as another parameter of their block.
    """
    args = dict(incoming_args(function))
    new: dict[Value, Operand] = {}
    todo = [list(args)]
    while todo:
        for group in _groups(todo.pop(), args):
            members = set(group)
            sources = [[resolve(arg, new) for arg in args[param]] for param in group]
            outside = {arg for found in sources for arg in found if arg not in members}
            if len(outside) == 1:
                only = outside.pop()
                if not isinstance(only, Caught):
                    new.update(dict.fromkeys(group, only))
            elif len(group) > 1:
                inner = [param for param, found in zip(group, sources, strict=True) if all(arg in members for arg in found)]
                if inner:
                    todo.append(inner)
    _twins(function, args, new)
    if not new:
        return False
    keep_params(function, new.__contains__)
    substitute(function, new)
    return True


trivial_phis = Pass(_trivial_phis, ways=True)


def _twins(function: Function, args: dict[Param, list[Operand]], new: dict[Value, Operand]) -> None:
    """Merge two parameters of a block that get the same arguments over every edge."""
    for block in function.blocks[1:]:
        seen: dict[Hashable, Param] = {}
        for param in block.params:
            if param not in new:
                got = tuple(resolve(arg, new) for arg in args[param])
                twin = seen.setdefault((param.type, got), param)
                if twin is not param:
                    new[param] = twin


def _groups(params: list[Param], args: dict[Param, list[Operand]]) -> Iterator[list[Param]]:
    """Find the strongly connected groups of params that are passed to each other, those that are passed to others first."""
    return components(params, lambda param: [arg for arg in args[param] if isinstance(arg, Param)])
