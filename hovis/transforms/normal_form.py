"""The normal form in which a Function is reversed: one block that returns, and for each loop one preheader and one latch.

There are no critical edges (from a block with several successors to one with several predecessors): each edge into a join comes
from a block of its own, in which the path taken can be recorded.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from hovis.errors import DerivativeError
from hovis.ir.analysis.control_flow import Dominators, Incoming, Loop, Loops, natural_loops, predecessors
from hovis.ir.model import Block, Caught, Edge, Function, Invoke, Jump, Op, Operand, Param, Return, Value, edges
from hovis.ir.operations import make_tuple
from hovis.lattice import ANY, AbstractValue, Const, join
from hovis.library.standard import STANDARD
from hovis.transforms.single_entry import one_entry
from hovis.transforms.source_places import place


@dataclass(slots=True, eq=False)
class Normal:
    """A Function in normal form, with its analyses.

    end, results     the block that returns, and the items that it returns
    ends             the blocks from which the end can be reached
    front, latch     for each loop its preheader, and its latch
    """

    function: Function
    end: Block
    results: tuple[Operand, ...]
    ends: set[Block]
    incoming: Incoming
    dominators: Dominators
    loops: Loops
    front: dict[Loop, Block]
    latch: dict[Loop, Block]

    def defined(self, block: Block) -> Iterator[Value]:
        """Yield the values that are defined from this block on; the result of an Invoke is defined behind its ok edge."""
        yield from iter(block.params)
        for source, edge in self.incoming[block]:
            if isinstance(source.terminator, Invoke) and source.terminator.ok is edge:
                yield source.terminator.op
        yield from iter(block.ops)

    def around(self, block: Block) -> list[Loop]:
        """Return the loops that contain block, the outermost first."""
        found: list[Loop] = []
        at = self.loops.innermost.get(block)
        while at is not None:
            found.insert(0, at)
            at = at.parent
        return found


def normalize(function: Function, outputs: int) -> Normal | None:
    """Bring function into normal form, in place; return None if it never returns. function returns a tuple of at least ``outputs`` items; or, if
    ``outputs`` is 0, one value.
    """
    end, results = _one_end(function, outputs)
    if end is None:
        return None
    _loops(function)
    _critical(function)
    incoming, dominators = predecessors(function), Dominators(function)
    loops = natural_loops(function, dominators)
    front = {loop: next(b for b, _ in incoming[loop.header] if b not in loop.blocks) for loop in loops.loops}
    latch = {loop: loop.latches[0] for loop in loops.loops}
    return Normal(function, end, results, _reaching(end, incoming), incoming, dominators, loops, front, latch)


def _reaching(end: Block, incoming: Incoming) -> set[Block]:
    found, todo = {end}, [end]
    while todo:
        for block, _ in incoming[todo.pop()]:
            if block not in found:
                found.add(block)
                todo.append(block)
    return found


def type_of(operand: Operand) -> AbstractValue:
    """Return the type of an operand; for a constant the type of its value."""
    if isinstance(operand, Const):
        found: AbstractValue = STANDARD.of_value(operand.value)
        return found
    return ANY if isinstance(operand, Caught) else operand.type


def items(value: Operand) -> tuple[Operand, ...] | None:
    """Return the items of a tuple that is constant or made in this function; else None."""
    if isinstance(value, Op) and value.callee is make_tuple:
        return value.args
    if isinstance(value, Const) and isinstance(value.value, tuple):
        return tuple(map(Const, value.value))
    return None


def _one_end(function: Function, outputs: int) -> tuple[Block | None, tuple[Operand, ...]]:
    ends = [block for block in function.blocks if isinstance(block.terminator, Return)]
    if not ends:
        return None, ()
    values = [block.terminator.value for block in ends]  # type: ignore[union-attr]
    if outputs:
        parts = [items(value) for value in values]
        counts = {len(part) for part in parts if part is not None}
        if None in parts or len(counts) > 1:
            raise DerivativeError(f"{function.name} returns results of different structures")
    else:
        parts = [(value,) for value in values]
    if len(ends) == 1:
        return ends[0], parts[0]  # type: ignore[return-value]
    params = tuple(joined([part[k] for part in parts]) for k in range(len(parts[0])))  # type: ignore[arg-type, index]
    end = Block(params, [], Return(Const(None), ends[0].terminator.location))  # type: ignore[union-attr]
    for block, part in zip(ends, parts, strict=True):
        block.terminator = Jump(Edge(end, part), block.terminator.location)  # type: ignore[union-attr, arg-type]
    function.blocks.append(end)
    return end, params


def joined(operands: list[Operand]) -> Param:
    """Make a parameter whose type is the join of those of these operands."""
    kind = type_of(operands[0])
    for operand in operands[1:]:
        kind = join(kind, type_of(operand))
    dims = [None if isinstance(o, Const | Caught) else o.dims for o in operands]
    return Param(kind, dims[0] if all(d is not None and d == dims[0] and all(isinstance(e, Const) for e in d) for d in dims) else None)


def _loops(function: Function) -> None:
    """Give each loop a preheader, and one latch as a block of its own."""
    found = natural_loops(function)
    while not found.reducible:
        one_entry(function)
        found = natural_loops(function)
    for loop in found.loops:
        for inside in (False, True):
            into = [edge for block, edge in predecessors(function)[loop.header] if (block in loop.blocks) is inside]
            if len(into) == 1:
                _split(function, into[0])
            else:
                _gathered(function, loop.header, into)


def _gathered(function: Function, header: Block, into: list[Edge]) -> None:
    """Make one block through which these edges to header lead."""
    params = tuple(Param(p.type, p.dims, p.name) for p in header.params)
    between = Block(params, [], Jump(Edge(header, params)))
    for edge in into:
        edge.block = between
    function.blocks.append(between)


def _critical(function: Function) -> None:
    incoming = predecessors(function)
    for block in list(function.blocks):
        leaving = edges(block.terminator)
        if len(leaving) > 1:
            for edge in leaving:
                if len(incoming[edge.block]) > 1 or (edge.args and isinstance(block.terminator, Invoke) and edge is block.terminator.ok):
                    _split(function, edge)


def _split(function: Function, edge: Edge) -> None:
    """Insert a block on an edge; of the arguments of the edge only a caught exception becomes its parameter."""
    params = tuple(Param(p.type) for arg, p in zip(edge.args, edge.block.params, strict=True) if isinstance(arg, Caught))
    carried = (*params, *edge.args[len(params) :])
    between = Block(params, [], Jump(Edge(edge.block, carried)))
    edge.block, edge.args = between, edge.args[: len(params)]
    function.blocks.append(between)


def where(function: Function) -> str:
    """Return the source place of the first op in function that has a location; the name of function if there is none."""
    return next((place(op) for op in function.ops() if op.location is not None), function.name)
