"""How a program changes the objects among its arguments: what has changed in each, and which of them are released."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hovis.ir.model import Block, Effect, Function, Op, Return
from hovis.ir.operations import make_tuple
from hovis.lattice import Const, Type
from hovis.lattice.constants import same_constant
from hovis.passes.scalar.dce import dce
from hovis_xla.emit.values import NotLowerable, num_of_type
from hovis_xla.front.argument_graph import Graph

#: The number of an object, and the index of a part that changes, or None if its keys and all parts are replaced.
Change = tuple[int, int | None]

#: For each block in which a program returns: the block, the result, and the contents of each object (None for a set).
Ends = list[tuple[Block, Any, list[Any]]]


def ends(function: Function) -> Ends:
    found: Ends = []
    for block in function.blocks:
        if isinstance(block.terminator, Return):
            pair = _items(block.terminator.value)
            contents = _items(pair[1]) if pair is not None else None
            if pair is None or contents is None:
                raise NotLowerable("the results of several paths are merged before they are returned", function.location)
            found.append((block, pair[0], [_items(c) for c in contents]))
    return found


def trimmed(function: Function, graph: Graph, ends: Ends, wholes: list[Any], leaves: list[Any]) -> list[Change]:
    """Make the function return, besides its result, only what has changed in its objects; return these changes in the same order."""

    def same(operand: Any, part: Any) -> bool:
        what, *more = part
        if what == "leaf" or what == "object":
            given = (leaves if what == "leaf" else wholes)[more[0]]
            return operand is given or (isinstance(operand, Const) and isinstance(given, Const) and same_constant(operand.value, given.value))
        if what == "known":
            return isinstance(operand, Const) and same_constant(operand.value, more[0])
        found = _items(operand)
        return more[0] is tuple and found is not None and len(found) == len(more[1]) and all(map(same, found, more[1]))

    changes: list[Change] = []
    for k, (kind, _, keys, parts) in enumerate(graph.objects):
        found = [contents[k] for _, _, contents in ends]
        if kind == "set":
            continue
        if not all(f is not None and len(f) == len(parts) + 1 and same_constant(f[0].value, keys) for f in found):
            changes.append((k, None))
        else:
            changes += [(k, j) for j, part in enumerate(parts) if not all(same(f[j + 1], part) for f in found)]
    for block, result, contents in ends:
        end = block.terminator
        assert isinstance(end, Return)
        whole = {k: Op(make_tuple, tuple(contents[k]), (), Type(tuple), None, Effect.PURE, end.location) for k, j in changes if j is None}
        more = [whole[k] if j is None else contents[k][j + 1] for k, j in changes]
        end.value = Op(make_tuple, (result, *more), (), Type(tuple), None, Effect.PURE, end.location)
        block.ops += [*whole.values(), end.value]
    dce.rewrite(function)
    return changes


def displaced(graph: Graph, ends: Ends, wholes: list[Any], leaves: list[Any]) -> list[int]:
    """Return the numbers of the objects that are released on some path: they would be finalized too late, if anybody looks.

    For other leaves that are not numbers or arrays this is not known: raise NotLowerable if one of them is released.
    """
    roots = [*graph.positional, *(part for _, part in graph.named)]
    given = list(_standing_for(roots, {"object": wholes, "leaf": leaves}))
    places = {id(param): k for k, param in enumerate(wholes)}
    gone: set[int] = set()
    for _, result, contents in ends:
        todo, kept = [result, *given], set[int]()
        while todo:
            operand = todo.pop()
            if isinstance(operand, Const) or id(operand) in kept:
                continue
            kept.add(id(operand))
            todo += (contents[places[id(operand)]] or []) if id(operand) in places else operand.args if isinstance(operand, Op) else []
        if any(not isinstance(leaf, Const) and id(leaf) not in kept and num_of_type(leaf.type, leaf.dims) is None for leaf in leaves):
            raise NotLowerable("an object that an argument holds is released")
        gone.update(k for k, param in enumerate(wholes) if id(param) not in kept)
    return sorted(gone)


def _standing_for(parts: Iterable[Any], operands: Mapping[str, list[Any]]) -> Iterator[Any]:
    """Yield the operands that stand for the objects and leaves that are arguments, or are in tuples among the arguments."""
    for what, *more in parts:
        if what == "tuple":
            yield from _standing_for(more[1], operands)
        elif what in operands:
            yield operands[what][more[0]]


def _items(operand: Any) -> list[Any] | None:
    """Return the elements of a tuple, or None if the operand is not a tuple of known elements."""
    if isinstance(operand, Const):
        return [Const(v) for v in operand.value] if type(operand.value) is tuple else None
    return list(operand.args) if isinstance(operand, Op) and operand.callee is make_tuple else None
