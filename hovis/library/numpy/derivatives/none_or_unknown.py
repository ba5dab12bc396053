"""Functions that have the derivative of another function, have no derivative, or have one that hovis does not know."""

import builtins
import operator
from typing import Any

import numpy as np

from hovis.ir import operations as ops
from hovis.library.numpy.adjoints.tangents import added_parts, afresh, fitted, fitted_like, spread
from hovis.library.numpy.types import errstate
from hovis.library.tables.derivatives import TABLE, absent, constant, pull, push

#: Methods of NumPy scalars have the same derivatives as those of arrays.
for _name in ("astype", "conj", "conjugate", "max", "mean", "min", "prod", "std", "sum", "var", "round"):
    if hasattr(np.generic, _name):
        TABLE.rows[getattr(np.generic, _name)] = TABLE.rows[getattr(np.ndarray, _name)]
for _kind in (np.longdouble, np.clongdouble):
    TABLE.rows[_kind] = TABLE.rows[np.float64]


def _sum(g: Any, y: Any, items: Any, start: Any = 0) -> Any:
    if isinstance(items, np.ndarray):
        return np.broadcast_to(g, items.shape)
    return tuple([fitted(g, item) for item in items])


pull(builtins.sum, _sum, lambda g, y, items, start: fitted(g, start))
push(
    builtins.sum,
    lambda t, y, items, start=0: np.sum(t, axis=0) if isinstance(items, np.ndarray) else builtins.sum([one for one in t if one is not None]),
    lambda t, y, items, start: spread(t, y),
)
pull(afresh, lambda g, y, x, after: g, lambda g, y, x, after: None)
push(afresh, lambda t, y, x, after: t, lambda t, y, x, after: None)
# fitted_like uses only the shape of the second operand
pull(fitted_like, lambda g, y, a, x: np.broadcast_to(g, a.shape), lambda g, y, a, x: None)
push(fitted_like, lambda t, y, a, x: fitted_like(t, x), lambda t, y, a, x: None)

constant(
    np.bool, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, ops.format_value, np.iterable, operator.length_hint,
    np.ndarray, np.packbits, np.unpackbits, str.format, *(row.fn for row in errstate.ROWS),
)  # fmt: skip

absent("the tuple that is added is not known", added_parts)
absent("the function that is passed to it is not traced", np.apply_over_axes)
absent(
    "the edges depend on the data, and the counts have no derivative: np.histogram(hovis.stop_gradient(x)) returns the counts",
    np.histogram, np.histogram_bin_edges,
)  # fmt: skip
absent(
    "the length of its result depends on values",
    np.unique, np.insert, np.intersect1d, np.union1d, np.setdiff1d, np.setxor1d, np.trim_zeros, np.unique_values,
)  # fmt: skip
absent("it returns Python objects: index the array instead", np.generic.tolist, np.ndarray.tolist)
absent("complex numbers are ordered by their parts", np.sort_complex)
absent("sorted returns a list: use np.sort, which has a derivative", builtins.sorted)
absent(
    "the elements that it leaves out depend on the data; np.median of the elements that are not NaN has a derivative",
    np.nanmedian, np.nanpercentile, np.nanquantile,
)  # fmt: skip
absent("use np.concatenate and np.stack, which have a derivative", np.block)
absent("its derivative is a Bessel function, which NumPy does not have", np.kaiser)
absent("use np.add.reduce of slices, which has a derivative", np.ufunc.reduceat)
absent("use np.arange and np.meshgrid instead", type(np.mgrid).__getitem__)
