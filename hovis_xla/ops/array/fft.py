"""Fourier transforms. Each is a sequence of transforms along one axis, as in NumPy; a transform along the last axes in order is one operation."""

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from hovis.lattice.inspection import is_a
from hovis.library.numpy.rules.fft import ALONG_MANY, ALONG_ONE, DOUBLING, HALVING, length
from hovis_xla.emit import builder, slicing
from hovis_xla.emit.block_slots import tensor
from hovis_xla.emit.builder import T
from hovis_xla.emit.values import LAST, NONE, Known, Operand
from hovis_xla.jaxlib.adapter import stablehlo as hlo
from hovis_xla.ops.array.elementwise import conjugate
from hovis_xla.ops.array.manipulation import array, as_array, sizes
from hovis_xla.ops.scalar.python_numbers import L, Row

_SWAPPED: Final = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}
#: Maximum number of axes that XLA transforms in one operation, and of frequencies that become a constant of the program.
_ONE_OPERATION: Final = 3
_MOST_FREQUENCIES: Final = 1 << 16


def _kind(name: str) -> Any:
    return hlo.FftTypeAttr.get(name)


def _fitted(t: T, n: int) -> T:
    """Return t cut or zero-padded to n elements along the last axis."""
    last = t.shape[-1]
    if n < last:
        return slicing.static_slice(t, [0] * len(t.shape), [*t.shape[:-1], n], [1] * len(t.shape))
    return slicing.pad(t, 0, [0] * len(t.shape), [*[0] * (len(t.shape) - 1), n - last]) if n > last else t


def _scale(t: T, n: int, forward: bool, norm: str | None, real: "np.dtype[Any]") -> T:
    """Multiply by NumPy's normalization factor, in the precision of its operand. XLA's inverse transforms divide by the length."""
    scaled = norm == "ortho" or (norm == "forward") == forward
    inverse: Any = np.reciprocal(np.sqrt(n, dtype=real) if norm == "ortho" else n, dtype=real) if scaled else 1.0
    factor = float(inverse) * (1 if forward else n)
    return t if factor == 1.0 else builder.mul(t, builder.like(factor, t))


def _real(t: T) -> T:
    return builder.convert(t, np.dtype(np.float32 if t.dtype.kind == "f" and t.dtype.itemsize <= 4 else np.float64))


def _complex(t: T) -> T:
    return t if t.dtype.kind == "c" else builder.convert(t, np.result_type(_real(t).dtype, np.complex64))


