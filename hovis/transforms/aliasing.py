"""Alias analysis for derivatives: which arrays share memory, and which stores go into it.

Values that may share memory form a *group*.  A group that something is stored into gets *shadows*: one for each of its arrays, of the
same shape, which is filled with zeros at first; each view that is taken of the array is taken of its shadow, too.  Therefore two
shadows share memory exactly where their arrays do, and the contents of a shadow at a point of the reverse sweep are the array's cotangent.

For functions that share memory in another way (``np.broadcast_to``, ``np.split``, ``astype(copy=False)``) no view of the shadow can be
taken.  If nothing is stored into that memory later, their result can be treated as a copy; otherwise the group is *torn*, and has no shadows.
"""

import operator as o
from typing import Any, Final

from hovis.errors import DerivativeError
from hovis.ir.analysis.control_flow import reverse_postorder
from hovis.ir.model import LASTING, Block, Edge, Effect, Function, Invoke, Op, Operand, Param, Value, callees, edges
from hovis.ir.operations import check_bound, make_list, make_tuple, missing
from hovis.lattice import Array, Const, Type, Union
from hovis.library.numpy.adjoints.cotangents import ALONE, MAY_COPY, VIEWS, is_basic, scatter, shadow_of
from hovis.library.numpy.adjoints.tangents import afresh, fitted_like
from hovis.library.numpy.rules.aliasing import holds_nothing, is_in, is_numpy, is_sharing
from hovis.passes.rewriting import copy, substitute
from hovis.passes.scalar.trivial_phis import trivial_phis
from hovis.transforms.source_places import told

#: In-place operators -> the operators that compute the same on immutable values.
PLAIN: Final[dict[Any, Any]] = {
    o.iadd: o.add, o.isub: o.sub, o.imul: o.mul, o.itruediv: o.truediv, o.ipow: o.pow, o.imatmul: o.matmul, o.ifloordiv: o.floordiv, o.imod: o.mod,
    o.iand: o.and_, o.ior: o.or_, o.ixor: o.xor, o.ilshift: o.lshift, o.irshift: o.rshift,
}  # fmt: skip


def is_array(operand: Operand) -> bool:
    """May operand be an array?"""
    kind = getattr(operand, "type", None)
    return isinstance(kind, Array) or (isinstance(kind, Union) and any(isinstance(one, Array) for one in kind.members))


def in_place(op: Op) -> bool:
    """Does op store into its first operand, an array, and return it?"""
    return is_in(op.callee, PLAIN) and is_array(op.args[0]) and isinstance(getattr(op.args[0], "type", None), Array)


def with_arrays_themselves(function: Function) -> Function:
    """Copy function, and replace the result of each ``a *= b`` by a, so that paths which merge later carry the one array."""
    made = copy(function)
    for one in callees(made):
        substitute(one, {op: op.args[0] for op in one.ops() if in_place(op)})
        trivial_phis.rewrite(one)
    return made


def is_store(op: Op) -> bool:
    """Does op store into its first operand, an array, and return nothing?"""
    return (op.callee is o.setitem or op.callee is scatter) and is_array(op.args[0])


def is_view(op: Op) -> bool:
    """May the result of op be a view of its first operand?"""
    if not op.args or not is_array(op.args[0]) or not is_array(op):
        return False
    if op.callee is o.getitem:
        return is_basic(op.args[1])
    if op.callee is getattr:
        return op.args[1] in (Const("T"), Const("mT"), Const("real"), Const("imag"))
    return is_in(op.callee, VIEWS) and ((len(op.args) == 1 and not op.kwargs) or not is_in(op.callee, ALONE))


def may_copy(op: Op) -> bool:
    """May op return either a view or a copy?"""
    return is_in(op.callee, MAY_COPY)


#: Functions, other than NumPy's, that return their first operand.
_SAME: Final = frozenset({afresh, check_bound, fitted_like})
#: Attributes that share memory with their array.
_SHOWING: Final = frozenset(map(Const, ("T", "mT", "real", "imag", "flat", "base")))


def is_loose(op: Op) -> bool:
    """May the result of op share memory with its operands in a way that no shadow follows?"""
    if in_place(op) or is_view(op) or holds_nothing(op):
        return False
    if op.callee is getattr:
        return op.args[1] in _SHOWING
    return is_in(op.callee, _SAME) or (is_numpy(op.callee) and is_sharing(op))


