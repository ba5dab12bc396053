"""Rules for functions that create arrays from numbers."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.ir.model import Effect
from hovis.lattice import AbstractValue, Const, Type
from hovis.lattice.inspection import is_a
from hovis.library.core import Primitive
from hovis.library.numpy.rules.manipulation import shape_of, shape_rank
from hovis.library.numpy.types.arrays import array_of, ask, dtype_of, is_numeric, nesting, python_number, rank_of, row
from hovis.library.numpy.types.shapes import Facts, Shape, constant, for_engine

_NONE: Final = Const(None)


def _dtype(t: AbstractValue | None, default: "np.dtype[Any] | None") -> "np.dtype[Any] | None":
    """Return the dtype that a dtype argument stands for: default if it is absent; None if it is unknown or not numeric."""
    if t is None or t == _NONE:
        return default
    if not isinstance(t, Const):
        return None
    try:
        found = np.dtype(t.value)  # type: ignore[call-overload]
    except TypeError:
        return None
    return found if found.kind in "biufc" and found.isnative else None


def _filled(shape: AbstractValue, dtype: AbstractValue | None = None, **named: AbstractValue) -> AbstractValue | None:
    """The rule of ``zeros(shape)`` and ``ones(shape)``."""
    rank, found = shape_rank(shape), _dtype(dtype, np.dtype(float))
    return None if rank is None or found is None or named else array_of(found, rank, "C")


def _full(shape: AbstractValue, fill_value: AbstractValue, dtype: AbstractValue | None = None, **named: AbstractValue) -> AbstractValue | None:
    asked = ask(np.asarray, fill_value) if is_numeric(fill_value) else None
    rank, found = shape_rank(shape), _dtype(dtype, None if asked is None else dtype_of(asked))
    return None if rank is None or found is None or named else array_of(found, rank, "C")


def _shape_dims(shape: Facts, *rest: Facts, **named: Facts) -> Shape | None:
    return shape_of(shape)


def _like(a: AbstractValue, *rest: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
    """The rule of ``zeros_like(a)``, ``ones_like(a)``, ``full_like(a, v)``: dtype and rank of a."""
    number = python_number(a)
    own = np.dtype(number) if number in (bool, float, complex) else dtype_of(a)
    found = _dtype(named.get("dtype"), own)
    return None if found is None or own is None or not set(named) <= {"dtype"} else array_of(found, rank_of(a))


def _zeros_like(a: AbstractValue, dtype: AbstractValue | None = None, **named: AbstractValue) -> AbstractValue | None:
    return _like(a, dtype=dtype or _NONE, **named)


def _full_like(a: AbstractValue, fill_value: AbstractValue, dtype: AbstractValue | None = None, **named: AbstractValue) -> AbstractValue | None:
    return _like(a, dtype=dtype or _NONE, **named)


def _same_dims(a: Facts, *rest: Facts, **named: Facts) -> Shape | None:
    return a.dims


def _arange(*bounds: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
    """The rule of ``np.arange``. The dtype follows from the arguments: Python's ints are weak beside NumPy's, but not beside Python's floats."""
    if not 1 <= len(bounds) <= 3 or not all(map(is_numeric, bounds)) or not set(named) <= {"dtype"} or any(map(_is_wide, bounds)):
        return None
    asked = ask(np.arange, *(_small(t) for t in bounds))
    found = _dtype(named.get("dtype"), None if asked is None else dtype_of(asked))
    return None if found is None else array_of(found, 1, "C")


def _is_wide(t: AbstractValue) -> bool:
    """Is t an int of more than 64 bits? It leads to another dtype, or an error."""
    return isinstance(t, Const) and is_a(t.value, int) and not -(2**63) <= t.value < 2**63


def _small(t: AbstractValue) -> AbstractValue:
    """Replace a constant by its type, because only the type matters here."""
    return Type(type(t.value)) if isinstance(t, Const) else t


