"""The rules by which ``pad_function`` rewrites each op of a Function for padded arrays.

Those of reductions and contractions are in ``padding_reductions``.
"""

import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis.ir.model import Function, Op, Operand, Param
from hovis.lattice import Const, Type
from hovis.library.numpy.rules.ufuncs import OPERATORS
from hovis.passes.pass_runner import checking, run_pass
from hovis.passes.rewriting import copy
from hovis_xla.prepare.pad_function import Count, Dims, Rewriter, Rule, Size, Unbucketed, checked_index, less, noting
from hovis_xla.prepare.padding_reductions import REDUCTIONS

_RULES: Final[dict[Any, Rule]] = dict(REDUCTIONS)
_rule = noting(_RULES)


def bucketed(function: Function, dims: Sequence[Dims | None], buckets: Sequence[tuple[int, int]]) -> tuple[Function, list[Count]]:
    """Return the function rewritten for padded arrays, and the Counts that are its additional parameters.

    dims     the dimensions of each parameter that is an array, a Size where one varies; None for other parameters
    buckets  the smallest and the greatest length of each Size, by its number ``which``
    """
    made = copy(function)
    return made, run_pass("bucketed", lambda one: Rewriter(one, dims, buckets, _rule_of).run(), made, checking())


# ------------------------------------------------------------------------------------------------- rules for ops

#: Callables that work element by element, besides ufuncs.
BY_ELEMENT: Final = (OPERATORS.keys() - {divmod, pow}) | {np.where, np.clip, np.ndarray.clip, np.ndarray.astype, np.nan_to_num, np.round}


def _rule_of(callee: Any) -> Rule | None:
    if isinstance(callee, np.ufunc):
        return _elementwise if callee.signature is None and callee.nout == 1 else None
    try:
        return _elementwise if callee in BY_ELEMENT else _RULES.get(callee)
    except TypeError:
        return None


def _elementwise(r: Rewriter, op: Op) -> Operand:
    if any(name != "dtype" for name, _ in op.kwargs) or (op.callee is np.where and len(op.args) != 3):
        raise Unbucketed("keyword arguments")
    if any(r.is_made(v) for v in op.args if isinstance(v, Param | Op)):
        raise Unbucketed("a shape in arithmetic")
    arrays = op.args[:1] if op.callee is np.ndarray.astype else op.args
    if any(map(r.varies, arrays)):
        return r.keep(op, _broadcast([r.dims_of(a) for a in arrays]))
    return _arithmetic(r, r.keep(op))


def _arithmetic(r: Rewriter, op: Op) -> Op:
    """Record that a length plus or minus a constant is a length."""
    if op.callee not in (operator.add, operator.sub) or len(op.args) != 2:
        return op
    a, b = op.args
    if op.callee is operator.add and isinstance(a, Const):
        a, b = b, a
    size = r.sizes.get(a) if isinstance(a, Param | Op) else None
    if size is not None and isinstance(b, Const) and type(b.value) is int:
        found = less(size, -b.value if op.callee is operator.add else b.value)
        if r.least(found) >= 1:
            r.sizes[op] = found  # type: ignore[assignment]
    return op


def _broadcast(all_dims: Sequence[Dims]) -> Dims:
    rank = max(map(len, all_dims))
    found: list[int | Size] = []
    for k in range(rank):
        here = {d[k - rank + len(d)] for d in all_dims if k - rank + len(d) >= 0} - {1}
        if len(here) > 1:
            raise Unbucketed("sizes that may not be the same")
        found.append(here.pop() if here else 1)
    return tuple(found)


#: For functions of an array, the attribute that they return.
_QUERIES: Final[dict[Any, Const]] = {len: Const("len"), np.size: Const("size"), np.shape: Const("shape"), np.ndim: Const("ndim")}


@_rule(getattr, *_QUERIES)
def _attribute(r: Rewriter, op: Op) -> Operand:
    array, *rest = op.args
    name = _QUERIES.get(op.callee) or rest.pop(0)
    if not r.varies(array) or not isinstance(name, Const) or (op.callee in _QUERIES and (rest or op.kwargs)):
        return r.same(op)
    dims = r.dims_of(array)
    match name.value:
        case "len":
            return r.count(dims[0])
        case "size":
            return r.count(*dims)
        case "ndim":
            return Const(len(dims))
        case "shape":
            made = r.emit(operations.make_tuple, *map(r.count, dims), type=op.type)
            r.shapes[made] = dims
            return made
        case "dtype":
            return r.keep(op)
        case "T":
            return r.keep_view(op, dims[::-1])
        case "real" | "imag":
            return r.keep_view(op, dims)
    raise Unbucketed(f"the attribute {name.value}")