class Groups:
    """The groups of values in a function that may share memory.

    stored   the groups that something is stored into
    loose    the ops whose results share memory that is stored into, in a way that no shadow can follow
    torn     the groups of these ops, each with one of them
    """

    def __init__(self, function: Function) -> None:
        self.leader: dict[Value, Value] = {}
        self.torn: dict[Value, Op] = {}
        loose = _loose(function)
        if loose:
            # groups with all loose ops joined show which stores may reach the memory of each loose op later; only ops with such a store stay loose
            stores = self._grouped(function, loose)
            loose = {op for op in loose if _is_followed(function, op, {store for store in stores if self.of(store.args[0]) is self.of(op)})}  # type: ignore[arg-type]
            self.leader = {}
        stores = self._grouped(function, loose)
        self.stored = {self.of(store.args[0]) for store in stores}  # type: ignore[arg-type]
        self.loose = loose
        self.torn = {self.of(op): op for op in loose}

    def _grouped(self, function: Function, loose: set[Op]) -> list[Op]:
        """Join the values that share memory; return the ops that store into arrays."""
        found: list[Op] = []
        for block in function.blocks:
            for op in block.all_ops():
                if in_place(op) or is_view(op):
                    self._join(op, op.args[0])
                elif op in loose:
                    for operand in op.operands():
                        if isinstance(operand, Param | Op) and not holds_nothing(operand):
                            self._join(op, operand)
                if (in_place(op) or is_store(op)) and isinstance(op.args[0], Param | Op):
                    found.append(op)
            for edge in edges(block.terminator):
                for param, arg in zip(edge.block.params, edge.args, strict=True):
                    if is_array(param):
                        self._join(param, arg)
        return found

    def of(self, value: Value) -> Value:
        """Return the representative of the group of a value."""
        at = value
        while self.leader.get(at, at) is not at:
            at = self.leader[at]
        return at

    def is_stored(self, value: object) -> bool:
        """May something be stored into the memory of value?"""
        return isinstance(value, Param | Op) and self.of(value) in self.stored

    def _join(self, a: Operand, b: Operand) -> None:
        if isinstance(a, Param | Op) and isinstance(b, Param | Op):
            self.leader[self.of(a)] = self.of(b)

    def members(self, function: Function) -> list[set[Value]]:
        """Return the groups that something is stored into, as sets of their values."""
        found: dict[Value, set[Value]] = {}
        for block in function.blocks:
            values: list[Value] = [*block.params, *block.all_ops()]
            for value in values:
                if is_array(value) and self.is_stored(value):
                    found.setdefault(self.of(value), set()).add(value)
        return list(found.values())


def stores_parts_of_itself(store: Op, groups: Groups) -> bool:
    """Is the stored value a list with parts of the target array itself? NumPy copies them one after the other, and later ones may have been
    changed by then.
    """
    todo, group = [store.args[2]], groups.of(store.args[0])  # type: ignore[arg-type]
    while todo:
        value = todo.pop()
        if isinstance(value, Op) and value.callee in (make_list, make_tuple):
            todo += value.args
        elif value is not store.args[2] and is_array(value) and groups.of(value) is group:  # type: ignore[arg-type]
            return True
    return False


def _loose(function: Function) -> set[Op]:
    """Collect the ops whose results share memory in a way that no shadow follows, and the ops that take something from those results."""
    found: set[Op] = set()
    holders: set[Value] = set()
    more = True
    while more:
        more = False
        for block in function.blocks:
            for op in block.all_ops():
                if op not in found and (is_loose(op) or (not holds_nothing(op) and any(v in holders for v in op.operands()))):
                    found.add(op)
                    more = True
                    if not is_array(op):
                        holders.add(op)
            for edge in edges(block.terminator):
                new = {param for param, arg in zip(edge.block.params, edge.args, strict=True) if arg in holders} - holders
                holders |= new
                more = more or bool(new)
    return found


def _is_followed(function: Function, op: Op, stores: set[Op]) -> bool:
    """May one of the stores be executed after op?"""
    if not stores:
        return False
    home = next(block for block in function.blocks if op in set(block.all_ops()))
    ops = list(home.all_ops())
    if any(later in stores for later in ops[ops.index(op) :]):
        return True
    seen: set[Block] = set()
    todo = [edge.block for edge in edges(home.terminator)]
    while todo:
        block = todo.pop()
        if block not in seen:
            seen.add(block)
            if any(later in stores for later in block.all_ops()):
                return True
            todo += [edge.block for edge in edges(block.terminator)]
    return False


class Shadows:
    """The shadows of the groups that matter, made in the forward sweep; ``of`` maps an array to its shadow."""

    def __init__(self, function: Function, groups: Groups, active: set[Value]) -> None:
        self.of: dict[Value, Value] = {}
        self.groups = groups
        leaders = {groups.of(value) for value in active if groups.is_stored(value)}
        self.shadowed = leaders
        for leader in leaders & set(groups.torn):
            raise DerivativeError(f"{told(groups.torn[leader])} is a view of memory that is stored into, but has no part of its cotangent")
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
        """Check that an op which may copy does so exactly where its shadow does; raise DerivativeError for an array whose memory layout is
        unknown.
        """
        unknown = {self.groups.of(param) for param in function.params if self._has(param)}
        for op in function.ops():
            if may_copy(op) and self._has(op) and self.groups.of(op) in unknown:
                raise DerivativeError(f"an array is stored into, and parts of it may be views or copies: {told(op)}")

    def _has(self, value: object) -> bool:
        return isinstance(value, Param | Op) and is_array(value) and self.groups.of(value) in self.shadowed

    def has(self, value: object) -> bool:
        """Does value have a shadow?"""
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
        """Make the shadow of the result of op; the result of an in-place operator has the shadow of its operand."""
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
