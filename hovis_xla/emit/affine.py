"""Constant differences of integer values in a StableHLO module, by their affine forms."""

from typing import Any, Final

from hovis.ir.analysis import affine
from hovis_xla.jaxlib.adapter import ir


def difference(a: Any, b: Any) -> int | None:
    """Return a - b, or None if the difference is not a known constant. Operands are MLIR values or Python integers."""
    return affine.difference(a, b, _made)


def form(value: Any) -> affine.Form:
    """Return the affine form of an integer of the module: a sum of multiples of values, and a constant."""
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
    # op.operands is read for sums only, to save time: the lowering of loops does this thousands of times
    return (_SUMS[name], *op.operands) if name in _SUMS else None


_SUMS: Final = {f"stablehlo.{name}": name for name in ("add", "subtract", "multiply", "negate")}
