"""Forward-mode differentiation (jvp): a Function that computes its results together with their tangents.

``forward(function, wanted)`` builds the Function that also takes a tangent for each parameter at the positions in ``wanted``,
and returns a pair: the result of function, and its tangent (a tuple if the result is a tuple made there; None where nothing
changes).  Each active value is accompanied by its tangent, through branches, loops and calls.

A mutable object that is stored into, an array, a list, a dict or another object, has a *shadow*: a second object of the same kind,
which contains the tangents of its contents.  Each op on the object is repeated on the shadow.
"""

import operator
from collections.abc import Sequence

from hovis.errors import DerivativeError
from hovis.ir import operations as ops
from hovis.ir.analysis.control_flow import reverse_postorder, uses
from hovis.ir.model import LASTING, Block, Edge, Effect, Function, Invoke, Jump, Op, Operand, Param, Return, Value, edges
from hovis.ir.operations import slot_of
from hovis.lattice import AbstractValue, Array, Const, Type
from hovis.library.numpy.adjoints.cotangents import apart, zero_tape
from hovis.library.numpy.adjoints.tangents import added, laid_out, put, stored, tangent
from hovis.passes.rewriting import copy, substitute
from hovis.transforms import derivative_rules, rule_tracing
from hovis.transforms.aliasing import is_view
from hovis.transforms.forward.lists_as_arrays import with_arrays
from hovis.transforms.forward.store_tangents import STORES, grown
from hovis.transforms.forward.tangent_activity import Pushing
from hovis.transforms.source_places import told

_NONE = Const(None)


def forward(function: Function, wanted: Sequence[int]) -> Function:
    """Build the Function with an additional tangent parameter for each one wanted, which returns the pair ``(returned, tangent)``."""
    made = copy(function)
    with_arrays(made)
    pushing = Pushing(made, wanted)
    for one in pushing.order:
        Followed(one, pushing).rewrite()
    return made


def _kind(kind: AbstractValue) -> AbstractValue:
    """Return the type of a tangent: its memory layout may differ from that of the value."""
    return Array(kind.cls, kind.dtype, kind.rank, "", kind.place) if isinstance(kind, Array) else kind


#: In-place operators -> the operators whose derivative rules they use.
IN_PLACE = {
    operator.iadd: operator.add, operator.isub: operator.sub, operator.imul: operator.mul, operator.itruediv: operator.truediv,
    operator.ipow: operator.pow, operator.imod: operator.mod, operator.imatmul: operator.matmul, operator.ifloordiv: operator.floordiv,
}  # fmt: skip

#: Callees that only move values: they are applied to the tangents in the same way as to the values.
MOVES = frozenset(
    {
        iter, next, operator.getitem, operator.setitem, operator.delitem, list.append, list.insert, list.extend, list.pop, list.reverse, list.copy,
        list.clear, list.__getitem__, list.__setitem__, dict.__getitem__, dict.__setitem__, dict.get, dict.pop, dict.update, dict.values, dict.items,
        dict.copy, dict.setdefault, setattr, ops.make_tuple, ops.make_list, ops.make_dict, ops.make_object, ops.list_extend, ops.dict_update,
        ops.make_cell, ops.cell_get, ops.cell_set, ops.unpack, ops.make_iterator, tuple, list, dict, reversed, zip, enumerate, operator.concat,
        ops.put, ops.get, ops.revise, ops.filled,
    }
)  # fmt: skip

#: Callees -> the positions of the operands that have tangents; the other operands are indexes, keys or names.
_PLACES: dict[object, tuple[int, ...]] = {
    operator.getitem: (0,), operator.delitem: (0,), operator.setitem: (0, 2), list.pop: (0,), list.insert: (0, 2), list.__getitem__: (0,),
    list.__setitem__: (0, 2), dict.__getitem__: (0,), dict.__setitem__: (0, 2), dict.get: (0, 2), dict.pop: (0, 2), dict.setdefault: (0, 2),
    setattr: (0, 2), next: (0,), ops.unpack: (0,), enumerate: (0,), ops.put: (0, 2), ops.get: (0,),
    ops.revise: (0, 2), ops.filled: (0,),
}  # fmt: skip


