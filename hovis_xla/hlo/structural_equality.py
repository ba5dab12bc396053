"""Structural equality: are two values of a module computed in the same way? ``x[x > 0] = f(x[x > 0])`` has two masks that are equal."""

from typing import Any, Final

from hovis_xla.hlo.module import is_pure
from hovis_xla.jaxlib.adapter import attributes_of, ir

#: Values that are computed by more operations are assumed to be different.
MOST: Final = 64


def alike(a: Any, b: Any) -> bool:
    """Are a and b results of the same operations on the same operands?"""
    todo, seen = [(a, b)], set[tuple[Any, Any]]()
    while todo:
        pair = todo.pop()
        if pair[0] == pair[1] or pair in seen:
            continue
        seen.add(pair)
        if len(seen) > MOST or any(isinstance(value.owner, ir.Block) for value in pair):
            return False
        one, other = (value.owner.operation for value in pair)
        if not _do_the_same(one, other) or pair[0].result_number != pair[1].result_number or pair[0].type != pair[1].type:
            return False
        todo += zip(one.operands, other.operands, strict=True)
    return True


def _do_the_same(one: Any, other: Any) -> bool:
    if one.name != other.name or len(one.operands) != len(other.operands) or not (is_pure(one) and is_pure(other)):
        return False
    return attributes_of(one) == attributes_of(other)
