"""Which arguments of NumPy's functions are converted to arrays first, whatever their type: ``np.sort((a, b, c))``."""

import inspect
from collections.abc import Callable, Collection
from typing import Any, Final

import numpy as np

from hovis.base.once import once

#: Names of parameters that are converted to arrays; sequences of arrays have other names (arrays, tup), and so have shapes.
_NAMES: Final = frozenset({
    "a", "a1", "a2", "ar", "ar1", "ar2", "arr", "ary", "array", "b", "element", "fp", "m", "p", "p1", "p2", "test_elements", "v", "x", "x1", "x2", "xp", "y",
})  # fmt: skip
#: Functions without a signature, or with other parameters of such names -> the number of leading arguments that are converted to arrays.
_TOLD: Final[dict[Any, int]] = {np.dot: 2, np.vdot: 2, np.inner: 2, np.where: 3, np.polyder: 1, np.polyint: 1, np.linalg.cond: 1}
#: Functions that handle an array in another way than a sequence if they get further arguments -> the most positional arguments, and the names of these.
_AT_MOST: Final[dict[Any, tuple[int, frozenset[str]]]] = {
    np.diff: (1, frozenset({"n"})), np.nan_to_num: (1, frozenset({"copy"})),
    np.nanmax: (2, frozenset({"out"})), np.nanmin: (2, frozenset({"out"})),
}  # fmt: skip
#: Functions that raise other exceptions for nested sequences than for arrays of several dimensions.
FLAT: Final = frozenset({np.correlate, np.convolve, np.interp})
#: Functions that take a sequence, and convert its items to arrays.
JOINING: Final = frozenset({np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack})
#: Functions whose result or effect depends on the object that is passed, which therefore must not be replaced by an array.
_NOT: Final = frozenset({
    np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.require, np.from_dlpack, np.astype, np.min_scalar_type,
    np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal, np.may_share_memory, np.shares_memory, np.choose, np.iterable,
    np.rollaxis, np.take_along_axis, np.diag_indices_from, np.tril_indices_from, np.triu_indices_from, np.tril_indices, np.triu_indices,
    np.split, np.hsplit, np.vsplit, np.dsplit, np.apply_over_axes, np.isfortran, np.array2string, np.array_repr, np.array_str, np.bincount,
    np.format_float_positional, np.format_float_scientific, *([np.unstack] if hasattr(np, "unstack") else []),
})  # fmt: skip


def converted(callee: Callable[..., Any], count: int, names: Collection[str]) -> range | tuple[int, ...]:
    """Return the positions of the arguments that callee converts to arrays in a call with so many positional and these keyword arguments."""
    if callee in _AT_MOST and (count > _AT_MOST[callee][0] or not _AT_MOST[callee][1].isdisjoint(names)):
        return ()
    return positions(callee)


@once
def positions(callee: Callable[..., Any]) -> range | tuple[int, ...]:
    """Return the positions of the arguments that callee converts to arrays."""
    if isinstance(callee, np.ufunc):
        return range(callee.nin)
    if not str(getattr(callee, "__module__", "")).startswith("numpy") or callee in _NOT or isinstance(callee, type):
        return ()
    if callee in _TOLD:
        return range(_TOLD[callee])
    try:
        names = list(inspect.signature(callee).parameters)
    except (TypeError, ValueError):
        return ()
    return tuple(k for k, name in enumerate(names) if name in _NAMES)
