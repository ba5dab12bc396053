"""Rules for reductions and scans: NumPy functions, methods of arrays, and methods of ufuncs (``np.add.reduce``)."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.lattice import AbstractValue, Const
from hovis.library.core import Primitive
from hovis.library.numpy.types import shapes
from hovis.library.numpy.types.arrays import ask, asking, concerns, rank_of, row
from hovis.library.numpy.types.shapes import Facts, Shape, constant, for_engine

#: Functions and unbound methods; ``axis`` is the second parameter of all of them.
REDUCE: Final[list[Any]] = [
    np.sum, np.prod, np.mean, np.std, np.var, np.min, np.max, np.amin, np.amax, np.all, np.any, np.argmin, np.argmax, np.ptp, np.count_nonzero,
    np.median, np.nansum, np.nanprod, np.nanmean, np.nanstd, np.nanvar, np.nanmin, np.nanmax, np.average,
    np.ndarray.sum, np.ndarray.prod, np.ndarray.mean, np.ndarray.std, np.ndarray.var, np.ndarray.min, np.ndarray.max, np.ndarray.all,
    np.ndarray.any, np.ndarray.argmin, np.ndarray.argmax,
]  # fmt: skip

#: Reduction methods of NumPy scalars, which have nothing to reduce.
OF_SCALARS: Final[list[Any]] = [
    np.generic.sum, np.generic.prod, np.generic.mean, np.generic.std, np.generic.var, np.generic.min, np.generic.max, np.generic.item,
]  # fmt: skip

SCAN: Final[list[Any]] = [np.cumsum, np.cumprod, np.nancumsum, np.nancumprod, np.ndarray.cumsum, np.ndarray.cumprod]

#: Ufuncs whose ``reduce`` and ``accumulate`` have rows.
FOLDING: Final = [np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin, np.logical_and, np.logical_or, np.bitwise_and, np.bitwise_or, np.bitwise_xor]

_OPTIONS: Final = {"axis", "keepdims", "dtype", "ddof", "initial", "where", "a", "array", "x", "kind", "stable", "weights"}
#: The options that the type of the result depends on.
_CHOOSING: Final = ("axis", "keepdims", "dtype", "kind", "stable")


def _reduction(fn: Callable[..., object]) -> Callable[..., AbstractValue | None]:
    """Make the rule of a reduction. The rank of the result depends on axis and keepdims, which therefore must be known."""

    def result(*types: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
        if not concerns(*types, *named.values()) or not set(named) <= _OPTIONS:
            return None
        choosing = [*types[1:], *(v for k, v in named.items() if k in _CHOOSING)]
        if not all(isinstance(t, Const) for t in choosing) and fn is not np.average:
            return None
        return ask(fn, *types, **named)

    return result


def _reduce(ufunc: AbstractValue, *types: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
    """The rule of ``np.ufunc.reduce(np.add, a)``, the method as it is found on the class."""
    u = _folding(ufunc)
    return None if u is None else _reduction(u.reduce)(*types, **named)


def _folding(ufunc: AbstractValue) -> np.ufunc | None:
    """Return a known binary ufunc of NumPy, which has methods; None for anything else."""
    u = ufunc.value if isinstance(ufunc, Const) else None
    own = isinstance(u, np.ufunc) and u.nin == 2 and u.nout == 1 and u.signature is None and getattr(np, u.__name__, None) is u
    return u if own else None  # type: ignore[return-value]


def _method(name: str) -> Callable[..., AbstractValue | None]:
    """Make the rule of ``np.ufunc.outer(np.add, a, b)`` and similar methods: NumPy is called on stand-ins."""

    def result(ufunc: AbstractValue, *types: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
        u = _folding(ufunc)
        if u is None or not set(named) <= {"axis", "dtype"}:
            return None
        return asking(getattr(u, name))(*types, **named)

    return result


def _method_dims(name: str) -> Callable[..., Any]:
    def rule(ufunc: Facts, *args: Facts, **named: Facts) -> Shape | None:
        return shapes.asked(getattr(ufunc.value, name), args, named)

    return for_engine(rule)


def _reduce_dims(ufunc: Facts, x: Facts, *rest: Facts, **named: Facts) -> Shape | None:
    return _dims_rule(0, x, *rest, **named)


def _dims(default_axis: Any) -> Callable[..., Any]:
    """Make the dims rule of a reduction. With further positional arguments (dtype, out, keepdims) the dimensions are unknown."""

    return for_engine(lambda x, *rest, **named: _dims_rule(default_axis, x, *rest, **named))


def _dims_rule(default_axis: Any, x: Facts, *rest: Facts, **named: Facts) -> Shape | None:
    axis = constant(rest[0] if rest else named.get("axis"), default_axis)
    keepdims = constant(named.get("keepdims"), False)
    if x.dims is None or len(rest) > 1 or not isinstance(keepdims, bool | np.bool_):
        return None
    return shapes.reduced(x.dims, axis, bool(keepdims))


def _scan_dims(x: Facts, *rest: Facts, **named: Facts) -> Shape | None:
    axis = constant(rest[0] if rest else named.get("axis"))
    if axis is None and x.dims is not None:
        return x.dims if len(x.dims) == 1 else (shapes.product(x.dims),)
    return x.dims if isinstance(axis, int) else None


def _argsort_dims(x: Facts, *rest: Facts, **named: Facts) -> Shape | None:
    axis = constant(rest[0] if rest else named.get("axis"), -1)
    return x.dims if isinstance(axis, int) else None


def _item(*types: AbstractValue) -> AbstractValue | None:
    return ask(np.ndarray.item, *types[:1]) if concerns(*types[:1]) and (rank_of(types[0]) == 0 or len(types) == 1) else None


ROWS: Final[list[Primitive]] = [
    *(row(fn, _reduction(fn), dims=_dims(None)) for fn in dict.fromkeys(REDUCE)),
    *(row(fn, _reduction(fn)) for fn in OF_SCALARS),
    *(row(fn, _reduction(fn), dims=for_engine(_scan_dims)) for fn in dict.fromkeys(SCAN)),
    *(row(u.reduce, _reduction(u.reduce), dims=_dims(0)) for u in FOLDING),
    *(row(u.accumulate, _reduction(u.accumulate)) for u in FOLDING),
    *(row(fn, _reduction(fn), dims=for_engine(_argsort_dims)) for fn in (np.sort, np.argsort, np.ndarray.argsort)),
    row(np.ufunc.reduce, _reduce, dims=for_engine(_reduce_dims)),
    *(row(getattr(np.ufunc, name), _method(name), dims=_method_dims(name)) for name in ("outer", "accumulate", "reduceat")),
    row(np.ndarray.item, _item),
]
