"""Which values have tangents: worked out for all Functions that one reaches, stores and residual calls included."""

from collections.abc import Sequence

from hovis.ir.model import Block, Function, Op, Operand, Param, Raise, Return, Value, callees, edges
from hovis.lattice import AbstractValue, Array, Const, Partial, Type, Union
from hovis.transforms import derivative_rules
from hovis.transforms.forward.store_tangents import STORES, Stored


class Pushing:
    """Which values of which Functions change: worked out for all Functions that one reaches, at once."""

    def __init__(self, function: Function, wanted: Sequence[int]) -> None:
        self.order = callees(function)
        self.active: set[Value] = set()
        #: do the results of a Function change?
        self.results: set[Function] = set()
        self.first = function
        self.wanted: set[Value] = {function.params[k] for k in wanted}
        self.raised = _only_raised(self.order)
        self.stored = {one: Stored(one) for one in self.order}
        self.active |= self.wanted
        while self._spread():
            pass
        #: of each Function the parameters that have tangents, and where these stand
        self.places = {one: [k for k, p in enumerate(one.params) if p in self.active] for one in self.order}

    def given(self, function: Function, block: Block) -> set[Value]:
        """Of which parameters of a block are there tangents to be passed on?"""
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
        """Does the result of op change, or what it writes to?"""
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
            # what is stored into changes from the beginning
            self.active |= self.stored[one].by(op)
        if changes(op.type):
            self.active.add(op)
            self.active |= self.stored[one].bound.get(op, set())


def _only_raised(functions: Sequence[Function]) -> set[Op]:
    """What is raised, and nothing else is done with."""
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
