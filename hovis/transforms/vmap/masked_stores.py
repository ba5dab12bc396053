"""Arrays that are stored into where lanes have parted: one array object throughout, in which the active lanes change their part."""

import operator
from typing import TYPE_CHECKING, Any

from hovis.ir.model import Block, Effect, Op, Param, Value
from hovis.lattice import Const
from hovis.library.numpy.batching.base import ZEROS, of_active
from hovis.library.numpy.batching.indexing import made_for, stored_for
from hovis.transforms.aliasing import in_place, is_array, is_view
from hovis.transforms.rule_tracing import declines, refusal, traced
from hovis.transforms.vmap.batch import not_in_place
from hovis.transforms.vmap.divergence import Diverging, told, writes_first_operand
from hovis.transforms.vmap.lane_types import is_none

if TYPE_CHECKING:
    from hovis.transforms.vmap.masked_control_flow import Masked


def stored_arrays(masked: "Masked") -> None:
    """Collect the arrays that are stored into where lanes have parted; raise Diverging if a store may mean one of several arrays, or a view is
    used beyond its block.
    """
    home: dict[Any, Block] = {value: block for block in masked.old.blocks for value in (*block.params, *block.all_ops())}
    stores = [op for block in masked.parted for op in block.all_ops() if op.effect & Effect.WRITES or writes_first_operand(op)]
    if any(not writes_first_operand(op) for op in stores):
        raise Diverging("lanes that have parted change an array by more than an index")
    groups = {masked.groups.of(op.args[0]) for op in stores}  # type: ignore[arg-type]
    roots: dict[Value, Value] = {}
    for value, block in home.items():
        if not is_array(value) or masked.groups.of(value) not in groups:
            continue
        masked.memory.add(value)
        if isinstance(value, Op) and (is_view(value) or in_place(value)):
            if block in masked.parted and is_view(value) and any(home.get(user) is not block for user in masked.users.get(value, ())):
                raise Diverging("a part of an array is stored into beyond the place that shows it")
            continue
        if masked.groups.of(value) in roots or (isinstance(value, Param) and value not in masked.old.params):
            raise Diverging("lanes that have parted store into one of several arrays")
        roots[masked.groups.of(value)] = value
        if block in masked.parted:
            masked.made[value] = Const(None)


def make_room(masked: "Masked", start: Block) -> None:
    """Emit arrays of zeros, as the memory for the arrays that are made where lanes have parted."""
    writer = masked.writer(start)
    for value in masked.made:
        assert isinstance(value, Op | Param)
        kind, dims = masked.kind_of(value)
        masked.made[value] = writer.op(ZEROS, Const(tuple([d.value for d in dims])), Const(str(kind.dtype)), type=kind, dims=dims)  # type: ignore[union-attr]


def with_memory(masked: "Masked", writer: Any, op: Op) -> None:
    """Emit an op that may show, change or read arrays which are stored into."""
    assert masked.local is not None
    shown = [v for v in op.operands() if isinstance(v, Op | Param) and v in masked.memory]
    if is_none(masked.follows) or not (shown or op in masked.made):
        masked.op(writer, op)
    elif shown and writes_first_operand(op):
        _store(masked, writer, op)
    elif shown and is_view(op):
        masked.op(writer, op)
    elif shown == [op.args[0]] and op.callee is operator.getitem:
        masked.op(writer, op)
        masked.new[op] = writer.rule(of_active, masked.new[op], masked.follows)
    else:
        kept = {v: masked.local[v] for v in shown}
        masked.local |= {v: writer.rule(of_active, array, masked.follows) for v, array in kept.items()}
        masked.op(writer, op)
        masked.local |= kept
        if op in masked.made:
            masked.new[op] = writer.rule(made_for, masked.mask, masked.made[op], masked.new[op])


def _store(masked: "Masked", writer: Any, op: Op) -> None:
    """Emit a store by the active lanes."""
    assert masked.local is not None
    writer.location = op.location
    array = masked.local[op.args[0]]  # type: ignore[index]
    index: Any = Const(Ellipsis)
    which: Any = (True, False, True)
    if op.callee is operator.setitem:
        given, differs = masked.stored(writer, op, masked.value(op.args[2]))
        which, index = (*map(masked.of, op.args[:2]), differs), masked.value(op.args[1])
    else:
        plain = not_in_place(op)
        found = {v: masked.local[v] for v in op.operands() if isinstance(v, Op | Param) and v in masked.memory}
        masked.local |= {v: writer.rule(of_active, one, masked.follows) for v, one in found.items()}
        given = masked.lanewise(writer, plain, tuple(map(masked.of, op.args)), tuple(map(masked.value, op.args)), {})
        masked.local |= found
        masked.new[op] = array
    function, values = traced(stored_for, [Const(masked.lanes), Const(which), masked.mask, array, index, given], {})
    if refusal(function) is not None or declines(function):
        raise Diverging(told(op, "is a store of another kind, by lanes that have parted"))
    writer.inline(function, values)