def _arange_dims(*bounds: Facts, **named: Facts) -> Shape | None:
    values = [b.value for b in bounds]
    if all(isinstance(v, int) for v in values) and (len(values) < 3 or values[2] != 0):
        start, stop, step = (0, *values, 1) if len(values) == 1 else (*values, 1)[:3]
        return (max(0, (stop - start + step - (step > 0) + (step < 0)) // step),)  # len(range(start, stop, step)), of any size
    return (None,)


def _spaced(fn: Callable[..., Any]) -> Callable[..., AbstractValue | None]:
    """Make the rule of ``np.linspace`` and similar functions."""

    def rule(
        start: AbstractValue, stop: AbstractValue, num: AbstractValue | None = None, endpoint: AbstractValue | None = None, **named: AbstractValue
    ) -> AbstractValue | None:
        if not set(named) <= {"dtype"} or not (is_numeric(start) and is_numeric(stop)) or rank_of(start) or rank_of(stop):
            return None
        asked = ask(fn, start, stop, Const(2))
        found = _dtype(named.get("dtype"), None if asked is None else dtype_of(asked))
        return None if found is None else array_of(found, 1)

    return rule


def _linspace_dims(start: Facts, stop: Facts, num: Facts | None = None, endpoint: Facts | None = None, **named: Facts) -> Shape | None:
    count = constant(num, 50)
    return (count if isinstance(count, int) else None,)


def _eye(N: AbstractValue, M: AbstractValue = _NONE, k: AbstractValue | None = None, dtype: AbstractValue | None = None) -> AbstractValue | None:
    found = _dtype(dtype, np.dtype(float))
    integers = shape_rank(N) == 1 and (M == _NONE or shape_rank(M) == 1) and (k is None or python_number(k) is int)
    return array_of(found, 2, "C") if found is not None and integers else None


def _eye_dims(N: Facts, M: Facts | None = None, **named: Facts) -> Shape | None:
    rows = N.value if isinstance(N.value, int) else None
    columns = constant(M)
    return rows, rows if columns is None else columns if isinstance(columns, int) else None


def _identity(n: AbstractValue, dtype: AbstractValue | None = None) -> AbstractValue | None:
    return _eye(n, dtype=dtype)


# ------------------------------------------------------------------------------------------------- array(...)


def _array(obj: AbstractValue, dtype: AbstractValue | None = None, **named: AbstractValue) -> AbstractValue | None:
    """The rule of ``np.array`` of numbers, arrays, and lists of them (a Python number in a list is not weak: it has a dtype)."""
    nested = nesting(obj)
    if nested is None or not set(named) <= {"copy"}:
        return None
    leaves = [ask(np.asarray, t) for t in nested[1]]
    dtypes = [d for d in (dtype_of(t) for t in leaves if t is not None) if d is not None]
    if len(dtypes) < len(leaves):
        return None
    found = _dtype(dtype, np.result_type(*dtypes))
    return None if found is None else array_of(found, nested[0])


def _array_dims(obj: Facts, *rest: Facts, **named: Facts) -> Shape | None:
    if obj.parts is not None:
        inner = _array_dims(obj.parts[0]) if obj.parts else None
        return None if inner is None else (len(obj.parts), *inner)
    if obj.known and is_a(obj.value, list | tuple):
        return tuple(np.shape(obj.value))
    return obj.dims


def _fresh(fn: Callable[..., object], result: Callable[..., AbstractValue | None], dims: Callable[..., Any]) -> Primitive:
    """Make a row whose result is always a new array: it may raise (for a bad size), and it is never folded."""
    return row(fn, result, Effect.RAISES, fold=False, dims=for_engine(dims))


ROWS: Final[list[Primitive]] = [
    _fresh(np.zeros, _filled, _shape_dims),
    _fresh(np.ones, _filled, _shape_dims),
    _fresh(np.full, _full, _shape_dims),
    _fresh(np.zeros_like, _zeros_like, _same_dims),
    _fresh(np.ones_like, _zeros_like, _same_dims),
    _fresh(np.empty_like, _zeros_like, _same_dims),
    _fresh(np.empty, _filled, _shape_dims),
    _fresh(np.ndarray, _filled, _shape_dims),
    _fresh(np.full_like, _full_like, _same_dims),
    _fresh(np.arange, _arange, _arange_dims),
    *(_fresh(fn, _spaced(fn), _linspace_dims) for fn in (np.linspace, np.logspace, np.geomspace)),
    _fresh(np.eye, _eye, _eye_dims),
    _fresh(np.identity, _identity, _eye_dims),
    row(np.array, _array, fold=False, dims=for_engine(_array_dims)),
    row(np.asarray, _array, fold=False, dims=for_engine(_array_dims)),
    row(np.asanyarray, _array, fold=False, dims=for_engine(_array_dims)),
]
