"""Replace sorts of which only a few elements are used, as in ``np.argsort(distance, kind="stable")[:k]``.

XLA leaves a sort to a library, calls its comparison through a pointer, and does not compile a loop with a sort in it to native code.  A few
elements at either end are found faster by searching, once for each, for the least element that has not been found yet.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from hovis_xla.emit import builder, reductions, slicing
from hovis_xla.emit.builder import T, add, and_, compare, like, not_, or_, select, sub, tensor_of
from hovis_xla.emit.values import INT64
from hovis_xla.hlo.module import Module, is_pure, operations, operations_in
from hovis_xla.jaxlib.adapter import attributes_of, ir
from hovis_xla.jaxlib.adapter import stablehlo as hlo

#: Vectors shorter than this are sorted, and so are longer ones if more elements are used than ``FEW`` times the logarithm of their length.
SHORT: Final = 16
FEW: Final = 1.5

Less = Callable[[Sequence[T], Sequence[T]], T]


def select_partially(module: Module) -> None:
    """Replace sorts of which a few elements are used by searches for these elements."""
    for op in operations_in(module.ir, "stablehlo.sort"):
        wanted = _wanted(op)
        if wanted is not None:
            _replace(op, *wanted)


def _wanted(op: Any) -> tuple[int, bool] | None:
    """Return how many elements of a sort's result are used, and whether they are at the end; None if they are not few."""
    shape = ir.RankedTensorType(op.results[0].type).shape
    uses = [use.owner.operation for result in op.results for use in result.uses]
    if len(shape) != 1 or shape[0] < SHORT or not uses or any(use.name != "stablehlo.slice" or use.attributes["strides"][0] != 1 for use in uses):
        return None
    body = op.regions[0].blocks[0]
    if not all(is_pure(op) or op.name == "stablehlo.return" for op in operations(body)):
        return None
    front = max(use.attributes["limit_indices"][0] for use in uses)
    end = shape[0] - min(use.attributes["start_indices"][0] for use in uses)
    few = min(front, end)
    return (few, end < front) if few <= FEW * math.log2(shape[0]) else None


def _replace(op: Any, few: int, at_end: bool) -> None:
    body = op.regions[0].blocks[0]
    operands = list(map(tensor_of, op.operands))
    size = operands[0].shape[0]

    def less(a: Sequence[T], b: Sequence[T]) -> T:
        pairs = [x for pair in zip(a, b, strict=True) for x in (pair[::-1] if at_end else pair)]
        return _inlined(body, pairs)

    with op.location, ir.InsertionPoint(op):
        chosen = _chosen(operands, less, few, at_end)
    for result, new in zip(list(op.results), chosen, strict=True):
        for use in [use.owner.operation for use in result.uses]:
            start, stop = (use.attributes[name][0] - (size - few if at_end else 0) for name in ("start_indices", "limit_indices"))
            with use.location, ir.InsertionPoint(use):
                part = hlo.slice(new.ir, [start], [stop], [1])
            use.results[0].replace_all_uses_with(part)
            use.erase()
    op.erase()


def _chosen(operands: Sequence[T], less: Less, few: int, at_end: bool) -> list[T]:
    """Return the first elements in order; ``at_end``: the last ones, least first, with the order reversed. Of equal elements, the first one
    comes first.
    """
    size, count = operands[0].shape[0], len(operands)
    behind = functools.partial(compare, "LT" if at_end else "GT")
    places = builder.iota(INT64, (size,), 0)
    zero = builder.constant(0, INT64)
    none = [builder.zeros(x.dtype, ()) for x in operands]

    def better(*both: T) -> list[T]:
        (out, place, *a), (other_out, other_place, *b) = both[: count + 2], both[count + 2 :]
        in_order = or_(less(a, b), and_(not_(less(b, a)), behind(other_place, place)))
        mine = or_(and_(not_(out), other_out), and_(compare("EQ", out, other_out), in_order))
        return [select(mine, x, y) for x, y in zip((out, place, *a), (other_out, other_place, *b), strict=True)]

    def search(k: T, place: T, *rest: T) -> list[T]:
        before, found, given = rest[:count], rest[count : 2 * count], rest[2 * count :]
        last = [builder.broadcast(x, (size,)) for x in before]
        later = or_(less(last, given), and_(not_(less(given, last)), behind(places, builder.broadcast(place, (size,)))))
        out = and_(not_(later), builder.broadcast(compare("GT", k, zero), (size,)))
        # the initial value, to which every element is preferred
        worst = [builder.constant(True), builder.constant(-1 if at_end else size, INT64), *none]
        _, place, *best = reductions.reduce([out, places, *given], worst, [0], better)
        at = sub(like(few - 1, k), k) if at_end else k
        found = tuple(slicing.dynamic_update_slice(f, builder.reshape(x, (1,)), [at]) for f, x in zip(found, best, strict=True))
        return [add(k, like(1, k)), place, *best, *found, *given]

    start = [zero, zero, *none, *(builder.zeros(x.dtype, (few,)) for x in operands), *operands]
    return reductions.repeat(start, lambda k, *_: compare("LT", k, like(few, k)), search)[2 + count : 2 + 2 * count]


def _inlined(body: Any, values: Sequence[T]) -> T:
    """Emit the comparison of a sort for these values, numbers or vectors of numbers; return its result."""
    shape = values[0].shape
    known = {argument: value.ir for argument, value in zip(body.arguments, values, strict=True)}
    *computing, end = operations(body)
    for op in computing:
        if op.name == "stablehlo.constant":
            known[op.results[0]] = builder.broadcast(tensor_of(op.clone().results[0]), shape).ir
            continue
        types = [ir.RankedTensorType.get(shape, r.type.element_type) for r in op.results]
        made = ir.Operation.create(op.name, types, [known[x] for x in op.operands], attributes_of(op))
        known.update(zip(op.results, made.results, strict=True))
    return tensor_of(known[end.operands[0]])
