"""Rules for contractions and linear algebra."""

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.ir.model import Effect
from hovis.lattice import AbstractValue, Array, Const, Partial, join
from hovis.lattice.inspection import is_a
from hovis.library.core import Primitive
from hovis.library.numpy.types import einsum_subscripts, shapes
from hovis.library.numpy.types.arrays import COMPUTES, array_of, ask, asking, concerns, dtype_of, is_array, is_numeric, python_number, rank_of, row
from hovis.library.numpy.types.shapes import Facts, Shape, constant, for_engine

#: Functions of ``np.linalg`` that were added in NumPy 2.
_NEWER: Final = ("svdvals", "matrix_norm", "vector_norm", "outer", "trace", "vecdot", "matmul", "tensordot")


def _matmul_dims(a: Facts, b: Facts) -> Shape | None:
    return None if a.dims is None or b.dims is None else shapes.matmul(a.dims, b.dims)


def _in_place(a: AbstractValue, b: AbstractValue) -> AbstractValue | None:
    """The rule of ``a @= b``: the result is written into a, which must have the shape of the result and a dtype to which it can be cast."""
    made, into = ask(operator.matmul, a, b) if is_array(a) and is_array(b) and min(rank_of(a), rank_of(b)) > 1 else None, dtype_of(a)
    dtype = None if made is None else dtype_of(made)
    if dtype is None or into is None or not np.can_cast(dtype, into, "same_kind"):
        return None
    return a if isinstance(a, Array) else array_of(into, rank_of(a))


def _dot_dims(a: Facts, b: Facts) -> Shape | None:
    return None if a.dims is None or b.dims is None else shapes.dot(a.dims, b.dims)


def _outer_dims(a: Facts, b: Facts) -> Shape | None:
    if a.dims is None or b.dims is None:
        return None
    return shapes.product(a.dims), shapes.product(b.dims)


#: Options of einsum that affect how the result is computed, not its type.
_HOW: Final = {"optimize"}


