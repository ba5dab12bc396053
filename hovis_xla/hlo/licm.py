"""Loop-invariant code motion for modules of StableHLO, in loops over numbers and cells.

XLA hoists all invariants out of a loop, each operation separately, even if it is equal to another.  But values from outside are carried by
the loop, and XLA's native loops store the address of each carried value in every iteration: a comparison or a sum costs less than that.
If there are many cheap invariants, they therefore stay in the loop: the costly ones are hoisted here, and XLA is told to leave the rest.
"""

from typing import Any, Final

from hovis_xla.emit.block_slots import block_of
from hovis_xla.emit.builder import stablehlo_names
from hovis_xla.emit.inplace_stores import EXACT
from hovis_xla.hlo.module import Module, body_of, is_pure, operations, size_of
from hovis_xla.jaxlib.adapter import attributes_of

#: If XLA would hoist more than this many cheap operations out of a loop, they are better left in it.
MANY: Final = 8

#: Operations that take no more than a cycle for a number; below, those that cost nothing, which XLA does not hoist on their own.
_LIGHT: Final = (EXACT - stablehlo_names("divide sqrt")) | stablehlo_names("bitcast_convert clamp complex dynamic_slice imag optimization_barrier real")
_FREE: Final = stablehlo_names("broadcast_in_dim constant iota reshape reverse slice transpose")


def hoist_invariants(module: Module) -> bool:
    """Hoist costly loop invariants; return whether the cheap ones are to stay in the loops.

    If they are not, the module has not been changed.
    """
    found = [(loop, _invariant(loop)) for loop in module.loops]
    light = [sum(op.name in _LIGHT for op in ops) for _, ops in found]
    if max(light, default=0) <= MANY or any(_is_wide(op) for _, ops in found for op in ops if op.name not in _FREE):
        return False
    for loop, _ in found:
        _take_out(loop)
    return True


def _invariant(loop: Any) -> list[Any]:
    """Return the loop-invariant operations of the body, in order."""
    found: list[Any] = []
    body = body_of(loop)
    alike: set[Any] = set()
    for op in operations(body):
        if is_pure(op) and all(v in alike or block_of(v) != body for v in op.operands):
            alike.update(op.results)
            found.append(op)
    return found


def costs_little(op: Any) -> bool:
    """Does an operation take no more than a cycle, on about one element?"""
    return op.name in _LIGHT | _FREE and not _is_wide(op)


def _is_wide(op: Any) -> bool:
    """Does an operation have a result of more than one element?"""
    return any(size_of(result) != 1 for result in op.results)


def _take_out(loop: Any) -> None:
    """Hoist the costly invariants of a loop, with the operations that they depend on; equal operations become one."""
    needed: set[Any] = set()
    ops = _invariant(loop)
    for op in reversed(ops):
        dear = op.name not in _LIGHT | _FREE
        if dear or any(r in needed for r in op.results):
            needed.update([*op.results, *op.operands])
    done: dict[Any, Any] = {}
    for op in ops:
        if not any(r in needed for r in op.results):
            continue
        key = op.name, tuple(op.operands), tuple(attributes_of(op).items()), tuple(r.type for r in op.results)
        same = done.get(key)
        if same is None:
            op.move_before(loop)
            done[key] = op
            continue
        for old, new in zip(op.results, same.results, strict=True):
            old.replace_all_uses_with(new)
        op.erase()
