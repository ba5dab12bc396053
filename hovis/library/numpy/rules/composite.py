"""Rules for NumPy functions that are composed of others (``np.gradient``, ``np.pad``, ``np.percentile`` …).

One rule serves all of them: NumPy is called on stand-ins. The dimensions are found in the same way, unless they depend on values.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.ir.model import Effect
from hovis.lattice import AbstractValue, Const
from hovis.library.core import Primitive
from hovis.library.numpy.types.arrays import ask, asking, concerns, dtype_of, is_array, python_number, rank_of, row
from hovis.library.numpy.types.shapes import Facts, Shape, asked, for_engine

#: Functions whose result shape follows from the shapes of the arrays and the known arguments.
SHAPED: Final[list[Any]] = [
    np.atleast_3d, np.matrix_transpose, np.linalg.matrix_transpose, np.resize, np.diagonal, np.ndarray.diagonal, np.linalg.diagonal,
    np.diagflat, np.vander, np.tril_indices_from, np.triu_indices_from, np.diag_indices_from, np.append, np.block,
    np.select, np.choose, np.ndarray.choose, np.broadcast_arrays, np.meshgrid, np.packbits, np.unpackbits, np.unravel_index, np.ravel_multi_index,
    np.apply_over_axes, np.diff, np.ediff1d, np.gradient, np.trapezoid, np.unwrap, np.cumulative_sum, np.cumulative_prod, np.interp, np.convolve,
    np.correlate, np.polyval, np.polyadd, np.polysub, np.polyder, np.polyint, np.polyfit,
    np.allclose, np.array_equal, np.array_equiv, np.isposinf, np.isneginf, np.quantile, np.percentile, np.nanquantile, np.nanpercentile, np.nanmedian,
    np.nanargmax, np.nanargmin, np.digitize, np.isin, np.lexsort, np.sort_complex, np.histogram_bin_edges, np.partition, np.argpartition,
    np.ndarray.argpartition, np.astype, np.asfortranarray,
    np.generic.tolist, np.ndarray.searchsorted, np.pad, np.lib.stride_tricks.sliding_window_view,
]  # fmt: skip

#: Functions whose result shape depends on values.
UNSHAPED: Final[list[Any]] = [
    np.unique, np.unique_values, np.argwhere, np.flatnonzero, np.ndarray.nonzero, np.extract, np.compress, np.ndarray.compress, np.delete, np.insert,
    np.trim_zeros, np.bincount, np.histogram, np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d, np.ix_, np.polydiv, np.polymul,
]  # fmt: skip

def _first(fn: Callable[..., object]) -> Callable[..., AbstractValue | None]:
    """Make the rule of a function that takes an array, and may also get ints that are too large for a dtype."""
    plain = asking(fn)

    def result(*types: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
        return None if named.get("out", Const(None)) != Const(None) else plain(*types, **named)

    return result


def _dtypes(*types: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
    """The rule of ``np.result_type``: for dtypes, classes and arrays; it never depends on values."""
    if named or not types:
        return None
    found = [dtype_of(t) or (t.value if isinstance(t, Const) and isinstance(t.value, type | np.dtype) else None) for t in types]
    if any(f is None for f in found) or not concerns(*types):
        return None
    try:
        return Const(np.result_type(*found))
    except TypeError:
        return None


def _grid(grid: AbstractValue, key: AbstractValue) -> AbstractValue | None:
    """The rule of ``np.mgrid[0:3, 0:4]``."""
    return ask(grid.value.__getitem__, key) if isinstance(grid, Const) and grid.value in (np.mgrid, np.ogrid) else None


def _grid_dims(grid: Facts, key: Facts) -> Shape | None:
    """The dims rule of grids: the number of grids equals the number of dimensions, even where their sizes are unknown."""
    found = asked(grid.value.__getitem__, (key,), {})
    many = key.parts is not None and grid.value is np.mgrid
    return (len(key.parts), *[None] * len(key.parts)) if found is None and many else found  # type: ignore[arg-type]


def _plain(fn: Callable[..., object]) -> Callable[..., AbstractValue | None]:
    """Make the rule of a function of numbers, not of arrays."""
    return lambda *types, **named: ask(fn, *types, **named) if "like" not in named else None


def _truth(of: Callable[[AbstractValue], bool | None]) -> Callable[..., AbstractValue | None]:
    """Make the rule of a predicate that the type alone decides."""

    def result(x: AbstractValue) -> AbstractValue | None:
        found = of(x) if concerns(x) or python_number(x) else None
        return None if found is None else Const(found)

    return result


def _is_complex(x: AbstractValue) -> bool:
    dtype = dtype_of(x)
    return dtype.kind == "c" if dtype is not None else python_number(x) is complex


#: Functions that make arrays of numbers from numbers.
_OF_NUMBERS: Final[list[Any]] = [
    np.tri, np.hamming, np.hanning, np.bartlett, np.blackman, np.kaiser, np.tril_indices, np.triu_indices, np.diag_indices, np.indices,
]  # fmt: skip


def _asked(fn: Callable[..., Any]) -> Callable[..., Any]:
    def rule(*args: Facts, **named: Facts) -> Shape | None:
        return asked(fn, args, named)

    return rule


def _row(fn: Any, shaped: bool) -> Primitive:
    return row(fn, _first(fn), fold=False, dims=for_engine(_asked(fn)) if shaped else None)


ROWS: Final[list[Primitive]] = [
    *(_row(fn, True) for fn in dict.fromkeys(SHAPED)),
    *(_row(fn, False) for fn in dict.fromkeys(UNSHAPED)),
    row(np.result_type, _dtypes),
    *(row(fn, _plain(fn), Effect.RAISES, fold=False, dims=for_engine(_asked(fn))) for fn in _OF_NUMBERS),
    row(type(np.mgrid).__getitem__, _grid, Effect.RAISES, fold=False, dims=for_engine(_grid_dims)),
    row(np.iscomplexobj, _truth(_is_complex), Effect.PURE),
    row(np.isrealobj, _truth(lambda x: not _is_complex(x)), Effect.PURE),
    row(np.isscalar, _truth(lambda x: not is_array(x)), Effect.PURE),
    row(np.iterable, _truth(lambda x: is_array(x) and rank_of(x) > 0), Effect.PURE),
]
