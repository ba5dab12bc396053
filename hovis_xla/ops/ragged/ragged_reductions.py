"""Reductions of vectors of which only a run of elements counts, a few elements at a time.

An operation on a part of an array is done on the whole array (``ops/ragged/ragged_arrays``), which is cheap compared with a loop if the
part is much of the array.  If it may be a few elements of many, as a row of a sparse matrix is, the reduction iterates over these
elements: the operations that compute its operands are emitted once more, for a few positions at a time, and the long vectors become
dead code.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from hovis_xla.emit import builder, reductions
from hovis_xla.emit.builder import T, add, compare, like
from hovis_xla.emit.inplace_stores import CELLWISE
from hovis_xla.emit.values import INT64
from hovis_xla.jaxlib.adapter import attributes_of, ir
from hovis_xla.jaxlib.adapter import stablehlo as hlo
from hovis_xla.ops.ragged.extents import Span

#: Number of elements that are processed at a time.
WIDTH: Final = 16
#: Vectors shorter than LEAST, and operands computed from more than MOST values, are processed as a whole.
LEAST: Final = 128
MOST: Final = 60


def reduced(span: Span, operands: Sequence[T], start: T, step: Callable[..., T]) -> T | None:
    """Return ``start`` after ``step(it, here, *parts)`` for all elements of the span, WIDTH at a time; ``here`` is the mask of those that count.

    None if the span may well be much of its vector, or if the operations that compute the operands can't be emitted again.
    """
    size = span.shape[0]
    if size < LEAST or span.is_rest or not _can_narrow([x.ir for x in operands], size):
        return None

    def round(k: T, found: T) -> list[T]:
        begin = builder.op("minimum", k, like(size - WIDTH, k))
        made: dict[Any, Any] = {}
        parts = [T(_narrow(x.ir, begin, size, made), x.dtype, (WIDTH,)) for x in operands]
        at = add(builder.iota(INT64, (WIDTH,), 0), builder.broadcast(begin, (WIDTH,)))
        here = builder.and_(compare("GE", at, builder.broadcast(k, at.shape)), compare("LT", at, builder.broadcast(span.last, at.shape)))
        return [add(k, like(WIDTH, k)), step(found, here, *parts)]

    return reductions.repeat([span.first, start], lambda k, _: compare("LT", k, span.last), round)[1]


def _can_narrow(values: Sequence[Any], size: int) -> bool:
    """Are the vectors computed elementwise, or by gathers, from values that no loop changes?"""
    todo: list[Any] = list(values)
    seen: set[Any] = set()
    while todo:
        value = todo.pop()
        if value in seen:
            continue
        seen.add(value)
        made = _made_of(value, size)
        if made is None or len(seen) > MOST:
            return False
        todo += made
    return True


def _made_of(value: Any, size: int) -> list[Any] | None:
    """Return the vectors that a value is computed from element by element, or None if it is computed in another way."""
    shape = tuple(value.type.shape)
    if not shape:
        return []
    if shape[0] != size or shape[1:] not in ((), (1,)):
        return None
    if isinstance(value.owner, ir.Block):
        return [] if _is_argument(value) and len(shape) == 1 else None
    op = value.owner.operation
    name, operands = op.name.removeprefix("stablehlo."), list(op.operands)
    if name in ("constant", "iota"):
        return []
    if name == "gather":
        table, *operands = operands
        return operands if _is_argument(table) and len(table.type.shape) == 1 else None
    plain = op.name in CELLWISE or name in ("reshape", "broadcast_in_dim") or (name == "concatenate" and len(operands) == 1)
    return operands if plain and all(tuple(x.type.shape) in ((), (size,), (size, 1)) for x in operands) else None


def _is_argument(value: Any) -> bool:
    """Is the value an argument of the program?"""
    return isinstance(value.owner, ir.Block) and value.owner.owner.operation.name == "func.func"


def _narrow(value: Any, begin: T, size: int, made: dict[Any, Any]) -> Any:
    """Compute WIDTH elements of a vector, from ``begin`` on, without the others."""
    if value not in made:
        made[value] = _narrowed(value, begin, size, made)
    return made[value]


def _narrowed(value: Any, begin: T, size: int, made: dict[Any, Any]) -> Any:
    kind, shape = ir.RankedTensorType(value.type), tuple(value.type.shape)
    if not shape:
        return value
    if isinstance(value.owner, ir.Block):
        return hlo.dynamic_slice(value, [begin.ir], [WIDTH])
    op = value.owner.operation
    name = op.name.removeprefix("stablehlo.")
    narrow = ir.RankedTensorType.get([WIDTH, *shape[1:]], kind.element_type)
    if name == "constant" and op.attributes["value"].is_splat:
        return hlo.constant(ir.DenseElementsAttr.get_splat(narrow, op.attributes["value"].get_splat_value()))
    if name in ("constant", "iota"):
        zero = builder.constant(0, INT64).ir
        return hlo.dynamic_slice(value, [begin.ir, *(zero for _ in shape[1:])], [WIDTH, *shape[1:]])
    operands = [x if name == "gather" and k == 0 else _narrow(x, begin, size, made) for k, x in enumerate(op.operands)]
    return ir.Operation.create(op.name, results=[narrow], operands=operands, attributes=attributes_of(op)).results[0]


__all__ = ["reduced"]
