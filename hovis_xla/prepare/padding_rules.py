"""The rules by which ``pad_function`` rewrites each op of a Function for padded arrays.

Those of reductions and contractions are in ``padding_reductions``.
"""

import builtins
import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis.ir.model import Function, Op, Operand, Param
from hovis.lattice import Const, Type
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

_CASTS: Final = frozenset({np.ndarray.astype})
_BY_ELEMENT: Final = frozenset({
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow, operator.neg, operator.pos,
    operator.abs, builtins.abs, operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne, operator.and_, operator.or_,
    operator.xor, operator.invert, operator.lshift, operator.rshift, np.where, np.clip, np.ndarray.clip, np.ndarray.astype, np.nan_to_num, np.round,
})  # fmt: skip


def _rule_of(callee: Any) -> Rule | None:
    if isinstance(callee, np.ufunc):
        return _elementwise if callee.signature is None and callee.nout == 1 else None
    try:
        return _elementwise if callee in _BY_ELEMENT else _RULES.get(callee)
    except TypeError:
        return None


def _elementwise(r: Rewriter, op: Op) -> Operand:
    if any(name != "dtype" for name, _ in op.kwargs) or (op.callee is np.where and len(op.args) != 3):
        raise Unbucketed("keyword arguments")
    if any(r.is_made(v) for v in op.args if isinstance(v, Param | Op)):
        raise Unbucketed("a shape in arithmetic")
    r.ops.append(op)
    arrays = op.args[:1] if op.callee in _CASTS else op.args
    if not any(map(r.varies, arrays)):
        return _arithmetic(r, op)
    r.dims[op] = _broadcast([r.dims_of(a) for a in arrays])
    return op


def _arithmetic(r: Rewriter, op: Op) -> Operand:
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


@_rule(len, np.size, np.shape, np.ndim)
def _query(r: Rewriter, op: Op) -> Operand:
    array, rest = op.args[0], op.args[1:]
    if not r.varies(array) or rest or op.kwargs:
        return r.same(op)
    dims = r.dims_of(array)
    return _attribute(r, op, dims, {len: "len", np.size: "size", np.shape: "shape", np.ndim: "ndim"}[op.callee])  # type: ignore[index]


@_rule(getattr)
def _getattr(r: Rewriter, op: Op) -> Operand:
    array, name = op.args[:2]
    if not r.varies(array) or not isinstance(name, Const):
        return r.same(op)
    return _attribute(r, op, r.dims_of(array), str(name.value))


def _attribute(r: Rewriter, op: Op, dims: Dims, name: str) -> Operand:
    array = op.args[0]
    if name == "len":
        return r.count(dims[0])
    if name == "size":
        return r.count(*dims)
    if name == "ndim":
        return Const(len(dims))
    if name == "shape":
        made = r.emit(operations.make_tuple, *map(r.count, dims), type=op.type)
        r.shapes[made] = dims
        return made
    if name in ("T", "real", "imag", "dtype"):
        r.ops.append(op)
        if name != "dtype":
            r.dims[op] = dims[::-1] if name == "T" else dims
            r.views |= {op} if array in r.views else set()
        return op
    raise Unbucketed(f"the attribute {name}")


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
        r.ops.append(op)
        return op
    op.args = tuple(r.cut(v) if isinstance(v, Param | Op) and v not in r.built else v for v in op.args)
    r.ops.append(op)
    r.built.add(op)
    return op


@_rule(operator.getitem)
def _getitem(r: Rewriter, op: Op) -> Operand:
    array, index = op.args
    if array in r.shapes:
        if not isinstance(index, Const) or type(index.value) is not int:
            raise Unbucketed("a part of a shape")
        return r.count(r.shapes[array][index.value])  # type: ignore[index]
    if not r.varies(array):
        return r.same(op)
    return _indexed(r, op, array, index)