@_rule(operations.make_tuple, operations.make_list, operations.make_dict)
def _container(r: Rewriter, op: Op) -> Operand:
    """Rewrite a container of results; a tuple of lengths is recorded as a shape."""
    values = [v for v in op.args if isinstance(v, Param | Op)]
    if any(v in r.slices for v in values):
        if op.callee is not operations.make_tuple or any(v in r.built or v in r.shapes or r.varies(v) for v in values):
            raise Unbucketed("a slice in a container")
        r.slices.add(op)
        return op
    if any(v in r.shapes for v in values):
        raise Unbucketed("a shape in a container")
    dims = tuple(r.sizes.get(v) if isinstance(v, Param | Op) else v.value for v in op.args)  # type: ignore[union-attr]
    if op.callee is operations.make_tuple and all(isinstance(d, Size) or type(d) is int for d in dims):
        r.shapes[op] = dims  # type: ignore[assignment]
    else:
        op.args = tuple(map(r.cut, op.args))
        r.built.add(op)
    return r.keep(op)


@_rule(operator.getitem)
def _getitem(r: Rewriter, op: Op) -> Operand:
    array, index = op.args
    if array in r.shapes:
        if not isinstance(index, Const) or type(index.value) is not int:
            raise Unbucketed("a part of a shape")
        return r.count(r.shapes[array][index.value])  # type: ignore[index]
    return _indexed(r, op, array, index) if r.varies(array) else r.same(op)


def _indexed(r: Rewriter, op: Op, array: Operand, index: Operand) -> Operand:
    dims = list(r.dims_of(array))
    found: list[int | Size] = []
    used: list[Any] = []
    for key in _keys(r, index):
        if key is None:
            found.append(1)
            used.append(None)
            continue
        if not dims:
            raise Unbucketed("too many indices")
        dim = dims.pop(0)
        if isinstance(key, slice):
            size, shown = _sliced(r, dim, key)
            found.append(size)
            used.append(shown)
        else:
            used.append(_checked(r, key, dim))
    found += dims
    op.args = (array, _index(r, used))
    return r.keep_view(op, tuple(found)) if found else r.keep(op)


def _checked(r: Rewriter, index: Any, dim: int | Size) -> Any:
    """Return an index that stays within the true size of a dimension."""
    return r.emit(checked_index, index, r.count(dim), type=Type(int)) if isinstance(dim, Size) else index


def _index(r: Rewriter, keys: list[Any]) -> Operand:
    """Return the index with these keys, one for each dimension."""
    if not any(isinstance(k, Param | Op) for k in keys):
        return Const(tuple(keys) if len(keys) != 1 else keys[0])
    return keys[0] if len(keys) == 1 else r.emit(operations.make_tuple, *keys, type=Type(tuple))


def _keys(r: Rewriter, index: Operand) -> list[Any]:
    """Return the index of each dimension: a slice of constants and lengths, None, or an Int."""
    if isinstance(index, Op) and index.callee is operations.make_tuple:
        return [key for part in index.args for key in _keys(r, part)]
    if isinstance(index, Op) and index.callee is slice:
        bounds: list[Any] = [r.sizes.get(a, a) if isinstance(a, Param | Op) else a.value for a in index.args]  # type: ignore[union-attr]
        return [slice(*bounds)]
    if isinstance(index, Const):
        parts = index.value if type(index.value) is tuple else (index.value,)
        if all(p is None or type(p) is int or isinstance(p, slice) for p in parts):
            return list(parts)
    if isinstance(index, Param | Op) and index.type == Type(int):
        return [index]
    raise Unbucketed("an index that is no number or slice")


