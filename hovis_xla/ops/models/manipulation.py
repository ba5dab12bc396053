"""Models of NumPy's functions that arrange elements: padding, rolling, diagonals, choosing, inserting."""

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


@model(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(x: Any) -> Any:
    if x.ndim < 2:
        raise ValueError("Input array must be at least 2-dimensional")
    return np.swapaxes(x, -1, -2)


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
    """A shift that is known only at run time is a rotation of indices."""
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


# ------------------------------------------------------------------------------------------------- diagonals, triangles


def _diagonal_size(rows: int, columns: int, k: int) -> int:
    return max(0, min(rows, columns - k) if k >= 0 else min(rows + k, columns))


@model(np.diagonal, np.ndarray.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    first, second = axis_of(axis1, a.ndim), axis_of(axis2, a.ndim)
    if first == second:
        raise ValueError("axis1 and axis2 cannot be the same")
    rest = [k for k in range(a.ndim) if k not in (first, second)]
    moved = np.transpose(a, (*rest, first, second))
    rows, columns = moved.shape[-2:]
    size = _diagonal_size(rows, columns, offset)
    if not size:
        return moved[(slice(None),) * len(rest) + (0 if rows else slice(0, 0), slice(0, 0))] if rows else np.reshape(moved, (*moved.shape[:-2], 0))
    start = offset if offset >= 0 else -offset * columns
    flat = np.reshape(moved, (*moved.shape[:-2], rows * columns))
    return cut(flat, len(rest), start, start + (size - 1) * (columns + 1) + 1, columns + 1)


@model(np.linalg.diagonal)
def diagonal_of_last(x: Any, *, offset: int = 0) -> Any:
    return diagonal(x, offset, -2, -1)


@model(np.diag)
def diag(v: Any, k: int = 0) -> Any:
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    size = len(v) + abs(k)
    i, j = np.expand_dims(numbers(v, size), 1), np.expand_dims(numbers(v, size), 0)
    zero = zeros(v, (size, size), v.dtype)
    column = np.concatenate((zeros(v, abs(k), v.dtype), v)) if k > 0 else np.concatenate((v, zeros(v, abs(k), v.dtype))) if k else v
    # on the diagonal the column alone says which element it is
    return np.where(j - i == k, np.broadcast_to(column, (size, size)), zero)


@model(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Any:
    return diag(np.ravel(arrayed(v)), k)


@model(np.trace, np.ndarray.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    found = np.dtype(dtype) if dtype is not None else np.zeros((1, 1), a.dtype).trace().dtype
    return np.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=found)


@model(np.linalg.trace)
def trace_of_last(x: Any, *, offset: int = 0, dtype: Any = None) -> Any:
    return trace(x, offset, -2, -1, dtype)


def _triangle(m: Any, k: int, lower: bool) -> Any:
    if m.ndim == 1:  # a mask of n by n, with the vector as each row
        m = np.broadcast_to(m, (len(m), len(m)))
    if m.ndim < 2:
        raise ValueError("a triangle of a number")
    rows, columns = m.shape[-2:]
    off = np.expand_dims(numbers(m, columns), 0) - np.expand_dims(numbers(m, rows), 1)
    return np.where(off <= k if lower else off >= k, m, zeros(m, (), m.dtype))


@model(np.tril)
def tril(m: Any, k: int = 0) -> Any:
    return _triangle(m, k, True)


@model(np.triu)
def triu(m: Any, k: int = 0) -> Any:
    return _triangle(m, k, False)


@model(np.tril_indices_from)
def tril_indices_from(arr: Any, k: int = 0) -> Any:
    return np.tril_indices(arr.shape[-2], k, arr.shape[-1]) if arr.ndim == 2 else _refuse()


@model(np.triu_indices_from)
def triu_indices_from(arr: Any, k: int = 0) -> Any:
    return np.triu_indices(arr.shape[-2], k, arr.shape[-1]) if arr.ndim == 2 else _refuse()


@model(np.diag_indices_from)
def diag_indices_from(arr: Any) -> Any:
    return np.diag_indices(arr.shape[0], arr.ndim) if arr.ndim >= 2 and len(set(arr.shape)) == 1 else _refuse()


def _refuse() -> Any:
    raise ValueError("a shape that does not fit: this raises")


@model(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    columns = len(x) if N is None else operator.index(N)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    dtype = np.promote_types(x.dtype, int)
    powers, power = [], np.ones_like(x, dtype=dtype)
    for _ in range(columns):
        powers.append(power)
        power = power * x.astype(dtype)
    return np.stack(powers if increasing else powers[::-1], axis=1) if powers else zeros(x, (len(x), 0), dtype)


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


@model(np.kron)
def kron(a: Any, b: Any) -> Any:
    first = standing(a, b)
    a, b = arrayed(a, first), arrayed(b, first)
    if not a.ndim or not b.ndim:
        return np.multiply(a, b)
    rank = max(a.ndim, b.ndim)
    left, right = (1,) * (rank - a.ndim) + a.shape, (1,) * (rank - b.ndim) + b.shape
    spread = [(m, 1) for m in left], [(1, n) for n in right]
    shapes = [tuple(itertools.chain.from_iterable(pairs)) for pairs in spread]
    product = np.multiply(np.reshape(a, shapes[0]), np.reshape(b, shapes[1]))
    return np.reshape(product, tuple(m * n for m, n in zip(left, right, strict=True)))


@model(np.cross)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = np.moveaxis(a, axis_of(axisa, a.ndim), -1), np.moveaxis(b, axis_of(axisb, b.ndim), -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise ValueError("vectors of three")
    dtype = np.promote_types(a.dtype, b.dtype)
    a, b = np.broadcast_arrays(a.astype(dtype), b.astype(dtype))
    x, y = ([v[..., k] for k in range(3)] for v in (a, b))
    parts = [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]
    return np.moveaxis(np.stack(parts, axis=-1), -1, axis_of(axisc, a.ndim))


@model(np.linalg.cross)
def cross_of_last(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return cross(x1, x2, axis=axis)


def _widths(width: Any, rank: int) -> list[tuple[int, int]]:
    found = np.broadcast_to(np.asarray(width), (rank, 2))
    if found.dtype.kind not in "iu" or (found < 0).any():
        raise ValueError("index can't contain negative values")
    return [(int(a), int(b)) for a, b in found]


def _pairs(values: Any, rank: int) -> list[tuple[Any, Any]]:
    """One number, a pair, or a pair an axis; numbers of the program among them."""
    if isinstance(values, StandIn):
        if values.shape:
            raise NotLowerable("an array of constants to pad with")
        return [(values, values)] * rank
    if not isinstance(values, tuple | list):
        return [(values, values)] * rank
    rows = [r if isinstance(r, tuple | list) else None for r in values]
    if all(r is None for r in rows):
        pair = (values[0], values[-1])
        return [pair] * rank
    pairs = [(r[0], r[-1]) for r in values]
    return pairs * rank if len(pairs) == 1 else pairs


@model(np.pad)
def pad(array: Any, pad_width: Any, mode: str = "constant", **options: Any) -> Any:
    widths = _widths(pad_width, array.ndim)
    told = {k: 0 if k.endswith("_values") else v for k, v in options.items()}
    np.pad(np.zeros([min(n, 1) for n in array.shape]), widths, mode, **told)  # it raises where it does
    if mode in ("edge", "reflect", "symmetric", "wrap", "empty"):
        if mode == "empty":
            mode = "constant"
        elif options.get("reflect_type", "even") != "even" or not set(options) <= {"reflect_type"}:
            raise NotLowerable("np.pad with reflect_type='odd'")
        else:
            for axis, width in enumerate(widths):
                if width != (0, 0):
                    places = np.pad(np.arange(array.shape[axis]), width, mode=mode)
                    array = np.take(array, places, axis=axis)
            return np.copy(array)
    if mode == "constant":
        for axis, (before, after), values in zip(range(array.ndim), widths, _pairs(options.get("constant_values", 0), array.ndim), strict=True):
            array = _bordered(array, axis, (before, after), [_constant_border(array, axis, v) for v in values])
        return np.copy(array)
    if mode == "linear_ramp" and array.dtype.kind == "f":
        for axis, width, ends in zip(range(array.ndim), widths, _pairs(options.get("end_values", 0), array.ndim), strict=True):
            array = _ramped(array, axis, width, ends)
        return np.copy(array)
    if mode in ("mean", "maximum", "minimum") and array.dtype.kind == "f" and options.get("stat_length") is None:
        reduce = {"mean": np.mean, "maximum": np.max, "minimum": np.min}[mode]
        for axis, width in enumerate(widths):
            if width != (0, 0):
                found = reduce(array, axis=axis, keepdims=True)
                array = _bordered(array, axis, width, [found, found])
        return np.copy(array)
    raise NotLowerable(f"np.pad with mode={mode!r}")


def _constant_border(array: Any, axis: int, value: Any) -> Any:
    shape = tuple(1 if k == axis else d for k, d in enumerate(array.shape))
    return array.call(np.full, shape, _stored(array, value), array.dtype)


def _stored(array: Any, value: Any) -> Any:
    """A value as assignment to an element of array takes it; what does not fit there raises."""
    if isinstance(value, StandIn):
        if array.dtype.kind in "iub" and value.dtype != array.dtype:
            raise NotLowerable("np.pad with a number that may not fit the array")
        return value
    cell = np.empty(1, array.dtype)
    cell[0] = value
    return cell[0]


def _bordered(array: Any, axis: int, width: tuple[int, int], borders: list[Any]) -> Any:
    parts = [np.repeat(borders[0], width[0], axis=axis), array, np.repeat(borders[1], width[1], axis=axis)]
    return np.concatenate([p for p in parts if p is array or p.shape[axis]], axis=axis) if any(width) else array


def _ramped(array: Any, axis: int, width: tuple[int, int], ends: tuple[Any, Any]) -> Any:
    parts = [array]
    shape = [1] * array.ndim
    for side, count in enumerate(width):
        if count:
            edge = cut(array, axis, 0, 1) if side == 0 else cut(array, axis, array.shape[axis] - 1, None)
            steps = np.arange(count, dtype=array.dtype)
            shape[axis] = count
            ramp = np.reshape(steps, shape) * ((edge - ends[side]) / count) + ends[side]
            parts = [ramp, *parts] if side == 0 else [*parts, np.flip(ramp, axis)]
    return np.concatenate(parts, axis=axis) if len(parts) > 1 else array


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
    """What ``np.result_type`` is to be asked with: a dtype, or a number of Python's."""
    if isinstance(x, StandIn):
        return x.dtype if x.number in (None, bool) else x.number(0)
    return x if type(x) in (int, float, complex) else np.asarray(x)


@model(np.choose, np.ndarray.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    if out is not None or not isinstance(choices, tuple | list) or not is_numpy(a) or not np.can_cast(a.dtype, np.int64):
        raise NotLowerable("np.choose of something else than a list of arrays")
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
    """Its arguments stand in another order in the method."""
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
        raise NotLowerable("np.delete at places that are not known")
    if axis is None:
        arr, axis = np.ravel(arr), 0
    axis = axis_of(axis, arr.ndim)
    kept = np.delete(np.arange(arr.shape[axis]), obj)
    return np.take(arr, kept, axis=axis)


@model(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    if isinstance(obj, StandIn) or not isinstance(obj, int | np.integer) or isinstance(obj, bool):
        raise NotLowerable("np.insert at several places, or at one that is not known")
    if axis is None:
        arr, axis = np.ravel(arr), 0
    axis = axis_of(axis, arr.ndim)
    size = arr.shape[axis]
    if not -size <= obj <= size:
        raise IndexError("out of bounds")
    place = int(obj) % size if obj < 0 else int(obj)
    values = arrayed(values, arr)
    if arr.dtype.kind in "iub" and values.dtype != arr.dtype:
        raise NotLowerable("np.insert of numbers of another kind")
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
        raise NotLowerable("np.unravel_index of something else than integers")
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
        raise NotLowerable("np.ravel_multi_index of something else than a tuple")
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
        raise NotLowerable("np.apply_over_axes of another function")
    for axis in axes if isinstance(axes, tuple | list) else (axes,):
        a = func(a, axis=axis, keepdims=True)
    return a


@model(np.trim_zeros, np.argwhere)
def _depends_on_values(*args: Any, **named: Any) -> Any:
    raise NotLowerable("the shape of the result depends on values")