class Followed:
    """Rewrites one Function: each active value is followed by its tangent."""

    def __init__(self, function: Function, pushing: Pushing) -> None:
        self.function = function
        self.pushing = pushing
        self.tangents: dict[Value, Operand] = {}
        self.replaced: dict[Value, Operand] = {}
        self.stored = pushing.stored[function]
        self.used = uses(function)
        self.grown = grown(function, _reads)

    def rewrite(self) -> None:
        """Rewrite the Function in place."""
        blocks = list(self.function.blocks)
        for block in blocks:
            more = []
            for param in block.params:
                if param in self.pushing.given(self.function, block):
                    more.append(Param(_kind(param.type), param.dims))
                    self.tangents[param] = more[-1]
            block.params = (*block.params, *more)
        for block in reverse_postorder(blocks[0]):
            self._block(block)
        substitute(self.function, self.replaced)

    def _block(self, block: Block) -> None:
        old, end = block.ops, block.terminator
        block.ops = []
        writer = rule_tracing.Writer(self.function, block)
        if self.function is self.pushing.first and block is self.function.blocks[0]:
            self._arguments(writer, block)
        for op in old:
            writer.location = op.location
            self._op(writer, op)
        if isinstance(end, Invoke):
            self._invoke(writer, end)
            return
        self._edges(writer, edges(end))
        if isinstance(end, Return):
            end.value = self._returned(writer, end.value)
        writer.block.terminator = end

    def _arguments(self, writer: rule_tracing.Writer, entry: Block) -> None:
        """Make own tangents for the arrays among the parameters that are stored into (the tangents of the caller must not be changed), of zeros
        where there are none. Raise DerivativeError if another kind of parameter is stored into.
        """
        arrays = [param for param in entry.params if isinstance(param.type, Array) and param in self.used]
        kept = {param for param in arrays if param in self.stored.values and param in self.pushing.active}
        for k, a in enumerate(arrays):
            for b in arrays[:k]:
                if a in kept or b in kept:
                    writer.op(apart, a, b, type=Type(type(None)), effect=Effect.RAISES)
        for param in entry.params:
            if param in kept:
                self.tangents[param] = writer.rule(stored, self.tangent(writer, param), param)
            elif param in self.pushing.active and param not in self.tangents:
                raise DerivativeError(f"{self.function.name} stores into its arguments")

    def _invoke(self, writer: rule_tracing.Writer, end: Invoke) -> None:
        """Compute the tangent of an op that may raise in a block behind its ok edge, where it has not raised."""
        op = end.op
        self._edges(writer, (end.error,))
        if op not in self.pushing.active and not self._touched(op):
            self._edges(writer, (end.ok,))
            writer.block.terminator = end
            return
        if isinstance(op.callee, Function) or (op.callee in IN_PLACE and isinstance(op.type, Array)):
            raise DerivativeError(f"the tangent of a call within try is not supported: {told(op)}")
        behind = Block()
        self.function.blocks.append(behind)
        writer.block.terminator = Invoke(op, Edge(behind), end.error)
        writer.block = behind
        writer.location = op.location
        self._pushed(writer, op)
        self._edges(writer, (end.ok,))
        writer.block.terminator = Jump(end.ok, op.location)

    def _edges(self, writer: rule_tracing.Writer, all_of: Sequence[Edge]) -> None:
        """Add the tangents of the arguments to the edges."""
        for edge in all_of:
            more = [self.tangent(writer, arg) for p, arg in zip(edge.block.params, edge.args, strict=False) if p in self.pushing.active]
            edge.args = (*edge.args, *more)

    def _returned(self, writer: rule_tracing.Writer, value: Operand) -> Operand:
        if self.function is not self.pushing.first and self.function not in self.pushing.results:
            return value
        changes_too = self.function in self.pushing.results
        return writer.op(ops.make_tuple, value, self.tangent(writer, value) if changes_too else _NONE, type=Type(tuple))

    def tangent(self, writer: rule_tracing.Writer, value: Operand) -> Operand:
        """Return the tangent of a value; a zero of its kind if the value does not change."""
        if isinstance(value, Const) and value.value is ops.UNBOUND:
            return value
        found = self.tangents.get(value) if isinstance(value, Op | Param) else None
        slot = slot_of(value.type) if found is None and isinstance(value, Op | Param) else None
        if slot is not None:
            # the tangent of a new, empty tape is another new tape
            if isinstance(value, Op) and value.callee is ops.make_tape:
                return writer.op(ops.make_tape, Const(slot), type=value.type)
            return writer.op(zero_tape, value, Const(slot), type=value.type, effect=Effect.READS)  # type: ignore[union-attr]
        return writer.rule(tangent, value) if found is None else found

    def _touched(self, op: Op) -> bool:
        return any(v in self.pushing.active for v in op.operands()) and op.callee not in _KEEPING and not self._is_constant(op)

    @staticmethod
    def _is_constant(op: Op) -> bool:
        row = derivative_rules.of(op)
        return row is not None and row.constant

    def _op(self, writer: rule_tracing.Writer, op: Op) -> None:
        if isinstance(op.callee, Function):
            self._call(writer, op)
            return
        writer.block.ops.append(op)
        if op in self.pushing.active or self._touched(op):
            self._pushed(writer, op)

    def _call(self, writer: rule_tracing.Writer, op: Op) -> None:
        """Pass the tangents to a residual function as well; it returns a pair if its result changes."""
        callee = op.callee
        assert isinstance(callee, Function)
        if any(callee.params[k] in self.pushing.stored[callee].values for k in self.pushing.places[callee]):
            raise DerivativeError(f"{callee.name} stores into its arguments, and is not inlined: {told(op)}")
        more = tuple(self.tangent(writer, op.args[k]) for k in self.pushing.places[callee])
        if not more and callee not in self.pushing.results:
            writer.block.ops.append(op)
            return
        if callee not in self.pushing.results:
            op.args = (*op.args, *more)
            writer.block.ops.append(op)
            return
        pair = writer.op(callee, *op.args, *more, type=Type(tuple), effect=op.effect)
        self.replaced[op] = writer.op(operator.getitem, pair, Const(0), type=op.type)
        self.tangents[op] = writer.op(operator.getitem, pair, Const(1), type=op.type)

    def _pushed(self, writer: rule_tracing.Writer, op: Op) -> None:
        """Emit the tangent of the result of op, and of the operand that it writes to."""
        callee = op.callee
        if callee in IN_PLACE:
            self._in_place(writer, op)
        elif op in self.stored.groups.loose:
            raise DerivativeError(f"{told(op)} is a view of memory that is stored into, but has no part of its tangent")
        elif op in self.stored.bound and is_view(op):
            view = writer.op(callee, self.tangent(writer, op.args[0]), *op.args[1:], type=_kind(op.type), dims=op.dims, effect=op.effect & ~LASTING)
            view.kwargs = op.kwargs
            self.tangents[op] = view
        elif callee in MOVES and not self._by_row(op):
            self._moved(writer, op)
        elif op in self.pushing.active:
            found: Operand = _NONE
            read = self._read(op)
            for k, operand in enumerate((*op.args, *(v for _, v in op.kwargs))):
                if operand in self.pushing.active and not self._is_constant(op):
                    t = self.tangent(writer, operand)
                    if _is_of_python(operand):
                        raise DerivativeError(derivative_rules.unknown(op, k))
                    if operand in self.grown:
                        self.grown.add(t)  # type: ignore[arg-type]
                    found = self._sum(writer, found, derivative_rules.pushed(writer, read, k, self._unknown(t), op))
            if isinstance(found, Const) and found.value is None:
                found = writer.rule(tangent, op)
            kept = laid_out if op in self.stored.laid_out else stored if op in self.stored.values else None
            self.tangents[op] = found if kept is None else writer.rule(kept, found, op)
        elif op.effect & (Effect.OPAQUE | Effect.WRITES) and derivative_rules.of(op) is None and callee not in _KEEPING:
            raise DerivativeError(derivative_rules.unknown(op))

    def _read(self, op: Op) -> Op:
        """Return op as a rule shall see it: a list that may change later is unknown, not the items that it was made of."""
        if not any(value in self.grown for value in op.operands()):
            return op
        args = tuple(map(self._unknown, op.args))
        return Op(op.callee, args, tuple((name, self._unknown(v)) for name, v in op.kwargs), op.type, op.dims, op.effect, op.location)

    def _unknown(self, value: Operand) -> Operand:
        if value not in self.grown:
            return value
        stands_for = Param(Type(list))
        self.replaced[stands_for] = value
        return stands_for

    def _by_row(self, op: Op) -> bool:
        """Does op index an array?"""
        return op.callee is operator.getitem and isinstance(getattr(op.args[0], "type", None), Array)

    def _sum(self, writer: rule_tracing.Writer, a: Operand, b: Operand) -> Operand:
        if isinstance(a, Const) and a.value is None:
            return b
        return a if isinstance(b, Const) and b.value is None else writer.rule(added, a, b)

    def _in_place(self, writer: rule_tracing.Writer, op: Op) -> None:
        target = op.args[0]
        plain = Op(IN_PLACE[op.callee], op.args, (), op.type, op.dims, op.effect, op.location)  # type: ignore[index]
        if isinstance(getattr(target, "type", None), Array):
            # the rule needs the target, and arrays that may share its memory, as they were before op: copy them in front of it
            writer.block.ops.remove(op)
            plain.args = tuple([self._before(writer, arg) if arg is target or arg in self.stored.bound else arg for arg in op.args])
            writer.block.ops.append(op)
        found: Operand = _NONE
        for k, operand in enumerate(plain.args):
            if operand in self.tangents:
                found = self._sum(writer, found, self._pushed_at(writer, plain, op, k, self.tangents[operand]))  # type: ignore[index]
        if isinstance(found, Const) and found.value is None:
            found = writer.rule(tangent, op)
        self.tangents[op] = writer.rule(put, self.tangent(writer, target), found) if isinstance(getattr(target, "type", None), Array) else found

    def _before(self, writer: rule_tracing.Writer, value: Operand) -> Operand:
        """Copy an array that is about to be stored into."""
        kind, dims = value.type, value.dims  # type: ignore[union-attr]
        made = writer.op(operator.pos, value, type=kind, dims=dims)
        if value in self.pushing.active:
            self.tangents[made] = self.tangent(writer, value)
        return made

    @staticmethod
    def _pushed_at(writer: rule_tracing.Writer, plain: Op, op: Op, k: int, t: Operand) -> Operand:
        return derivative_rules.pushed(writer, plain, k, t, op)

    def _moved(self, writer: rule_tracing.Writer, op: Op) -> None:
        """Apply op to the tangents as well."""
        args = list(op.args)
        for k in _followed(op):
            args[k] = self.tangent(writer, op.args[k])
        self.tangents[op] = writer.op(op.callee, *args, type=_kind(op.type), effect=op.effect)


def _followed(op: Op) -> Sequence[int]:
    """Return the positions of the operands that are moved values, not places to which they are moved."""
    if op.callee is ops.make_object:
        return range(2, len(op.args))
    if op.callee is ops.make_dict:
        return range(1, len(op.args), 2)
    places = _PLACES.get(op.callee)
    return range(len(op.args)) if places is None else [k for k in places if k < len(op.args)]


_KEEPING = frozenset({ops.drop, ops.keep})


def _is_of_python(operand: Operand) -> bool:
    """Is operand a Python object for which there are no rules: an iterator, a dict, a view of one?"""
    kind = getattr(operand, "type", None)
    if not isinstance(kind, Type) or isinstance(kind, Array) or slot_of(kind) is not None:
        return False
    return kind.cls.__module__ == "builtins" and not issubclass(kind.cls, int | float | complex | tuple | list)


def _reads(op: Op) -> bool:
    """Does op do no more with its operands than to read them?"""
    return op.callee in _KEEPING or (op.callee not in STORES and op.callee not in MOVES and derivative_rules.of(op) is not None)


derivative_rules.TRANSFORMS["forward"] = forward
