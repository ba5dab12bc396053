"""Which arrays share memory, and what is stored into it.

Values whose memory may be the same are one *group*.  A group that something is stored into gets *shadows*: for each array one
like it, which begins with zeros, and on which every view is taken that is taken of the array.  So a shadow shares memory with
another just where their arrays do, and what is in it when the reverse sweep comes there is the array's cotangent.
"""

import operator as o
from typing import Any, Final

from hovis.errors import DerivativeError
from hovis.ir.analysis import reverse_postorder
from hovis.ir.model import LASTING, Block, Edge, Effect, Function, Invoke, Op, Operand, Param, Value, edges
from hovis.ir.operations import missing
from hovis.lattice import Array, Const, Type, Union
from hovis.library.numpy.cotangents import MAY_COPY, VIEWS, is_basic, scatter, shadow_of
from hovis.transforms.places import told

#: In-place operators, and what they come to on values that do not change.
PLAIN: Final[dict[Any, Any]] = {
    o.iadd: o.add, o.isub: o.sub, o.imul: o.mul, o.itruediv: o.truediv, o.ipow: o.pow, o.imatmul: o.matmul, o.ifloordiv: o.floordiv, o.imod: o.mod,
}  # fmt: skip


def is_array(operand: Operand) -> bool:
    """May it be an array?"""
    kind = getattr(operand, "type", None)
    return isinstance(kind, Array) or (isinstance(kind, Union) and any(isinstance(one, Array) for one in kind.members))


def in_place(op: Op) -> bool:
    """Does op store into its first operand, and give that back?"""
    return _is_one_of(op.callee, PLAIN) and is_array(op.args[0]) and isinstance(getattr(op.args[0], "type", None), Array)


def is_store(op: Op) -> bool:
    """Does op store into its first operand, and give nothing?"""
    return (op.callee is o.setitem or op.callee is scatter) and is_array(op.args[0])


def is_view(op: Op) -> bool:
    """May what op gives show the memory of its first operand?"""
    if not op.args or not is_array(op.args[0]) or not is_array(op):
        return False
    if op.callee is o.getitem:
        return is_basic(op.args[1])
    if op.callee is getattr:
        return op.args[1] in (Const("T"), Const("real"), Const("imag"))
    return _is_one_of(op.callee, VIEWS)


def may_copy(op: Op) -> bool:
    """Is it only perhaps a view?"""
    return _is_one_of(op.callee, MAY_COPY)


def _is_one_of(callee: Any, table: Any) -> bool:
    try:
        return callee in table
    except TypeError:
        return False


class Groups:
    """The groups of a function.  ``stored``: those that something is stored into."""

    def __init__(self, function: Function) -> None:
        self.leader: dict[Value, Value] = {}
        stored: list[Value] = []
        for block in function.blocks:
            for op in block.all_ops():
                if in_place(op) or is_view(op):
                    self._join(op, op.args[0])
                if (in_place(op) or is_store(op)) and isinstance(op.args[0], Param | Op):
                    stored.append(op.args[0])
            for edge in edges(block.terminator):
                for param, arg in zip(edge.block.params, edge.args, strict=True):
                    if is_array(param):
                        self._join(param, arg)
        self.stored = {self.of(value) for value in stored}

    def of(self, value: Value) -> Value:
        """The group of a value, by one of its members."""
        at = value
        while self.leader.get(at, at) is not at:
            at = self.leader[at]
        return at

    def is_stored(self, value: object) -> bool:
        """May something be stored into what value shows?"""
        return isinstance(value, Param | Op) and self.of(value) in self.stored

    def _join(self, a: Operand, b: Operand) -> None:
        if isinstance(a, Param | Op) and isinstance(b, Param | Op):
            self.leader[self.of(a)] = self.of(b)

    def members(self, function: Function) -> list[set[Value]]:
        """The groups that something is stored into."""
        found: dict[Value, set[Value]] = {}
        for block in function.blocks:
            values: list[Value] = [*block.params, *block.all_ops()]
            for value in values:
                if is_array(value) and self.is_stored(value):
                    found.setdefault(self.of(value), set()).add(value)
        return list(found.values())


class Shadows:
    """The shadows of the groups that matter, made in the forward sweep; ``of`` an array its shadow."""

    def __init__(self, function: Function, groups: Groups, active: set[Value]) -> None:
        self.of: dict[Value, Value] = {}
        self.groups = groups
        leaders = {groups.of(value) for value in active if groups.is_stored(value)}
        self.shadowed = leaders
        if not leaders:
            return
        entry = function.blocks[0]
        self._check(function)
        blocks = reverse_postorder(entry)
        made: dict[Block, list[Op]] = {}
        for param in entry.params:
            if self._has(param):
                made.setdefault(entry, []).append(self._zeros(param, param))
        for block in blocks[1:]:
            for param in block.params:
                if self._has(param):
                    twin = self.of[param] = Param(param.type, param.dims)
                    block.params = (*block.params, twin)
        for block in blocks:
            self._block(block, made.get(block, []))
            end = block.terminator
            if isinstance(end, Invoke) and self._has(end.op):
                twin = self._shadow(end.op)
                if not in_place(end.op):
                    made.setdefault(end.ok.block, []).append(twin)
        for block in blocks:
            for edge in edges(block.terminator):
                self._edge(block, edge)

    def _check(self, function: Function) -> None:
        """What may be a copy is one just where it is one of the shadow: not so if nobody knows how the array lies in memory."""
        unknown = {self.groups.of(param) for param in function.params if self._has(param)}
        for op in function.ops():
            if may_copy(op) and self._has(op) and self.groups.of(op) in unknown:
                raise DerivativeError(f"an array is stored into of which parts may be views or copies: {told(op)}")

    def _has(self, value: object) -> bool:
        return isinstance(value, Param | Op) and is_array(value) and self.groups.of(value) in self.shadowed

    def has(self, value: object) -> bool:
        """Has value a shadow?"""
        return isinstance(value, Param | Op) and value in self.of

    def _zeros(self, value: Value, like: Operand) -> Op:
        made = Op(shadow_of, (like,), type=value.type, dims=value.dims, location=getattr(value, "location", None))
        self.of.setdefault(value, made)
        return made

    def _block(self, block: Block, first: list[Op]) -> None:
        ops = list(first)
        for op in block.ops:
            ops.append(op)
            if self._has(op):
                twin = self._shadow(op)
                if not in_place(op):
                    ops.append(twin)
        block.ops = ops

    def _shadow(self, op: Op) -> Any:
        """Of what an operator changed in place, and gave back, it is the one that its operand has."""
        if in_place(op):
            twin = self.of[op] = self.of[op.args[0]]  # type: ignore[index]
            return twin
        if is_view(op) and isinstance(op.args[0], Param | Op) and op.args[0] in self.of:
            made = Op(op.callee, (self.of[op.args[0]], *op.args[1:]), op.kwargs, op.type, op.dims, op.effect & ~LASTING | Effect.PURE, op.location)
            self.of[op] = made
            return made
        if op.callee is missing:
            made = self.of[op] = Op(missing, op.args, type=op.type, dims=op.dims)
            return made
        return self._zeros(op, op)

    def _edge(self, block: Block, edge: Edge) -> None:
        twins = [(param, arg) for param, arg in zip(edge.block.params, edge.args, strict=False) if self._has(param)]
        more: list[Operand] = []
        for _, arg in twins:
            if isinstance(arg, Param | Op):
                more.append(self.of[arg])
            else:
                made = Op(shadow_of, (arg,), type=Type(object))
                block.ops.append(made)
                more.append(made)
        edge.args = (*edge.args, *more)
