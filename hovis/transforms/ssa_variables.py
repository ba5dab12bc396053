"""SSA construction: variables of a program under construction as values, with block parameters only where several assignments meet.

Values are looked up on demand, backwards along the edges (Braun et al.: Simple and Efficient Construction of Static Single
Assignment Form).  A variable is read at the end of a block; arguments of edges from blocks that are not filled yet are filled in by
``settle``, when all blocks are.
"""

from collections.abc import Callable

from hovis.ir.model import Block, Edge, Op, Operand, Param
from hovis.ir.operations import Slot, missing
from hovis.lattice import AbstractValue, Const


class Variable:
    """A variable that is assigned in several places.

    home     the block of the original function to whose iterations the variable belongs, or None
    absent   makes its value where nothing has been assigned; gets the variable and the block in which the value is needed
    """

    __slots__ = ("absent", "dims", "home", "name", "type")

    def __init__(
        self,
        type: AbstractValue,
        absent: "Callable[[Variable, Block], Operand]",
        home: Block | None = None,
        dims: tuple[Operand, ...] | None = None,
        name: str | None = None,
    ) -> None:
        self.type, self.absent, self.home, self.name = type, absent, home, name
        self.dims = None if dims is None else tuple(dim if isinstance(dim, Const) else Const(None) for dim in dims)


#: The type of NOTHING, which stands for no value; where a value is required, ``Variable.absent`` makes one instead.
class _Nothing:
    def __repr__(self) -> str:
        return "NOTHING"


NOTHING = _Nothing()
Found = Operand | _Nothing


class Variables:
    """Maps each variable to its value at the end of each block.

    hooks    called for a block before its predecessors are read: returns the value on entry, or None to read the predecessors
    ways     the number of edges that lead to a block when the function is complete
    passing  block -> the block whose values it takes over, whatever its predecessors are
    """

    def __init__(self) -> None:
        self.ways: dict[Block, int] = {}
        self.incoming: dict[Block, list[tuple[Block, Edge]]] = {}
        self.hooks: dict[Block, Callable[[Variable, Block], Found | None]] = {}
        self.passing: dict[Block, Block] = {}
        self._given: dict[tuple[Block, Variable], Found] = {}
        self._params: dict[Block, list[Variable]] = {}
        self._todo: list[tuple[Variable, Block, Edge, int]] = []

    def link(self, source: Block, edge: Edge) -> None:
        """Record that source is filled, and that edge leaves it."""
        self.incoming.setdefault(edge.block, []).append((source, edge))
        for variable in self._params.get(edge.block, ()):
            self._extend(variable, source, edge)

    def _extend(self, variable: Variable, source: Block, edge: Edge) -> None:
        self._todo.append((variable, source, edge, len(edge.args)))
        edge.args = (*edge.args, Const(None))

    def write(self, variable: Variable, block: Block, value: Found) -> None:
        """Set the value of variable at the end of block, as far as that is filled."""
        self._given[block, variable] = value

    def read(self, variable: Variable, block: Block) -> Found:
        """Return the value of variable at the end of block, as far as that is filled."""
        passed: list[Block] = []
        at = block
        while (found := self._given.get((at, variable))) is None:
            passed.append(at)
            hook = self.hooks.get(at)
            if hook is not None and (found := hook(variable, at)) is not None:
                break
            if at in self.passing:
                at = self.passing[at]
            elif self.ways.get(at, 0) == 0:
                found = NOTHING
                break
            elif self.ways[at] == 1:
                at = self.incoming[at][0][0]
            else:
                found = self._param(variable, at)
                break
        for one in passed:
            self._given[one, variable] = found
        return found

    def value(self, variable: Variable, block: Block) -> Operand:
        """Return the same as ``read``; if the variable has no value, make one with its ``absent``."""
        found = self.read(variable, block)
        if isinstance(found, _Nothing):
            found = variable.absent(variable, block)
            self.write(variable, block, found)
        return found

    def _param(self, variable: Variable, block: Block) -> Param:
        param = Param(variable.type, variable.dims, variable.name)
        block.params = (*block.params, param)
        self._params.setdefault(block, []).append(variable)
        for source, edge in self.incoming.get(block, ()):
            self._extend(variable, source, edge)
        return param

    def settle(self) -> None:
        """Fill in the arguments of the edges, once all blocks are filled."""
        while self._todo:
            variable, source, edge, k = self._todo.pop()
            value = self.value(variable, source)
            edge.args = (*edge.args[:k], value, *edge.args[k + 1 :])


def is_value(found: object) -> bool:
    """Is found a Param or an Op?"""
    return isinstance(found, Param | Op)


def absent(variable: Variable, block: Block) -> Operand:
    """Emit an op for the value of a variable that is absent in block, where it is not used."""
    made = Op(missing, (Const(slot_for(variable)),), type=variable.type, dims=variable.dims)
    block.ops.append(made)
    return made


def slot_for(variable: Variable) -> Slot:
    """Return the Slot that describes a tape for values of variable."""
    sizes = None if variable.dims is None else [dim.value for dim in variable.dims]
    return Slot(variable.type, None if sizes is None else tuple(size if isinstance(size, int) else None for size in sizes))
