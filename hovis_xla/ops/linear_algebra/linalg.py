"""Linear algebra. Norms and powers are sums of products; decompositions are done by NumPy on the host: they agree to the last bit, including
signs of eigenvectors and cutoffs of ranks, which no other LAPACK would promise.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hovis.library.numpy.types.einsum_subscripts import Terms
from hovis_xla.abi import host_callbacks
from hovis_xla.emit import builder
from hovis_xla.emit.builder import T
from hovis_xla.emit.values import FALSE, NONE, Known, NotLowerable, Operand, ShapeUnknown, Val, view_roots
from hovis_xla.ops.array.elementwise import conjugate
from hovis_xla.ops.array.manipulation import array, as_array, parts_of
from hovis_xla.ops.array.reductions import axes_of, extreme, finish, total
from hovis_xla.ops.linear_algebra.contractions import contract, result, strong, sum_of_products
from hovis_xla.ops.scalar import complex_functions
from hovis_xla.ops.scalar.python_numbers import L, Row

_TWO: Final = Known(2)
_FROBENIUS: Final = Known("fro")


# ------------------------------------------------------------------------------------------------- norms


def _inexact(low: L, x: Operand) -> T | None:
    t = array(low, x)
    return builder.convert(t, np.dtype(float)) if t is not None and t.dtype.kind not in "fc" else t


def _size(t: T) -> T:
    return complex_functions.absolute(t) if t.dtype.kind == "c" else builder.absolute(t)


def _squares(t: T) -> T:
    return builder.real(builder.mul(conjugate(t), t))


def _vector_norm(t: T, axes: Sequence[int], ord: Any) -> T | None:
    """Return the norm over some dimensions, taken as one vector, or None if ord is not supported."""
    if ord is None or ord == 2:
        return builder.op("sqrt", total(_squares(t), axes))
    size = _size(t)
    if ord == 1:
        return total(size, axes)
    if ord in (math.inf, -math.inf):
        return extreme(size, axes, "maximum" if ord > 0 else "minimum")
    if ord == 0:
        return total(builder.convert(builder.compare("NE", t, builder.like(0, t)), size.dtype), axes)
    if not isinstance(ord, int | float):
        return None
    summed = total(builder.op("power", size, builder.like(ord, size)), axes)
    return builder.op("power", summed, builder.like(np.reciprocal(ord, dtype=size.dtype), summed))


def _matrix_norm(t: T, axes: tuple[int, int], ord: Any) -> T | None:
    """Return the norm of matrices, or None for the norms that need singular values, which are left to NumPy."""
    if ord in (None, "fro", "f"):
        return builder.op("sqrt", total(_squares(t), axes))
    if ord not in (1, -1, math.inf, -math.inf):
        return None
    first, second = axes if abs(ord) == 1 else axes[::-1]
    sums = total(_size(t), [first])
    return extreme(sums, [second - (first < second)], "maximum" if ord > 0 else "minimum")


def _norm(low: L, x: Operand, ord: Operand = NONE, axis: Operand = NONE, keepdims: Operand = FALSE) -> Operand | None:
    t = _inexact(low, x)
    axes = axes_of(axis, len(t.shape)) if t is not None else None
    if t is None or axes is None or not isinstance(ord, Known) or not isinstance(axis, Known) or len(set(axes)) < len(axes):
        return None
    if axis.value is None and ord.value is None:
        found = _vector_norm(t, axes, None)
    elif len(axes) == 1:
        found = _vector_norm(t, axes, ord.value)
    else:
        found = _matrix_norm(t, (axes[0], axes[1]), ord.value) if len(axes) == 2 else None
    return None if found is None else finish(found, axes, t.shape, keepdims)


def _norm_of_vectors(low: L, x: Operand, /, *, axis: Operand = NONE, keepdims: Operand = FALSE, ord: Operand = _TWO) -> Operand | None:
    t = _inexact(low, x)
    axes = axes_of(axis, len(t.shape)) if t is not None else None
    found = _vector_norm(t, axes, ord.value) if t is not None and axes is not None and isinstance(ord, Known) else None
    return None if found is None or t is None or axes is None else finish(found, axes, t.shape, keepdims)


def _norm_of_matrices(low: L, x: Operand, /, *, keepdims: Operand = FALSE, ord: Operand = _FROBENIUS) -> Operand | None:
    return _norm(low, x, ord, Known((-2, -1)), keepdims)


# ------------------------------------------------------------------------------------------------- products


def _matrix_power(low: L, a: Operand, n: Operand) -> Operand | None:
    t = array(low, a)
    if t is None or len(t.shape) < 2 or t.shape[-1] != t.shape[-2]:
        return None
    if isinstance(n, Val) and not n.num.shape:
        raise ShapeUnknown("the exponent of a matrix power is known only at run time (jit(..., static=...) makes it known)")
    if not isinstance(n, Known) or type(n.value) is not int or n.value < 0:
        return None
    if n.value == 0:
        return as_array(builder.broadcast(builder.constant(np.eye(t.shape[-1], dtype=t.dtype)), t.shape))
    if n.value == 1:
        return a  # the array itself
    return as_array(_raised(t, n.value))


def _raised(t: T, n: int) -> T:
    """Raise a matrix to the power n with the products in NumPy's order: two for a cube, otherwise by the bits of n."""
    if n == 3:
        return _times(_times(t, t), t)
    found: T | None = None
    while True:
        if n & 1:
            found = t if found is None else _times(found, t)
        n >>= 1
        if not n:
            assert found is not None
            return found
        t = _times(t, t)


