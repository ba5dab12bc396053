"""Linear algebra."""

import math
from typing import Any, Final

import numpy as np

from hovis_xla import emit
from hovis_xla.ops.python import L, Row
from hovis_xla.ops.reductions import axes_of, extreme, finish, total
from hovis_xla.ops.shaping import array
from hovis_xla.types import FALSE, NONE, Known, Operand

# ------------------------------------------------------------------------------------------------- linalg


def _norm(low: L, x: Operand, ord: Operand = NONE, axis: Operand = NONE, keepdims: Operand = FALSE) -> Operand | None:
    t = array(low, x)
    if t is None or not isinstance(ord, Known) or not isinstance(axis, Known) or t.dtype.kind == "c":
        return None
    if t.dtype.kind != "f":
        t = emit.convert(t, np.dtype(float))
    axes = axes_of(axis, len(t.shape))
    if axes is None:
        return None
    if ord.value is None or (ord.value == 2 and len(axes) == 1) or (ord.value == "fro" and len(axes) == 2):
        return finish(emit.op("sqrt", total(emit.mul(t, t), axes)), axes, t.shape, keepdims)
    if len(axes) != 1:
        return None
    size = emit.absolute(t)
    if ord.value == 1:
        return finish(total(size, axes), axes, t.shape, keepdims)
    if ord.value in (math.inf, -math.inf):
        return finish(extreme(size, axes, "maximum" if ord.value > 0 else "minimum"), axes, t.shape, keepdims)
    return None


ROWS: Final[dict[Any, Row]] = {np.linalg.norm: _norm}
