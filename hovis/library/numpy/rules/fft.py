"""Rules for ``np.fft``: transforms keep the rank, and the dtype of the result follows from the precision of the operand."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.lattice import AbstractValue, Array, Const
from hovis.lattice.inspection import is_a
from hovis.library.core import Primitive
from hovis.library.numpy.types import shapes
from hovis.library.numpy.types.arrays import ask, asking, dtype_of, python_number, rank_of, row
from hovis.library.numpy.types.shapes import Facts, Shape, constant, for_engine

#: Transforms along one axis; and transforms along several axes -> the transform along one axis that determines the dtype of the result.
ALONG_ONE: Final[list[Any]] = [np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft, np.fft.hfft, np.fft.ihfft]
ALONG_MANY: Final[dict[Any, Any]] = {
    np.fft.fft2: np.fft.fft, np.fft.ifft2: np.fft.ifft, np.fft.fftn: np.fft.fft, np.fft.ifftn: np.fft.ifft,
    np.fft.rfft2: np.fft.rfft, np.fft.rfftn: np.fft.rfft, np.fft.irfft2: np.fft.irfft, np.fft.irfftn: np.fft.irfft,
}  # fmt: skip

#: Transforms from real numbers to half as many complex numbers, and the inverse ones.
HALVING: Final = frozenset({np.fft.rfft, np.fft.ihfft})
DOUBLING: Final = frozenset({np.fft.irfft, np.fft.hfft})


def _transform(one: Callable[..., object], several: bool = False) -> Callable[..., AbstractValue | None]:
    def result(a: AbstractValue, *rest: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
        dtype = dtype_of(a)
        if dtype is None or not rank_of(a) or len(rest) > 3 or not set(named) <= {"n", "s", "axis", "axes", "norm"}:
            return None
        if several and one in DOUBLING and dtype == np.float16:
            return None  # the result is float16 only if there is no other transform in between
        found = ask(one, Array(np.ndarray, dtype, 1), Const(1))
        made = None if found is None else dtype_of(found)
        return None if made is None else Array(np.ndarray, made, rank_of(a))

    return result


def length(one: Any, dim: Any, n: Any) -> Any:
    """Return the length of the result of a transform, from that of its operand; None if it is not known."""
    if n is None:
        if one not in DOUBLING:
            return dim // 2 + 1 if one in HALVING and isinstance(dim, int) else None if one in HALVING else dim
        return 2 * (dim - 1) if isinstance(dim, int) else None
    if not isinstance(n, int):
        return None
    return n // 2 + 1 if one in HALVING else n


def _dims_along_one(one: Any) -> Callable[..., Shape | None]:
    def rule(a: Facts, n: Facts | None = None, axis: Facts | None = None, norm: Facts | None = None) -> Shape | None:
        at = constant(axis, -1)
        if a.dims is None or not isinstance(at, int) or not -len(a.dims) <= at < len(a.dims):
            return None
        at %= len(a.dims)
        return (*a.dims[:at], length(one, a.dims[at], constant(n)), *a.dims[at + 1 :])

    return rule


def _dims_along_many(one: Any) -> Callable[..., Shape | None]:
    def rule(a: Facts, s: Facts | None = None, axes: Facts | None = None, norm: Facts | None = None) -> Shape | None:
        over = shapes.normalize_axes(constant(axes), len(a.dims)) if a.dims is not None else None
        if a.dims is None or constant(s) is not None or not over:
            return None
        last = over[-1]
        return (*a.dims[:last], length(one, a.dims[last], None), *a.dims[last + 1 :])

    return rule


def _frequencies(n: AbstractValue, d: AbstractValue | None = None, **named: AbstractValue) -> AbstractValue | None:
    plain = d is None or python_number(d) in (int, float) or (dtype_of(d) is not None and dtype_of(d) == np.dtype(float) and not rank_of(d))
    return Array(np.ndarray, np.dtype(float), 1) if python_number(n) is int and plain and set(named) <= {"d"} else None


def _frequency_dims(halved: bool) -> Callable[..., Shape | None]:
    def rule(n: Facts, *rest: Facts, **named: Facts) -> Shape | None:
        return (n.value // 2 + 1 if halved else n.value,) if is_a(n.value, int) else None

    return rule


def _same_dims(x: Facts, *rest: Facts, **named: Facts) -> Shape | None:
    return x.dims


ROWS: Final[list[Primitive]] = [
    *(row(fn, _transform(fn), dims=for_engine(_dims_along_one(fn))) for fn in ALONG_ONE),
    *(row(fn, _transform(one, several=True), dims=for_engine(_dims_along_many(one))) for fn, one in ALONG_MANY.items()),
    row(np.fft.fftfreq, _frequencies, dims=for_engine(_frequency_dims(False))),
    row(np.fft.rfftfreq, _frequencies, dims=for_engine(_frequency_dims(True))),
    *(row(fn, asking(fn, about=[0]), dims=for_engine(_same_dims)) for fn in (np.fft.fftshift, np.fft.ifftshift)),
]

__all__ = ["ALONG_MANY", "ALONG_ONE", "DOUBLING", "HALVING", "ROWS", "length"]
