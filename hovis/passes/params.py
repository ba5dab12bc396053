"""Dropping block parameters that are always the same value.

A parameter that gets one value ``v`` over all edges, or ``v`` and itself, *is* ``v``; so is every one of a group that
get only ``v`` and each other (Braun et al.: Simple and Efficient Construction of Static Single Assignment Form, 3.2).
"""

from collections.abc import Hashable, Iterator

from hovis.ir.model import Caught, Function, Operand, Param, Value
from hovis.passes.rewriting import Pass, incoming_args, keep_params, resolve, substitute


def _trivial_params(function: Function) -> bool:
    """Parameters that are equal on all edges, and those that are equal to another one of their block."""
    args = dict(incoming_args(function))
    new: dict[Value, Operand] = {}
    todo = [list(args)]
    while todo:
        for group in _groups(todo.pop(), args, new):
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


trivial_params = Pass(_trivial_params, ways=True)


def _twins(function: Function, args: dict[Param, list[Operand]], new: dict[Value, Operand]) -> None:
    """Of two parameters of a block that get the same over every edge one is enough."""
    for block in function.blocks[1:]:
        seen: dict[Hashable, Param] = {}
        for param in block.params:
            if param not in new:
                got = tuple(resolve(arg, new) for arg in args[param])
                twin = seen.setdefault((param.type, got), param)
                if twin is not param:
                    new[param] = twin


def _groups(params: list[Param], args: dict[Param, list[Operand]], new: dict[Value, Operand]) -> Iterator[list[Param]]:
    """The strongly connected groups of params under "gets", those that others get first (Tarjan)."""
    among = set(params)
    index: dict[Param, int] = {}
    low: dict[Param, int] = {}
    open_: list[Param] = []
    is_open: set[Param] = set()

    def begin(param: Param) -> tuple[Param, Iterator[Param]]:
        index[param] = low[param] = len(index)
        open_.append(param)
        is_open.add(param)
        return param, iter([arg for arg in args[param] if isinstance(arg, Param) and arg in among])

    for root in params:
        if root in index:
            continue
        stack = [begin(root)]
        while stack:
            param, rest = stack[-1]
            for arg in rest:
                if arg not in index:
                    stack.append(begin(arg))
                    break
                if arg in is_open:
                    low[param] = min(low[param], index[arg])
            else:
                stack.pop()
                if stack:
                    low[stack[-1][0]] = min(low[stack[-1][0]], low[param])
                if low[param] == index[param]:
                    cut = open_.index(param) if open_[-1] is not param else len(open_) - 1
                    group = open_[cut:]
                    del open_[cut:]
                    is_open.difference_update(group)
                    yield group
