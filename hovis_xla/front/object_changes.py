"""How a program changes the objects among its arguments: what has changed in each, and which of them are released."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from hovis.ir.model import Block, Effect, Function, Op, Return, edges
from hovis.ir.operations import make_tuple
from hovis.lattice import Const, Type
from hovis.lattice.constants import same_constant
from hovis_xla.emit.values import NotLowerable, num_of_type
from hovis_xla.front.argument_graph import Graph
from hovis_xla.lowering.op_lowering import BUILDERS


@dataclass(slots=True)
class Change:
    """The changes of an object. ``whole``: the number of the result with its keys and all parts, or None; ``parts``: the index of each changed
    part, with the number of its result.
    """

    whole: int | None
    parts: list[tuple[int, int]]


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
    """Make the function return, besides its result, only what has changed in its objects. Return a Change for each object, which says where its
    changes are.
    """

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
    wanted: list[tuple[int, int | None]] = []
    for k, (kind, _, keys, parts) in enumerate(graph.objects):
        change = Change(None, [])
        found = [contents[k] for _, _, contents in ends]
        if kind != "set" and not all(f is not None and len(f) == len(parts) + 1 and same_constant(f[0].value, keys) for f in found):
            wanted.append((k, None))
            change.whole = len(wanted)
        elif kind != "set":
            for j, part in enumerate(parts):
                if not all(same(f[j + 1], part) for f in found):
                    wanted.append((k, j + 1))
                    change.parts.append((j, len(wanted)))
        changes.append(change)
    for block, result, contents in ends:
        end = block.terminator
        assert isinstance(end, Return)
        whole = {k: Op(make_tuple, tuple(contents[k]), (), Type(tuple), None, Effect.PURE, end.location) for k, j in wanted if j is None}
        more = [whole[k] if j is None else contents[k][j] for k, j in wanted]
        end.value = Op(make_tuple, (result, *more), (), Type(tuple), None, Effect.PURE, end.location)
        block.ops += [*whole.values(), end.value]
    _without_old_ends(function)
    return changes


def displaced(graph: Graph, ends: "Ends", wholes: list[Any], leaves: list[Any]) -> list[int]:
    """Return the numbers of the objects that are released on some path: they would be finalized too late, if anybody looks.

    For other leaves that are not numbers or arrays this is not known: raise NotLowerable if one of them is released.
    """
    roots = [*graph.positional, *(part for _, part in graph.named)]
    given = [wholes[k] for k in sorted(_inside(roots))] + [leaves[k] for k in sorted(_inside(roots, "leaf"))]
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


def _inside(parts: Iterable[Any], wanted: str = "object") -> set[int]:
    """Collect the numbers of the objects (or of the leaves) that are arguments, or are in tuples among the arguments."""
    found: set[int] = set()
    for what, *more in parts:
        found |= {more[0]} if what == wanted else _inside(more[1], wanted) if what == "tuple" else set()
    return found


def _without_old_ends(function: Function) -> None:
    """Remove containers that are no longer used, and those that only they contain."""
    while True:
        used = {id(v) for v, _ in uses(function)}
        dead = [op for op in function.ops() if op.callee in BUILDERS and id(op) not in used]
        if not dead:
            return
        gone = frozenset(map(id, dead))
        for block in function.blocks:
            block.ops = [op for op in block.ops if id(op) not in gone]


def _items(operand: Any) -> list[Any] | None:
    """Return the elements of a tuple, or None if the operand is not a tuple of known elements."""
    if isinstance(operand, Const):
        return [Const(v) for v in operand.value] if type(operand.value) is tuple else None
    return list(operand.args) if isinstance(operand, Op) and operand.callee is make_tuple else None


def uses(function: Function) -> Iterator[tuple[Any, Any]]:
    """Yield each operand with its user: an op, a terminator or an edge."""
    for block in function.blocks:
        for op in block.all_ops():
            yield from ((v, op) for v in op.operands())
        end = block.terminator
        yield from ((getattr(end, name), end) for name in ("value", "cond") if hasattr(end, name))
        yield from ((v, edge) for edge in edges(end) for v in edge.args)