def _einsum(*operands: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
    """The rule of ``np.einsum``, for known subscripts."""
    if not concerns(*operands) or not set(named) <= {"optimize", "dtype", "casting"} or not all(isinstance(t, Const) for t in named.values()):
        return None
    if not all(isinstance(t, Const) or is_numeric(t) or _constants(t) for t in operands):
        return None
    return ask(np.einsum, *operands, **{k: v for k, v in named.items() if k not in _HOW})


def _constants(t: AbstractValue) -> bool:
    return isinstance(t, Partial) and all(isinstance(p, Const) for p in t.parts)


def _einsum_dims(*operands: Facts, **named: Facts) -> Shape | None:
    if operands[0].known and is_a(operands[0].value, str):
        inputs, output = einsum_subscripts.split(operands[0].value)
        given = operands[1:]
    else:
        given = operands[: len(operands) // 2 * 2 : 2]
        written = [[p.value for p in o.parts or ()] for o in operands[1::2]] + [[p.value for p in o.parts or ()] for o in operands[-1:] if len(operands) % 2]
        inputs, output = written[: len(given)], written[-1] if len(operands) % 2 else None
    shapes_ = [o.dims for o in given if o.dims is not None]
    terms = einsum_subscripts.parse(inputs, output, [len(s) for s in shapes_]) if len(shapes_) == len(given) else None
    if terms is None:
        return None
    sizes = einsum_subscripts.sizes(terms, shapes_)
    return tuple(sizes[c] for c in terms.output)


def _norm_dims(x: Facts, *rest: Facts, **named: Facts) -> Shape | None:
    axis = constant(rest[1] if len(rest) > 1 else named.get("axis"))
    keepdims = constant(rest[2] if len(rest) > 2 else named.get("keepdims"), False)
    return None if x.dims is None or not isinstance(keepdims, bool) else shapes.reduced(x.dims, axis, keepdims)


def _chosen(fn: Callable[..., object]) -> Callable[..., AbstractValue | None]:
    """Make a rule that calls NumPy on stand-ins. An argument that is not an array selects the computation, and must be known."""

    def result(*types: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
        values = [*types, *named.values()]
        if not concerns(*values) or "out" in named or not all(isinstance(t, Const | Partial) or dtype_of(t) is not None for t in values):
            return None
        return ask(fn, *types, **named)

    return result


def _matrix_power(a: AbstractValue, n: AbstractValue) -> AbstractValue | None:
    """The rule of ``np.linalg.matrix_power``. Of the exponent only the sign affects the type: an inverse has floats."""
    dtype = dtype_of(a)
    if dtype is None or not (python_number(n) is int or dtype.kind in "fc"):
        return None
    sign = (n.value > 0) - (n.value < 0) if isinstance(n, Const) and is_a(n.value, int) else None
    return ask(np.linalg.matrix_power, a, Const(1 if sign is None else sign)) if sign is not None or dtype.kind in "fc" else None


def _eigenvalues(fn: Callable[..., Any]) -> Callable[..., AbstractValue | None]:
    """Make the rule of ``eig`` and ``eigvals``: the eigenvalues of a real matrix are real or complex, depending on its elements."""

    def result(a: AbstractValue) -> AbstractValue | None:
        dtype = dtype_of(a)
        if dtype is None:
            return None
        found = ask(fn, a)
        if dtype.kind == "c" or found is None:
            return found
        other = ask(fn, Array(np.ndarray, np.result_type(dtype, np.complex64), rank_of(a)))
        if isinstance(found, Partial) and isinstance(other, Partial):
            return Partial(found.cls, found.keys, map(join, found.parts, other.parts))
        return None if other is None else join(found, other)

    return result


def _same(a: Facts, *rest: Facts, **named: Facts) -> Shape | None:
    return a.dims


def _rows(a: Facts, *rest: Facts, **named: Facts) -> Shape | None:
    return None if a.dims is None else a.dims[:-1]


def _stack_of(a: Facts, *rest: Facts, **named: Facts) -> Shape | None:
    """The dims rule of functions that give one number for each matrix."""
    return None if a.dims is None else a.dims[:-2]


def _turned(a: Facts, *rest: Facts, **named: Facts) -> Shape | None:
    return None if a.dims is None else (*a.dims[:-2], *a.dims[:-3:-1])


def _solve_dims(a: Facts, b: Facts) -> Shape | None:
    if a.dims is None or b.dims is None or len(a.dims) < 2:
        return None
    if len(b.dims) == 1:
        return a.dims[:-1]
    batch = shapes.broadcast(a.dims[:-2], b.dims[:-2])
    return None if batch is None else (*batch, *b.dims[-2:])


#: Functions, each with the rule for the dimensions of its result.
_SQUARE: Final[list[tuple[Any, Any]]] = [
    *((fn, _same) for fn in (np.linalg.inv, np.linalg.cholesky)),
    *((fn, _stack_of) for fn in (np.linalg.det, np.linalg.matrix_rank, np.linalg.cond)),
    (np.linalg.eigvalsh, _rows),
    (np.linalg.pinv, _turned),
    (np.linalg.solve, _solve_dims),
    (np.linalg.norm, _norm_dims),
]

#: Functions without a rule for the dimensions of the result.
_OTHERS: Final[list[Any]] = [
    np.linalg.slogdet, np.linalg.eigh, np.linalg.qr, np.linalg.svd, np.linalg.lstsq, np.linalg.multi_dot, np.linalg.tensorsolve, np.linalg.tensorinv,
    np.tensordot, np.trace, np.ndarray.trace,
    *(getattr(np.linalg, name) for name in _NEWER if hasattr(np.linalg, name)),
]  # fmt: skip

#: Contractions added in NumPy 2: ufuncs with a signature.
_UFUNCS: Final[list[Any]] = [getattr(np, name) for name in ("vecdot", "matvec", "vecmat") if hasattr(np, name)]

ROWS: Final[list[Primitive]] = [
    row(np.matmul, asking(np.matmul), dims=for_engine(_matmul_dims)),
    row(operator.matmul, asking(operator.matmul), dims=for_engine(_matmul_dims)),
    row(operator.imatmul, _in_place, COMPUTES | Effect.WRITES, fold=False, dims=for_engine(_same)),
    row(np.dot, asking(np.dot), dims=for_engine(_dot_dims)),
    row(np.ndarray.dot, asking(np.ndarray.dot), dims=for_engine(_dot_dims)),
    row(np.outer, asking(np.outer), dims=for_engine(_outer_dims)),
    *(row(fn, asking(fn)) for fn in (np.inner, np.vdot, np.kron)),
    row(np.einsum, _einsum, dims=for_engine(_einsum_dims)),
    row(np.linalg.matrix_power, _matrix_power, dims=for_engine(_same)),
    *(row(fn, _eigenvalues(fn)) for fn in (np.linalg.eig, np.linalg.eigvals)),
    *(row(fn, _chosen(fn), dims=for_engine(dims)) for fn, dims in _SQUARE),
    *(row(fn, _chosen(fn)) for fn in [*dict.fromkeys(_OTHERS), *_UFUNCS]),
]
