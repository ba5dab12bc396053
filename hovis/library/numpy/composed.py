"""Functions of NumPy that are made of others (``np.gradient``, ``np.pad``, ``np.percentile`` …): what they give.

All of them by one rule, NumPy itself, asked with stand-ins; their dimensions too, where values do not decide them.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.lattice import AbstractValue, Const
from hovis.library.core import Primitive
from hovis.library.numpy.array import asking, concerns, dtype_of, row
from hovis.library.numpy.shapes import Facts, Shape, asked, for_engine

#: The shape of the result follows from the shapes of arrays and from what is known besides.
SHAPED: Final[list[Any]] = [
    np.atleast_3d, np.matrix_transpose, np.linalg.matrix_transpose, np.permute_dims, np.resize, np.diagonal, np.ndarray.diagonal, np.linalg.diagonal,
    np.diagflat, np.vander, np.tri, np.tril_indices_from, np.triu_indices_from, np.diag_indices_from, np.append, np.block, np.concat,
    np.select, np.choose, np.ndarray.choose, np.broadcast_arrays, np.meshgrid, np.packbits, np.unpackbits, np.unravel_index, np.ravel_multi_index,
    np.apply_over_axes, np.diff, np.ediff1d, np.gradient, np.trapezoid, np.unwrap, np.cumulative_sum, np.cumulative_prod, np.interp, np.convolve,
    np.correlate, np.polyval, np.polyadd, np.polysub, np.polymul, np.polyder, np.polyint, np.polyfit, np.logspace, np.geomspace, np.indices,
    np.allclose, np.array_equal, np.array_equiv, np.isposinf, np.isneginf, np.quantile, np.percentile, np.nanquantile, np.nanpercentile, np.nanmedian,
    np.nanargmax, np.nanargmin, np.cov, np.corrcoef, np.digitize, np.isin, np.lexsort, np.sort_complex, np.histogram_bin_edges, np.partition, np.argpartition,
    np.ndarray.argpartition, np.ptp, np.astype, np.iscomplexobj, np.isrealobj, np.isfortran, np.asfortranarray, np.rollaxis, np.unstack,
    np.generic.tolist, np.ndarray.searchsorted, np.pad,
]  # fmt: skip

#: The shape of the result depends on values.
UNSHAPED: Final[list[Any]] = [
    np.unique, np.unique_values, np.argwhere, np.flatnonzero, np.ndarray.nonzero, np.extract, np.compress, np.ndarray.compress, np.delete, np.insert,
    np.trim_zeros, np.bincount, np.histogram, np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d, np.ix_, np.polydiv,
]  # fmt: skip

def _first(fn: Callable[..., object]) -> Callable[..., AbstractValue | None]:
    """The rule for functions that want an array, and may get ints that are too large to be asked about."""
    plain = asking(fn)

    def result(*types: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
        return None if named.get("out", Const(None)) != Const(None) else plain(*types, **named)

    return result


def _dtypes(*types: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
    """``np.result_type`` and its like: of dtypes, classes and arrays, never of values."""
    if named or not types:
        return None
    found = [dtype_of(t) or (t.value if isinstance(t, Const) and isinstance(t.value, type | np.dtype) else None) for t in types]
    if any(f is None for f in found) or not concerns(*types):
        return None
    try:
        return Const(np.result_type(*found))
    except TypeError:
        return None


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
]
