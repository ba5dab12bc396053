"""Contractions and a little linear algebra."""

import math
import operator
from typing import Any, Final

import numpy as np

from hovis.library.numpy.linalg import einsum_output
from hovis_xla import emit
from hovis_xla.emit import T
from hovis_xla.ops.python import L, Row
from hovis_xla.ops.reductions import axes_of, extreme, finish, total
from hovis_xla.ops.shaping import array, literal
from hovis_xla.types import ARRAY, BOOL, FALSE, NONE, Known, NotLowerable, Num, Operand, Val, num_of_dtype

#: ``tensordot`` contracts two axes, if it is not told.
_TWO: Final = Known(2)


def _pair(low: L, a: Operand, b: Operand) -> tuple[T, T] | None:
    """Two arrays in their common dtype."""
    x, y = array(low, a), array(low, b)
    if x is None or y is None:
        return None
    dtype = np.result_type(x.dtype, y.dtype)
    return emit.convert(x, dtype), emit.convert(y, dtype)


def _result(t: T) -> Val:
    return Val(num_of_dtype(t.dtype, t.shape), t.ir)


def contract(x: T, y: T, axes: tuple[list[int], list[int]], batch: tuple[list[int], list[int]] = ([], [])) -> T:
    """A contraction; truths are multiplied by "and", added by "or"."""
    if [x.shape[k] for k in axes[0]] != [y.shape[k] for k in axes[1]]:
        raise NotLowerable(f"{x.shape} times {y.shape}: this raises")
    if x.dtype == BOOL:
        counts = emit.dot_general(emit.convert(x, np.dtype(np.int64)), emit.convert(y, np.dtype(np.int64)), axes, batch)
        return emit.convert(counts, BOOL)
    return emit.dot_general(x, y, axes, batch)


def _matmul(low: L, a: Operand, b: Operand) -> Operand | None:
    pair = _pair(low, a, b)
    if pair is None or not pair[0].shape or not pair[1].shape:
        return None
    x, y = pair
    if len(x.shape) <= 2 and len(y.shape) <= 2:
        return _result(contract(x, y, ([len(x.shape) - 1], [max(len(y.shape) - 2, 0)])))
    return _result(_batched(x, y))


def _batched(x: T, y: T) -> T:
    """``a @ b`` with batch dimensions, which broadcast."""
    grown = emit.reshape(x, (1, *x.shape)) if len(x.shape) == 1 else x
    other = emit.reshape(y, (*y.shape, 1)) if len(y.shape) == 1 else y
    if len(other.shape) == 2:
        # one matrix for all: a plain product of the rows
        found = contract(grown, other, ([len(grown.shape) - 1], [0]))
    else:
        batch = np.broadcast_shapes(grown.shape[:-2], other.shape[:-2])
        grown = emit.broadcast(grown, (*batch, *grown.shape[-2:]))
        other = emit.broadcast(other, (*batch, *other.shape[-2:]))
        n = len(batch)
        found = contract(grown, other, ([n + 1], [n]), (list(range(n)), list(range(n))))
    shape = found.shape
    if len(x.shape) == 1:
        shape = (*shape[:-2], shape[-1])
    if len(y.shape) == 1:
        shape = shape[:-1]
    return emit.reshape(found, shape)


def _dot(low: L, a: Operand, b: Operand) -> Operand | None:
    pair = _pair(low, a, b)
    if pair is None:
        return None
    x, y = pair
    if not x.shape or not y.shape:
        return None
    return _result(contract(x, y, ([len(x.shape) - 1], [max(len(y.shape) - 2, 0)])))


def _outer(low: L, a: Operand, b: Operand) -> Operand | None:
    pair = _pair(low, a, b)
    if pair is None:
        return None
    x, y = (emit.reshape(t, (t.size,)) for t in pair)
    shape = (x.size, y.size)
    left = emit.broadcast(emit.reshape(x, (x.size, 1)), shape)
    right = emit.broadcast(emit.reshape(y, (1, y.size)), shape)
    return _result(emit.and_(left, right) if x.dtype == BOOL else emit.mul(left, right))


def _inner(low: L, a: Operand, b: Operand) -> Operand | None:
    pair = _pair(low, a, b)
    if pair is None or not pair[0].shape or not pair[1].shape:
        return None
    x, y = pair
    return _result(contract(x, y, ([len(x.shape) - 1], [len(y.shape) - 1])))


def _vdot(low: L, a: Operand, b: Operand) -> Operand | None:
    pair = _pair(low, a, b)
    if pair is None or pair[0].dtype.kind == "c":
        return None
    x, y = (emit.reshape(t, (t.size,)) for t in pair)
    return _result(contract(x, y, ([0], [0])))


