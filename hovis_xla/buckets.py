"""One executable for many lengths: arrays filled up to the end of a bucket, and a Function that looks at the front part only.

A dimension that varies from call to call is a :class:`Size`: a number that is known when the program runs.  The arrays are
padded to the bucket's size; what each op makes of padding is known for the ops of the tables here.  Elementwise it stays
padding; reductions and products are given what does not change them in its place (by ``where``, never by a product: NaN);
lengths, indices and slices are taken of the true size.  Results are cut to theirs by the host.

Where any other op meets such an array the answer is "no" (:class:`Unbucketed`), and every size gets its own executable.

Nothing here knows of XLA: a Function goes in, a Function comes out.
"""

import builtins
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis.ir.analysis import reverse_postorder
from hovis.ir.model import Block, Effect, Function, Op, Operand, Param, Return, Value, edges
from hovis.lattice import Array, Const, Type
from hovis.passes.rewriting import copy

#: Sizes up to this share one bucket.
SMALLEST: Final = 8
#: Up to here a bucket ends at each power of two; above, there are four to each octave.
DOUBLING: Final = 4096


@dataclass(frozen=True, slots=True)
class Size:
    """A dimension of which only the bucket is known before the program runs: that of number ``which``, plus ``offset``."""

    which: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Count:
    """A parameter of the bucketed Function: the product of a number and of sizes."""

    factor: int
    sizes: tuple[Size, ...]

    def of(self, lengths: Sequence[int]) -> int:
        """What it is in a call with these lengths."""
        found = self.factor
        for size in self.sizes:
            found *= lengths[size.which] + size.offset
        return found


Dims = tuple[int | Size, ...]


class Unbucketed(Exception):
    """The Function does something with an array of varying size that is not known to be safe with padding."""