def _sliced(r: Rewriter, dim: int | Size, key: slice) -> tuple[int | Size, slice]:
    """Return the size of a slice with step one, and the slice that takes it from the padded array."""
    if key.step not in (None, 1):
        raise Unbucketed("a slice with a step")
    start = 0 if key.start is None else key.start
    end = dim if key.stop is None else less(dim, -key.stop) if type(key.stop) is int and key.stop < 0 else key.stop
    if type(start) is not int or not 0 <= start <= r.least(dim):
        raise Unbucketed("where the slice begins is not known")
    if isinstance(end, Size):
        inside = isinstance(dim, Size) and end.which == dim.which and end.offset <= dim.offset
    else:
        inside = type(end) is int and end <= r.least(dim)
    if not inside:
        raise Unbucketed("where the slice ends is not known, or it may be cut off")
    size = less(end, start)
    if r.least(size) < 1:
        raise Unbucketed("a slice that may be empty")
    return size, slice(start, r.padded(end))


@_rule(slice)
def _slice(r: Rewriter, op: Op) -> Operand:
    """Record a slice; it is rewritten where it is used."""
    r.slices.add(op)
    return op


@_rule(np.zeros, np.ones, np.empty, np.ndarray, np.full, np.arange)
def _creation(r: Rewriter, op: Op) -> Operand:
    """Rewrite the creation of an array whose shape holds lengths: it gets the sizes of the bucket."""
    shape = op.args[0]
    if op.callee is np.arange and len(op.args) > 1:
        raise Unbucketed("a range with a start")
    if any(v in r.shapes or v in r.sizes for v in op.operands() if v is not shape and isinstance(v, Param | Op)) or any(k == "out" for k, _ in op.kwargs):
        raise Unbucketed("a length among the other arguments")
    dims = r.shapes[shape] if shape in r.shapes else (r.sizes[shape],) if shape in r.sizes else None  # type: ignore[index]
    if dims is None:
        raise Unbucketed("an array of unknown size")
    sizes = tuple(map(r.padded, dims))
    op.args = (Const(sizes if shape in r.shapes else sizes[0]), *op.args[1:])
    return r.keep(op, dims)


@_rule(np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.copy, np.ndarray.copy, np.cumsum, np.ndarray.cumsum, np.cumprod, np.ndarray.cumprod)
def _alike(r: Rewriter, op: Op) -> Operand:
    """Rewrite an op whose result has the sizes of its argument, and whose elements depend on no later ones."""
    array = op.args[0]
    if not r.varies(array) or any(r.varies(v) for v in op.args[1:]) or any(k not in ("dtype", "axis") for k, _ in op.kwargs):
        raise Unbucketed("an argument that varies")
    dims = r.dims_of(array)
    if len(dims) > 1 and op.callee in (np.cumsum, np.cumprod, np.ndarray.cumsum, np.ndarray.cumprod) and (len(op.args) < 2 and "axis" not in dict(op.kwargs)):
        raise Unbucketed("sums over the flat array")
    return r.keep(op, dims)


# ------------------------------------------------------------------------------------------------- transposition, differences, stores


@_rule(np.transpose, np.ndarray.transpose)
def _transpose(r: Rewriter, op: Op) -> Operand:
    if len(op.args) > 1 or op.kwargs:
        raise Unbucketed("a transposition with axes")
    return r.keep_view(op, r.dims_of(op.args[0])[::-1])


@_rule(np.diff)
def _difference(r: Rewriter, op: Op) -> Operand:
    dims = r.dims_of(op.args[0])
    if len(op.args) > 1 or op.kwargs or r.least(less(dims[-1], 1)) < 1:
        raise Unbucketed("differences of another kind")
    return r.keep(op, (*dims[:-1], less(dims[-1], 1)))


@_rule(operator.setitem)
def _store(r: Rewriter, op: Op) -> Operand:
    """Rewrite a store of one element into an array that the function has made."""
    array, index, value = op.args
    if r.varies(value) or array in r.views or not r.varies(array):
        raise Unbucketed("a store of another kind")
    keys, dims = _keys(r, index), r.dims_of(array)
    if len(keys) != len(dims) or any(k is None or isinstance(k, slice) for k in keys):
        raise Unbucketed("a store into more than an element")
    op.args = (array, _index(r, [_checked(r, k, d) for k, d in zip(keys, dims, strict=True)]), value)
    return r.keep(op)
