"""Derivatives of reductions (sums, means, products, extremes), scans, and order statistics."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.errors import Declined
from hovis.library.numpy.adjoints.tangents import choose, conjugate, fitted, rank_of, shape_of, spread
from hovis.library.tables.derivatives import constant, defined, linear, pull, push

_fn: Any
_PARAMETERS = "a axis dtype out keepdims initial where"


def expanded(g: Any, x: Any, axis: Any, keepdims: Any) -> Any:
    """Reinsert the reduced axes of a (co)tangent with length 1, to make it broadcast against x."""
    if axis is None or keepdims is True or not isinstance(g, np.ndarray):
        return g
    return np.expand_dims(g, axis)


def count(x: Any, axis: Any) -> Any:
    """Return the number of elements that are reduced to one."""
    if not isinstance(x, np.ndarray):
        return 1
    if axis is None:
        return x.size
    found = 1
    for k in axis if isinstance(axis, tuple) else (axis,):
        found = found * x.shape[k]
    return found



# ------------------------------------------------------------------------------------------------- sums and means


def _sum(g: Any, y: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **named: Any) -> Any:
    wide = spread(expanded(g, a, axis, keepdims), a)
    return choose(named["where"], wide, 0.0) if "where" in named else wide


def _sum_push(t: Any, y: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **named: Any) -> Any:
    named.pop("initial", None)
    return np.sum(t, axis=axis, keepdims=keepdims, **named)


for _fn in (np.sum, np.ndarray.sum):
    pull(_fn, _sum, parameters=_PARAMETERS)
    push(_fn, _sum_push)


def _mean(g: Any, y: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **named: Any) -> Any:
    wide = expanded(g, a, axis, keepdims)
    if "where" not in named:
        return spread(wide / count(a, axis), a)
    mask = np.broadcast_to(named["where"], a.shape)
    return choose(mask, wide / np.sum(mask, axis=axis, keepdims=True), 0.0)


linear((np.mean, np.ndarray.mean), _mean, parameters=_PARAMETERS)


def variance(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, **named: Any) -> Any:
    """``np.var``, written with means."""
    ddof = named.pop("correction", ddof)
    where = {"where": named["where"]} if "where" in named else {}
    far = a - np.mean(a, axis=axis, keepdims=True, **where)
    size = np.real(far * conjugate(far))
    total = np.sum(size, axis=axis, keepdims=keepdims, **where)
    n = np.sum(np.broadcast_to(where["where"], a.shape), axis=axis, keepdims=keepdims) if where else count(a, axis)
    return total / (n - ddof)


def deviation(*args: Any, **named: Any) -> Any:
    """``np.std``."""
    return np.sqrt(variance(*args, **named))


defined((np.var, np.ndarray.var), variance)
defined((np.std, np.ndarray.std), deviation)


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: Any = False) -> Any:
    """``np.average``."""
    if weights is None:
        return np.mean(a, axis=axis, keepdims=keepdims)
    if weights.shape != a.shape and axis is not None:
        shape = [1] * a.ndim
        for k, size in zip(axis if isinstance(axis, tuple) else (axis,), weights.shape, strict=True):
            shape[k] = size
        weights = np.reshape(weights, shape)
    return np.sum(a * weights, axis=axis, keepdims=keepdims) / np.sum(weights * np.ones_like(a), axis=axis, keepdims=keepdims)


defined(np.average, average, parameters="a axis weights returned")

# ------------------------------------------------------------------------------------------------- extremes


def _extreme(g: Any, y: Any, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **named: Any) -> Any:
    at = (a == expanded(y, a, axis, keepdims)) * 1.0
    if "where" in named:
        at = at * named["where"]
    return expanded(g, a, axis, keepdims) * at / np.maximum(np.sum(at, axis=axis, keepdims=True), 1.0)


def _extreme_push(t: Any, y: Any, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **named: Any) -> Any:
    at = (a == expanded(y, a, axis, keepdims)) * 1.0
    if "where" in named:
        at = at * named["where"]
    return np.sum(t * at, axis=axis, keepdims=keepdims) / np.maximum(np.sum(at, axis=axis, keepdims=keepdims), 1.0)


for _fn in (np.max, np.min, np.amax, np.amin, np.ndarray.max, np.ndarray.min, np.nanmax, np.nanmin):
    pull(_fn, _extreme, parameters="a axis out keepdims")
    push(_fn, _extreme_push)

defined((np.ptp,), lambda a, axis=None, out=None, keepdims=False: np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims))

# ------------------------------------------------------------------------------------------------- products


def _product(a: Any, y: Any, axis: Any, keepdims: Any) -> Any:
    """Return, for each element, the product of the others: exact where there are zeros, and without a branch.

    The zeros among the other elements form a separate factor: 1 if there are none, else their product, which is 0.  For second
    derivatives this factor is computed from the zeros themselves: the product of two is half the difference between the square of
    their sum and the sum of their squares.
    """
    if rank_of(a) == 0:
        return 1.0
    zero = a == 0
    safe = choose(zero, 1.0, a)
    own = choose(zero, a, 0.0)
    whole = np.prod(safe, axis=axis, keepdims=True) / safe
    others = np.sum(zero * 1.0, axis=axis, keepdims=True) - zero
    one = np.sum(own, axis=axis, keepdims=True) - own
    two = 0.5 * (one * one - (np.sum(own * own, axis=axis, keepdims=True) - own * own))
    return whole * choose(others == 0, 1.0, choose(others == 1, one, choose(others == 2, two, 0.0)))


def _prod(g: Any, y: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **named: Any) -> Any:
    return expanded(g, a, axis, keepdims) * conjugate(_product(a, y, axis, keepdims))


def _prod_push(t: Any, y: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **named: Any) -> Any:
    return np.sum(t * _product(a, y, axis, keepdims), axis=axis, keepdims=keepdims)


for _fn in (np.prod, np.ndarray.prod):
    pull(_fn, _prod, parameters=_PARAMETERS)
    push(_fn, _prod_push)

# ------------------------------------------------------------------------------------------------- reductions that ignore NaN


def _without(a: Any, instead: float) -> Any:
    return choose(np.isnan(a), instead, a)


def _valid(a: Any, axis: Any, keepdims: Any) -> Any:
    return np.sum(~np.isnan(a), axis=axis, keepdims=keepdims)


def _nanmean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    return np.sum(_without(a, 0.0), axis=axis, keepdims=keepdims) / _valid(a, axis, keepdims)


def _nanvar(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False) -> Any:
    far = choose(np.isnan(a), 0.0, a - _nanmean(a, axis, keepdims=True))
    return np.sum(np.real(far * conjugate(far)), axis=axis, keepdims=keepdims) / (_valid(a, axis, keepdims) - ddof)


defined(np.nansum, lambda a, axis=None, dtype=None, out=None, keepdims=False: np.sum(_without(a, 0.0), axis=axis, keepdims=keepdims))
defined(np.nanprod, lambda a, axis=None, dtype=None, out=None, keepdims=False: np.prod(_without(a, 1.0), axis=axis, keepdims=keepdims))
defined(np.nanmean, _nanmean)
defined(np.nanvar, _nanvar)
defined(np.nanstd, lambda *args, **named: np.sqrt(_nanvar(*args, **named)))
defined(np.nancumsum, lambda a, axis=None, dtype=None, out=None: np.cumsum(_without(a, 0.0), axis=axis))
defined(np.nancumprod, lambda a, axis=None, dtype=None, out=None: np.cumprod(_without(a, 1.0), axis=axis))

# ------------------------------------------------------------------------------------------------- scans and differences along an axis


def _reversed_sums(g: Any, axis: int) -> Any:
    return np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis)


def _cumsum(g: Any, y: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    if axis is None:
        return np.reshape(_reversed_sums(g, 0), a.shape)
    return _reversed_sums(g, axis)


linear((np.cumsum, np.ndarray.cumsum), _cumsum, parameters="a axis dtype out")


def running_product(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """``np.cumprod``, written as products of masked copies: exact where there are zeros."""
    if axis is None:
        a, axis = np.reshape(a, (-1,)), 0
    last = np.moveaxis(a, axis, -1)
    n = last.shape[-1]
    below = np.tri(n, dtype=bool)
    return np.moveaxis(np.prod(choose(below, np.expand_dims(last, -2), 1.0), axis=-1), -1, axis)


defined((np.cumprod, np.ndarray.cumprod), running_product)


def _diff_once(g: Any, axis: int) -> Any:
    edge = np.zeros([1 if k == axis % g.ndim else size for k, size in enumerate(g.shape)])
    return np.concatenate((edge, g), axis=axis) - np.concatenate((g, edge), axis=axis)


def _diff(g: Any, y: Any, a: Any, n: int = 1, axis: int = -1, **named: Any) -> Any:
    for _ in range(n):
        g = _diff_once(g, axis)
    before = named["prepend"].shape[axis] if "prepend" in named and isinstance(named["prepend"], np.ndarray) else 1 if "prepend" in named else 0
    if named:
        g = np.take(g, np.arange(before, before + a.shape[axis]), axis=axis)
    return g


pull(np.diff, _diff, parameters="a n axis prepend append")
push(np.diff, lambda t, y, a, n=1, axis=-1, **named: np.diff(t, n=n, axis=axis, **{name: 0.0 * held for name, held in named.items()}))
linear(np.ediff1d, lambda g, y, a: np.reshape(_diff_once(g, 0), a.shape))


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """``np.trapezoid``."""
    values = np.moveaxis(y, axis, -1)
    if x is None:
        return np.sum((values[..., 1:] + values[..., :-1]) * (0.5 * dx), axis=-1)
    steps = np.diff(x if x.ndim == 1 else np.moveaxis(x, axis, -1), axis=-1)
    return np.sum((values[..., 1:] + values[..., :-1]) * (0.5 * steps), axis=-1)


defined(np.trapezoid, trapezoid, parameters="y x dx axis")
defined(np.cumulative_sum, lambda x, axis=None, dtype=None, out=None, include_initial=False: _with_first(np.cumsum(x, axis=axis), axis, 0.0, include_initial))
defined(np.cumulative_prod, lambda x, axis=None, dtype=None, out=None, include_initial=False: _with_first(np.cumprod(x, axis=axis), axis, 1.0, include_initial))


def _with_first(found: Any, axis: Any, first: float, wanted: bool) -> Any:
    if not wanted:
        return found
    at = 0 if axis is None else axis
    edge = np.full([1 if k == at % found.ndim else size for k, size in enumerate(found.shape)], first)
    return np.concatenate((edge, found), axis=at)


# ------------------------------------------------------------------------------------------------- order statistics


def _axis_of(a: Any, axis: Any) -> tuple[Any, int]:
    """Return a and the axis; for an axis of None, a flattened and 0."""
    return (np.reshape(a, (-1,)), 0) if axis is None else (a, axis)


def quantile(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool = False) -> Any:
    """``np.quantile``, by interpolation between sorted elements."""
    if isinstance(axis, tuple):
        over = tuple([k % a.ndim for k in axis])
        row = np.moveaxis(a, over, tuple(range(len(over))))
        row = np.reshape(row, (-1, *row.shape[len(over) :]))
    else:
        row, at = _axis_of(a, axis)
        row, over = np.moveaxis(row, at, 0), (at % a.ndim,)
    row = np.sort(row, axis=0)
    place = np.clip(_place(np.asarray(q), row.shape[0], method), 0.0, row.shape[0] - 1.0)
    low = np.floor(place).astype(np.int64)
    high = np.minimum(low + 1, row.shape[0] - 1)
    part = np.reshape(place - low, shape_of(place) + (1,) * (row.ndim - 1))
    found = row[low] * (1.0 - part) + row[high] * part
    if keepdims:
        shape = shape_of(place) + ((1,) * a.ndim if axis is None else tuple([1 if k in over else size for k, size in enumerate(a.shape)]))
        return np.reshape(found, shape)
    return found


def _place(q: Any, count: int, method: str) -> Any:
    """Return the (fractional) position of a quantile among so many (count) sorted elements."""
    last = q * (count - 1.0)
    if method == "linear":
        return last
    if method in _BETWEEN:
        alpha, beta = _BETWEEN[method]
        return count * q + (alpha + q * (1.0 - alpha - beta)) - 1.0
    if method == "lower":
        return np.floor(last)
    if method == "higher":
        return np.ceil(last)
    if method == "midpoint":
        return 0.5 * (np.floor(last) + np.ceil(last))
    if method == "nearest":
        return np.round(last)
    at = count * q - 1.0
    if method == "inverted_cdf":
        return np.ceil(at)
    if method == "averaged_inverted_cdf":
        return np.where(at == np.floor(at), at + 0.5, np.ceil(at))
    raise Declined(f"the derivative of a quantile is not known for method={method!r}")


#: method of np.quantile -> (alpha, beta), which determine the positions of the first and the last element (Hyndman and Fan's types 4 to 9).
_BETWEEN: Final = {
    "interpolated_inverted_cdf": (0.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0),
    "median_unbiased": (1.0 / 3.0, 1.0 / 3.0), "normal_unbiased": (0.375, 0.375),
}  # fmt: skip


defined(np.quantile, quantile, parameters="a q axis")
defined(np.percentile, lambda a, q, axis=None, *rest, **named: quantile(a, np.asarray(q) / 100.0, axis, *rest, **named), parameters="a q axis")
defined(np.median, lambda a, axis=None, out=None, overwrite_input=False, keepdims=False: quantile(a, 0.5, axis, keepdims=keepdims), parameters="a axis")

constant(
    np.argmax, np.argmin, np.argsort, np.nanargmax, np.nanargmin, np.ndarray.argmax, np.ndarray.argmin, np.ndarray.argsort, np.argpartition,
    np.ndarray.argpartition, np.lexsort, np.searchsorted, np.ndarray.searchsorted, np.digitize, np.count_nonzero, np.nonzero, np.ndarray.nonzero,
    np.argwhere, np.flatnonzero, np.all, np.any, np.ndarray.all, np.ndarray.any, np.isin,
)  # fmt: skip

pull(np.bincount, None, lambda g, y, x, weights, minlength=0: fitted(np.take(g, np.asarray(x)), weights), parameters="x weights minlength")
push(np.bincount, None, lambda t, y, x, weights, minlength=0: np.bincount(x, t, minlength))

# ------------------------------------------------------------------------------------------------- methods of ufuncs


def _reducing(u: Any) -> Callable[..., Any]:
    if u is np.add:
        return np.sum
    if u is np.multiply:
        return np.prod
    if u is np.maximum:
        return np.max
    if u is np.minimum:
        return np.min
    raise Declined("the derivative of reductions is only known for add, multiply, maximum and minimum")


def reduced(u: Any, a: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False, **named: Any) -> Any:
    """``u.reduce``."""
    return _reducing(u)(a, axis=axis, keepdims=keepdims, **named)


def accumulated(u: Any, a: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    """``u.accumulate``."""
    if u is np.add:
        return np.cumsum(a, axis=axis)
    if u is np.multiply:
        return np.cumprod(a, axis=axis)
    raise Declined("the derivative of accumulations is only known for add and multiply")


def outer(u: Any, a: Any, b: Any) -> Any:
    """``u.outer``."""
    return u(np.reshape(a, shape_of(a) + (1,) * rank_of(b)), b)


defined(np.ufunc.reduce, reduced)
defined(np.ufunc.accumulate, accumulated)
defined(np.ufunc.outer, outer)
