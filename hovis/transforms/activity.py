"""Activity analysis for derivatives: the values that depend on the wanted arguments and on which the results depend."""

from collections.abc import Iterable, Iterator
from typing import Any

from hovis.errors import DerivativeError
from hovis.ir.model import Block, Effect, Function, Invoke, Op, Operand, Param, Value, callees, edges
from hovis.ir.operations import drop, get, keep, make_list, make_tuple, put, revise
from hovis.lattice import Array, Const, Type
from hovis.library.numpy.adjoints.cotangents import cotangent_type, differentiable
from hovis.library.numpy.adjoints.shadow_memory import writes_out
from hovis.library.tables.derivatives import Own
from hovis.passes.rewriting import ByIdentity
from hovis.transforms import derivative_rules
from hovis.transforms.aliasing import PLAIN, Groups, in_place, is_store
from hovis.transforms.normal_form import Normal, type_of
from hovis.transforms.source_places import place

_TAPES = ByIdentity((get, put, revise))
_KEEPING = ByIdentity((drop, keep))


def plain(op: Op) -> Op:
    """Return op, with an in-place operator replaced by the one that computes the same for immutable values."""
    try:
        callee = PLAIN.get(op.callee)
    except TypeError:
        return op
    return op if callee is None else Op(callee, op.args, (), op.type, op.dims, op.effect, op.location)


def flowing(op: Op) -> Iterator[int]:
    """Yield the positions of the operands (keyword operands after the others) of which the result is a differentiable function."""
    if op.callee in _TAPES:
        yield 0
        yield from range(2, len(op.args))
        return
    row = derivative_rules.of(plain(op))
    count = len(op.args) + len(op.kwargs)
    if row is None or op.callee in (make_tuple, make_list) or isinstance(op.callee, Function):
        yield from range(count)
    elif not row.constant:
        for k in range(count):
            told = bool(row.every_pull or row.definition) or k >= len(op.args)
            if told or k >= len(row.pulls) or row.pulls[k] is not None:
                yield k


def operand(op: Op, k: int) -> Operand:
    """Return the k-th operand of op; keyword operands come after the others."""
    return op.args[k] if k < len(op.args) else op.kwargs[k - len(op.args)][1]


