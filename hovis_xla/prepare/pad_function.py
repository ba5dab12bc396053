"""One executable for many lengths: arrays are padded to the end of a bucket, and a Function is rewritten to use their front part only.

A dimension that varies from call to call is a :class:`Size`: a number that is known when the program runs.  The arrays are
padded to the bucket's size; how an op treats padding is known for the ops of the tables here.  Elementwise ops leave it
padding; for reductions and products, it is replaced by their neutral element (by ``where``, never by a product: NaN);
lengths, indices and slices use the true size.  The host cuts results to their true sizes.

If any other op has such an operand, the Function is refused (:class:`Unbucketed`), and every size gets its own executable.

Nothing here depends on XLA: the input is a Function, and so is the output.
"""

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from hovis.ir.analysis.control_flow import reverse_postorder
from hovis.ir.builder import as_operand
from hovis.ir.model import Block, Effect, Function, Invoke, Op, Operand, Param, Return, Value, edges
from hovis.lattice import Array, Const, Type
from hovis.passes.rewriting import replace_in, replace_operands
from hovis_xla.analysis.primitive_effects import keeps, reaches

#: The smallest size that belongs to a bucket: size 1 broadcasts, and sizes below this become empty by a slice or two.
LEAST: Final = 4
#: Sizes up to this share the first bucket.
SMALLEST: Final = 16
#: Up to this size, a bucket ends at each power of two; above, there are four buckets per octave.
DOUBLING: Final = 4096


@dataclass(frozen=True, slots=True)
class Size:
    """A dimension of which only the bucket is known before the program runs: the length number ``which``, plus ``offset``."""

    which: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Count:
    """A parameter of the bucketed Function: the product of a number and of sizes."""

    factor: int
    sizes: tuple[Size, ...]

    def of(self, lengths: Sequence[int]) -> int:
        """Return the value of the parameter in a call with these lengths."""
        return self.factor * math.prod([lengths[size.which] + size.offset for size in self.sizes])


Dims = tuple[int | Size, ...]
#: Rewrites an op; returns the op itself, changed in place and kept (``Rewriter.keep``), or the operand that replaces it.
Rule = Callable[["Rewriter", Op], Operand]
#: The rule of a callee, if it has one.
Rules = Callable[[Any], Rule | None]


def noting(table: dict[Any, Rule]) -> Callable[..., Callable[[Rule], Rule]]:
    """Return a decorator that registers rules in a table, by the callees that they are for."""

    def rule_of(*callees: Any) -> Callable[[Rule], Rule]:
        def note(rule: Rule) -> Rule:
            table.update(dict.fromkeys(callees, rule))
            return rule

        return note

    return rule_of


class Unbucketed(Exception):
    """The Function does something with an array of varying size that is not known to be safe with padding."""


