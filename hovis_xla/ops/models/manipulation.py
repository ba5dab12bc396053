"""Models of NumPy's functions that arrange elements: rolling, joining, choosing, inserting."""

import itertools
import math
import operator
from typing import Any

from hovis_xla.emit.values import NotLowerable
from hovis_xla.ops.standin import StandIn, arrayed, axes_of, axis_of, cut, is_array, is_numpy, model, np, numbers, standing, zeros

# ------------------------------------------------------------------------------------------------- axes


@model(np.rot90)
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    first, second = axes_of(tuple(axes), m.ndim)
    if first == second:
        raise ValueError("Axes must be different.")
    turns = operator.index(k) % 4
    if turns == 0:
        return m[:]
    if turns == 2:
        return np.flip(np.flip(m, first), second)
    if turns == 1:
        return np.swapaxes(np.flip(m, second), first, second)
    return np.flip(np.swapaxes(m, first, second), second)


@model(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    axis = axis_of(axis, a.ndim)
    if start < 0:
        start += a.ndim
    if not 0 <= start <= a.ndim:
        raise ValueError("start")
    order = [k for k in range(a.ndim) if k != axis]
    order.insert(start - (axis < start), axis)
    return np.transpose(a, tuple(order))


@model(np.atleast_3d)
def atleast_3d(*arys: Any) -> Any:
    def grown(x: Any) -> Any:
        x = arrayed(x)
        if x.ndim >= 3:
            return x
        return np.reshape(x, {0: (1, 1, 1), 1: (1, *x.shape, 1), 2: (*x.shape, 1)}[x.ndim])

    return grown(arys[0]) if len(arys) == 1 else tuple(map(grown, arys))


@model(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Roll an array; a shift that is known only at run time becomes a gather with rotated indices."""
    if axis is None:
        return np.reshape(roll(np.ravel(a), shift, 0), a.shape)
    axes = axes_of(axis, a.ndim)
    shifts = list(shift) if isinstance(shift, tuple | list) else [shift]
    if len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
        raise ValueError("shift and axis")
    result = np.copy(a)
    for amount, k in zip(itertools.cycle(shifts) if len(shifts) < len(axes) else shifts, itertools.cycle(axes) if len(axes) == 1 else axes, strict=False):
        result = _rolled(result, amount, k)
    return result


def _rolled(a: Any, shift: Any, axis: int) -> Any:
    size = a.shape[axis]
    if isinstance(shift, StandIn):
        if shift.shape:
            raise NotLowerable("several shifts that are not known")
        return np.take(a, (numbers(a, size) - shift.call(int, shift) % size) % size, axis=axis) if size else a
    by = operator.index(shift) % size if size else 0
    return np.concatenate((cut(a, axis, size - by, None), cut(a, axis, None, size - by)), axis=axis) if by else a


@model(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    shape = tuple(new_shape) if isinstance(new_shape, tuple | list) else (new_shape,)
    flat, count = np.ravel(a), math.prod(shape)
    if flat.size == 0 or count == 0:
        return zeros(a, shape, a.dtype)
    times = -(-count // flat.size)
    return np.reshape(cut(np.concatenate((flat,) * times), 0, None, count) if times > 1 else np.copy(cut(flat, 0, None, count)), shape)


# ------------------------------------------------------------------------------------------------- joining, padding


@model(np.dstack)
def dstack(tup: Any) -> Any:
    return np.concatenate([atleast_3d(x) for x in tup], axis=2)


@model(np.append)
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    low = standing(arr, values)
    arr, values = arrayed(arr, low), arrayed(values, low)
    if axis is None:
        return np.concatenate((np.ravel(arr), np.ravel(values)))
    return np.concatenate((arr, values), axis=axis)


@model(np.block)
def block(arrays: Any) -> Any:
    def depth(x: Any) -> int:
        return 1 + max(map(depth, x)) if isinstance(x, list) else 0

    def leaves(x: Any) -> Any:
        return itertools.chain.from_iterable(map(leaves, x)) if isinstance(x, list) else (x,)

    levels = depth(arrays)
    rank = max(levels, *(np.ndim(x) if not isinstance(x, StandIn) else x.ndim for x in leaves(arrays)))
    first = standing(*leaves(arrays))

    def joined(x: Any, level: int) -> Any:
        if isinstance(x, list):
            if not x:
                raise ValueError("List at arrays cannot be empty")
            return np.concatenate([joined(part, level + 1) for part in x], axis=level - levels)
        x = arrayed(x, first)
        return np.reshape(x, (1,) * (rank - x.ndim) + x.shape)

    return np.copy(joined(arrays, 0))


# ------------------------------------------------------------------------------------------------- choosing


@model(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError("list of cases must be same length as list of conditions")
    first = standing(condlist, choicelist, default)
    for c in condlist:
        if not is_numpy(c) or c.dtype != np.bool_:
            raise TypeError("should be boolean ndarray")
    choices = [*choicelist, default]
    dtype = np.result_type(*(_weakly(c) for c in choices))
    arrays = [c.astype(dtype) if is_numpy(c) else first.call(np.asarray, c, dtype) for c in choices]
    conditions = list(np.broadcast_arrays(*condlist))
    arrays = list(np.broadcast_arrays(*arrays))
    result = arrays[-1]
    shape = np.broadcast_shapes(conditions[0].shape, arrays[0].shape) if arrays[0].ndim else conditions[0].shape
    result = np.broadcast_to(result, shape)
    for condition, choice in zip(conditions[::-1], arrays[-2::-1], strict=True):
        result = np.where(condition, choice, result)
    if result.shape != shape:
        raise ValueError("shapes")
    return result


def _weakly(x: Any) -> Any:
    """Return the operand for a call of ``np.result_type``: a dtype, or a Python number."""
    if isinstance(x, StandIn):
        return x.dtype if x.number in (None, bool) else x.number(0)
    return x if type(x) in (int, float, complex) else np.asarray(x)


@model(np.choose, np.ndarray.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    if out is not None or not isinstance(choices, tuple | list) or not is_numpy(a) or not np.can_cast(a.dtype, np.int64):
        raise NotLowerable("np.choose with out=, with indices that are not ints, or of something other than a list or a tuple of arrays")
    count = len(choices)
    arrays = [arrayed(c, a) for c in choices]
    dtype = np.result_type(*map(_weakly, choices))
    arrays = [c.astype(dtype) for c in arrays]
    index, *arrays = np.broadcast_arrays(a.astype(np.int64), *arrays)
    if mode == "raise":
        ((index < 0) | (index >= count)).refuse()
    else:
        index = index % count if mode == "wrap" else np.clip(index, 0, count - 1)
    result = arrays[-1]
    for k in range(count - 2, -1, -1):
        result = np.where(index == k, arrays[k], result)
    return np.copy(result)


@model(np.broadcast_arrays)
def broadcast_arrays(*args: Any) -> Any:
    first = standing(args)
    arrays = [arrayed(a, first) for a in args]
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    return tuple(a if a.shape == shape else np.broadcast_to(a, shape) for a in arrays)


@model(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    first = standing(xi)
    rank = len(xi)
    places = list(range(rank))
    if indexing == "xy" and rank > 1:
        places[:2] = 1, 0
    grown = [np.reshape(arrayed(x, first), tuple(-1 if k == place else 1 for k in range(rank))) for x, place in zip(xi, places, strict=True)]
    if not sparse:
        grown = list(np.broadcast_arrays(*grown))
    return tuple(np.copy(x) if copy else x for x in grown)


@model(np.ix_)
def ix_(*args: Any) -> Any:
    found = []
    for k, given in enumerate(args):
        index = given if isinstance(given, StandIn) else np.asarray(given)
        if not isinstance(index, StandIn) and index.size == 0:
            index = index.astype(np.intp)
        if index.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if index.dtype == np.bool_:
            if isinstance(index, StandIn):
                raise NotLowerable("a mask that is not known")
            (index,) = index.nonzero()
        found.append(index.reshape((1,) * k + (index.size,) + (1,) * (len(args) - k - 1)))
    return tuple(found)


@model(np.compress, np.ndarray.compress)
def _compressed(*args: Any, axis: Any = None, **named: Any) -> Any:
    """``np.compress``; the method takes its arguments in another order."""
    names = [x for x in args if is_array(x) and x.dtype != np.bool_] or [x for x in args if is_array(x)]
    if len(args) not in (2, 3) or named or len(names) != 1:
        raise NotLowerable("a condition that is not known: the shape of the result depends on its values")
    a = names[0]
    condition = next(x for x in args if x is not a)
    if len(args) == 3:
        axis = args[2]
    keep = np.asarray(condition, dtype=bool)
    if keep.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    where = np.flatnonzero(keep)
    return np.take(a, where, axis=axis) if axis is not None else np.take(np.ravel(a), where)


@model(np.delete)
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    if isinstance(obj, StandIn):
        raise NotLowerable("np.delete at indices that are not known")
    if axis is None:
        arr, axis = np.ravel(arr), 0
    axis = axis_of(axis, arr.ndim)
    kept = np.delete(np.arange(arr.shape[axis]), obj)
    return np.take(arr, kept, axis=axis)


@model(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    if isinstance(obj, StandIn) or not isinstance(obj, int | np.integer) or isinstance(obj, bool):
        raise NotLowerable("np.insert at several indices, or at one that is not known")
    if axis is None:
        arr, axis = np.ravel(arr), 0
    axis = axis_of(axis, arr.ndim)
    size = arr.shape[axis]
    if not -size <= obj <= size:
        raise IndexError("out of bounds")
    place = int(obj) % size if obj < 0 else int(obj)
    values = arrayed(values, arr)
    if arr.dtype.kind in "iub" and values.dtype != arr.dtype:
        raise NotLowerable("np.insert of values of another dtype")
    values = np.reshape(values, (1,) * (arr.ndim - values.ndim) + values.shape).astype(arr.dtype)
    values = np.moveaxis(values, 0, axis)
    shape = tuple(values.shape[k] if k == axis else d for k, d in enumerate(arr.shape))
    return np.concatenate((cut(arr, axis, None, place), np.broadcast_to(values, shape), cut(arr, axis, place, None)), axis=axis)


@model(np.packbits)
def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> Any:
    if a.dtype.kind not in "iub":
        raise TypeError("Expected an input array of integer or boolean data type")
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = axis_of(axis, a.ndim)
    bits = np.moveaxis(a != 0, axis, -1)
    rest = -bits.shape[-1] % 8
    bits = np.pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, rest)])
    bits = np.reshape(bits, (*bits.shape[:-1], bits.shape[-1] // 8, 8)).astype(np.uint8)
    weights = np.array([1 << k for k in range(8)], np.uint8)
    return np.moveaxis(np.sum(bits * (weights[::-1].copy() if bitorder == "big" else weights), axis=-1, dtype=np.uint8), -1, axis)


@model(np.unpackbits)
def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> Any:
    if a.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = axis_of(axis, a.ndim)
    if count is not None:
        raise NotLowerable("np.unpackbits with a count")
    weights = np.array([1 << k for k in range(8)], np.uint8)
    bits = (np.expand_dims(np.moveaxis(a, axis, -1), -1) & (weights[::-1].copy() if bitorder == "big" else weights)) != 0
    bits = np.reshape(bits.astype(np.uint8), (*bits.shape[:-2], bits.shape[-2] * 8))
    return np.moveaxis(bits, -1, axis)


@model(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    if not isinstance(indices, StandIn) or indices.dtype.kind not in "iu":
        raise NotLowerable("np.unravel_index of indices that are not integers")
    rest = indices.astype(np.int64) if is_numpy(indices) else np.int64(0) + indices
    ((rest < 0) | (rest >= math.prod(sizes))).refuse()
    found = []
    for size in sizes[::-1] if order == "C" else sizes:
        found.append(rest % size)
        rest = rest // size
    return tuple(found[::-1] if order == "C" else found)


@model(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "raise", order: str = "C") -> Any:
    sizes = tuple(dims) if isinstance(dims, tuple | list) else (dims,)
    if isinstance(multi_index, StandIn) or len(multi_index) != len(sizes) or order != "C" or mode not in ("raise", "wrap", "clip"):
        raise NotLowerable("np.ravel_multi_index of an array, or with an unsupported option")
    first, result = standing(multi_index), None
    for index, size in zip(multi_index, sizes, strict=True):
        index = arrayed(index, first)
        if index.dtype.kind not in "iu":
            raise TypeError("only int indices permitted")
        index = index.astype(np.int64)
        if mode == "raise":
            ((index < 0) | (index >= size)).refuse()
        else:
            index = index % size if mode == "wrap" else np.clip(index, 0, size - 1)
        result = index if result is None else result * size + index
    return result + np.int64(0)


@model(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    if axis is None:
        arr, axis = np.ravel(arr), 0
    axis = axis_of(axis, arr.ndim)
    if not is_array(indices) or indices.dtype.kind not in "iu" or indices.ndim != arr.ndim:
        raise IndexError("`indices` must be an integer array")
    shape = [1] * arr.ndim
    places = []
    for k, size in enumerate(arr.shape):
        if k == axis:
            places.append(indices)
        else:
            places.append(np.reshape(numbers(arr, size), (*shape[:k], size, *shape[k + 1 :])))
    return arr[tuple(places)]


@model(np.apply_over_axes)
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    if func not in (np.sum, np.max, np.min, np.mean, np.prod, np.any, np.all):
        raise NotLowerable("np.apply_over_axes of an unsupported function")
    for axis in axes if isinstance(axes, tuple | list) else (axes,):
        a = func(a, axis=axis, keepdims=True)
    return a


@model(np.trim_zeros)
def _depends_on_values(*args: Any, **named: Any) -> Any:
    raise NotLowerable("the shape of the result depends on values")