class Activity:
    """The active values (``active``), and for each block those that are still used after it (``live``: at its end)."""

    def __init__(self, normal: Normal, wanted: Iterable[Value], results: Iterable[Operand], groups: Groups) -> None:
        self.normal = normal
        self.groups = groups
        self.bound: dict[Value, set[Value]] = {value: group for group in groups.members(normal.function) for value in group}
        self.flows: dict[Op, list[Operand]] = {op: [operand(op, k) for k in flowing(op)] for op in normal.function.ops()}
        self.stored = _stores(normal.function)
        varied = self._closure(wanted, self._forward())
        useful = self._closure([v for v in results if isinstance(v, Param | Op)], self._backward())
        self.active = {v for v in varied & useful if differentiable(type_of(v))}
        self._check(varied)
        self.counts = {groups.of(v) for v in self.active if groups.is_stored(v)} | self._read()
        self.live = self._liveness([v for v in results if v in self.active])

    def _closure(self, start: Iterable[Value], leads: dict[Value, list[Value]]) -> set[Value]:
        found = set(start)
        todo = list(found)
        while todo:
            value = todo.pop()
            for other in (*leads.get(value, ()), *self.bound.get(value, ())):
                if other not in found and differentiable(type_of(other)):
                    found.add(other)
                    todo.append(other)
        return found

    def _pairs(self) -> Iterator[tuple[Value, Value]]:
        """Yield the pairs (source, target) of data flow: operand and result, argument and parameter, stored value and array."""
        for block in self.normal.function.blocks:
            for op in block.all_ops():
                for operand in self.flows[op]:
                    if isinstance(operand, Param | Op):
                        yield operand, op
            for edge in edges(block.terminator):
                for param, arg in zip(edge.block.params, edge.args, strict=True):
                    if isinstance(arg, Param | Op):
                        yield arg, param
        yield from iter(self.stored)

    def _forward(self) -> dict[Value, list[Value]]:
        found: dict[Value, list[Value]] = {}
        for source, target in self._pairs():
            found.setdefault(source, []).append(target)
        return found

    def _backward(self) -> dict[Value, list[Value]]:
        found: dict[Value, list[Value]] = {}
        for source, target in self._pairs():
            found.setdefault(target, []).append(source)
        return found

    def is_busy(self, block: Block) -> bool:
        """Does block contain anything that has to be reversed?"""
        return any(param in self.active for param in block.params) or any(op in self.active or self.acts(op) for op in block.all_ops())

    def _check(self, varied: set[Value]) -> None:
        """Raise DerivativeError if an op that may store into something in an unknown way gets a value that depends on the wanted arguments."""
        for op in self.normal.function.ops():
            if is_store(op) or in_place(op) or op.callee in _TAPES or not any(v in varied for v in op.operands()):
                continue
            if isinstance(op.callee, Function):
                if _stores_elsewhere(op.callee, op not in self.active):
                    raise DerivativeError(f"{op.callee.name} stores into its arguments, and is not inlined ({place(op)})")
            elif writes_out(op.callee, op.args, dict(op.kwargs)) or (
                op not in self.active and _is_unknown_store(op)
            ):
                raise DerivativeError(derivative_rules.unknown(op))

    def _read(self) -> set[Value]:
        """Collect the groups with stores whose contents an active op may read."""
        found = (v for op in self.normal.function.ops() if op in self.active for v in op.operands())
        return {self.groups.of(v) for v in found if self.groups.is_stored(v)}  # type: ignore[arg-type]

    def acts(self, op: Op) -> bool:
        """Does op store into memory that matters to the derivative?"""
        return (in_place(op) or is_store(op)) and isinstance(op.args[0], Param | Op) and self.groups.of(op.args[0]) in self.counts

    def uses(self, block: Block) -> set[Value]:
        """Collect the active values that an active op or parameter uses in block."""
        found: set[Any] = {v for op in block.all_ops() for v in self._reversed(op)}
        for edge in edges(block.terminator):
            found |= {arg for param, arg in zip(edge.block.params, edge.args, strict=True) if param in self.active and arg in self.active}
        return found

    def _reversed(self, op: Op) -> set[Value]:
        """Collect the active values that get a contribution to their cotangent when op is reversed."""
        given = [*(self.flows[op] if op in self.active else ()), *(op.args[2:3] if is_store(op) else ())]
        return {v for v in given if isinstance(v, Param | Op) and v in self.active}

    def _liveness(self, results: list[Operand]) -> dict[Block, set[Value]]:
        blocks = self.normal.function.blocks
        given = {block: set(self.normal.defined(block)) for block in blocks}
        before = {block: self.uses(block) - given[block] for block in blocks}
        before[self.normal.end] |= {v for v in results if isinstance(v, Param | Op)} - given[self.normal.end]
        after: dict[Block, set[Value]] = {block: set() for block in blocks}
        for block in blocks:
            if isinstance(block.terminator, Invoke):
                # the op of an Invoke is reversed at the end of this block, when the reverse sweep comes back over the ok edge
                after[block] |= self._reversed(block.terminator.op)
            for edge in edges(block.terminator):
                after[block] |= {
                    arg
                    for param, arg in zip(edge.block.params, edge.args, strict=True)
                    if param in self.active and arg in self.active and isinstance(arg, Param | Op)
                }
        after[self.normal.end] |= {v for v in results if isinstance(v, Param | Op)}
        todo = list(blocks)
        while todo:
            block = todo.pop()
            for source, _ in self.normal.incoming[block]:
                fresh = before[block] - after[source]
                if fresh:
                    after[source] |= fresh
                    more = fresh - given[source] - before[source]
                    if more:
                        before[source] |= more
                        todo.append(source)
        for block in blocks:
            for source, _ in self.normal.incoming[block]:
                after[source] |= before[block]
        return after


#: Classes whose instances can't be stored into.
_FIXED = frozenset({int, bool, float, complex, str, bytes, tuple, type(None), range, slice, type})


def _may_store(op: Op) -> bool:
    """Does op have an operand that may be mutable?"""
    kinds = [type_of(v) for v in op.operands() if not isinstance(v, Const)]
    return any(isinstance(kind, Array) or not (isinstance(kind, Type) and (kind.cls in _FIXED or cotangent_type(kind) == kind)) for kind in kinds)


def _stores_elsewhere(function: Function, unseen: bool) -> bool:
    """May a residual function, or one of its callees, store into its arguments? unseen: nothing else checks the ops in it."""
    for one in callees(function):
        groups = Groups(one)
        given = {groups.of(param) for param in one.params}
        for op in one.ops():
            if is_store(op) or in_place(op):
                if isinstance(op.args[0], Param | Op) and groups.of(op.args[0]) in given:
                    return True
            elif writes_out(op.callee, op.args, dict(op.kwargs)) or (unseen and _is_unknown_store(op)):
                return True
    return False


def _is_unknown_store(op: Op) -> bool:
    """May op store into something in a way that no rule describes?"""
    writes = op.effect & (Effect.WRITES | Effect.OPAQUE) and not isinstance(op.callee, Function) and op.callee not in _KEEPING
    return bool(writes) and derivative_rules.of(op) is None and (isinstance(op.callee, Own) or _may_store(op))


def _stores(function: Function) -> list[tuple[Value, Value]]:
    """Return the pairs (stored value, the array that it is stored into)."""
    return [(op.args[2], op.args[0]) for op in function.ops() if is_store(op) and isinstance(op.args[2], Param | Op) and isinstance(op.args[0], Param | Op)]