def bucket(length: int) -> tuple[int, int]:
    """Return the smallest and the greatest length of the bucket that ``length`` falls into.

    >>> bucket(5), bucket(100), bucket(5000)
    ((4, 16), (65, 128), (4097, 5120))
    """
    if length <= SMALLEST:
        return LEAST, SMALLEST
    high = 1 << (length - 1).bit_length()
    if high <= DOUBLING:
        return high // 2 + 1, high
    step = high // 8
    high = -(-length // step) * step
    return high - step + 1, high


def less(dim: int | Size, by: int) -> int | Size:
    """Return a dimension, reduced by this number."""
    return dim - by if isinstance(dim, int) else Size(dim.which, dim.offset - by)


def clipped(array: Any, *sizes: int | None) -> Any:
    """Copy the front part of an array, of these sizes (None: all of it)."""
    return array[tuple(slice(size) for size in sizes)].copy()


def checked_index(index: int, size: int) -> int:
    """Return an index counted from the front; raise IndexError as an array of this size does."""
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for axis 0 with size {size}")
    return index + size if index < 0 else index


class Rewriter:
    """Rewrites a Function (a copy) in place for padded arrays.

    ``dims``: the dimensions of arrays; ``sizes``: the Size of numbers that are a length; ``shapes``: the dimensions in tuples of
    lengths; ``views``: padded arguments, and views of them.
    """

    def __init__(self, function: Function, dims: Sequence[Dims | None], buckets: Sequence[tuple[int, int]], rules: "Rules") -> None:
        self.function = function
        self.rules = rules
        self.buckets = buckets
        self.dims: dict[Value, Dims] = {p: d for p, d in zip(function.params, dims, strict=True) if d is not None}
        self.sizes: dict[Value, Size] = {}
        self.shapes: dict[Value, Dims] = {}
        self.views: set[Value] = {p for p in self.dims if self.varies(p)}
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
        self.block, self.ops = block, []
        for op in block.ops:
            self._op(op)
        block.ops = self.ops
        replace_in(block, self.new)
        end = block.terminator
        if isinstance(end, Invoke):
            self._check(end.op)
        if isinstance(end, Return):
            end.value = self.cut(end.value)
        for edge in edges(end):
            for param, arg in zip(edge.block.params, edge.args, strict=True):
                if isinstance(arg, Param | Op):
                    self._pass_on(param, arg)

    def _pass_on(self, param: Param, arg: Value) -> None:
        if self.is_made(arg):
            raise Unbucketed("a shape, or a container with an array, goes through a branch")
        if arg in self.dims:
            self.dims.setdefault(param, self.dims[arg])
            if arg in self.views:
                self.views.add(param)

    def _agree(self, param: Param, arg: Value) -> None:
        """Check that the assumptions about a parameter hold for an argument that is passed to it; raise Unbucketed if not."""
        if self.dims.get(param) != self.dims.get(arg) and (param in self.dims or self.varies(arg)):
            raise Unbucketed("arrays of different sizes meet")
        if arg in self.views and param not in self.views:
            raise Unbucketed("an argument or an array of the function's own")

    # --------------------------------------------------------------------------------------------- ops

    def _op(self, op: Op) -> None:
        replace_operands(op, self.new)
        special = any(self.varies(v) or v in self.sizes or self.is_made(v) for v in op.operands() if isinstance(v, Param | Op))
        self.at = op
        if not special:
            self.keep(op)
            return
        rule = self.rules(op.callee)
        found = self.same(op) if rule is None else rule(self, op)
        if found is not op:
            self.new[op] = found

    def is_made(self, value: Value) -> bool:
        """Is the value a shape, a slice or a container, which most ops do not accept?"""
        return value in self.shapes or value in self.built or value in self.slices

    def same(self, op: Op) -> Op:
        """Keep an op that takes lengths as ordinary numbers."""
        self._check(op)
        return self.keep(op)

    def _check(self, op: Op) -> None:
        """Raise Unbucketed if an operand varies in size, or if the op may reach or keep arrays of the caller."""
        if reaches(op) or keeps(op):
            raise Unbucketed(f"{getattr(op.callee, '__name__', op.callee)} may look at arrays of the caller's, or keep them")
        if any(self.varies(v) or self.is_made(v) for v in op.operands() if isinstance(v, Param | Op)):
            raise Unbucketed(f"{getattr(op.callee, '__name__', op.callee)} of an array whose size varies")

    def keep(self, op: Op, dims: Dims = ()) -> Op:
        """Append an op whose result has these dimensions."""
        self.ops.append(op)
        if dims:
            self.dims[op] = dims
        return op

    def keep_view(self, op: Op, dims: Dims) -> Op:
        """Append an op whose result is a view of its first argument, with these dimensions."""
        if op.args[0] in self.views:
            self.views.add(op)
        return self.keep(op, dims)

    def emit(self, callee: Any, *args: Any, type: Any = None, dims: Dims = (), **kwargs: Any) -> Op:
        """Append one more op, with the source location of the current one."""
        named = tuple((k, as_operand(v)) for k, v in kwargs.items())
        location = self.at.location if self.at is not None else None
        return self.keep(Op(callee, tuple(map(as_operand, args)), named, type or Type(object), None, Effect.PURE, location), dims)

    # --------------------------------------------------------------------------------------------- facts about values

    def varies(self, value: Operand) -> bool:
        """Is the value an array with a size that varies?"""
        return not isinstance(value, Const) and any(isinstance(d, Size) for d in self.dims.get(value, ()))  # type: ignore[arg-type]

    def dims_of(self, value: Operand) -> Dims:
        """Return the dimensions of an operand; () for a number. Raises Unbucketed if they are unknown."""
        if isinstance(value, Const):
            known = value.value
            if isinstance(known, np.ndarray | np.generic | int | float | complex | type(None)):
                return known.shape if isinstance(known, np.ndarray) else ()
            raise Unbucketed("a container among arrays")
        if isinstance(value, Param | Op):
            if value in self.dims:
                return self.dims[value]
            if not isinstance(value.type, Array):
                return ()
            found = tuple(d.value for d in value.dims or () if isinstance(d, Const) and type(d.value) is int)
            if len(found) == value.type.rank:
                return found
        raise Unbucketed("an array of unknown size")

    def padded(self, dim: int | Size) -> int:
        return dim if isinstance(dim, int) else self.buckets[dim.which][1] + dim.offset

    def least(self, dim: int | Size) -> int:
        return dim if isinstance(dim, int) else self.buckets[dim.which][0] + dim.offset

    def count(self, *dims: int | Size) -> Operand:
        """Return the product of dimensions, as an Int."""
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
        """Return a mask along a dimension, followed by ``behind`` dimensions of length one: False on padding."""
        key = self.block, size, behind
        if key not in self.masks:
            places = self.emit(np.arange, self.padded(size), type=Array(np.ndarray, np.dtype(np.int64), 1))
            found = self.emit(np.less, places, self.count(size), type=Array(np.ndarray, np.dtype(bool), 1))
            if behind:
                found = self.emit(operator.getitem, found, (slice(None), *[None] * behind), type=Array(np.ndarray, np.dtype(bool), 1 + behind))
            self.masks[key] = found
        return self.masks[key]

    def filled(self, value: Operand, axes: Sequence[int], filling: Any) -> Operand:
        """Return the array with ``filling``, a scalar of its dtype, in place of its padding along the axes."""
        dims = self.dims_of(value)
        for axis in axes:
            size = dims[axis]
            if isinstance(size, Size):
                mask = self.mask(size, len(dims) - 1 - axis)
                value = self.emit(np.where, mask, value, filling, type=Array(np.ndarray, filling.dtype, len(dims)), dims=dims)
        return value

    # --------------------------------------------------------------------------------------------- results

    def cut(self, value: Operand) -> Operand:
        """Return a result, or a part of one, cut to its true sizes."""
        if value in self.views:
            raise Unbucketed("an argument that is padded is returned, or a view of it")
        if not isinstance(value, Param | Op) or not self.varies(value):
            return value
        sizes = [self.count(d) if isinstance(d, Size) else Const(None) for d in self.dims[value]]
        return self.emit(clipped, value, *sizes, type=value.type)