def bucket(length: int) -> tuple[int, int]:
    """The smallest and the greatest length of the bucket that this one falls into.

    >>> bucket(5), bucket(100), bucket(5000)
    ((2, 8), (65, 128), (4097, 5120))
    """
    if length <= SMALLEST:
        return 2, SMALLEST
    high = 1 << (length - 1).bit_length()
    if high <= DOUBLING:
        return high // 2 + 1, high
    step = high // 8
    high = -(-length // step) * step
    return high - step + 1, high


def clipped(array: Any, *sizes: int | None) -> Any:
    """The front part of an array, of these sizes (None: all of it), in memory of its own."""
    return array[tuple(slice(size) for size in sizes)].copy()


def checked_index(index: int, size: int) -> int:
    """An index from the front; IndexError, as of an array of this size."""
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for axis 0 with size {size}")
    return index + size if index < 0 else index


def bucketed(function: Function, dims: Sequence[Dims | None], buckets: Sequence[tuple[int, int]]) -> tuple[Function, list[Count]]:
    """The function for padded arrays, and what its additional parameters are.

    dims     of each parameter that is an array: its dimensions, a Size where they vary
    buckets  the smallest and the greatest length, by the number of the Size
    """
    made = copy(function)
    return made, _Rewriter(made, dims, buckets).run()


_Rule = Callable[["_Rewriter", Op], Operand | None]
_RULES: Final[dict[Any, _Rule]] = {}


def _rule(*callees: Any) -> Callable[[_Rule], _Rule]:
    def note(rule: _Rule) -> _Rule:
        _RULES.update(dict.fromkeys(callees, rule))
        return rule

    return note


class _Rewriter:
    """Walks a Function (a copy) and rewrites it in place.

    ``dims`` of arrays, ``sizes`` of numbers that are a length, ``shapes`` of tuples of lengths; ``views``: memory that an
    argument has a part in.
    """

    def __init__(self, function: Function, dims: Sequence[Dims | None], buckets: Sequence[tuple[int, int]]) -> None:
        self.function = function
        self.buckets = buckets
        self.dims: dict[Value, Dims] = {p: d for p, d in zip(function.params, dims, strict=True) if d is not None}
        self.sizes: dict[Value, Size] = {}
        self.shapes: dict[Value, Dims] = {}
        self.views: set[Value] = set(self.dims)
        #: containers with arrays, and slices, which nothing but a return or an index may use
        self.built: set[Value] = set()
        self.slices: set[Value] = set()
        self.counts: dict[Count, Param] = {}
        self.masks: dict[tuple[Block, Size, int], Op] = {}
        self.new: dict[Value, Operand] = {}
        self.ops: list[Op] = []
        self.block: Block = function.blocks[0]
        self.at: Op | None = None

    def run(self) -> list[Count]:
        entry = self.function.blocks[0]
        if any(e.block is entry for b in self.function.blocks for e in edges(b.terminator)):
            raise Unbucketed("a loop begins where the function does")
        order = reverse_postorder(entry)
        for block in order:
            self._block(block)
        for block in order:
            for edge in edges(block.terminator):
                for param, arg in zip(edge.block.params, edge.args, strict=True):
                    if isinstance(arg, Param | Op):
                        self._agree(param, arg)
        entry.params = (*entry.params, *self.counts.values())
        return list(self.counts)

    # --------------------------------------------------------------------------------------------- blocks

    def _block(self, block: Block) -> None:
        self.block = block
        self.ops = []
        for op in block.ops:
            self._op(op)
        end = block.terminator
        inner = getattr(end, "op", None)
        if inner is not None:
            self._same(inner)
        block.ops = self.ops
        if isinstance(end, Return):
            end.value = self._result(end.value)
            return
        if hasattr(end, "cond"):
            end.cond = self.use(end.cond)
        if hasattr(end, "value"):
            end.value = self.use(end.value)
        for edge in edges(end):
            edge.args = tuple(a if not isinstance(a, Param | Op) else self.use(a) for a in edge.args)
            for param, arg in zip(edge.block.params, edge.args, strict=True):
                if isinstance(arg, Param | Op):
                    self._pass_on(param, arg)

    def _pass_on(self, param: Param, arg: Value) -> None:
        if self._is_made(arg):
            raise Unbucketed("a shape, or a container with an array, goes through a branch")
        if arg in self.dims:
            self.dims.setdefault(param, self.dims[arg])
            if arg in self.views:
                self.views.add(param)

    def _agree(self, param: Param, arg: Value) -> None:
        """What was taken for granted of a parameter holds for all that arrives."""
        if self.dims.get(param) != self.dims.get(arg) and (param in self.dims or self.varies(arg)):
            raise Unbucketed("arrays of different sizes meet")
        if arg in self.views and param not in self.views:
            raise Unbucketed("an argument or an array of the function's own")

    # --------------------------------------------------------------------------------------------- ops

    def _op(self, op: Op) -> None:
        op.args = tuple(map(self.use, op.args))
        op.kwargs = tuple((name, self.use(value)) for name, value in op.kwargs)
        special = any(self.varies(v) or v in self.sizes or self._is_made(v) for v in op.operands() if isinstance(v, Param | Op))
        self.at = op
        if not special:
            self.ops.append(op)
            return
        found = self._elementwise(op) if _is_elementwise(op.callee) else self._by_rule(op)
        if found is not op and found is not None:
            self.new[op] = found

    def _by_rule(self, op: Op) -> Operand | None:
        rule = _find(op.callee)
        if rule is None:
            return self._same(op)
        return rule(self, op)

    def _is_made(self, value: Value) -> bool:
        """Is it a shape, a slice or a container, which most ops have no use for?"""
        return value in self.shapes or value in self.built or value in self.slices

    def _same(self, op: Op) -> Op:
        """An op to which lengths are numbers as any other; it has no business with what varies."""
        op.args = tuple(map(self.use, op.args))
        if any(self.varies(v) or self._is_made(v) for v in op.operands() if isinstance(v, Param | Op)):
            raise Unbucketed(f"{getattr(op.callee, '__name__', op.callee)} of an array whose size varies")
        if op is not getattr(self.block.terminator, "op", None):
            self.ops.append(op)
        return op

    def use(self, value: Operand) -> Operand:
        while isinstance(value, Param | Op) and value in self.new:
            value = self.new[value]
        return value

    def emit(self, callee: Any, *args: Any, type: Any = None, dims: Dims | None = None, **kwargs: Any) -> Op:
        """One more op, at the place in the source of the one at hand."""
        named = tuple((k, v if isinstance(v, Param | Op) else Const(v)) for k, v in kwargs.items())
        operands = tuple(a if isinstance(a, Param | Op | Const) else Const(a) for a in args)
        made = Op(callee, operands, named, type or Type(object), None, Effect.PURE, self.at.location if self.at is not None else None)
        self.ops.append(made)
        if dims is not None:
            self.dims[made] = dims
        return made

    # --------------------------------------------------------------------------------------------- what is known

    def varies(self, value: Operand) -> bool:
        """Has an array a size that varies?"""
        return not isinstance(value, Const) and any(isinstance(d, Size) for d in self.dims.get(value, ()))  # type: ignore[arg-type]

    def dims_of(self, value: Operand) -> Dims:
        """The dimensions of an operand; none of a number."""
        if isinstance(value, Const):
            return tuple(np.shape(value.value))  # type: ignore[arg-type]
        if isinstance(value, Param | Op):
            if value in self.dims:
                return self.dims[value]
            if not isinstance(value.type, Array):
                return ()
            known = tuple(d.value for d in value.dims or () if isinstance(d, Const) and type(d.value) is int)
            if len(known) == value.type.rank:
                return known
        raise Unbucketed("an array of unknown size")

    def padded(self, dim: int | Size) -> int:
        return dim if isinstance(dim, int) else self.buckets[dim.which][1] + dim.offset

    def least(self, dim: int | Size) -> int:
        return dim if isinstance(dim, int) else self.buckets[dim.which][0] + dim.offset

    def count(self, *dims: int | Size) -> Operand:
        """The product of dimensions, as an Int."""
        factor = int(np.prod([d for d in dims if isinstance(d, int)], dtype=np.int64))
        sizes = tuple(d for d in dims if isinstance(d, Size))
        if not sizes:
            return Const(factor)
        found = Count(factor, sizes)
        if found not in self.counts:
            self.counts[found] = Param(Type(int), None, "size")
            if factor == 1 and len(sizes) == 1:
                self.sizes[self.counts[found]] = sizes[0]
        return self.counts[found]

    def mask(self, size: Size, behind: int) -> Op:
        """Truths along a dimension (with so many of one behind it): is it no padding?"""
        key = self.block, size, behind
        if key not in self.masks:
            places = self.emit(np.arange, self.padded(size), type=Array(np.ndarray, np.dtype(np.int64), 1))
            found = self.emit(np.less, places, self.count(size), type=Array(np.ndarray, np.dtype(bool), 1))
            if behind:
                found = self.emit(operator.getitem, found, (slice(None), *[None] * behind), type=Array(np.ndarray, np.dtype(bool), 1 + behind))
            self.masks[key] = found
        return self.masks[key]

    def filled(self, value: Operand, axes: Sequence[int], filling: Any) -> Operand:
        """The array, with this in place of its padding along axes; filling: of its dtype."""
        dims = self.dims_of(value)
        for axis in axes:
            size = dims[axis]
            if isinstance(size, Size):
                mask = self.mask(size, len(dims) - 1 - axis)
                value = self.emit(np.where, mask, value, filling, type=Array(np.ndarray, filling.dtype, len(dims)), dims=dims)
        return value

    # --------------------------------------------------------------------------------------------- elementwise

    def _elementwise(self, op: Op) -> Op:
        if any(name != "dtype" for name, _ in op.kwargs):
            raise Unbucketed("keyword arguments")
        self.ops.append(op)
        arrays = op.args[:1] if op.callee in _CASTS else op.args
        if any(self._is_made(v) for v in op.args if isinstance(v, Param | Op)) or (op.callee is np.where and len(op.args) != 3):
            raise Unbucketed("a shape in arithmetic")
        if not any(map(self.varies, arrays)):
            return self._arithmetic(op)
        self.dims[op] = self._broadcast([self.dims_of(a) for a in arrays])
        return op

    def _arithmetic(self, op: Op) -> Op:
        """Lengths plus and minus a constant are lengths."""
        if op.callee in (operator.add, operator.sub) and len(op.args) == 2:
            a, b = op.args
            if op.callee is operator.add and isinstance(a, Const):
                a, b = b, a
            size = self.sizes.get(a) if isinstance(a, Param | Op) else None
            if size is not None and isinstance(b, Const) and type(b.value) is int:
                step = b.value if op.callee is operator.add else -b.value
                found = Size(size.which, size.offset + step)
                if self.least(found) >= 1:
                    self.sizes[op] = found
        return op

    def _broadcast(self, all_dims: Sequence[Dims]) -> Dims:
        rank = max(map(len, all_dims))
        found: list[int | Size] = []
        for k in range(rank):
            here = {d[k - rank + len(d)] for d in all_dims if k - rank + len(d) >= 0} - {1}
            if len(here) > 1:
                raise Unbucketed("sizes that may not be the same")
            found.append(here.pop() if here else 1)
        return tuple(found)

    # --------------------------------------------------------------------------------------------- results

    def _result(self, value: Operand) -> Operand:
        """What is returned, cut to its sizes."""
        value = self.use(value)
        if not isinstance(value, Param | Op) or value in self.built:
            return value
        return self._cut(value)

    def _cut(self, value: Value) -> Operand:
        if not self.varies(value):
            return value
        if value in self.views:
            raise Unbucketed("a view of an argument is returned")
        sizes = [self.count(d) if isinstance(d, Size) else Const(None) for d in self.dims[value]]
        return self.emit(clipped, value, *sizes, type=value.type)


# ------------------------------------------------------------------------------------------------- what ops do

_CASTS: Final = frozenset({np.ndarray.astype})
_BY_ELEMENT: Final = frozenset({
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow, operator.neg, operator.pos,
    operator.abs, builtins.abs, operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne, operator.and_, operator.or_,
    operator.xor, operator.invert, operator.lshift, operator.rshift, np.where, np.clip, np.ndarray.clip, np.ndarray.astype, np.nan_to_num, np.round,
})  # fmt: skip


def _find(callee: Any) -> _Rule | None:
    try:
        return _RULES.get(callee)
    except TypeError:
        return None


def _is_elementwise(callee: Any) -> bool:
    if isinstance(callee, np.ufunc):
        return callee.signature is None and callee.nout == 1
    try:
        return callee in _BY_ELEMENT
    except TypeError:
        return False


@_rule(len, np.size, np.shape, np.ndim)
def _query(r: _Rewriter, op: Op) -> Operand:
    array, rest = op.args[0], op.args[1:]
    if not r.varies(array) or rest or op.kwargs:
        return r._same(op)
    dims = r.dims_of(array)
    return _attribute(r, op, dims, {len: "len", np.size: "size", np.shape: "shape", np.ndim: "ndim"}[op.callee])  # type: ignore[index]


@_rule(getattr)
def _getattr(r: _Rewriter, op: Op) -> Operand:
    array, name = op.args[:2]
    if not r.varies(array) or not isinstance(name, Const):
        return r._same(op)
    return _attribute(r, op, r.dims_of(array), str(name.value))


def _attribute(r: _Rewriter, op: Op, dims: Dims, name: str) -> Operand:
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
def _container(r: _Rewriter, op: Op) -> Operand:
    """A container of results; a tuple of lengths is a shape."""
    values = [v for v in op.args if isinstance(v, Param | Op)]
    if any(map(r._is_made, values)) and not all(v in r.slices or v in r.sizes or v.type == Type(int) for v in values):
        raise Unbucketed("a shape in a container")
    if any(v in r.slices for v in values):
        r.slices.add(op)
        return op
    dims = tuple(r.sizes.get(v) if isinstance(v, Param | Op) else v.value for v in op.args)  # type: ignore[union-attr]
    if op.callee is operations.make_tuple and all(isinstance(d, Size) or type(d) is int for d in dims):
        r.shapes[op] = dims  # type: ignore[assignment]
        r.ops.append(op)
        return op
    op.args = tuple(r._cut(v) if isinstance(v, Param | Op) else v for v in op.args)
    r.ops.append(op)
    r.built.add(op)
    return op


@_rule(operator.getitem)
def _getitem(r: _Rewriter, op: Op) -> Operand:
    array, index = op.args
    if array in r.shapes:
        if not isinstance(index, Const) or type(index.value) is not int:
            raise Unbucketed("a part of a shape")
        return r.count(r.shapes[array][index.value])  # type: ignore[index]
    if not r.varies(array):
        return r._same(op)
    return _indexed(r, op, array, index)


def _indexed(r: _Rewriter, op: Op, array: Operand, index: Operand) -> Operand:
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


def _keys(r: _Rewriter, index: Operand) -> list[Any]:
    """The index of each dimension: a slice of constants and lengths, None, or an Int."""
    if isinstance(index, Op) and index.callee is operations.make_tuple:
        return [key for part in index.args for key in _keys(r, part)]
    if isinstance(index, Op) and index.callee is slice:
        return [slice(*[r.sizes.get(a, a) if isinstance(a, Param | Op) else a.value for a in index.args])]  # type: ignore[union-attr]
    if isinstance(index, Const):
        parts = index.value if type(index.value) is tuple else (index.value,)
        if all(p is None or type(p) is int or isinstance(p, slice) for p in parts):
            return list(parts)
    if isinstance(index, Param | Op) and index.type == Type(int):
        return [index]
    raise Unbucketed("an index that is no number or slice")


def _sliced(r: _Rewriter, dim: int | Size, key: slice) -> tuple[int | Size, slice]:
    """The size of a slice with step one, and the slice that takes it from the padded array."""
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
        end = stop if stop >= 0 else _less(dim, -stop)
    end = _within(r, end, dim)
    size = _less(end, start)
    if r.least(size) < 1:
        raise Unbucketed("a slice that may be empty")
    return size, slice(start, r.padded(end))


def _within(r: _Rewriter, end: int | Size, dim: int | Size) -> int | Size:
    """The end of a slice, which certainly lies within the dimension."""
    if isinstance(end, Size):
        if not isinstance(dim, Size) or end.which != dim.which or end.offset > dim.offset:
            raise Unbucketed("where the slice ends is not known")
    elif end > r.least(dim):
        raise Unbucketed("a slice that may be cut off")
    return end


def _less(dim: int | Size, by: int) -> int | Size:
    return dim - by if isinstance(dim, int) else Size(dim.which, dim.offset - by)


@_rule(slice)
def _slice(r: _Rewriter, op: Op) -> Operand:
    """Looked at where it is used."""
    r.slices.add(op)
    return op


@_rule(np.zeros, np.ones, np.empty, np.full, np.arange)
def _creation(r: _Rewriter, op: Op) -> Operand:
    """Arrays of a length: of the bucket's."""
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
def _alike(r: _Rewriter, op: Op) -> Operand:
    """Results of the same sizes, of which each depends on nothing behind it."""
    array = op.args[0]
    if not r.varies(array) or any(r.varies(v) for v in op.args[1:]) or any(k not in ("dtype", "axis") for k, _ in op.kwargs):
        raise Unbucketed("an argument that varies")
    dims = r.dims_of(array)
    if len(dims) > 1 and op.callee in (np.cumsum, np.cumprod, np.ndarray.cumsum, np.ndarray.cumprod) and (len(op.args) < 2 and "axis" not in dict(op.kwargs)):
        raise Unbucketed("sums over the flat array")
    r.ops.append(op)
    r.dims[op] = dims
    return op


# ------------------------------------------------------------------------------------------------- reductions


def _lowest(dtype: Any) -> Any:
    return dtype.type(False) if dtype.kind == "b" else dtype.type(-np.inf) if dtype.kind == "f" else dtype.type(np.iinfo(dtype).min)


def _highest(dtype: Any) -> Any:
    return dtype.type(True) if dtype.kind == "b" else dtype.type(np.inf) if dtype.kind == "f" else dtype.type(np.iinfo(dtype).max)


def _nothing(dtype: Any) -> Any:
    """What adds nothing: minus zero, so that a sum of minus zeros is one."""
    if dtype.kind == "c":
        return dtype.type(complex(-0.0, -0.0))
    return dtype.type(-0.0) if dtype.kind == "f" else dtype.type(0)


#: What does not change a reduction, by its functions.
_NEUTRAL: Final[dict[Any, Callable[[Any], Any]]] = {
    **dict.fromkeys((np.sum, np.ndarray.sum), _nothing),
    **dict.fromkeys((np.prod, np.ndarray.prod), lambda dtype: dtype.type(1)),
    **dict.fromkeys((np.max, np.ndarray.max, np.argmax, np.ndarray.argmax), _lowest),
    **dict.fromkeys((np.min, np.ndarray.min, np.argmin, np.ndarray.argmin), _highest),
    **dict.fromkeys((np.any, np.ndarray.any, np.count_nonzero), lambda dtype: dtype.type(0)),
    **dict.fromkeys((np.all, np.ndarray.all), lambda dtype: dtype.type(1)),
}


#: Their results are places.
_PLACES: Final = frozenset({np.argmax, np.argmin, np.ndarray.argmax, np.ndarray.argmin})


@_rule(*_NEUTRAL)
def _reduction(r: _Rewriter, op: Op) -> Operand:
    array, axes, keep = _reduced(r, op)
    dtype = _dtype(array)
    if op.callee in _PLACES and len(axes) != 1:
        raise Unbucketed("places in a flat array")
    if dtype.kind == "c" and op.callee not in (np.sum, np.ndarray.sum, np.prod, np.ndarray.prod):
        raise Unbucketed("an order of complex numbers")
    op.args = (r.filled(array, axes, _NEUTRAL[op.callee](dtype)), *op.args[1:])
    r.ops.append(op)
    _reduce_dims(r, op, array, axes, keep)
    return op


def _reduce_dims(r: _Rewriter, op: Op, array: Operand, axes: Sequence[int], keep: bool) -> None:
    dims = tuple(1 if k in axes else d for k, d in enumerate(r.dims_of(array)) if keep or k not in axes)
    if dims:
        r.dims[op] = dims


def _dtype(value: Operand) -> Any:
    kind = value.type if isinstance(value, Param | Op) else None
    if not isinstance(kind, Array) or kind.cls is not np.ndarray:
        raise Unbucketed("an array of unknown dtype")
    return np.dtype(kind.dtype)  # type: ignore[call-overload]


def _reduced(r: _Rewriter, op: Op) -> tuple[Operand, list[int], bool]:
    """The array, the axes and whether they are kept, of a reduction with nothing else to it."""
    given = {"axis": Const(None), "keepdims": Const(False), **dict(op.kwargs)}
    if len(op.args) == 2:
        given["axis"] = op.args[1]
    if len(op.args) > 2 or set(given) > {"axis", "keepdims"} or not all(isinstance(v, Const) for v in given.values()):
        raise Unbucketed("arguments of a reduction")
    array = op.args[0]
    if not r.varies(array):
        raise Unbucketed("a reduction of something else")
    rank = len(r.dims_of(array))
    axis = given["axis"].value  # type: ignore[union-attr]
    axes = range(rank) if axis is None else axis if type(axis) is tuple else (axis,)
    if not all(type(a) is int and -rank <= a < rank for a in axes):
        raise Unbucketed("axes that there are not")
    return array, [a % rank for a in axes], bool(given["keepdims"].value)  # type: ignore[union-attr]


@_rule(np.mean, np.ndarray.mean)
def _mean(r: _Rewriter, op: Op) -> Operand:
    array, axes, keep = _reduced(r, op)
    if _dtype(array).itemsize < 4 and _dtype(array).kind == "f":
        raise Unbucketed("means of short floats are of longer ones")
    found = _average(r, array, axes, keep, op.type)
    _reduce_dims(r, found, array, axes, keep)
    return found


def _average(r: _Rewriter, array: Operand, axes: list[int], keep: bool, kind: Any) -> Op:
    dtype = _dtype(array)
    dims = r.dims_of(array)
    named = {} if dtype.kind in "fc" else {"dtype": np.float64}
    total = r.emit(np.sum, r.filled(array, axes, _nothing(dtype)), axis=tuple(axes), keepdims=keep, type=kind, **named)
    return r.emit(np.true_divide, total, r.count(*[dims[a] for a in axes]), type=kind)


@_rule(np.var, np.ndarray.var, np.std, np.ndarray.std)
def _variance(r: _Rewriter, op: Op) -> Operand:
    array, axes, keep = _reduced(r, op)
    dtype = _dtype(array)
    if dtype.kind != "f" or dtype.itemsize < 4:
        raise Unbucketed("a variance of something else than floats")
    dims = r.dims_of(array)
    mean = _average(r, array, axes, True, array.type)  # type: ignore[union-attr]
    apart = r.emit(np.subtract, array, mean, type=array.type, dims=dims)  # type: ignore[union-attr]
    square = r.emit(np.multiply, apart, apart, type=array.type, dims=dims)  # type: ignore[union-attr]
    found = _average(r, square, axes, keep, op.type)
    if op.callee in (np.std, np.ndarray.std):
        found = r.emit(np.sqrt, found, type=op.type)
    _reduce_dims(r, found, array, axes, keep)
    return found


# ------------------------------------------------------------------------------------------------- contractions


@_rule(np.dot, np.matmul, operator.matmul, np.ndarray.dot, np.inner)
def _product(r: _Rewriter, op: Op) -> Operand:
    """Products of vectors and matrices: the axes that are summed over have nothing in place of padding, on both sides."""
    a, b = op.args
    one, other = r.dims_of(a), r.dims_of(b)
    if op.kwargs or not 1 <= len(one) <= 2 or not 1 <= len(other) <= 2:
        raise Unbucketed("a product of other shapes")
    mine = len(one) - 1
    its = len(other) - 1 if op.callee is np.inner else max(len(other) - 2, 0)
    if one[mine] != other[its]:
        raise Unbucketed("sizes that may not be the same")
    if isinstance(one[mine], Size):
        op.args = r.filled(a, [mine], _dtype(a).type(0)), r.filled(b, [its], _dtype(b).type(0))
    r.ops.append(op)
    dims = (*one[:mine], *other[:its], *other[its + 1 :])
    if dims:
        r.dims[op] = dims
    return op


@_rule(np.outer)
def _outer(r: _Rewriter, op: Op) -> Operand:
    one, other = map(r.dims_of, op.args)
    if len(one) != 1 or len(other) != 1 or op.kwargs:
        raise Unbucketed("an outer product of other shapes")
    r.ops.append(op)
    r.dims[op] = (*one, *other)
    return op


@_rule(np.transpose, np.ndarray.transpose)
def _transpose(r: _Rewriter, op: Op) -> Operand:
    if len(op.args) > 1 or op.kwargs:
        raise Unbucketed("a transposition with axes")
    r.ops.append(op)
    r.dims[op] = r.dims_of(op.args[0])[::-1]
    r.views |= {op} if op.args[0] in r.views else set()
    return op


@_rule(np.diff)
def _difference(r: _Rewriter, op: Op) -> Operand:
    dims = r.dims_of(op.args[0])
    if len(op.args) > 1 or op.kwargs or r.least(_less(dims[-1], 1)) < 1:
        raise Unbucketed("differences of another kind")
    r.ops.append(op)
    r.dims[op] = (*dims[:-1], _less(dims[-1], 1))
    return op


@_rule(operator.setitem)
def _store(r: _Rewriter, op: Op) -> Operand:
    """One element of an array of the function's own."""
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
