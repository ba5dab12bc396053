"""Which arguments of NumPy's functions are made arrays first, whatever they are: ``np.sort((a, b, c))``."""

import inspect
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.base.once import once

#: What such parameters are called; sequences of arrays have other names (arrays, tup), and so have shapes.
_NAMES: Final = frozenset({
    "a", "a1", "a2", "ar", "ar1", "ar2", "arr", "ary", "array", "b", "element", "fp", "m", "p", "p1", "p2", "test_elements", "v", "x", "x1", "x2", "xp", "y",
})  # fmt: skip
#: Functions that do not tell what their parameters are called.
_TOLD: Final[dict[Any, int]] = {np.dot: 2, np.vdot: 2, np.inner: 2, np.where: 3}
#: Functions that take a sequence of what they make arrays of.
JOINING: Final = frozenset({np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack})
#: What looks at the very object that it is given.
_NOT: Final = frozenset({
    np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.require, np.from_dlpack, np.astype, np.min_scalar_type,
    np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal, np.may_share_memory, np.shares_memory, np.choose, np.iterable,
})  # fmt: skip


@once
def positions(callee: Callable[..., Any]) -> range | tuple[int, ...]:
    """Where the arguments stand that are made arrays."""
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
