"""What integers of a module of StableHLO differ by, where that is a known number."""

from typing import Any, Final

from hovis.ir.analysis import affine
from hovis_xla.jaxlib.adapter import ir


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
    op = owner.operation
    name = op.name
    if name == "stablehlo.constant":
        attribute = op.attributes["value"]
        known = attribute.get_splat_value() if attribute.is_splat else None
        return ("constant", int(known.value)) if isinstance(known, ir.IntegerAttr) else None
    # the operands of what is no sum are not asked for: lowering loops does this thousands of times
    return (_SUMS[name], *op.operands) if name in _SUMS else None


_SUMS: Final = {f"stablehlo.{name}": name for name in ("add", "subtract", "multiply", "negate")}
