"""Activity analysis for forward mode: the values that have tangents, in all Functions reachable from one, with stores and residual calls."""

from collections.abc import Sequence

from hovis.ir.model import Block, Function, Op, Operand, Param, Raise, Return, Value, callees, edges
from hovis.lattice import AbstractValue, Array, Const, Partial, Type, Union
from hovis.transforms import derivative_rules
from hovis.transforms.forward.store_tangents import STORES, Stored


class Pushing:
    """The active values of all Functions reachable from one, computed for all of them at once."""

    def __init__(self, function: Function, wanted: Sequence[int]) -> None:
        self.order = callees(function)
        self.active: set[Value] = set()
        #: the Functions whose results have tangents
        self.results: set[Function] = set()
        self.first = function
        self.wanted: set[Value] = {function.params[k] for k in wanted}
        self.raised = _only_raised(self.order)
        self.stored = {one: Stored(one) for one in self.order}
        self.active |= self.wanted
        while self._spread():
            pass
        #: for each Function the positions of the parameters that have tangents
        self.places = {one: [k for k, p in enumerate(one.params) if p in self.active] for one in self.order}

    def given(self, function: Function, block: Block) -> set[Value]:
        """Return the values among which are the parameters of block that get a tangent: the wanted ones at the entry of the first Function, the
        active ones elsewhere.
        """
        return self.wanted if block is self.first.blocks[0] else self.active

    def _spread(self) -> bool:
        before = len(self.active), len(self.results)
        for one in self.order:
            for block in one.blocks:
                for op in block.all_ops():
                    self._op(one, op)
                for edge in edges(block.terminator):
                    self.active |= {p for p, arg in zip(edge.block.params, edge.args, strict=True) if arg in self.active and changes(p.type)}
                end = block.terminator
                if isinstance(end, Return) and end.value in self.active:
                    self.results.add(one)
        return before != (len(self.active), len(self.results))

    def _op(self, one: Function, op: Op) -> None:
        """Mark the result of op, and the memory that it writes to, as active if they change."""
        args = [v for v in op.operands() if v in self.active]
        if isinstance(op.callee, Function):
            self.active |= {p for p, arg in zip(op.callee.params, op.args, strict=True) if arg in self.active}
            if op.callee in self.results:
                self.active.add(op)
            return
        if not args or op in self.raised:
            return
        row = derivative_rules.of(op)
        if row is not None and row.constant:
            return
        if op.callee in STORES and op.args and isinstance(op.args[0], Op | Param) and changes(op.args[0].type):
            # the memory that is stored into is active from its creation, not only behind the store
            self.active |= self.stored[one].by(op)
        if changes(op.type):
            self.active.add(op)
            self.active |= self.stored[one].bound.get(op, set())


def _only_raised(functions: Sequence[Function]) -> set[Op]:
    """Collect the ops whose results are raised, and not used otherwise."""
    blocks = [block for one in functions for block in one.blocks]
    raised = {block.terminator.value for block in blocks if isinstance(block.terminator, Raise)}
    used: set[Operand] = {v for block in blocks for op in block.all_ops() for v in op.operands()}
    used |= {arg for block in blocks for edge in edges(block.terminator) for arg in edge.args}
    return {value for value in raised if isinstance(value, Op)} - used


def changes(kind: AbstractValue) -> bool:
    """May a value of this type be, or hold, a real or complex number?"""
    if isinstance(kind, Union):
        return any(map(changes, kind.members))
    if isinstance(kind, Array):
        return getattr(kind.dtype, "kind", "O") in "fcO"
    if isinstance(kind, Partial):
        return any(map(changes, kind.parts)) or not kind.parts
    if isinstance(kind, Type):
        if kind.cls in _FIXED:
            return False
        dtype = getattr(kind.cls, "dtype", None)
        return dtype is None or kind.cls.__module__ != "numpy" or kind.cls.__name__.startswith(("float", "complex", "longdouble", "clongdouble", "ndarray"))
    return not isinstance(kind, Const)


_FIXED = frozenset({int, bool, str, bytes, type(None), range, slice})
