"""Arrays that are determined by numbers: identity and triangular matrices, grids, windows. Small ones are constants."""

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis_xla.emit import builder, slicing
from hovis_xla.emit.builder import T
from hovis_xla.emit.values import INT64, Known, NotLowerable, NumberUnknown, Operand
from hovis_xla.ops.array.manipulation import as_array
from hovis_xla.ops.scalar.python_numbers import L, Row
from hovis_xla.ops.standin import StandIn, operand_of, value_of

#: Arrays of up to this many bytes become constants of the program.
MOST_BYTES: Final = 1 << 18


def _known(x: Any) -> Any:
    """Return a known value, also from inside tuples, lists and slices. A number known at run time only raises `NumberUnknown` or `ShapeUnknown`."""
    if isinstance(x, StandIn):
        if x.number in (float, complex):
            raise NumberUnknown("an array is computed from a number that is not known while compiling")
        return operator.index(x)
    if type(x) in (tuple, list):
        return type(x)(map(_known, x))
    return slice(_known(x.start), _known(x.stop), _known(x.step)) if type(x) is slice else x


def _arguments(low: L, args: Any, named: Any) -> tuple[list[Any], dict[str, Any]]:
    return [_known(value_of(low, a)) for a in args], {name: _known(value_of(low, v)) for name, v in named.items()}


def constant(fn: Callable[..., Any]) -> Row:
    """Make a lowering that evaluates fn while lowering."""

    def row(low: L, *args: Operand, **named: Operand) -> Operand | None:
        given, options = _arguments(low, args, named)
        try:
            return operand_of(low, fn(*given, **options))
        except (ValueError, TypeError, IndexError, OverflowError) as error:
            raise NotLowerable(f"{getattr(fn, '__name__', fn)}: {error}") from error

    return row


def _banded(direction: str) -> Callable[[int, int, int, Any], T]:
    """Make a matrix of ones where column minus row is k (or at most k), and zeros elsewhere."""

    def make(rows: int, columns: int, k: int, dtype: Any) -> T:
        i, j = (builder.iota(INT64, (rows, columns), axis) for axis in (0, 1))
        off = builder.sub(j, i)
        return builder.convert(builder.compare(direction, off, builder.like(k, off)), dtype)

    return make


def _matrix(fn: Callable[..., Any], direction: str) -> Row:
    make = _banded(direction)

    def row(low: L, N: Operand, M: Operand = _NONE, k: Operand = _ZERO, dtype: Operand = _FLOAT) -> Operand | None:
        (rows, columns, off, kind), _ = _arguments(low, (N, M, k, dtype), {})
        columns = rows if columns is None else columns
        found = np.dtype(float if kind is None else kind)
        if min(rows, columns) < 0 or found.kind not in "biufc" or found.itemsize > 16:
            return None
        return as_array(make(operator.index(rows), operator.index(columns), operator.index(off), found))

    return row


_NONE: Final = Known(None)
_ZERO: Final = Known(0)
_FLOAT: Final = Known(float)


def _identity(low: L, n: Operand, dtype: Operand = _NONE) -> Operand | None:
    return _EYE(low, n, _NONE, _ZERO, dtype)


def _indices(low: L, dimensions: Operand, dtype: Operand = Known(int), sparse: Operand = Known(False)) -> Operand | None:  # noqa: B008
    (shape, kind, open_), _ = _arguments(low, (dimensions, dtype, sparse), {})
    found, shape = np.dtype(kind), tuple(shape)
    if open_ or found.kind not in "iuf":
        return constant(np.indices)(low, dimensions, dtype, sparse)
    if not shape:
        return None
    grids = [builder.reshape(builder.iota(found, shape, axis), (1, *shape)) for axis in range(len(shape))]
    return as_array(slicing.concatenate(grids, 0))


def _grid(low: L, grid: Operand, key: Operand) -> Operand | None:
    """Lower ``np.ogrid`` and ``np.mgrid``, which is the result of ``np.ogrid``, broadcast."""
    (which, where), _ = _arguments(low, (grid, key), {})
    if which not in (np.mgrid, np.ogrid):
        return None
    parts: Any = np.ogrid[where]
    if which is np.ogrid or isinstance(parts, np.ndarray):
        return operand_of(low, parts)
    shape = np.broadcast_shapes(*(p.shape for p in parts))
    return as_array(slicing.concatenate([builder.reshape(builder.broadcast(builder.constant(p), shape), (1, *shape)) for p in parts], 0))


def _result_type(low: L, *args: Operand) -> Operand | None:
    """Lower ``np.result_type``; an array counts by its dtype."""
    found = [v.dtype if isinstance(v, StandIn) and v.number is None else v for v in (value_of(low, a) for a in args)]
    return None if any(isinstance(f, StandIn) for f in found) else Known(np.result_type(*found))


_EYE: Final = _matrix(np.eye, "EQ")

ROWS: Final[dict[Any, Row]] = {
    np.result_type: _result_type,
    **{
        fn: constant(fn)
        for fn in (np.hamming, np.hanning, np.bartlett, np.blackman, np.kaiser, np.tril_indices, np.triu_indices, np.diag_indices)
    },
    np.eye: _EYE, np.identity: _identity, np.tri: _matrix(np.tri, "LE"), np.indices: _indices, type(np.mgrid).__getitem__: _grid,
}  # fmt: skip
