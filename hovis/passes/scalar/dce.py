"""Dead code elimination: ops without lasting effect, unused parameters, and drops of objects that are not needed.

The needed values are found by marking: the roots are ops with lasting effects and the operands of terminators; then their operands
are marked, and so on.  A parameter that is only passed to itself is never reached.  Some ops follow their operand: ``drop`` of an
object, and ``raised`` of a new exception, are needed if the object is.
"""

from collections.abc import Iterator
from typing import Any

from hovis.ir import operations
from hovis.ir.analysis.control_flow import predecessors, terminator_operands, uses
from hovis.ir.analysis.live_ranges import is_object
from hovis.ir.model import LASTING, Block, Branch, Function, Invoke, Op, Operand, Param, Raise, Return, Value
from hovis.lattice import Const
from hovis.passes.rewriting import CHANGES_EXCEPTION, Pass, effect_of, incoming_args, is_exception_made_here, is_one_of, keep_params

_LASTING = LASTING._value_


def _dce(function: Function) -> bool:
    """Eliminate dead code.

    Ops without lasting effect whose results are not used are removed, and block parameters that are not used.
    """
    needed = _Needed(function)
    changed = False
    for block in function.blocks:
        kept = [op for op in block.ops if op in needed.found]
        if len(kept) < len(block.ops):
            block.ops = kept
            changed = True
        for op in block.all_ops():
            if op.dims:
                op.dims = needed.dims(op.dims)
    drop = {param for param in needed.args if param not in needed.found}
    if drop:
        keep_params(function, drop.__contains__)
    for block in function.blocks[1:]:
        for param in block.params:
            if param.dims:
                param.dims = needed.dims(param.dims)
    return _ended_at_once(function) or changed or bool(drop)


def _ended_at_once(function: Function) -> bool:
    """Remove drops of temporaries that end where they are made, or used for the only time: the assembler releases them there in any case. Return
    whether there were any.
    """
    if not any(op.callee is operations.drop for block in function.blocks for op in block.ops):
        return False
    used, before = uses(function), _made_before(function)
    found: set[Op] = set()
    for block in function.blocks:
        made = set(block.ops)
        for k, op in enumerate(block.ops):
            value: Any = op.args[0] if op.callee is operations.drop else None
            last = block.ops[k - 1] if k else before.get(block)
            if not isinstance(value, Op) or last is None or operations.drop in (last.callee, *(one.callee for one in block.ops[k + 1 : k + 2])):
                continue
            if used[value] == 1 + sum(one is value for one in last.operands()) and (last is value or (k and value in made and used[value] > 1)):
                found.add(op)
    for block in function.blocks if found else ():
        block.ops = [op for op in block.ops if op not in found]
    return bool(found)


def _made_before(function: Function) -> dict[Block, Op]:
    """Map each block that is reached only by the ok edge of an Invoke to the op of that Invoke."""
    incoming = predecessors(function)
    ends = [block.terminator for block in function.blocks]
    return {end.ok.block: end.op for end in ends if isinstance(end, Invoke) and len(incoming[end.ok.block]) == 1}


dce = Pass(_dce)


class _Needed:
    """The needed values (``found``), computed from the roots, which are certainly needed."""

    def __init__(self, function: Function) -> None:
        self.args = dict(incoming_args(function))
        self.found: set[Value] = set()
        self.followers: dict[Operand, list[Value]] = {}
        self._todo: list[Value] = []
        for value in self._roots(function):
            self._need(value)
        while self._todo:
            value = self._todo.pop()
            for operand in value.operands() if isinstance(value, Op) else self.args.get(value, ()):
                self._need(operand)
            for follower in self.followers.get(value, ()):
                self._need(follower)

    def _need(self, operand: Operand) -> None:
        if isinstance(operand, Param | Op) and operand not in self.found:
            self.found.add(operand)
            self._todo.append(operand)

    def _roots(self, function: Function) -> Iterator[Operand]:
        dropped: list[Value] = []
        yield from iter(function.params)
        for block in function.blocks:
            for op in block.ops:
                if op.callee is operations.drop or op.callee is operations.keep:
                    self._drop(op, dropped)
                elif is_one_of(op.callee, CHANGES_EXCEPTION):
                    yield from self._raise(op)
                elif op.effect._value_ & _LASTING and effect_of(op)._value_ & _LASTING:  # the same with enumerations takes ten times as long
                    yield op
            yield from self._end(block)
        self._follow_sources(dropped)

    def _end(self, block: Block) -> Iterator[Operand]:
        """Yield the values that the terminator of a block uses, without the arguments of its edges."""
        match block.terminator:
            case Branch():
                yield block.terminator.cond
            case Invoke():
                yield block.terminator.op
            case Return() | Raise():
                yield from terminator_operands(block.terminator)

    def _drop(self, op: Op, dropped: list[Value]) -> None:
        (value,) = op.args
        if isinstance(value, Param | Op) and is_object(value.type):
            self.followers.setdefault(value, []).append(op)
            if isinstance(value, Param) or not effect_of(value) & LASTING:
                dropped.append(value)

    def _raise(self, op: Op) -> Iterator[Operand]:
        """Treat an op that changes an exception: it is needed if somebody else may hold the exception, otherwise if the exception is needed."""
        if not is_exception_made_here(op.args[0]):
            yield op
        elif isinstance(op.args[0], Op):
            self.followers.setdefault(op.args[0], []).append(op)

    def _follow_sources(self, dropped: list[Value]) -> None:
        """Make values with an observable finalization depend on their sources: a parameter is needed if one of its possible arguments is, the result of a
        read or an allocation if an operand is.
        """
        todo: list[Value] = list(dropped)
        seen = set(todo)
        while todo:
            value = todo.pop()
            made = isinstance(value, Op) and not effect_of(value) & LASTING
            for arg in value.operands() if made else self.args.get(value, ()):  # type: ignore[union-attr, arg-type]
                self.followers.setdefault(arg, []).append(value)
                if isinstance(arg, Param | Op) and arg not in seen:
                    seen.add(arg)
                    todo.append(arg)

    def dims(self, dims: tuple[Operand, ...]) -> tuple[Operand, ...]:
        """Replace dimensions that nothing computes by None: a dimension does not count as a use."""
        if all(isinstance(dim, Const) or dim in self.found for dim in dims):
            return dims
        return tuple(dim if isinstance(dim, Const) or dim in self.found else Const(None) for dim in dims)