def _indexed(r: Rewriter, op: Op, array: Operand, index: Operand) -> Operand:
    keys = _keys(r, index)
    dims = list(r.dims_of(array))
    found: list[int | Size] = []
    used: list[Any] = []
    basic = True
    for key in keys:
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
            basic = False
            used.append(r.emit(checked_index, key, r.count(dim), type=Type(int)) if isinstance(dim, Size) else key)
    found += dims
    if any(isinstance(k, Param | Op) for k in used):
        parts = [k if isinstance(k, Param | Op) else Const(k) for k in used]
        where: Any = parts[0] if len(parts) == 1 else r.emit(operations.make_tuple, *parts, type=Type(tuple))
    else:
        where = Const(tuple(used) if len(used) != 1 else used[0])
    op.args = (array, where)
    r.ops.append(op)
    if found or basic:
        r.dims[op] = tuple(found)
        r.views |= {op} if array in r.views else set()
    return op


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
    start, stop = key.start if key.start is not None else 0, key.stop
    if type(start) is not int or start < 0 or start > r.least(dim):
        raise Unbucketed("where the slice begins is not known")
    if stop is None:
        end: int | Size = dim
    elif isinstance(stop, Size):
        end = stop
    elif type(stop) is not int:
        raise Unbucketed("where the slice ends is not known")
    else:
        end = stop if stop >= 0 else less(dim, -stop)
    end = _within(r, end, dim)
    size = less(end, start)
    if r.least(size) < 1:
        raise Unbucketed("a slice that may be empty")
    return size, slice(start, r.padded(end))


def _within(r: Rewriter, end: int | Size, dim: int | Size) -> int | Size:
    """Return the end of a slice; raise Unbucketed unless it certainly lies within the dimension."""
    if isinstance(end, Size):
        if not isinstance(dim, Size) or end.which != dim.which or end.offset > dim.offset:
            raise Unbucketed("where the slice ends is not known")
    elif end > r.least(dim):
        raise Unbucketed("a slice that may be cut off")
    return end


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
    r.ops.append(op)
    r.dims[op] = dims
    return op


@_rule(np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.copy, np.ndarray.copy, np.cumsum, np.ndarray.cumsum, np.cumprod, np.ndarray.cumprod)
def _alike(r: Rewriter, op: Op) -> Operand:
    """Rewrite an op whose result has the sizes of its argument, and whose elements depend on no later ones."""
    array = op.args[0]
    if not r.varies(array) or any(r.varies(v) for v in op.args[1:]) or any(k not in ("dtype", "axis") for k, _ in op.kwargs):
        raise Unbucketed("an argument that varies")
    dims = r.dims_of(array)
    if len(dims) > 1 and op.callee in (np.cumsum, np.cumprod, np.ndarray.cumsum, np.ndarray.cumprod) and (len(op.args) < 2 and "axis" not in dict(op.kwargs)):
        raise Unbucketed("sums over the flat array")
    r.ops.append(op)
    r.dims[op] = dims
    return op


# ------------------------------------------------------------------------------------------------- transposition, differences, stores


@_rule(np.transpose, np.ndarray.transpose)
def _transpose(r: Rewriter, op: Op) -> Operand:
    if len(op.args) > 1 or op.kwargs:
        raise Unbucketed("a transposition with axes")
    r.ops.append(op)
    r.dims[op] = r.dims_of(op.args[0])[::-1]
    r.views |= {op} if op.args[0] in r.views else set()
    return op


@_rule(np.diff)
def _difference(r: Rewriter, op: Op) -> Operand:
    dims = r.dims_of(op.args[0])
    if len(op.args) > 1 or op.kwargs or r.least(less(dims[-1], 1)) < 1:
        raise Unbucketed("differences of another kind")
    r.ops.append(op)
    r.dims[op] = (*dims[:-1], less(dims[-1], 1))
    return op


@_rule(operator.setitem)
def _store(r: Rewriter, op: Op) -> Operand:
    """Rewrite a store of one element into an array that the function has made."""
    array, index, value = op.args
    if r.varies(value) or array in r.views or not r.varies(array):
        raise Unbucketed("a store of another kind")
    keys, dims = _keys(r, index), r.dims_of(array)
    if len(keys) != len(dims) or any(k is None or isinstance(k, slice) for k in keys):
        raise Unbucketed("a store into more than an element")
    parts = [r.emit(checked_index, k, r.count(d), type=Type(int)) if isinstance(d, Size) else k for k, d in zip(keys, dims, strict=True)]
    where = parts[0] if len(parts) == 1 else r.emit(operations.make_tuple, *parts, type=Type(tuple))
    op.args = (array, where, value)
    r.ops.append(op)
    return op