def _times(x: T, y: T) -> T:
    k = len(x.shape) - 2
    batch = list(range(k))
    return contract(x, y, ([k + 1], [k]), (batch, batch))


def _multi_dot(low: L, arrays: Operand) -> Operand | None:
    """Lower ``np.linalg.multi_dot``; only the first and the last operand may be a vector."""
    tensors = [strong(low, p) for p in parts_of(arrays) or ()]
    found = [t for t in tensors if t is not None]
    last = len(found) - 1
    if last < 1 or last + 1 < len(tensors) or len({t.dtype for t in found}) > 1:
        return None
    if any(len(t.shape) != 2 and not (len(t.shape) == 1 and k in (0, last)) for k, t in enumerate(found)):
        return None
    labels = [tuple(c for c in (k, k + 1) if len(t.shape) == 2 or c == (1 if k == 0 else k)) for k, t in enumerate(found)]
    if any(x.shape[-1] != y.shape[0] for x, y in itertools.pairwise(found)):
        raise NotLowerable("a product of matrices whose shapes do not match: NumPy raises an exception")
    ends = tuple(c for c in (0, last + 1) if any(c in label for label in labels))
    return result(sum_of_products(found, Terms(tuple(labels), ends)))


# ------------------------------------------------------------------------------------------------- decompositions, least squares


def _lstsq(low: L, a: Operand, b: Operand, rcond: Operand = NONE) -> Operand | None:
    """Lower ``np.linalg.lstsq`` to a call on the host. NumPy returns residuals only for a matrix of full rank, which is assumed until a call
    shows otherwise.
    """
    return host_callbacks.attempt(low, np.linalg.lstsq, [a, b, rcond], {}, low.op, general=True)


def _matrix_transpose(low: L, x: Operand, /) -> Operand | None:
    t = array(low, x)
    if t is None or len(t.shape) < 2:
        return None
    k = len(t.shape)
    found = as_array(builder.transpose(t, [*range(k - 2), k - 1, k - 2]))
    return Val(found.num, found.ir, roots=view_roots([low.val(x)]))


_NEWER: Final[dict[str, Row]] = {"vector_norm": _norm_of_vectors, "matrix_norm": _norm_of_matrices, "matrix_transpose": _matrix_transpose}

ROWS: Final[dict[Any, Row]] = {
    np.linalg.norm: _norm, np.linalg.matrix_power: _matrix_power, np.linalg.multi_dot: _multi_dot, np.linalg.lstsq: _lstsq,
    **{getattr(np.linalg, name): row for name, row in _NEWER.items() if hasattr(np.linalg, name)},
    **({np.matrix_transpose: _matrix_transpose} if hasattr(np, "matrix_transpose") else {}),
}  # fmt: skip
