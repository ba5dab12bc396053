"""Whether XLA may compute a stored value while it stores it, in one pass over the array.

A store takes its value from behind a barrier (``array_values``), because XLA would copy the array if the value reads cells that the
store overwrites.  If the value does not, or reads each cell only for the cell's own new content, the barrier is not needed: it costs a
pass over memory, and keeps XLA from fusing both into one kernel.
"""

from collections.abc import Sequence
from typing import Any, Final

from hovis_xla.emit.affine import difference
from hovis_xla.emit.builder import T, stablehlo_names
from hovis_xla.jaxlib.adapter import ir

#: Values of fewer elements always get a barrier: loops over scalars consist of such stores.
LEAST: Final = 32

#: A value that is computed by more operations is assumed to read the array.
MOST: Final = 400

#: XLA has the results of these operations in memory before it continues: their operands have been read by then.
KEPT: Final = frozenset({
    "func.call", "stablehlo.while", "stablehlo.if", "stablehlo.case", "stablehlo.dot_general", "stablehlo.convolution", "stablehlo.sort",
    "stablehlo.custom_call", "stablehlo.fft",
})  # fmt: skip

#: Operations that compute each cell of the result from the same cell of the operands of its shape: those whose bits never depend on the other
#: cells, and all.
EXACT: Final = stablehlo_names(
    "abs add and ceil compare convert divide floor is_finite maximum minimum multiply negate not or select shift_left shift_right_arithmetic "
    "shift_right_logical sign sqrt subtract xor"
)
CELLWISE: Final = EXACT | stablehlo_names(
    "atan2 cbrt clamp complex cosine count_leading_zeros exponential exponential_minus_one imag log log_plus_one logistic popcnt power real remainder "
    "round_nearest_afz round_nearest_even rsqrt sine tan tanh"
)

Store = tuple[T, T, tuple[T, ...]]


def is_computed_in_place(t: T, update: T, starts: Sequence[T], reads: Sequence[T], stored: "dict[Any, Store]") -> bool:
    """Whether storing ``update`` into ``t`` at ``starts`` may be one pass. ``reads`` are the values that must be read from t before the store,
    ``stored`` the stores emitted until now.
    """
    if update.size < LEAST:
        return False
    contents = {t.ir}
    before = stored.get(t.ir)
    while before is not None:
        contents.add(before[0].ir)
        before = stored.get(before[0].ir)
    left = {x.ir for x in reads}
    # a value; are all operations on the path from it to the update cellwise; does one of them put its result into memory (KEPT)?
    todo: list[tuple[Any, bool, bool]] = [(update.ir, True, False)]
    seen: set[Any] = set()
    while todo:
        at = todo.pop()
        value, cellwise, kept = at
        if value in contents and not kept:
            return False
        if at in seen:
            continue
        seen.add(at)
        if len(seen) > MOST:
            return False
        left.discard(value)
        if isinstance(value.owner, ir.Block):
            continue
        op = value.owner.operation
        if cellwise and not kept and op.operands and op.operands[0] == t.ir and _is_box(op, update, starts):
            continue
        kept = kept or op.name in KEPT
        cellwise = cellwise and op.name in CELLWISE
        todo += [(x, cellwise, kept) for x in op.operands]
    return not left


def unread(update: T, reads: Sequence[T]) -> list[T]:
    """Return the reads that ``update`` does not depend on, and therefore does not wait for."""
    left, todo, seen = {x.ir: x for x in reads}, [update.ir], set[Any]()
    while todo and left and len(seen) < MOST:
        value = todo.pop()
        if value in seen:
            continue
        seen.add(value)
        left.pop(value, None)
        if not isinstance(value.owner, ir.Block):
            todo += value.owner.operation.operands
    return list(left.values())


def _is_box(op: Any, update: T, starts: Sequence[T]) -> bool:
    """Does the operation read exactly the cells that are stored into?"""
    if tuple(ir.RankedTensorType(op.results[0].type).shape) != update.shape:
        return False
    if op.name == "stablehlo.dynamic_slice":
        return all(difference(s.ir, at) == 0 for s, at in zip(starts, list(op.operands)[1:], strict=True))
    if op.name == "stablehlo.slice":
        whole = all(n == 1 for n in op.attributes["strides"])
        return whole and all(difference(s.ir, at) == 0 for s, at in zip(starts, op.attributes["start_indices"], strict=True))
    return False