def _tensordot(low: L, a: Operand, b: Operand, axes: Operand = _TWO) -> Operand | None:
    pair, axes = _pair(low, a, b), literal(axes)
    if pair is None or not isinstance(axes, Known):
        return None
    x, y = pair
    if isinstance(axes.value, int):
        n = axes.value
        pairs = list(range(len(x.shape) - n, len(x.shape))), list(range(n))
    else:
        left, right = ([s] if isinstance(s, int) else list(s) for s in axes.value)
        pairs = [k % len(x.shape) for k in left], [k % len(y.shape) for k in right]
    found = contract(x, y, pairs)
    return Val(Num(ARRAY, found.dtype, found.shape), found.ir)


# ------------------------------------------------------------------------------------------------- einsum


def _einsum(low: L, subscripts: Operand, *operands: Operand) -> Operand | None:
    """One or two operands, no ellipsis, no letter twice in one operand."""
    if not isinstance(subscripts, Known) or not isinstance(subscripts.value, str) or "." in subscripts.value:
        return None
    text = subscripts.value.replace(" ", "")
    inputs, output = text.split("->")[0].split(","), einsum_output(text)
    tensors = [array(low, o) for o in operands]
    if len(inputs) != len(tensors) or any(len(set(i)) < len(i) for i in inputs) or any(t is None for t in tensors):
        return None
    ready = [t for t in tensors if t is not None]
    dtype = np.result_type(*(t.dtype for t in ready))
    ready = [emit.convert(t, dtype) for t in ready]
    if dtype == BOOL or len(ready) > 2:
        return None
    result, letters = _einsum_pair(ready, inputs, output) if len(ready) == 2 else _summed(ready[0], inputs[0], output)
    return _result(emit.transpose(result, [letters.index(c) for c in output]))


def _summed(t: T, letters: str, keep: str) -> tuple[T, str]:
    """Sum over the letters that nobody else wants."""
    axes = [k for k, c in enumerate(letters) if c not in keep]
    return total(t, axes), "".join(c for c in letters if c in keep)


def _einsum_pair(tensors: list[T], inputs: list[str], output: str) -> tuple[T, str]:
    x, i = _summed(tensors[0], inputs[0], inputs[1] + output)
    y, j = _summed(tensors[1], inputs[1], inputs[0] + output)
    batch = [c for c in i if c in j and c in output]
    inner = [c for c in i if c in j and c not in output]
    found = contract(x, y, ([i.index(c) for c in inner], [j.index(c) for c in inner]), ([i.index(c) for c in batch], [j.index(c) for c in batch]))
    rest = [c for c in i if c not in batch + inner] + [c for c in j if c not in batch + inner]
    return found, "".join(batch + rest)


# ------------------------------------------------------------------------------------------------- linalg


def _norm(low: L, x: Operand, ord: Operand = NONE, axis: Operand = NONE, keepdims: Operand = FALSE) -> Operand | None:
    t = array(low, x)
    if t is None or not isinstance(ord, Known) or not isinstance(axis, Known) or t.dtype.kind == "c":
        return None
    if t.dtype.kind != "f":
        t = emit.convert(t, np.dtype(float))
    axes = axes_of(axis, len(t.shape))
    if axes is None:
        return None
    if ord.value is None or (ord.value == 2 and len(axes) == 1) or (ord.value == "fro" and len(axes) == 2):
        return finish(emit.op("sqrt", total(emit.mul(t, t), axes)), axes, t.shape, keepdims)
    if len(axes) != 1:
        return None
    size = emit.absolute(t)
    if ord.value == 1:
        return finish(total(size, axes), axes, t.shape, keepdims)
    if ord.value in (math.inf, -math.inf):
        return finish(extreme(size, axes, "maximum" if ord.value > 0 else "minimum"), axes, t.shape, keepdims)
    return None


def _trace(low: L, a: Operand) -> Operand | None:
    t = array(low, a)
    if t is None or len(t.shape) != 2 or t.dtype == BOOL:
        return None
    n = min(t.shape)
    at = emit.iota(np.dtype(np.int64), (n,), 0)
    dtype = np.zeros((1, 1), t.dtype).trace().dtype
    return _result(total(emit.convert(emit.gather_points(t, [at, at]), dtype), [0]))


ROWS: Final[dict[Any, Row]] = {
    np.matmul: _matmul, operator.matmul: _matmul, np.dot: _dot, np.ndarray.dot: _dot, np.outer: _outer, np.inner: _inner, np.vdot: _vdot,
    np.tensordot: _tensordot, np.einsum: _einsum, np.linalg.norm: _norm, np.trace: _trace, np.ndarray.trace: _trace,
}  # fmt: skip
