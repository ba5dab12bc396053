"""Reductions, averages and products of padded arrays: padding is replaced by a neutral element."""

import functools
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.ir.model import Op, Operand, Param
from hovis.lattice import Array, Const
from hovis_xla.prepare.pad_function import Dims, Rewriter, Rule, Size, Unbucketed, noting

#: The rules, by callees.
REDUCTIONS: Final[dict[Any, Rule]] = {}
_rule = noting(REDUCTIONS)

# ------------------------------------------------------------------------------------------------- reductions


def extreme(dtype: Any, least: bool) -> Any:
    """Return the least or the greatest number of a dtype."""
    if dtype.kind in "iu":
        return dtype.type(np.iinfo(dtype).min if least else np.iinfo(dtype).max)
    return dtype.type(not least if dtype.kind == "b" else -np.inf if least else np.inf)


def _nothing(dtype: Any) -> Any:
    """Return the neutral element of a sum: minus zero, to keep a sum of minus zeros a minus zero."""
    if dtype.kind == "c":
        return dtype.type(complex(-0.0, -0.0))
    return dtype.type(-0.0) if dtype.kind == "f" else dtype.type(0)


#: The neutral elements of reductions for a dtype, by callees.
_NEUTRAL: Final[dict[Any, Callable[[Any], Any]]] = {
    **dict.fromkeys((np.sum, np.ndarray.sum), _nothing),
    **dict.fromkeys((np.prod, np.ndarray.prod, np.all, np.ndarray.all), lambda dtype: dtype.type(1)),
    **dict.fromkeys((np.max, np.ndarray.max, np.argmax, np.ndarray.argmax), functools.partial(extreme, least=True)),
    **dict.fromkeys((np.min, np.ndarray.min, np.argmin, np.ndarray.argmin), functools.partial(extreme, least=False)),
    **dict.fromkeys((np.any, np.ndarray.any, np.count_nonzero), lambda dtype: dtype.type(0)),
}


#: Reductions whose results are indices.
_PLACES: Final = frozenset({np.argmax, np.argmin, np.ndarray.argmax, np.ndarray.argmin})


@_rule(*_NEUTRAL)
def _reduction(r: Rewriter, op: Op) -> Operand:
    array, axes, dims, _ = _reduced(r, op)
    dtype = _dtype(array)
    if op.callee in _PLACES and len(axes) != 1:
        raise Unbucketed("places in a flat array")
    if dtype.kind == "c" and op.callee not in (np.sum, np.ndarray.sum, np.prod, np.ndarray.prod):
        raise Unbucketed("an order of complex numbers")
    op.args = (r.filled(array, axes, _NEUTRAL[op.callee](dtype)), *op.args[1:])
    return r.keep(op, dims)


def _dtype(value: Operand) -> Any:
    kind = value.type if isinstance(value, Param | Op) else None
    if not isinstance(kind, Array) or kind.cls is not np.ndarray:
        raise Unbucketed("an array of unknown dtype")
    return np.dtype(kind.dtype)  # type: ignore[call-overload]


def _reduced(r: Rewriter, op: Op) -> tuple[Operand, list[int], Dims, bool]:
    """Return the array, the axes, the dimensions of the result and whether the axes are kept, of a reduction without other arguments; raise
    Unbucketed for any other.
    """
    given = {"axis": Const(None), "keepdims": Const(False), **dict(op.kwargs)}
    if len(op.args) == 2:
        given["axis"] = op.args[1]
    if len(op.args) > 2 or set(given) > {"axis", "keepdims"} or not all(isinstance(v, Const) for v in given.values()):
        raise Unbucketed("arguments of a reduction")
    array = op.args[0]
    if not r.varies(array):
        raise Unbucketed("a reduction of something else")
    rank = len(r.dims_of(array))
    axis, keep = given["axis"].value, bool(given["keepdims"].value)  # type: ignore[union-attr]
    given_axes = range(rank) if axis is None else axis if type(axis) is tuple else (axis,)
    if not all(type(a) is int and -rank <= a < rank for a in given_axes):
        raise Unbucketed("axes that there are not")
    axes = [a % rank for a in given_axes]
    return array, axes, tuple(1 if k in axes else d for k, d in enumerate(r.dims_of(array)) if keep or k not in axes), keep


@_rule(np.mean, np.ndarray.mean)
def _mean(r: Rewriter, op: Op) -> Operand:
    array, axes, dims, keep = _reduced(r, op)
    if _dtype(array).itemsize < 4 and _dtype(array).kind == "f":
        raise Unbucketed("means of short floats are of longer ones")
    return _average(r, array, axes, keep, op.type, dims)


def _average(r: Rewriter, array: Operand, axes: list[int], keep: bool, kind: Any, dims: Dims = ()) -> Op:
    dtype = _dtype(array)
    sizes = [r.dims_of(array)[a] for a in axes]
    named: dict[str, Any] = {} if dtype.kind in "fc" else {"dtype": np.float64}
    total = r.emit(np.sum, r.filled(array, axes, _nothing(dtype)), axis=tuple(axes), keepdims=keep, type=kind, **named)
    return r.emit(np.true_divide, total, r.count(*sizes), type=kind, dims=dims)


@_rule(np.var, np.ndarray.var, np.std, np.ndarray.std)
def _variance(r: Rewriter, op: Op) -> Operand:
    array, axes, reduced, keep = _reduced(r, op)
    dtype = _dtype(array)
    if dtype.kind != "f" or dtype.itemsize < 4:
        raise Unbucketed("a variance of something else than floats")
    dims = r.dims_of(array)
    mean = _average(r, array, axes, True, array.type)  # type: ignore[union-attr]
    apart = r.emit(np.subtract, array, mean, type=array.type, dims=dims)  # type: ignore[union-attr]
    square = r.emit(np.multiply, apart, apart, type=array.type, dims=dims)  # type: ignore[union-attr]
    found = _average(r, square, axes, keep, op.type, reduced)
    return r.emit(np.sqrt, found, type=op.type, dims=reduced) if op.callee in (np.std, np.ndarray.std) else found


# ------------------------------------------------------------------------------------------------- contractions


@_rule(np.dot, np.matmul, operator.matmul, np.ndarray.dot, np.inner)
def _product(r: Rewriter, op: Op) -> Operand:
    """Rewrite a product of vectors and matrices: padding along the axes that are summed over becomes zero in both operands."""
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
    return r.keep(op, (*one[:mine], *other[:its], *other[its + 1 :]))


@_rule(np.outer)
def _outer(r: Rewriter, op: Op) -> Operand:
    one, other = map(r.dims_of, op.args)
    if len(one) != 1 or len(other) != 1 or op.kwargs:
        raise Unbucketed("an outer product of other shapes")
    return r.keep(op, (*one, *other))
