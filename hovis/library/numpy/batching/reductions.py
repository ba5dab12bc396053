"""Batched functions along an axis: reductions, scans, sorting."""

from typing import Any

import numpy as np

from hovis.errors import Declined
from hovis.library.numpy.batching.base import shifted
from hovis.library.tables.batching import Rule, by


def _along(fn: Any, at: int) -> Rule:
    """Make the row of a function whose axis is operand number ``at``; it works along all axes if the axis is absent."""

    def rule(lanes: int, which: tuple[bool, ...], x: Any, *more: Any, axis: Any = None, **named: Any) -> Any:
        if len(more) >= at:
            axis, more = more[at - 1], more[: at - 1] + (None,) + more[at:]
            return fn(x, *more[: at - 1], shifted(axis, x.ndim), *more[at:], **named)
        return fn(x, *more, axis=shifted(axis, x.ndim), **named)

    return rule


def _reduction(fn: Any) -> Rule:
    return _along(fn, 1)


by(
    _reduction,
    np.sum, np.prod, np.mean, np.std, np.var, np.max, np.min, np.amax, np.amin, np.any, np.all, np.ptp, np.count_nonzero, np.median, np.average,
    np.nansum, np.nanprod, np.nanmean, np.nanstd, np.nanvar, np.nanmax, np.nanmin, np.nanmedian,
    np.ndarray.sum, np.ndarray.prod, np.ndarray.mean, np.ndarray.std, np.ndarray.var, np.ndarray.max, np.ndarray.min, np.ndarray.any, np.ndarray.all,
)  # fmt: skip


def _flat(fn: Any, at: int, default: Any = None) -> Rule:
    """Make the row of a function along one axis; an axis of None means the flattened array."""

    def rule(lanes: int, which: tuple[bool, ...], x: Any, *more: Any, **named: Any) -> Any:
        axis = more[at - 1] if len(more) >= at else named.get("axis", default)
        if axis is None:
            if named.get("keepdims"):
                raise Declined("axes of length one for all that are gone")
            x, axis = np.reshape(x, (lanes, -1)), 0
        named = {**named, "axis": shifted(axis, x.ndim)}
        return fn(x, *more[: at - 1], **named)

    return rule


by(
    lambda fn: _flat(fn, 1),
    np.cumsum, np.cumprod, np.nancumsum, np.nancumprod, np.argmax, np.argmin, np.nanargmax, np.nanargmin,
    np.ndarray.cumsum, np.ndarray.cumprod, np.ndarray.argmax, np.ndarray.argmin,
)  # fmt: skip
by(lambda fn: _flat(fn, 1, -1), np.sort, np.argsort, np.ndarray.argsort)
by(lambda fn: _flat(fn, 2, -1), np.diff)
