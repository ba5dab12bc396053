"""Order the reads of an array, in an iteration of a loop, before the stores into it.

``un, vn = u.copy(), v.copy(); u[1:-1] = f(un, vn); v[1:-1] = g(un, vn)`` reads the old ``u`` once more after the new one has been stored.
XLA has one buffer for each value that a loop carries, so it would copy the array in every iteration.  But the later reads only serve to
compute other values: if these are put into memory anyway, the store waits until they are, and is done in place.  If the whole array is
computed again, and others are computed from a mask of it (``inside = abs(z) < 2; n[inside] = k; z[inside] = …``), the mask is computed once
and put into memory.

This pass runs on the finished module, on loops in which arrays are changed.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from hovis_xla.emit.block_slots import block_of
from hovis_xla.emit.builder import shape_of
from hovis_xla.emit.inplace_stores import KEPT
from hovis_xla.hlo.iteration_dependence import counter_of
from hovis_xla.hlo.module import Module, body_of, element_of, is_pure, is_tensor, last_of, operations, operations_in, size_of
from hovis_xla.jaxlib.adapter import ir

#: Arrays of fewer elements are left alone: copying them is faster than waiting.
LEAST: Final = 64

#: A store that would wait for more values is left as it is.
MOST: Final = 8

#: Maximal number of values that a search through the computations visits, and of masks that are tried.
FAR: Final = 2000
MASKS: Final = 16

_STORE: Final = "stablehlo.dynamic_update_slice"
#: What may be moved in front of a store, besides pure single operations.
_MOVED: Final = frozenset({"func.call", "stablehlo.reduce", "stablehlo.reduce_window"})
_LOOP: Final = "stablehlo.while"


def order_reads_before_writes(module: Module) -> None:
    """Order reads of an array before stores into it, so that it is updated in place."""
    loops = module.loops
    joined = [value for loop in loops for value in _join(loop)]
    for loop in loops:
        if any(map(_is_large, body_of(loop).arguments)):
            _Body(module, body_of(loop), joined).write()


def _join(loop: Any) -> list[Any]:
    """Use one of the two values where a loop carries an array twice (as one that was copied at the end of an iteration and not changed since);
    return the block arguments that are used.
    """
    blocks = [region.blocks[0] for region in loop.regions]
    found: dict[Any, int] = {}
    joined = []
    for k, both in enumerate(zip(loop.operands, last_of(blocks[1]).operands, strict=True)):
        first = found.setdefault(both, k)
        if first != k:
            for values in (loop.results, *(block.arguments for block in blocks)):
                values[k].replace_all_uses_with(values[first])
            joined.append(blocks[1].arguments[first])
    return joined


class _Body:
    """The body of a loop, while its reads are ordered before its stores."""

    def __init__(self, module: Module, block: Any, joined: Sequence[Any]) -> None:
        self.module = module
        self.joined = joined
        self.block = block

    def write(self) -> None:
        for op in operations(self.block):
            if op.name == _STORE and _is_large(op.operands[0]) and block_of(op.operands[0]) == self.block:
                self._wait(op)
        for array, end in zip(self.block.arguments, list(last_of(self.block).operands), strict=True):
            if _is_large(array) and end != array:
                self._keep_mask(array, end)

    # --------------------------------------------------------------------------------------------- stores into parts

    def _wait(self, store: Any) -> None:
        """Have a store wait for all other values that are computed from the array as it was before."""
        array, update = list(store.operands)[:2]
        made = self._made_of(array, [store])
        if made is None or not (made or array in self.joined):
            return
        before = self._behind([store.results[0]])
        late = [value for value in made if value not in before]
        if len(late) > MOST or not all(map(is_tensor, late)) or (late and not self._move_up(late, store)):
            return
        for use in array.uses:
            self._hide_the_end(self._at(use.owner.operation))
        if (late or array in self.joined) and update in self._ahead(array)[0]:
            self._keep(update)
        if late:
            late = [self._keep(value) for value in late]
            with ir.InsertionPoint(store):
                store.operands[0] = self.module.barrier(array, *late)[0]

    def _move_up(self, values: Sequence[Any], store: Any) -> bool:
        """Move the computation of these values in front of a store; return whether that is possible."""
        needed = self._behind(values)
        if store.results[0] in needed:
            return False
        order = operations(self.block)
        moved = [op for op in order[order.index(store) + 1 :] if any(r in needed for r in op.results)]
        if not all(is_pure(op) or op.name in _MOVED for op in moved):
            return False
        for op in moved:
            op.move_before(store)
        return True

    def _keep(self, value: Any) -> Any:
        """Emit a barrier that puts a value into memory before it is used; return the value to use."""
        return value if value.owner.operation.name in KEPT else self.module.materialize(value)

    def _hide_the_end(self, loop: Any) -> None:
        """Hide the start of a loop's counter: XLA knows the final count before the loop is done, and would not wait for the loop."""
        count = counter_of(loop) if loop.name == _LOOP else None
        number = next((a for a in self.block.arguments if is_tensor(a) and not shape_of(a)), None)
        if count is not None and number is not None:
            with ir.InsertionPoint(loop):
                loop.operands[count.place] = self.module.barrier(loop.operands[count.place], number)[0]

    # --------------------------------------------------------------------------------------------- arrays that are computed as a whole

    def _keep_mask(self, array: Any, end: Any) -> None:
        """Materialize a mask, if all other values that depend on the array are computed from it, so that the array's new value waits for the
        mask alone.
        """
        made = self._made_of(array) or []
        behind = self._behind([end] if made else [])
        late = [value for value in made if value not in behind]
        if not late:
            return
        masks = [m for m in self._ahead(array)[0] if m in behind and str(element_of(m)) == "i1" and _is_large(m) and m.owner.operation.name not in KEPT]
        for mask in masks[:MASKS]:
            if not any(value in late for value in self._ahead(array, [mask])[1]):
                self._keep(mask)
                return

    # --------------------------------------------------------------------------------------------- dependences

    def _made_of(self, array: Any, stores: Sequence[Any] = ()) -> list[Any] | None:
        """Return the values in memory that are computed from an array, apart from these stores; None if the array itself is passed on."""
        users = [use.owner.operation for use in array.uses]
        if any(op == last_of(self.block) or (op.name == _STORE and op not in stores) for op in users):
            return None
        seen, found = self._ahead(array, skipped=stores)
        return found if len(seen) <= FAR else None

    def _ahead(self, array: Any, without: Sequence[Any] = (), skipped: Sequence[Any] = ()) -> tuple[list[Any], list[Any]]:
        """Return the values that are computed from an array without being in memory, and those computed from these that are in memory."""
        todo, seen, found = [array], dict.fromkeys([array]), dict[Any, None]()
        while todo and len(seen) <= FAR:
            value = todo.pop()
            for use in value.uses:
                op = self._at(use.owner.operation)
                if use.operand_number == 0 and op in skipped:
                    continue
                if op.name == _STORE or op == last_of(self.block):
                    found[value] = None
                elif op.name in KEPT or len(op.regions):
                    found[_told_by(op)] = None
                else:
                    todo += [r for r in op.results if r not in seen and r not in without]
                    seen.update(dict.fromkeys(op.results))
        return list(seen), list(found)

    def _at(self, op: Any) -> Any:
        """Return the operation of the body that is op, or that contains it."""
        while op.block != self.block:
            op = op.block.owner.operation
        return op

    def _behind(self, values: Iterable[Any]) -> set[Any]:
        """Return these values, and all values of the iteration that they are computed from."""
        todo, seen = list(values), set[Any]()
        while todo:
            value = todo.pop()
            if value in seen or isinstance(value.owner, ir.Block) or value.owner.operation.block != self.block:
                continue
            seen.update(value.owner.operation.results)
            todo += [v for v in _operands(value.owner.operation) if v not in seen]
        return seen


def _told_by(op: Any) -> Any:
    """Return a result that shows that an operation is done: a number, if there is one."""
    tensors = [r for r in op.results if is_tensor(r)]
    return next((r for r in tensors if not shape_of(r)), tensors[0] if tensors else op.results[0])


def _operands(op: Any) -> list[Any]:
    """Return the operands of an operation and of those nested in it."""
    return [value for inner in (operations_in(op) if len(op.regions) else [op]) for value in inner.operands]


def _is_large(value: Any) -> bool:
    return size_of(value) >= LEAST
