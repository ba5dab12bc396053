"""What integers of a module of StableHLO differ by, where that is a known number."""

from typing import Any

from hovis.ir import affine
from hovis_xla.adapter import ir


def difference(a: Any, b: Any) -> int | None:
    """a - b, if that is known, of values of the module or numbers."""
    return affine.difference(a, b, _made)


def form(value: Any) -> affine.Form:
    """An integer of the module as a sum."""
    return affine.form(value, _made)


def _made(value: Any) -> tuple[Any, ...] | None:
    if isinstance(value, int):
        return "constant", value
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    name, operands = owner.operation.name.removeprefix("stablehlo."), list(owner.operation.operands)
    if name == "constant":
        attribute = owner.operation.attributes["value"]
        known = attribute.get_splat_value() if attribute.is_splat else None
        return ("constant", int(known.value)) if isinstance(known, ir.IntegerAttr) else None
    return (name, *operands) if name in ("add", "subtract", "multiply", "negate") else None
