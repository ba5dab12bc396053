"""Contractions, reductions, sorts, loops and scans; the operation on elements is given as a function."""

from collections.abc import Callable, Sequence

from hovis_xla.emit.builder import T, fill_region, tensor_type
from hovis_xla.emit.slicing import along, concatenate
from hovis_xla.jaxlib.adapter import stablehlo as hlo


def dot_general(a: T, b: T, contract: tuple[Sequence[int], Sequence[int]], batch: tuple[Sequence[int], Sequence[int]] = ((), ())) -> T:
    """Emit a general contraction; the axes of the result are the batch axes, then those left of a, then those left of b."""
    numbers = hlo.DotDimensionNumbers.get(
        lhs_batching_dimensions=list(batch[0]), rhs_batching_dimensions=list(batch[1]),
        lhs_contracting_dimensions=list(contract[0]), rhs_contracting_dimensions=list(contract[1]),
    )  # fmt: skip
    rest_a = [d for k, d in enumerate(a.shape) if k not in (*contract[0], *batch[0])]
    rest_b = [d for k, d in enumerate(b.shape) if k not in (*contract[1], *batch[1])]
    shape = tuple([a.shape[k] for k in batch[0]] + rest_a + rest_b)
    return T(hlo.dot_general(tensor_type(a.dtype, shape), a.ir, b.ir, numbers), a.dtype, shape)


def reduce(inputs: Sequence[T], inits: Sequence[T], axes: Sequence[int], body: Callable[..., Sequence[T]]) -> list[T]:
    """Reduce several tensors together; ``body`` gets the accumulators, then the elements."""
    shape = tuple(d for k, d in enumerate(inputs[0].shape) if k not in axes)
    types = [tensor_type(x.dtype, shape) for x in inputs]
    made = hlo.ReduceOp(types, [x.ir for x in inputs], [i.ir for i in inits], sorted(axes))
    fill_region(made.regions[0], [(x.dtype, ()) for x in (*inputs, *inputs)], body)
    return [T(r, x.dtype, shape) for r, x in zip(made.results, inputs, strict=True)]


def repeat(values: Sequence[T], more: Callable[..., T], step: Callable[..., Sequence[T]]) -> list[T]:
    """Emit a loop: while ``more(*values)`` holds, ``values = step(*values)``."""
    made = hlo.WhileOp([x.ir.type for x in values], [x.ir for x in values])
    for region, body in zip(made.regions, (lambda *xs: [more(*xs)], step), strict=True):
        fill_region(region, [(x.dtype, x.shape) for x in values], body)
    return [T(r, x.dtype, x.shape) for r, x in zip(made.results, values, strict=True)]


def sort(operands: Sequence[T], axis: int, less: Callable[..., T]) -> list[T]:
    """Sort several tensors together, stably; ``less(a0, b0, a1, b1, …)`` compares two elements of each."""
    made = hlo.SortOp([x.ir.type for x in operands], [x.ir for x in operands], dimension=axis, is_stable=True)
    fill_region(made.regions[0], [(x.dtype, ()) for x in operands for _ in range(2)], lambda *elements: [less(*elements)])
    return [T(r, x.dtype, x.shape) for r, x in zip(made.results, operands, strict=True)]


def cumulative(a: T, axis: int, combine: Callable[[T, T], T]) -> T:
    """Compute a scan (running reduction) along an axis, in log2(n) steps over the whole array."""
    step, size = 1, a.shape[axis]
    while step < size:
        later = combine(along(a, axis, 0, size - step), along(a, axis, step, size))
        a = concatenate([along(a, axis, 0, step), later], axis)
        step *= 2
    return a
