"""What integers of a program differ by, where that is a known number: of ``i`` and ``i + 3``."""

from typing import Any

from hovis_xla.adapter import ir

#: As deep an expression is looked into.
DEPTH = 12

#: A sum of values, each so many times, and a number.
Form = tuple[dict[Any, int], int]


def difference(a: Any, b: Any) -> int | None:
    """a - b, if that is known."""
    (x, c), (y, d) = form(a, DEPTH), form(b, DEPTH)
    return c - d if x == y else None


def form(value: Any, depth: int) -> Form:
    """An integer as a sum."""
    owner = value.owner
    if isinstance(owner, ir.Block) or not depth:
        return {value: 1}, 0
    name, operands = owner.operation.name, list(owner.operation.operands)
    if name == "stablehlo.constant":
        attribute = owner.operation.attributes["value"]
        return ({}, int(attribute.get_splat_value().value)) if attribute.is_splat else ({value: 1}, 0)
    if name in ("stablehlo.add", "stablehlo.subtract"):
        return _sum(form(operands[0], depth - 1), form(operands[1], depth - 1), 1 if name.endswith("add") else -1)
    if name == "stablehlo.negate":
        return _sum(({}, 0), form(operands[0], depth - 1), -1)
    if name == "stablehlo.multiply":
        a, b = (form(v, depth - 1) for v in operands)
        if not a[0] or not b[0]:
            return _sum(({}, 0), b if not a[0] else a, a[1] if not a[0] else b[1])
    return {value: 1}, 0


def _sum(a: Form, b: Form, times: int) -> Form:
    found = dict(a[0])
    for value, count in b[0].items():
        found[value] = found.get(value, 0) + count * times
    return {v: n for v, n in found.items() if n}, a[1] + b[1] * times
