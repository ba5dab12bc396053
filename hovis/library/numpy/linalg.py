"""Contractions and linear algebra."""

import operator
from typing import Final

import numpy as np

from hovis.lattice import AbstractValue, Const
from hovis.library.core import Primitive
from hovis.library.numpy import shapes
from hovis.library.numpy.array import ask, asking, concerns, rank_of, row
from hovis.library.numpy.shapes import Facts, Shape, constant, for_engine


def _matmul_dims(a: Facts, b: Facts) -> Shape | None:
    return None if a.dims is None or b.dims is None else shapes.matmul(a.dims, b.dims)


def _dot_dims(a: Facts, b: Facts) -> Shape | None:
    return None if a.dims is None or b.dims is None else shapes.dot(a.dims, b.dims)


def _outer_dims(a: Facts, b: Facts) -> Shape | None:
    if a.dims is None or b.dims is None:
        return None
    return shapes.product(a.dims), shapes.product(b.dims)


def _einsum(subscripts: AbstractValue, *operands: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
    """The subscripts have to be known and spelt as a string."""
    if not isinstance(subscripts, Const) or not isinstance(subscripts.value, str) or named or not concerns(*operands):
        return None
    return ask(np.einsum, subscripts, *operands)


def einsum_sizes(subscripts: str, shapes_: tuple[Shape, ...]) -> dict[str, object] | None:
    """The dimension that each letter stands for; None where there is an ellipsis."""
    inputs = subscripts.replace(" ", "").split("->")[0].split(",")
    if "." in subscripts or len(inputs) != len(shapes_):
        return None
    sizes: dict[str, object] = {}
    for letters, shape in zip(inputs, shapes_, strict=True):
        if len(letters) != len(shape):
            return None
        for letter, dim in zip(letters, shape, strict=True):
            sizes[letter] = shapes.broadcast_dim(sizes.get(letter, 1), dim)
    return sizes


def einsum_output(subscripts: str) -> str:
    """The letters of the result: those written, else the ones that come once, in order of the alphabet."""
    plain = subscripts.replace(" ", "")
    if "->" in plain:
        return plain.split("->")[1]
    letters = plain.replace(",", "")
    return "".join(sorted(c for c in set(letters) if letters.count(c) == 1))


def _einsum_dims(subscripts: Facts, *operands: Facts) -> Shape | None:
    if not isinstance(subscripts.value, str) or any(o.dims is None for o in operands):
        return None
    sizes = einsum_sizes(subscripts.value, tuple(o.dims for o in operands if o.dims is not None))
    return None if sizes is None else tuple(sizes[c] for c in einsum_output(subscripts.value))


def _norm(x: AbstractValue, *rest: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
    if not concerns(x) or not all(isinstance(t, Const) for t in (*rest, *named.values())):
        return None
    return ask(np.linalg.norm, x, *rest, **named)


def _norm_dims(x: Facts, *rest: Facts, **named: Facts) -> Shape | None:
    axis = constant(rest[1] if len(rest) > 1 else named.get("axis"))
    if x.dims is None or len(rest) > 2:
        return None
    return shapes.reduced(x.dims, axis, bool(constant(named.get("keepdims"), False)))


def _same(a: Facts, *rest: Facts, **named: Facts) -> Shape | None:
    return a.dims


def _solve_dims(a: Facts, b: Facts) -> Shape | None:
    return b.dims if a.dims is not None and len(a.dims) == 2 else None


def _solve(a: AbstractValue, b: AbstractValue) -> AbstractValue | None:
    return ask(np.linalg.solve, a, b) if concerns(a, b) and rank_of(a) == 2 else None


ROWS: Final[list[Primitive]] = [
    row(np.matmul, asking(np.matmul), dims=for_engine(_matmul_dims)),
    row(operator.matmul, asking(operator.matmul), dims=for_engine(_matmul_dims)),
    row(np.dot, asking(np.dot), dims=for_engine(_dot_dims)),
    row(np.ndarray.dot, asking(np.ndarray.dot), dims=for_engine(_dot_dims)),
    row(np.outer, asking(np.outer), dims=for_engine(_outer_dims)),
    *(row(fn, asking(fn)) for fn in (np.inner, np.vdot, np.tensordot, np.kron, np.cross, np.trace, np.ndarray.trace)),
    row(np.einsum, _einsum, dims=for_engine(_einsum_dims)),
    row(np.linalg.norm, _norm, dims=for_engine(_norm_dims)),
    row(np.linalg.solve, _solve, dims=for_engine(_solve_dims)),
    *(row(fn, asking(fn), dims=for_engine(_same)) for fn in (np.linalg.inv, np.linalg.cholesky)),
    *(row(fn, asking(fn)) for fn in (np.linalg.det, np.linalg.slogdet, np.linalg.eigh, np.linalg.eigvalsh, np.linalg.qr, np.linalg.svd, np.linalg.pinv)),
]
