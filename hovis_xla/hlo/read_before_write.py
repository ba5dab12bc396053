"""What a round of a loop reads of an array, it reads before it stores into it.

``un, vn = u.copy(), v.copy(); u[1:-1] = f(un, vn); v[1:-1] = g(un, vn)`` reads the old ``u`` once more after the new one has been stored.
XLA has one place for what a loop carries, so it would copy the array in every round.  But what is read again is only what other values
are made of: where these are in memory anyway, a store waits until they are, and is done in place.  Where all of an array is made anew,
and others are made of its mask (``inside = abs(z) < 2; n[inside] = k; z[inside] = …``), the mask is in memory, and made once.

It is done where the module is finished, of loops in which arrays are changed.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from hovis_xla.emit.block_slots import block_of
from hovis_xla.emit.builder import shape_of
from hovis_xla.emit.inplace_stores import CELLWISE, KEPT
from hovis_xla.hlo.iteration_dependence import counter_of, element_of
from hovis_xla.hlo.module import Module, is_pure, last_of, operations
from hovis_xla.jaxlib.adapter import context, ir

#: Arrays of fewer elements are copied sooner than waited for.
LEAST: Final = 64

#: A store that would wait for more values is left as it is.
MOST: Final = 8

#: What is made of an array by more operations is not looked at, nor are more masks.
FAR: Final = 2000
MASKS: Final = 16

_STORE: Final = "stablehlo.dynamic_update_slice"
#: What may be moved in front of a store, besides what is one operation.
_MOVED: Final = frozenset({"func.call", "stablehlo.reduce", "stablehlo.reduce_window"})
_LOOP: Final = "stablehlo.while"


def order_reads_before_writes(module: Module) -> None:
    """Order reads of an array before stores into it, so that it is updated in place.

    Have the loops of a module read what they change before they change it.
    """
    with context(), ir.Location.unknown(context()):
        joined = [value for loop in module.loops for value in _join(loop)]
        for loop in module.loops:
            if any(_is_large(a) for a in loop.regions[1].blocks[0].arguments):
                _Body(module, loop.regions[1].blocks[0], joined).write()


def _join(loop: Any) -> list[Any]:
    """An array that a loop carries twice, as one that was copied at the end of a round and not changed since, is looked at in one place; those places."""
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
    """What a loop does in a round."""

    def __init__(self, module: Module, block: Any, joined: Sequence[Any]) -> None:
        self.module = module
        self.joined = joined
        self.block = block

    def write(self) -> None:
        for op in operations(self.block):
            if op.name == _STORE and _is_large(op.operands[0]) and block_of(op.operands[0]) == self.block:
                self._wait(op)
        walked = any(map(_is_product, operations(self.block)))
        for array, end in zip(self.block.arguments, list(last_of(self.block).operands), strict=True):
            if _is_large(array) and end != array:
                self._keep_mask(array, end)
                if not walked:
                    self._wait_anew(array, end)

    # --------------------------------------------------------------------------------------------- stores into parts

    def _wait(self, store: Any) -> None:
        """Have a store wait for all else that is made of the array as it is before."""
        array, update = list(store.operands)[:2]
        made = self._made_of(array, [store])
        if made is None or not (made or array in self.joined):
            return
        before = self._behind([store.results[0]])
        late = [value for value in made if value not in before]
        if len(late) > MOST or not all(map(_is_tensor, late)) or (late and not self._move_up(late, store)):
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
        """Have values made before a store, if that can be."""
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
        """Have a value in memory before it is looked at."""
        if value.owner.operation.name in KEPT:
            return value
        with ir.InsertionPoint.after(value.owner.operation):
            kept = self.module.barrier(value)[0]
        value.replace_all_uses_except(kept, kept.owner.operation)
        return kept

    def _hide_the_end(self, loop: Any) -> None:
        """XLA knows what a loop has counted to before it is done, and nothing waits for that; so where it begins is hidden."""
        count = counter_of(loop) if loop.name == _LOOP else None
        number = next((a for a in self.block.arguments if _is_tensor(a) and not shape_of(a)), None)
        if count is not None and number is not None:
            with ir.InsertionPoint(loop):
                loop.operands[count.place] = self.module.barrier(loop.operands[count.place], number)[0]

    # --------------------------------------------------------------------------------------------- arrays that are made anew

    def _keep_mask(self, array: Any, end: Any) -> None:
        """Have what an array becomes wait for the mask that all else is made of which is made of the array."""
        made = self._made_of(array)
        if not made or all(value == end for value in made):
            return
        behind = self._behind([end])
        late = [value for value in made if value not in behind]
        if not late:
            return
        masks = [m for m in self._ahead(array)[0] if m in behind and str(element_of(m)) == "i1" and _is_large(m) and m.owner.operation.name not in KEPT]
        for mask in masks[:MASKS]:
            if not any(value in late for value in self._ahead(array, [mask])[1]):
                self._keep(mask)
                return

    def _wait_anew(self, array: Any, end: Any) -> None:
        """Have what an array becomes, if each cell of it is made of the same cell, wait for all else that is made of the array."""
        readers = self._cellwise_readers(array, end)
        made = self._made_of(array) if readers else None
        if not made:
            return
        behind = self._behind([end])
        late = [value for value in made if value not in behind]
        if not 0 < len(late) <= MOST or not all(map(_is_tensor, late)):
            return
        needed = self._behind(late)
        if any(op.results[0] in needed for op in readers) or not self._move_up(late, readers[0]):
            return
        late = [value if self._only_goes_round(value) else self._keep(value) for value in late]
        with ir.InsertionPoint(readers[0]):
            kept = self.module.barrier(array, *late)[0]
        for op in readers:
            for k, operand in enumerate(op.operands):
                if operand == array:
                    op.operands[k] = kept

    def _cellwise_readers(self, array: Any, end: Any) -> list[Any]:
        """The operations, in order, by which an array becomes what it does, reading it; none, if one of its cells is made of others."""
        todo, seen, found = [(end, True)], set[tuple[Any, bool]](), set[Any]()
        while todo and len(seen) <= FAR:
            at = todo.pop()
            value, cellwise = at
            if at in seen or isinstance(value.owner, ir.Block):
                continue
            seen.add(at)
            op = value.owner.operation
            if op.block != self.block or op.name in KEPT or len(op.regions):
                continue
            cellwise = cellwise and op.name in CELLWISE
            if array in list(op.operands):
                if not cellwise:
                    return []
                found.add(op)
            todo += [(v, cellwise) for v in op.operands]
        return [op for op in operations(self.block) if op in found] if len(seen) <= FAR else []

    def _only_goes_round(self, value: Any) -> bool:
        """Is a value used for nothing but the next round, so that it is in memory?"""
        return all(use.owner.operation == last_of(self.block) for use in value.uses)

    # --------------------------------------------------------------------------------------------- what is made of what

    def _made_of(self, array: Any, stores: Sequence[Any] = ()) -> list[Any] | None:
        """The values in memory that are made of an array, but for these stores; None: the array itself goes on."""
        if any(self._goes_on(use, stores) for use in array.uses):
            return None
        seen, found = self._ahead(array, skipped=stores)
        return found if len(seen) <= FAR else None

    def _goes_on(self, use: Any, stores: Sequence[Any]) -> bool:
        op = use.owner.operation
        return op == last_of(self.block) or (op.name == _STORE and op not in stores)

    def _ahead(self, array: Any, without: Sequence[Any] = (), skipped: Sequence[Any] = ()) -> tuple[list[Any], list[Any]]:
        """What is made of an array without being in memory, and what of it is in memory."""
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
        """The operation of the body that an operation is, or is in."""
        while op.block != self.block:
            op = op.block.owner.operation
        return op

    def _behind(self, values: Iterable[Any]) -> set[Any]:
        """What values are made of in a round, and they themselves."""
        todo, seen = list(values), set[Any]()
        while todo:
            value = todo.pop()
            if value in seen or isinstance(value.owner, ir.Block) or value.owner.operation.block != self.block:
                continue
            seen.update(value.owner.operation.results)
            todo += [v for v in _operands(value.owner.operation) if v not in seen]
        return seen


def _told_by(op: Any) -> Any:
    """The result that says that an operation is done: a number, if there is one."""
    tensors = [r for r in op.results if _is_tensor(r)]
    return next((r for r in tensors if not shape_of(r)), tensors[0] if tensors else op.results[0])


def _operands(op: Any) -> Iterator[Any]:
    """What an operation uses, and those in it."""
    yield from op.operands
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from _operands(inner.operation)


def _is_product(op: Any) -> bool:
    """Is it a product of matrices, which a library does?  A loop with one is walked, and a copy is nothing beside it."""
    return bool(op.name == "stablehlo.dot_general") and all(len(shape_of(x)) > 1 for x in op.operands)


def _is_large(value: Any) -> bool:
    return _is_tensor(value) and math.prod(shape_of(value)) >= LEAST


def _is_tensor(value: Any) -> bool:
    return isinstance(value.type, ir.RankedTensorType)