def transform(one: Any, t: T, n: int, norm: str | None) -> T:
    """Transform t along the last axis; n is the number of elements of the longer of operand and result."""
    if one is np.fft.hfft:
        return transform(np.fft.irfft, conjugate(t), n, _SWAPPED[norm])
    if one is np.fft.ihfft:
        return conjugate(transform(np.fft.rfft, t, n, _SWAPPED[norm]))
    real = np.result_type(builder.real(t).dtype, 1.0)
    if one is np.fft.rfft:
        return _run("RFFT", _fitted(_real(t), n), [n], n // 2 + 1, norm, real)
    if one is np.fft.irfft:
        return _run("IRFFT", _fitted(_complex(t), n // 2 + 1), [n], n, norm, real)
    return _run("FFT" if one is np.fft.fft else "IFFT", _fitted(_complex(t), n), [n], n, norm, real)


def _run(name: str, t: T, lengths: Sequence[int], last: int, norm: str | None, real: "np.dtype[Any]") -> T:
    dtype = np.empty(0, t.dtype).real.dtype if name == "IRFFT" else np.result_type(t.dtype, np.complex64)
    shape = (*t.shape[:-1], last)
    if 0 in t.shape[: len(t.shape) - len(lengths)]:
        return builder.zeros(dtype, shape)
    found = T(hlo.fft(t.ir, _kind(name), list(lengths)), dtype, shape)
    return _scale(found, math.prod(lengths), name in ("FFT", "RFFT"), norm, real)


def _along(one: Any, t: T, n: int | None, axis: int, norm: str | None) -> T | None:
    """Transform t along any axis; return None if the arguments are not supported."""
    size = length(one, t.shape[axis], n)
    long = n if n is not None else size if one in DOUBLING else t.shape[axis]
    if long < 1 or not t.shape[axis] or (one in HALVING and t.dtype.kind == "c"):
        return None
    rank = len(t.shape)
    order = [*(k for k in range(rank) if k != axis), axis]
    found = transform(one, builder.transpose(t, order), long, norm)
    return builder.transpose(found, [order.index(k) for k in range(rank)])


def _norm(norm: Operand) -> tuple[str | None] | None:
    """Return the known norm in a 1-tuple, or None if it is not known or not valid."""
    return (norm.value,) if isinstance(norm, Known) and (norm.value is None or norm.value in _SWAPPED) else None


def _narrowed(one: Any, t: T, found: T | None) -> Operand | None:
    """Return the result as an array: in half precision if the operand is and the result is real. None stays None."""
    if found is None:
        return None
    return as_array(builder.convert(found, t.dtype) if one in DOUBLING and t.dtype == np.float16 else found)


def _row_along_one(one: Any) -> Row:
    def row(low: L, a: Operand, n: Operand = NONE, axis: Operand = LAST, norm: Operand = NONE) -> Operand | None:
        t, how = array(low, a), _norm(norm)
        size = (None,) if isinstance(n, Known) and n.value is None else sizes(n, "the length of a transform")
        if t is None or how is None or size is None or len(size) != 1 or not isinstance(axis, Known) or not is_a(axis.value, int):
            return None
        if not -len(t.shape) <= axis.value < len(t.shape):
            return None
        return _narrowed(one, t, _along(one, t, size[0], axis.value % len(t.shape), how[0]))

    return row


def _row_along_many(one: Any, default: tuple[int, ...] | None) -> Row:
    default_axes = Known(default)

    def row(low: L, a: Operand, s: Operand = NONE, axes: Operand = default_axes, norm: Operand = NONE) -> Operand | None:
        t, how = array(low, a), _norm(norm)
        lengths = None if isinstance(s, Known) and s.value is None else sizes(s, "the length of a transform")
        if t is None or how is None or not isinstance(axes, Known) or (lengths is None and not (isinstance(s, Known) and s.value is None)):
            return None
        over = tuple(range(len(t.shape))) if axes.value is None else tuple(axes.value)
        if not over or not all(isinstance(k, int) and -len(t.shape) <= k < len(t.shape) for k in over):
            return None
        if lengths is not None and (axes.value is None or len(lengths) != len(over)):
            return None
        return _narrowed(one, t, _along_many(one, t, lengths, [k % len(t.shape) for k in over], how[0]))

    return row


def _along_many(one: Any, t: T, lengths: Sequence[int] | None, axes: Sequence[int], norm: str | None) -> T | None:
    whole = one in (np.fft.fft, np.fft.ifft) and lengths is None and len(axes) <= _ONE_OPERATION and t.size and t.dtype != np.float16
    if whole and list(axes) == list(range(len(t.shape) - len(axes), len(t.shape))):
        dtype = np.result_type(builder.real(t).dtype, 1.0)
        return _run("FFT" if one is np.fft.fft else "IFFT", _complex(t), [t.shape[k] for k in axes], t.shape[-1], norm, dtype)
    given = [t.shape[k] for k in axes] if lengths is None else [t.shape[k] if n == -1 else n for k, n in zip(axes, lengths, strict=True)]
    if lengths is None and one is np.fft.irfft:
        given[-1] = 2 * (given[-1] - 1)
    first, rest = (one, np.fft.fft) if one is np.fft.rfft else (np.fft.ifft, one) if one is np.fft.irfft else (one, one)
    steps = list(zip(axes, given, strict=True))
    # the real axis comes first in a forward transform and last in an inverse one; like NumPy, forward from the last axis, irfft from the first
    order = steps if one is np.fft.irfft else steps[::-1]
    found: T | None = t
    for k, (axis, n) in enumerate(order):
        which = (rest if k == len(order) - 1 else first) if one is np.fft.irfft else (first if k == 0 else rest)
        found = None if found is None else _along(which, found, n, axis, norm)
    return found


# ------------------------------------------------------------------------------------------------- shifts, frequencies


def _shift(half: Callable[[int], int]) -> Row:
    def row(low: L, x: Operand, axes: Operand = NONE) -> Operand | None:
        t = array(low, x)
        if t is None or not isinstance(axes, Known):
            return None
        over = range(len(t.shape)) if axes.value is None else (axes.value,) if is_a(axes.value, int) else axes.value
        if not all(isinstance(k, int) and -len(t.shape) <= k < len(t.shape) for k in over):
            return None
        for axis in over:
            t = _rolled(t, half(t.shape[axis]), axis % len(t.shape))
        return as_array(t)

    return row


def _rolled(t: T, by: int, axis: int) -> T:
    size = t.shape[axis]
    cut = -by % size if size else 0
    if not cut:
        return t
    starts, stops, steps = [0] * len(t.shape), list(t.shape), [1] * len(t.shape)
    ahead = slicing.static_slice(t, [*starts[:axis], cut, *starts[axis + 1 :]], stops, steps)
    behind = slicing.static_slice(t, starts, [*stops[:axis], cut, *stops[axis + 1 :]], steps)
    return slicing.concatenate([ahead, behind], axis)


def _frequencies(fn: Any) -> Row:
    """Make the lowering of ``fftfreq`` or ``rfftfreq``: integers, each multiplied by ``1.0 / (n * d)``."""

    def row(low: L, n: Operand, d: Operand = Known(1.0)) -> Operand | None:  # noqa: B008  # a value
        count = sizes(n, "a number of frequencies")
        if count is None or not 1 <= count[0] <= _MOST_FREQUENCIES:
            return None
        if isinstance(d, Known):
            return as_array(builder.constant(fn(count[0], d.value)))
        step = low.call(operator.truediv, [Known(1.0), low.call(operator.mul, [n, d], {})], {})
        whole = builder.constant(np.rint(fn(count[0]) * count[0]))
        return as_array(builder.mul(whole, builder.broadcast(tensor(low.val(step)), whole.shape)))

    return row


ROWS: Final[dict[Any, Row]] = {
    **{fn: _row_along_one(fn) for fn in ALONG_ONE},
    **{fn: _row_along_many(one, (-2, -1) if fn.__name__.endswith("2") else None) for fn, one in ALONG_MANY.items()},
    np.fft.fftshift: _shift(lambda n: n // 2), np.fft.ifftshift: _shift(lambda n: -(n // 2)),
    np.fft.fftfreq: _frequencies(np.fft.fftfreq), np.fft.rfftfreq: _frequencies(np.fft.rfftfreq),
}  # fmt: skip

__all__ = ["ROWS"]
